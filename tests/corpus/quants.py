"""Quantised blocks of the GGUF formats, from their public description: random blocks, and what they stand for."""
import numpy as np


def halves(rng, n, low, high):
    return rng.uniform(low, high, n).astype(np.float16)


def blocks(n, **parts):
    """Puts parts (name -> [n][bytes]) one after the other in each block."""
    return np.concatenate([np.ascontiguousarray(p).view(np.uint8).reshape(n, -1) for p in parts.values()], axis=1)


def q8_0(rng, rows, columns):
    n = rows * columns // 32
    d, q = halves(rng, n, -0.02, 0.02), rng.integers(-127, 128, (n, 32)).astype(np.int8)
    return blocks(n, d=d, q=q), (d.astype(np.float64)[:, None] * q).reshape(rows, columns)


def q4_0(rng, rows, columns):
    """Byte j holds elements j (low) and j + 16 (high), each with 8 added."""
    n = rows * columns // 32
    d, q = halves(rng, n, -0.1, 0.1), rng.integers(0, 256, (n, 16)).astype(np.uint8)
    values = np.concatenate([q & 15, q >> 4], axis=1).astype(np.float64) - 8
    return blocks(n, d=d, q=q), (d.astype(np.float64)[:, None] * values).reshape(rows, columns)


def q4_k(rng, rows, columns):
    """256 elements in 8 groups of 32, each with a scale and a minimum of 6 bits in 12 bytes."""
    n = rows * columns // 256
    d, m = halves(rng, n, 0.0, 0.002), halves(rng, n, 0.0, 0.002)
    packed, q = rng.integers(0, 256, (n, 12)).astype(np.uint8), rng.integers(0, 256, (n, 128)).astype(np.uint8)
    scales, minima = np.empty((n, 8)), np.empty((n, 8))
    for j in range(8):
        if j < 4:
            scales[:, j], minima[:, j] = packed[:, j] & 63, packed[:, j + 4] & 63
        else:
            scales[:, j] = (packed[:, j + 4] & 15) | (packed[:, j - 4] >> 6) << 4
            minima[:, j] = (packed[:, j + 4] >> 4) | (packed[:, j] >> 6) << 4
    pairs = q.reshape(n, 4, 32)
    values = np.stack([pairs & 15, pairs >> 4], axis=2).reshape(n, 8, 32).astype(np.float64)
    values = d.astype(np.float64)[:, None, None] * scales[:, :, None] * values - m.astype(np.float64)[:, None, None] * minima[:, :, None]
    return blocks(n, d=d, m=m, s=packed, q=q), values.reshape(rows, columns)
