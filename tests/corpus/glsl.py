"""Compute shaders in GLSL (ours) through glslangValidator and spirv-cross to Metal, executed: glsl.py TOMBAC DEVICE [FILTER...].

What matters is the Metal text that SPIRV-Cross writes: unsized arrays as [1], its own functions, packed types, specialisation
constants, atomics by casts. Bindings are the buffers' indices."""
import os
import subprocess
import sys
import tempfile

import numpy as np

from direct import Direct
from kit import main

rng = np.random.default_rng(11)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def translate(source, folder, options=()):
    """The Metal text of a GLSL shader."""
    glsl, spirv = os.path.join(folder, "s.comp"), os.path.join(folder, "s.spv")
    with open(glsl, "w", encoding="ascii") as f:
        f.write("#version 450\n" + source)
    subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", glsl, "-o", spirv], check=True, stdout=subprocess.DEVNULL)
    return subprocess.run(["spirv-cross", "--msl", "--msl-version", "30000", "--msl-decoration-binding", *options, spirv], check=True,
                          capture_output=True, text=True).stdout


def run(place, source, buffers, outputs, groups, group, options=(), constants=None):
    tombac, device, folder = place
    kit = Direct(tombac, device, text=translate(source, folder, options), standard="metal3.0", math="safe")
    return kit.run("main0", dict(enumerate(buffers)), groups=groups, group=group, constants=constants, outputs=outputs)


def buffer(binding, name, members, qualifier=""):
    return f"layout(std430, binding = {binding}) {qualifier} buffer {name} {{ {members} }};\n"


def reduction(place):
    source = ("layout(local_size_x = 128) in; layout(std140, binding = 2) uniform P { uint n; float scale; };\n" +
              buffer(0, "A", "float a[];", "readonly") + buffer(1, "B", "float b[];", "writeonly") + """shared float t[128];
    void main() {
        uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x;
        t[l] = i < n ? a[i] : 0.0;
        barrier();
        for (uint s = 64u; s > 0u; s >>= 1) { if (l < s) t[l] += t[l + s]; barrier(); }
        if (l == 0u) b[gl_WorkGroupID.x] = t[0] * scale;
    }""")
    a, many = rng.integers(-9, 9, 1000).astype(np.float32), 8
    out, = run(place, source, [a, np.zeros(many, np.float32), np.uint32(1000).tobytes() + np.float32(0.5).tobytes() + bytes(8)], [1],
               (many, 1, 1), (128, 1, 1))
    yield out, np.pad(a, (0, 24)).reshape(many, 128).sum(1) * 0.5, 0


def scan(place):
    source = "layout(local_size_x = 256) in;\n" + buffer(0, "A", "uint a[];") + """shared uint t[2][256];
    void main() {
        uint l = gl_LocalInvocationIndex, from = 0u;
        t[0][l] = a[gl_GlobalInvocationID.x];
        memoryBarrierShared(); barrier();
        for (uint d = 1u; d < gl_WorkGroupSize.x; d *= 2u) {
            t[1u - from][l] = l >= d ? t[from][l] + t[from][l - d] : t[from][l];
            from = 1u - from;
            barrier();
        }
        a[gl_GlobalInvocationID.x] = t[from][l];
    }"""
    a = rng.integers(0, 2**32, 512, dtype=np.uint64).astype(np.uint32)
    yield run(place, source, [a], [0], (2, 1, 1), (256, 1, 1))[0], np.cumsum(a.reshape(2, 256), 1, dtype=np.uint32).reshape(-1), 0


def product(place):
    source = ("layout(local_size_x = 16, local_size_y = 16) in; layout(constant_id = 3) const uint K = 1u;\n" +
              buffer(0, "A", "float a[];", "readonly") + buffer(1, "B", "float b[];", "readonly") + buffer(2, "C", "float c[];") +
              """shared float s[16][17], r[16][17];
    void main() {
        uvec2 g = gl_GlobalInvocationID.xy, l = gl_LocalInvocationID.xy;
        uint n = gl_NumWorkGroups.x * 16u;
        float sum = 0.0;
        for (uint k = 0u; k < K; k += 16u) {
            s[l.y][l.x] = a[g.y * K + k + l.x];
            r[l.y][l.x] = b[(k + l.y) * n + g.x];
            barrier();
            for (uint j = 0u; j < 16u; j++) sum = fma(s[l.y][j], r[j][l.x], sum);
            barrier();
        }
        c[g.y * n + g.x] = sum;
    }""")
    a, b = normal(32, 48), normal(48, 64)
    out, = run(place, source, [a, b, np.zeros((32, 64), np.float32)], [2], (4, 2, 1), (16, 16, 1), constants={"K_tmp": np.uint32(48)})
    yield out, a.astype(np.float64) @ b, 1e-5


