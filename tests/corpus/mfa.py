"""Executes kernels that metal-flash-attention generates (ccv's version in C++, lib/nnc/mfa/v2): mfa.py TOMBAC DEVICE CHECKOUT
[FILTER...]. The generators are compiled with a device that does nothing (mfa_host.hpp) and asked for the source."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from direct import Direct
from kit import main

rng = np.random.default_rng(42)
HERE = os.path.dirname(os.path.abspath(__file__))
F32, F16, BF16 = 0, 1, 2


def build(checkout, folder):
    """The program mfa_main.cpp with the checkout's generators."""
    own = os.path.join(folder, "mfa", "v2")
    os.makedirs(own)
    for path in glob.glob(os.path.join(checkout, "lib", "nnc", "mfa", "v2", "*")):
        shutil.copy(path, own)
    host = f'#include "{HERE}/mfa_host.hpp"\n'
    for name in ("simd/simd.h", "nnc/mfa/3rdparty/metal-cpp/Metal.hpp", "mfa/ccv_nnc_mfa.hpp"):
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="ascii") as f:
            f.write(host)
    program = os.path.join(folder, "generate")
    sources = [os.path.join(own, f"{name}.cpp") for name in ("GEMMKernel", "AttentionKernel", "GEMMHeaders", "CodeWriter")]
    subprocess.run(["clang++-22", "-std=c++17", "-O0", "-w", "-I", folder, "-I", own, os.path.join(HERE, "mfa_main.cpp"), *sources, "-o", program],
                   check=True)
    return program


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def encode(values, kind):
    if kind == BF16:
        bits = values.astype(np.float32).view(np.uint32)
        return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return values.astype(np.float16 if kind == F16 else np.float32)


