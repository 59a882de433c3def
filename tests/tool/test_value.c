/* The value notation and struct literals, against bytes laid out by the C compiler. */
#include "tool/compare.h"
#include "tool/structure.h"
#include "tool/suggest.h"
#include "tool/value.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const tool_slot float_slot = {.what = "argument 'a'",
    .type_name = "float",
    .type = TOMBAC_TYPE_F32,
    .vector_length = 1,
    .element_size = 4};

static tool_array parse(const tool_slot *slot, const char *text)
{
    tool_array array;
    tombac_error *error = NULL;
    if (tool_value_parse(slot, text, &array, &error) != TOMBAC_OK)
        fail_msg("%s", tombac_error_message(error));
    return array;
}

static void expect_failure(const tool_slot *slot, const char *text, const char *message)
{
    tool_array array;
    tombac_error *error = NULL;
    if (tool_value_parse(slot, text, &array, &error) == TOMBAC_OK) fail_msg("'%s' is accepted", text);
    if (!strstr(tombac_error_message(error), message))
        fail_msg("'%s': '%s' does not contain '%s'", text, tombac_error_message(error), message);
    tombac_error_release(error);
}

static void test_arrays(void **state)
{
    static const int expected[] = {5, 3, 1, -1};
    tool_array a = parse(&float_slot, "i32[2x2]:iota(5,-2)");
    assert_int_equal(a.type, TOMBAC_TYPE_I32);
    assert_int_equal(a.dimension_count, 2);
    assert_memory_equal(a.data, expected, sizeof expected);
    tool_array_free(&a);

    static const float list[] = {1, -2.5f, 0x1p-3f, 4e10f};
    const char *const same[] = {"{1,-2.5,0x1p-3,4e10}", "f32[4]:{1, -2.5, 0.125, 4e10}",
        "f32:{1,-2.5,.125,4e10}", "[2x2]:{{1,-2.5},{0.125,4e10}}"};
    for (size_t i = 0; i < 4; i++) {
        a = parse(&float_slot, same[i]);
        assert_int_equal(a.size, sizeof list);
        assert_memory_equal(a.data, list, sizeof list);
        tool_array_free(&a);
    }

    static const uint16_t halves[] = {0x4100, 0x4100, 0x4100, 0x4100, 0x4100, 0x4100};
    a = parse(&float_slot, "f16x3[2]:fill(2.5)");
    assert_int_equal(a.vector_length, 3);
    assert_memory_equal(a.data, halves, sizeof halves);
    tool_array_free(&a);

    a = parse(&float_slot, "f32[0]");
    assert_int_equal(a.count, 0);
    tool_array_free(&a);
}

static void test_scalars(void **state)
{
    uint32_t seventeen = 17;
    float half = 0.5f;
    tool_array a = parse(&float_slot, "u32:17");
    assert_memory_equal(a.data, &seventeen, 4);
    assert_int_equal(a.dimension_count, 0);
    tool_array_free(&a);
    a = parse(&float_slot, "0.5");
    assert_memory_equal(a.data, &half, 4);
    tool_array_free(&a);
}

static void test_wrong_values(void **state)
{
    tool_slot vector = float_slot, structure = float_slot;
    vector.vector_length = 4;
    structure.type = TOMBAC_TYPE_OTHER;
    structure.type_name = "args_t";
    expect_failure(&float_slot, "", "no value");
    expect_failure(&float_slot, "hello", "'hello' is not a number");
    expect_failure(&float_slot, "f32", "[SHAPE]");
    expect_failure(&float_slot, "f32[", "a size is expected");
    expect_failure(&float_slot, "f32[3", "']'");
    expect_failure(&float_slot, "f32[3]:iotta", "iota, fill(V)");
    expect_failure(&float_slot, "f32[3]:fill", "number of parameters");
    expect_failure(&float_slot, "f32[3]:rand(1,2)", "(SEED,LOW,HIGH)");
    expect_failure(&float_slot, "f32[3]:rand(1,2,1)", "LOW <= HIGH");
    expect_failure(&float_slot, "u8[3]:rand(1,0,256)", "of type u8");
    expect_failure(&float_slot, "f32[3]:{1,2}", "has 3 numbers and the list 2");
    expect_failure(&float_slot, "f32[2]:{1,2} x", "behind the value");
    expect_failure(&float_slot, "f32[2]:{1;2}", "',' or '}'");
    expect_failure(&float_slot, "f32[2]:{1,2", "',' or '}'");
    expect_failure(&float_slot, "i8:300", "does not fit into i8");
    expect_failure(&float_slot, "i32:1.5", "does not fit into i32");
    expect_failure(&float_slot, "f32x5[3]", "not a number");
    expect_failure(&float_slot, "f32[99999999999x99999999999]", "more elements");
    expect_failure(&float_slot, "f32[4611686018427387904]", "more bytes");
    expect_failure(&float_slot, "@no/such/file.npy", "cannot read 'no/such/file.npy'");
    expect_failure(&float_slot, "@", "a file's name");
    expect_failure(&vector, "1", "4 components");
    expect_failure(&vector, "{1,2,3}", "last vector");
    expect_failure(&structure, "1", "args_t");
}

