"""Runs tinygrad (a Python package) on a device of Tombac with the Metal code that it generates, tensor cores included, and compares
with NumPy: tinygrad_metal.py TOMBAC DEVICE FOLDER [FILTER...], FOLDER being where the package `tinygrad` lies."""
import os
import sys
import types

tombac, device_name, folder = sys.argv[1:4]
sys.path.insert(0, folder)
os.environ.update(DEV="TOMBAC", CCACHE="0", LRU="0", CACHELEVEL="0", PARALLEL="0")

import ctypes as c  # noqa: E402

import numpy as np  # noqa: E402
from tinygrad import device as tg, dtypes  # noqa: E402
from tinygrad.codegen.opt import tc  # noqa: E402
from tinygrad.renderer.cstyle import CStyleLanguage, MetalRenderer  # noqa: E402

from direct import Direct, size3  # noqa: E402
from kit import Failure, main  # noqa: E402

rng = np.random.default_rng(3)
kernels = []  # names of all that ran


class Renderer(MetalRenderer):
    def __init__(self, target):
        CStyleLanguage.__init__(self, target)
        self.compiler, self.tensor_cores = tg.Compiler(), tc.metal


class Program(tg.Program):
    def __init__(self, dev, obj):
        self.dev, self.name, self.signature = dev, obj.name, obj.signature
        self.source = Direct(tombac, device_name, text=obj.lib.decode(), standard="metal3.1", math="safe", beside=dev.main)
        self.kernel = self.source.kernel(obj.name, {})

    def __call__(self, *bufs, global_size=(1, 1, 1), local_size=(1, 1, 1), vals=(), wait=False, **more):
        kernels.append(self.name)
        launch, source = c.c_void_p(), self.source
        source.call("launch_create", self.kernel, c.byref(launch))
        for i, (buffer, offset, _) in enumerate(bufs):
            source.call("launch_set_buffer", launch, c.c_uint32(i), buffer, c.c_size_t(offset))
        for value, (_, i, dtype, _) in zip(vals, self.signature[len(bufs):]):
            data = int(value).to_bytes(dtype.itemsize, "little", signed=True)
            source.call("launch_set_bytes", launch, c.c_uint32(i), data, c.c_size_t(len(data)))
        source.call("launch_set_threadgroups", launch, size3(global_size), size3(local_size))
        source.finish(launch)
        source.lib.tombac_launch_release(launch)
        return 1e-3


class Allocator(tg.Allocator):
    def _alloc(self, size, options):
        return self.dev.main.buffer(np.zeros(size, np.uint8)), 0, size

    def _free(self, opaque, options):
        self.dev.main.lib.tombac_buffer_release(opaque[0])

    def _as_buffer(self, src):
        return memoryview((c.c_uint8 * src[2]).from_address(self.dev.main.contents(src[0]) + src[1])).cast("B")

    def _copyin(self, dest, src):
        self._as_buffer(dest)[:] = src

    def _copyout(self, dest, src):
        dest[:] = self._as_buffer(src)

    def _offset(self, buf, size, offset):
        return buf[0], buf[1] + offset, size


class TombacDevice(tg.Compiled):
    def __init__(self, name):
        self.main = Direct(tombac, device_name, text="kernel void none() {}")
        super().__init__(name, Allocator(self), [Renderer], Program, arch="Apple9")


module = types.ModuleType("tinygrad.runtime.ops_tombac")
module.TombacDevice = TombacDevice
sys.modules["tinygrad.runtime.ops_tombac"] = module

from tinygrad import Tensor  # noqa: E402


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def single(function, reference, *shapes, tolerance=1e-5, dtype=np.float32):
    def case(kit):
        arrays = [normal(*s).astype(dtype) for s in shapes]
        found = function(*map(Tensor, arrays)).numpy()
        yield found, reference(*(a.astype(np.float64) for a in arrays)), tolerance
    return case


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def convolution(x, w):
    n, ci, h, wd = x.shape
    co, _, kh, kw = w.shape
    out = np.zeros((n, co, h - kh + 1, wd - kw + 1))
    for i in range(kh):
        for j in range(kw):
            out += np.einsum("nchw,oc->nohw", x[:, :, i:i + out.shape[2], j:j + out.shape[3]], w[:, :, i, j])
    return out


