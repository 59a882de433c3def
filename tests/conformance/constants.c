/* Function constants by name and by index. */
#include "conformance.h"

#include <string.h>

enum { WORDS = 16 };

static cf_call call_of(const char *kernel, uint32_t threads, void *out, size_t size)
{
    cf_call call = {
        .file = "constants.metal", .kernel = kernel, .grid = {threads, 1, 1}, .group = {threads, 1, 1}};
    cf_buffer(&call, 0, out, size);
    return call;
}

static void add(cf_call *call, bool by_index, const char *name, uint32_t index, const void *data, size_t size)
{
    if (by_index)
        cf_constant_at(call, index, data, size);
    else
        cf_constant(call, name, data, size);
}

/* p: by index, negative values */
static void run_scalars(cf_test *t, const int *p)
{
    bool by = p[0], negative = p[1];
    uint8_t c_bool = !negative, c_uchar = 200;
    int8_t c_char = negative ? -128 : 127;
    int16_t c_short = negative ? -32768 : 32767;
    uint16_t c_ushort = 65535, c_half = negative ? 0xc100 : 0x3c00;
    int32_t c_int = negative ? INT32_MIN : INT32_MAX;
    uint32_t c_uint = 0xfedcba98, got[9] = {0};
    float c_float = negative ? -0.0f : 0.1f;
    const uint32_t expected[9] = {c_bool, (uint32_t)(int32_t)c_char, c_uchar, (uint32_t)(int32_t)c_short,
        c_ushort, (uint32_t)c_int, c_uint, cf_float_bits(c_float), c_half};
    cf_call call = call_of("scalars", 1, got, sizeof got);
    add(&call, by, "C_BOOL", 0, &c_bool, 1);
    add(&call, by, "C_CHAR", 1, &c_char, 1);
    add(&call, by, "C_UCHAR", 2, &c_uchar, 1);
    add(&call, by, "C_SHORT", 3, &c_short, 2);
    add(&call, by, "C_USHORT", 4, &c_ushort, 2);
    add(&call, by, "C_INT", 5, &c_int, 4);
    add(&call, by, "C_UINT", 6, &c_uint, 4);
    add(&call, by, "C_FLOAT", 7, &c_float, 4);
    add(&call, by, "C_HALF", 8, &c_half, 2);
    if (cf_run(t, &call))
        cf_equal(t, TOMBAC_TYPE_U32, expected, got, 9, "bool, char, uchar, short, ... half: constant");
}

static void run_vectors(cf_test *t, const int *p)
{
    bool by = p[0];
    const float f2[2] = {1.5f, -2.25f}, f4[4] = {1e-20f, 3e30f, -0.0f, 7};
    const int32_t i3[4] = {-1, 2, INT32_MIN, 0};
    const uint8_t u4[4] = {1, 128, 255, 0};
    const uint16_t h4[4] = {0x3c00, 0xbc00, 0x7bff, 0x0001}, s2[2] = {0xffff, 0x1234};
    uint32_t got[13] = {0}, expected[13];
    memcpy(expected, f2, 8);
    memcpy(expected + 2, i3, 12);
    memcpy(expected + 5, u4, 4);
    memcpy(expected + 6, h4, 8);
    memcpy(expected + 8, s2, 4);
    memcpy(expected + 9, f4, 16);
    cf_call call = call_of("vectors", 1, got, sizeof got);
    add(&call, by, "C_FLOAT2", 10, f2, sizeof f2);
    add(&call, by, "C_INT3", 11, i3, sizeof i3);
    add(&call, by, "C_UCHAR4", 12, u4, sizeof u4);
    add(&call, by, "C_HALF4", 13, h4, sizeof h4);
    add(&call, by, "C_USHORT2", 14, s2, sizeof s2);
    add(&call, by, "C_FLOAT4", 15, f4, sizeof f4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, 13, "vector constants: word");
}

/* p: value or 0 for undefined, flag or -1 for undefined */
static void run_defaults(cf_test *t, const int *p)
{
    int32_t value = p[0] ? p[0] : 7, got[9] = {0}, product = 1;
    bool flag = p[1] != 0;
    for (int i = 0; i < value; i++) product = (int32_t)((uint32_t)product * 3u + (uint32_t)i);
    const int32_t expected[9] = {value, flag, value * 2, flag && value * 2 > 20, value * 25, p[0] != 0,
        p[1] >= 0, product,
        value == 7    ? 70
        : value == 11 ? 110
                      : -1};
    cf_call call = call_of("defaults", 1, got, sizeof got);
    if (p[0]) cf_constant(&call, "OPTIONAL", &value, 4);
    if (p[1] >= 0) cf_constant(&call, "OPTIONAL_FLAG", &flag, 1);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_I32, expected, got, 9, "out");
}

