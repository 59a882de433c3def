/* SIMD-group and quad-group functions on the host: what comes out where lanes meet (docs/operations.md).
 * Floats are combined as on every device: reductions by the xor tree from the widest distance to 1, prefixes
 * by doubling distances, min and max without NaN; so results are the same bits. */
#ifndef TOMBAC_KERNEL_HOST_GROUP_H
#define TOMBAC_KERNEL_HOST_GROUP_H

typedef enum tombac_host_code {
    TOMBAC_HOST_SUM,
    TOMBAC_HOST_PRODUCT,
    TOMBAC_HOST_MIN,
    TOMBAC_HOST_MAX,
    TOMBAC_HOST_AND,
    TOMBAC_HOST_OR,
    TOMBAC_HOST_XOR,
    TOMBAC_HOST_PREFIX_INCLUSIVE_SUM,
    TOMBAC_HOST_PREFIX_INCLUSIVE_PRODUCT,
    TOMBAC_HOST_PREFIX_EXCLUSIVE_SUM,
    TOMBAC_HOST_PREFIX_EXCLUSIVE_PRODUCT,
    TOMBAC_HOST_SHUFFLE,
    TOMBAC_HOST_SHUFFLE_UP,
    TOMBAC_HOST_SHUFFLE_DOWN,
    TOMBAC_HOST_SHUFFLE_XOR,
    TOMBAC_HOST_SHUFFLE_ROTATE_UP,
    TOMBAC_HOST_SHUFFLE_ROTATE_DOWN,
    TOMBAC_HOST_FILL_UP,
    TOMBAC_HOST_FILL_DOWN,
    TOMBAC_HOST_FIRST,
    TOMBAC_HOST_BALLOT,
    TOMBAC_HOST_ACTIVE,
    TOMBAC_HOST_ALL,
    TOMBAC_HOST_ANY,
    TOMBAC_HOST_IS_FIRST,
    TOMBAC_HOST_SIMDGROUP_BARRIER,
    TOMBAC_HOST_MATRIX
} tombac_host_code;

/* ---- Elements: kinds 0 to 9, in the order of TOMBAC_HOST_KINDS ---- */

#define TOMBAC_HOST_KINDS(X)                                                                                 \
    X(char) X(uchar) X(short) X(ushort) X(int) X(uint) X(long) X(ulong) X(half) X(float)
enum { TOMBAC_HOST_HALF = 8, TOMBAC_HOST_FLOAT = 9 };

TOMBAC_HOST_FN unsigned tombac_host_bytes(int kind)
{
    static const unsigned char bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 4};
    return bytes[kind];
}
TOMBAC_HOST_FN uint64_t tombac_host_cut(int kind, uint64_t x)
{
    return x & (UINT64_MAX >> (64 - 8 * tombac_host_bytes(kind)));
}
TOMBAC_HOST_FN bool tombac_host_below(int kind, uint64_t x, uint64_t y)
{
    unsigned shift = 64 - 8 * tombac_host_bytes(kind);
    return kind % 2 == 0 ? (int64_t)(x << shift) < (int64_t)(y << shift) : x < y;
}
TOMBAC_HOST_FN float tombac_host_to_float(int kind, uint64_t bits)
{
    half h;
    float f;
    memcpy(&h, &bits, sizeof h); /* little endian, as all devices */
    memcpy(&f, &bits, sizeof f);
    return kind == TOMBAC_HOST_HALF ? (float)h : f;
}
TOMBAC_HOST_FN uint64_t tombac_host_from_float(int kind, float x)
{
    uint64_t bits = 0;
    half h = (half)x;
    if (kind == TOMBAC_HOST_HALF)
        memcpy(&bits, &h, sizeof h);
    else
        memcpy(&bits, &x, sizeof x);
    return bits;
}

/* A number rather than a NaN; of two zeros the one with the sign that is asked for. */
TOMBAC_HOST_FN float tombac_host_extreme(float a, float b, bool least)
{
    if (a != a) return b;
    if (b != b) return a;
    if (a == b) return (__builtin_signbit(a) != 0) == least ? a : b;
    return (a < b) == least ? a : b;
}

TOMBAC_HOST_FN uint64_t tombac_host_combine(tombac_host_code code, int kind, uint64_t x, uint64_t y)
{
    if (kind >= TOMBAC_HOST_HALF) {
        float a = tombac_host_to_float(kind, x), b = tombac_host_to_float(kind, y);
        float c = code == TOMBAC_HOST_SUM       ? a + b
                  : code == TOMBAC_HOST_PRODUCT ? a * b
                                                : tombac_host_extreme(a, b, code == TOMBAC_HOST_MIN);
        return tombac_host_from_float(kind, c);
    }
    switch (code) {
    case TOMBAC_HOST_SUM: return tombac_host_cut(kind, x + y);
    case TOMBAC_HOST_PRODUCT: return tombac_host_cut(kind, x * y);
    case TOMBAC_HOST_MIN: return tombac_host_below(kind, x, y) ? x : y;
    case TOMBAC_HOST_MAX: return tombac_host_below(kind, x, y) ? y : x;
    case TOMBAC_HOST_AND: return x & y;
    case TOMBAC_HOST_OR: return x | y;
    default: return x ^ y;
    }
}

