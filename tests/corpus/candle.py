"""Executes kernels of a candle checkout: candle.py TOMBAC DEVICE CHECKOUT [FILTER...].

Arguments are bound in the order of the kernels' parameters, as the project's host code does; references are ours."""
import os
import sys

import numpy as np

from kit import Kit, main

rng = np.random.default_rng(31)
NAMES = {np.float32: "f32", np.float16: "f16", np.uint32: "u32", np.uint8: "u8", np.int64: "i64"}


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def sizes(*values):
    return np.array(values, np.uint64)


def strides(array):
    return sizes(*(s // array.itemsize for s in array.strides))


def call(kit, name, arguments, out, threads, group=64, **more):
    """`out` is the place of the result among the arguments."""
    (found,) = kit.run(name, dict(enumerate(arguments)), grid=(threads, 1, 1), group=(group, 1, 1), outputs=[out], **more)
    return found


def tolerance(dtype):
    return 2e-3 if dtype is np.float16 else 1e-5 if dtype is np.float32 else 0


# ---- Elementwise ----

UNARY = {"sqrt": np.sqrt, "sqr": np.square, "neg": np.negative, "recip": np.reciprocal, "exp": np.exp, "log": np.log, "tanh": np.tanh,
         "silu": lambda x: x / (1 + np.exp(-x)), "relu": lambda x: np.maximum(x, 0), "floor": np.floor,
         "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))}


def unary(name, dtype):
    def case(kit):
        x = (np.abs(normal(501)) + 0.1).astype(dtype)
        expected = UNARY[name](x.astype(np.float64))
        yield call(kit, f"{name}_{NAMES[dtype]}", [501, x, np.zeros_like(x)], 2, 501), expected, 5 * tolerance(dtype)
        t = np.ascontiguousarray(x[:480].reshape(20, 24)).T
        found = call(kit, f"{name}_{NAMES[dtype]}_strided", [480, 2, sizes(*t.shape), strides(t), t.base, np.zeros(480, dtype)], 5, 480)
        yield found, expected[:480].reshape(20, 24).T.ravel(), 5 * tolerance(dtype)
    return case


BINARY = {"badd": np.add, "bsub": np.subtract, "bmul": np.multiply, "bdiv": np.divide, "bmaximum": np.maximum, "bminimum": np.minimum}


def binary(name, dtype):
    def case(kit):
        a, b = ((rng.random(300) * 9 + 1).astype(dtype) for _ in range(2))
        yield call(kit, f"{name}_{NAMES[dtype]}", [300, a, b, np.zeros_like(a)], 3, 300), BINARY[name](a.astype(np.float64), b), tolerance(dtype)
    return case


def affine(dtype):
    def case(kit):
        x = normal(333).astype(dtype)
        found = call(kit, f"affine_{NAMES[dtype]}", [333, 2.5, -1.25, x, np.zeros_like(x)], 4, 333)
        yield found, x.astype(np.float64) * 2.5 - 1.25, tolerance(dtype)
    return case


def fill(kit):
    yield call(kit, "fill_i64", [np.zeros(100, np.int64), -5, 70], 0, 100), np.where(np.arange(100) < 70, -5, 0), 0


def cast(source, target):
    def case(kit):
        x = (rng.random(200) * 200).astype(source)
        found = call(kit, f"cast_{NAMES[source]}_{NAMES[target]}", [200, x, np.zeros(200, target)], 2, 200)
        yield found, x.astype(target), 0
    return case


def where(kit):
    ids, a, b = rng.integers(0, 2, 250).astype(np.uint8), normal(250), normal(250)
    flags = {"IDS_CONTIGUOUS": True, "T_CONTIGUOUS": True, "F_CONTIGUOUS": True}
    one = sizes(1)
    arguments = [250, 1, sizes(250), one, one, one, ids, a, b, np.zeros(250, np.float32)]
    yield call(kit, "where_u8_f32", arguments, 9, 250, constants=flags), np.where(ids, a, b), 0


# ---- Rows ----

def reduce(op, function, dtype):
    def case(kit):
        x = rng.integers(1, 9, (6, 500)).astype(dtype)
        out = np.zeros(6, np.uint32 if "arg" in op else dtype)
        arguments = [x.size, 2, np.array(x.shape, np.uint32), 500, x, out]
        if "arg" in op:  # the first of equals is not promised
            x[:] = np.array([rng.permutation(500) for _ in range(6)]) if dtype is not np.uint8 else x
        found = call(kit, f"fast_{op}_{NAMES[dtype]}", arguments, 5, 6 * 256, 256)
        yield found, function(x.astype(np.float64), axis=-1), tolerance(dtype)
    return case


def softmax(dtype, width):
    def case(kit):
        x = (normal(5, width) * 3).astype(dtype)
        found = call(kit, f"softmax_{NAMES[dtype]}", [x.size, width, x, np.zeros_like(x)], 3, 5 * 128, 128)
        e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
        yield found, e / e.sum(-1, keepdims=True), 2 * tolerance(dtype)
    return case


def norm(kind, dtype):
    def case(kit):
        x, alpha, beta = normal(4, 300).astype(dtype), normal(300).astype(dtype), normal(300).astype(dtype)
        layer = kind == "layernorm"
        arguments = [x.size, 300, x, np.zeros_like(x), alpha] + ([beta] if layer else []) + [1e-5]
        found = call(kit, f"{kind}_{NAMES[dtype]}", arguments, 3, 4 * 128, 128)
        y = x.astype(np.float64)
        y = y - y.mean(-1, keepdims=True) if layer else y
        y = y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-5) * alpha
        yield found, y + beta if layer else y, 4 * tolerance(dtype)
    return case


def rope(form):
    def case(kit):
        batch, time, heads, width = 2, 5, 3, 16
        x, angle = normal(batch, heads, time, width), rng.random((time, width // 2)) * 6
        cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
        head = {"rope_i": [batch * heads, time * width, 0], "rope": [batch * heads, time * width, width, 0],
                "rope_thd": [batch, time, heads, width, 0]}[form]
        source = np.ascontiguousarray(x.transpose(0, 2, 1, 3)) if form == "rope_thd" else x
        found = call(kit, f"{form}_f32", head + [source, cos, sin, np.zeros_like(source)], len(head) + 3, x.size // 2)
        pairs = x.reshape(*x.shape[:-1], -1, 2) if form == "rope_i" else np.stack([x[..., :8], x[..., 8:]], -1)
        z = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * angle)
        y = np.stack([z.real, z.imag], -1).reshape(x.shape) if form == "rope_i" else np.concatenate([z.real, z.imag], -1)
        yield found, y.transpose(0, 2, 1, 3) if form == "rope_thd" else y, 1e-5
    return case


def argsort(dtype, direction):
    def case(kit):
        x = np.array([rng.permutation(100) for _ in range(3)]).astype(dtype)
        arguments = {0: x, 1: np.zeros((3, 100), np.uint32), 2: 100, 3: 128}
        (found,) = kit.run(f"asort_{direction}_{NAMES[dtype]}", arguments, groups=(1, 3, 1), group=(128, 1, 1), threadgroup={0: 512}, outputs=[1])
        order = np.argsort(x.astype(np.int64), -1)
        yield found, order if direction == "asc" else order[:, ::-1], 0
    return case


# ---- Indices, windows ----

def index_select(kit):
    x, ids = normal(3, 10, 4), rng.integers(0, 10, 6).astype(np.uint32)
    out = np.zeros((3, 6, 4), np.float32)
    arguments = [out.size, 3, 10, 4, 6, True, sizes(*x.shape), strides(x), x, ids, out]
    yield call(kit, "is_u32_f32", arguments, 10, out.size), x[:, ids], 0


def im2col(kit):
    x, k, stride, padding, dilation = normal(2, 3, 9, 8), (3, 2), 2, 1, 1
    high, wide = (9 + 2 - 3) // stride + 1, (8 + 2 - 2) // stride + 1
    out = np.zeros((2, high, wide, 3, *k), np.float32)
    arguments = [out.size, high, wide, *k, stride, padding, dilation, sizes(*x.shape), strides(x), x, out]
    padded, expected = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)]), np.zeros_like(out)
    for i in range(high):
        for j in range(wide):
            expected[:, i, j] = padded[:, :, 2 * i:2 * i + 3, 2 * j:2 * j + 2]
    yield call(kit, "im2col_f32", arguments, 11, out.size), expected, 0


def pool(kind):
    def case(kit):
        x = normal(2, 3, 8, 10)
        windows = x.reshape(2, 3, 4, 2, 5, 2).transpose(0, 1, 2, 4, 3, 5).reshape(2, 3, 4, 5, 4).astype(np.float64)
        out = np.zeros((2, 3, 4, 5), np.float32)
        arguments = [2, 2, 2, 2, sizes(*x.shape), strides(x), x, out]
        yield call(kit, f"{kind}_pool2d_f32", arguments, 7, out.size), windows.mean(-1) if kind == "avg" else windows.max(-1), 1e-6
    return case


def upsample(kit):
    x, out = normal(2, 3, 4, 5), np.zeros((2, 3, 8, 15), np.float32)
    arguments = [8, 15, 4 / 8, 5 / 15, sizes(*x.shape), strides(x), x, out]
    yield call(kit, "upsample_nearest2d_f32", arguments, 7, out.size), x.repeat(2, 2).repeat(3, 3), 0


def all_cases():
    for name in UNARY:
        for dtype in (np.float32, np.float16):
            yield "unary", f"{name} {NAMES[dtype]}", unary(name, dtype)
    for name in BINARY:
        yield "binary", f"{name} f32", binary(name, np.float32)
    yield "binary", "badd i64", binary("badd", np.int64)
    yield "binary", "bmul f16", binary("bmul", np.float16)
    yield "affine", "affine f32", affine(np.float32)
    yield "affine", "affine f16", affine(np.float16)
    yield "fill", "fill i64", fill
    for source, target in ((np.float32, np.uint8), (np.float32, np.float16), (np.uint8, np.int64), (np.int64, np.float32)):
        yield "cast", f"cast {NAMES[source]} {NAMES[target]}", cast(source, target)
    yield "ternary", "where u8 f32", where
    yield "reduce", "sum f32", reduce("sum", np.sum, np.float32)
    yield "reduce", "sum u32", reduce("sum", np.sum, np.uint32)
    yield "reduce", "max f16", reduce("max", np.max, np.float16)
    yield "reduce", "min u8", reduce("min", np.min, np.uint8)
    yield "reduce", "argmin f32", reduce("argmin", np.argmin, np.float32)
    yield "reduce", "argmax u32", reduce("argmax", np.argmax, np.uint32)
    yield "reduce", "softmax f32", softmax(np.float32, 777)
    yield "reduce", "softmax f16", softmax(np.float16, 64)
    for kind in ("rmsnorm", "layernorm"):
        yield "reduce", f"{kind} f32", norm(kind, np.float32)
        yield "reduce", f"{kind} f16", norm(kind, np.float16)
    for form in ("rope_i", "rope", "rope_thd"):
        yield "reduce", form, rope(form)
    yield "sort", "argsort f32", argsort(np.float32, "asc")
    yield "sort", "argsort u8 descending", argsort(np.uint8, "desc")
    yield "indexing", "index select", index_select
    yield "conv", "im2col", im2col
    yield "conv", "average pool", pool("avg")
    yield "conv", "maximum pool", pool("max")
    yield "conv", "upsample nearest", upsample


if __name__ == "__main__":
    tombac, device, checkout = sys.argv[1:4]
    wanted = sys.argv[4:]
    folder = os.path.join(checkout, "candle-metal-kernels", "src", "metal_src")
    chosen = [(n, file, f) for file, n, f in all_cases() if not wanted or any(w in n for w in wanted)]
    kits = {file: Kit(tombac, device, os.path.join(folder, file + ".metal"), ["-I", folder]) for _, file, _ in chosen}
    sys.exit(main("candle", chosen, kits))
