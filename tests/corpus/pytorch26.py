"""Kernels of PyTorch 2.6 (before c10/metal): executed by pytorch.py. Dispatch follows the project's host code; references are ours."""
import math

import numpy as np

from direct import Addresses

rng = np.random.default_rng(26)
NAMES = {np.float32: "float", np.float16: "half", np.int64: "long", np.int32: "int", np.int16: "short", np.int8: "char", np.uint8: "uchar",
         np.bool_: "bool"}


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def longs(*values):
    return np.array(values, np.int64)


def words(*values):
    return np.array(values, np.uint32)


def strides(array):
    return [s // array.itemsize for s in array.strides]


def tolerance(dtype):
    return 2e-3 if dtype is np.float16 else 1e-5 if dtype is np.float32 else 0


def call(kit, name, arguments, out, grid, group=64, **more):
    grid = tuple(grid) if isinstance(grid, tuple) else (grid, 1, 1)
    (found,) = kit.run(name, dict(enumerate(arguments)), grid=grid, group=(min(group, grid[0]), 1, 1), outputs=[out], **more)
    return found


def offsets(*arrays, items=None):
    """Byte offsets of corresponding elements of arrays with the same shape: uint3, so four words each."""
    shape = arrays[0].shape if items is None else items
    places = np.indices(shape).reshape(len(shape), -1)
    table = np.zeros((places.shape[1], 4), np.uint32)
    for i, array in enumerate(arrays):
        table[:, i] = sum(places[d] * array.strides[d] for d in range(len(shape)))
    return table


# ---- Elementwise ----

BINARY = {"fmax": np.fmax, "fmin": np.fmin, "copysign": np.copysign, "nextafter_kernel": np.nextafter}


def binary(name, dtype):
    def case(kit):
        a, b = ((rng.standard_normal((5, 6)) * 5).astype(dtype) for _ in range(2))
        b = np.asfortranarray(b)
        if dtype in (np.float32, np.float16):
            a[0, :3], b[0, 2:4] = [np.nan, 0, -0.0], [np.nan, np.inf]
        out = np.zeros(a.shape, np.float32 if np.issubdtype(dtype, np.integer) else dtype)
        found = call(kit, f"{name}_{NAMES[dtype]}", [a, b.ravel(order="K"), out, offsets(out, a, b)], 2, a.size)
        expected = BINARY[name](a.astype(out.dtype), b.astype(out.dtype))
        yield np.isnan(found), np.isnan(expected), 0
        yield np.signbit(found[~np.isnan(found)]), np.signbit(expected[~np.isnan(found)]), 0
        yield np.nan_to_num(found), np.nan_to_num(expected), 0
    return case


def complex_of(name, dtype):
    def case(kit):
        x, y = (rng.standard_normal((40, 2)).astype(dtype) for _ in range(2))
        a, b = (x, y) if name == "complex_mul" else (x[:, 0].copy(), y[:, 0].copy())
        out = np.zeros((40, 2), dtype)
        found = call(kit, f"{name}_{NAMES[dtype]}", [a, b, out, offsets(out, a, b, items=(40,))], 2, 40)
        first, second = (v.astype(np.float64) @ [1, 1j] if v.ndim == 2 else v.astype(np.float64) for v in (a, b))
        expected = {"complex_mul": lambda: first * second, "polar": lambda: first * np.exp(1j * second),
                    "complex_kernel": lambda: first + 1j * second}[name]()
        yield found, np.stack([expected.real, expected.imag], -1), 2 * tolerance(dtype)
    return case


BITS = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift}


def bitwise(op, kind, dtypes):
    def case(kit):
        out, a, b = (rng.integers(0, 2 if t is np.bool_ else 100, 70).astype(t) for t in dtypes)
        b = (b % 8).astype(dtypes[2]) if "shift" in op else b
        second = b if kind == "tensor" else b[:1]
        found = call(kit, f"bitwise_{op}_{kind}", [np.uint32(70), out, a, second], 1, 70)
        yield found, BITS[op](a, second).astype(dtypes[0]), 0
    return case


def unary(name, out, dtype, function, low, high):
    def case(kit):
        x = (rng.random(90) * (high - low) + low).astype(dtype)
        expected = np.array([function(float(v)) for v in x])
        yield call(kit, f"{name}_kernel", [np.zeros(90, out), x], 0, 90), expected, 4 * tolerance(out)
    return case


