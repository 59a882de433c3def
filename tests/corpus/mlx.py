"""Executes kernels of an MLX checkout: mlx.py TOMBAC DEVICE CHECKOUT [FILTER...].

Dispatch follows what the project's host code does; references are ours."""
import os
import sys

import numpy as np

from kit import Kit, main

rng = np.random.default_rng(11)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def threads_for(width, reads=4):
    """Threads for a row: one for `reads` elements, in whole SIMD-groups."""
    return ((width + reads - 1) // reads + 31) // 32 * 32


# ---- Rows ----

def softmax(dtype, width, looped, precise=False):
    def case(kit):
        x = (normal(5, width) * 3).astype(dtype)
        threads = 1024 if looped else threads_for(width)
        name = ("looped" if looped else "block") + "_softmax_" + ("precise_" if precise else "") + np.dtype(dtype).name
        (out,) = kit.run(name, {0: x, 1: np.zeros_like(x), 2: width}, grid=(5 * threads, 1, 1), group=(threads, 1, 1), outputs=[1])
        e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True).astype(np.float64))
        yield out, e / e.sum(-1, keepdims=True), 2e-5 if dtype is np.float32 else 5e-3
    return case


def norm(kind, dtype, width, looped):
    def case(kit):
        x, w, b = normal(6, width).astype(dtype), normal(width).astype(dtype), normal(width).astype(dtype)
        threads = 1024 if looped else threads_for(width, 4 if kind == "rms" else 8)
        name = kind + ("_looped" if looped else "") + np.dtype(dtype).name
        arrays = [x, w, b, np.zeros_like(x)] if kind == "layer_norm" else [x, w, np.zeros_like(x)]
        values = arrays + [1e-5, width] + ([1, 1] if kind == "layer_norm" else [1])
        (out,) = kit.run(name, dict(enumerate(values)), grid=(6 * threads, 1, 1), group=(threads, 1, 1), outputs=[len(arrays) - 1])
        y = x.astype(np.float64)
        if kind == "layer_norm":
            y = y - y.mean(-1, keepdims=True)
        y = y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-5) * w
        yield out, y + b if kind == "layer_norm" else y, 5e-5 if dtype is np.float32 else 5e-3
    return case


# ---- Sorting, scanning, ranges ----

def sort(dtype, width, block, arguments=False):
    def case(kit):
        x = np.round(normal(4, width) * 1000).astype(dtype)
        name, out_type = np.dtype(dtype).name, np.uint32 if arguments else dtype
        kernel = f"c{'arg' if arguments else ''}_block_sort_{name}_{'uint32' if arguments else name}_bn{block}_tn4"
        (out,) = kit.run(kernel, {0: x, 1: np.zeros((4, width), out_type), 2: width, 3: 1, 4: 1, 5: width, 6: width},
                         groups=(1, 4, 1), group=(block, 1, 1), outputs=[1])
        found = np.take_along_axis(x, out.astype(np.int64), -1) if arguments else out
        if arguments:
            yield np.sort(out.astype(np.int64), -1), np.tile(np.arange(width), (4, 1)), 0
        yield found, np.sort(x, -1), 0
    return case


def scan(kind, op, dtype, width):
    def case(kit):
        x = np.round(normal(5, width) * 8).astype(dtype)
        name = np.dtype(dtype).name
        (out,) = kit.run(f"contig_scan_{kind}_{op}_{name}_{name}", {0: x, 1: np.zeros_like(x), 2: width}, grid=(256, 5, 1),
                         group=(256, 1, 1), outputs=[1])
        y = x[:, ::-1] if "reverse" in kind else x
        y = np.cumsum(y, -1, dtype=np.float64) if op == "sum" else np.maximum.accumulate(y, -1).astype(np.float64)
        if "exclusive" in kind:
            y = np.concatenate([np.zeros((5, 1)), y[:, :-1]], -1)
        yield out, y[:, ::-1] if "reverse" in kind else y, 0
    return case


