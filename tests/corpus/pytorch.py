"""Executes kernels of PyTorch's aten/src/ATen/native/mps/kernels: pytorch.py TOMBAC DEVICE CHECKOUT [FILTER...].

A checkout may hold some of the files only: cases of kernels that are not there are left out. Dispatch follows the project's host
code; references are ours."""
import os
import subprocess
import sys
import tempfile

import numpy as np

import pytorch26
from direct import Direct
from kit import Kit, main

rng = np.random.default_rng(47)
DIMENSIONS = 16  # c10::metal::max_ndim
NAMES = {np.float32: "float", np.float16: "half", np.int64: "long", np.int32: "int", np.int16: "short", np.int8: "char", np.uint8: "uchar"}


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def strides(array):
    return [s // array.itemsize for s in array.strides]


def array(values):
    """A c10::metal::array of DIMENSIONS numbers, whose member is called so by Tombac's <metal_array>."""
    return {"__elements": list(values) + [0] * (DIMENSIONS - len(values))}


def tolerance(dtype):
    return 2e-3 if dtype is np.float16 else 1e-5 if dtype is np.float32 else 0


def call(kit, name, arguments, out, grid, group=64):
    grid = tuple(grid) if isinstance(grid, tuple) else (grid, 1, 1)
    (found,) = kit.run(name, dict(enumerate(arguments)), grid=grid, group=(group, 1, 1), outputs=[out])
    return found


# ---- Windows ----

def windows(x, kernel, dilation, padding, stride):
    """Columns of torch.nn.functional.unfold: batch, channels * kernel, positions; and how many positions there are each way."""
    (kh, kw), (n, c, h, w) = kernel, x.shape
    full = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    high, wide = ((s + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for s, k in ((h, kh), (w, kw)))
    columns = np.zeros((n, c, kh, kw, high, wide), x.dtype)
    for i in range(kh):
        for j in range(kw):
            rows, cols = i * dilation + stride * np.arange(high), j * dilation + stride * np.arange(wide)
            columns[:, :, i, j] = full[:, :, rows][:, :, :, cols]
    return columns.reshape(n, c * kh * kw, high * wide), high, wide


def im2col(dtype, suffix):
    def case(kit):
        x = normal(2, 3, 9, 7).astype(dtype)
        expected, high, wide = windows(x, (3, 2), 2, 1, 2)
        index, signed = (np.uint32, np.int32) if suffix == "u32" else (np.uint64, np.int64)
        out = np.zeros_like(expected)
        arguments = [x, out, np.array([2, 3, 2, 2], np.uint32), np.array([1, 1, 2, 2], np.int32), np.array(strides(x)[::-1], index),
                     np.array([1, high * wide, expected[0].size, wide], index), np.array(x.shape[::-1], signed)]
        yield call(kit, f"im2col_{NAMES[dtype]}_{suffix}", arguments, 1, (high * wide, 3, 2), 4), expected, 0
    return case


def col2im(dtype):
    def case(kit):
        x = np.zeros((2, 3, 9, 7), np.float64)
        columns, high, wide = windows(x, (3, 2), 2, 1, 2)
        columns = normal(*columns.shape).astype(dtype)
        expected = np.zeros(x.size)  # the transpose of unfold, by unfolding the numbers of the places
        places, *_ = windows(np.arange(1, x.size + 1).reshape(x.shape), (3, 2), 2, 1, 2)
        np.add.at(expected, places[places > 0] - 1, columns[places > 0].astype(np.float64))
        numbers = [columns[0].size, 2, 3, 9, 7, 3, 2, 1, 1, 2, 2, 2, 2, high, wide, x[0].size]
        found = call(kit, f"col2im_kernel_{NAMES[dtype]}", [columns, np.zeros(x.shape, dtype)] + numbers, 1, x.size)
        yield found, expected.reshape(x.shape), tolerance(dtype)
    return case


# ---- Vectors ----

def cross(dtype, axis):
    def case(kit):
        shape = [5, 4, 6]
        shape[axis] = 3
        a, b = ((rng.random(shape) * 20 - 10).astype(dtype) for _ in range(2))
        expected = np.cross(a.astype(np.float64), b.astype(np.float64), axis=axis)
        found = call(kit, f"cross_dense_{NAMES[dtype]}", [np.zeros_like(a), a, b, strides(a)[axis]], 0, a.size // 3, 8)
        yield found, expected, 5 * tolerance(dtype)
    return case


def cross_strided(kit):
    a, b = normal(3, 5, 4).transpose(2, 0, 1), normal(4, 3, 5)
    rest = np.array([4, 5], np.int64)
    arguments = [np.zeros((4, 3, 5), np.float32), a.base, b, rest] + [np.array(strides(v), np.int64) for v in (b, a, b)] + [3, 1]
    yield call(kit, "cross_strided_float", arguments, 0, 20, 4), np.cross(a.astype(np.float64), b, axis=1), 1e-5


def repeat(dtype, name):
    def case(kit):
        counts = rng.integers(0, 6, 50).astype(dtype)
        sums = np.cumsum(counts).astype(np.int64)
        found = call(kit, f"repeat_interleave_{name}", [counts, sums, np.zeros(int(sums[-1]), dtype)], 2, 50, 32)
        yield found, np.repeat(np.arange(50), counts), 0
    return case


def renorm(dtype):
    def case(kit):
        norms = (rng.random(70) * 4).astype(dtype)
        found = call(kit, f"renorm_{NAMES[dtype]}", [norms, np.zeros_like(norms), 1.5], 1, 70, 32)
        yield found, np.where(norms > 1.5, 1.5 / (norms.astype(np.float64) + 1e-7), 1), tolerance(dtype)
    return case


def roll(dtype):
    def case(kit):
        x, shifts = rng.integers(-100, 100, (4, 5, 6)).astype(dtype), (3, 0, 4)
        out = np.zeros_like(x)
        numbers = [np.array(v, np.int64) for v in (x.shape, strides(x), strides(out), shifts)]
        yield call(kit, f"roll_{NAMES[dtype]}", [x, out, *numbers, 3, x.size], 1, 128), np.roll(x, shifts, (0, 1, 2)), 0
    return case


def roll_2d(kit):
    x = normal(9, 13)
    arguments = [x, np.zeros_like(x), np.array([9, 13], np.int64), np.array([2, 7], np.int64)]
    yield call(kit, "roll_2d_float", arguments, 1, (16, 9, 1), 16), np.roll(x, (2, 7), (0, 1)), 0


# ---- Counting, joining ----

def bincount(dtype):
    def case(kit):
        x = rng.integers(0, 20, 500).astype(dtype)
        found = call(kit, f"bincount_unweighted_{NAMES[dtype]}", [x, np.zeros(20, np.uint32), 1], 1, 500)
        yield found, np.bincount(x, minlength=20), 0
    return case


def bincount_weighted(kind):
    def case(kit):
        x, weights = rng.integers(0, 20, (300, 2)).astype(np.int32), rng.integers(-9, 9, (300, 3))
        weights = weights.astype(np.int32 if kind == "int" else np.float32)
        found = call(kit, f"bincount_weighted_{kind}_int", [x, weights, np.zeros(20, weights.dtype), 2, 3], 2, 300)
        yield found, np.bincount(x[:, 0], weights[:, 0], 20), 0
    return case


def cat(index, source, target):
    def case(kit):
        a, out = rng.integers(0, 100, (3, 4, 5)).astype(source), np.zeros((3, 9, 5), target)
        shared = {"ndim": 3, "cat_dim": 1, "output_strides": array(strides(out)), "output_sizes": array(out.shape)}
        own = {"cat_dim_offset": 5, "input_element_offset": 0, "input_strides": array(strides(a)),
               "input_sizes": array(a.shape)}
        found = call(kit, f"cat_large_{index}_{NAMES[source]}_{NAMES[target]}", [a, out, shared, own], 1, a.size, 20)
        out[:, 5:] = a
        yield found, out, 0
    return case


REDUCTIONS = {"set": None, "add": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum, "gather": None}


def scatter(op, dtype, index=np.int32):
    def case(kit):
        own = rng.integers(1, 4, (6, 7)).astype(dtype)
        source = rng.integers(1, 4, (6, 5)).astype(dtype)
        ids = np.array([rng.permutation(7)[:5] for _ in range(6)]) if op == "set" else rng.integers(0, 7, (6, 5))
        ids = ids.astype(index)
        params = {"ndim": 2, "dim": 1}
        for name, part in (("self", own), ("src", source), ("index", ids)):
            params[f"{name}_strides"], params[f"{name}_sizes"] = array(strides(part)), array(part.shape)
        rows = np.repeat(np.arange(6), 5).reshape(6, 5)
        if op == "gather":
            found = call(kit, f"gather_{NAMES[dtype]}_{NAMES[index]}", [np.zeros_like(source), own, ids, params], 0, 30, 10)
            yield found, np.take_along_axis(own, ids.astype(np.int64), 1), 0
            return
        start = own
        if dtype in (np.float16, np.int16, np.uint8, np.int64):  # updated through 32-bit words
            start = np.zeros((own.nbytes + 3) // 4 * 4, np.uint8)
            start[:own.nbytes] = own.reshape(-1).view(np.uint8)
            start = start.view(np.uint32)
        found = call(kit, f"scatter_{op}_{NAMES[dtype]}_{NAMES[index]}", [own if op == "set" else start, ids, source, params], 0, 30, 10)
        expected = own.astype(np.float64)
        if op == "set":
            expected[rows, ids] = source
        else:
            REDUCTIONS[op].at(expected, (rows, ids), source.astype(np.float64))
        yield found.reshape(-1).view(np.uint8)[:own.nbytes].view(dtype).reshape(own.shape), expected, 0
    return case


def all_cases():
    for dtype in (np.float32, np.float16):
        for suffix in ("u32", "u64"):
            yield "Im2Col", f"im2col {NAMES[dtype]} {suffix}", im2col(dtype, suffix)
        yield "Col2Im", f"col2im {NAMES[dtype]}", col2im(dtype)
        yield "RenormKernel", f"renorm {NAMES[dtype]}", renorm(dtype)
    for axis in range(3):
        yield "CrossKernel", f"cross float along {axis}", cross(np.float32, axis)
    yield "CrossKernel", "cross long", cross(np.int64, 2)
    yield "CrossKernel", "cross half", cross(np.float16, 0)
    yield "CrossKernel", "cross of strided vectors", cross_strided
    yield "Repeat", "repeat int", repeat(np.int32, "int32_t")
    yield "Repeat", "repeat long", repeat(np.int64, "int64_t")
    for dtype in (np.float32, np.int8, np.int64):
        yield "Roll", f"roll {NAMES[dtype]}", roll(dtype)
    yield "Roll", "roll of two dimensions", roll_2d
    for dtype in (np.int64, np.int16, np.uint8):
        yield "Bincount", f"bincount {NAMES[dtype]}", bincount(dtype)
    for kind in ("int", "float"):
        yield "Bincount", f"bincount with {kind} weights", bincount_weighted(kind)
    yield "Shape", "cat of floats", cat("int64_t", np.float32, np.float32)
    yield "Shape", "cat that converts", cat("int32_t", np.uint8, np.float16)
    for op in REDUCTIONS:
        yield "ScatterGather", f"{op} float", scatter(op, np.float32)
    yield "ScatterGather", "set long by long indices", scatter("set", np.int64, np.int64)
    for op, dtype in (("add", np.float16), ("add", np.int64), ("amax", np.int16), ("prod", np.int32), ("amin", np.uint8)):
        yield "ScatterGather", f"{op} {NAMES[dtype]}", scatter(op, dtype)


def newer_kits(tombac, device, checkout, folder, chosen):
    options = ["-I", checkout, "-I", os.path.join(checkout, "aten", "src")]
    return {file: Kit(tombac, device, os.path.join(folder, file + ".metal"), options) for _, file, _ in chosen}


def run_2_6(tombac, device, checkout, folder, wanted):
    """Version 2.6: no c10/metal, and some sources are strings of the host."""
    with tempfile.TemporaryDirectory() as strings:
        subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "pytorch_sources.py"), checkout, strings], check=True)
        cases, kits = [], {}
        for file, name, function in pytorch26.all_cases():
            path = next(p for p in (os.path.join(f, file + ".metal") for f in (folder, strings)) if os.path.exists(p))
            # The device check knows buffers that are bound, not those that are reached through addresses in others.
            if (wanted and not any(w in name for w in wanted)) or (device == "check" and reaches(file, name)):
                continue
            if file not in kits:
                kits[file] = Direct(tombac, device, path, standard="metal3.1", math="safe")
            cases.append((name, file, function))
        return main("pytorch 2.6", cases, kits)


def reaches(file, name):
    return file == "FusedOptimizerOps" or file == "Indexing" and "offsets" not in name


if __name__ == "__main__":
    tombac, device, checkout = sys.argv[1:4]
    wanted = sys.argv[4:]
    folder = os.path.join(checkout, "aten", "src", "ATen", "native", "mps", "kernels")
    if not os.path.isdir(os.path.join(checkout, "c10", "metal")):
        sys.exit(run_2_6(tombac, device, checkout, folder, wanted))
    chosen = [(n, file, f) for file, n, f in all_cases() if (not wanted or any(w in n for w in wanted))
              and os.path.exists(os.path.join(folder, file + ".metal"))]
    sys.exit(main("pytorch", chosen, newer_kits(tombac, device, checkout, folder, chosen)))
