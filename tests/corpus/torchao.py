"""Executes low-bit matrix products of a torchao checkout: torchao.py TOMBAC DEVICE CHECKOUT.

Dispatch follows src/dispatch.h, packing and the order of the operands what the kernels' own comments say; references are ours."""
import os
import re
import sys
import tempfile

import numpy as np

from kit import Kit, main

rng = np.random.default_rng(5)


def packed(weights, bits):
    """Rows of small integers as bytes, the first in the lowest bits."""
    per = 8 // bits
    parts = weights.reshape(weights.shape[0], -1, per).astype(np.uint32)
    return (parts << (bits * np.arange(per, dtype=np.uint32))).sum(-1).astype(np.uint8)


def product(bits, group, dtype, m, k, n):
    def case(kit):
        a = rng.uniform(-1, 1, (m, k)).astype(dtype)
        w = rng.integers(0, 1 << bits, (n, k))
        scales = rng.uniform(0.1, 1, (n, k // group)).astype(dtype)
        zeros = (-rng.integers(0, 1 << bits, (n, k // group)) * scales).astype(dtype)
        grid, threads = ((n, m, 1), (min(1024, m), 1, 1)) if bits == 1 else ((n // 4 * 32, 1, m), (32, 1, 1))
        name = f"int{bits}pack_mm_{group}_{'half' if dtype is np.float16 else 'float'}"
        (out,) = kit.run(name, {0: a, 1: packed(w, bits), 2: scales, 3: zeros, 4: np.zeros((m, n), dtype), 5: [m, k, n]},
                         grid=grid, group=threads, outputs=[4])
        full = w * np.repeat(scales.astype(np.float64), group, 1) + np.repeat(zeros.astype(np.float64), group, 1)
        yield out, a.astype(np.float64) @ full.T, 2e-5 if dtype is np.float32 else 5e-3
    return case


def cases():
    for bits in (1, 2, 4):
        for dtype in (np.float32, np.float16):
            yield f"int{bits} {dtype.__name__}", "lowbit", product(bits, 64, dtype, 3, 256, 24)
        yield f"int{bits} groups of 32", "lowbit", product(bits, 32, np.float32, 5, 512, 8)


def run():
    tombac, device, checkout = sys.argv[1:4]
    kernels = os.path.join(checkout, "torchao/experimental/kernels/mps")
    files = sorted(set(re.findall(r"file: *(\S+)", open(os.path.join(kernels, "metal.yaml")).read())))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lowbit.metal")
        with open(path, "w") as out:
            for name in files:
                out.write(open(os.path.join(kernels, "metal", name)).read() + "\n")
        return main("torchao", list(cases()), {"lowbit": Kit(tombac, device, path)})


sys.exit(run())