def matrices(place):
    """Columns of three take 16 bytes."""
    source = ("layout(local_size_x = 32) in;\nstruct body { mat3 turn; vec3 place; float mass; mat2x3 flat_; };\n" +
              buffer(0, "S", "body bodies[];", "readonly") + buffer(1, "O", "vec4 result[];") +
              """void main() {
        uint i = gl_GlobalInvocationID.x;
        if (i >= 40u) return;
        body b = bodies[i];
        vec3 v = b.turn * b.place;
        mat3 m = transpose(b.turn) * b.turn;
        vec2 f = b.place * mat2x3(b.flat_);
        result[3 * i] = vec4(v, determinant(b.turn));
        result[3 * i + 1] = vec4(m[0][1], m[2].xy, b.mass);
        result[3 * i + 2] = vec4(f, b.flat_[1].z, inverse(b.turn)[0][0]);
    }""")
    n = 40
    data = np.zeros(n, np.dtype([("turn", np.float32, (3, 4)), ("place", np.float32, 3), ("mass", np.float32), ("flat", np.float32, (2, 4))]))
    for name in data.dtype.names:
        data[name] = rng.standard_normal(data[name].shape)
    turn, flat = data["turn"][:, :, :3].astype(np.float64).transpose(0, 2, 1), data["flat"][:, :, :3].astype(np.float64).transpose(0, 2, 1)
    place_, square = data["place"].astype(np.float64), turn.transpose(0, 2, 1) @ turn
    expected = np.zeros((n, 3, 4))
    expected[:, 0, :3], expected[:, 0, 3] = (turn @ place_[:, :, None])[..., 0], np.linalg.det(turn)
    expected[:, 1] = np.stack([square[:, 1, 0], square[:, 0, 2], square[:, 1, 2], data["mass"]], 1)
    expected[:, 2, :2] = np.einsum("ni,nij->nj", place_, flat)
    expected[:, 2, 2], expected[:, 2, 3] = flat[:, 2, 1], np.linalg.inv(turn)[:, 0, 0]
    out, = run(place, source, [data.view(np.uint8), np.zeros((n, 3, 4), np.float32)], [1], (2, 1, 1), (32, 1, 1))
    yield out, expected, 2e-3  # small determinants


def atomics(place):
    source = ("layout(local_size_x = 64) in;\n" + buffer(0, "A", "uint values[];", "readonly") +
              buffer(1, "H", "uint counts[16]; int low; uint high; uint bits; uint last;") + """shared uint mine[16];
    void main() {
        uint l = gl_LocalInvocationIndex, v = values[gl_GlobalInvocationID.x];
        if (l < 16u) mine[l] = 0u;
        barrier();
        atomicAdd(mine[v & 15u], 1u);
        barrier();
        if (l < 16u) atomicAdd(counts[l], mine[l]);
        atomicMin(low, int(v) - 500);
        atomicMax(high, v);
        atomicOr(bits, v);
        uint old = atomicAdd(last, 0u), seen;
        do { seen = old; old = atomicCompSwap(last, seen, seen + (v & 1u)); } while (old != seen);
    }""")
    a = rng.integers(0, 1000, 512).astype(np.uint32)
    out, = run(place, source, [a, np.zeros(20, np.uint32)], [1], (8, 1, 1), (64, 1, 1))
    yield out[:16], np.bincount(a & 15, minlength=16), 0
    yield out[16:].astype(np.int32), [min(0, int(a.min()) - 500), a.max(), np.bitwise_or.reduce(a), (a & 1).sum()], 0