def erfinv(value):
    """By bisection of the error function."""
    if abs(value) == 1:
        return math.copysign(math.inf, value)
    low, high = -6.0, 6.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle) < value else (low, middle)
    return low


def complex_unary(name):
    def case(kit):
        x = normal(60, 2)
        z = x.astype(np.float64) @ [1, 1j]
        expected = np.exp(z) if name == "exp" else np.tanh(z)
        found = call(kit, f"{name}_complex_kernel", [np.zeros_like(x), x], 0, 60)
        yield found, np.stack([expected.real, expected.imag], -1), 2e-5
    return case


def polygamma(n, x):
    """(-1)^(n+1) n! sum of 1/(x+k)^(n+1); the tail by Euler and Maclaurin."""
    if n == 0:
        return math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) if x > 40 else polygamma(0, x + 1) - 1 / x
    many, s = 2000, n + 1
    total = sum((x + k) ** -s for k in range(many)) + (x + many) ** (1 - s) / (s - 1) + 0.5 * (x + many) ** -s
    return (-1) ** (n + 1) * math.factorial(n) * total


def gamma(name, dtype):
    def case(kit):
        x = (rng.random(80) * 12 + 0.3).astype(dtype)
        values = x.astype(np.float64)
        found = call(kit, name, [x, np.zeros(80, dtype)], 1, 80)
        yield found, np.array([polygamma(int(name == "trigamma"), v) for v in values]), 5 * tolerance(dtype)
    return case


def bessel(order, source, target):
    def case(kit):
        x = (rng.random(70) * (16 if target is np.float32 else 10) - 4).astype(source) if source is not np.bool_ else rng.integers(0, 2, 70).astype(bool)
        t = (np.arange(4000) + 0.5) * np.pi / 4000  # I_n(x) is the mean of exp(x cos t) cos(n t)
        expected = np.array([np.mean(np.exp(v * np.cos(t)) * np.cos(order * t)) for v in x.astype(np.float64)])
        found = call(kit, f"i{order}_{NAMES[source]}_{NAMES[target]}", [x, np.zeros(70, target)], 1, 70)
        yield found / np.cosh(x.astype(np.float64)), expected / np.cosh(x.astype(np.float64)), 4 * tolerance(target)
    return case


def cross(dtype):
    def case(kit):
        a, b = ((rng.random((4, 3, 5)) * 20 - 10).astype(dtype) for _ in range(2))
        out = np.zeros_like(a)
        table = offsets(*(v[:, 0] for v in (out, a, b)))
        arguments = [a, b, out, table] + [longs(5)] * 3
        found = call(kit, f"cross_{NAMES[dtype]}", arguments, 2, 20)
        yield found, np.cross(a.astype(np.float64), b.astype(np.float64), axis=1), 5 * tolerance(dtype)
    return case


def renorm(dtype):
    def case(kit):
        norms = (rng.random(70) * 4).astype(dtype)
        found = call(kit, f"renorm_{NAMES[dtype]}", [norms, np.zeros_like(norms), np.float32(1.5)], 1, 70)
        yield found, np.where(norms > 1.5, 1.5 / (norms.astype(np.float64) + 1e-7), 1), tolerance(dtype)
    return case


# ---- Searching and counting ----

def searchsorted(dtype, target, right, sorter):
    def case(kit):
        bounds, x = rng.integers(-40, 40, (3, 17)).astype(dtype), rng.integers(-45, 45, (3, 10)).astype(dtype)
        order = np.argsort(bounds, 1, kind="stable")
        ordered = np.take_along_axis(bounds, order, 1)
        expected = np.stack([np.searchsorted(r, v, "right" if right else "left") for r, v in zip(ordered, x)])
        name = f"searchsorted_{NAMES[dtype]}_{NAMES[target]}"
        arguments = [x, bounds if sorter else ordered, np.zeros(x.shape, target), longs(10), longs(17), longs(30), longs(int(right)), longs(0)]
        if sorter:
            name, arguments = name + "_sorter", arguments + [order.astype(np.int64)]
        (found,) = kit.run(name, dict(enumerate(arguments)), groups=(1, 1, 1), group=(16, 1, 1), outputs=[2])
        yield found, expected, 0
    return case


