/* Manifests and listings: a complete one is read field by field; then every field of it in turn is removed or
 * given another type, and the text is cut at every length. */
#include "runtime/manifest.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char complete[] =
    "{\"format\": 1, \"abi\": 4, \"tombac\": \"0.1.0\", \"engine\": \"check\", \"target\": \"x86-64-v3\","
    " \"standard\": \"metal3.2\", \"math\": \"safe\","
    " \"kernel\": {\"name\": \"k\", \"function\": \"f\", \"file\": \"a.metal\", \"line\": 12,"
    "  \"max_total_threads_per_threadgroup\": 256, \"required_threads_per_threadgroup\": [8, 4, 2],"
    "  \"static_threadgroup_memory\": 1024, \"threadgroup_barriers\": true, \"simdgroup_operations\": false,"
    "  \"context_size\": 640,"
    "  \"arguments\": ["
    "   {\"name\": \"p\", \"kind\": \"constant\", \"index\": 2, \"writable\": false, \"reference\": true, "
    "\"active\": true,"
    "    \"type\": \"args_t\", \"scalar\": \"\", \"vector_length\": 0, \"packed\": false, \"size\": 48, "
    "\"alignment\": 16,"
    "    \"members\": [{\"name\": \"inner\", \"offset\": 16, \"size\": 32, \"type\": \"pair\", \"scalar\": "
    "\"\","
    "     \"vector_length\": 0, \"packed\": false, \"count\": 2, \"members\": [{\"name\": \"x\", \"offset\": "
    "4, \"size\": 12,"
    "      \"type\": \"packed_float3\", \"scalar\": \"f32\", \"vector_length\": 3, \"packed\": true, "
    "\"count\": 1,"
    "      \"members\": []}]}]},"
    "   {\"name\": \"t\", \"kind\": \"threadgroup\", \"index\": 2, \"writable\": true, \"reference\": false, "
    "\"active\": false,"
    "    \"type\": \"half2\", \"scalar\": \"f16\", \"vector_length\": 2, \"packed\": false, \"size\": 4, "
    "\"alignment\": 4,"
    "    \"members\": []}]},"
    " \"constants\": [{\"name\": \"c\", \"index\": 7, \"type\": \"bool\", \"scalar\": \"bool\", "
    "\"vector_length\": 1,"
    "  \"used\": true, \"set\": false}],"
    " \"dependencies\": [{\"path\": \"a.metal\", \"size\": 99, \"hash\": \"0123456789abcdef\"}]}";

static void test_complete(void **state)
{
    rt_manifest m;
    tombac_error *error = NULL;
    if (rt_manifest_parse("m", complete, sizeof complete - 1, &m, &error) != TOMBAC_OK)
        fail_msg("%s", tombac_error_message(error));
    assert_string_equal(m.engine, "check");
    assert_string_equal(m.target, "x86-64-v3");
    assert_string_equal(m.standard, "metal3.2");
    assert_string_equal(m.math, "safe");
    assert_string_equal(m.kernel, "k");
    assert_string_equal(m.function, "f");
    assert_string_equal(m.file, "a.metal");
    assert_int_equal(m.line, 12);
    assert_int_equal(m.max_threads, 256);
    assert_true(m.required_threads[0] == 8 && m.required_threads[1] == 4 && m.required_threads[2] == 2);
    assert_int_equal(m.static_threadgroup_memory, 1024);
    assert_true(m.threadgroup_barriers && !m.simdgroup_operations);
    assert_int_equal(m.context_size, 640);
    assert_int_equal(m.argument_count, 2);
    const rt_argument *p = &m.arguments[0], *t = &m.arguments[1];
    assert_true(
        p->kind == TOMBAC_ARGUMENT_CONSTANT && p->index == 2 && !p->writable && p->reference && p->active);
    assert_true(p->type == TOMBAC_TYPE_OTHER && p->vector_length == 0 && p->size == 48 && p->alignment == 16);
    assert_string_equal(p->type_name, "args_t");
    const rt_member *inner = &p->members[0], *x = &inner->members[0];
    assert_true(p->member_count == 1 && inner->offset == 16 && inner->size == 32 && inner->count == 2);
    assert_true(x->type == TOMBAC_TYPE_F32 && x->vector_length == 3 && x->packed && x->offset == 4);
    assert_true(
        t->kind == TOMBAC_ARGUMENT_THREADGROUP && t->writable && !t->active && t->type == TOMBAC_TYPE_F16);
    assert_int_equal(m.constant_count, 1);
    assert_true(m.constants[0].index == 7 && m.constants[0].used && !m.constants[0].set);
    assert_true(m.dependencies[0].size == 99 && m.dependencies[0].hash == 0x0123456789abcdef);
    rt_manifest_free(&m);
}

