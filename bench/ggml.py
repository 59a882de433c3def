#!/usr/bin/env python3
"""ggml's own processor code against its unmodified Metal kernels through Tombac: one thread each, same data, one process.

Usage: ggml.py --checkout DIR --libraries DIR [--build FOLDER] [--rounds N] [--wall | --single] [--filter TEXT] [--generic] [--json FILE]

CHECKOUT is a checkout of ggml, LIBRARIES the folder of its shared libraries, built for this processor outside of this repository:

    cmake -S DIR -B /some/scratch -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DGGML_OPENMP=OFF -DBUILD_SHARED_LIBS=ON
    cmake --build /some/scratch

Times are of one thread's processor time (--wall: wall clock), minimum and median of interleaved rounds. With --single a round is one
run each, by wall clock: on a machine with other work the least of hundreds is one that nobody interrupted. The two results are
compared (relative root mean square difference): ggml rounds the activations of matrix-vector products to 8 bits (q4) or half, its Metal
kernels do not, so that column says how far the two are apart, and more than a case allows fails it."""
import argparse
import ctypes as c
import json
import os
import pathlib
import platform
import statistics
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/corpus"))
from ggml import extents, fields, normal, strides, weights  # noqa: E402  (the argument structs of ggml's host code)

F32, F16, Q4_0, Q4_K, I32 = 0, 1, 2, 12, 26  # ggml_type
short, integer = np.int16, np.int32           # of function constants
NUMBERS = {"bool": "?", "i8": "b", "u8": "B", "i16": "<i2", "u16": "<u2", "i32": "<i4", "u32": "<u4", "i64": "<i8", "u64": "<u8",
           "f16": "<f2", "f32": "<f4"}


class Size3(c.Structure):
    _fields_ = [("x", c.c_uint32), ("y", c.c_uint32), ("z", c.c_uint32)]


class Options(c.Structure):
    _fields_ = [("standard", c.c_char_p), ("math", c.c_int), ("defines", c.c_void_p), ("define_count", c.c_size_t),
                ("folders", c.POINTER(c.c_char_p)), ("folder_count", c.c_size_t), ("no_cache", c.c_bool), ("no_specialise", c.c_bool)]


class Constant(c.Structure):
    _fields_ = [("name", c.c_char_p), ("index", c.c_uint32), ("data", c.c_void_p), ("size", c.c_size_t)]


def pack(value, argument):
    """The bytes of a struct argument whose fields' values are in the dictionary `value`."""
    out = bytearray(argument["size"])
    for m in argument["members"]:
        if m["name"] in value:
            data = np.asarray(value[m["name"]]).astype(NUMBERS[m["scalar"]]).tobytes()
            out[m["offset"]:m["offset"] + len(data)] = data
    return bytes(out)


