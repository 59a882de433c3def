"""Executes the kernels whose templates an installed PyTorch has in its headers: pytorch_templates.py TOMBAC DEVICE INCLUDE [FILTER...],
INCLUDE being the package's torch/include. Dispatch follows the host code; references are ours."""
import os
import subprocess
import sys
import tempfile

import numpy as np

from direct import Direct
from kit import main

rng = np.random.default_rng(215)
NAMES = {np.float32: "float", np.float16: "half", np.int32: "int", np.int64: "long", np.uint8: "uchar", np.int16: "short"}
LONG_NAMES = {np.float32: "float32", np.float16: "float16"}


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def words(*values):
    return np.array(values, np.uint32)


def tolerance(dtype):
    return 3e-3 if dtype is np.float16 else 2e-5


def call(kit, name, arguments, outputs, groups, group):
    return kit.run(name, dict(enumerate(arguments)), groups=groups, group=(group, 1, 1), outputs=outputs)


# ---- Sorting ----

def keys(dtype, *shape):
    if np.issubdtype(dtype, np.floating):
        values = rng.standard_normal(shape).astype(dtype)
        values[..., ::17] = values[..., 1::17][..., :values[..., ::17].shape[-1]]
        return values
    return rng.integers(np.iinfo(dtype).min if dtype is not np.int64 else -2**40, 120, shape).astype(dtype)


def expected_order(values, desc):
    """Places in stable order; equal ones in that of the input."""
    if not desc:
        return np.argsort(values, -1, kind="stable")
    n = values.shape[-1]
    return n - 1 - np.argsort(values[..., ::-1], -1, kind="stable")[..., ::-1]


def sort_block(dtype, desc, size=700):
    def case(kit):
        x = keys(dtype, 3, size)
        arguments = [x, np.zeros_like(x), np.zeros(x.shape, np.int64), np.int32(size), np.array([1, size], np.int64), np.bool_(desc)]
        found, places = call(kit, f"sort_block_{NAMES[dtype]}_tptg256_stable", arguments, [1, 2], (1, 3, 1), 256)
        order = expected_order(x, desc)
        yield found, np.take_along_axis(x, order, -1), 0
        yield places, order, 0
    return case


