#!/usr/bin/env python3
"""Random Metal kernels with barriers, collectives and atomics: generate_metal.py SEED COUNT > kernels.metal

They run on the check engine and on the cpu engine; the integers that they write must be equal. Threads read what other threads wrote
only across barriers, barriers stand in control flow that is uniform by construction, and atomics whose order could be seen are not
used, so that every right implementation gives the same words.
"""
import random
import sys

R = random.Random(int(sys.argv[1]))
pick = R.choice


def uniform():
    return pick(["(u & %d)" % pick([1, 2]), "u %% 3 == %d" % R.randint(0, 2), "n > %d" % R.randint(0, 6), "(g & 1)"])


def varying():
    return pick(["(v & %d)" % pick([1, 2, 4, 8]), "v %% 5 == %d" % R.randint(0, 2), "a > b", "((a ^ v) & %d)" % pick([1, 2]),
                 "lane < %d" % R.randint(1, 31), "(lane & %d)" % pick([1, 2, 4, 8, 16]), "t %% 7 < %d" % R.randint(1, 4),
                 "simd_is_first()" if R.random() < 0.3 else "lane == v % 32"])


def condition():
    return uniform() if R.random() < 0.25 else varying()


def collective():
    c = R.randint(0, 9)
    x = pick("abv")
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
        "quad_shuffle_down(%s, ushort(%d))" % (x, c % 4)])


def assign():
    c = R.randint(0, 7)
    return pick([
        "v = v * 3 + %d;" % c, "a += v;", "b ^= a + %d;" % c, "a = a * 5 + b;", "b = (b >> 1) + a;", "b += tab[v & 7];",
        "tab[a & 7] = b;", "tab[%d] += v;" % c, "a += b / ((v & 7) + 1);", "out[8 * i + %d] = a;" % c, "b ^= in[i + %d];" % c,
        "a ^= in[lane * 4 + %d];" % (c % 4), "v ^= in[v & 1023];",
        "atomic_fetch_add_explicit(&counter[%d], a & 15, memory_order_relaxed);" % c,
        "atomic_fetch_add_explicit(&counter[v & 7], 3, memory_order_relaxed);",
        "atomic_fetch_xor_explicit(&shared[%d], b, memory_order_relaxed);" % c,
        "atomic_fetch_max_explicit(&shared[8 + (a & 7)], v, memory_order_relaxed);"]
        + ["%s %s %s;" % (pick("ab"), pick(["+=", "^=", "="]), collective()) for _ in range(8)])


def exchange():
    c = R.randint(1, 40)
    return "tg[t] = %s; threadgroup_barrier(mem_flags::mem_threadgroup); %s ^= tg[(t + %d) %% threads]; " \
           "threadgroup_barrier(mem_flags::mem_threadgroup);" % (pick("abv"), pick("abv"), c)


labels = 0


def loop(body, limit):
    global labels
    q = "q%d" % labels
    labels += 1
    return "for (uint %s = 0; %s < (%s); %s++) {%s}" % (q, q, limit, q, body)


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
        if depth > 0 and c < 0.3:
            s += "if (%s) {%s}" % (condition(), inner(depth - 1, in_loop))
            if R.random() < 0.5:
                s += "else {%s}" % inner(depth - 1, in_loop)
        elif depth > 0 and c < 0.45:
            s += loop(inner(depth - 1, True), pick(["v & 3", "n & 3", "2", "(a & 3) + 1"]))
        elif depth > 0 and c < 0.5:
            s += strided(inner(depth - 1, True) if R.random() < 0.5 else assign() + assign())
        elif in_loop and c < 0.55:
            s += "if (%s) %s" % (condition(), pick(["break;", "continue;"]))
        else:
            s += assign() + "\n"
    return s


def outer(depth):
    """Uniform control flow: here barriers are allowed."""
    s = ""
    for _ in range(R.randint(2, 4)):
        c = R.random()
        if depth > 0 and c < 0.15:
            s += "if (%s) {%s} else {%s}" % (uniform(), outer(depth - 1), outer(depth - 1))
        elif depth > 0 and c < 0.35:
            s += loop(outer(depth - 1), pick(["n & 3", "2", "1 + (g & 1)"]))
        elif c < 0.6:
            s += exchange()
        else:
            s += inner(3, False)
        s += pick(["", "", "u += %d;" % R.randint(1, 3)])
    return s


print("#include <metal_stdlib>\nusing namespace metal;")
for k in range(int(sys.argv[2])):
    print("""kernel void k%d(const device uint *in [[buffer(0)]], device uint *out [[buffer(1)]], device atomic_uint *counter [[buffer(2)]],
    constant uint &n [[buffer(3)]], uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint g [[threadgroup_position_in_grid]], uint threads [[threads_per_threadgroup]])
{
    threadgroup uint tg[1024];
    threadgroup atomic_uint shared[16];
    uint v = in[i], a = i, b = 7, u = n;
    uint tab[8];
    for (uint z = 0; z < 8; z++) tab[z] = z * v;
    if (t < 16) atomic_store_explicit(&shared[t], t, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    %s
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[8 * i + 7] = a + b * 3 + v * 7 + tab[3] + tab[a & 7] + u;
    out[8 * i + 6] = atomic_load_explicit(&shared[t & 15], memory_order_relaxed);
}""" % (k, outer(2)))