class Metal:
    """A Metal source through libtombac."""
    def __init__(self, build, source, folder, device="cpu", generic=False):
        self.lib = c.CDLL(str(pathlib.Path(build) / "lib/libtombac.so"))
        self.lib.tombac_error_message.restype = c.c_char_p
        self.lib.tombac_kernel_reflection_json.restype = c.c_char_p
        self.device, self.library = c.c_void_p(), c.c_void_p()
        self.call("device_open", device.encode(), c.byref(self.device))
        self.call("device_specialise_after", self.device, c.c_uint32(1))
        options = Options(folders=(c.c_char_p * 1)(str(folder).encode()), folder_count=1, no_specialise=generic)
        self.call("library_create_from_file", self.device, str(source).encode(), c.byref(options), c.byref(self.library))

    def call(self, name, *arguments):
        error = c.c_void_p()
        if getattr(self.lib, "tombac_" + name)(*arguments, c.byref(error)):
            raise RuntimeError(self.lib.tombac_error_message(error).decode().splitlines()[0])

    def launch(self, kernel, arguments, groups, group, constants, threadgroup):
        """A function that runs the launch, and one that reads a buffer like an array."""
        values = [np.asarray(v) for v in constants.values()]  # of the constants' own types
        table = (Constant * max(1, len(values)))(*[Constant(n.encode(), 0, v.ctypes.data, v.nbytes) for n, v in zip(constants, values)])
        code, launch, buffers = c.c_void_p(), c.c_void_p(), {}
        self.call("kernel_create", self.library, kernel.encode(), table, c.c_size_t(len(values)), c.byref(code))
        reflection = json.loads(self.lib.tombac_kernel_reflection_json(code))
        reflection = reflection.get("kernel", reflection)
        reflected = {a["index"]: a for a in reflection["arguments"] if a["kind"] != "threadgroup"}
        self.call("launch_create", code, c.byref(launch))
        self.last_launch = launch
        for index, value in arguments.items():
            if isinstance(value, dict) or not np.ndim(value):
                data = pack(value, reflected[index]) if isinstance(value, dict) else np.asarray(value).tobytes()
                self.call("launch_set_bytes", launch, index, data, c.c_size_t(len(data)))
                continue
            value = np.ascontiguousarray(value)
            buffers[index] = c.c_void_p()
            self.call("buffer_create", self.device, c.c_size_t(value.nbytes), c.c_void_p(value.ctypes.data), c.byref(buffers[index]))
            self.call("launch_set_buffer", launch, index, buffers[index], c.c_size_t(0))
        for index, size in threadgroup.items():
            self.call("launch_set_threadgroup_memory", launch, index, c.c_size_t(size))
        self.call("launch_set_threadgroups", launch, Size3(*groups), Size3(*group))

        def run():
            self.call("launch_submit", launch)
            self.call("launch_wait", launch)

        def settle():
            run()
            self.call("kernel_await_specialisation", code, c.c_double(600))

        def read(index):
            like = arguments[index]
            data = c.c_void_p()
            self.call("buffer_begin_read", buffers[index], c.byref(data))
            found = c.string_at(data, like.nbytes)
            self.call("buffer_end_read", buffers[index])
            return np.frombuffer(found, like.dtype).reshape(like.shape)

        def restore(index):
            value = np.ascontiguousarray(arguments[index])
            data = c.c_void_p()
            self.call("buffer_begin_write", buffers[index], c.byref(data))
            c.memmove(data, value.ctypes.data, value.nbytes)
            self.call("buffer_end_write", buffers[index])
        run.settle = settle  # runs it, and waits for the code that is specialised for its arguments
        run.restore = restore  # gives a buffer its first content again
        return run, read


class Init(c.Structure):
    _fields_ = [("size", c.c_size_t), ("buffer", c.c_void_p), ("no_alloc", c.c_bool)]


class Ggml:
    """ggml's tensors and its processor backend."""
    def __init__(self, folder):
        found = {}
        for name in ("ggml-base", "ggml-cpu"):
            paths = sorted(pathlib.Path(folder).rglob(f"lib{name}.so"))
            if not paths:
                sys.exit(f"ggml.py: no lib{name}.so below {folder}")
            found[name] = c.CDLL(str(paths[0]), mode=c.RTLD_GLOBAL)
        self.base, self.cpu = found["ggml-base"], found["ggml-cpu"]
        for name in ("ggml_init", "ggml_new_tensor", "ggml_new_graph", "ggml_get_data", "ggml_add", "ggml_soft_max_ext", "ggml_rms_norm",
                     "ggml_mul_mat", "ggml_rope_ext", "ggml_cpy", "ggml_flash_attn_ext"):
            getattr(self.base, name).restype = c.c_void_p
        self.base.ggml_init.argtypes = [Init]
        self.base.ggml_get_data.argtypes = [c.c_void_p]
        self.cpu.ggml_cpu_init()
        self.context = None

    def start(self):
        if self.context:
            self.base.ggml_free(self.context)
        self.context = c.c_void_p(self.base.ggml_init(Init(1 << 30, None, False)))

    def tensor(self, kind, ne, data=None):
        t = c.c_void_p(self.base.ggml_new_tensor(self.context, kind, len(ne), (c.c_int64 * len(ne))(*ne)))
        if data is not None:
            data = np.ascontiguousarray(data)
            c.memmove(self.base.ggml_get_data(t), data.ctypes.data, data.nbytes)
        return t

    def operation(self, name, *arguments):
        return c.c_void_p(getattr(self.base, "ggml_" + name)(self.context, *arguments))

    def runner(self, result):
        graph = c.c_void_p(self.base.ggml_new_graph(self.context))
        self.base.ggml_build_forward_expand(graph, result)

        def run():
            if self.cpu.ggml_graph_compute_with_ctx(self.context, graph, 1):
                raise RuntimeError("ggml failed")
        return run

    def read(self, result, like):
        return np.frombuffer(c.string_at(self.base.ggml_get_data(result), like.nbytes), like.dtype).reshape(like.shape)


# ---- Cases: name, Metal launch, output's index, ggml's tensor, allowed difference ----

