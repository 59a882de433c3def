#!/usr/bin/env python3
"""Kernels on an NVIDIA GPU through Tombac, unmodified ones of ggml and MLX and those of bench/kernels, against PyTorch and nvcc in the same process.

Usage: device.py [--build FOLDER] [--checkout GGML] [--mlx MLX] [--device cuda] [--filter EXPRESSION] [--rounds N] [--peers FOLDER] [--json FILE]
                 [--fill]

The kernels of bench/kernels have peers in CUDA C, bench/cuda, the same kernels compiled by `nvcc -O3` (nvcc.py; --peers is where). Times
are medians of interleaved rounds after a warm-up, on fresh random data: of a peer the GPU's own (events round as many calls as take 20
ms), of Tombac what each further launch adds to a sequence of that length. Every result, of the peers in CUDA C too, is compared with one
computed by PyTorch in double precision where that is possible; a wrong one fails the run. Without PyTorch there is nothing to compare
with, and the program says so and ends. `--fill` only compiles the kernels, for a machine that has no compiler (tests/device).
The last lines measure what a launch costs: the host's time for one empty kernel, and for each of many in a sequence."""
import argparse
import ctypes as c
import importlib.util
import json
import math
import pathlib
import re
import statistics
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/corpus"))
spec = importlib.util.spec_from_file_location("bench_ggml", ROOT / "bench/ggml.py")
bench_ggml = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench_ggml)
from ggml import extents, fields, strides  # noqa: E402
import nvcc  # noqa: E402
import own_cases  # noqa: E402
import quants  # noqa: E402
from own_cases import FILL, Case, random, rng  # noqa: E402

short, integer = np.int16, np.int32
EMPTY = "#include <metal_stdlib>\nkernel void empty(uint i [[thread_position_in_grid]]) {}\n"


# ---- ggml ----

