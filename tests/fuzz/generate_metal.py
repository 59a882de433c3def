#!/usr/bin/env python3
"""Random Metal kernels with barriers, collectives and atomics: generate_metal.py SEED COUNT > kernels.metal

They run on the check engine and on the cpu engine; the numbers that they write must be equal. Threads read what other threads wrote
only across barriers, barriers stand in control flow that is uniform by construction (threads that have returned stay away), and
atomics whose order could be seen are not used, so that every right implementation gives the same words. Halves and floats hold
small integers, so that no rounding depends on how an expression is grouped.

Shapes of control flow: nested conditions and loops on uniform and varying values, break, continue, return, switch with and without
falling through, leaving nested loops by a flag, barriers in loops, in called functions, behind returns and under uniform conditions.
"""
import random
import sys

R = random.Random(int(sys.argv[1]))
pick = R.choice


def uniform():
    return pick(["(u & %d)" % pick([1, 2]), "u %% 3 == %d" % R.randint(0, 2), "n > %d" % R.randint(0, 6), "(g & 1)",
                 "threads > %d" % pick([40, 100])])


def varying():
    return pick(["(v & %d)" % pick([1, 2, 4, 8]), "v %% 5 == %d" % R.randint(0, 2), "a > b", "((a ^ v) & %d)" % pick([1, 2]),
                 "lane < %d" % R.randint(1, 31), "(lane & %d)" % pick([1, 2, 4, 8, 16]), "t %% 7 < %d" % R.randint(1, 4),
                 "p.x > p.y", "p.y & 1", "h > 40.0h", "w.z > w.x", "any(w.xy == uint2(a, b))", "c4.y < 100",
                 "simd_is_first()" if R.random() < 0.3 else "lane == v % 32"])


def condition():
    c = uniform() if R.random() < 0.25 else varying()
    if R.random() < 0.15:
        c = "(%s) %s (%s)" % (c, pick(["&&", "||"]), varying())
    return c


def collective():
    c = R.randint(0, 9)
    x = pick(["a", "b", "v", "w.x", "w.y", "uint(c4.z)"])
    return pick([
        "simd_sum(%s)" % x, "simd_product(%s | 1)" % x, "simd_min(%s)" % x, "simd_max(int(%s))" % x, "simd_xor(%s)" % x,
        "simd_and(%s)" % x, "simd_or(%s)" % x, "simd_prefix_inclusive_sum(%s)" % x, "simd_prefix_exclusive_sum(%s)" % x,
        "simd_prefix_exclusive_product(%s | 1)" % x, "simd_shuffle(%s, ushort(%d))" % (x, c), "simd_shuffle(%s, ushort(v & 31))" % x,
        "simd_shuffle_up(%s, ushort(%d))" % (x, c), "simd_shuffle_down(%s, ushort(%d))" % (x, c),
        "simd_shuffle_xor(%s, ushort(%d))" % (x, c), "simd_shuffle_down(%s, ushort(u & 7))" % x,
        "simd_shuffle_rotate_up(%s, ushort(%d))" % (x, c), "simd_shuffle_rotate_down(%s, ushort(v & 31))" % x,
        "simd_shuffle_and_fill_up(%s, b, ushort(%d))" % (x, c), "simd_shuffle_and_fill_down(%s, a, ushort(%d), ushort(8))" % (x, c % 8),
        "simd_broadcast(%s, ushort(%d))" % (x, c), "simd_broadcast_first(%s)" % x, "uint(ulong(simd_ballot(%s & 1)))" % x,
        "uint(simd_all(%s != 0))" % x, "uint(simd_any(%s & 1))" % x, "uint(ulong(simd_active_threads_mask()))",
        "quad_sum(%s)" % x, "quad_min(%s)" % x, "quad_shuffle(%s, ushort(%d))" % (x, c % 4), "quad_shuffle_xor(%s, ushort(%d))" % (x, c % 4),
        "quad_broadcast_first(%s)" % x, "quad_prefix_inclusive_sum(%s)" % x, "uint(quad_any(%s & 2))" % x,
        "quad_shuffle_down(%s, ushort(%d))" % (x, c % 4), "uint(simd_max(h))", "uint(simd_shuffle_xor(h, ushort(%d)))" % c,
        "uint(simd_sum(float(lane & %d)))" % (c | 1), "simd_sum(w).%s" % pick("xyzw"), "simd_shuffle(w, ushort(%d)).%s" % (c, pick("xyzw")),
        "uint(simd_max(c4).%s)" % pick("xyzw"), "uint(simd_sum(ushort(a & 255)))", "across(%s)" % x, "across_some(%s, lane)" % x])


