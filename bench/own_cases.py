"""Cases of device.py from bench/kernels: what to launch on which random data, the work it does, and the right result.

A result is computed by PyTorch in double precision, or exactly. Sizes are such that a kernel runs for a tenth of a millisecond and
more on a large GPU, and that vectors do not fit into its caches."""
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/corpus"))
import quants  # noqa: E402

rng = np.random.default_rng(7)
FILL = "--fill" in sys.argv  # only to compile: arrays have their sizes, but no data


def largest(torch, found, expected):
    """The largest difference, relative to the root of the mean square."""
    return ((found - expected).abs().max() / expected.double().pow(2).mean().sqrt()).item()


def share(tolerance):
    """For kernels in which a rounding decides the way: how many results differ by more than `tolerance`, as a part of all."""
    return lambda torch, found, expected: ((found - expected).abs() > tolerance * (1 + expected.abs())).double().mean().item()


class Case:
    """What to launch, the work it does, and a function from its arrays (torch, on the GPU) to the right result and to a peer.

    `cuda` names the file in bench/cuda that has the same kernel; `folder` is searched for headers."""
    def __init__(self, name, source, kernel, arguments, output, groups, group, expected, peer=None, peer_name="", moved=0, operations=0,
                 constants=None, shared=None, tolerance=1e-4, cuda=None, error=largest, folder=None):
        self.__dict__.update(locals())


def random(*shape, kind=np.float32, scale=1.0):
    if FILL:
        return np.broadcast_to(np.zeros((), kind), shape)  # the size of the data, but no data
    return (rng.standard_normal(shape, np.float32) * np.float32(scale)).astype(kind)


def whole(low, high, *shape, kind=np.int32):
    return np.broadcast_to(np.zeros((), kind), shape) if FILL else rng.integers(low, high, shape, kind)


def between(low, high, n):
    return random(n) if FILL else rng.uniform(low, high, n).astype(np.float32)


def zeros(*shape, kind=np.float32):
    return np.zeros(shape, kind)


def own(source, kernel, arguments, output, groups, group, expected, peer=None, peer_name="", cuda=None, name=None, **more):
    """A kernel of bench/kernels/SOURCE.metal and bench/cuda/CUDA.cu. Arguments in the order of their indices."""
    return Case(name or kernel, ROOT / "bench/kernels" / f"{source}.metal", kernel, dict(enumerate(arguments)), output, groups, group,
                expected, peer, peer_name, cuda=cuda or source, **more)


# ---- Streaming ----

