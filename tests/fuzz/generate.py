#!/usr/bin/env python3
"""Random kernels in C for the vectoriser: generate.py SEED COUNT > kernels.c

Each kernel k0, k1, ... reads `in` (4096 words that nobody writes, with slack around it), `bytes` and `*n`, and writes only its own
thread's words: out[8 * i ...] and out2[i]. So every order of threads gives the same result, and scalar execution is the oracle.
The statements aim at what can go wrong: nested conditions and loops on uniform and varying values, break, continue, goto, return,
switch, private arrays, divisions, gathers, strided and packed accesses, index arithmetic that wraps, narrow types.
"""
import random
import sys

R = random.Random(int(sys.argv[1]))
pick = R.choice


def uniform():
    return pick(["(u & %d)" % pick([1, 2, 4]), "u %% %d == %d" % (pick([2, 3]), pick([0, 1])), "n > %d" % R.randint(0, 6),
                 "gx & 1"])


def varying():
    return pick(["(v & %d)" % pick([1, 2, 4, 8, 16]), "v %% %d == %d" % (pick([3, 5, 7]), R.randint(0, 2)), "a > b",
                 "((a ^ v) & %d)" % pick([1, 2, 4]), "i %% %d < %d" % (pick([3, 4, 9]), R.randint(1, 3)), "b % 5u < 2",
                 "lane < %d" % R.randint(0, 32), "(lane & %d)" % pick([1, 2, 4, 8, 16]), "x > %d" % R.randint(0, 20),
                 "lane == v % 32", "y & 1", "(int)a < (int)b", "(a & 3) == (b & 3)"])


def condition():
    c = uniform() if R.random() < 0.3 else varying()
    if R.random() < 0.15:
        c = "%s %s %s" % (c, pick(["&&", "||"]), varying())
    return "(" + c + ")"


def load():
    c = R.randint(0, 9)
    return pick([
        "in[(v + %d) & 4095]" % c, "in[i]", "in[i + %d]" % c, "in[i * 4 + %d & 4095]" % (c % 4), "in[u & 4095]",
        "in[lane * 4 + %d]" % (c % 4), "in[(lane & 15) * 2 + %d]" % (c % 2), "in[(lane >> 2) * 16 + (lane & 3) * 4 + %d]" % (c % 4),
        "in[(lane & 7) * 32 + (lane >> 3) * %d]" % pick([1, 4, 8]), "in[2100 - i]" if c < 5 else "in[1000u - lane]",
        "in[y * 32 + x]", "in[(ulong)y * 64 + x]", "in[x * 3 + %d]" % (c % 3), "bytes[i + %d]" % c, "bytes[lane * 4 + %d]" % (c % 4),
        "bytes[v & 1023]", "((const DEVICE ushort *)in)[i + %d]" % c, "((const DEVICE ushort *)in)[lane * 2 + %d]" % (c % 2),
        "(uint)((const DEVICE ulong *)in)[lane + %d]" % c, "in[(a & 63) * 8 + %d]" % (c % 8), "in[(a & 63) * 8 + %d]" % (c % 8),
        "(i >= %d ? in[i - %d] : %d)" % (c, c, c), "in[(ushort)(lane * %d)]" % pick([1, 2, 8]), "in[(short)lane ^ %d]" % c,
        "(n + i < 4000 ? in[n + i] : 3)"])


def assign():
    c = R.randint(0, 7)
    return pick([
        "v = v * 3 + %d;" % c, "a += v;", "b ^= a + %d;" % c, "u += %d;" % R.randint(1, 3), "a = a * 5 + b;",
        "b = (b >> 1) + a;", "v ^= b;", "a += u;", "out2[i] = a + b;", "b += tab[v & 7];", "tab[a & 7] = b;", "tab[%d] += v;" % c,
        "a += b / ((v & 7) + 1);", "if (v & 3) b += a / (v & 3);", "if (v & 3) a ^= (uint)((int)b % (int)(v & 3));",
        "mine[%d] = a ^ %d;" % (c, c), "mine[%d] = b; mine[%d] = a + 1; " % (c, (c + 1) % 8), "a ^= mine[%d];" % c,
        "mine[a & 7] = v;", "small[%d] = (uchar)(a + %d);" % (c, c), "b += small[v & 7];", "small[a & 7] = (uchar)v;",
        "a = (a << %d) | (b >> %d);" % (c + 1, 31 - c), "v = (ushort)(v + a);", "b = (uint)(int16_t)(a ^ v);",
        "a = a > b ? a - b : b;", "f = f * 1.5f + (float)(a & 255); b ^= (uint)(int)(f < 1e6f ? f : 0);",
        "w += (ulong)a * v; b ^= (uint)(w >> 32);", "mine[0] = a; mine[1] = b; mine[2] = v; mine[3] = u;"]
        + ["%s %s %s;" % (pick("abv"), pick(["+=", "^=", "="]), load())] * 14)


labels = 0


def block(depth, in_loop):
    global labels
    s = ""
    for _ in range(R.randint(1, 4)):
        c = R.random()
        if depth > 0 and c < 0.28:
            s += "if %s {%s}" % (condition(), block(depth - 1, in_loop))
            if R.random() < 0.5:
                s += "else {%s}" % block(depth - 1, in_loop)
        elif depth > 0 and c < 0.45:
            q = "q%d" % labels
            labels += 1
            limit = pick(["n & 7", str(R.randint(1, 6)), "v & %d" % pick([3, 7]), "(a & 3) + 1"])
            if R.random() < 0.6:
                s += "for (uint %s = 0; %s < (uint)(%s); %s++) {%s}" % (q, q, limit, q, block(depth - 1, True))
            else:
                body = block(depth - 1, True).replace("continue;", "break;")
                s += "{uint %s = 0; do {%s} while (++%s < 5 && %s);}" % (q, body, q, condition())
        elif in_loop and c < 0.52:
            s += "if %s %s" % (condition(), pick(["break;", "continue;"]))
        elif c < 0.55:
            s += "if (%s && %s) goto end;" % (condition(), condition())
        elif c < 0.57:
            s += "if (%s && %s) {out2[i] = a ^ b; return;}" % (condition(), condition())
        elif depth > 0 and c < 0.62:
            cases = [block(0, False) for _ in range(4)]
            s += "switch (%s) {case 0: %s case 1: %s break; case 2: %s break; default: %s}" % (
                pick(["v & 3", "u & 3", "a % 5u"]), *cases)
        else:
            s += assign() + "\n"
    return s


print('#include "kernel.h"')
for k in range(int(sys.argv[2])):
    print("""void k%d(const DEVICE uint *in, DEVICE uint *out, DEVICE uint *out2, const DEVICE uchar *bytes, const DEVICE uint *count)
{
    uint n = *count, lane = LANE, x = POSITION(x), y = POSITION(y), gx = GRID_X, gy = GRID_Y;
    uint i = (gy + y) * 64 + (gx + x) + POSITION(z) * 512, v = in[i], a = i, b = 7, u = n;
    float f = (float)(v & 15);
    ulong w = v;
    uint tab[8];
    uchar small[8];
    DEVICE uint *mine = out + (ulong)i * 8;
    for (int z = 0; z < 8; z++) tab[z] = z * v, small[z] = (uchar)(z + v);
    %s
end:
    out2[i] = a + b * 3 + v * 7 + tab[3] + tab[a & 7] + small[b & 7] + (uint)w + (uint)(int)(f < 1e6f ? f : 1);
}""" % (k, block(pick([1, 2, 2, 3, 4]), False)))