/* Parses the tree; on failure the message names `key`. */
static void expect(json_t *root, const char *key, bool good, const char *what)
{
    char *text = json_dumps(root, 0);
    rt_manifest m;
    tombac_error *error = NULL;
    tombac_status status = rt_manifest_parse("m", text, strlen(text), &m, &error);
    if (good != (status == TOMBAC_OK)) fail_msg("%s '%s': %s", what, key, tombac_error_message(error));
    if (status == TOMBAC_OK)
        rt_manifest_free(&m);
    else {
        assert_int_equal(status, TOMBAC_ERROR_ARTIFACT);
        if (!strstr(tombac_error_message(error), key))
            fail_msg("'%s' lacks '%s'", tombac_error_message(error), key);
    }
    tombac_error_release(error);
    free(text);
}

static bool listed(const char *key, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(*list, key) == 0) return true;
    return false;
}

static unsigned mutate(json_t *root, json_t *object)
{
    static const char *const optional[] = {"tombac", "required_threads_per_threadgroup", "context_size",
        "members", "arguments", "constants", "dependencies", NULL};
    static const char *const unread[] = {"tombac", NULL};
    unsigned count = 0;
    char *keys[64];
    size_t key_count = 0;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) keys[key_count++] = strdup(key);
    for (size_t i = 0; i < key_count; i++, count++) {
        json_t *old = json_incref(json_object_get(object, keys[i]));
        json_object_del(object, keys[i]);
        bool other_vector = strcmp(keys[i], "vector_length") == 0 && json_integer_value(old) == 0;
        expect(root, keys[i], listed(keys[i], optional) || other_vector, "without");
        json_object_set_new(object, keys[i], json_is_real(old) ? json_true() : json_real(1.5));
        expect(root, keys[i], listed(keys[i], unread), "a number in");
        if (json_is_integer(old)) {
            json_object_set_new(object, keys[i], json_integer(-1));
            expect(root, keys[i], false, "-1 in");
            json_object_set_new(object, keys[i], json_integer(INT64_MAX));
            /* only a file may be that large */
            expect(root, keys[i], strcmp(keys[i], "size") == 0 && json_object_get(object, "path"),
                "too much in");
        }
        json_object_set(object, keys[i], old);
        json_t *element = NULL;
        size_t k;
        if (json_is_object(old)) count += mutate(root, old);
        json_array_foreach(old, k, element) if (json_is_object(element)) count += mutate(root, element);
        json_decref(old);
        free(keys[i]);
    }
    return count;
}

static void test_every_field(void **state)
{
    json_t *root = json_loads(complete, 0, NULL);
    assert_non_null(root);
    assert_true(mutate(root, root) > 70);
    expect(root, "", true, "unchanged");
    json_decref(root);
}

static void test_truncation(void **state)
{
    for (size_t size = 0; size < sizeof complete - 1; size++) {
        char *copy = malloc(size + 1);
        memcpy(copy, complete, size);
        rt_manifest m;
        assert_int_equal(rt_manifest_parse("m", copy, size, &m, NULL), TOMBAC_ERROR_ARTIFACT);
        free(copy);
    }
}

/* Replaces `old` in the complete text by `new`. */
static void expect_with(const char *old, const char *new, const char *part)
{
    const char *at = strstr(complete, old);
    assert_non_null(at);
    char text[4096];
    int size = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - complete), complete, new, at + strlen(old));
    rt_manifest m;
    tombac_error *error = NULL;
    assert_int_equal(rt_manifest_parse("m", text, (size_t)size, &m, &error), TOMBAC_ERROR_ARTIFACT);
    if (!strstr(tombac_error_message(error), part))
        fail_msg("'%s' lacks '%s'", tombac_error_message(error), part);
    tombac_error_release(error);
}