def arange(dtype, start, step):
    def case(kit):
        (out,) = kit.run(f"arange{np.dtype(dtype).name}", {0: start, 1: step, 2: np.zeros(1001, dtype)}, grid=(1001, 1, 1),
                         group=(256, 1, 1), outputs=[2])
        yield out, start + np.arange(1001, dtype=np.float64) * step, 1e-6
    return case


# ---- Elementwise and reductions ----

BINARY = {"Add": np.add, "Multiply": np.multiply, "Divide": np.divide, "Maximum": np.maximum, "Power": np.power, "ArcTan2": np.arctan2,
          "Less": np.less, "LogAddExp": np.logaddexp}


def binary(op, form):
    def case(kit):
        n = 1003
        a, b = np.abs(normal(n)) + 0.1, normal(n)
        out_type = np.bool_ if op == "Less" else np.float32
        sizes = {"ss": (1, 1), "sv": (1, n), "vs": (n, 1), "vv": (n, n)}[form]
        a, b = a[:sizes[0]], b[:sizes[1]]
        length = max(sizes)
        values = {0: a, 1: b, 2: np.zeros(length, out_type)}
        if form != "ss":
            values[3] = length
        (out,) = kit.run(f"{form}_{op}float32", values, grid=(length, 1, 1), group=(min(length, 128), 1, 1), outputs=[2])
        yield out, BINARY[op](a.astype(np.float64), b.astype(np.float64)) + np.zeros(length), 1e-4
    return case


UNARY = {"Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt, "Tanh": np.tanh, "Sin": np.sin, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
         "Abs": np.abs, "Floor": np.floor, "Rsqrt": lambda x: 1 / np.sqrt(x), "Negative": np.negative,
         "Expm1": np.expm1, "Log1p": np.log1p}


def unary(op, dtype):
    def case(kit):
        x = (np.abs(normal(777)) + 0.1).astype(dtype)
        name = np.dtype(dtype).name
        (out,) = kit.run(f"v_{op}{name}{name}", {0: x, 1: np.zeros_like(x), 2: 777}, grid=(777, 1, 1), group=(256, 1, 1), outputs=[1])
        yield out, UNARY[op](x.astype(np.float64)), 2e-4 if dtype is np.float32 else 4e-3
    return case


def erf(kit):
    from math import erf as exact
    x = normal(500) * 2
    (out,) = kit.run("v_Erffloat32float32", {0: x, 1: np.zeros_like(x), 2: 500}, grid=(500, 1, 1), group=(128, 1, 1), outputs=[1])
    yield out, np.array([exact(v) for v in x.astype(np.float64)]), 1e-4


def reduce_rows(op, name, dtype):
    def case(kit):
        x = np.round(normal(10, 999) * 9).astype(dtype)
        (out,) = kit.run(f"row_reduce_simple_{name}", {0: x, 1: np.zeros(10, dtype), 2: 999, 3: 10}, grid=(128, 3, 1), group=(128, 1, 1),
                         outputs=[1])
        yield out, op(x.astype(np.float64), axis=-1), 1e-6
    return case


def reduce_all(kit):
    x = np.round(normal(5000) * 9)
    (out,) = kit.run("all_reduce_sumfloat32", {0: x, 1: np.zeros(5, np.float32), 2: 5000, 3: 1024}, grid=(256, 5, 1), group=(256, 1, 1),
                     outputs=[1])
    parts = [x[i * 1024:(i + 1) * 1024].sum(dtype=np.float64) for i in range(5)]
    yield out, np.array(parts), 1e-6


# ---- Matrices ----