def histogram(dtype, algorithm, weighted):
    def case(kit):
        n, edges = 200, [np.linspace(-2, 2, 9), np.array([-2, -1.5, 0, 0.25, 3]) if algorithm == 2 else np.linspace(-2, 3, 5)]
        edges = [e.astype(dtype) for e in edges]
        x = (rng.standard_normal((n, 2)) * 1.3).astype(dtype)
        weights = rng.integers(1, 5, n).astype(dtype)
        out = np.zeros((n, 8, 4), dtype)
        table = words(*range(2 * n))
        arguments = [x, weights if weighted else np.ones(1, dtype), out, table, np.uint64(2), np.concatenate(edges), longs(9, 5),
                     np.array([e[0] for e in edges]), np.array([e[-1] for e in edges]), longs(*strides(out)), np.uint8(algorithm),
                     np.uint8(weighted)]
        found = call(kit, f"histogramdd_{NAMES[dtype]}", arguments, 2, n).sum(0, dtype=np.float64)
        expected, _, _ = np.histogram2d(x[:, 0], x[:, 1], bins=edges, weights=weights if weighted else None)
        yield found, expected, 0
    return case


def index_offsets(kit):
    shape, step = (4, 3, 5), (60, 8, 4)
    found = call(kit, "kernel_index_offset", [words(*step), np.zeros(60, np.uint32), words(*shape), np.uint32(3)], 1, 60)
    yield found, np.tensordot(step, np.indices(shape), 1).reshape(-1), 0


# ---- Indexing ----

def index_arguments(x, ids):
    places = np.broadcast_arrays(*ids)
    return Addresses([np.ascontiguousarray(p) for p in places]), longs(*x.shape), longs(*x.strides), len(places[0])


def index_select(dtype, wide):
    def case(kit):
        x = rng.integers(-50, 50, (6, 7)).astype(dtype)
        ids = rng.integers(-6, 6, 40), rng.integers(-7, 7, 40)
        pointers, sizes, steps, n = index_arguments(x, ids)
        table = np.zeros((n, 4), np.uint64 if wide else np.uint32)
        table[:, 0], table[:, 2] = np.arange(n) * x.itemsize, np.arange(n) * 8
        name = f"index_select_{8 * x.itemsize}bit_idx{64 if wide else 32}"
        yield call(kit, name, [pointers, sizes, steps, table, x, np.zeros(n, dtype), np.uint32(2)], 5, n), x[ids], 0
    return case


def index_put(dtype, op):
    def case(kit):
        x = rng.integers(-50, 50, (6, 7)).astype(dtype)
        many = 24 if op != "put" else 12
        flat = rng.permutation(42)[:many] if op == "put" else rng.integers(0, 42, many)
        ids = flat // 7 - 6, flat % 7
        values = rng.integers(1, 9, many).astype(dtype)
        pointers, sizes, steps, n = index_arguments(x, ids)
        table = np.zeros((n, 4), np.uint32)
        table[:, 1], table[:, 2] = np.arange(n) * x.itemsize, np.arange(n) * 8
        kind = f"32bit_{NAMES[dtype]}" if op == "put_accumulate" else f"{8 * x.itemsize}bit"
        arguments = [pointers, sizes, steps, table, values, x, np.uint32(2)] + ([words(n)] if op == "put_serial" else [])
        found = call(kit, f"index_{op}_{kind}_idx32", arguments, 5, 1 if op == "put_serial" else n)
        expected = x.copy()
        if op == "put_accumulate":
            np.add.at(expected, ids, values)
        else:
            for i, j, v in zip(*ids, values):
                expected[i, j] = v
        yield found, expected, 0
    return case


def kernel_index_offsets(wide):
    def case(kit):
        shape, steps = (4, 3, 5), rng.integers(0, 90, (3, 3))
        name, dtype = ("kernel_index_offsets_64", np.uint64) if wide else ("kernel_index_offsets_32", np.uint32)
        found = call(kit, name, [steps.astype(np.uint32), np.zeros((60, 4), dtype), words(*shape), np.uint32(3)], 1, 60)
        places = np.stack(np.unravel_index(np.arange(60), shape, order="F"), 1)
        yield found[:, :3], places @ steps, 0
    return case


