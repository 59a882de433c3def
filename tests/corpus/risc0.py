"""Executes kernels of a risc0 checkout (the rv32im circuit's): risc0.py TOMBAC DEVICE CHECKOUT.

Elements of the field are words below P in Montgomery's form; references are integers of Python, and SHA-256's compression
written out, which is itself compared with hashlib."""
import hashlib
import os
import struct
import sys

import numpy as np

from kit import Failure, Kit, main

P = 15 * 2**27 + 1
rng = np.random.default_rng(3)
FOLDER = "risc0/circuit/rv32im-sys/cxx/hal/metal/kernels"


def elements(*shape):
    return rng.integers(0, P, shape).astype(np.uint32)


def product(a, b):
    return a.astype(object) * b.astype(object) * pow(2**32, -1, P) % P


# ---- SHA-256 ----

PRIMES = [p for p in range(2, 312) if all(p % q for q in range(2, p))]


def root_bits(prime, power):
    """The first 32 bits of the fraction of prime ** (1 / power), by integers."""
    low, high = 0, 1 << 40
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**power <= prime << (32 * power) else (low, middle)
    return low & 0xffffffff


START, ROUNDS = [root_bits(p, 2) for p in PRIMES[:8]], [root_bits(p, 3) for p in PRIMES[:64]]


def turn(x, n):
    return (x >> n | x << (32 - n)) & 0xffffffff


def compress(state, block):
    w = list(struct.unpack(">16I", block))
    for i in range(16, 64):
        s0 = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3
        s1 = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10
        w.append((w[i - 16] + s0 + w[i - 7] + s1) & 0xffffffff)
    a, b, c, d, e, f, g, h = state
    for i in range(64):
        t1 = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + (e & f ^ ~e & g) + ROUNDS[i] + w[i]
        t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + (a & b ^ a & c ^ b & c)
        a, b, c, d, e, f, g, h = (t1 + t2) & 0xffffffff, a, b, c, (d + t1) & 0xffffffff, e, f, g
    return [(x + y) & 0xffffffff for x, y in zip(state, (a, b, c, d, e, f, g, h))]


def chained(message):
    """Without the padding that ends a hash: the last block is filled with zeros."""
    message += bytes(-len(message) % 64)
    state = START
    for i in range(0, len(message), 64):
        state = compress(state, message[i:i + 64])
    return struct.pack(">8I", *state)


def check_compress():
    message = b"abc" * 40
    padded = message + b"\x80" + bytes((55 - len(message)) % 64) + struct.pack(">Q", 8 * len(message))
    if chained(padded) != hashlib.sha256(message).digest():
        raise Failure("the reference of SHA-256 is wrong")


def sha_rows(kit):
    check_compress()
    rows, columns = 9, 37
    matrix = elements(columns, rows)
    (out,) = kit.run("sha_rows", {0: np.zeros((rows, 8), np.uint32), 1: matrix, 2: rows, 3: columns}, grid=(rows, 1, 1), outputs=[0])
    expected = [np.frombuffer(chained(matrix[:, r].tobytes()), np.uint32) for r in range(rows)]
    yield out, np.array(expected), 0


def sha_fold(kit):
    digests = rng.integers(0, 2**32, (14, 8), dtype=np.uint32)
    (out,) = kit.run("sha_fold", {0: np.zeros((7, 8), np.uint32), 1: digests}, grid=(7, 1, 1), outputs=[0])
    yield out, np.array([np.frombuffer(chained(digests[2 * i:2 * i + 2].tobytes()), np.uint32) for i in range(7)]), 0


# ---- The field ----

def add(kit):
    a, b = elements(50), elements(50)
    (out,) = kit.run("eltwise_add_fp", {0: np.zeros(50, np.uint32), 1: a, 2: b}, grid=(50, 1, 1), outputs=[0])
    yield out, (a.astype(np.int64) + b) % P, 0


def scale(kit):
    a, factor = elements(50), elements(1)
    (out,) = kit.run("eltwise_mul_factor_fp", {0: a, 1: factor}, grid=(50, 1, 1), outputs=[0])
    yield out, product(a, factor).astype(np.int64), 0


def sum_extended(kit):
    count, terms = 11, 5
    values = elements(terms, count, 4)
    (out,) = kit.run("eltwise_sum_fpext", {0: np.zeros((4, count), np.uint32), 1: values, 2: count, 3: terms}, grid=(count, 1, 1),
                     outputs=[0])
    yield out, values.astype(np.int64).sum(0).T % P, 0


CASES = [("sha_rows", "sha", sha_rows), ("sha_fold", "sha", sha_fold), ("eltwise_add_fp", "eltwise", add),
         ("eltwise_mul_factor_fp", "eltwise", scale), ("eltwise_sum_fpext", "eltwise", sum_extended)]
tombac, device, checkout = sys.argv[1:4]
kits = {name: Kit(tombac, device, os.path.join(checkout, FOLDER, f"{name}.metal")) for name in ("sha", "eltwise")}
sys.exit(main("risc0", CASES, kits))