def numbers():
    """Vectors, halves, floats, narrow integers."""
    c, s = R.randint(0, 7), pick(["xy", "yz", "wx", "zz"])
    return pick([
        "w += uint4(a, b, v, %d);" % c, "w.%s ^= in4[(v + %d) & 255].%s;" % (pick(["xy", "wz", "yx"]), c, s), "w = w.%s;" % pick(["wzyx", "yxwz", "xxyy"]),
        "w = select(w, in4[i & 255], w > uint4(b));", "a ^= w.%s;" % pick("xyzw"), "w.%s = b;" % pick("xyzw"),
        "b += dot(float2(c4.xy), float2(%d, 2)) > 100 ? 1 : 3;" % c, "h = half((uint(h) + a) & 63);", "h = min(h * 2.0h, half(c4.x));",
        "h = fmod(h + half(%d), 64.0h);" % c, "a += uint(h);", "f = float(v & 1023) * 0.5f + %d;" % c, "b ^= as_type<uint>(f);",
        "c4 += uchar4(uchar(a), uchar(v), 3, uchar(%d));" % c, "c4 = c4.wxyz;", "a += uint(c4.%s) << %d;" % (pick("xyzw"), c),
        "a ^= as_type<uint>(c4);", "b += as_type<uint>(half2(h, half(%d)));" % c, "tab[%d] = uint(as_type<ushort>(h));" % c,
        "a += popcount(b) + clz(v) + ctz(a | 256);", "b = rotate(b, %du) + mulhi(a, v);" % c, "v += extract_bits(a, %du, 5u);" % c,
        "w = max(w, in4[(lane + %d) & 255]);" % c, "in_out[i].%s = a;" % pick("xyzw"), "b ^= in_out[i].%s;" % pick("xyzw"),
        "b += bytes[i + %d];" % c, "b += bytes[(v * 3 + %d) & 1023];" % c, "a ^= uint(shorts[2 * i + %d]);" % (c & 1)])


def assign():
    c = R.randint(0, 7)
    if R.random() < 0.3:
        return numbers()
    return pick([
        "v = v * 3 + %d;" % c, "a += v;", "b ^= a + %d;" % c, "a = a * 5 + b;", "b = (b >> 1) + a;", "b += tab[v & 7];",
        "tab[a & 7] = b;", "tab[%d] += v;" % c, "a += b / ((v & 7) + 1);", "out[8 * i + %d] = a;" % c, "b ^= in[i + %d];" % c,
        "a ^= in[lane * 4 + %d];" % (c % 4), "v ^= in[v & 1023];", "a ^= in[p.y * 32 + p.x + %d];" % c,
        "a += uint(long(v) * %d / ((b & 3) + 1));" % (c + 1), "b ^= helper(a, v & 15);", "tab[%d] ^= uint(ulong(a) %% ((b & 7) + 1));" % c,
        "atomic_fetch_add_explicit(&counter[%d], a & 15, memory_order_relaxed);" % c,
        "atomic_fetch_add_explicit(&counter[v & 7], 3, memory_order_relaxed);",
        "atomic_fetch_sub_explicit(&counter[%d], 1, memory_order_relaxed);" % c,
        "atomic_fetch_xor_explicit(&shared[%d], b, memory_order_relaxed);" % c,
        "raise(&shared[%d], 1 + (a & 3));" % (16 + c), "raise(&shared[16 + (v & 7)], 2);",
        "atomic_fetch_min_explicit(&shared[%d], a, memory_order_relaxed);" % (24 + (c & 3)),
        "atomic_fetch_max_explicit(&shared[8 + (a & 7)], v, memory_order_relaxed);"]
        + ["%s %s %s;" % (pick("ab"), pick(["+=", "^=", "="]), collective()) for _ in range(8)])