static void test_values(void **state)
{
    expect_with("\"format\": 1", "\"format\": 2", "format version 2, this Tombac needs 1");
    expect_with("\"abi\": 4", "\"abi\": 7", "abi version 7");
    expect_with("[8, 4, 2]", "[8, 4]", "required_threads");
    expect_with("[8, 4, 2]", "[8, 4, 0]", "required_threads");
    expect_with("[8, 4, 2]", "[8, 4, 9]", "required_threads"); /* 288 > 256 */
    expect_with("[8, 4, 2]", "[8, \"4\", 2]", "required_threads");
    expect_with(": 256", ": 0", "max_total");
    expect_with(": 256", ": 1025", "max_total");
    expect_with(": 1024", ": 32769", "static_threadgroup_memory");
    expect_with("\"kind\": \"constant\"", "\"kind\": \"texture\"", "kind");
    expect_with("\"alignment\": 16", "\"alignment\": 12", "alignment");
    expect_with("\"size\": 48", "\"size\": 0", "size");
    expect_with("\"size\": 32", "\"size\": 33", "size"); /* beyond the struct's end */
    expect_with("\"scalar\": \"f32\"", "\"scalar\": \"f64\"", "scalar");
    expect_with("0123456789abcdef", "0123456789abcdeg", "hash");
    expect_with("\"engine\": \"check\"", "\"engine\": \"check\", \"engine\": \"cpu\"", "duplicate");
}

static void test_same_index(void **state)
{
    static const char format[] =
        "{\"format\":1,\"abi\":4,\"engine\":\"e\",\"target\":\"t\",\"standard\":\"s\",\"math\":\"m\","
        "\"kernel\":{\"name\":\"k\","
        "\"function\":\"f\",\"file\":\"\",\"line\":0,\"max_total_threads_per_threadgroup\":1,\"static_"
        "threadgroup_memory\":0,"
        "\"threadgroup_barriers\":false,\"simdgroup_operations\":false,\"arguments\":["
        "{\"name\":\"a\",\"kind\":\"buffer\",\"index\":1,\"writable\":false,\"reference\":false,\"active\":"
        "true,\"type\":\"int\","
        "\"scalar\":\"i32\",\"vector_length\":1,\"packed\":false,\"size\":4,\"alignment\":4},"
        "{\"name\":\"b\",\"kind\":\"%s\",\"index\":1,\"writable\":false,\"reference\":false,\"active\":%s,"
        "\"type\":\"int\","
        "\"scalar\":\"i32\",\"vector_length\":1,\"packed\":false,\"size\":4,\"alignment\":4}]}}";
    static const struct {
        const char *kind, *active;
        bool good;
    } cases[] = {{"buffer", "true", false}, {"constant", "true", false}, {"constant", "false", true},
        {"threadgroup", "true", true}};
    for (int i = 0; i < 4; i++) {
        char text[2048];
        int size = snprintf(text, sizeof text, format, cases[i].kind, cases[i].active);
        rt_manifest m;
        tombac_status status = rt_manifest_parse("m", text, (size_t)size, &m, NULL);
        assert_int_equal(status, cases[i].good ? TOMBAC_OK : TOMBAC_ERROR_ARTIFACT);
        if (cases[i].good) rt_manifest_free(&m);
    }
}