/* ---- Structs ---- */

typedef struct inner {
    int16_t x;
    double ignored_alignment; /* Metal has none; here it makes the padding big */
} inner;

typedef struct outer {
    uint8_t flag;
    uint64_t big;
    float v[4]; /* a float4 */
    int32_t ne[3];
    inner parts[2];
    _Float16 h;
} outer;

static json_t *layout(void)
{
    json_t *members = json_pack("[{s:s,s:i,s:i,s:s,s:s,s:i,s:i}]", "name", "x", "offset",
        (int)offsetof(inner, x), "size", 2, "type", "short", "scalar", "i16", "vector_length", 1, "count", 1);
    json_t *outer_members = json_array();
    const struct {
        const char *name, *scalar;
        size_t offset, size;
        int vector_length, count;
    } plain[] = {{"flag", "bool", offsetof(outer, flag), 1, 1, 1},
        {"big", "u64", offsetof(outer, big), 8, 1, 1}, {"v", "f32", offsetof(outer, v), 16, 4, 1},
        {"ne", "i32", offsetof(outer, ne), 12, 1, 3},
        {"parts", "", offsetof(outer, parts), sizeof(inner) * 2, 0, 2},
        {"h", "f16", offsetof(outer, h), 2, 1, 1}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        json_t *member = json_pack("{s:s,s:i,s:i,s:s,s:s,s:i,s:i}", "name", plain[i].name, "offset",
            (int)plain[i].offset, "size", (int)plain[i].size, "type", plain[i].scalar, "scalar",
            plain[i].scalar, "vector_length", plain[i].vector_length, "count", plain[i].count);
        if (!*plain[i].scalar) json_object_set(member, "members", members);
        json_array_append_new(outer_members, member);
    }
    json_decref(members);
    return outer_members;
}

static void test_structs(void **state)
{
    json_t *members = layout();
    tool_slot slot = {
        .what = "argument 'p'", .type_name = "outer", .element_size = sizeof(outer), .members = members};
    outer expected;
    memset(&expected, 0, sizeof expected);
    expected.flag = 1;
    expected.big = UINT64_MAX;
    for (int i = 0; i < 4; i++) expected.v[i] = (float)i / 4;
    expected.ne[0] = -1;
    expected.parts[1].x = 300;
    expected.h = (_Float16)1.5;
    tool_array a = parse(&slot, "{big: 18446744073709551615, flag: true, v: {0,.25,.5,.75}, ne: {-1}, parts: "
                                "{{}, {x: 300}}, h: 1.5}");
    assert_int_equal(a.size, sizeof expected);
    assert_memory_equal(a.data, &expected, sizeof expected);
    tb_text text = {0};
    tool_struct_format(members, a.data, a.size, &text);
    assert_string_equal(tb_text_string(&text), "{flag: true, big: 18446744073709551615, v: {0, 0.25, 0.5, "
                                               "0.75}, ne: {-1, 0, 0}, parts: {{x: 0}, {x: 300}}, h: 1.5}");
    tb_text_free(&text);
    tool_array_free(&a);

    a = parse(&slot, "{{h: 1.5}, {}}");
    assert_int_equal(a.size, 2 * sizeof expected);
    tool_array_free(&a);

    expect_failure(&slot, "{bigg: 1}", "no member 'bigg'; did you mean 'big'?");
    expect_failure(&slot, "{zzz: 1}", "it has flag, big, v, ne, parts, h");
    expect_failure(&slot, "{ne: {1,2,3,4}}", "has 3 elements");
    expect_failure(&slot, "{v: {1,2}}", "component");
    expect_failure(&slot, "{flag: 2}", "cannot be '2'");
    expect_failure(&slot, "{flag 1}", "':'");
    expect_failure(&slot, "{flag: 1", "',' or '}'");
    expect_failure(&slot, "{parts: {1}}", "'{' of a struct");
    json_decref(members);
}