def decode(data, kind):
    if kind == BF16:
        return (data.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return data.astype(np.float64)


def kernel_of(place, *numbers):
    tombac, device, program = place
    text = subprocess.run([program, *map(str, numbers)], check=True, capture_output=True, text=True).stdout
    head, _, source = text.partition("\n")
    threads, memory = map(int, head.split())
    return Direct(tombac, device, text=source, standard="metal3.1"), threads, memory


def gemm(m, n, k, block, memory, registers, splits, transposed=(0, 0), asynchronous=(1, 1), accumulate=False):
    def case(place):
        kit, threads, room = kernel_of(place, "gemm", *block, *memory, *registers, *splits, *transposed, *asynchronous)
        a, b, c = normal(m, k), normal(k, n), normal(m, n)
        held = [encode(x.T.copy() if t else x, kind) for x, t, kind in ((a, transposed[0], memory[0]), (b, transposed[1], memory[1]))]
        a, b = (decode(h, kind).T if t else decode(h, kind) for h, t, kind in zip(held, transposed, memory))
        start = encode(c, memory[2])
        sizes = {"M": m, "N": n, "K": k, "A_leading_dimension": held[0].shape[1], "B_leading_dimension": held[1].shape[1],
                 "C_leading_dimension": n, "A_batch_stride": 0, "B_batch_stride": 0, "C_batch_stride": 0, "bias_batch_stride": 0}
        constants = {name: np.uint32(v) for name, v in sizes.items()}
        constants |= {"load_previous_C": np.bool_(accumulate), "batched": np.bool_(False)}
        found, = kit.run("gemm", {0: held[0], 1: held[1], 2: start}, groups=(-(-n // block[1]), -(-m // block[0]), 1),
                         group=(threads, 1, 1), threadgroup={0: room}, constants=constants, outputs=[2])
        expected = a @ b + (decode(start, memory[2]) if accumulate else 0)
        yield decode(found, memory[2]), expected, {F32: 2e-5, F16: 4e-3, BF16: 2e-2}[max(*memory, *registers)]
    return case


def attention(rows, columns, d, heads, block, halves=False, cached=True, asynchronous=True):
    """Forward, then both gradients."""
    def case(place):
        kind, scale = F16 if halves else F32, d**-0.5
        q, k, v, do = normal(2, rows, heads, d), normal(2, columns, heads, d), normal(2, columns, heads, d), normal(2, rows, heads, d)
        q, k, v = (encode(x, kind) for x in (q, k, v))
        o, lse, dd = np.zeros(q.shape, np.float32), np.zeros((2, heads, rows), np.float32), np.zeros((2, heads, rows), np.float32)
        big = {"R": rows, "C": columns}
        strides = {f"{name}_batch_stride": x.size // 2 for name, x in (("Q", q), ("K", k), ("V", v), ("O", o), ("dO", do), ("dV", v), ("dK", k), ("dQ", q))}

        def launch(which, outputs, arguments):
            names = [set("QKVO"), {*"QKVO", "dO", "dQ"}, {*"QKVO", "dO", "dV", "dK"}][which]
            kit, threads, room = kernel_of(place, "attention", which, *block, d, heads, int(halves), int(cached), int(asynchronous), scale)
            constants = big | {name: s for name, s in strides.items() if name.split("_")[0] in names}
            return kit.run("attention", arguments, groups=(-(-(columns if which == 2 else rows) // block[0]), heads, 2), group=(threads, 1, 1),
                           threadgroup={0: room}, constants={n: np.uint32(c) for n, c in constants.items()}, outputs=outputs)

        o, lse = launch(0, [3, 4], {0: q, 1: k, 2: v, 3: o, 4: lse})
        dd, dq = launch(1, [5, 9], {0: q, 1: k, 2: v, 3: o, 4: lse, 5: dd, 6: do, 9: np.zeros(q.shape, np.float32)})
        dv, dk = launch(2, [7, 8], {0: q, 1: k, 2: v, 3: o, 4: lse, 5: dd, 6: do, 7: np.zeros(v.shape, np.float32), 8: np.zeros(k.shape, np.float32)})
        q, k, v, do = (x.astype(np.float64).transpose(0, 2, 1, 3) for x in (q, k, v, do))
        p = np.exp(q @ k.swapaxes(-1, -2) * scale)
        p /= p.sum(-1, keepdims=True)
        out = p @ v
        ds = p * (do @ v.swapaxes(-1, -2) - (do * out).sum(-1, keepdims=True)) * scale
        for found, expected in ((o, out), (dq, ds @ k), (dv, p.swapaxes(-1, -2) @ do), (dk, ds.swapaxes(-1, -2) @ q)):
            yield found.transpose(0, 2, 1, 3), expected, 1e-2 if halves else 1e-4
    return case


def all_cases():
    for name, memory, registers in (("float", (F32,) * 3, (F32,) * 3), ("half", (F16,) * 3, (F16,) * 3), ("half into float", (F16, F16, F32), (F16, F16, F32)),
                                    ("bfloat", (BF16, BF16, F32), (F32, F32, F32))):
        yield f"product {name}", gemm(70, 65, 50, (32, 32, 8), memory, registers, (2, 2))
        yield f"product {name} transposed", gemm(48, 100, 33, (32, 32, 32), memory, registers, (1, 1), (1, 1), (0, 0))
    yield "product in blocks of 48", gemm(130, 96, 72, (48, 48, 24), (F32,) * 3, (F32,) * 3, (2, 2), (0, 1))
    yield "sum of products", gemm(64, 64, 64, (32, 32, 8), (F32,) * 3, (F32,) * 3, (2, 2), accumulate=True)
    yield "attention", attention(37, 53, 32, 1, (16, 32, 16))
    yield "attention, heads", attention(64, 40, 24, 3, (32, 16, 8))
    yield "attention, not cached", attention(37, 53, 64, 2, (16, 32, 16), cached=False)
    yield "attention, direct loads", attention(40, 48, 40, 1, (16, 32, 16), asynchronous=False)
    yield "attention of halves", attention(37, 53, 32, 2, (16, 32, 16), halves=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        class Place(tuple):
            races = ()
        place = Place((sys.argv[1], sys.argv[2], build(sys.argv[3], folder)))
        chosen = [(name, None, f) for name, f in all_cases() if not sys.argv[4:] or any(w in name for w in sys.argv[4:])]
        sys.exit(main("metal-flash-attention", chosen, {None: place}))
