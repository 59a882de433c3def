/* Scalars and fills: rounding, ranges, text, the documented generator. Expected values are written out from
 * the formats' definitions or, for SplitMix64, from its published test vector. */
#include "tool/fill.h"
#include "tool/scalar.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t stored(tombac_type type, double value)
{
    uint64_t bytes = 0;
    assert_true(tool_scalar_store(type, tool_number_from_real(value), &bytes));
    return bytes;
}

static void test_names(void **state)
{
    assert_int_equal(tool_type_from_name("f32", 3), TOMBAC_TYPE_F32);
    assert_int_equal(tool_type_from_name("bf16", 4), TOMBAC_TYPE_BF16);
    assert_int_equal(tool_type_from_name("f3", 2), TOMBAC_TYPE_OTHER);
    assert_int_equal(tool_type_from_name("f321", 4), TOMBAC_TYPE_OTHER);
    assert_int_equal(tool_type_size(TOMBAC_TYPE_I64), 8);
    assert_int_equal(tool_type_size(TOMBAC_TYPE_OTHER), 0);
    assert_string_equal(tool_type_name(TOMBAC_TYPE_U16), "u16");
}

static void test_half_and_brain_rounding(void **state)
{
    assert_int_equal(stored(TOMBAC_TYPE_F16, 1.0), 0x3c00);
    assert_int_equal(stored(TOMBAC_TYPE_F16, 65504.0), 0x7bff);
    assert_int_equal(stored(TOMBAC_TYPE_F16, 65519.0), 0x7bff);
    assert_int_equal(stored(TOMBAC_TYPE_F16, 65520.0), 0x7c00); /* halfway to 65536: to even, infinity */
    assert_int_equal(stored(TOMBAC_TYPE_F16, 1.0 + 0x1p-11), 0x3c00); /* a tie goes to the even neighbour */
    assert_int_equal(
        stored(TOMBAC_TYPE_F16, 1.0 + 0x1p-11 + 0x1p-40), 0x3c01); /* wrong if rounded to float first */
    assert_int_equal(stored(TOMBAC_TYPE_F16, 0x1p-24), 0x0001);
    assert_int_equal(stored(TOMBAC_TYPE_BF16, 1.0), 0x3f80);
    assert_int_equal(stored(TOMBAC_TYPE_BF16, -2.5), 0xc020);
    assert_int_equal(stored(TOMBAC_TYPE_BF16, 1.0 + 0x1p-8), 0x3f80);
    assert_int_equal(
        stored(TOMBAC_TYPE_BF16, 1.0 + 0x1p-8 + 0x1p-50), 0x3f81); /* wrong if rounded to float first */
    assert_int_equal(stored(TOMBAC_TYPE_BF16, 1.0 + 3 * 0x1p-8), 0x3f82);
    assert_int_equal(stored(TOMBAC_TYPE_BF16, 1e300), 0x7f80);
    assert_int_equal(stored(TOMBAC_TYPE_BF16, -INFINITY), 0xff80);
    uint16_t nan = (uint16_t)stored(TOMBAC_TYPE_BF16, NAN);
    assert_true((nan & 0x7f80) == 0x7f80 && (nan & 0x7f));
}

