/* The artifact format: what is built is read back, equal input gives equal bytes, the header is as
 * documented, and a file that is truncated at any length or changed in any bit is refused. */
#include "artifact/artifact.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char manifest[] = "{\"format\": 1}";
static const unsigned char object[150] = {1, 2, 3, [149] = 9};

static tb_text build(void)
{
    const tb_section sections[] = {
        {TB_SECTION_MANIFEST, manifest, sizeof manifest - 1}, {TB_SECTION_OBJECT, object, sizeof object}};
    tb_text out = {0};
    assert_int_equal(tb_artifact_build(sections, 2, &out, NULL), TOMBAC_OK);
    return out;
}

static void test_round_trip(void **state)
{
    tb_text file = build(), again = build();
    assert_int_equal(file.size, again.size);
    assert_memory_equal(file.data, again.data, file.size);
    /* 32 bytes of header and two entries of 32 end at 96; sections start at 128 and 192. */
    assert_int_equal(file.size, 192 + sizeof object);
    assert_memory_equal(file.data, "TOMBAC\r\n\1\0\0\0\2\0\0\0", 16);
    assert_memory_equal(file.data + 128, manifest, sizeof manifest - 1);
    assert_memory_equal(file.data + 192, object, sizeof object);
    tb_artifact artifact;
    assert_int_equal(tb_artifact_parse("f", file.data, file.size, &artifact, NULL), TOMBAC_OK);
    assert_int_equal(artifact.section_count, 2);
    const tb_section *found = tb_artifact_find(&artifact, TB_SECTION_OBJECT);
    assert_non_null(found);
    assert_int_equal(found->size, sizeof object);
    assert_ptr_equal(found->data, file.data + 192);
    assert_int_equal(tb_artifact_find(&artifact, TB_SECTION_MANIFEST)->size, sizeof manifest - 1);
    assert_null(tb_artifact_find(&artifact, (tb_section_kind)77));
    tb_text_free(&file);
    tb_text_free(&again);
}

static void test_counts(void **state)
{
    tb_section sections[TB_MAX_SECTIONS + 1] = {{0}};
    for (int i = 0; i <= TB_MAX_SECTIONS; i++)
        sections[i] = (tb_section){(tb_section_kind)(i + 1), "x", (size_t)i % 2};
    tb_text out = {0};
    assert_int_equal(tb_artifact_build(sections, 0, &out, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tb_artifact_build(sections, TB_MAX_SECTIONS + 1, &out, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(out.size, 0);
    assert_int_equal(tb_artifact_build(sections, TB_MAX_SECTIONS, &out, NULL), TOMBAC_OK);
    tb_artifact artifact;
    assert_int_equal(tb_artifact_parse("f", out.data, out.size, &artifact, NULL), TOMBAC_OK);
    assert_int_equal(artifact.section_count, TB_MAX_SECTIONS);
    tb_text_free(&out);
}

/* Parses a copy in a block of exactly its size, so that a sanitizer sees reads outside. */
static tombac_status parse(const char *bytes, size_t size, const char *part)
{
    char *copy = malloc(size + !size);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    tb_artifact artifact;
    tombac_error *error = NULL;
    tombac_status status = tb_artifact_parse("the file", copy, size, &artifact, &error);
    if (status != TOMBAC_OK) assert_non_null(strstr(tombac_error_message(error), "'the file'"));
    if (part && !strstr(tombac_error_message(error), part)) fail_msg("%s", tombac_error_message(error));
    tombac_error_release(error);
    free(copy);
    return status;
}

static void test_truncation(void **state)
{
    tb_text file = build();
    for (size_t size = 0; size < file.size; size++)
        assert_int_equal(
            parse(file.data, size, size < 8 ? "not a Tombac" : "truncated"), TOMBAC_ERROR_ARTIFACT);
    tb_text_putc(&file, 0);
    assert_int_equal(parse(file.data, file.size, "after its end"), TOMBAC_ERROR_ARTIFACT);
    tb_text_free(&file);
}

static void test_change(void **state)
{
    tb_text file = build();
    for (size_t bit = 0; bit < 8 * file.size; bit++) {
        file.data[bit / 8] = (char)(file.data[bit / 8] ^ (1 << bit % 8));
        const char *part = bit < 64 ? "not a Tombac" : bit < 96 ? "artifact format" : NULL;
        assert_int_equal(parse(file.data, file.size, part), TOMBAC_ERROR_ARTIFACT);
        file.data[bit / 8] = (char)(file.data[bit / 8] ^ (1 << bit % 8));
    }
    for (size_t at = 0; at < file.size; at++) {
        file.data[at] = (char)~file.data[at];
        assert_int_equal(parse(file.data, file.size, NULL), TOMBAC_ERROR_ARTIFACT);
        file.data[at] = (char)~file.data[at];
    }
    assert_int_equal(parse(file.data, file.size, NULL), TOMBAC_OK);
    tb_text_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_counts),
        cmocka_unit_test(test_truncation), cmocka_unit_test(test_change)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
