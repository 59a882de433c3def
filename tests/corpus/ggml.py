"""Executes kernels of a ggml checkout: ggml.py TOMBAC DEVICE CHECKOUT.

Dispatch (grid, function constants, threadgroup memory) follows what the project's host code does; references are ours."""
import os
import sys

import numpy as np

import quants
from kit import Kit, main

rng = np.random.default_rng(7)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def strides(array):
    """ggml's nb0 ... nb3 of an array that NumPy holds with its fastest dimension last."""
    shape = (1,) * (4 - array.ndim) + array.shape
    nb = [array.itemsize]
    for extent in reversed(shape[1:]):
        nb.append(nb[-1] * extent)
    return nb


def extents(array):
    shape = (1,) * (4 - array.ndim) + array.shape
    return list(reversed(shape))


def fields(ne, nb, ne_format, nb_format, only_ne=(0, 1, 2, 3), only_nb=(0, 1, 2, 3)):
    out = {ne_format.format(i): ne[i] for i in only_ne}
    out.update({nb_format.format(i): nb[i] for i in only_nb})
    return out


# ---- Rows: softmax and norms ----

def soft_max(width, mask_type, suffix, bias=0.0):
    def case(kit):
        heads, rows = 6, 5
        x, mask, sinks = normal(heads, rows, width), normal(rows, width).astype(mask_type), normal(heads)
        log2 = 4
        args = {**fields(extents(x), strides(x), "ne0{}", "nb0{}", (0, 1, 2), (1, 2, 3)),
                **fields(extents(mask), strides(mask), "ne1{}", "nb1{}", (1, 2, 3), (1, 2, 3)),
                **fields([], strides(x), "", "nb{}", (), (1, 2, 3)), "scale": 0.7, "max_bias": bias,
                "m0": 2.0 ** (-bias / log2), "m1": 2.0 ** (-bias / 2 / log2), "n_head_log2": log2}
        (out,) = kit.run(f"kernel_soft_max_{'f16' if mask_type is np.float16 else 'f32'}{suffix}",
                         {0: args, 1: x, 2: mask, 3: sinks, 4: np.zeros_like(x)}, groups=(rows, heads, 1), group=(64, 1, 1),
                         threadgroup={0: 128}, outputs=[4])
        slope = np.ones(heads)
        if bias:
            for h in range(heads):
                slope[h] = args["m0"] ** (h + 1) if h < log2 else args["m1"] ** (2 * (h - log2) + 1)
        s = x * 0.7 + slope[:, None, None] * mask.astype(np.float64)
        top = np.maximum(s.max(-1, keepdims=True), sinks[:, None, None])
        e = np.exp(s - top)
        yield out, e / (e.sum(-1, keepdims=True) + np.exp(sinks[:, None, None] - top)), 2e-5
    return case


