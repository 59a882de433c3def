/* .npy files: every type and order that is read, what is refused, and that no damaged file is believed. */
#include "tool/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A file of version `major` with that header text and data; no padding, which readers must not need. */
static tb_text file(unsigned major, const char *header, const void *data, size_t size)
{
    tb_text out = {0};
    size_t length = strlen(header);
    tb_text_append(&out, "\x93NUMPY", 6);
    tb_text_putc(&out, (char)major);
    tb_text_putc(&out, 0);
    for (unsigned i = 0; i < (major == 1 ? 2 : 4); i++) tb_text_putc(&out, (char)(length >> 8 * i));
    tb_text_puts(&out, header);
    tb_text_append(&out, data, size);
    return out;
}

static void expect_failure(unsigned major, const char *header, size_t size, const char *message)
{
    static const unsigned char zeros[256];
    tb_text bytes = file(major, header, zeros, size);
    tool_array array;
    tombac_error *error = NULL;
    assert_int_not_equal(tool_npy_parse("x.npy", bytes.data, bytes.size, &array, &error), TOMBAC_OK);
    if (!strstr(tombac_error_message(error), message))
        fail_msg("'%s' does not contain '%s'", tombac_error_message(error), message);
    tombac_error_release(error);
    tb_text_free(&bytes);
}

static void test_types(void **state)
{
    static const struct {
        const char *code;
        tombac_type type;
    } types[] = {{"|b1", TOMBAC_TYPE_BOOL}, {"|i1", TOMBAC_TYPE_I8}, {"|u1", TOMBAC_TYPE_U8},
        {"<i2", TOMBAC_TYPE_I16}, {"<u2", TOMBAC_TYPE_U16}, {"<i4", TOMBAC_TYPE_I32},
        {"<u4", TOMBAC_TYPE_U32}, {"<i8", TOMBAC_TYPE_I64}, {"<u8", TOMBAC_TYPE_U64},
        {"<f2", TOMBAC_TYPE_F16}, {"<f4", TOMBAC_TYPE_F32}, {"<f8", TOOL_TYPE_F64}};
    static const unsigned char data[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char header[128];
        tool_array array;
        size_t size = 2 * tool_type_size(types[i].type);
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }\n",
            types[i].code);
        tb_text bytes = file(1, header, data, size);
        assert_int_equal(tool_npy_parse("x", bytes.data, bytes.size, &array, NULL), TOMBAC_OK);
        assert_int_equal(array.type, types[i].type);
        assert_int_equal(array.count, 2);
        assert_memory_equal(array.data, data, size);
        tool_array_free(&array);
        tb_text_free(&bytes);
    }
}

static void test_big_endian_and_versions(void **state)
{
    static const unsigned char data[8] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}; /* 1.0, -2.0 */
    for (unsigned major = 1; major <= 3; major++) {
        tool_array array;
        tb_text bytes =
            file(major, "{\"shape\":(2,1),'fortran_order':False,'descr':'>f4'}", data, sizeof data);
        assert_int_equal(tool_npy_parse("x", bytes.data, bytes.size, &array, NULL), TOMBAC_OK);
        float values[2];
        memcpy(values, array.data, sizeof values);
        assert_true(values[0] == 1.0f && values[1] == -2.0f);
        assert_int_equal(array.dimension_count, 2);
        tool_array_free(&array);
        tb_text_free(&bytes);
    }
}

static void test_refusals(void **state)
{
    expect_failure(4, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 8, "version 4.0");
    expect_failure(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", 16, "Fortran order");
    expect_failure(1, "{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", 16, "'<c8'");
    expect_failure(1, "{'descr': '<U3', 'fortran_order': False, 'shape': (2,)}", 24, "'<U3'");
    expect_failure(1, "{'descr': 'f4', 'fortran_order': False, 'shape': (2,)}", 8, "'f4'");
    expect_failure(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8, "structured");
    expect_failure(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 8, "cut short");
    expect_failure(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 8, "4 bytes behind");
    expect_failure(
        1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 8, "cut short");
    expect_failure(
        1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 8, "no size");
    expect_failure(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", 8, "no size");
    expect_failure(1, "{'descr': '<f4', 'fortran_order': False}", 8, "lacks");
    expect_failure(
        1, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4, "given twice");
    expect_failure(1, "{'descr': '<f4', 'fortran_order': 1, 'shape': ()}", 4, "neither True nor False");
    expect_failure(1, "['descr']", 4, "no dictionary");
    expect_failure(
        1, "{'descr': '<f4', 'fortran_order': False, 'shape': (), } x", 4, "behind the dictionary");
}

/* Every prefix of a good file is refused, and so is no file at all. */
static void test_truncation(void **state)
{
    static const unsigned char data[12] = {1};
    tb_text bytes = file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", data, sizeof data);
    for (size_t size = 0; size < bytes.size; size++) {
        tool_array array;
        tombac_error *error = NULL;
        unsigned char *copy =
            malloc(size ? size : 1); /* exact, so that a sanitizer sees every read too far */
        assert_non_null(copy);
        memcpy(copy, bytes.data, size);
        assert_int_equal(tool_npy_parse("x", copy, size, &array, &error), TOMBAC_ERROR_IO);
        tombac_error_release(error);
        free(copy);
    }
    tb_text_free(&bytes);
}

/* Damages one byte of the header at a time: no crash, and never more data than there are. */
static void test_damage(void **state)
{
    static const unsigned char data[12] = {1};
    tb_text bytes = file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", data, sizeof data);
    for (size_t at = 0; at < bytes.size - sizeof data; at++) {
        for (unsigned flip = 1; flip < 256; flip++) {
            tool_array array;
            bytes.data[at] = (char)(bytes.data[at] ^ (int)flip);
            if (tool_npy_parse("x", bytes.data, bytes.size, &array, NULL) == TOMBAC_OK) {
                assert_int_equal(array.size, sizeof data);
                tool_array_free(&array);
            }
            bytes.data[at] = (char)(bytes.data[at] ^ (int)flip);
        }
    }
    tb_text_free(&bytes);
}

static void test_write(void **state)
{
    tool_array array = {.type = TOMBAC_TYPE_F32, .vector_length = 1, .dimension_count = 2, .shape = {2, 3}},
               back;
    tb_text bytes = {0};
    assert_int_equal(tool_array_allocate(&array, NULL), TOMBAC_OK);
    for (size_t i = 0; i < array.size; i++) array.data[i] = (unsigned char)(i * 7);
    assert_int_equal(tool_npy_build(&array, &bytes, NULL), TOMBAC_OK);
    assert_int_equal((bytes.size - array.size) % 64, 0);
    static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    assert_memory_equal(bytes.data + 10, text, sizeof text - 1);
    assert_int_equal(tool_npy_parse("x", bytes.data, bytes.size, &back, NULL), TOMBAC_OK);
    assert_int_equal(back.shape[1], 3);
    assert_memory_equal(back.data, array.data, array.size);
    tool_array_free(&back);
    tool_array_free(&array);
    tb_text_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_types),
        cmocka_unit_test(test_big_endian_and_versions), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_truncation), cmocka_unit_test(test_damage), cmocka_unit_test(test_write)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
