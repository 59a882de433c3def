/* Arrays filled by rule; see fill.h. */
#include "tool/fill.h"

#include <math.h>
#include <string.h>

bool tool_fill_kind_from_name(const char *name, size_t length, tool_fill_kind *kind)
{
    static const char *const names[] = {"zeros", "iota", "fill", "rand"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) != length || memcmp(names[i], name, length) != 0) continue;
        *kind = (tool_fill_kind)i;
        return true;
    }
    return false;
}

uint64_t tool_random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Parameters that are both integers are added and multiplied as such, so that 64-bit integers stay exact. */
static tool_number start_plus_steps(tool_number start, tool_number step, size_t index)
{
    if (start.is_float || step.is_float)
        return tool_number_from_real(tool_number_real(start) + (double)index * tool_number_real(step));
    __int128 value = step.negative ? -(__int128)step.magnitude : (__int128)step.magnitude;
    if (__builtin_mul_overflow(value, (__int128)index, &value)) return tool_number_from_real(INFINITY);
    __int128 from = start.negative ? -(__int128)start.magnitude : (__int128)start.magnitude;
    if (__builtin_add_overflow(value, from, &value)) return tool_number_from_real(INFINITY);
    unsigned __int128 size = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
    if (size >> 64) return tool_number_from_real(INFINITY); /* no integer type holds it */
    return (tool_number){.negative = value < 0, .magnitude = (uint64_t)size};
}

/* ---- rand ---- */

typedef struct random_range {
    bool given;
    double low, high; /* floats */
    tool_number from; /* integers */
    uint64_t span;    /* high - low + 1; 0 stands for 2^64 */
} random_range;

static tombac_status read_range(
    const tool_fill *fill, tombac_type type, random_range *range, tombac_error **error)
{
    *range = (random_range){0};
    if (fill->parameter_count < 3) return TOMBAC_OK;
    tool_number low = fill->parameters[1], high = fill->parameters[2];
    range->given = true;
    range->low = tool_number_real(low);
    range->high = tool_number_real(high);
    if (!(range->low <= range->high) || isinf(range->low) || isinf(range->high))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s: rand(SEED,LOW,HIGH) needs LOW <= HIGH", fill->what);
    if (tool_type_is_float(type)) return TOMBAC_OK;
    unsigned char ignored[8];
    if (!tool_scalar_store(type, low, ignored) || !tool_scalar_store(type, high, ignored)) {
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s: LOW and HIGH of rand must be of type %s",
            fill->what, tool_type_name(type));
    }
    if (low.is_float) low = (tool_number){.negative = low.real < 0, .magnitude = (uint64_t)fabs(low.real)};
    if (high.is_float)
        high = (tool_number){.negative = high.real < 0, .magnitude = (uint64_t)fabs(high.real)};
    uint64_t from = low.negative ? 0 - low.magnitude : low.magnitude;
    uint64_t to = high.negative ? 0 - high.magnitude : high.magnitude;
    range->from = low;
    range->span = to - from + 1;
    return TOMBAC_OK;
}

static tool_number random_float(unsigned significand, const random_range *range, uint64_t bits)
{
    double fraction = ldexp((double)(bits >> (64 - significand)), -(int)significand);
    return tool_number_from_real(
        range->given ? range->low + fraction * (range->high - range->low) : fraction);
}

static tombac_status fill_random(const tool_fill *fill, tool_array *array, tombac_error **error)
{
    unsigned significand = tool_type_significand(array->type);
    size_t count = tool_array_scalar_count(array), size = tool_type_size(array->type);
    tool_number seed = fill->parameters[0];
    random_range range;
    if (fill->parameter_count == 2)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s: rand takes (SEED) or (SEED,LOW,HIGH)", fill->what);
    if (fill->parameter_count && (seed.is_float || seed.negative))
        return tb_fail(
            error, TOMBAC_ERROR_ARGUMENT, "%s: the seed of rand is not an integer from 0 on", fill->what);
    tombac_status status = read_range(fill, array->type, &range, error);
    uint64_t state = fill->parameter_count ? seed.magnitude : 0;
    for (size_t i = 0; i < count && status == TOMBAC_OK; i++) {
        uint64_t bits = tool_random_next(&state);
        unsigned char *to = array->data + i * size;
        if (significand) {
            tool_scalar_store(array->type, random_float(significand, &range, bits), to);
        } else if (range.given) {
            size_t offset = range.span ? (size_t)((unsigned __int128)bits * range.span >> 64) : bits;
            tool_scalar_store(array->type, start_plus_steps(range.from, tool_number_from_int(1), offset), to);
        } else {
            bits >>= array->type == TOMBAC_TYPE_BOOL ? 63 : 64 - 8 * size;
            memcpy(to, &bits, size);
        }
    }
    return status;
}

/* ---- The others ---- */

tombac_status tool_fill_array(const tool_fill *fill, tool_array *array, tombac_error **error)
{
    static const size_t most[] = {0, 2, 1, 3};
    tool_number first = tool_number_from_int(0), step = tool_number_from_int(fill->kind == TOOL_FILL_IOTA);
    size_t count = tool_array_scalar_count(array), size = tool_type_size(array->type);
    if (fill->parameter_count > most[fill->kind] ||
        (fill->kind == TOOL_FILL_VALUE && fill->parameter_count != 1))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s: wrong number of parameters in (...)", fill->what);
    if (fill->kind == TOOL_FILL_ZEROS) return TOMBAC_OK;
    if (fill->kind == TOOL_FILL_RANDOM) return fill_random(fill, array, error);
    if (fill->parameter_count > 0) first = fill->parameters[0];
    if (fill->parameter_count > 1) step = fill->parameters[1];
    for (size_t i = 0; i < count; i++) {
        tool_number value = fill->kind == TOOL_FILL_IOTA ? start_plus_steps(first, step, i) : first;
        if (tool_scalar_store(array->type, value, array->data + i * size)) continue;
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s: the value of element %zu does not fit into %s",
            fill->what, i, tool_type_name(array->type));
    }
    return TOMBAC_OK;
}