def norm(kind, width, fuse, vector):
    def case(kit):
        rows = 7
        x, b, c = normal(rows, width), normal(1, width), normal(rows, width)
        nb = strides(x)
        arrays = (x, b, c)
        args = {"ne00": width, "ne00_t": width // 4 if vector else width, "nb1": nb[1], "nb2": nb[2], "nb3": nb[3], "eps": 1e-5}
        for d in (1, 2, 3):
            args[f"nef{d}"] = [extents(a)[d] for a in arrays]
            args[f"nbf{d}"] = [strides(a)[d] for a in arrays]
        name = f"kernel_{kind}" + ("", "_mul", "_mul_add")[fuse] + "_f32" + ("_4" if vector else "")
        threads = 32
        while threads < args["ne00_t"]:
            threads *= 2
        threads = min(threads, 1024, (args["ne00_t"] + 31) // 32 * 32)
        (out,) = kit.run(name, {0: args, 1: x, 2: b, 3: c, 4: np.zeros_like(x)}, groups=(rows, 1, 1), group=(threads, 1, 1),
                         threadgroup={0: 128}, outputs=[4])
        y = x.astype(np.float64)
        if kind == "norm":
            y = y - y.mean(-1, keepdims=True)
        y = y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-5)
        if fuse > 0:
            y = y * b
        if fuse > 1:
            y = y + c
        yield out, y, 2e-5
    return case


# ---- Elementwise ----

def binary(op, width, rows_b, rb, dtype=np.float32):
    def case(kit):
        rows = 6
        a, b = normal(rows, width).astype(dtype), (normal(rows_b, width) + 4).astype(dtype)
        vector = width % 4 == 0
        div = 4 if vector else 1
        shown = {**fields(extents(a), strides(a), "ne0{}", "nb0{}"), **fields(extents(b), strides(b), "ne1{}", "nb1{}"),
                 **fields(extents(a), strides(a), "ne{}", "nb{}"), "offs": 0, "o1": [0] * 8}
        for key in ("ne00", "ne10", "ne0"):
            shown[key] //= div
        t = "f16" if dtype is np.float16 else "f32"
        launch = dict(groups=(shown["ne0"], rows, 1), group=(1, 1, 1)) if rb else dict(groups=(rows, 1, 1), group=(64, 1, 1))
        (out,) = kit.run(f"kernel_bin_fuse_{t}_{t}_{t}" + ("_4" if vector else ""), {0: shown, 1: a, 2: b, 3: np.zeros_like(a)},
                         constants={"FC_bin_op": op, "FC_bin_f": 1, "FC_bin_rb": rb, "FC_bin_cb": False}, outputs=[3], **launch)
        x, y = a.astype(np.float64), np.tile(b.astype(np.float64), (rows // rows_b, 1))
        expected = (x + y, x - y, x * y, x / y)[op]
        yield out, expected, 1e-3 if dtype is np.float16 else 1e-6
    return case


def copy(source, target, transposed):
    def case(kit):
        names = {np.float32: "f32", np.float16: "f16", np.int32: "i32"}
        x = (normal(3, 10, 33) * 50).astype(source)
        ne, nb = extents(x), strides(x)
        y = np.zeros(x.shape, target)
        if transposed:  # read the last two dimensions exchanged
            ne[0], ne[1] = ne[1], ne[0]
            nb[0], nb[1] = nb[1], nb[0]
            y = np.zeros((3, 33, 10), target)
        args = {"nk0": ne[0], **fields(ne, nb, "ne0{}", "nb0{}"), **fields(extents(y), strides(y), "ne{}", "nb{}")}
        (out,) = kit.run(f"kernel_cpy_{names[source]}_{names[target]}", {0: args, 1: x, 2: y}, groups=(ne[1], ne[2], ne[3]),
                         group=(ne[0], 1, 1), outputs=[2])
        expected = x.transpose(0, 2, 1) if transposed else x
        yield out, expected.astype(target), 0
    return case


def rope(kind, dtype, rotated):
    def case(kit):
        tokens, heads, width = 5, 3, 64
        x, positions = normal(tokens, heads, width).astype(dtype), np.array([0, 1, 7, 100, 1000], np.int32)
        args = {**fields(extents(x), strides(x), "ne0{}", "nb0{}"), **fields(extents(x), strides(x), "ne{}", "nb{}"),
                "n_past": 0, "n_dims": rotated, "n_offs": 0, "n_ctx_orig": 4096, "freq_base": 10000.0, "freq_scale": 1.0,
                "ext_factor": 0.0, "attn_factor": 1.0, "beta_fast": 32.0, "beta_slow": 1.0, "sect_0": 0, "sect_1": 0, "sect_2": 0,
                "sect_3": 0, "src2": False, "inplace": False}
        (out,) = kit.run(f"kernel_rope_{kind}_{'f16' if dtype is np.float16 else 'f32'}", {0: args, 1: x, 2: positions,
                         3: np.zeros(4, np.float32), 4: np.zeros_like(x)}, groups=(heads, tokens, 1), group=(width, 1, 1),
                         constants={"FC_rope_is_imrope": False, "FC_rope_is_back": False}, outputs=[4])
        y, half = x.astype(np.float64).copy(), rotated // 2
        angle = positions[:, None, None] * 10000.0 ** (-np.arange(half) / half)
        a, b = (np.s_[..., :half], np.s_[..., half:rotated]) if kind == "neox" else (np.s_[..., 0:rotated:2], np.s_[..., 1:rotated:2])
        x0, x1 = y[a].copy(), y[b].copy()
        y[a], y[b] = x0 * np.cos(angle) - x1 * np.sin(angle), x0 * np.sin(angle) + x1 * np.cos(angle)
        yield out, y, 2e-3
    return case


# ---- Matrices ----

def weights(kind, rows, columns):
    """Bytes of the rows, values, and bytes in one row."""
    if kind in ("f32", "f16"):
        w = (normal(rows, columns) / 8).astype(np.float32 if kind == "f32" else np.float16)
        return w, w.astype(np.float64), w.itemsize * columns
    make, size, length = {"q4_0": (quants.q4_0, 18, 32), "q8_0": (quants.q8_0, 34, 32), "q4_K": (quants.q4_k, 144, 256)}[kind]
    data, values = make(rng, rows, columns)
    return data, values, columns // length * size


# Rows are a multiple of what a threadgroup takes: the kernels read (and drop) rows past the end.
def mul_mv(kind, suffix, nsg, nr0, rows, columns, by_simdgroup):
    def case(kit):
        w, values, row = weights(kind, rows, columns)
        x = normal(2, columns)
        args = {"ne00": columns, "ne01": rows, "ne02": 1, "nb00": w.itemsize, "nb01": row, "nb02": row * rows, "nb03": row * rows,
                "ne10": columns, "ne11": 2, "ne12": 1, "nb10": 4, "nb11": 4 * columns, "nb12": 8 * columns, "nb13": 8 * columns,
                "ne0": rows, "ne1": 2, "nr0": nr0, "r2": 1, "r3": 1}
        per_group = nr0 * (nsg if by_simdgroup else 1)
        shared = {} if kind == "q4_K" or suffix == "_short" else {0: 32 * 4 * nr0}
        (out,) = kit.run(f"kernel_mul_mv_{kind}_f32{suffix}", {0: args, 1: w, 2: x, 3: np.zeros((2, rows), np.float32)},
                         groups=((rows + per_group - 1) // per_group, 2, 1), group=(32, nsg, 1), threadgroup=shared,
                         constants={"FC_mul_mv_nsg": nsg, "FC_mul_mv_ne12": 1, "FC_mul_mv_r2": 1, "FC_mul_mv_r3": 1}, outputs=[3])
        yield out, x.astype(np.float64) @ values.T, 2e-4
    return case


def mul_mm(kind, rows, columns, tokens):
    def case(kit):
        w, values, row = weights(kind, rows, columns)
        x = normal(tokens, columns)
        args = {"ne00": columns, "ne02": 1, "nb01": row, "nb02": row * rows, "nb03": row * rows, "ne12": 1, "nb10": 4,
                "nb11": 4 * columns, "nb12": 4 * columns * tokens, "nb13": 4 * columns * tokens, "ne0": rows, "ne1": tokens,
                "r2": 1, "r3": 1}
        edge = bool(rows % 64 or tokens % 32)
        (out,) = kit.run(f"kernel_mul_mm_{kind}_f32", {0: args, 1: w, 2: x, 3: np.zeros((tokens, rows), np.float32)},
                         groups=((tokens + 31) // 32, (rows + 63) // 64, 1), group=(32, 4, 1),
                         threadgroup={0: 8192 if edge else 6144}, outputs=[3],
                         constants={"FC_mul_mm_bc_inp": columns % 32 != 0, "FC_mul_mm_bc_out": edge, "FC_mul_mm_ne12": 1,
                                    "FC_mul_mm_ne13": 1, "FC_mul_mm_r2": 1, "FC_mul_mm_r3": 1})
        yield out, x.astype(np.float64) @ values.T, 3e-3  # operands are rounded to half
    return case


def mul_mm_tensor(kind, rows, columns, tokens):
    """The same with Metal 4's tensor operations."""
    def case(kit):
        w, values, row = weights(kind, rows, columns)
        x = normal(tokens, columns)
        args = {"ne00": columns, "ne02": 1, "nb01": row, "nb02": row * rows, "nb03": row * rows, "ne12": 1, "nb10": 4,
                "nb11": 4 * columns, "nb12": 4 * columns * tokens, "nb13": 4 * columns * tokens, "ne0": rows, "ne1": tokens,
                "r2": 1, "r3": 1}
        (out,) = kit.run(f"kernel_mul_mm_{kind}_f32", {0: args, 1: w, 2: x, 3: np.zeros((tokens, rows), np.float32)},
                         groups=((tokens + 127) // 128, (rows + 63) // 64, 1), group=(32, 4, 1), threadgroup={0: 4096}, outputs=[3],
                         constants={"FC_mul_mm_bc_inp": columns % 32 != 0, "FC_mul_mm_bc_out": bool(rows % 64 or tokens % 128),
                                    "FC_mul_mm_ne12": 1, "FC_mul_mm_ne13": 1, "FC_mul_mm_r2": 1, "FC_mul_mm_r3": 1})
        yield out, x.astype(np.float64) @ values.T, 3e-3  # the weights are rounded to half
    return case


def mul_mm_id_tensor(kind, rows, columns, tokens):
    """Mixture of experts: which tokens an expert has, then a product for each expert."""
    def case(kit):
        experts, used = 4, 2
        pairs = [weights(kind, rows, columns) for _ in range(experts)]
        w, row = np.stack([p[0] for p in pairs]), pairs[0][2]
        x = normal(tokens, columns)
        ids = np.stack([rng.permutation(experts)[:used] for _ in range(tokens)]).astype(np.int32)
        map_args = {"ne02": experts, "ne10": columns, "ne11": 1, "nb11": 4 * columns, "nb12": 4 * columns, "ne21": tokens,
                    "ne20": used, "nb21": 4 * used}
        tpe, hids = kit.run(f"kernel_mul_mm_id_map0_ne20_{used}", {0: map_args, 1: ids, 2: np.zeros(experts, np.uint32),
                                                                   3: np.zeros((experts, tokens), np.int32)},
                            groups=(1, 1, 1), group=(experts, 1, 1), threadgroup={0: experts * used * 2}, outputs=[2, 3])
        yield tpe, np.bincount(ids.reshape(-1), minlength=experts), 0
        args = {"ne00": columns, "ne02": experts, "nb01": row, "nb02": row * rows, "nb03": row * rows * experts, "ne11": 1,
                "nb10": 4, "nb11": 4 * columns, "nb12": 4 * columns, "nb13": 4 * columns * tokens, "ne20": used, "ne21": tokens,
                "ne0": rows, "ne1": used, "r2": 1, "r3": 1}
        (out,) = kit.run(f"kernel_mul_mm_id_{kind}_f32", {0: args, 1: w, 2: x, 3: tpe, 4: hids,
                                                         5: np.zeros((tokens, used, rows), np.float32)},
                         groups=((tokens + 31) // 32, (rows + 63) // 64, experts), group=(128, 1, 1), threadgroup={0: 8192},
                         outputs=[5], constants={"FC_mul_mm_bc_inp": columns % 32 != 0, "FC_mul_mm_bc_out": False})
        expected = np.stack([np.stack([x[t].astype(np.float64) @ pairs[e][1].T for e in ids[t]]) for t in range(tokens)])
        yield out, expected, 3e-3  # operands are rounded to half
    return case


# ---- Attention ----

def attention(vector, dk, keys):
    def case(kit):
        heads, queries = 2, 1 if vector else 11
        q = normal(1, heads, queries, dk)
        k, v = normal(1, heads, keys, dk).astype(np.float16), normal(1, heads, keys, dk).astype(np.float16)
        mask = np.where(rng.random((1, 1, 16, keys)) < 0.2, -np.inf, 0).astype(np.float16)
        scale = 1 / np.sqrt(dk)
        nq, nk, nm = strides(q), strides(k), strides(mask)
        args = {"ne01": queries, "ne02": heads, "ne03": 1, "nb01": nq[1], "nb02": nq[2], "nb03": nq[3], "ne11": keys,
                "ne_12_2": heads, "ne_12_3": 1, "ns10": dk, "nb11": nk[1], "nb12": nk[2], "nb13": nk[3], "ns20": dk, "nb21": nk[1],
                "nb22": nk[2], "nb23": nk[3], "ne31": 16, "ne32": 1, "ne33": 1, "nb31": nm[1], "nb32": nm[2], "nb33": nm[3],
                "ne1": heads, "ne2": queries, "ne3": 1, "scale": scale, "max_bias": 0.0, "m0": 1.0, "m1": 1.0, "n_head_log2": 2,
                "logit_softcap": 0.0}
        prefix = "FC_flash_attn_ext_vec_" if vector else "FC_flash_attn_ext_"
        constants = {prefix + n: x for n, x in dict(has_mask=True, has_sinks=False, has_bias=False, has_scap=False, has_kvpad=False,
                                                    ns10=dk, ns20=dk).items()}
        empty, out = np.zeros(16, np.float32), np.zeros((queries, heads, dk), np.float32)
        name = f"kernel_flash_attn_ext{'_vec' if vector else ''}_f16_dk{dk}_dv{dk}"
        if vector:
            nsg = 1
            constants.update({prefix + "nsg": nsg, prefix + "nwg": 1})
            memory = (max(dk, 128) + 4 * 32 + 2 * max(dk, 128)) * nsg * 2
            (out,) = kit.run(name, {0: args, 1: q, 2: k, 3: v, 4: mask, 5: empty, 6: empty, 7: out}, groups=(queries, heads, 1),
                             group=(32, nsg, 1), constants=constants, threadgroup={0: (memory + 15) // 16 * 16}, outputs=[7])
        else:
            nsg, blocks = 4, ((queries + 7) // 8, (keys + 63) // 64)
            block_args = {"ne01": queries, "ne30": keys, "ne31": 16, "ne32": 1, "ne33": 1, "nb31": nm[1], "nb32": nm[2], "nb33": nm[3]}
            (block,) = kit.run("kernel_flash_attn_ext_blk", {0: block_args, 1: mask, 2: np.zeros(blocks[0] * blocks[1] + 64, np.int8)},
                               groups=(blocks[1], blocks[0], 1), outputs=[2],
                               constants={"FC_flash_attn_ext_blk_nqptg": 8, "FC_flash_attn_ext_blk_ncpsg": 64})
            constants.update({prefix + "nsg": nsg, prefix + "bc_mask": False})
            memory = 8 * (dk + 2 * ((dk + 63) // 64 * 64) + 2 * (2 * 64)) * 2
            (out,) = kit.run(name, {0: args, 1: q, 2: k, 3: v, 4: mask, 5: empty, 6: empty, 7: block, 8: out},
                             groups=(blocks[0], heads, 1), group=(32, nsg, 1), constants=constants, threadgroup={0: memory}, outputs=[8])
        s = np.einsum("hqd,hkd->hqk", q[0].astype(np.float64), k[0].astype(np.float64)) * scale + mask[0, 0, :queries].astype(np.float64)
        e = np.exp(s - s.max(-1, keepdims=True))
        expected = np.einsum("hqk,hkd->qhd", e / e.sum(-1, keepdims=True), v[0].astype(np.float64))
        yield out, expected, 5e-3
    return case


def all_cases():
    yield "soft_max_f32_4", soft_max(256, np.float32, "_4")
    yield "soft_max_f32", soft_max(77, np.float32, "")
    yield "soft_max_f16_4 with slopes", soft_max(512, np.float16, "_4", bias=8.0)
    for kind in ("rms_norm", "norm"):
        for fuse, width, vector in ((0, 1024, True), (1, 512, True), (2, 256, True), (0, 77, False), (2, 1000, False)):
            yield f"{kind} fuse {fuse} width {width}", norm(kind, width, fuse, vector)
    for op, name in enumerate(("add", "sub", "mul", "div")):
        yield f"{name} f32x4", binary(op, 256, 6, False)
    yield "add f32 odd width", binary(0, 77, 2, False)
    yield "add f32 one row", binary(0, 256, 1, True)
    yield "mul f16x4", binary(2, 128, 6, False, np.float16)
    for source, target in ((np.float32, np.float32), (np.float32, np.float16), (np.float16, np.float32), (np.float32, np.int32)):
        yield f"cpy {source.__name__} {target.__name__}", copy(source, target, False)
    yield "cpy transposed", copy(np.float32, np.float16, True)
    for kind in ("norm", "neox"):
        yield f"rope_{kind}_f32", rope(kind, np.float32, 64)
        yield f"rope_{kind}_f16 partly", rope(kind, np.float16, 32)
    yield "mul_mv_f32_f32_4", mul_mv("f32", "_4", 4, 2, 36, 512, False)
    yield "mul_mv_f32_f32", mul_mv("f32", "", 1, 2, 12, 99, False)
    yield "mul_mv_f16_f32_4", mul_mv("f16", "_4", 4, 2, 64, 1024, False)
    yield "mul_mv_f16_f32_short", mul_mv("f16", "_short", 1, 32, 40, 24, False)
    yield "mul_mv_q4_0_f32", mul_mv("q4_0", "", 2, 4, 40, 512, True)
    yield "mul_mv_q8_0_f32", mul_mv("q8_0", "", 4, 2, 36, 512, False)
    yield "mul_mv_q4_K_f32", mul_mv("q4_K", "", 2, 2, 36, 1024, True)
    for kind in ("f32", "f16", "q4_0", "q8_0", "q4_K"):
        yield f"mul_mm_{kind}_f32", mul_mm(kind, 128, 256, 64)
    yield "mul_mm_f16_f32 edges", mul_mm("f16", 100, 96, 45)
    yield "mul_mm_q4_0_f32 edges", mul_mm("q4_0", 70, 128, 33)
    for dk in (64, 128):
        yield f"flash_attn_ext_vec dk {dk}", attention(True, dk, 256)
        yield f"flash_attn_ext dk {dk}", attention(False, dk, 256)


def tensor_cases():
    for kind in ("f32", "f16", "q4_0", "q8_0", "q4_K"):
        yield f"tensor mul_mm_{kind}_f32", mul_mm_tensor(kind, 128, 256, 128)
    yield "tensor mul_mm_f16_f32 edges", mul_mm_tensor("f16", 100, 96, 45)
    yield "tensor mul_mm_f32_f32 odd", mul_mm_tensor("f32", 70, 76, 133)
    yield "tensor mul_mm_q4_0_f32 edges", mul_mm_tensor("q4_0", 70, 128, 133)
    yield "tensor mul_mm_id_f16_f32", mul_mm_id_tensor("f16", 128, 96, 40)
    yield "tensor mul_mm_id_q4_0_f32", mul_mm_id_tensor("q4_0", 64, 128, 70)


if __name__ == "__main__":
    tombac, device, checkout = sys.argv[1:4]
    wanted = sys.argv[4:]
    folder = os.path.join(checkout, "src")
    source = os.path.join(folder, "ggml-metal", "ggml-metal.metal")
    kits = {"ggml": Kit(tombac, device, source, ["-I", folder]),
            "tensor": Kit(tombac, device, source, ["-I", folder, "-D", "GGML_METAL_HAS_TENSOR=1", "--std", "metal4.0"])}
    cases = [(n, "ggml", f) for n, f in all_cases()] + [(n, "tensor", f) for n, f in tensor_cases()]
    chosen = [c for c in cases if not wanted or any(w in c[0] for w in wanted)]
    sys.exit(main("ggml", chosen, kits))