def exchange():
    c = R.randint(1, 40)
    x, y = pick("abv"), pick("abv")
    flags = pick(["mem_flags::mem_threadgroup"] * 3 + ["mem_flags::mem_device | mem_flags::mem_threadgroup"])
    barrier = "threadgroup_barrier(%s);" % flags
    return pick([
        "tg[t] = %s; %s %s ^= tg[(t + %d) %% threads]; %s" % (x, barrier, y, c, barrier),
        "tg[t] = %s; %s %s ^= tg[threads - 1 - t]; %s" % (x, barrier, y, barrier),
        "%s ^= swap(tg, %s, t, (t + %d) %% threads);" % (y, x, c),
        "%s += sum_all(tg, %s & 255, t, threads);" % (y, x),
        "pairs[t] = w.%s; %s w.%s += pairs[(t * 3 + %d) %% threads]; %s" % (pick(["xy", "zw"]), barrier, pick(["xy", "yw"]), c, barrier),
        "small[t] = uchar(%s); %s %s += small[(t + %d) %% threads]; %s" % (x, barrier, y, c, barrier),
        "scratch[first + t] = %s; threadgroup_barrier(mem_flags::mem_device); %s += scratch[first + (t + %d) %% threads]; "
        "threadgroup_barrier(mem_flags::mem_device);" % (x, y, c),
        "if (t == %d %% threads) tg[0] = %s; %s %s += tg[0]; %s" % (c, x, barrier, y, barrier),
        "simdgroup_barrier(mem_flags::mem_none); %s" % barrier])


labels = 0


def loop(body, limit):
    global labels
    q = "q%d" % labels
    labels += 1
    return pick([
        "for (uint %s = 0; %s < (%s); %s++) {%s}" % (q, q, limit, q, body),
        "for (uint %s = (%s); %s > 0; %s--) {%s}" % (q, limit, q, q, body),
        "{uint %s = 0; while (%s++ < (%s)) {%s}}" % (q, q, limit, body),
        "{uint %s = 0; do {%s} while (++%s < (%s));}" % (q, body, q, limit)])


def switch(on, cases):
    s = "switch (%s) {" % on
    for i, body in enumerate(cases):
        s += "%s {%s}%s" % ("default:" if i == len(cases) - 1 else "case %d:" % i, body, pick([" break;", " break;", ""]))
    return s + "}"


def escape(depth):
    """Two nested loops that are left together by a flag."""
    global labels
    q = "q%d" % labels
    labels += 1
    return "{bool out%s = false; for (uint %s = 0; %s < 3 && !out%s; %s++) {for (uint r%s = 0; r%s < (v & 3) + 1; r%s++) " \
           "{if (%s) {out%s = true; break;} %s} %s}}" % (q, q, q, q, q, q, q, q, varying(), q, inner(depth - 1, True), inner(depth - 1, True))


returns = True  # a thread must not leave a loop in which others come to a barrier


def strided(body):
    """Lanes leave one by one, or wrap before they start; indices that differ by constants."""
    global labels
    q = "q%d" % labels
    labels += 1
    scale = R.randint(1, 3)
    first, limit, step = pick([("0", pick(["n * 24u", "threads + 9u", "150u"]), pick(["32u", "40u", "threads"])),
                               ("0xfffffff0u", "0xd0000000u", "0x20000000u"), ("0xffff0000u", "0xfffff000u", "2048u")])
    return "for (uint %s = t * %d + %s; %s < (%s); %s += %s) {v += in[(%s + %d) & 2047] ^ %s; %s}" % (
        q, scale, first, q, limit, q, step, q, R.randint(0, 3), q, body)


def inner(depth, in_loop):
    s = ""
    for _ in range(R.randint(1, 3)):
        c = R.random()
        if depth > 0 and c < 0.27:
            s += "if (%s) {%s}" % (condition(), inner(depth - 1, in_loop))
            if R.random() < 0.5:
                s += "else {%s}" % inner(depth - 1, in_loop)
        elif depth > 0 and c < 0.4:
            s += loop(inner(depth - 1, True), pick(["v & 3", "n & 3", "2", "(a & 3) + 1"]))
        elif depth > 0 and c < 0.46:
            s += switch(pick(["v & 3", "u & 3", "a % 3", "lane >> 3"]), [inner(depth - 1, False) for _ in range(R.randint(2, 4))])
        elif depth > 1 and c < 0.49:
            s += escape(depth)
        elif depth > 0 and c < 0.53:
            s += strided(inner(depth - 1, True) if R.random() < 0.5 else assign() + assign())
        elif in_loop and c < 0.58:
            s += "if (%s) %s" % (condition(), pick(["break;", "continue;"]))
        elif returns and c < 0.6:
            s += "if ((%s) && (%s)) {out[8 * i + 4] = a ^ b; return;}" % (varying(), varying())
        else:
            s += assign() + "\n"
    return s