/* What changes nothing. */
TOMBAC_HOST_FN uint64_t tombac_host_neutral(tombac_host_code code, int kind)
{
    uint64_t top = UINT64_C(1) << (8 * tombac_host_bytes(kind) - 1), all = tombac_host_cut(kind, UINT64_MAX);
    bool is_signed = kind % 2 == 0;
    if (kind >= TOMBAC_HOST_HALF)
        return tombac_host_from_float(kind, code == TOMBAC_HOST_SUM       ? -0.0f
                                            : code == TOMBAC_HOST_PRODUCT ? 1.0f
                                                                          : __builtin_nanf(""));
    switch (code) {
    case TOMBAC_HOST_PRODUCT: return 1;
    case TOMBAC_HOST_MIN: return is_signed ? top - 1 : all;
    case TOMBAC_HOST_MAX: return is_signed ? top : 0;
    case TOMBAC_HOST_AND: return all;
    default: return 0;
    }
}

/* ---- Reductions and prefixes over blocks of `width` lanes; inactive lanes hold the neutral value ---- */

TOMBAC_HOST_FN void tombac_host_reduce(tombac_host_code code, int kind, unsigned width, uint64_t x[32])
{
    uint64_t next[32];
    for (unsigned distance = width / 2; distance; distance /= 2) {
        for (unsigned i = 0; i < 32; i++) next[i] = tombac_host_combine(code, kind, x[i], x[i ^ distance]);
        memcpy(x, next, sizeof next);
    }
}

TOMBAC_HOST_FN void tombac_host_prefix(
    tombac_host_code code, int kind, unsigned width, bool inclusive, uint active, uint64_t x[32])
{
    uint64_t next[32];
    uint64_t one = kind >= TOMBAC_HOST_HALF ? tombac_host_from_float(kind, 1.0f) : 1;
    for (unsigned distance = 1; distance < width; distance *= 2) {
        for (unsigned i = 0; i < 32; i++)
            next[i] = i % width >= distance ? tombac_host_combine(code, kind, x[i - distance], x[i]) : x[i];
        memcpy(x, next, sizeof next);
    }
    for (unsigned i = 32; i-- > 0 && !inclusive;) {
        uint below = active >> (i - i % width) & ((1u << i % width) - 1);
        x[i] = below ? x[i - 1] : code == TOMBAC_HOST_SUM ? 0 : one;
    }
}

TOMBAC_HOST_FN void tombac_host_meet_to_combine(
    tombac_host_thread *lanes, uint active, const tombac_host_operation *o)
{
    bool prefix = o->code >= TOMBAC_HOST_PREFIX_INCLUSIVE_SUM;
    bool inclusive = o->code < TOMBAC_HOST_PREFIX_EXCLUSIVE_SUM;
    bool product =
        o->code == TOMBAC_HOST_PREFIX_INCLUSIVE_PRODUCT || o->code == TOMBAC_HOST_PREFIX_EXCLUSIVE_PRODUCT;
    tombac_host_code code = !prefix   ? (tombac_host_code)o->code
                            : product ? TOMBAC_HOST_PRODUCT
                                      : TOMBAC_HOST_SUM;
    unsigned bytes = tombac_host_bytes(o->kind);
    for (int e = 0; e < o->count; e++) {
        uint64_t x[32];
        for (unsigned i = 0; i < 32; i++) {
            x[i] = tombac_host_neutral(code, o->kind);
            if (!(active >> i & 1)) continue;
            x[i] = 0;
            memcpy(&x[i], lanes[i].operation.value + (unsigned)e * bytes, bytes);
        }
        if (prefix)
            tombac_host_prefix(code, o->kind, (unsigned)o->width, inclusive, active, x);
        else
            tombac_host_reduce(code, o->kind, (unsigned)o->width, x);
        for (unsigned i = 0; i < 32; i++)
            if (active >> i & 1) memcpy(lanes[i].operation.value + (unsigned)e * bytes, &x[i], bytes);
    }
}

/* ---- Moves ---- */

/* The lane that lane i takes its value from, or its own; *fill: from the other operand. */
TOMBAC_HOST_FN unsigned tombac_host_source(
    const tombac_host_operation *o, unsigned i, uint active, bool *fill)
{
    unsigned width = (unsigned)o->width, own = i % width, first = i - own, n = o->amount;
    unsigned modulo = o->modulo;
    *fill = false;
    switch (o->code) {
    case TOMBAC_HOST_SHUFFLE: return first + n % width;
    case TOMBAC_HOST_SHUFFLE_UP: return own < n ? i : i - n;
    case TOMBAC_HOST_SHUFFLE_DOWN: return own + n >= width ? i : i + n;
    case TOMBAC_HOST_SHUFFLE_XOR: return (own ^ n) >= width ? i : first + (own ^ n);
    case TOMBAC_HOST_SHUFFLE_ROTATE_UP: return first + (own + width - n % width) % width;
    case TOMBAC_HOST_SHUFFLE_ROTATE_DOWN: return first + (own + n) % width;
    case TOMBAC_HOST_FIRST: return first + (unsigned)__builtin_ctz(active >> first);
    default: break;
    }
    if (modulo < 2 || modulo > width || (modulo & (modulo - 1))) modulo = width;
    unsigned place = own % modulo;
    bool up = o->code == TOMBAC_HOST_FILL_UP;
    *fill = up ? place < n : place + n >= modulo;
    return i - place + (up ? place + modulo - n % modulo : place + n) % modulo;
}