static void test_integer_ranges(void **state)
{
    static const struct {
        tombac_type type;
        double value;
        bool fits;
    } cases[] = {{TOMBAC_TYPE_I8, 127, true}, {TOMBAC_TYPE_I8, 128, false}, {TOMBAC_TYPE_I8, -128, true},
        {TOMBAC_TYPE_I8, -129, false}, {TOMBAC_TYPE_U8, 255, true}, {TOMBAC_TYPE_U8, 256, false},
        {TOMBAC_TYPE_U8, -1, false}, {TOMBAC_TYPE_I32, 0.5, false}, {TOMBAC_TYPE_I32, -2147483648.0, true},
        {TOMBAC_TYPE_I64, 0x1p63, false}, {TOMBAC_TYPE_I64, -0x1p63, true}, {TOMBAC_TYPE_U64, 0x1p64, false},
        {TOMBAC_TYPE_BOOL, 1, true}, {TOMBAC_TYPE_BOOL, 2, false}, {TOMBAC_TYPE_I32, NAN, false},
        {TOMBAC_TYPE_U32, INFINITY, false}, {TOMBAC_TYPE_U32, -0.0, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bytes = 0;
        assert_int_equal(
            tool_scalar_store(cases[i].type, tool_number_from_real(cases[i].value), &bytes), cases[i].fits);
    }
    assert_int_equal(stored(TOMBAC_TYPE_I8, -128), 0x80);
    assert_int_equal(stored(TOMBAC_TYPE_I64, -0x1p63), 0x8000000000000000u);
}

static void round_trip(tombac_type type, const char *text, const char *expected)
{
    tool_number number;
    uint64_t bytes = 0;
    char shown[TOOL_SCALAR_TEXT];
    assert_true(tool_number_parse(text, strlen(text), &number));
    assert_true(tool_scalar_store(type, number, &bytes));
    assert_string_equal(tool_scalar_format(type, &bytes, shown), expected);
}

static void test_text(void **state)
{
    round_trip(TOMBAC_TYPE_F32, "0.1", "0.1");
    round_trip(TOMBAC_TYPE_F32, "100", "100");
    round_trip(TOMBAC_TYPE_F32, "16777217", "16777216");
    round_trip(TOMBAC_TYPE_F32, "-0", "-0");
    round_trip(TOMBAC_TYPE_F32, "1e-45", "1e-45");
    round_trip(TOMBAC_TYPE_F32, "3.4028235e38", "3.4028235e+38");
    round_trip(TOMBAC_TYPE_F32, "-inf", "-inf");
    round_trip(TOMBAC_TYPE_F16, "0.1", "0.1");
    round_trip(TOMBAC_TYPE_BF16, "3.14159", "3.14");
    round_trip(TOMBAC_TYPE_U64, "18446744073709551615", "18446744073709551615");
    round_trip(TOMBAC_TYPE_I64, "-9223372036854775808", "-9223372036854775808");
    round_trip(TOMBAC_TYPE_I32, "0x7fffffff", "2147483647");
    round_trip(TOMBAC_TYPE_I32, "010", "10");
    round_trip(TOMBAC_TYPE_I32, "1e3", "1000");
    round_trip(TOMBAC_TYPE_BOOL, "true", "true");
    static const char *const bad[] = {"", "x", "1x", "0x", "1,5", " 1", "--1", "1e", "nanx"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tool_number number;
        assert_false(tool_number_parse(bad[i], strlen(bad[i]), &number));
    }
}

static void test_generator(void **state)
{
    /* seed 1234567, as published with the generator's reference code */
    static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
        4593380528125082431u, 16408922859458223821u};
    uint64_t seed = 1234567;
    for (size_t i = 0; i < 5; i++) assert_true(tool_random_next(&seed) == expected[i]);
}

static tool_array filled(
    tombac_type type, size_t count, tool_fill_kind kind, size_t parameters, double a, double b, double c)
{
    tool_array array = {.type = type, .vector_length = 1, .dimension_count = 1, .shape = {count}};
    tool_fill fill = {.what = "x",
        .kind = kind,
        .parameter_count = parameters,
        .parameters = {tool_number_from_int((int64_t)a), tool_number_from_real(b), tool_number_from_real(c)}};
    assert_int_equal(tool_array_allocate(&array, NULL), TOMBAC_OK);
    assert_int_equal(tool_fill_array(&fill, &array, NULL), TOMBAC_OK);
    return array;
}

static void test_random_values(void **state)
{
    static const uint64_t outputs[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u};
    tool_array floats = filled(TOMBAC_TYPE_F32, 3, TOOL_FILL_RANDOM, 1, 1234567, 0, 0);
    tool_array ints = filled(TOMBAC_TYPE_U16, 3, TOOL_FILL_RANDOM, 1, 1234567, 0, 0);
    for (size_t i = 0; i < 3; i++) {
        float f;
        uint16_t u;
        memcpy(&f, tool_array_at(&floats, i), sizeof f);
        memcpy(&u, tool_array_at(&ints, i), sizeof u);
        assert_true(f == (float)(outputs[i] >> 40) / 16777216.0f);
        assert_int_equal(u, outputs[i] >> 48);
    }
    tool_array ranged = filled(TOMBAC_TYPE_I32, 1000, TOOL_FILL_RANDOM, 3, 7, -3, 4);
    unsigned seen[8] = {0};
    for (size_t i = 0; i < 1000; i++) {
        int32_t v;
        memcpy(&v, tool_array_at(&ranged, i), sizeof v);
        assert_in_range(v + 3, 0, 7);
        seen[v + 3]++;
    }
    for (size_t i = 0; i < 8; i++) assert_in_range(seen[i], 80, 170);
    tool_array_free(&floats);
    tool_array_free(&ints);
    tool_array_free(&ranged);
}

static void test_iota_that_does_not_fit(void **state)
{
    tool_array array = {.type = TOMBAC_TYPE_U8, .vector_length = 1, .dimension_count = 1, .shape = {300}};
    tool_fill fill = {.what = "argument 'a'", .kind = TOOL_FILL_IOTA};
    tombac_error *error = NULL;
    assert_int_equal(tool_array_allocate(&array, NULL), TOMBAC_OK);
    assert_int_equal(tool_fill_array(&fill, &array, &error), TOMBAC_ERROR_ARGUMENT);
    assert_string_equal(
        tombac_error_message(error), "argument 'a': the value of element 256 does not fit into u8");
    tombac_error_release(error);
    tool_array_free(&array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names),
        cmocka_unit_test(test_half_and_brain_rounding), cmocka_unit_test(test_integer_ranges),
        cmocka_unit_test(test_text), cmocka_unit_test(test_generator), cmocka_unit_test(test_random_values),
        cmocka_unit_test(test_iota_that_does_not_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