def subgroups(place):
    source = ("#extension GL_KHR_shader_subgroup_arithmetic : require\n#extension GL_KHR_shader_subgroup_shuffle : require\n"
              "#extension GL_KHR_shader_subgroup_ballot : require\n#extension GL_KHR_shader_subgroup_vote : require\n"
              "layout(local_size_x = 64) in;\n" + buffer(0, "A", "int a[];", "readonly") + buffer(1, "B", "int b[];") +
              """void main() {
        uint i = gl_GlobalInvocationID.x;
        int v = a[i];
        b[8 * i] = subgroupAdd(v);
        b[8 * i + 1] = subgroupInclusiveAdd(v);
        b[8 * i + 2] = subgroupMax(v);
        b[8 * i + 3] = subgroupShuffleXor(v, 5u);
        b[8 * i + 4] = int(subgroupBallot(v > 0).x);
        b[8 * i + 5] = subgroupBroadcastFirst(v);
        b[8 * i + 6] = int(subgroupBallotBitCount(subgroupBallot(v > 3))) + (subgroupAll(v > -200) ? 100 : 0);
        b[8 * i + 7] = subgroupExclusiveAdd(v) + int(gl_SubgroupInvocationID) * 1000;
    }""")
    a = rng.integers(-50, 50, 128).astype(np.int32)
    rows = a.reshape(4, 32)
    lanes = np.arange(32)
    ballot = ((rows > 0).astype(np.uint64) << lanes.astype(np.uint64)).sum(1).astype(np.uint32).astype(np.int32)
    columns = [rows.sum(1, keepdims=True), rows.cumsum(1), rows.max(1, keepdims=True), rows[:, lanes ^ 5], ballot[:, None], rows[:, :1],
               (rows > 3).sum(1, keepdims=True) + 100, rows.cumsum(1) - rows + lanes * 1000]
    expected = np.stack([np.broadcast_to(c, (4, 32)) for c in columns], -1).reshape(128, 8)
    out, = run(place, source, [a, np.zeros((128, 8), np.int32)], [1], (2, 1, 1), (64, 1, 1))
    yield out, expected, 0


def integers(place):
    source = ("layout(local_size_x = 32) in;\n" + buffer(0, "A", "uvec2 a[];", "readonly") + buffer(1, "B", "uint b[];") +
              """void main() {
        uint i = gl_GlobalInvocationID.x, x = a[i].x, y = a[i].y, carry, low, high;
        uint o = 12u * i;
        b[o] = bitfieldExtract(x, 5, 11);
        b[o + 1] = uint(bitfieldExtract(int(x), 20, 9));
        b[o + 2] = bitfieldInsert(x, y, 7, 13);
        b[o + 3] = bitfieldReverse(x);
        b[o + 4] = uint(bitCount(x)) + 100u * uint(findMSB(x) + 1) + 10000u * uint(findLSB(y) + 1);
        b[o + 5] = uint(findMSB(int(x)));
        b[o + 6] = uaddCarry(x, y, carry) ^ carry;
        umulExtended(x, y, high, low);
        b[o + 7] = high; b[o + 8] = low;
        b[o + 9] = uint(int(x) / max(int(y >> 20), 1)) + uint(int(x) % 7) + uint(sign(int(x)));
        b[o + 10] = packHalf2x16(vec2(float(x & 1023u) / 8.0, -2.5)) ^ packSnorm2x16(vec2(0.5, -1.0));
        b[o + 11] = uint(unpackUnorm4x8(x).z * 255.0 + 0.5) + uint(unpackHalf2x16(0x3c004200u).x);
    }""")
    a = rng.integers(0, 2**32, (64, 2), dtype=np.uint64).astype(np.uint32)
    a[:4] = [[0, 0], [1, 0x80000000], [0xffffffff, 0xffffffff], [0x80000000, 1]]
    expected = []
    for x, y in a.tolist():
        signed = x - (x >> 31 << 32)
        top = (~signed if signed < 0 else signed).bit_length() - 1
        part = x >> 20 & 511
        quotient, divisor = abs(signed) // max(y >> 20, 1), max(y >> 20, 1)
        quotient, rest = (quotient, abs(signed) % 7) if signed >= 0 else (-quotient, -(abs(signed) % 7))
        lsb = (y & -y).bit_length()
        half = np.array([(x & 1023) / 8, -2.5], np.float16).view(np.uint32)[0]
        expected.append([x >> 5 & 2047, part - (part >> 8 << 9), x & ~(0x1fff << 7) | (y & 0x1fff) << 7, int(f"{x:032b}"[::-1], 2),
                         bin(x).count("1") + 100 * x.bit_length() + 10000 * lsb, top, (x + y & 0xffffffff) ^ (x + y >> 32), x * y >> 32,
                         x * y, quotient + rest + (signed > 0) - (signed < 0), int(half) ^ (16384 | 0x8001 << 16), (x >> 16 & 255) + 3])
        assert divisor > 0
    out, = run(place, source, [a, np.zeros((64, 12), np.uint32)], [1], (2, 1, 1), (32, 1, 1))
    yield out, np.array([[v & 0xffffffff for v in row] for row in expected], np.uint32), 0


