/* Collective operations; see operations.h. Floats are combined as the document fixes it: reductions by the
 * xor tree from the widest distance to 1, prefixes by doubling distances, min and max ignoring NaN. */
#include "runtime/driver/check/operations.h"

#include <math.h>
#include <string.h>

typedef _Float16 half;

/* ---- Values ---- */

static unsigned bits_of(uint8_t type)
{
    static const uint8_t bits[] = {64, 8, 16, 32, 64, 8, 16, 32, 64, 16, 32};
    return bits[type];
}

static bool is_float(uint8_t type)
{
    return type == TB_CHECK_f16 || type == TB_CHECK_f32;
}
static bool is_signed(uint8_t type)
{
    return type >= TB_CHECK_s8 && type <= TB_CHECK_s64;
}

static uint64_t truncated(uint8_t type, uint64_t value)
{
    unsigned bits = bits_of(type);
    return bits == 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static int64_t sign_extended(uint8_t type, uint64_t value)
{
    unsigned shift = 64 - bits_of(type);
    return (int64_t)(value << shift) >> shift;
}

/* A half is exact in float; results are rounded back at every step. */
static float to_float(uint8_t type, uint64_t bits)
{
    if (type == TB_CHECK_f32) {
        uint32_t word = (uint32_t)bits;
        float value;
        memcpy(&value, &word, sizeof value);
        return value;
    }
    uint16_t word = (uint16_t)bits;
    half value;
    memcpy(&value, &word, sizeof value);
    return (float)value;
}

static uint64_t from_float(uint8_t type, float value)
{
    if (type == TB_CHECK_f32) {
        uint32_t word;
        memcpy(&word, &value, sizeof word);
        return word;
    }
    half narrow = (half)value;
    uint16_t word;
    memcpy(&word, &narrow, sizeof word);
    return word;
}

/* ---- Two operands ---- */

typedef enum combination { SUM, PRODUCT, MIN, MAX, AND, OR, XOR } combination;

/* The smaller one, a number rather than a NaN, -0 rather than 0. */
static float smaller(float a, float b)
{
    if (isnan(a)) return b;
    if (isnan(b)) return a;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static float larger(float a, float b)
{
    if (isnan(a)) return b;
    if (isnan(b)) return a;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

static uint64_t combine_floats(combination c, uint8_t type, uint64_t x, uint64_t y)
{
    float a = to_float(type, x), b = to_float(type, y);
    switch (c) {
    case SUM: return from_float(type, a + b);
    case PRODUCT: return from_float(type, a * b);
    case MIN: return from_float(type, smaller(a, b));
    default: return from_float(type, larger(a, b));
    }
}

static uint64_t combine(combination c, uint8_t type, uint64_t x, uint64_t y)
{
    if (is_float(type)) return combine_floats(c, type, x, y);
    bool less = is_signed(type) ? sign_extended(type, x) < sign_extended(type, y) : x < y;
    switch (c) {
    case SUM: return truncated(type, x + y);
    case PRODUCT: return truncated(type, x * y);
    case MIN: return less ? x : y;
    case MAX: return less ? y : x;
    case AND: return x & y;
    case OR: return x | y;
    default: return x ^ y;
    }
}

/* The value that changes nothing. For float min and max that is NaN. */
static uint64_t neutral(combination c, uint8_t type)
{
    unsigned bits = bits_of(type);
    uint64_t top = UINT64_C(1) << (bits - 1);
    if (is_float(type)) {
        return c == SUM       ? from_float(type, -0.0f)
               : c == PRODUCT ? from_float(type, 1.0f)
                              : from_float(type, NAN);
    }
    switch (c) {
    case PRODUCT: return 1;
    case MIN: return is_signed(type) ? top - 1 : truncated(type, UINT64_MAX);
    case MAX: return is_signed(type) ? top : 0;
    case AND: return truncated(type, UINT64_MAX);
    default: return 0;
    }
}

/* ---- Reductions and prefixes ---- */

static void fill_lanes(
    combination c, const tb_check_site *s, uint32_t active, const uint64_t (*operands)[4], uint64_t lanes[32])
{
    for (unsigned i = 0; i < 32; i++) lanes[i] = active >> i & 1 ? operands[i][0] : neutral(c, s->type);
}

static void reduce(
    combination c, const tb_check_site *s, uint32_t active, const uint64_t (*operands)[4], uint64_t *results)
{
    uint64_t lanes[32], next[32];
    fill_lanes(c, s, active, operands, lanes);
    for (unsigned distance = s->width / 2u; distance; distance /= 2) {
        for (unsigned i = 0; i < 32; i++) next[i] = combine(c, s->type, lanes[i], lanes[i ^ distance]);
        memcpy(lanes, next, sizeof lanes);
    }
    memcpy(results, lanes, sizeof lanes);
}

/* Where no lane comes before, an exclusive prefix is Metal's identity: 0 or 1. */
static void prefix(combination c, bool inclusive, const tb_check_site *s, uint32_t active,
    const uint64_t (*operands)[4], uint64_t *results)
{
    uint64_t lanes[32], next[32];
    uint64_t identity = is_float(s->type) ? from_float(s->type, c == SUM ? 0.0f : 1.0f) : c == SUM ? 0 : 1;
    fill_lanes(c, s, active, operands, lanes);
    for (unsigned distance = 1; distance < s->width; distance *= 2) {
        for (unsigned i = 0; i < 32; i++) {
            bool inside = i % s->width >= distance;
            next[i] = inside ? combine(c, s->type, lanes[i - distance], lanes[i]) : lanes[i];
        }
        memcpy(lanes, next, sizeof lanes);
    }
    for (unsigned i = 0; i < 32; i++) {
        unsigned block = i - i % s->width;
        uint32_t below = active >> block & ((UINT32_C(1) << (i - block)) - 1);
        results[i] = inclusive ? lanes[i] : below ? lanes[i - 1] : identity;
    }
}

/* ---- Data movement ---- */

/* x of lane `position` of the block that `lane` is in; 0 where that lane takes no part. */
static uint64_t value_at(const tb_check_site *s, uint32_t active, const uint64_t (*operands)[4],
    unsigned lane, unsigned position, int operand)
{
    unsigned source = lane - lane % s->width + position % s->width;
    return active >> source & 1 ? operands[source][operand] : 0;
}

static uint64_t shuffled(
    const tb_check_site *s, uint32_t active, const uint64_t (*operands)[4], unsigned lane, unsigned amount)
{
    unsigned width = s->width, own = lane % width;
    int64_t source;
    switch (s->operation) {
    case TB_CHECK_shuffle_up: source = (int64_t)own - amount; break;
    case TB_CHECK_shuffle_down: source = (int64_t)own + amount; break;
    case TB_CHECK_shuffle_xor: source = own ^ amount; break;
    case TB_CHECK_shuffle_rotate_up: source = (own + width - amount % width) % width; break;
    case TB_CHECK_shuffle_rotate_down: source = (own + amount) % width; break;
    default: source = amount % width; break; /* broadcast, shuffle */
    }
    if (source < 0 || source >= width) return operands[lane][0];
    return value_at(s, active, operands, lane, (unsigned)source, 0);
}

/* Operands: x, fill, delta, modulo. The lanes that a shift leaves without a source take `fill` of the lane
 * that it would wrap round to. */
static uint64_t shuffled_and_filled(
    const tb_check_site *s, uint32_t active, const uint64_t (*operands)[4], unsigned lane, bool up)
{
    unsigned width = s->width, delta = (unsigned)operands[lane][2], modulo = (unsigned)operands[lane][3];
    if (modulo < 2 || modulo > width || modulo & (modulo - 1)) modulo = width;
    unsigned own = lane % width, block = own - own % modulo, place = own % modulo;
    bool wraps = up ? place < delta : place + delta >= modulo;
    unsigned shifted = (up ? place + modulo - delta % modulo : place + delta) % modulo;
    return value_at(s, active, operands, lane, block + shifted, wraps);
}

/* ---- Votes ---- */

static uint64_t vote(const tb_check_site *s, uint32_t active, const uint64_t (*operands)[4], unsigned lane)
{
    unsigned block = lane - lane % s->width;
    uint32_t whole = s->width == 32 ? UINT32_MAX : (UINT32_C(1) << s->width) - 1;
    uint32_t members = active >> block & whole, voted = 0;
    for (unsigned i = 0; i < s->width; i++) {
        if (members >> i & 1 && operands[block + i][0] & 1) voted |= UINT32_C(1) << i;
    }
    switch (s->operation) {
    case TB_CHECK_ballot: return voted;
    case TB_CHECK_active_threads_mask: return members;
    case TB_CHECK_all: return voted == members;
    case TB_CHECK_any: return voted != 0;
    case TB_CHECK_is_first: return (unsigned)__builtin_ctz(members) == lane - block;
    default: return operands[block + (unsigned)__builtin_ctz(members)][0]; /* broadcast_first */
    }
}

/* ---- Matrices ---- */

static unsigned row_of(unsigned lane)
{
    return (lane / 4 & 4) + lane / 2 % 4;
}
static unsigned column_of(unsigned lane)
{
    return (lane / 4 & 2) * 2 + lane % 2 * 2;
}

static bool multiply(uint32_t active, const uint64_t (*operands)[4], uint64_t *results)
{
    if (active != UINT32_MAX) return false;
    float m[3][8][8];
    for (unsigned i = 0; i < 32; i++) {
        for (int k = 0; k < 3; k++) {
            m[k][row_of(i)][column_of(i)] = to_float(TB_CHECK_f32, operands[i][k] & UINT32_MAX);
            m[k][row_of(i)][column_of(i) + 1] = to_float(TB_CHECK_f32, operands[i][k] >> 32);
        }
    }
    for (unsigned i = 0; i < 32; i++) {
        results[i] = 0;
        for (unsigned e = 0; e < 2; e++) {
            unsigned row = row_of(i), column = column_of(i) + e;
            float sum = m[2][row][column];
            for (unsigned k = 0; k < 8; k++) sum = fmaf(m[0][row][k], m[1][k][column], sum);
            results[i] |= from_float(TB_CHECK_f32, sum) << 32 * e;
        }
    }
    return true;
}

/* ---- All ---- */

bool check_collective(
    const tb_check_site *s, uint32_t active, const uint64_t (*operands)[4], uint64_t *results)
{
    switch (s->operation) {
    case TB_CHECK_sum: reduce(SUM, s, active, operands, results); return true;
    case TB_CHECK_product: reduce(PRODUCT, s, active, operands, results); return true;
    case TB_CHECK_min: reduce(MIN, s, active, operands, results); return true;
    case TB_CHECK_max: reduce(MAX, s, active, operands, results); return true;
    case TB_CHECK_and: reduce(AND, s, active, operands, results); return true;
    case TB_CHECK_or: reduce(OR, s, active, operands, results); return true;
    case TB_CHECK_xor: reduce(XOR, s, active, operands, results); return true;
    case TB_CHECK_prefix_inclusive_sum: prefix(SUM, true, s, active, operands, results); return true;
    case TB_CHECK_prefix_exclusive_sum: prefix(SUM, false, s, active, operands, results); return true;
    case TB_CHECK_prefix_inclusive_product: prefix(PRODUCT, true, s, active, operands, results); return true;
    case TB_CHECK_prefix_exclusive_product: prefix(PRODUCT, false, s, active, operands, results); return true;
    case TB_CHECK_MATRIX_MULTIPLY: return multiply(active, operands, results);
    default: break;
    }
    for (unsigned lane = 0; lane < 32; lane++) {
        if (!(active >> lane & 1)) continue;
        switch (s->operation) {
        case TB_CHECK_broadcast:
        case TB_CHECK_shuffle:
        case TB_CHECK_shuffle_up:
        case TB_CHECK_shuffle_down:
        case TB_CHECK_shuffle_xor:
        case TB_CHECK_shuffle_rotate_up:
        case TB_CHECK_shuffle_rotate_down:
            results[lane] = shuffled(s, active, operands, lane, (uint16_t)operands[lane][1]);
            break;
        case TB_CHECK_shuffle_and_fill_up:
        case TB_CHECK_shuffle_and_fill_down:
            results[lane] =
                shuffled_and_filled(s, active, operands, lane, s->operation == TB_CHECK_shuffle_and_fill_up);
            break;
        case TB_CHECK_SIMDGROUP_BARRIER:
        case TB_CHECK_THREADGROUP_BARRIER:
        case TB_CHECK_CONVERGE: results[lane] = 0; break;
        default: results[lane] = vote(s, active, operands, lane); break;
        }
    }
    return true;
}