def merge_sort(dtype, desc, size=3000):
    def case(kit):
        x, tile = keys(dtype, 2, size), 512
        blocks = -(-size // tile)
        v, i = call(kit, f"mb_sort_block_{NAMES[dtype]}_tptg128_stable",
                    [x, np.zeros_like(x), np.zeros(x.shape, np.uint32), np.int32(size), np.array([1, size], np.int64), np.bool_(desc)],
                    [1, 2], (blocks, 2, 1), 128)
        tiles = 2
        while tiles < 2 * blocks:
            last = tiles >= blocks
            out = np.zeros(x.shape, np.int64 if last else np.uint32)
            v, i = call(kit, f"mb_merge_{'final_' * last}{NAMES[dtype]}_tptg128",
                        [v, i, np.zeros_like(x), out, np.array([size, tiles, blocks, 0], np.int32), np.bool_(desc)], [2, 3],
                        (blocks, 2, 1), 128)
            tiles *= 2
        order = expected_order(x, desc)
        yield v, np.take_along_axis(x, order, -1), 0
        yield i, order, 0
    return case


def radix_sort(dtype, desc, fused, size=5000):
    """Every pass: histograms of a digit by blocks, their sums, the elements to their places."""
    def case(kit):
        bits, threads, each = (4, 512, 8) if dtype is np.uint8 else (8, 1024 if np.dtype(dtype).itemsize == 2 else 512, 4)
        blocks = -(-size // (threads * each))
        v, i = keys(dtype, 2, size), np.zeros((2, size), np.uint32)
        x, name = v, f"{NAMES[dtype]}_{bits}bit"
        passes = 8 * np.dtype(dtype).itemsize // bits
        for p in range(passes):
            dims, last = np.array([size, blocks, p * bits, 0], np.int32), p == passes - 1
            counts, = call(kit, f"radix_count_{name}", [v, np.zeros((2, 1 << bits, blocks), np.uint32), dims, np.bool_(desc)], [1],
                           (blocks, 2, 1), threads)
            if not fused:
                counts, = call(kit, "radix_scan", [counts, np.int32(blocks << bits)], [0], (1, 2, 1), 1024)
            out = np.zeros(v.shape, np.int64 if last else np.uint32)
            v, i = call(kit, f"radix_scatter_{'fused_' * fused}{'final_' * last}{name}",
                        [v, i, np.zeros_like(v), out, counts, dims, np.array([desc, p == 0])], [2, 3], (blocks, 2, 1), threads)
        order = expected_order(x, desc)
        yield v, np.take_along_axis(x, order, -1), 0
        yield i, order, 0
    return case


def top(dtype, desc, count=20, size=700):
    def case(kit):
        x = rng.permutation(2 * 30 * size)[:2 * size].reshape(2, size).astype(dtype)  # all different: the order is not a stable one
        out, places = np.zeros((2, count), dtype), np.zeros((2, count), np.int64)
        arguments = [x, out, places, np.int32(size), np.array([1, size], np.int64), np.bool_(desc), np.array([0, count], np.int32)]
        found, places = call(kit, f"sort_block_topk_{NAMES[dtype]}_tptg256", arguments, [1, 2], (1, 2, 1), 256)
        order = expected_order(x, desc)[:, :count]
        yield found, np.take_along_axis(x, order, -1), 0
        yield places, order, 0
    return case


# ---- Attention ----

def attention(q, k, v, scale, mask=None, causal=False):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = q @ k.swapaxes(-1, -2) * scale
    if causal:
        rows, columns = scores.shape[-2:]
        scores = np.where(np.tril(np.ones((rows, columns), bool)), scores, -np.inf)  # aligned at the beginning
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True) @ v


def strides(x):
    return [s // x.itemsize for s in x.strides]


def inputs(dtype, heads, kv_heads, rows, columns, d):
    return [normal(2, h, n, d).astype(dtype) for h, n in ((heads, rows), (kv_heads, columns), (kv_heads, columns))]


def decode(dtype, d, kind, two=False, rows=3, columns=77):
    def case(kit):
        q, k, v = inputs(dtype, 4, 2, rows, columns, d)
        mask, scale = np.zeros((2, 4, rows, columns), np.float32), np.float32(0.2)
        if kind == "maskbool":
            mask = rng.random(mask.shape) < 0.8
            mask[..., 0] = True
        elif kind.startswith("mask") and not kind.startswith("masknone"):
            mask = normal(*mask.shape).astype(dtype)
        s = strides(mask)
        steps = [words(*(strides(x)[1] for x in (q, k, v)), 0), words(*(strides(x)[2] for x in (q, k, v)), 0)]
        ends = [scale, mask, words(s[3], s[2], s[1], s[0]), words(*(strides(x)[0] for x in (q, k, v)), 4)]
        out, shape = np.zeros(q.shape, dtype), (8, rows, 1)
        suffix = f"{NAMES[dtype]}_{d}_{d}_{kind}"
        if two:
            parts, sums = np.zeros((2, 4, rows, 32, d), dtype), np.zeros((2, 4, rows, 32), np.float32)
            parts, sums, most = call(kit, f"sdpa_vector_2pass_1_{suffix}", [q, k, v, parts, sums, sums.copy(), words(2), words(columns)] +
                                     steps + ends, [3, 4, 5], (8, rows, 32), 8 * 32)
            found, = call(kit, f"sdpa_vector_2pass_2_{NAMES[dtype]}_{d}", [parts, sums, most, out], [3], shape, 1024)
        else:
            found, = call(kit, f"sdpa_vector_{suffix}", [q, k, v, out, words(2), words(columns)] + steps + ends, [3], shape, 1024)
        used = None if kind.startswith("masknone") else mask
        yield found, attention(q, k, v, scale, used, kind.endswith("causal")), 3 * tolerance(dtype)
    return case


def prefill(dtype, d, tile, masked, causal, rows=70, columns=70, family=None):
    bq, bk, wm = tile

    def case(kit):
        q, k, v = inputs(dtype, 4, 2, rows, columns, d)
        out, scale = np.zeros(q.shape, dtype), np.float32(0.2)
        numbers = np.array([2, 4, d, rows, columns, 2], np.int32).tobytes() + np.array([scale, 1], np.float32).tobytes()
        numbers += np.array([strides(x)[:3] for x in (q, k, v, out)], np.int64).tobytes()
        mask = normal(2, 4, rows, columns).astype(dtype)
        name = f"{LONG_NAMES[dtype]}_bq{bq}_bk{bk}_bd{d}_wm{wm}_wn1_hm{int(masked)}_dc{int(causal)}_mask{LONG_NAMES[dtype]}"
        name = f"prefill_attention_mpp_{family}_{name}" if family else f"prefill_attention_{name}"
        arguments = [q, k, v, out, numbers, np.array(strides(mask), np.int64).tobytes(), mask]
        found, = call(kit, name, arguments, [3], (-(-rows // bq), 4, 2), 32 * wm)
        yield found, attention(q, k, v, scale, mask if masked else None, causal), 3 * tolerance(dtype)
    return case


# ---- Products ----

def gemv(dtype, name, simds, vector, across, bias=False):
    """gemv_t: y = x B, columns by lanes; gemv_nt: y = A x, a row for each SIMD-group."""
    def case(kit):
        n, k = 150, 333 if across else 332
        matrix = normal(k, n).astype(dtype) if across else normal(n, k).astype(dtype)
        x, extra = normal(k).astype(dtype), normal(n).astype(dtype)
        dims = np.array([n, k, matrix.shape[1], 1, 1, int(not across), int(across)], np.int64).tobytes()
        arguments = [matrix, x, np.zeros(n, dtype), dims, extra, np.array([1.5, 0.5], np.float32)]
        columns = 32 * vector if across else simds
        found, = call(kit, f"{name}_{NAMES[dtype]}_{simds}_{vector}_{'ab' if bias else 'none'}{'' if across else '_xc'}", arguments, [2],
                      (-(-n // columns), 1, 1), 32 * simds)
        product = matrix.astype(np.float64).T @ x if across else matrix.astype(np.float64) @ x
        yield found, 1.5 * product + 0.5 * extra if bias else product, 3 * tolerance(dtype)
    return case


def all_cases():
    for dtype in (np.float32, np.float16, np.int32, np.int64, np.uint8):
        for desc in (False, True):
            yield "Sort", f"block {NAMES[dtype]} {'down' if desc else 'up'}", sort_block(dtype, desc)
    for dtype in (np.float32, np.int16):
        for desc in (False, True):
            yield "Sort", f"merge {NAMES[dtype]} {'down' if desc else 'up'}", merge_sort(dtype, desc)
    for dtype in (np.float32, np.float16, np.int32, np.uint8):
        yield "Sort", f"radix {NAMES[dtype]}", radix_sort(dtype, dtype is np.int32, False)
    yield "Sort", "radix, sums fused", radix_sort(np.float32, True, True)
    for desc in (False, True):
        yield "Sort", f"top {'down' if desc else 'up'}", top(np.float32, desc)
    for dtype in (np.float32, np.float16):
        for kind in ("masknone", "masknone_causal", "maskbool", f"mask{NAMES[dtype]}"):
            yield "Decode", f"decode {NAMES[dtype]} {kind}", decode(dtype, 64, kind)
            yield "Decode", f"decode twice {NAMES[dtype]} {kind}", decode(dtype, 128, kind, True, columns=300)
        for d, tile in ((64, (32, 32, 4)), (80, (32, 32, 4)), (128, (32, 16, 4))):
            for masked, causal in ((False, False), (False, True), (True, False)):
                if d != 80 or causal:
                    yield "Prefill", f"prefill {NAMES[dtype]} {d} mask {masked} causal {causal}", prefill(dtype, d, tile, masked, causal)
        for bias in (False, True):
            yield "Gemv", f"gemv_t {NAMES[dtype]} bias {bias}", gemv(dtype, "gemv_t", 16, 2, True, bias)
            yield "Gemv", f"gemv_nt {NAMES[dtype]} bias {bias}", gemv(dtype, "gemv_nt", 4, 4, False, bias)
    # a10 is what cooperative tensors look like here; a9 copies registers as they lie on older GPUs.
    for masked, causal in ((False, False), (False, True), (True, False)):
        yield "Mpp_nax", f"prefill by tensors, mask {masked} causal {causal}", prefill(np.float16, 64, (64, 32, 4), masked, causal, 100, 100, "a10")


if __name__ == "__main__":
    tombac, device, include = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "pytorch_sources.py"), include, folder], check=True)
        chosen = [(name, file, f) for file, name, f in all_cases() if not sys.argv[4:] or any(w in name for w in sys.argv[4:])]
        kits = {file: Direct(tombac, device, os.path.join(folder, file + ".metal"), folders=[include], math="safe",
                             standard="metal4.0" if file.endswith("_nax") else "metal3.1") for _, file, _ in chosen}
        sys.exit(main("pytorch templates", chosen, kits))
