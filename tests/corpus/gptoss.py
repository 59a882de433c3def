"""Executes kernels of a gpt-oss checkout: gptoss.py TOMBAC DEVICE CHECKOUT [FILTER...].

Sizes are smaller than the model's, strides and dispatch follow the project's host code; references are ours."""
import os
import sys

import numpy as np

from kit import Kit, main

rng = np.random.default_rng(23)
PREDICTION = np.dtype([("expert", np.uint32), ("score", np.float32)])
GO_ON = np.zeros(1, np.uint32)  # gptoss_control: abort


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def bfloat(x):
    """The bits of the nearest bfloats, and their values."""
    bits = x.astype(np.float32).view(np.uint32)
    upper = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return upper, (upper.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def embeddings(kit):
    bits, weights = bfloat(normal(50, 96))
    tokens = rng.integers(0, 50, 7).astype(np.uint32)
    (out,) = kit.run("gptoss_bf16_f32_embeddings", {0: {"num_vecs": 24}, 1: tokens, 2: bits, 3: np.zeros((7, 96), np.float32), 4: GO_ON},
                     groups=(7, 1, 1), group=(64, 1, 1), outputs=[3])
    yield out, weights[tokens], 0


def rmsnorm(width, threads):
    def case(kit):
        x, (bits, weights) = normal(3, width), bfloat(normal(width))
        values = {0: {"num_vecs": width // 4, "num_channels": float(width), "epsilon": 1e-5}, 1: x, 2: bits, 3: np.zeros_like(x), 4: GO_ON}
        (out,) = kit.run("gptoss_f32_bf16w_rmsnorm", values, groups=(3, 1, 1), group=(threads, 1, 1), outputs=[3])
        y = x.astype(np.float64)
        yield out, y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-5) * weights, 1e-5
    return case


def rope(kit):
    tokens, offset, heads, room = 5, 3, 64 + 8 + 8, 16
    x = normal(tokens, heads * 32, 2)
    args = {"token_stride": heads * 32, "token_offset": offset, "max_tokens": room, "freq_scale": -0.3725,
            "interpolation_scale": 1 / 32, "yarn_offset": -0.25, "yarn_scale": 0.04, "yarn_multiplier": 1.3466}
    pairs = 72 * 32  # the values of attention are not rotated
    (out, kv) = kit.run("gptoss_f32_rope", {0: args, 1: x, 2: np.zeros((8 * room * 64, 2), np.float32), 3: GO_ON}, grid=(pairs, tokens, 1),
                        group=(32, 1, 1), outputs=[1, 2])
    i = np.arange(pairs) % 32
    free = np.exp(i * args["freq_scale"])
    alpha = np.clip(i * args["yarn_scale"] + args["yarn_offset"], 0, 1)
    phi = (offset + np.arange(tokens))[:, None] * (free + (free * args["interpolation_scale"] - free) * alpha)
    z = (x[..., 0] + 1j * x[..., 1]).astype(np.complex128)
    z[:, :pairs] *= np.exp(1j * phi) * args["yarn_multiplier"]
    yield out, np.stack([z.real, z.imag], -1), 2e-5
    cache = np.zeros((8, room, 64), np.complex128)
    cache[:, offset:offset + tokens, :32] = z[:, 64 * 32:72 * 32].reshape(tokens, 8, 32).transpose(1, 0, 2)
    yield kv.reshape(8, room, 64, 2), np.stack([cache.real, cache.imag], -1), 2e-5


def topk(experts):
    def case(kit):
        x = normal(6, experts)
        (out,) = kit.run(f"gptoss_f32_topk_softmax_e{experts}_k4", {0: {"num_vecs_per_token": experts // 4}, 1: x,
                         2: np.zeros((6 * 4, 2), np.uint32), 3: GO_ON}, groups=(6, 1, 1), group=(32, 1, 1), outputs=[2])
        found = out.view(PREDICTION).reshape(6, 4)
        best = np.argsort(-x, -1, kind="stable")[:, :4]
        e = np.exp(np.take_along_axis(x, best, -1).astype(np.float64))
        yield found["expert"], best, 0
        yield found["score"], e / e.sum(-1, keepdims=True), 1e-5
    return case


def matmul(add):
    def case(kit):
        rows, columns, tokens = 40, 320, 3
        x, (weight_bits, weights), (bias_bits, bias) = normal(tokens, columns), bfloat(normal(rows, columns)), bfloat(normal(rows))
        start = normal(tokens, rows)
        (out,) = kit.run("gptoss_f32_bf16w_matmul", {0: {"num_column_vecs": columns // 4, "num_rows": rows, "add": add}, 1: x, 2: weight_bits,
                         3: bias_bits, 4: start, 5: GO_ON}, groups=(rows // 8, tokens, 1), group=(256, 1, 1), outputs=[4])
        yield out, x.astype(np.float64) @ weights.T + bias + add * start, 1e-5
    return case


def routing_of(chosen, experts):
    """Where the experts' rows begin, by counting."""
    counts = np.bincount(chosen, minlength=experts)
    return np.concatenate([[0], np.cumsum(counts)])


def routing(kit):
    experts, tokens = 128, 300
    chosen = rng.integers(0, experts, tokens).astype(np.uint32)
    predictions = np.zeros(tokens, PREDICTION)
    predictions["expert"] = chosen
    (offsets, places) = kit.run("gptoss_f32_expert_routing_metadata", {0: {"tokens": tokens, "num_experts": experts},
                                1: predictions.view(np.uint32), 2: np.zeros(experts + 1, np.uint32), 3: np.zeros(tokens, np.uint32)},
                                groups=(1, 1, 1), group=(256, 1, 1), outputs=[2, 3])
    expected = routing_of(chosen, experts)
    yield offsets, expected, 0
    rows = expected[chosen] + places  # in any order within an expert, but each once
    yield np.sort(rows), np.arange(tokens), 0


def four_experts(tokens, experts):
    """Four experts for each token: which, the kernels' predictions, where each expert's rows begin, and the place of each row there."""
    chosen = np.array([rng.permutation(experts)[:4] for _ in range(tokens)]).astype(np.uint32)
    predictions = np.zeros((tokens, 4), PREDICTION)
    predictions["expert"], predictions["score"] = chosen, rng.random((tokens, 4))
    offsets, seen, places = routing_of(chosen.ravel(), experts), np.zeros(experts, int), []
    for e in chosen.ravel():
        places.append(seen[e])
        seen[e] += 1
    places = np.array(places, np.uint32).reshape(tokens, 4)
    return chosen, predictions, offsets, places


def scatter_and_back(kit):
    tokens, width, experts = 9, 64, 32
    chosen, predictions, offsets, places = four_experts(tokens, experts)
    x, words = normal(tokens, width), predictions.view(np.uint32)
    args = {"tokens": tokens, "active_experts_per_token": 4, "token_stride": width}
    rows = offsets[chosen] + places
    common = {0: args, 2: words, 3: offsets.astype(np.uint32), 4: places}
    (out,) = kit.run("gptoss_f32_scatter_e4", {**common, 1: x, 5: np.zeros((4 * tokens, width), np.float32)}, grid=(width // 4, tokens, 1),
                     group=(16, 1, 1), outputs=[5])
    expected = np.zeros((4 * tokens, width))
    expected[rows.ravel()] = np.repeat(x, 4, 0)
    yield out, expected, 0


def gather(kit):
    tokens, width, experts = 9, 64, 32
    chosen, predictions, offsets, places = four_experts(tokens, experts)
    x, start = normal(4 * tokens, width), normal(tokens, width)
    values = {0: {"tokens": tokens, "active_experts_per_token": 4, "token_stride": width}, 1: x, 2: predictions.view(np.uint32),
              3: offsets.astype(np.uint32), 4: places, 5: start}
    (out,) = kit.run("gptoss_f32_gather_and_accumulate_e4", values, grid=(width // 4, tokens, 1), group=(16, 1, 1), outputs=[5])
    rows = offsets[chosen] + places
    yield out, start + (x[rows].astype(np.float64) * predictions["score"][..., None]).sum(1), 1e-5


def accumulate(kit):
    tokens, vecs = 3, 80
    predictions = np.zeros((tokens, 4), PREDICTION)
    predictions["score"] = rng.random((tokens, 4))
    x, start = normal(4, tokens, vecs * 4), normal(tokens, vecs * 4)
    values = {0: {"num_vecs_per_expert": tokens * vecs, "num_vecs_per_threadgroup": 64, "num_vecs": vecs}, 1: x,
              2: predictions.view(np.uint32), 3: start, 4: GO_ON}
    (out,) = kit.run("gptoss_f32_accumulate_e4", values, groups=(2, tokens, 1), group=(32, 1, 1), outputs=[3])
    yield out, start + (x.astype(np.float64) * predictions["score"].T[..., None]).sum(0), 1e-5


FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])  # OCP MX: 1 bit of sign, 2 of exponent, 1 of mantissa


def convert(kit):
    blocks = 70
    codes = rng.integers(0, 16, (blocks, 32))
    packed = (codes[:, 0::2] | codes[:, 1::2] << 4).astype(np.uint8)
    scales = rng.integers(100, 140, blocks).astype(np.uint8)
    values = {0: {"num_vecs_per_threadgroup": 40, "num_vecs": blocks}, 1: packed.view(np.uint32), 2: scales,
              3: np.zeros((blocks, 32), np.float32)}
    (out,) = kit.run("gptoss_mf4_f32_convert", values, groups=(2, 1, 1), group=(32, 1, 1), outputs=[3])
    unit = np.exp2(scales.astype(np.float64) - 127)  # E8M0
    yield out, np.where(codes & 8, -1.0, 1.0) * FP4[codes & 7] * unit[:, None], 0


def squares(offset, seed):
    """Widynski's counter-based generator, in Python's integers."""
    mask = (1 << 64) - 1
    turn = lambda x: (x >> 32 | x << 32) & mask
    y = offset * seed & mask
    z = y + seed & mask
    x = turn(y * y + y & mask)
    x = turn(x * x + z & mask)
    x = turn(x * x + y & mask)
    return (x * x + z & mask) >> 32


def random(kit):
    seed, offset = 0x9E3779B97F4A7C15, 1234567890123
    args = {"num_vecs_per_threadgroup": 300, "num_vecs": 500, "offset": offset, "seed": seed}
    (out,) = kit.run("gptoss_u32_fill_random", {0: args, 1: np.zeros(500, np.uint32)}, groups=(2, 1, 1), group=(64, 1, 1), outputs=[1])
    yield out, np.array([squares(offset + i, seed) for i in range(500)]), 0


def all_cases():
    yield "embeddings", "embeddings", embeddings
    yield "rmsnorm", "rmsnorm 2880 by 1024 threads", rmsnorm(2880, 1024)
    yield "rope", "rope with a cache", rope
    yield "topk", "topk of 32 experts", topk(32)
    yield "topk", "topk of 128 experts", topk(128)
    yield "matmul", "matmul", matmul(0)
    yield "matmul", "matmul that adds", matmul(1)
    yield "expert_routing_metadata", "routing of 300 tokens", routing
    yield "scatter", "scatter to experts", scatter_and_back
    yield "gather_and_accumulate", "gather from experts", gather
    yield "accumulate", "accumulate experts", accumulate
    yield "convert", "convert MXFP4", convert
    yield "random", "random numbers", random


if __name__ == "__main__":
    tombac, device, checkout = sys.argv[1:4]
    wanted = sys.argv[4:]
    folder = os.path.join(checkout, "gpt_oss", "metal", "source")
    chosen = [(n, file, f) for file, n, f in all_cases() if not wanted or any(w in n for w in wanted)]
    kits = {file: Kit(tombac, device, os.path.join(folder, file + ".metal"), ["-I", os.path.join(folder, "include")]) for _, file, _ in chosen}
    sys.exit(main("gpt-oss", chosen, kits))