def add(g):
    rows, width = 256, 4096
    a, b = normal(rows, width), normal(rows, width)
    shown = {**fields(extents(a), strides(a), "ne0{}", "nb0{}"), **fields(extents(b), strides(b), "ne1{}", "nb1{}"),
             **fields(extents(a), strides(a), "ne{}", "nb{}"), "offs": 0, "o1": [0] * 8}
    for key in ("ne00", "ne10", "ne0"):
        shown[key] //= 4
    metal = ("kernel_bin_fuse_f32_f32_f32_4", {0: shown, 1: a, 2: b, 3: np.zeros_like(a)}, (rows, 1, 1), (256, 1, 1),
             {"FC_bin_op": short(0), "FC_bin_f": short(1), "FC_bin_rb": False, "FC_bin_cb": False}, {})
    return metal, 3, g.operation("add", g.tensor(F32, (width, rows), a), g.tensor(F32, (width, rows), b)), 1e-7


def soft_max(g):
    rows, width = 128, 4096
    x, mask = normal(rows, width), normal(rows, width)
    args = {**fields(extents(x), strides(x), "ne0{}", "nb0{}", (0, 1, 2), (1, 2, 3)),
            **fields(extents(mask), strides(mask), "ne1{}", "nb1{}", (1, 2, 3), (1, 2, 3)),
            **fields([], strides(x), "", "nb{}", (), (1, 2, 3)), "scale": 0.7, "max_bias": 0.0, "m0": 1.0, "m1": 1.0, "n_head_log2": 1}
    # Without sinks the host binds x again; sinks of -inf compute the same.
    metal = ("kernel_soft_max_f32_4", {0: args, 1: x, 2: mask, 3: np.full(4, -np.inf, np.float32), 4: np.zeros_like(x)},
             (rows, 1, 1), (32, 1, 1), {}, {0: 128})
    t = g.operation("soft_max_ext", g.tensor(F32, (width, rows), x), g.tensor(F32, (width, rows), mask), c.c_float(0.7), c.c_float(0))
    return metal, 4, t, 1e-5


