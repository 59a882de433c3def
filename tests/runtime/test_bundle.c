/* Bundles of kernels on the fake device: choice by device, processor and constants; and every file that is
 * not one, truncated, changed, foreign, newer or inconsistent, refused by name. */
#include "artifact/artifact.h"
#include "graph.h"

typedef struct part {
    const char *name, *engine, *target, *constants, *command;
} part;

/* An artifact as tombac-cc would write it, for the fake driver. */
static tb_text kernel_file(const part *p)
{
    tb_text manifest = {0}, object = {0}, file = {0};
    tb_text_printf(&manifest,
        "{\"format\":1,\"abi\":4,\"tombac\":\"t\",\"engine\":\"%s\",\"target\":\"%s\",\"standard\":\"metal3."
        "2\","
        "\"math\":\"fast\",\"kernel\":{\"name\":\"%s\",\"function\":\"f\",\"file\":\"k.metal\",\"line\":1,"
        "\"max_total_threads_per_threadgroup\":1024,\"static_threadgroup_memory\":0,\"threadgroup_barriers\":"
        "false,"
        "\"simdgroup_operations\":false,\"arguments\":[]},\"constants\":[],\"dependencies\":[]}",
        p->engine, p->target, p->name);
    tb_text_printf(&object, "FAKE %s", p->command);
    const tb_section sections[] = {
        {TB_SECTION_MANIFEST, manifest.data, manifest.size}, {TB_SECTION_OBJECT, object.data, object.size}};
    assert_int_equal(tb_artifact_build(sections, 2, &file, NULL), TOMBAC_OK);
    tb_text_free(&manifest);
    tb_text_free(&object);
    return file;
}

static const part parts[] = {{"one", "fake", "x86-64", "", "show base"},
    {"one", "fake", "x86-64-v9", "", "show future"},
    {"one", "fake", "x86-64", "{\"index\":3,\"value\":\"05000000\"}", "show five"},
    {"two", "other", "x86-64", "", "show other"}, {"one", "gpu", "sm_90", "", "show newer"},
    {"one", "gpu", "sm_80", "", "show older"}, {"one", "gpu", "sm_86", "", "show best"}, {"two", "gpu", "sm_90", "", "show newer"}};
enum { PARTS = sizeof parts / sizeof *parts };

/* The language version that the index gives; the kernels are of metal3.2. */
static const char *bundle_standard = "metal3.1";

static tb_text bundle_of(int format, size_t listed, size_t kernels)
{
    tb_text index = {0}, files[PARTS], out = {0};
    tb_text_printf(&index,
        "{\"format\":%d,\"tombac\":\"t\",\"options\":{\"standard\":\"%s\"},\"listing\":{\"kernels\":[{\"name\":\"%s\",\"function\":\"f\","
        "\"file\":\"k\","
        "\"line\":1},{\"name\":\"two\",\"function\":\"g\",\"file\":\"k\",\"line\":2}],\"constants\":[{"
        "\"name\":\"size\","
        "\"index\":3,\"type\":\"uint\",\"scalar\":\"u32\",\"vector_length\":1}],\"dependencies\":[]},"
        "\"kernels\":[",
        format, bundle_standard, listed ? "one" : "none");
    tb_section sections[PARTS + 1];
    for (size_t i = 0; i < PARTS; i++) {
        files[i] = kernel_file(&parts[i]);
        sections[i + 1] = (tb_section){TB_SECTION_KERNEL, files[i].data, files[i].size};
        if (i < kernels)
            tb_text_printf(&index,
                "%s{\"name\":\"%s\",\"engine\":\"%s\",\"target\":\"%s\",\"constants\":[%s]}", i ? "," : "",
                parts[i].name, parts[i].engine, parts[i].target, parts[i].constants);
    }
    tb_text_puts(&index, "]}");
    sections[0] = (tb_section){TB_SECTION_INDEX, index.data, index.size};
    assert_int_equal(tb_artifact_build(sections, PARTS + 1, &out, NULL), TOMBAC_OK);
    for (size_t i = 0; i < PARTS; i++) tb_text_free(&files[i]);
    tb_text_free(&index);
    return out;
}

static void expect_log(
    tombac_library *library, const char *name, const tombac_constant *constant, const char *log)
{
    tombac_kernel *kernel = NULL;
    tombac_launch *launch = NULL;
    REQUIRE(tombac_kernel_create(library, name, constant, constant ? 1 : 0, &kernel, &require_error));
    REQUIRE(tombac_launch_create(kernel, &launch, &require_error));
    REQUIRE(tombac_launch_set_grid(launch, tombac_for_elements(1, 1), &require_error));
    REQUIRE(tombac_launch_submit(launch, &require_error));
    REQUIRE(tombac_launch_wait(launch, &require_error));
    assert_string_equal(tombac_launch_log(launch), log);
    tombac_launch_release(launch);
    tombac_kernel_release(kernel);
}

static void test_choice(void **state)
{
    setenv("TOMBAC_CC", "/nonexistent/tombac-cc", 1); /* nobody needs a compiler here */
    graph g = graph_open();
    tb_text bytes = bundle_of(1, 1, PARTS);
    tombac_library *library = NULL;
    REQUIRE(tombac_library_open_artifact_memory(
        g.device, "kernels", bytes.data, bytes.size, &library, &require_error));
    tb_text_free(&bytes); /* it was copied */
    assert_int_equal(tombac_library_kernel_count(library), 2);
    assert_string_equal(tombac_library_kernel_name(library, 1), "two");
    const uint32_t five = 5, six = 6;
    const tombac_constant set = {"size", 0, &five, sizeof five}, unknown = {"size", 0, &six, sizeof six};
    expect_log(library, "one", NULL, "FAKE show base");
    expect_log(library, "one", &set, "FAKE show five");
    tombac_kernel *kernel = NULL;
    tombac_error *error = NULL;
    tombac_status status = tombac_kernel_create(library, "one", &unknown, 1, &kernel, &error);
    expect_failure(
        status, error, TOMBAC_ERROR_ARTIFACT, "'kernels' has no code of kernel 'one' for the device 'fake'");
    status = tombac_kernel_create(library, "two", NULL, 0, &kernel, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARTIFACT, "it was built for 'other' on x86-64");
    status = tombac_kernel_create(library, "three", NULL, 0, &kernel, &error);
    expect_failure(status, error, TOMBAC_ERROR_NOT_FOUND, "'kernels' has no kernel 'three'");
    tombac_library_release(library);
    graph_close(&g);
}