def copy(direction, source, target, rank, expected_of):
    """The strided copies of View.mm."""
    def case(kit):
        shape = (3, 4, 5, 2, 3)[:rank]
        small = rng.integers(0, 3, shape + ((2,) if source == "float2" else ())).astype(np.float32 if source == "float2" else source)
        room = [2 * s for s in shape]
        steps = [math.prod(room[i + 1:]) * 2 for i in range(rank)]
        if rank == 1:
            steps = [2]
        places = sum(np.indices(shape)[d] * steps[d] for d in range(rank)).reshape(-1)
        many = math.prod(shape)
        large = np.zeros((2 * math.prod(room),), target)
        name = f"{direction}_kernel_{rank if rank < 5 else 'n'}"
        numbers = [words(*shape), words(*steps), np.uint32(many)] + ([np.int32(rank)] if rank > 4 else [])
        if direction == "scatter":
            found = call(kit, name, [small, large] + numbers, 1, many)
            large[places] = expected_of(small.reshape(-1))
            yield found, large, 0
        else:
            large = rng.integers(0, 3, large.shape).astype(source)
            yield call(kit, name, [large, np.zeros(many, target)] + numbers, 1, many), expected_of(large[places]), 0
    return case


# ---- Matrices ----

def matmul(dtype):
    def case(kit):
        a, b = normal(5, 9).astype(dtype), normal(7, 9).astype(dtype).T
        out = np.zeros((5, 7), dtype)
        steps = np.array([strides(v) for v in (a, b, out)], np.uint64)
        found = call(kit, f"naive_matmul_{NAMES[dtype]}", [a, b.base, out, steps, words(5, 9, 7, 0)], 2, 35)
        yield found, a.astype(np.float64) @ b.astype(np.float64), 3 * tolerance(dtype)
    return case