def rms_norm(g):
    rows, width = 256, 4096
    x, one = normal(rows, width), np.zeros(4, np.float32)
    nb = strides(x)
    args = {"ne00": width, "ne00_t": width // 4, "nb1": nb[1], "nb2": nb[2], "nb3": nb[3], "eps": 1e-5}
    for d in (1, 2, 3):
        args[f"nef{d}"], args[f"nbf{d}"] = [extents(x)[d]] * 3, [nb[d]] * 3
    metal = ("kernel_rms_norm_f32_4", {0: args, 1: x, 2: one, 3: one, 4: np.zeros_like(x)}, (rows, 1, 1), (1024, 1, 1), {}, {0: 128})
    return metal, 4, g.operation("rms_norm", g.tensor(F32, (width, rows), x), c.c_float(1e-5)), 1e-5


def mul_mv(kind, suffix, nsg, nr0, by_simdgroup, number, allowed):
    def case(g):
        rows, columns = 2048, 4096
        w, _, row = weights(kind, rows, columns)
        x = normal(1, columns)
        args = {"ne00": columns, "ne01": rows, "ne02": 1, "nb00": w.itemsize, "nb01": row, "nb02": row * rows, "nb03": row * rows,
                "ne10": columns, "ne11": 1, "ne12": 1, "nb10": 4, "nb11": 4 * columns, "nb12": 4 * columns, "nb13": 4 * columns,
                "ne0": rows, "ne1": 1, "nr0": nr0, "r2": 1, "r3": 1}
        per_group = nr0 * (nsg if by_simdgroup else 1)
        metal = (f"kernel_mul_mv_{kind}_f32{suffix}", {0: args, 1: w, 2: x, 3: np.zeros((1, rows), np.float32)},
                 ((rows + per_group - 1) // per_group, 1, 1), (32, nsg, 1),
                 {"FC_mul_mv_nsg": short(nsg), "FC_mul_mv_ne12": short(1), "FC_mul_mv_r2": short(1), "FC_mul_mv_r3": short(1)},
                 {} if kind == "q4_K" else {0: 32 * 4 * nr0})
        return metal, 3, g.operation("mul_mat", g.tensor(number, (columns, rows), w), g.tensor(F32, (columns, 1), x)), allowed
    return case


def mul_mm(g):
    rows, columns, tokens = 512, 1024, 256
    w, _, row = weights("f16", rows, columns)
    x = normal(tokens, columns)
    args = {"ne00": columns, "ne02": 1, "nb01": row, "nb02": row * rows, "nb03": row * rows, "ne12": 1, "nb10": 4, "nb11": 4 * columns,
            "nb12": 4 * columns * tokens, "nb13": 4 * columns * tokens, "ne0": rows, "ne1": tokens, "r2": 1, "r3": 1}
    metal = ("kernel_mul_mm_f16_f32", {0: args, 1: w, 2: x, 3: np.zeros((tokens, rows), np.float32)}, (tokens // 32, rows // 64, 1),
             (32, 4, 1), {"FC_mul_mm_bc_inp": False, "FC_mul_mm_bc_out": False, "FC_mul_mm_ne12": short(1),
                          "FC_mul_mm_ne13": short(1), "FC_mul_mm_r2": short(1), "FC_mul_mm_r3": short(1)}, {0: 6144})
    return metal, 3, g.operation("mul_mat", g.tensor(F16, (columns, rows), w), g.tensor(F32, (columns, tokens), x)), 2e-3


def rope(kind, mode):
    def case(g):
        tokens, heads, width = 64, 32, 128
        x, positions = normal(tokens, heads, width), np.arange(tokens, dtype=np.int32)
        args = {**fields(extents(x), strides(x), "ne0{}", "nb0{}"), **fields(extents(x), strides(x), "ne{}", "nb{}"), "n_past": 0,
                "n_dims": width, "n_offs": 0, "n_ctx_orig": 4096, "freq_base": 10000.0, "freq_scale": 1.0, "ext_factor": 0.0,
                "attn_factor": 1.0, "beta_fast": 32.0, "beta_slow": 1.0}
        metal = (f"kernel_rope_{kind}_f32", {0: args, 1: x, 2: positions, 3: np.zeros(4, np.float32), 4: np.zeros_like(x)},
                 (heads, tokens, 1), (width, 1, 1), {"FC_rope_is_imrope": False, "FC_rope_is_back": False}, {})
        f = c.c_float
        t = g.operation("rope_ext", g.tensor(F32, (width, heads, tokens), x), g.tensor(I32, (tokens,), positions), None, width, mode, 4096,
                        f(10000), f(1), f(0), f(1), f(32), f(1))
        return metal, 4, t, 1e-3
    return case


def cpy(g):
    rows, width = 1024, 1024
    x = normal(rows, width)
    y = np.zeros(x.shape, np.float16)
    args = {"nk0": width, **fields(extents(x), strides(x), "ne0{}", "nb0{}"), **fields(extents(y), strides(y), "ne{}", "nb{}")}
    metal = ("kernel_cpy_f32_f16", {0: args, 1: x, 2: y}, (4 * rows, 1, 1), (256, 1, 1), {}, {})
    return metal, 2, g.operation("cpy", g.tensor(F32, (width, rows), x), g.tensor(F16, (width, rows))), 1e-7


def attention(g):
    dk, heads, keys, p = 128, 8, 1024, "FC_flash_attn_ext_vec_"
    q, k, v = normal(1, heads, 1, dk), normal(1, heads, keys, dk).astype(np.float16), normal(1, heads, keys, dk).astype(np.float16)
    mask = np.zeros((1, 1, 64, keys), np.float16)
    nq, nk, nm, scale = strides(q), strides(k), strides(mask), dk ** -0.5
    args = {"ne01": 1, "ne02": heads, "ne03": 1, "nb01": nq[1], "nb02": nq[2], "nb03": nq[3], "ne11": keys, "ne_12_2": heads, "ne_12_3": 1,
            "ns10": dk, "nb11": nk[1], "nb12": nk[2], "nb13": nk[3], "ns20": dk, "nb21": nk[1], "nb22": nk[2], "nb23": nk[3], "ne31": 64,
            "ne32": 1, "ne33": 1, "nb31": nm[1], "nb32": nm[2], "nb33": nm[3], "ne1": heads, "ne2": 1, "ne3": 1, "scale": scale,
            "max_bias": 0.0, "m0": 1.0, "m1": 1.0, "n_head_log2": 8, "logit_softcap": 0.0}
    constants = {p + n: x for n, x in dict(has_mask=True, has_sinks=False, has_bias=False, has_scap=False, has_kvpad=False, ns10=integer(dk),
                                           ns20=integer(dk), nsg=integer(1), nwg=integer(1)).items()}
    empty = np.zeros(16, np.float32)
    metal = (f"kernel_flash_attn_ext_vec_f16_dk{dk}_dv{dk}",
             {0: args, 1: q, 2: k, 3: v, 4: mask, 5: empty, 6: empty, 7: np.zeros((1, heads, dk), np.float32)}, (1, heads, 1), (32, 1, 1),
             constants, {0: (dk + 4 * 32 + 2 * dk) * 2})
    t = g.operation("flash_attn_ext", g.tensor(F32, (dk, 1, heads), q), g.tensor(F16, (dk, keys, heads), k),
                    g.tensor(F16, (dk, keys, heads), v), g.tensor(F16, (keys, 64), mask), c.c_float(scale), c.c_float(0), c.c_float(0))
    return metal, 7, t, 5e-3


CASES = {"add f32 256x4096": add, "soft_max f32 + mask 128x4096": soft_max, "rms_norm f32 256x4096": rms_norm,
         "mul_mv f16 2048x4096": mul_mv("f16", "_4", 4, 2, False, F16, 2e-2), "mul_mv q4_0 2048x4096": mul_mv("q4_0", "", 2, 4, True, Q4_0, 2e-2),
         "mul_mv q4_K 2048x4096": mul_mv("q4_K", "", 2, 2, True, Q4_K, 2e-2), "mul_mm f16 512x256x1024": mul_mm,
         "rope norm f32 64x32x128": rope("norm", 0), "rope neox f32 64x32x128": rope("neox", 2), "cpy f32 f16 1024x1024": cpy,
         "flash_attn_ext_vec f16 D128 H8 KV1024": attention}


def now(wall):
    """Seconds; processor time only after a rest, because that of threads that still run is not counted yet."""
    if wall:
        return time.perf_counter()
    time.sleep(0.0002)
    return time.process_time()


def sample(run, wall, single):
    """Seconds of one run, from as many as take 5 ms."""
    if single:
        run()
        begin = time.perf_counter()
        run()
        return time.perf_counter() - begin
    count, begin, end = 0, now(wall), time.perf_counter() + 0.005
    while count == 0 or time.perf_counter() < end:
        run()
        count += 1
    return (now(wall) - begin) / count


def measure(name, case, metal, g, options):
    g.start()
    spec, index, result, allowed = case(g)
    ours, read = metal.launch(*spec)
    theirs = g.runner(result)
    ours.settle()
    before = read(index).copy()
    ours(), theirs()
    if before.tobytes() != read(index).tobytes():
        print(f"{name}: specialised code gives other bits", flush=True)
    like = spec[1][index]
    a, b = (x.reshape(-1).astype(np.float64) for x in (read(index), g.read(result, like)))
    difference = float(np.sqrt(np.mean((a - b) ** 2)) / max(np.sqrt(np.mean(b ** 2)), 1e-30))
    times = [(sample(ours, options.wall, options.single), sample(theirs, options.wall, options.single)) for _ in range(options.rounds)]
    row = {"name": name, "difference": difference, "right": bool(difference <= allowed)}
    for key, values in zip(("tombac", "ggml"), zip(*times)):
        row[key] = {"minimum": min(values), "median": statistics.median(values)}
    row["ratio"] = row["tombac"]["minimum"] / row["ggml"]["minimum"]
    print(f"{name:40}{row['tombac']['minimum'] * 1e3:10.3f}{row['ggml']['minimum'] * 1e3:10.3f}{row['ratio']:8.2f}   {difference:.1e}"
          + ("" if row["right"] else "  WRONG"), flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", required=True)
    parser.add_argument("--libraries", required=True)
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--rounds", type=int, help="default 11, or 300 with --single")
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("--single", action="store_true", help="one run a round, by wall clock: for machines with other work")
    parser.add_argument("--filter", default="")
    parser.add_argument("--generic", action="store_true", help="without background specialisation")
    parser.add_argument("--json")
    options = parser.parse_args()
    options.rounds = options.rounds or (300 if options.single else 11)
    clock = "single runs, wall clock" if options.single else "wall clock" if options.wall else "processor time"
    os.environ["TOMBAC_THREADS"] = "1"
    source = pathlib.Path(options.checkout) / "src"
    metal, g = Metal(options.build, source / "ggml-metal/ggml-metal.metal", source, generic=options.generic), Ggml(options.libraries)
    print(f"{platform.node()}: load {os.getloadavg()[0]:.1f}, {time.strftime('%Y-%m-%d')}, {clock}, "
          f"{options.rounds} rounds, milliseconds")
    print(f"{'':40}{'tombac':>10}{'ggml':>10}{'x ggml':>8}   difference")
    rows, wrong = [], 0
    for name, case in CASES.items():
        if options.filter not in name:
            continue
        try:
            rows.append(measure(name, case, metal, g, options))
            wrong += not rows[-1]["right"]
        except RuntimeError as failure:
            print(f"{name:40}{failure}")
            wrong += 1
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