def integers(kit):
    a, b = rng.integers(-1000, 1000, (40, 50)).astype(np.int32), rng.integers(1, 30, (40, 50)).astype(np.int32)
    x, y = Tensor(a), Tensor(b)
    yield (x // y).numpy(), a // b, 0
    yield (x % y).numpy(), a % b, 0
    yield ((x ^ y) & 255).numpy(), (a ^ b) & 255, 0
    yield (x.cast(dtypes.int64) * 1000003 * y.cast(dtypes.int64)).numpy(), a.astype(np.int64) * 1000003 * b, 0
    yield x.cast(dtypes.uint8).cast(dtypes.int32).numpy(), a.astype(np.uint8), 0
    yield x.sum().numpy(), a.sum(), 0
    yield x.max(0).numpy(), a.max(0), 0
    yield x.argmax(1).numpy(), a.argmax(1), 0
    yield x.cumsum(1).numpy(), a.cumsum(1), 0


def sorting(kit):
    a = normal(3, 200)
    values, places = Tensor(a).sort(-1)
    yield values.numpy(), np.sort(a), 0
    yield np.take_along_axis(a, places.numpy().astype(np.int64), -1), np.sort(a), 0
    values, _ = Tensor(a).topk(7)
    yield values.numpy(), -np.sort(-a)[:, :7], 0


def gather(kit):
    a, ids = normal(30, 20), rng.integers(0, 30, 50)
    yield Tensor(a)[Tensor(ids.astype(np.int32))].numpy(), a[ids], 0
    yield Tensor(a).gather(0, Tensor(rng.integers(0, 30, (5, 20)).astype(np.int32) * 0 + 3)).numpy(), np.repeat(a[3:4], 5, 0), 0


def training(kit):
    """Two layers, ten steps of gradient descent, against the same in NumPy."""
    x, y = normal(64, 20), rng.integers(0, 5, 64)
    w1, w2 = normal(20, 32) * 0.3, normal(32, 5) * 0.3
    first, second = Tensor(w1), Tensor(w2)
    a, b = w1.astype(np.float64), w2.astype(np.float64)
    onehot = np.eye(5)[y]
    for _ in range(10):
        first.requires_grad = second.requires_grad = True
        h = (Tensor(x) @ first).relu()
        loss = -((h @ second).log_softmax() * Tensor(onehot.astype(np.float32))).sum(1).mean()
        g1, g2 = loss.gradient(first, second)
        first, second = (first - 0.5 * g1).realize().detach(), (second - 0.5 * g2).realize().detach()
        hidden = np.maximum(x @ a, 0)
        error = (softmax(hidden @ b) - onehot) / 64
        gb = hidden.T @ error
        ga = x.T.astype(np.float64) @ ((error @ b.T) * (hidden > 0))
        a, b = a - 0.5 * ga, b - 0.5 * gb
    yield first.numpy(), a, 1e-4
    yield second.numpy(), b, 1e-4


def random(kit):
    Tensor.manual_seed(7)
    x = Tensor.rand(20000).numpy()
    Tensor.manual_seed(7)
    yield Tensor.rand(20000).numpy(), x, 0
    yield [x.mean(), x.std(), float(x.min() >= 0), float(x.max() < 1)], [0.5, 12**-0.5, 1, 1], 0.02


def halves(kit):
    a = normal(64, 64)
    x = Tensor(a).cast(dtypes.bfloat16)
    rounded = x.float().numpy()
    yield rounded, a, 2**-8
    yield (x * 2 + 1).float().numpy(), rounded * 2 + 1, 2**-7
    yield Tensor(a).half().exp().float().numpy(), np.exp(a.astype(np.float16).astype(np.float64)), 2e-3
    yield Tensor(a).cast(dtypes.half).sum(1).float().numpy(), a.astype(np.float16).astype(np.float64).sum(1), 4e-3


def attention(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


def all_cases():
    def elementwise(name, reference, tolerance=1e-5):
        return name, single(lambda x: getattr(x, name)(), reference, (33, 65), tolerance=tolerance)
    yield from (elementwise(n, r) for n, r in (
        ("exp", np.exp), ("sin", np.sin), ("tanh", np.tanh), ("sigmoid", lambda x: 1 / (1 + np.exp(-x))), ("relu", lambda x: np.maximum(x, 0)),
        ("abs", np.abs), ("floor", np.floor), ("round", np.round), ("sign", np.sign), ("square", np.square)))
    yield "sqrt and log", single(lambda x: (x.abs() + 1).log() + x.abs().sqrt(), lambda x: np.log(np.abs(x) + 1) + np.sqrt(np.abs(x)), (70, 9))
    yield "broadcast", single(lambda x, y: x * y - x / (y.abs() + 1), lambda x, y: x * y - x / (np.abs(y) + 1), (7, 1, 30), (11, 1))
    yield "where", single(lambda x, y: (x > y).where(x, -y), lambda x, y: np.where(x > y, x, -y), (40, 40), (40, 40))
    for axis in (0, 1, None):
        yield f"sum {axis}", single(lambda x, a=axis: x.sum(a), lambda x, a=axis: x.sum(a), (257, 129), tolerance=1e-4)
        yield f"max {axis}", single(lambda x, a=axis: x.max(a), lambda x, a=axis: x.max(a), (257, 129), tolerance=0)
    yield "softmax", single(lambda x: x.softmax(), softmax, (50, 300))
    yield "log softmax", single(lambda x: x.log_softmax(), lambda x: np.log(softmax(x)), (50, 300))
    yield "layer norm", single(lambda x: x.layernorm(), lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5), (20, 256))
    for n in (32, 100, 256):
        yield f"product {n}", single(lambda x, y: x @ y, np.matmul, (n, n), (n, n), tolerance=1e-4)
        yield f"product {n} half", single(lambda x, y: x.dot(y, dtype=dtypes.float), np.matmul, (n, n), (n, n), tolerance=2e-3, dtype=np.float16)
    yield "batched product", single(lambda x, y: x @ y, np.matmul, (5, 33, 64), (5, 64, 20), tolerance=1e-4)
    yield "convolution", single(lambda x, w: x.conv2d(w), convolution, (2, 8, 20, 21), (12, 8, 3, 3), tolerance=1e-4)
    yield "pooling", single(lambda x: x.max_pool2d(2), lambda x: x.reshape(2, 3, 8, 2, 10, 2).max((3, 5)), (2, 3, 16, 20), tolerance=0)
    yield "attention", single(lambda q, k, v: q.scaled_dot_product_attention(k, v), attention, *[(2, 4, 40, 32)] * 3, tolerance=1e-4)
    yield "transpose and pad", single(lambda x: x.permute(2, 0, 1).pad(((1, 2), (0, 0), (3, 1))), lambda x: np.pad(x.transpose(2, 0, 1), ((1, 2), (0, 0), (3, 1))), (9, 10, 11), tolerance=0)
    yield from (("integers", integers), ("sorting", sorting), ("gather", gather), ("training", training), ("random numbers", random), ("halves", halves))


if __name__ == "__main__":
    chosen = [(name, None, f) for name, f in all_cases() if not sys.argv[4:] or any(w in name for w in sys.argv[4:])]
    status = main("tinygrad", chosen, {None: types.SimpleNamespace(races=[])})
    print(f"  tinygrad: {len(kernels)} launches of {len(set(kernels))} kernels")
    sys.exit(status)