/* p: value or 0 for undefined */
static void run_derived_classes(cf_test *t, const int *p)
{
    int32_t value = p[0] ? p[0] : 7;
    float v = (float)value, got[6] = {0};
    const float expected[6] = {v + 100 + 2000 * v, 2 * v + v / 2, v - 1 + 100 * (2 * v - 1), 2 * v + 500, v + 300, 202 * v};
    cf_call call = call_of("derived_classes", 1, got, sizeof got);
    if (p[0]) cf_constant(&call, "OPTIONAL", &value, 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, 6, "out");
}

/* p: bias, mode. Arguments that are absent are not bound. */
static void run_optional(cf_test *t, const int *p)
{
    float in[WORDS], bias[WORDS], expected[WORDS], got[WORDS] = {0}, scale = 3, replacement = 0.5f;
    bool has_bias = p[0];
    int32_t mode = p[1];
    for (int i = 0; i < WORDS; i++) {
        in[i] = (float)i;
        bias[i] = (float)(100 * i);
        float v = in[i] + (has_bias ? bias[i] : 0);
        if (mode == 2) v *= scale;
        expected[i] = has_bias ? v : v - replacement;
    }
    cf_call call = call_of("optional_arguments", WORDS, got, sizeof got);
    cf_constant(&call, "HAS_BIAS", &has_bias, 1);
    cf_constant(&call, "MODE", &mode, 4);
    cf_buffer(&call, 1, in, sizeof in);
    if (has_bias) cf_buffer(&call, 2, bias, sizeof bias);
    if (mode == 2) cf_bytes(&call, 3, &scale, 4);
    if (!has_bias) cf_bytes(&call, 4, &replacement, 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, WORDS, "out");
}

/* p: bias, mode. The argument exists where both hold; it is bound then. */
static void run_attribute_only(cf_test *t, const int *p)
{
    float expected[WORDS], got[WORDS] = {0}, extra[WORDS] = {0};
    bool has_bias = p[0];
    int32_t mode = p[1];
    for (int i = 0; i < WORDS; i++) expected[i] = has_bias ? (float)mode : -1;
    cf_call call = call_of("attribute_only", WORDS, got, sizeof got);
    cf_constant(&call, "HAS_BIAS", &has_bias, 1);
    cf_constant(&call, "MODE", &mode, 4);
    if (has_bias && mode == 2) cf_buffer(&call, 1, extra, sizeof extra);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, WORDS, "out");
}

static void run_choose(cf_test *t, const int *p)
{
    static const uint32_t values[3] = {1000 + 300 % 256, 2300, 4300};
    uint32_t expected[WORDS], got[WORDS] = {0};
    uint16_t kind = (uint16_t)p[0];
    for (int i = 0; i < WORDS; i++) expected[i] = values[kind];
    cf_call call = call_of("choose", WORDS, got, sizeof got);
    cf_constant(&call, "KIND", &kind, 2);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, WORDS, "out");
}

void cf_family_constants(cf_suite *suite)
{
    for (int by = 0; by < 2; by++) {
        const char *how = by ? "by-index" : "by-name";
        cf_add(suite, run_scalars, CF_P(by, 0), "constants.scalars.%s.positive", how);
        cf_add(suite, run_scalars, CF_P(by, 1), "constants.scalars.%s.negative", how);
        cf_add(suite, run_vectors, CF_P(by), "constants.vectors.%s", how);
    }
    cf_add(suite, run_defaults, CF_P(0, -1), "constants.defaults.none-set");
    cf_add(suite, run_defaults, CF_P(11, -1), "constants.defaults.value-set");
    cf_add(suite, run_defaults, CF_P(11, 0), "constants.defaults.both-set");
    cf_add(suite, run_defaults, CF_P(5, 1), "constants.defaults.small");
    cf_add(suite, run_derived_classes, CF_P(0), "constants.derived-classes.none-set");
    cf_add(suite, run_derived_classes, CF_P(12), "constants.derived-classes.value-set");
    for (int bias = 0; bias < 2; bias++)
        for (int mode = 1; mode < 3; mode++)
            cf_add(suite, run_optional, CF_P(bias, mode), "constants.optional-arguments.%s.%s",
                bias ? "bias" : "no-bias", mode == 2 ? "scale" : "no-scale");
    cf_add(suite, run_attribute_only, CF_P(1, 2), "constants.attribute-only.there");
    cf_add(suite, run_attribute_only, CF_P(0, 2), "constants.attribute-only.gone");
    for (int kind = 0; kind < 3; kind++) cf_add(suite, run_choose, CF_P(kind), "constants.choose.%d", kind);
}