def streaming_cases(n):
    x, y = random(n), random(n)
    add = (lambda t, a: a[0].double() * 0.5 + a[1].double(), lambda t, a: lambda: t.add(a[1], a[0], alpha=0.5), "torch.add")
    half = np.float32(0.5)
    yield own("saxpy", "saxpy", (x, y, half, np.uint32(n)), 1, (n // 256, 1, 1), (256, 1, 1), *add, moved=12 * n)
    yield own("stream4", "saxpy4", (x, y, half), 1, (n // 1024, 1, 1), (256, 1, 1), *add, moved=12 * n, cuda="saxpy")
    yield own("copy4", "copy4", (x.reshape(-1, 4), np.zeros_like(x)), 1, (n // 1024, 1, 1), (256, 1, 1),
              lambda t, a: a[0].double().flatten(), lambda t, a: lambda: a[1].copy_(a[0].flatten()), "torch copy", moved=8 * n)

    def sums(length):
        return (lambda t, a: a[0].double().reshape(-1, length).sum(1), lambda t, a: lambda: a[0].reshape(-1, length).sum(1), "torch.sum")
    for kernel, length, threads in (("reduce_tree", 256, 256), ("reduce_simd", 1024, 1024), ("reduce4", 4096, 256)):
        yield own("stream4" if kernel == "reduce4" else "reduce", kernel, (x, zeros(n // length)), 1, (n // length, 1, 1), (threads, 1, 1),
                  *sums(length), moved=4 * n, cuda="reduce")
    yield from row_cases(x.reshape(-1, 4096))


def row_cases(matrix):
    rows, columns = matrix.shape
    weight, bias, epsilon = random(columns), random(columns), np.float32(1e-5)
    soft = (lambda t, a: a[0].double().softmax(1), lambda t, a: lambda: a[0].softmax(1), "torch.softmax")
    out, grid, moved = np.zeros_like(matrix), (rows, 1, 1), 8 * matrix.size
    yield own("softmax", "softmax", (matrix, out, np.uint32(columns)), 1, grid, (512, 1, 1), *soft, moved=moved)
    yield own("stream4", "softmax4", (matrix, out), 1, grid, (256, 1, 1), *soft, moved=moved, cuda="softmax")
    norm = (lambda t, a: t.nn.functional.layer_norm(a[0].double(), (columns,), a[1].double(), a[2].double(), 1e-5),
            lambda t, a: lambda: t.nn.functional.layer_norm(a[0], (columns,), a[1], a[2], 1e-5), "torch layer_norm")
    yield own("layer_norm", "layer_norm", (matrix, weight, bias, out, np.uint32(columns), epsilon), 3, grid, (512, 1, 1), *norm, moved=moved)
    yield own("stream4", "layer_norm4", (matrix, weight, bias, out, epsilon), 3, grid, (256, 1, 1), *norm, moved=moved, cuda="layer_norm")
    yield own("scan", "scan", (matrix, out, np.uint32(columns)), 1, grid, (256, 1, 1), lambda t, a: a[0].double().cumsum(1),
              lambda t, a: lambda: a[0].cumsum(1), "torch.cumsum", moved=moved)


def plane_cases(n):
    plane, out, grid = random(n, n), zeros(n, n), (n // 32, n // 8, 1)
    flip = (lambda t, a: a[0].double().T, lambda t, a: lambda: a[0].T.contiguous(), "torch .T")
    yield own("transpose", "transpose_naive", (plane, out, np.uint32(n)), 1, grid, (32, 8, 1), *flip, moved=8 * n * n)
    yield own("transpose", "transpose_tiled", (plane, out, np.uint32(n)), 1, (n // 32, n // 32, 1), (32, 8, 1), *flip, moved=8 * n * n)

    def convolved(t, a):
        x, w = a[0].double(), a[1].double()
        return sum(w[3 * i + k] * x[i:i + n, k:k + n] for i in range(3) for k in range(3))
    yield own("conv3x3", "conv3x3", (random(n + 2, n + 2), random(9), out, np.uint32(n)), 2, grid, (32, 8, 1), convolved,
              lambda t, a: (lambda x, w: lambda: t.nn.functional.conv2d(x, w))(a[0][None, None], a[1].reshape(1, 1, 3, 3)), "torch conv2d",
              moved=8 * n * n)


# ---- Atomics and sorting ----

def counting_cases(n):
    image, bins = whole(0, 256, n, kind=np.uint8), zeros(256, kind=np.uint32)
    for kernel, each in (("histogram", 16), ("histogram_local", 64)):
        size = n // 4 if kernel == "histogram" else n
        yield own("histogram", kernel, (image[:size], bins, np.uint32(size // each)), 1, (size // each // 256, 1, 1), (256, 1, 1),
                  lambda t, a: t.bincount(a[0].int(), minlength=256), lambda t, a: lambda: t.bincount(a[0], minlength=256), "torch.bincount",
                  moved=size, tolerance=0)
    n //= 4
    keys = whole(0, 1 << 32, n, kind=np.uint32)
    yield own("bitonic", "bitonic", (keys, np.zeros_like(keys)), 1, (n // 1024, 1, 1), (512, 1, 1),
              lambda t, a: (a[0].long() & 0xffffffff).reshape(-1, 1024).sort(1)[0],
              lambda t, a: lambda: a[0].reshape(-1, 1024).sort(1), "torch.sort", moved=8 * n, tolerance=0)
    n //= 16
    yield own("sort16", "sort16", (random(16, n), zeros(n), np.uint32(n)), 1, (n // 256, 1, 1), (256, 1, 1),
              lambda t, a: (lambda s: s[7] + 2 * s[8])(a[0].double().sort(0)[0]), moved=68 * n, tolerance=1e-6)


# ---- Arithmetic ----

def black_scholes(t, a):
    s, x, years = (v.double() for v in (a[0], a[1], a[2]))
    rate, volatility = float(np.float32(0.02)), float(np.float32(0.3))
    deviation = volatility * years.sqrt()
    d1 = ((s / x).log() + (rate + 0.5 * volatility ** 2) * years) / deviation
    n1, n2 = (0.5 * t.erfc(-d / 2 ** 0.5) for d in (d1, d1 - deviation))
    discounted = x * (-rate * years).exp()
    return s * n1 - discounted * n2, discounted * (1 - n2) - s * (1 - n1)


def nbody(t, a):
    bodies, out = a[0].double(), []
    for here in bodies[:, :3].split(1024):
        d = bodies[None, :, :3] - here[:, None]
        inverse = (d.pow(2).sum(2) + float(np.float32(0.01))).rsqrt()
        out.append((d * (bodies[None, :, 3] * inverse.pow(3))[:, :, None]).sum(1))
    return t.nn.functional.pad(t.cat(out), (0, 1))


def mandelbrot(width, height, left, top, step, limit):
    def counts(t, a):
        cx = (left + step * t.arange(width, device="cuda", dtype=t.double)).expand(height, width)
        cy = (top + step * t.arange(height, device="cuda", dtype=t.double))[:, None].expand(height, width)
        x, y = t.zeros_like(cx), t.zeros_like(cx)
        count = t.zeros(height, width, dtype=t.int32, device="cuda")
        for _ in range(limit):
            x2, y2 = x * x, y * y
            count += x2 + y2 < 4  # what has escaped stays outside
            x, y = (x2 - y2 + cx).clamp(-1e9, 1e9), (2 * x * y + cy).clamp(-1e9, 1e9)
        return count
    return counts


def branchy(t, a):
    """With the roundings of fused operations, which decide the way: a product of floats is exact in double precision."""
    x, total = a[0], t.zeros_like(a[0], dtype=t.double)
    for _ in range(32):
        roots = sum((x + q).double().sqrt() for q in range(4))
        wide = x.double()
        total += t.where(x > 0.75, wide * wide, t.where(x > 0.5, -wide, t.where(x > 0.25, roots, 0)))
        x = t.where(x > 0.5, (wide * 1.75 - 0.5).float(), t.where(x > 0.25, x + 0.3125, (wide * 2.25 + 0.125).float()))
        x = t.where(x > 2, x - 2, x)
    return total


def multi_exit(steps):
    def results(t, a):
        value, total = a[0].clone(), t.zeros_like(a[0])
        out, running = t.where(value == 7777, -1, 0), value != 7777
        returned = ~running
        for k in range(steps):
            odd = value & 1 == 1
            value = t.where(running, t.where(odd, value * 3 + 1, value // 2), value)
            running = running & ~(odd & (value > 100000))
            fifth = running & ~odd & (value % 5 == 0)
            total = t.where(fifth, total + 2, total)
            one = running & ~fifth & (value == 1)
            out, returned = t.where(one & (total > 50), total * 1000, out), returned | one & (total > 50)
            running = running & ~one
            rest = running & ~fifth
            for q in range(3):
                total = t.where(rest & (q < (value & 3)), total + q * value, total)
                over = rest & (q < (value & 3)) & (total > 1 << 20)
                total, rest = t.where(over, total - (1 << 20), total), rest & ~over
            total = t.where(rest, total ^ k, total)
        return t.where(returned, out, total + value)
    return results


def arithmetic_cases():
    n, flat = 1 << 25, (256, 1, 1)
    prices = between(5, 30, n), between(1, 100, n), between(0.25, 10, n)
    yield own("black_scholes", "black_scholes", (*prices, zeros(n), zeros(n), np.float32(0.02), np.float32(0.3)), (3, 4), (n // 256, 1, 1), flat,
              black_scholes, moved=20 * n)
    yield own("branchy", "branchy", (between(0, 1, n), zeros(n)), 1, (n // 256, 1, 1), flat, branchy, moved=8 * n, error=share(1e-4),
              tolerance=0.01)
    yield own("multi_exit", "multi_exit", (whole(1, 20001, n), zeros(n, kind=np.int32), np.int32(64)), 1, (n // 256, 1, 1), flat,
              multi_exit(64), moved=8 * n, tolerance=0)
    n = 1 << 16
    yield own("nbody", "nbody", (between(0.25, 1, 4 * n).reshape(n, 4), zeros(n, 4), np.uint32(n), np.float32(0.01)), 1, (n // 256, 1, 1), flat,
              nbody, operations=20 * n * n, tolerance=1e-3)
    width, height = 8192, 4096
    step = np.float32(3 / 8192)
    yield own("mandelbrot", "mandelbrot", (zeros(height, width, kind=np.int32), np.float32(-2), np.float32(-0.75), step, np.uint32(width),
                                           np.int32(256)), 0, (width // 32, height // 8, 1), (32, 8, 1),
              mandelbrot(width, height, -2.0, -0.75, float(step), 256), error=share(0), tolerance=0.01)


# ---- Products ----

def product_cases(n):
    for kind, suffix, tolerance in ((np.float32, "", 1e-5), (np.float16, "_half", 1e-4)):
        for source, rows, columns in (("matmul_simdgroup", 64, 64), ("matmul_wide", 128, 128 if suffix else 64)):
            yield own(source, f"{source}{suffix}", (random(n, n, kind=kind), random(n, n, kind=kind), zeros(n, n), np.uint32(n)), 2,
                      (n // columns, n // rows, 1), (128, 1, 1), lambda t, x: x[0].double() @ x[1].double(),
                      lambda t, x: lambda: x[0] @ x[1], "cuBLAS", name=f"{source}{suffix} {n}", operations=2 * n ** 3, tolerance=tolerance)
    n //= 2
    for kernel, source, group in (("matmul_naive", "matmul_naive", (32, 8, 1)), ("matmul_tiled16", "matmul_tiled", (16, 16, 1)),
                                  ("matmul_tiled32", "matmul_tiled", (32, 32, 1))):
        yield own(source, kernel, (random(n, n), random(n, n), zeros(n, n), np.uint32(n)), 2, (n // group[0], n // group[1], 1), group,
                  lambda t, x: x[0].double() @ x[1].double(), lambda t, x: lambda: x[0] @ x[1], "cuBLAS", cuda="matmul",
                  operations=2 * n ** 3, tolerance=2e-5)
    rows, columns = 65536, 4096
    weights, values = (random(2, 2), random(2, 2)) if FILL else quants.q4_0(rng, rows, columns)
    case = own("matvec_q4_0", "matvec_q4_0", (weights, random(columns), zeros(rows), np.uint32(columns)), 2, (rows // 16, 1, 1), (128, 1, 1),
               lambda t, a: a["values"].double() @ a[1].double(), lambda t, a: lambda: a["half"] @ a[1].half(), "cuBLAS f16",
               moved=18 * rows * columns // 32, tolerance=1e-4)
    case.arguments.update(values=values.astype(np.float32), half=values.astype(np.float16))
    yield case


def all_cases():
    yield lambda: streaming_cases(1 << 27)
    yield lambda: plane_cases(8192)
    yield lambda: counting_cases(1 << 28)
    yield arithmetic_cases
    yield lambda: product_cases(4096)