def floats(place):
    source = ("layout(local_size_x = 32) in;\n" + buffer(0, "A", "vec4 a[];", "readonly") + buffer(1, "B", "vec4 b[];") +
              """float rise(float x) { return x < 0.0 ? -x : x; }
    void main() {
        uint i = gl_GlobalInvocationID.x;
        vec4 v = a[i];
        float whole, e = 0.0; int exponent;
        b[4 * i] = mod(v, 1.7) + fract(v) + floor(v) + trunc(v);
        b[4 * i + 1] = vec4(atan(v.x, v.y), pow(rise(v.z), 1.5), inversesqrt(rise(v.w) + 0.1), exp2(v.x) + log2(rise(v.y) + 0.5));
        b[4 * i + 2] = mix(v, v.yzwx, 0.25) + smoothstep(vec4(-1.0), vec4(1.0), v) + step(v.wzyx, v) + clamp(v, -0.5, 0.5);
        float m = frexp(v.x, exponent);
        e = modf(v.y, whole);
        b[4 * i + 3] = vec4(m + float(exponent), e * 2.0 + whole, dot(reflect(v.xyz, normalize(vec3(1, 2, 2))), vec3(1, 10, 100)),
                            distance(v.xy, v.zw) + length(cross(v.xyz, v.yzw)) + roundEven(v.z * 4.0));
    }""")
    a = normal(64, 4)
    x = a.astype(np.float64)
    u = np.clip((x + 1) / 2, 0, 1)
    expected = np.zeros((64, 4, 4))
    expected[:, 0] = x - 1.7 * np.floor(x / np.float64(np.float32(1.7))) + (x - np.floor(x)) + np.floor(x) + np.trunc(x)
    expected[:, 1] = np.stack([np.arctan2(x[:, 0], x[:, 1]), np.abs(x[:, 2]) ** 1.5, 1 / np.sqrt(np.abs(x[:, 3]) + 0.1),
                               np.exp2(x[:, 0]) + np.log2(np.abs(x[:, 1]) + 0.5)], 1)
    expected[:, 2] = x * 0.75 + np.roll(x, -1, 1) * 0.25 + u * u * (3 - 2 * u) + (x >= x[:, ::-1]) + np.clip(x, -0.5, 0.5)
    normal_ = np.array([1, 2, 2]) / 3
    reflected = x[:, :3] - 2 * (x[:, :3] @ normal_)[:, None] * normal_
    mantissa, exponent = np.frexp(x[:, 0])
    fraction, whole = np.modf(x[:, 1])
    expected[:, 3] = np.stack([mantissa + exponent, fraction * 2 + whole, reflected @ [1, 10, 100],
                               np.linalg.norm(x[:, :2] - x[:, 2:], axis=1) + np.linalg.norm(np.cross(x[:, :3], x[:, 1:]), axis=1) +
                               np.round(a[:, 2] * np.float32(4)).astype(np.float64)], 1)
    out, = run(place, source, [a, np.zeros((64, 4, 4), np.float32)], [1], (2, 1, 1), (32, 1, 1))
    yield out, expected, 2e-5