def gemv(rows, columns, tm):
    def case(kit):
        m, v = normal(rows, columns), normal(columns)
        values = {0: m, 1: v, 2: np.zeros(4, np.float32), 3: np.zeros(rows, np.float32), 4: columns, 5: rows, 6: columns, 7: 1.0, 8: 0.0,
                  9: 1, 10: np.array([1], np.int32), 11: np.array([0], np.int64), 12: np.array([0], np.int64),
                  13: np.array([0], np.int64), 14: 1}
        per_group = 4 * tm  # bm4 x sm1 rows of threads, tm rows each
        (out,) = kit.run(f"gemv_float32_bm4_bn1_sm1_sn32_tm{tm}_tn4_nc0_axpby0", values, groups=((rows + per_group - 1) // per_group, 1, 1),
                         group=(32, 1, 4), outputs=[3])
        yield out, m.astype(np.float64) @ v, 1e-4
    return case


def qmv(fast, bits, dtype, rows, columns):
    def case(kit):
        group = 64
        q = rng.integers(0, 1 << bits, (rows, columns)).astype(np.uint32)
        per_word = 32 // bits
        shifts = (np.arange(per_word) * bits).astype(np.uint32)
        w = (q.reshape(rows, -1, per_word) << shifts).sum(-1).astype(np.uint32)
        scales, biases = (normal(rows, columns // group) / 30).astype(dtype), normal(rows, columns // group).astype(dtype)
        x = (normal(2, columns) / 4).astype(dtype)
        name = f"affine_qmv_{'fast_' if fast else ''}{'float' if dtype is np.float32 else 'float16_t'}_gs_{group}_b_{bits}_batch_0"
        values = {0: w, 1: scales, 2: biases, 3: x, 4: np.zeros((2, rows), dtype), 5: columns, 6: rows, 7: 0,
                  8: np.zeros(1, np.int32), 9: np.zeros(1, np.int64), 10: 0, 11: np.zeros(1, np.int32), 12: np.zeros(1, np.int64),
                  13: np.zeros(1, np.int64), 14: np.zeros(1, np.int64)}
        (out,) = kit.run(name, values, groups=(2, (rows + 7) // 8, 1), group=(32, 2, 1), outputs=[4])
        weights = q * np.repeat(scales.astype(np.float64), group, -1) + np.repeat(biases.astype(np.float64), group, -1)
        yield out, x.astype(np.float64) @ weights.T, 1e-4 if dtype is np.float32 else 2e-2
    return case


def qmm_nax(dtype, m, n, k):
    """Quantized weights, n rows of k, with Metal 4's tensor operations."""
    def case(kit):
        group, bits, tile = 64, 4, 32 if m <= 32 else 64
        q = rng.integers(0, 1 << bits, (n, k)).astype(np.uint32)
        w = (q.reshape(n, -1, 8) << (np.arange(8) * bits).astype(np.uint32)).sum(-1).astype(np.uint32)
        scales, biases = (normal(n, k // group) / 30).astype(dtype), normal(n, k // group).astype(dtype)
        over = [(0, -n % 64), (0, 0)]  # the project's kernels read on to whole tiles of these
        x = (normal(m, k) / 4).astype(dtype)
        name = (f"affine_qmm_t_nax_{'float' if dtype is np.float32 else 'float16_t'}_gs_{group}_b_{bits}_bm{tile}_bn64_bk64_wm2_wn2_"
                f"alN_{'true' if n % 64 == 0 else 'false'}_batch_0")
        long, number = np.zeros(1, np.int64), np.zeros(1, np.int32)
        values = {0: np.pad(w, over), 1: np.pad(scales, over), 2: np.pad(biases, over), 3: x, 4: np.zeros((m, n), dtype), 5: k, 6: n,
                  7: m, 8: 0, 9: number, 10: long, 11: 0,
                  12: number, 13: long, 14: long, 15: long}
        (out,) = kit.run(name, values, groups=((n + 63) // 64, (m + tile - 1) // tile, 1), group=(32, 2, 2), outputs=[4])
        weights = q * np.repeat(scales.astype(np.float64), group, -1) + np.repeat(biases.astype(np.float64), group, -1)
        yield out, x.astype(np.float64) @ weights.T, 1e-4 if dtype is np.float32 else 2e-2
    return case


def steel_gemm(layout, dtype, m, n, k, nax=False):
    """nax: with Metal 4's tensor operations."""
    def case(kit):
        bm, bn, bk, wm, wn = 64, 64, 256 if nax else 16, 2, 2
        a, b = (normal(m, k) / 4).astype(dtype), (normal(k, n) / 4).astype(dtype)
        expected = a.astype(np.float64) @ b.astype(np.float64)
        a, b = (a.T if layout[0] == "t" else a), (b.T if layout[1] == "t" else b)
        name = np.dtype(dtype).name
        params = {"M": m, "N": n, "K": k, "lda": a.shape[1], "ldb": b.shape[1], "ldd": n, "tiles_n": (n + bn - 1) // bn,
                  "tiles_m": (m + bm - 1) // bm, "batch_stride_a": 0, "batch_stride_b": 0, "batch_stride_d": 0, "swizzle_log": 0,
                  "gemm_k_iterations_aligned": k // bk, "batch_ndim": 1}
        (out,) = kit.run(f"steel_gemm_fused_{'nax_' if nax else ''}{layout}_{name}_{name}_bm{bm}_bn{bn}_bk{bk}_wm{wm}_wn{wn}",
                         {0: a, 1: b, 3: np.zeros((m, n), dtype), 4: params}, groups=(params["tiles_n"], params["tiles_m"], 1),
                         group=(32, wn, wm), outputs=[3],
                         constants={"has_batch": False, "use_out_source": False, "do_axpby": False, "align_M": m % bm == 0,
                                    "align_N": n % bn == 0, "align_K": k % bk == 0})
        yield out, expected, 2e-5 if dtype is np.float32 else 5e-3
    return case


def sdpa_vector(dtype, width, keys, causal):
    def case(kit):
        heads, kv_heads, queries = 4, 2, 3
        q, k, v = (normal(h, n, width).astype(dtype) for h, n in ((heads, queries), (kv_heads, keys), (kv_heads, keys)))
        scale = 1 / np.sqrt(width)
        values = {0: q, 1: k, 2: v, 3: np.zeros((heads, queries, width), dtype), 4: heads // kv_heads, 5: keys, 6: keys * width, 7: width,
                  8: keys * width, 9: width, 10: scale}
        name = "float" if dtype is np.float32 else "float16_t"
        (out,) = kit.run(f"sdpa_vector_{name}_{width}_{width}", values, groups=(heads, queries, 1), group=(1024, 1, 1), outputs=[3],
                         constants={"has_mask": False, "query_transposed": False, "do_causal": causal, "bool_mask": False,
                                    "float_mask": False, "has_sinks": False})
        kk, vv = np.repeat(k, 2, 0).astype(np.float64), np.repeat(v, 2, 0).astype(np.float64)
        s = np.einsum("hqd,hkd->hqk", q.astype(np.float64), kk) * scale
        if causal:
            s = np.where(np.arange(keys)[None, :] <= keys - queries + np.arange(queries)[:, None], s, -np.inf)
        e = np.exp(s - s.max(-1, keepdims=True))
        yield out, np.einsum("hqk,hkd->hqd", e / e.sum(-1, keepdims=True), vv), 2e-4 if dtype is np.float32 else 5e-3
    return case


def all_cases():
    for dtype in (np.float32, np.float16):
        yield "softmax", f"block_softmax {dtype.__name__}", softmax(dtype, 1000, False)
        yield "softmax", f"looped_softmax {dtype.__name__}", softmax(dtype, 5000, True)
        for kind in ("rms", "layer_norm"):
            file = "rms_norm" if kind == "rms" else kind
            # layer_norm writes in front of a private array in threads that begin behind the row's end
            yield file, f"{kind} {dtype.__name__}", norm(kind, dtype, 1000 if kind == "rms" else 1021, False)
            yield file, f"{kind}_looped {dtype.__name__}", norm(kind, dtype, 5000, True)
    yield "softmax", "block_softmax_precise float16", softmax(np.float16, 512, False, True)
    yield "sort", "sort float32", sort(np.float32, 500, 128)
    yield "sort", "sort int32", sort(np.int32, 128, 32)
    yield "sort", "argsort float32", sort(np.float32, 200, 64, True)
    for kind in ("inclusive", "exclusive", "reverse_inclusive", "reverse_exclusive"):
        yield "scan", f"scan {kind} sum float32", scan(kind, "sum", np.float32, 1500)
    yield "scan", "scan inclusive max float32", scan("inclusive", "max", np.float32, 777)
    yield "scan", "scan exclusive sum int32", scan("exclusive", "sum", np.int32, 1025)
    yield "arange", "arange float32", arange(np.float32, 1.5, 0.25)
    yield "arange", "arange int64", arange(np.int64, -7, 1 << 33)
    yield "arange", "arange uint16", arange(np.uint16, 5, 3)
    for op in BINARY:
        yield "binary", f"vv {op}", binary(op, "vv")
    for form in ("ss", "sv", "vs"):
        yield "binary", f"{form} Add", binary("Add", form)
    for op in UNARY:
        yield "unary", f"{op} float32", unary(op, np.float32)
    for op in ("Exp", "Tanh", "Sqrt"):
        yield "unary", f"{op} float16", unary(op, np.float16)
    yield "unary", "Erf float32", erf
    yield "reduce", "row_reduce_simple sum float32", reduce_rows(np.sum, "sumfloat32", np.float32)
    yield "reduce", "row_reduce_simple max int32", reduce_rows(np.max, "maxint32", np.int32)
    yield "reduce", "all_reduce sum", reduce_all
    yield "gemv", "gemv tm4", gemv(100, 512, 4)
    yield "gemv", "gemv tm1 odd", gemv(3, 333, 1)
    yield "quantized", "qmv_fast 4 bits float32", qmv(True, 4, np.float32, 64, 512)
    yield "quantized", "qmv 4 bits float16", qmv(False, 4, np.float16, 24, 192)
    yield "quantized", "qmv_fast 8 bits float32", qmv(True, 8, np.float32, 32, 512)
    for layout in ("nn", "nt", "tn"):
        yield "steel/gemm/kernels/steel_gemm_fused", f"steel_gemm {layout} float32", steel_gemm(layout, np.float32, 64, 128, 64)
    yield "steel/gemm/kernels/steel_gemm_fused", "steel_gemm nn float16 edges", steel_gemm("nn", np.float16, 70, 50, 45)
    for layout in ("nn", "nt", "tn", "tt"):
        yield "steel/gemm/kernels/steel_gemm_fused_nax", f"nax steel_gemm {layout} float32", steel_gemm(layout, np.float32, 64, 128, 256, True)
    yield "steel/gemm/kernels/steel_gemm_fused_nax", "nax steel_gemm tn float16 edges", steel_gemm("tn", np.float16, 70, 50, 256, True)
    yield "quantized_nax", "nax qmm_t 4 bits float16", qmm_nax(np.float16, 64, 64, 128)
    yield "quantized_nax", "nax qmm_t 4 bits float32", qmm_nax(np.float32, 128, 128, 192)
    yield "quantized_nax", "nax qmm_t 4 bits float16, rows that are left over", qmm_nax(np.float16, 37, 64, 128)
    yield "quantized_nax", "nax qmm_t 4 bits float32, rows and columns that are left over", qmm_nax(np.float32, 70, 80, 128)
    yield "scaled_dot_product_attention", "sdpa_vector float32 64", sdpa_vector(np.float32, 64, 100, False)
    yield "scaled_dot_product_attention", "sdpa_vector float16 128 causal", sdpa_vector(np.float16, 128, 65, True)


if __name__ == "__main__":
    tombac, device, checkout = sys.argv[1:4]
    wanted = sys.argv[4:]
    folder = os.path.join(checkout, "mlx", "backend", "metal", "kernels")
    chosen = [(n, file, f) for file, n, f in all_cases() if not wanted or any(w in n for w in wanted)]
    kits = {file: Kit(tombac, device, os.path.join(folder, file + ".metal"),
                      ["-I", checkout] + (["--std", "metal4.0"] if file.endswith("_nax") else [])) for _, file, _ in chosen}
    sys.exit(main("mlx", chosen, kits))