def outer(depth, in_loop=False):
    """Uniform control flow: here barriers are allowed."""
    global returns
    s = ""
    for _ in range(R.randint(2, 4)):
        c = R.random()
        if depth > 0 and c < 0.15:
            s += "if (%s) {%s} else {%s}" % (uniform(), outer(depth - 1, in_loop), outer(depth - 1, in_loop))
        elif depth > 0 and c < 0.33:
            before, returns = returns, False
            s += loop(outer(depth - 1, True), pick(["n & 3", "2", "1 + (g & 1)"]))
            returns = before
        elif depth > 0 and c < 0.38:
            s += switch(pick(["u & 3", "n & 1", "g % 3"]), [outer(depth - 1) for _ in range(R.randint(2, 3))])
        elif c < 0.6:
            s += exchange()
        elif in_loop and c < 0.65:
            s += "if (%s) %s" % (uniform(), pick(["break;", "continue;"]))
        else:
            s += inner(pick([2, 2, 3]), False)
        s += pick(["", "", "u += %d;" % R.randint(1, 3)])
    return s


print("""#include <metal_stdlib>
using namespace metal;
static uint helper(uint a, uint limit)
{
    for (uint z = 0; z < limit; z++) {
        if ((a ^ z) % 5 == 1) return a + z;
        a += z * 3;
    }
    return a ^ limit;
}
static uint across(uint x)
{
    if (x & 1) return simd_sum(x);
    return simd_max(x) + 1;
}
static uint across_some(uint x, uint lane)
{
    uint sum = 0;
    for (uint z = 0; z < (lane & 3) + 1; z++) sum += simd_sum(x + z);
    return sum;
}
static uint swap(threadgroup uint *tg, uint x, uint t, uint other)
{
    tg[t] = x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint got = tg[other];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return got;
}
static uint sum_all(threadgroup uint *tg, uint x, uint t, uint threads)
{
    tg[t] = x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = 512; step > 0; step >>= 1) {
        if (t < step && t + step < threads) tg[t] += tg[t + step];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    uint sum = tg[0];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return sum;
}
static void raise(threadgroup atomic_uint *at, uint by)
{
    uint old = atomic_load_explicit(at, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(at, &old, old + by, memory_order_relaxed, memory_order_relaxed)) {}
}""")
FLAT = """uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint g [[threadgroup_position_in_grid]], uint threads [[threads_per_threadgroup]]"""
PLANE = """uint2 at [[thread_position_in_grid]], uint2 grid [[threads_per_grid]], uint2 p [[thread_position_in_threadgroup]],
    uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint2 group [[threadgroup_position_in_grid]],
    uint2 size [[threads_per_threadgroup]], uint2 groups [[threadgroups_per_grid]]"""
NAMES = {FLAT: "const uint2 p(t & 15, t >> 4);",
         PLANE: "uint i = at.y * grid.x + at.x, g = group.y * groups.x + group.x, threads = size.x * size.y;"}
for k in range(int(sys.argv[2])):
    positions = PLANE if R.random() < 0.3 else FLAT
    print("""kernel void k%d(const device uint *in [[buffer(0)]], device uint *out [[buffer(1)]], device atomic_uint *counter [[buffer(2)]],
    constant uint &n [[buffer(3)]], device uint4 *in_out [[buffer(4)]], device uint *scratch [[buffer(5)]],
    %s)
{
    threadgroup uint tg[1024];
    threadgroup uint2 pairs[256];
    threadgroup uchar small[1024];
    threadgroup atomic_uint shared[32];
    const device uint4 *in4 = (const device uint4 *)in;
    const device uchar *bytes = (const device uchar *)in;
    const device short *shorts = (const device short *)in;
    %s
    uint v = in[i], a = i, b = 7, u = n, first = g * 256;
    uint4 w = in4[i & 255];
    uchar4 c4 = uchar4(uchar(i), uchar(v), uchar(lane), 5);
    half h = half(v & 63);
    float f = float(t);
    uint tab[8];
    for (uint z = 0; z < 8; z++) tab[z] = z * v;
    for (uint z = t; z < 32; z += threads) atomic_store_explicit(&shared[z], z * 5, memory_order_relaxed);
    tg[t] = v;
    pairs[t] = uint2(v, i);
    small[t] = uchar(t);
    scratch[first + t] = v;
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    %s
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[8 * i + 7] = a + b * 3 + v * 7 + tab[3] + tab[a & 7] + u + w.x + w.y * 5 + w.z * 11 + w.w;
    out[8 * i + 6] = atomic_load_explicit(&shared[t & 31], memory_order_relaxed) + uint(h) + as_type<uint>(c4) + as_type<uint>(f);
}""" % (k, positions, NAMES[positions], outer(pick([1, 1, 2]))))