def flow(place):
    source = "layout(local_size_x = 32) in;\n" + buffer(0, "A", "int a[];", "readonly") + buffer(1, "B", "int b[];") + """
    const int table[8] = int[](3, 1, 4, 1, 5, 9, 2, 6);
    int steps(int n) { int s = 0; while (n != 1) { n = (n & 1) == 0 ? n / 2 : 3 * n + 1; if (++s > 300) break; } return s; }
    void main() {
        uint i = gl_GlobalInvocationID.x;
        int v = a[i], r = 0, stack[6];
        switch (v % 5) {
        case 0: r = 10; break;
        case 1: r = 20;
        case 2: r += 3; break;
        case 3: for (int k = 0; k < v; k++) { if (k % 3 == 0) continue; if (k > 20) break; r += table[k & 7]; } break;
        default: r = -1;
        }
        for (int k = 0; k < 6; k++) stack[k] = v * k + table[(v + k) & 7];
        for (int k = 1; k < 6; k++) for (int j = k; j > 0 && stack[j - 1] % 11 > stack[j] % 11; j--) { int t = stack[j]; stack[j] = stack[j - 1]; stack[j - 1] = t; }
        do { r += stack[r & 3]; } while ((r & 1) == 0 && r < 100);
        b[i] = r * 1000 + steps(v + 1);
    }"""
    a = rng.integers(0, 60, 64).astype(np.int32)
    table = [3, 1, 4, 1, 5, 9, 2, 6]
    expected = []
    for v in a.tolist():
        kind = v % 5
        r = {0: 10, 1: 23, 2: 3, 3: sum(table[k & 7] for k in range(min(v, 21)) if k % 3), 4: -1}[kind]
        stack = sorted((v * k + table[(v + k) & 7] for k in range(6)), key=lambda x: x % 11)
        while True:
            r += stack[r & 3]
            if r & 1 or r >= 100:
                break
        n, s = v + 1, 0
        while n != 1:
            n, s = (n // 2 if n % 2 == 0 else 3 * n + 1), s + 1
        expected.append(r * 1000 + s)
    yield run(place, source, [a, np.zeros(64, np.int32)], [1], (2, 1, 1), (32, 1, 1))[0], expected, 0


def small_types(place):
    source = ("#extension GL_EXT_shader_16bit_storage : require\n#extension GL_EXT_shader_8bit_storage : require\n"
              "#extension GL_EXT_shader_explicit_arithmetic_types : require\nlayout(local_size_x = 32) in;\n" +
              buffer(0, "A", "int8_t a[];", "readonly") + buffer(1, "B", "uint16_t b[];", "readonly") + buffer(2, "C", "f16vec2 c[];") +
              buffer(3, "D", "int64_t d[];") + """void main() {
        uint i = gl_GlobalInvocationID.x;
        c[i] = f16vec2(float16_t(a[i]) * float16_t(0.5), float16_t(b[i] >> 8us));
        d[i] = int64_t(a[i]) * 1000000007l + int64_t(uint64_t(b[i]) << 33);
    }""")
    a, b = rng.integers(-128, 128, 64).astype(np.int8), rng.integers(0, 65536, 64).astype(np.uint16)
    halves, longs = run(place, source, [a, b, np.zeros((64, 2), np.float16), np.zeros(64, np.int64)], [2, 3], (2, 1, 1), (32, 1, 1))
    yield halves, np.stack([a * 0.5, b >> 8], 1), 0
    yield longs, a.astype(np.int64) * 1000000007 + (b.astype(np.int64) << 33), 0


def arrays(place):
    """Arrays of buffers' structs with several unsized neighbours, three-component vectors, copies of whole arrays."""
    source = ("layout(local_size_x = 32) in;\nstruct item { vec3 a; vec3 b[2]; uint n; };\n" +
              buffer(0, "A", "uint count; vec3 shift; item items[];", "readonly") + buffer(1, "B", "vec3 sum[];") + """
    vec3 total(item x) { vec3 parts[2] = x.b; parts[1] *= 2.0; vec3 t = x.a; for (uint k = 0u; k < x.n; k++) t += parts[k]; return t; }
    void main() { uint i = gl_GlobalInvocationID.x; if (i < count && i < uint(items.length())) sum[i] = total(items[i]) + shift; }""")
    item = np.dtype({"names": ["a", "b", "n"], "formats": [(np.float32, 3), (np.float32, (2, 4)), np.uint32], "offsets": [0, 16, 48], "itemsize": 64})
    items = np.zeros(50, item)
    items["a"], items["b"], items["n"] = normal(50, 3), normal(50, 2, 4), rng.integers(0, 3, 50)
    head = np.zeros(8, np.float32)
    head[4:7] = 1, 2, 3
    head.view(np.uint32)[0] = 45
    data = np.concatenate([head.view(np.uint8), items.view(np.uint8)])
    parts = items["b"][:, :, :3] * np.array([1, 2], np.float32)[:, None]
    expected = items["a"] + (parts * (np.arange(2)[None, :, None] < items["n"][:, None, None])).sum(1) + [1, 2, 3]
    expected[45:] = 0
    source = source.replace(" && i < uint(items.length())", "")
    out, = run(place, source, [data, np.zeros((50, 4), np.float32)], [1], (2, 1, 1), (32, 1, 1))
    yield out[:, :3], expected, 1e-6


CASES = [("reduction", reduction), ("scan", scan), ("product", product), ("matrices", matrices), ("atomics", atomics), ("subgroups", subgroups),
         ("integers", integers), ("floats", floats), ("flow", flow), ("small types", small_types), ("arrays", arrays)]

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        chosen = [(name, None, f) for name, f in CASES if not sys.argv[3:] or any(w in name for w in sys.argv[3:])]

        class Place(tuple):
            races = ()
        sys.exit(main("SPIRV-Cross", chosen, {None: Place((sys.argv[1], sys.argv[2], folder))}))