/* Both sides of metal4.1, each without the other: the boundary is there, not at every version. */
static void test_versions(void **state)
{
    static const char *const standards[] = {"metal2.4", "macos-metal4.0", "metal4.1", "metal4.10", "metal5.0"};
    graph g = graph_open();
    for (size_t i = 0; i < sizeof standards / sizeof *standards; i++) {
        bundle_standard = standards[i];
        tb_text bytes = bundle_of(1, 1, PARTS);
        tombac_library *library = NULL;
        tombac_kernel *kernel = NULL;
        tombac_error *error = NULL;
        REQUIRE(tombac_library_open_artifact_memory(g.device, "kernels", bytes.data, bytes.size, &library, &require_error));
        tombac_status status = tombac_kernel_create(library, "one", NULL, 0, &kernel, &error);
        if (i < 2)
            assert_int_equal(status, TOMBAC_OK);
        else
            expect_failure(status, error, TOMBAC_ERROR_ARTIFACT, "its kernel 'one' of metal3.2: code of metal4.1 and later");
        tombac_kernel_release(kernel);
        tombac_library_release(library);
        tb_text_free(&bytes);
    }
    bundle_standard = "metal3.1";
    graph_close(&g);
}

/* A GPU runs code for older ones, the newest of these; never code for newer ones. */
static void test_gpu(void **state)
{
    tombac_device *device = NULL;
    REQUIRE(tombac_device_open("gpu", &device, &require_error));
    tb_text bytes = bundle_of(1, 1, PARTS);
    tombac_library *library = NULL;
    REQUIRE(tombac_library_open_artifact_memory(
        device, "kernels", bytes.data, bytes.size, &library, &require_error));
    tb_text_free(&bytes);
    expect_log(library, "one", NULL, "FAKE show best");
    tombac_kernel *kernel = NULL;
    tombac_error *error = NULL;
    tombac_status status = tombac_kernel_create(library, "two", NULL, 0, &kernel, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARTIFACT, "for the device 'gpu' on this machine (sm_89)");
    tombac_library_release(library);
    tombac_device_release(device);
}

static void expect_refused(graph *g, const char *bytes, size_t size, const char *message)
{
    tombac_library *library = NULL;
    tombac_error *error = NULL;
    char *copy = malloc(size + 1); /* for sanitizers */
    memcpy(copy, bytes, size);
    tombac_status status =
        tombac_library_open_artifact_memory(g->device, "the file", copy, size, &library, &error);
    free(copy);
    expect_failure(status, error, TOMBAC_ERROR_ARTIFACT, message);
    assert_null(library);
}

static void test_refused(void **state)
{
    graph g = graph_open();
    tb_text bytes = bundle_of(1, 1, PARTS);
    for (size_t size = 0; size < bytes.size; size += size < 200 ? 1 : 37)
        expect_refused(&g, bytes.data, size, size < 8 ? "not a Tombac" : "truncated");
    for (size_t at = 0; at < bytes.size; at += at < 400 ? 1 : 11) {
        bytes.data[at] ^= 0x10;
        expect_refused(&g, bytes.data, bytes.size, "the file");
        bytes.data[at] ^= 0x10;
    }
    tb_text_free(&bytes);
    expect_refused(&g, "\177ELF\2\1\1", 7, "not a Tombac");
    bytes = bundle_of(2, 1, PARTS);
    expect_refused(&g, bytes.data, bytes.size, "bundle format 2, this Tombac needs 1");
    tb_text_free(&bytes);
    bytes = bundle_of(1, 0, PARTS);
    expect_refused(&g, bytes.data, bytes.size, "names a kernel that is not listed");
    tb_text_free(&bytes);
    bytes = bundle_of(1, 1, PARTS - 1);
    expect_refused(&g, bytes.data, bytes.size, "does not match the sections");
    tb_text_free(&bytes);
    bytes = kernel_file(&parts[0]);
    expect_refused(&g, bytes.data, bytes.size, "is not a bundle of kernels");
    tb_text_free(&bytes);
    graph_close(&g);
}

static void test_file(void **state)
{
    graph g = graph_open();
    tb_text bytes = bundle_of(1, 1, PARTS);
    world *w = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/k.tombac", w->folder);
    FILE *file = fopen(path, "w");
    assert_int_equal(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
    fclose(file);
    tb_text_free(&bytes);
    tombac_library *library = NULL;
    REQUIRE(tombac_library_open_artifact(g.device, path, &library, &require_error));
    expect_log(library, "one", NULL, "FAKE show base");
    tombac_library_release(library);
    tombac_error *error = NULL;
    tombac_status status = tombac_library_open_artifact(g.device, "/nonexistent", &library, &error);
    expect_failure(status, error, TOMBAC_ERROR_IO, "/nonexistent");
    graph_close(&g);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {TEST(test_choice), TEST(test_gpu), TEST(test_refused), TEST(test_versions), TEST(test_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