def ggml_rows(source):
    rows, width = 16384, 4096
    x = random(rows, width)
    nb = strides(x)
    shown = {**fields(extents(x), nb, "ne0{}", "nb0{}"), **fields(extents(x), nb, "ne1{}", "nb1{}"),
             **fields(extents(x), nb, "ne{}", "nb{}"), "offs": 0, "o1": [0] * 8}
    for key in ("ne00", "ne10", "ne0"):
        shown[key] //= 4
    y = random(rows, width)
    yield Case("ggml add", source, "kernel_bin_fuse_f32_f32_f32_4", {0: shown, 1: x, 2: y, 3: np.zeros_like(x)}, 3, (rows, 1, 1),
               (1024, 1, 1), lambda t, a: a[1].double() + a[2].double(), lambda t, a: lambda: a[1] + a[2], "torch.add",
               moved=12 * x.size, constants={"FC_bin_op": short(0), "FC_bin_f": short(1), "FC_bin_rb": np.bool_(False),
                                             "FC_bin_cb": np.bool_(False)})
    args = {"ne00": width, "ne00_t": width // 4, "nb1": nb[1], "nb2": nb[2], "nb3": nb[3], "eps": 1e-5}
    for d in (1, 2, 3):
        args[f"nef{d}"], args[f"nbf{d}"] = [extents(x)[d]] * 3, [nb[d]] * 3
    yield Case("ggml rms_norm", source, "kernel_rms_norm_f32_4", {0: args, 1: x, 2: x[:1], 3: x[:1], 4: np.zeros_like(x)}, 4, (rows, 1, 1),
               (1024, 1, 1), lambda t, a: a[1].double() * (a[1].double() ** 2).mean(1, keepdim=True).add(1e-5).rsqrt(),
               lambda t, a: lambda: t.nn.functional.rms_norm(a[1], (width,), eps=1e-5), "torch rms_norm", moved=8 * x.size,
               shared={0: 128})
    mask = np.zeros((rows, width), np.float32)[:1]
    args = {**fields(extents(x), nb, "ne0{}", "nb0{}", (0, 1, 2), (1, 2, 3)),
            **fields(extents(mask), [4, 0, 0, 0], "ne1{}", "nb1{}", (1, 2, 3), (1, 2, 3)), **fields([], nb, "", "nb{}", (), (1, 2, 3)),
            "scale": 0.7, "max_bias": 0.0, "m0": 1.0, "m1": 1.0, "n_head_log2": 1}
    yield Case("ggml soft_max", source, "kernel_soft_max_f32_4", {0: args, 1: x, 2: mask, 3: np.full(4, -np.inf, np.float32),
               4: np.zeros_like(x)}, 4, (rows, 1, 1), (1024, 1, 1), lambda t, a: (a[1].double() * 0.7).softmax(1),
               lambda t, a: lambda: (a[1] * 0.7).softmax(1), "torch.softmax", moved=8 * x.size, shared={0: 128})


def ggml_products(source):
    for kind, suffix, nsg, nr0, rows, columns in (("f16", "_4", 4, 2, 32768, 4096), ("q4_0", "", 2, 4, 65536, 4096),
                                                  ("q4_K", "", 2, 2, 65536, 4096)):
        if kind == "f16":
            w = random(rows, columns, kind=np.float16, scale=0.125)
            values, row, item = w, 2 * columns, 2
        else:
            make, size, length = {"q4_0": (quants.q4_0, 18, 32), "q4_K": (quants.q4_k, 144, 256)}[kind]
            w, values = (random(2, 2), random(2, 2)) if FILL else make(rng, rows, columns)
            row, item = columns // length * size, size
        x = random(1, columns)
        args = {"ne00": columns, "ne01": rows, "ne02": 1, "nb00": item, "nb01": row, "nb02": row * rows, "nb03": row * rows,
                "ne10": columns, "ne11": 1, "ne12": 1, "nb10": 4, "nb11": 4 * columns, "nb12": 4 * columns, "nb13": 4 * columns,
                "ne0": rows, "ne1": 1, "nr0": nr0, "r2": 1, "r3": 1}
        per_group = nr0 * (1 if kind == "f16" else nsg)
        values = values.astype(np.float32)
        half = values.astype(np.float16)
        yield Case(f"ggml mul_mv {kind}", source, f"kernel_mul_mv_{kind}_f32{suffix}",
                   {0: args, 1: w, 2: x, 3: np.zeros((1, rows), np.float32), "values": values, "half": half}, 3, (rows // per_group, 1, 1),
                   (32, nsg, 1), lambda t, a: a[2].double() @ a["values"].double().T,
                   lambda t, a: lambda: a["half"] @ a[2].half().T, "cuBLAS f16", moved=w.nbytes,
                   shared={} if kind == "q4_K" else {0: 128 * nr0},
                   constants={"FC_mul_mv_nsg": short(nsg), "FC_mul_mv_ne12": short(1), "FC_mul_mv_r2": short(1), "FC_mul_mv_r3": short(1)})
    n = 4096
    w, x = random(n, n, kind=np.float16, scale=0.125), random(n, n)
    args = {"ne00": n, "ne02": 1, "nb01": 2 * n, "nb02": 2 * n * n, "nb03": 2 * n * n, "ne12": 1, "nb10": 4, "nb11": 4 * n,
            "nb12": 4 * n * n, "nb13": 4 * n * n, "ne0": n, "ne1": n, "r2": 1, "r3": 1}
    yield Case(f"ggml mul_mm f16 {n}", source, "kernel_mul_mm_f16_f32", {0: args, 1: w, 2: x, 3: np.zeros((n, n), np.float32)}, 3,
               (n // 32, n // 64, 1), (128, 1, 1), lambda t, a: a[2].double() @ a[1].double().T,
               lambda t, a: (lambda h: lambda: h @ a[1].T)(a[2].half()), "cuBLAS f16", operations=2 * n ** 3, shared={0: 6144},
               tolerance=2e-3, constants={"FC_mul_mm_bc_inp": np.bool_(False), "FC_mul_mm_bc_out": np.bool_(False),
                                          "FC_mul_mm_ne12": short(1), "FC_mul_mm_ne13": short(1), "FC_mul_mm_r2": short(1),
                                          "FC_mul_mm_r3": short(1)})


def ggml_attention(source):
    for vector, batch, heads, queries, keys in ((True, 16, 32, 1, 1024), (False, 2, 32, 2048, 2048)):
        d = 128
        q = random(batch, heads, queries, d)
        k, v = random(batch, heads, keys, d, kind=np.float16), random(batch, heads, keys, d, kind=np.float16)
        mask = np.zeros((1, 1, max(queries, 16), keys), np.float16)
        nq, nk, nm = strides(q), strides(k), strides(mask)
        args = {"ne01": queries, "ne02": heads, "ne03": batch, "nb01": nq[1], "nb02": nq[2], "nb03": nq[3], "ne11": keys,
                "ne_12_2": heads, "ne_12_3": batch, "ns10": d, "nb11": nk[1], "nb12": nk[2], "nb13": nk[3], "ns20": d, "nb21": nk[1],
                "nb22": nk[2], "nb23": nk[3], "ne31": mask.shape[2], "ne32": 1, "ne33": 1, "nb31": nm[1], "nb32": nm[2], "nb33": nm[3],
                "ne1": heads, "ne2": queries, "ne3": batch, "scale": d ** -0.5, "max_bias": 0.0, "m0": 1.0, "m1": 1.0, "n_head_log2": 32,
                "logit_softcap": 0.0}
        prefix = "FC_flash_attn_ext_vec_" if vector else "FC_flash_attn_ext_"
        constants = {prefix + n: np.bool_(x) for n, x in dict(has_mask=False, has_sinks=False, has_bias=False, has_scap=False,
                                                              has_kvpad=False).items()}
        constants.update({prefix + "ns10": integer(d), prefix + "ns20": integer(d), prefix + "nsg": integer(4)})
        constants.update({prefix + "nwg": integer(1)} if vector else {prefix + "bc_mask": np.bool_(False)})
        empty, out = np.zeros(16, np.float32), np.zeros((batch, queries, heads, d), np.float32)
        arguments = {0: args, 1: q, 2: k, 3: v, 4: mask, 5: empty, 6: empty}
        arguments.update({7: out} if vector else {7: np.zeros(16, np.int8), 8: out})
        memory = 4 * (128 + 4 * 32 + 2 * 128) * 2 if vector else 8 * (d + 2 * 128 + 2 * 128) * 2
        yield Case(f"ggml flash_attn_ext{'_vec' if vector else ''} f16", source,
                   f"kernel_flash_attn_ext{'_vec' if vector else ''}_f16_dk{d}_dv{d}", arguments, 7 if vector else 8,
                   ((queries if vector else queries // 8), heads, batch), (32, 4, 1),
                   lambda t, a: t.nn.functional.scaled_dot_product_attention(a[1].float(), a[2].float(), a[3].float()).transpose(1, 2),
                   lambda t, a: (lambda h: lambda: t.nn.functional.scaled_dot_product_attention(h, a[2], a[3]))(a[1].half()), "torch sdpa",
                   moved=2 * k.nbytes if vector else 0, operations=0 if vector else 4 * batch * heads * queries * keys * d,
                   constants=constants, shared={0: (memory + 15) // 16 * 16}, tolerance=5e-3)


# ---- MLX ----

def mlx_products(checkout, n):
    """As MLX's host code dispatches it on its large devices (Max and Ultra)."""
    source = checkout / "mlx/backend/metal/kernels/steel/gemm/kernels/steel_gemm_fused.metal"
    tile, depth, wm, wn = 64, 16, 1, 2
    a, b = random(n, n, kind=np.float16), random(n, n, kind=np.float16)
    args = {"M": n, "N": n, "K": n, "lda": n, "ldb": n, "ldd": n, "tiles_n": n // tile, "tiles_m": n // tile, "batch_stride_a": 0,
            "batch_stride_b": 0, "batch_stride_d": 0, "swizzle_log": 0, "gemm_k_iterations_aligned": n // depth, "batch_ndim": 1}
    constants = dict(has_batch=False, use_out_source=False, do_axpby=False, align_M=True, align_N=True, align_K=True)
    yield Case(f"mlx steel_gemm f16 {n}", source, f"steel_gemm_fused_nn_float16_float16_bm{tile}_bn{tile}_bk{depth}_wm{wm}_wn{wn}",
               {0: a, 1: b, 3: np.zeros((n, n), np.float16), 4: args}, 3, (n // tile, n // tile, 1), (32, wn, wm),
               lambda t, x: x[0].double() @ x[1].double(), lambda t, x: lambda: x[0] @ x[1], "cuBLAS f16", operations=2 * n ** 3,
               tolerance=5e-3, constants={k: np.bool_(v) for k, v in constants.items()}, folder=checkout)


def all_cases(checkout, mlx):
    yield from own_cases.all_cases()
    if mlx:
        yield lambda: mlx_products(pathlib.Path(mlx), 4096)
    if checkout:
        source = pathlib.Path(checkout) / "src/ggml-metal/ggml-metal.metal"
        yield lambda: ggml_rows(source)
        yield lambda: ggml_products(source)
        yield lambda: ggml_attention(source)


# ---- Measuring ----

def events(torch, function, count):
    """Seconds of each of `count` calls on torch's stream."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(count):
        function()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3 / count


def calls(seconds):
    """How many take 20 ms, so that the host's own time does not matter."""
    return min(max(int(20e-3 / max(seconds, 1e-6)), 4), 200)


def tensor(torch, array):
    """On the GPU; unsigned integers of 32 bits as signed ones."""
    array = np.ascontiguousarray(array)
    return torch.from_numpy(array.view(np.int32) if array.dtype == np.uint32 else array).cuda()


def doubles(torch, values, unsigned):
    """Several results as one vector, for comparing."""
    flat = [v.reshape(-1).long() & 0xffffffff if unsigned else v.reshape(-1) for v in values]
    return torch.cat([v.double() for v in flat])


class Check:
    """What a case's outputs must be."""
    def __init__(self, torch, case, tensors):
        expected = case.expected(torch, tensors)
        self.torch, self.case = torch, case
        self.outputs = case.output if isinstance(case.output, tuple) else (case.output,)
        self.expected = doubles(torch, expected if isinstance(expected, tuple) else (expected,), False)
        self.unsigned = case.arguments[self.outputs[0]].dtype == np.uint32

    def error(self, results):
        return self.case.error(self.torch, doubles(self.torch, results, self.unsigned), self.expected)


def nvcc_peer(torch, case, tensors, peers, check):
    """A function that launches the kernel in CUDA C, and its error; or None, None."""
    if not case.cuda or not peers:
        return None, None
    outputs = {i: tensors[i].clone() for i in check.outputs}
    arguments = [outputs.get(i, tensors.get(i, v)) for i, v in case.arguments.items() if isinstance(i, int)]
    function = peers.launch(case.cuda, case.kernel, arguments, case.groups, case.group)
    if not function:
        return None, None
    function()
    return function, check.error(outputs.values())


def run_tombac(torch, case, metal, check):
    """A function that measures it, the seconds of code that is not specialised, and its error."""
    given = {i: v for i, v in case.arguments.items() if isinstance(i, int)}
    run, read = metal.launch(case.kernel, given, case.groups, case.group, case.constants or {}, case.shared or {})
    run.once()
    results = [read(i).copy() for i in check.outputs]
    generic = min(run() for _ in range(3))
    run.settle()
    for i in check.outputs:
        run.restore(i)
    run.once()
    error = check.error([tensor(torch, r) for r in results])
    if any(r.tobytes() != read(i).tobytes() for r, i in zip(results, check.outputs)):
        print(f"{case.name}: specialised code gives other bits", flush=True)
        error = math.inf
    return run, generic, error


def run_case(torch, case, metal, rounds, peers):
    """A row of the table."""
    tensors = {i: tensor(torch, v) for i, v in case.arguments.items() if isinstance(v, np.ndarray) and v.ndim}
    check = Check(torch, case, tensors)
    run, generic, error = run_tombac(torch, case, metal, check)
    functions = {"nvcc": None, "peer": case.peer(torch, tensors) if case.peer else None}
    functions["nvcc"], nvcc_error = nvcc_peer(torch, case, tensors, peers, check)
    counts = {name: calls(events(torch, f, 2)) for name, f in functions.items() if f}
    mine, others = [], {name: [] for name in counts}
    for i in range(rounds + 1):
        mine.append(run())
        for name, count in counts.items():
            others[name].append(events(torch, functions[name], count))
    seconds = statistics.median(mine[1:])
    others = {name: statistics.median(times[1:]) for name, times in others.items()}
    right = error <= case.tolerance and (nvcc_error is None or nvcc_error <= case.tolerance)
    return {"name": case.name, "seconds": seconds, "seconds_not_specialised": generic, "error": error, "right": right,
            "peer": case.peer_name, "peer_seconds": others.get("peer"), "nvcc_seconds": others.get("nvcc"), "nvcc_error": nvcc_error,
            "gigabytes_per_second": case.moved / seconds / 1e9 if case.moved else None,
            "teraflops": case.operations / seconds / 1e12 if case.operations else None}


HEADING = (f"{'kernel':28}{'ms':>9}{'GB/s':>8}{'of copy':>9}{'TFLOP/s':>9}  {'peer':16}{'ms':>9}{'x':>7}{'nvcc ms':>9}{'x':>7}{'error':>10}")


def show(r, copy):
    rate, work = r["gigabytes_per_second"], r["teraflops"]

    def against(seconds):
        return f"{seconds * 1e3:9.3f}{seconds / r['seconds']:7.2f}" if seconds else f"{'-':>9}{'-':>7}"
    print(f"{r['name']:28}{r['seconds'] * 1e3:9.3f}{f'{rate:.0f}' if rate else '-':>8}{f'{rate / copy:.2f}' if rate else '-':>9}"
          f"{f'{work:.1f}' if work else '-':>9}  {r['peer']:16}{against(r['peer_seconds'])}{against(r['nvcc_seconds'])}"
          f"{r['error']:10.1e}{'' if r['right'] else '  WRONG'}", flush=True)


def against_nvcc(rows):
    """How many times as fast as CUDA C: the geometric mean and the least."""
    factors = {r["name"]: r["nvcc_seconds"] / r["seconds"] for r in rows if r["nvcc_seconds"]}
    if not factors:
        return None
    least = min(factors, key=factors.get)
    return {"kernels": len(factors), "geometric_mean": statistics.geometric_mean(factors.values()), "least": [least, factors[least]]}


def run_sequence(metal, launch, count):
    """Seconds until `count` recorded launches that follow each other are submitted, and until they have ended."""
    sequence, operation = c.c_void_p(), c.c_void_p()
    metal.call("sequence_begin", metal.device, c.byref(sequence))
    for _ in range(count):
        metal.lib.tombac_sequence_add(sequence, launch, None)
    begin = time.perf_counter()
    metal.call("sequence_end", sequence, c.byref(operation))
    middle = time.perf_counter()
    metal.call("operation_wait", operation, c.c_double(-1))
    end = time.perf_counter()
    metal.lib.tombac_operation_release(operation)
    return middle - begin, end - begin


def launch_costs(metal, seconds=0.5):
    """Host seconds for an empty kernel, and for each of 1000 in a sequence."""
    run = metal.launch("empty", {}, (1, 1, 1), (32, 1, 1), {}, {})[0].once
    for _ in range(100):
        run()
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        run()
        count += 1
    alone = (time.perf_counter() - begin) / count
    best = min((total - submitting) / 1000 for submitting, total in (run_sequence(metal, metal.last_launch, 1000) for _ in range(5)))
    return alone, best


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", default=ROOT / "build")
    options.add_argument("--checkout")
    options.add_argument("--mlx")
    options.add_argument("--device", default="cuda")
    options.add_argument("--filter", default="")
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--peers", default=ROOT / "bench/cuda")
    options.add_argument("--json")
    options.add_argument("--fill", action="store_true")
    o = options.parse_args()
    libraries, rows = {}, []

    def open_source(path, folder=None):
        if path not in libraries:
            folder = folder or (pathlib.Path(o.checkout) / "src" if o.checkout else path.parent)
            libraries[path] = Timed(o.build, path, folder, o.device)
        return libraries[path]

    class Timed(bench_ggml.Metal):
        """Kernels are specialised for their arguments, as in a program after 64 launches. Runs return a launch's seconds."""
        def launch(self, *arguments):
            run, read = super().launch(*arguments)
            handle = self.last_launch

            def timed():
                count = calls(run_sequence(self, handle, 4)[1] / 4)
                return (run_sequence(self, handle, count + 2)[1] - run_sequence(self, handle, 2)[1]) / count
            timed.once, timed.settle, timed.restore = run, run.settle, run.restore
            return timed, read

    empty = pathlib.Path("/tmp/tombac-empty.metal")
    empty.write_text(EMPTY)
    if not o.fill:
        try:
            import torch
        except ImportError:
            sys.exit("device.py: PyTorch is not installed, so there is nothing to compare with")
        source = torch.empty(1 << 28, device="cuda")
        target = torch.empty_like(source)
        copy = 8 * source.numel() / min(events(torch, lambda: target.copy_(source), 5) for _ in range(3)) / 1e9
        print(f"{torch.cuda.get_device_name(0)}, {time.strftime('%Y-%m-%d')}; a copy on the GPU moves {copy:.0f} GB/s; medians of {o.rounds}")
        print(HEADING, flush=True)
        peers = nvcc.Peers(o.peers, torch)
        del source, target
    for group in all_cases(o.checkout, o.mlx):
        for case in group():
            if not re.search(o.filter, case.name):
                continue
            metal = open_source(case.source, case.folder)
            if o.fill:  # nothing is computed, so small buffers will do
                given = {i: v if isinstance(v, dict) or np.ndim(v) == 0 else np.zeros(64, np.uint8)
                         for i, v in case.arguments.items() if isinstance(i, int)}
                metal.launch(case.kernel, given, case.groups, case.group, case.constants or {}, case.shared or {})[0].settle()
                continue
            rows.append(run_case(torch, case, metal, o.rounds, peers))
            show(rows[-1], copy)
    costs = launch_costs(open_source(empty)) if not o.fill else open_source(empty).launch("empty", {}, (1, 1, 1), (32, 1, 1), {}, {})
    if not o.fill:
        compared = against_nvcc(rows)
        if compared:
            print(f"against nvcc: {compared['geometric_mean']:.3f} times as fast (geometric mean of {compared['kernels']} kernels), "
                  f"least {compared['least'][1]:.2f} ({compared['least'][0]})")
        print(f"an empty kernel, submitted and waited for: {costs[0] * 1e6:.1f} us; each of 1000 in a sequence: {costs[1] * 1e6:.2f} us")
        if o.json:
            pathlib.Path(o.json).write_text(json.dumps({"copy": copy, "kernels": rows, "nvcc": compared, "launch": costs}, indent=1) + "\n")
    return any(not r["right"] for r in rows)


if __name__ == "__main__":
    sys.exit(main())