static void test_tensors(void **state)
{
    static const char format[] =
        "{\"format\":1,\"abi\":4,\"engine\":\"e\",\"target\":\"t\",\"standard\":\"s\",\"math\":\"m\","
        "\"kernel\":{\"name\":\"k\",\"function\":\"f\",\"file\":\"\",\"line\":0,"
        "\"max_total_threads_per_threadgroup\":1,\"static_threadgroup_memory\":0,\"threadgroup_barriers\":false,"
        "\"simdgroup_operations\":false,\"arguments\":[%s]}}";
    static const char argument[] = "{\"name\":\"a\",\"kind\":\"%s\",\"index\":1,\"writable\":false,\"reference\":false,"
                                   "\"active\":true,\"type\":\"int\",\"scalar\":\"%s\",\"vector_length\":%d,"
                                   "\"packed\":false,\"size\":%d,\"alignment\":4%s}";
    static const struct {
        const char *tensor;
        int vector_length, layouts, layout_size;
        bool good;
    } cases[] = {{"{\"extents\":[null,3],\"index\":\"u16\"}", 1, 1, 32, true}, {"{\"extents\":[0],\"index\":\"i64\"}", 1, 1, 16, true},
        {"{\"extents\":[null,3],\"index\":\"u16\"}", 1, 1, 24, false}, {"{\"extents\":[null],\"index\":\"u16\"}", 1, 0, 0, false},
        {"{\"extents\":[null],\"index\":\"u16\"}", 1, 2, 16, false}, {"{\"extents\":[null],\"index\":\"u16\"}", 2, 1, 16, false},
        {"{\"extents\":[],\"index\":\"u16\"}", 1, 1, 16, false}, {"{\"extents\":[-1],\"index\":\"u16\"}", 1, 1, 16, false},
        {"{\"extents\":[\"3\"],\"index\":\"u16\"}", 1, 1, 16, false}, {"{\"extents\":[3],\"index\":\"f32\"}", 1, 1, 16, false},
        {"{\"extents\":[3],\"index\":\"bool\"}", 1, 1, 16, false}, {"{\"extents\":[3]}", 1, 1, 16, false},
        {"{\"index\":\"i32\"}", 1, 1, 16, false}, {"7", 1, 1, 16, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char tensor[256], arguments[1024], text[2048];
        snprintf(tensor, sizeof tensor, ",\"tensor\":%s", cases[i].tensor);
        int size = snprintf(arguments, sizeof arguments, argument, "tensor", "i32", cases[i].vector_length, 4, tensor);
        for (int k = 0; k < cases[i].layouts; k++) {
            arguments[size++] = ',';
            size += snprintf(arguments + size, sizeof arguments - (size_t)size, argument, "layout", "", 0, cases[i].layout_size, "");
        }
        size = snprintf(text, sizeof text, format, arguments);
        rt_manifest m;
        tombac_error *error = NULL;
        tombac_status status = rt_manifest_parse("m", text, (size_t)size, &m, &error);
        if ((status == TOMBAC_OK) != cases[i].good) fail_msg("case %zu: %s", i, tombac_error_message(error));
        tombac_error_release(error);
        if (status != TOMBAC_OK) continue;
        assert_int_equal(m.arguments[0].kind, TOMBAC_ARGUMENT_TENSOR);
        assert_true(m.arguments[0].layout == 1 && m.arguments[1].is_layout && m.visible_count == 1);
        assert_true(m.arguments[0].rank == (i ? 1u : 2u) && m.arguments[0].most == (i ? INT64_MAX : 65535));
        assert_true(m.arguments[0].extents[0] == (i ? 0 : SIZE_MAX) && (i || m.arguments[0].extents[1] == 3));
        rt_manifest_free(&m);
    }
}

static void test_listing(void **state)
{
    static const char text[] =
        "{\"kernels\": [{\"name\": \"k\", \"function\": \"f\", \"file\": \"a\", \"line\": 3}],"
        " \"constants\": [{\"name\": \"c\", \"index\": 1, \"type\": \"uchar\", \"scalar\": \"u8\", "
        "\"vector_length\": 1}],"
        " \"dependencies\": [{\"path\": \"a\", \"size\": 0, \"hash\": \"ffffffffffffffff\"}]}";
    rt_listing l;
    assert_int_equal(rt_listing_parse("l", text, sizeof text - 1, &l, NULL), TOMBAC_OK);
    assert_true(l.kernel_count == 1 && l.constant_count == 1 && l.dependency_count == 1);
    assert_string_equal(l.kernels[0].name, "k");
    assert_int_equal(l.kernels[0].line, 3);
    assert_int_equal(l.constants[0].type, TOMBAC_TYPE_U8);
    assert_true(l.dependencies[0].hash == UINT64_MAX);
    rt_listing_free(&l);
    for (size_t size = 0; size < sizeof text - 1; size++)
        assert_int_equal(rt_listing_parse("l", text, size, &l, NULL), TOMBAC_ERROR_ARTIFACT);
    assert_int_equal(rt_listing_parse("l", "[]", 2, &l, NULL), TOMBAC_ERROR_ARTIFACT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_complete), cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_truncation), cmocka_unit_test(test_values), cmocka_unit_test(test_same_index),
        cmocka_unit_test(test_tensors), cmocka_unit_test(test_listing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