def int4(dtype, size):
    def case(kit):
        m, k, n = 3, 2 * size if size > 64 else 256, 24
        values = rng.integers(0, 16, (n, k))
        packed = (values[:, 0::2] * 16 + values[:, 1::2]).astype(np.uint8)  # as torch's host code packs them
        rows = packed.view(np.int32)
        (b,) = kit.run("weight_to_int4pack", {0: rows, 1: np.zeros_like(packed), 2: words(n, k // 8)}, grid=(n, k // 8, 1),
                       group=(8, 8, 1), outputs=[1])
        yield b, (packed >> 4) | (packed << 4), 0
        scales, zeros = (rng.random((k // size, n)) * 0.1 + 0.01).astype(dtype), normal(k // size, n).astype(dtype)
        a = normal(m, k).astype(dtype)
        found = call(kit, f"int4pack_mm_{size}_{NAMES[dtype]}",
                     [a, b, np.stack([scales, zeros], -1), np.zeros((m, n), dtype), words(m, k, n, 0)], 3, (n // 4 * 32, 1, m))
        s, z = (np.repeat(v.astype(np.float64), size, 0).T for v in (scales, zeros))
        yield found, a.astype(np.float64) @ ((values - 8) * s + z).T, 10 * tolerance(dtype)
    return case


def int8(dtype, m, n=128):
    def case(kit):
        k = 96
        a, b, scales = normal(m, k).astype(dtype), rng.integers(-128, 128, (n, k)).astype(np.int8), (rng.random(n) * 0.1).astype(dtype)
        small = m < 12
        name = f"int8pack_mv_{NAMES[dtype]}" if small else f"large_m_int8pack_mm_{NAMES[dtype]}"
        arguments = [a, b, scales, np.zeros((m, n), dtype), words(m, k, n, 0)]
        (found,) = kit.run(name, dict(enumerate(arguments)), groups=((n + 7) // 8, m, 1) if small else ((m + 31) // 32, (n + 63) // 64, 1),
                           group=(64 if small else 128, 1, 1), threadgroup={0: 32 if small else 12288}, outputs=[3])
        yield found, a.astype(np.float64) @ b.T.astype(np.float64) * scales, 2 * tolerance(dtype)
    return case


def triangle(kind, dtype, rows, columns, offset):
    def case(kit):
        expected = np.stack(np.tril_indices(rows, offset, columns) if kind == "tril" else np.triu_indices(rows, offset, columns))
        n = expected.shape[1]
        if kind == "tril":
            first = min(columns, 1 + offset) if offset > 0 else int(rows + offset > 0)
            last = max(0, min(columns, rows + offset))
            trapezoid = (first + last) * (last - first + 1) // 2
            numbers = [longs(max(0, -offset)), longs(first), longs(columns), longs(trapezoid)]
        else:
            first = max(0, columns - offset) if offset > 0 else columns
            rectangle = max(0, min(rows, -offset)) * columns
            numbers = [longs(max(0, offset)), longs(first), longs(columns), longs(rectangle)]
        found = call(kit, f"{kind}_indices_{NAMES[dtype]}", [np.zeros((2, n), dtype)] + numbers + [longs(n)], 0, n)
        yield found, expected, 0
    return case


# ---- Windows ----

def im2col(dtype):
    def case(kit):
        x = normal(2, 3, 9, 7).astype(dtype)
        (kh, kw), (high, wide) = (3, 2), (4, 4)
        full = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
        expected = np.zeros((2, 3, kh, kw, high, wide), dtype)
        for i in range(kh):
            for j in range(kw):
                expected[:, :, i, j] = full[:, :, i * 2:, j * 2:][:, :, :2 * high:2, :2 * wide:2]
        expected = expected.reshape(2, -1, high * wide)
        arguments = [x, np.zeros_like(expected), words(kw, kh, 2, 2), np.array([1, 1, 2, 2], np.int32), np.array(strides(x)[::-1], np.uint64),
                     np.array([1, high * wide, expected[0].size, wide], np.uint64), longs(*x.shape[::-1])]
        yield call(kit, f"im2col_{NAMES[dtype]}", arguments, 1, (high * wide, 3, 2), 4), expected, 0
    return case


def unfold_backward(dtype):
    def case(kit):
        size, step, shape = 4, 3, (3, 11, 2)
        grad = normal(3, (11 - size) // step + 1, 2, size).astype(dtype)
        out = np.zeros(shape, dtype)
        expected = np.zeros(shape)
        for w in range(grad.shape[1]):
            expected[:, w * step:w * step + size] += grad[:, w].astype(np.float64).transpose(0, 2, 1)
        arguments = [grad, out, longs(*strides(grad)), longs(*shape), longs(*strides(out)), words(1, size, step, 3)]
        yield call(kit, f"unfold_backward_{NAMES[dtype]}", arguments, 1, out.size), expected, tolerance(dtype)
    return case


def bicubic_weights(size, target, align):
    """target x size: Keys' cubic convolution with a = -0.75, edges repeated."""
    weights = np.zeros((target, size))
    scale = np.float32((size - 1) / (target - 1) if align else size / target)
    for o in range(target):
        place = scale * o if align else scale * (o + np.float32(0.5)) - np.float32(0.5)
        base = math.floor(place)
        for k in range(-1, 3):
            d = abs(place - (base + k))
            w = (1.25 * d - 2.25) * d * d + 1 if d <= 1 else ((-0.75 * d + 3.75) * d - 6) * d + 3
            weights[o, min(max(base + k, 0), size - 1)] += w
    return weights, scale


def bicubic(dtype, align, backward):
    def case(kit):
        small, large = (2, 3, 5, 6), (2, 3, 8, 11)
        (down, sy), (across, sx) = bicubic_weights(5, 8, align), bicubic_weights(6, 11, align)
        x = normal(*(large if backward else small)).astype(dtype)
        out = np.zeros(small if backward else large, dtype)
        first, second = (out, x) if backward else (x, out)
        arguments = [first, second] + [np.array(strides(v)[::-1], np.uint64) for v in (first, second)]
        arguments += [longs(*v.shape[::-1]) for v in (first, second)] + [np.array([sx, sy], np.float32), np.bool_(align)]
        found = call(kit, f"upsample_bicubic2d_{'backward_' * backward}{NAMES[dtype]}", arguments, int(not backward), 88)
        values = x.astype(np.float64)
        yield found, down.T @ values @ across if backward else down @ values @ across.T, (30 if backward else 4) * tolerance(dtype)
    return case


# ---- Optimisers: tables of 32 addresses for each kind of tensor ----

def metadata(sizes, chunk=65536):
    table = np.zeros((3, 32), np.uint32)
    table[0, :len(sizes)] = sizes
    blocks = [(t, c) for t, n in enumerate(sizes) for c in range((n + chunk - 1) // chunk)]
    table[1, :len(blocks)], table[2, :len(blocks)] = zip(*blocks)
    return table, len(blocks)


def table_of(*lists):
    return Addresses([a for arrays in lists for a in [*arrays, *[None] * (32 - len(arrays))]])


SIZES = (70000, 5, 300)


def adam(name, dtype, maximize=False):
    def case(kit):
        lists = [[(rng.standard_normal(n) * f).astype(dtype) for n in SIZES] for f in (1, 1, 0.1)]
        lists += [[(rng.random(n) * 0.5 + 0.1).astype(dtype) for n in SIZES] for _ in range(2 if "amsgrad" in name else 1)]
        steps = [np.array([3 + t], np.float32) for t in range(3)]
        start = [[a.astype(np.float64) for a in arrays] for arrays in lists]
        table, blocks = metadata(SIZES)
        lr, beta1, beta2, decay, eps = (np.float32(v) for v in (0.01, 0.9, 0.99, 0.02, 1e-3))
        arguments = [table_of(*lists, steps), table, lr, beta1, beta2, decay, eps, np.uint8(maximize)]
        kit.run(f"{name}_{NAMES[dtype]}_float", dict(enumerate(arguments)), groups=(blocks, 1, 1), group=(256, 1, 1))
        lr, beta1, beta2, decay, eps = map(float, (lr, beta1, beta2, decay, eps))
        for t in range(3):
            p, g, m, v, *rest = (arrays[t] for arrays in start)
            g = -g if maximize else g
            p, g = (p * (1 - lr * decay), g) if "adamw" in name else (p, g + p * decay)
            m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
            top = np.maximum(rest[0], v) if rest else v
            step = 3 + t
            p = p - lr / (1 - beta1**step) * m / (np.sqrt(top) / math.sqrt(1 - beta2**step) + eps)
            for arrays, expected in zip(lists, [p, start[1][t], m, v] + [top] * bool(rest)):
                yield arrays[t], expected, 3 * tolerance(dtype)
    return case


def sgd(dtype, momentum, nesterov=False, first=False):
    def case(kit):
        lists = [[normal(n).astype(dtype) for n in SIZES] for _ in range(3 if momentum else 2)]
        start = [[a.astype(np.float64) for a in arrays] for arrays in lists]
        table, blocks = metadata(SIZES)
        decay, lr, damp = np.float32(0.1), np.float32(0.05), np.float32(0.25)
        arguments = [table_of(*lists), table, decay]
        arguments += [np.float32(0.9), lr, damp, np.uint8(nesterov), np.uint8(0), np.uint8(first)] if momentum else [lr, np.uint8(1)]
        kit.run(f"fused_sgd_{'momentum_' * momentum}{NAMES[dtype]}", dict(enumerate(arguments)), groups=(blocks, 1, 1), group=(256, 1, 1))
        for t in range(3):
            p, g, *rest = (arrays[t] for arrays in start)
            g = (g if momentum else -g) + 0.1 * p
            if momentum:
                moving = g if first else 0.9 * rest[0] + 0.75 * g
                g = g + 0.9 * moving if nesterov else moving
                yield lists[2][t], moving, 2 * tolerance(dtype)
            yield lists[0][t], p - 0.05 * g, 2 * tolerance(dtype)
    return case


def elementwise_cases():
    for dtype in (np.float32, np.float16):
        for name in BINARY:
            yield "BinaryKernel", f"{name} {NAMES[dtype]}", binary(name, dtype)
        for name in ("complex_mul", "polar", "complex_kernel"):
            yield "BinaryKernel", f"{name} {NAMES[dtype]}", complex_of(name, dtype)
        yield "CrossKernel", f"cross {NAMES[dtype]}", cross(dtype)
        yield "RenormKernel", f"renorm {NAMES[dtype]}", renorm(dtype)
    yield "BinaryKernel", "copysign of integers", binary("copysign", np.int16)
    yield "CrossKernel", "cross long", cross(np.int64)
    for op in BITS:
        yield "BitwiseOps.long-int-long", f"{op} tensor", bitwise(op, "tensor", (np.int64, np.int32, np.int64))
        yield "BitwiseOps.uchar-uchar-uchar", f"{op} scalar", bitwise(op, "scalar", (np.uint8,) * 3)
    yield "BitwiseOps.bool-bool-bool", "xor of bools", bitwise("xor", "tensor", (np.bool_,) * 3)
    template = "UNARY_KERNEL_TEMPLATE"
    for out, dtype, types in ((np.float32, np.float32, "float-float"), (np.float16, np.float16, "half-half")):
        yield f"{template}.{types}", f"exp {types}", unary("exp", out, dtype, math.exp, -4, 4)
        yield f"{template}.{types}", f"tanh {types}", unary("tanh", out, dtype, math.tanh, -4, 4)
    yield f"{template}.float-int", "exp of integers", unary("exp", np.float32, np.int32, math.exp, -5, 6)
    yield f"{template}.float-uchar", "tanh of bytes", unary("tanh", np.float32, np.uint8, math.tanh, 0, 4)
    yield f"{template}.float-float", "erfinv", unary("erfinv", np.float32, np.float32, erfinv, -0.999, 0.999)
    yield f"{template}.float-float", "exp of complex numbers", complex_unary("exp")
    for name in ("digamma", "trigamma"):  # lgamma and polygamma call functions that call each other, which is refused
        yield "Gamma.float-float", name, gamma(name, np.float32)
        yield "Gamma.half-half", f"{name} half", gamma(name, np.float16)
    for order in (0, 1):
        for source, target in ((np.float32,) * 2, (np.float16,) * 2, (np.int8, np.float32), (np.bool_, np.float32)):
            yield "SpecialOps", f"i{order} of {NAMES[source]}", bessel(order, source, target)


def all_cases():
    yield from elementwise_cases()
    for dtype, target, right, sorter in ((np.float32, np.int32, False, False), (np.float16, np.int64, True, False),
                                         (np.int64, np.int32, True, True), (np.int8, np.int64, False, True)):
        yield "Bucketization", f"searchsorted {NAMES[dtype]}", searchsorted(dtype, target, right, sorter)
    for algorithm in range(3):
        yield "HistogramKernel", f"histogram, way {algorithm}", histogram(np.float32, algorithm, algorithm == 1)
    yield "HistogramKernel", "offsets", index_offsets
    for dtype, wide in ((np.float32, False), (np.int8, True), (np.int64, False), (np.int16, True)):
        yield "Indexing", f"select {NAMES[dtype]}", index_select(dtype, wide)
    for dtype, op in ((np.int32, "put"), (np.int8, "put_serial"), (np.float32, "put_accumulate"), (np.int32, "put_accumulate")):
        yield "Indexing", f"{op} {NAMES[dtype]}", index_put(dtype, op)
    for wide in (False, True):
        yield "Indexing", f"offsets of {64 if wide else 32} bits", kernel_index_offsets(wide)
    same, part = (lambda v: v), (lambda v: v[::2])
    for rank in range(1, 6):
        yield "SCATTER_OPS_TEMPLATE.int-float", f"scatter, {rank} dimensions", copy("scatter", np.int32, np.float32, rank, same)
        yield "GATHER_OPS_TEMPLATE.int-half", f"gather, {rank} dimensions", copy("gather", np.int32, np.float16, rank, same)
    yield "SCATTER_OPS_TEMPLATE.long-bool", "scatter to bool", copy("scatter", np.int64, np.bool_, 3, lambda v: v != 0)
    yield "SCATTER_OPS_TEMPLATE.float2-float", "scatter of real parts", copy("scatter", "float2", np.float32, 2, part)
    for dtype in (np.float32, np.float16):
        yield "LinearAlgebra", f"product {NAMES[dtype]}", matmul(dtype)
        for size in (32, 64, 128, 256):
            yield "Quantized", f"int4 in groups of {size} {NAMES[dtype]}", int4(dtype, size)
        for m in (1, 5):
            yield "Quantized", f"int8 with {m} rows {NAMES[dtype]}", int8(dtype, m)
        yield "Im2Col", f"im2col {NAMES[dtype]}", im2col(dtype)
        yield "UnfoldBackward", f"unfold backward {NAMES[dtype]}", unfold_backward(dtype)
        for align in (False, True):
            for backward in (False, True):
                yield "UpSample", f"bicubic {NAMES[dtype]} align {align} backward {backward}", bicubic(dtype, align, backward)
        for name in ("fused_adam", "fused_adamw", "fused_adam_amsgrad", "fused_adamw_amsgrad"):
            yield "FusedOptimizerOps", f"{name} {NAMES[dtype]}", adam(name, dtype, name == "fused_adam")
        yield "FusedOptimizerOps", f"sgd {NAMES[dtype]}", sgd(dtype, False)
        yield "FusedOptimizerOps", f"sgd with momentum {NAMES[dtype]}", sgd(dtype, True)
        yield "FusedOptimizerOps", f"sgd of Nesterov {NAMES[dtype]}", sgd(dtype, True, True, True)
    for kind in ("tril", "triu"):
        for rows, columns, offset in ((7, 5, 0), (300, 301, 1), (6, 9, -2), (5, 4, 3)):
            yield "TriangularOps", f"{kind} {rows}x{columns} from {offset}", triangle(kind, np.int64, rows, columns, offset)