TOMBAC_HOST_FN void tombac_host_meet_to_move(tombac_host_thread *lanes, uint active)
{
    unsigned char moved[32][32] = {{0}};
    for (unsigned i = 0; i < 32; i++) {
        if (!(active >> i & 1)) continue;
        bool fill;
        unsigned from = tombac_host_source(&lanes[i].operation, i, active, &fill);
        if (!(active >> from & 1)) continue; /* an inactive lane's value is 0 */
        const tombac_host_operation *o = &lanes[from].operation;
        memcpy(moved[i], fill ? o->filling : o->value, sizeof moved[i]);
    }
    for (unsigned i = 0; i < 32; i++)
        if (active >> i & 1) memcpy(lanes[i].operation.value, moved[i], sizeof moved[i]);
}

/* ---- Votes: the answer is 64 bits of `value` ---- */

TOMBAC_HOST_FN void tombac_host_meet_to_vote(
    tombac_host_thread *lanes, uint active, const tombac_host_operation *o)
{
    uint yes = 0, whole = o->width == 32 ? UINT32_MAX : (1u << o->width) - 1;
    for (unsigned i = 0; i < 32; i++)
        if (active >> i & 1 && lanes[i].operation.value[0]) yes |= 1u << i;
    for (unsigned i = 0; i < 32; i++) {
        if (!(active >> i & 1)) continue;
        unsigned first = i - i % (unsigned)o->width;
        uint members = active >> first & whole, voted = yes >> first & whole;
        uint64_t answer = o->code == TOMBAC_HOST_BALLOT   ? voted
                          : o->code == TOMBAC_HOST_ACTIVE ? members
                          : o->code == TOMBAC_HOST_ALL    ? voted == members
                          : o->code == TOMBAC_HOST_ANY    ? voted != 0
                                                          : (unsigned)__builtin_ctz(members) == i - first;
        memcpy(lanes[i].operation.value, &answer, sizeof answer);
    }
}

/* ---- Matrices: the elements of a, b, c that a lane holds are floats 0 to 5 of `value` ---- */

TOMBAC_HOST_FN unsigned tombac_host_row(unsigned lane)
{
    return (lane / 4 & 4) + lane / 2 % 4;
}
TOMBAC_HOST_FN unsigned tombac_host_column(unsigned lane)
{
    return (lane / 4 & 2) * 2 + lane % 2 * 2;
}

TOMBAC_HOST_FN void tombac_host_meet_to_multiply(tombac_host_thread *lanes, uint active)
{
    float m[3][8][8], own[6];
    if (active != UINT32_MAX)
        tombac_host_fail(lanes[__builtin_ctz(active)].site, "%s needs all 32 threads of the SIMD-group",
            lanes[__builtin_ctz(active)].site->what);
    for (unsigned i = 0; i < 32; i++) {
        memcpy(own, lanes[i].operation.value, sizeof own);
        for (unsigned k = 0; k < 6; k++) m[k / 2][tombac_host_row(i)][tombac_host_column(i) + k % 2] = own[k];
    }
    for (unsigned i = 0; i < 32; i++) {
        for (unsigned e = 0; e < 2; e++) {
            unsigned row = tombac_host_row(i), column = tombac_host_column(i) + e;
            own[e] = m[2][row][column];
            for (unsigned k = 0; k < 8; k++) own[e] = __builtin_fmaf(m[0][row][k], m[1][k][column], own[e]);
        }
        memcpy(lanes[i].operation.value, own, 2 * sizeof(float));
    }
}

/* The active lanes wait at one place: their results. */
TOMBAC_HOST_FN void tombac_host_meet(tombac_host_thread *lanes, uint count, uint active)
{
    const tombac_host_operation o = lanes[__builtin_ctz(active)].operation;
    (void)count;
    if (o.code <= TOMBAC_HOST_PREFIX_EXCLUSIVE_PRODUCT)
        tombac_host_meet_to_combine(lanes, active, &o);
    else if (o.code <= TOMBAC_HOST_FIRST)
        tombac_host_meet_to_move(lanes, active);
    else if (o.code <= TOMBAC_HOST_IS_FIRST)
        tombac_host_meet_to_vote(lanes, active, &o);
    else if (o.code == TOMBAC_HOST_MATRIX)
        tombac_host_meet_to_multiply(lanes, active);
}
#endif
