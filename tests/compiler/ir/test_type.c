/* Types by their names: sizes and alignments from the Metal Shading Language specification, tables 2.2
 * to 2.5. */
#include "compiler/ir/type.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const struct {
    const char *text, *name;
    tombac_type scalar;
    unsigned length, packed, size, alignment;
} cases[] = {
    {"float", "float", TOMBAC_TYPE_F32, 1, 0, 4, 4},
    {"half", "half", TOMBAC_TYPE_F16, 1, 0, 2, 2},
    {"bfloat", "bfloat", TOMBAC_TYPE_BF16, 1, 0, 2, 2},
    {"unsigned long", "ulong", TOMBAC_TYPE_U64, 1, 0, 8, 8},
    {"uint8_t", "uchar", TOMBAC_TYPE_U8, 1, 0, 1, 1},
    {"bool", "bool", TOMBAC_TYPE_BOOL, 1, 0, 1, 1},
    {"float2", "float2", TOMBAC_TYPE_F32, 2, 0, 8, 8},
    {"float3", "float3", TOMBAC_TYPE_F32, 3, 0, 16, 16},
    {"float4", "float4", TOMBAC_TYPE_F32, 4, 0, 16, 16},
    {"uchar4", "uchar4", TOMBAC_TYPE_U8, 4, 0, 4, 4},
    {"short3", "short3", TOMBAC_TYPE_I16, 3, 0, 8, 8},
    {"long2", "long2", TOMBAC_TYPE_I64, 2, 0, 16, 16},
    {"packed_float3", "packed_float3", TOMBAC_TYPE_F32, 3, 1, 12, 4},
    {"packed_uchar2", "packed_uchar2", TOMBAC_TYPE_U8, 2, 1, 2, 1},
    {"const metal::float4", "float4", TOMBAC_TYPE_F32, 4, 0, 16, 16},
    {"vec<float, 3>", "float3", TOMBAC_TYPE_F32, 3, 0, 16, 16},
    {"vec<unsigned int, 2>", "uint2", TOMBAC_TYPE_U32, 2, 0, 8, 8},
    {"metal::vec<_Float16, 4U>", "half4", TOMBAC_TYPE_F16, 4, 0, 8, 8},
    {"packed_vec<metal::vec<float, 3> >", "packed_float3", TOMBAC_TYPE_F32, 3, 1, 12, 4},
    {"atomic_uint", "atomic_uint", TOMBAC_TYPE_U32, 1, 0, 4, 4},
    {"atomic<float>", "atomic_float", TOMBAC_TYPE_F32, 1, 0, 4, 4},
    {"float4x4", "float4x4", TOMBAC_TYPE_OTHER, 0, 0, 64, 16},
    {"half2x3", "half2x3", TOMBAC_TYPE_OTHER, 0, 0, 16, 8},
    {"matrix<float, 3, 2>", "float3x2", TOMBAC_TYPE_OTHER, 0, 0, 24, 8},
};

static void test_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ir_type type = {0};
        assert_true(ir_type_from_name(cases[i].text, strlen(cases[i].text), &type));
        assert_string_equal(type.name, cases[i].name);
        assert_int_equal(type.scalar, cases[i].scalar);
        assert_int_equal(type.vector_length, cases[i].length);
        assert_int_equal(type.packed, cases[i].packed);
        assert_int_equal(type.size, cases[i].size);
        assert_int_equal(type.alignment, cases[i].alignment);
        ir_type_free(&type);
    }
}

static void test_unknown(void **state)
{
    (void)state;
    static const char *const names[] = {"", "floats", "float5", "float1", "packed_float", "args_t",
        "vec<args, 4>", "vec<float, 5>", "vec<float", "matrix<float, 4>", "atomic<args>", "my_float4",
        "float4x", "float4x5", "T"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ir_type type = {0};
        assert_false(ir_type_from_name(names[i], strlen(names[i]), &type));
        ir_type_free(&type);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known), cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