/* A reflection that claims members outside the struct must not lead to writes there. */
static void test_inconsistent_layout(void **state)
{
    json_t *members = json_pack("[{s:s,s:i,s:i,s:s,s:s,s:i,s:i}]", "name", "x", "offset", 6, "size", 4,
        "type", "int", "scalar", "i32", "vector_length", 1, "count", 1);
    tool_slot slot = {.what = "argument 'p'", .type_name = "t", .element_size = 8, .members = members};
    expect_failure(&slot, "{x: 1}", "inconsistent");
    json_decref(members);
}

/* ---- Layout, comparison, names ---- */

static void test_vector_layout(void **state)
{
    static const float tight[] = {1, 2, 3, 4, 5, 6};
    static const float padded[] = {1, 2, 3, 0, 4, 5, 6, 0};
    tool_array a = parse(&float_slot, "f32x3[2]:{1,2,3,4,5,6}"), back;
    tb_text bytes = {0};
    tool_array_to_layout(&a, tool_vector_stride(TOMBAC_TYPE_F32, 3, false), &bytes);
    assert_int_equal(bytes.size, sizeof padded);
    assert_memory_equal(bytes.data, padded, sizeof padded);
    assert_int_equal(tool_array_from_layout(bytes.data, bytes.size, 16, &a, &back, NULL), TOMBAC_OK);
    assert_memory_equal(back.data, tight, sizeof tight);
    assert_int_equal(tool_vector_stride(TOMBAC_TYPE_F32, 3, true), 12);
    tool_array_free(&a);
    tool_array_free(&back);
    tb_text_free(&bytes);
}

static void test_compare(void **state)
{
    tool_array found = parse(&float_slot, "{1, 2, nan, inf, -0, 100}");
    tool_array same = parse(&float_slot, "{1, 2, nan, inf, 0, 100}");
    tool_array other = parse(&float_slot, "{1, 2.5, 1, inf, 0, 101}");
    tool_array infinite = parse(&float_slot, "{1, 2, nan, -inf, inf, 100}");
    tool_difference d;
    tool_compare(&found, &same, 0, &d);
    assert_int_equal(d.count, 0);
    tool_compare(&found, &other, 0, &d);
    assert_int_equal(d.count, 3);
    assert_int_equal(d.first, 1);
    tool_compare(&found, &other, 0.01, &d); /* 1 <= 0.01 + 0.01 * 101; 0.5 and the NaN stay wrong */
    assert_int_equal(d.count, 2);
    assert_true(d.largest == 1.0 && d.largest_at == 5);
    tool_compare(&found, &infinite, 1e9, &d);
    assert_int_equal(d.count, 2);
    tool_array a = parse(&float_slot, "u64:{18446744073709551615}"),
               b = parse(&float_slot, "u64:{18446744073709551614}");
    tool_compare(&a, &b, 0, &d); /* equal as doubles */
    assert_int_equal(d.count, 1);
    tool_array *all[] = {&found, &same, &other, &infinite, &a, &b};
    for (size_t i = 0; i < 6; i++) tool_array_free(all[i]);
}

static void test_suggestion(void **state)
{
    tool_suggestion near = {.name = "vec_ad"}, far = {.name = "xyz"};
    tool_suggest_consider(&near, "saxpy");
    tool_suggest_consider(&near, "vec_add");
    tool_suggest_consider(&far, "vec_add");
    assert_string_equal(near.best, "vec_add");
    assert_null(far.best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_arrays), cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_wrong_values), cmocka_unit_test(test_structs),
        cmocka_unit_test(test_inconsistent_layout), cmocka_unit_test(test_vector_layout),
        cmocka_unit_test(test_compare), cmocka_unit_test(test_suggestion)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
