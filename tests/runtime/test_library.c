/* Devices, libraries and kernels with the fake compiler: what they report, every way in which the compiler
 * can fail, the command line it gets, and function constants. */
#include "fake.h"

#include "base/process.h"

#include <unistd.h>

static const char plain[] =
    "kernel one\nkernel two\nconstant flag 3 bool bool 1\nconstant size 1 uint u32 1\n"
    "constant shift 7 float3 f32 3\n"
    "argument buffer a 0 float4 f32 4 16 16 -\nargument threadgroup t 0 half f16 1 2 2 -\n"
    "argument constant p 5 args_t - 0 24 8 r\nmax 512\nstatic 96\nobject FAKE show \nshow\n";

static void test_devices(void **state)
{
    assert_int_equal(tombac_device_count(), 3);
    assert_string_equal(tombac_device_name_at(0), "fake");
    assert_string_equal(tombac_device_name_at(1), "other");
    assert_string_equal(tombac_device_name_at(2), "gpu");
    assert_null(tombac_device_name_at(3));
    tombac_device *device = open_device();
    assert_string_equal(tombac_device_name(device), "fake");
    tombac_device_limits limits = tombac_device_get_limits(device);
    assert_int_equal(limits.max_threads_per_threadgroup, 1024);
    assert_int_equal(limits.simd_width, 32);
    assert_int_equal(limits.max_threadgroup_memory, 32768);
    assert_true(limits.max_buffer_size > 1 << 20);
    tombac_device_release(device);
    tombac_error *error = NULL;
    tombac_device *none = NULL;
    tombac_status status = tombac_device_open("nowhere", &none, &error);
    expect_failure(status, error, TOMBAC_ERROR_NOT_FOUND,
        "no device 'nowhere'; this library has: 'absent', 'fake', 'other', 'gpu'");
    status = tombac_device_open("absent", &none, &error);
    expect_failure(status, error, TOMBAC_ERROR_UNSUPPORTED, "'absent'");
    assert_int_equal(tombac_device_open("nowhere", &none, NULL), TOMBAC_ERROR_NOT_FOUND);
    assert_null(none);
    tombac_device_release(NULL);
}

static void test_reflection(void **state)
{
    tombac_device *device = open_device();
    tombac_library *library = open_library(device, plain);
    assert_int_equal(tombac_library_kernel_count(library), 2);
    assert_string_equal(tombac_library_kernel_name(library, 1), "two");
    assert_null(tombac_library_kernel_name(library, 2));
    assert_int_equal(tombac_library_constant_count(library), 3);
    tombac_constant_info info;
    assert_int_equal(tombac_library_get_constant(library, 2, &info, NULL), TOMBAC_OK);
    assert_string_equal(info.name, "shift");
    assert_int_equal(info.index, 7);
    assert_int_equal(info.type, TOMBAC_TYPE_F32);
    assert_int_equal(info.vector_length, 3);
    assert_int_equal(tombac_library_get_constant(library, 3, &info, NULL), TOMBAC_ERROR_NOT_FOUND);
    tombac_kernel *kernel = open_kernel(library, "two");
    tombac_library_release(library); /* the kernel keeps both alive */
    tombac_device_release(device);
    assert_string_equal(tombac_kernel_name(kernel), "two");
    assert_int_equal(tombac_kernel_max_threads_per_threadgroup(kernel), 512);
    assert_int_equal(tombac_kernel_static_threadgroup_memory(kernel), 96);
    assert_int_equal(tombac_kernel_argument_count(kernel), 3);
    tombac_argument a;
    assert_int_equal(tombac_kernel_get_argument(kernel, 0, &a, NULL), TOMBAC_OK);
    assert_string_equal(a.name, "a");
    assert_string_equal(a.type_name, "float4");
    assert_true(
        a.kind == TOMBAC_ARGUMENT_BUFFER && a.type == TOMBAC_TYPE_F32 && a.vector_length == 4 && a.active);
    assert_true(
        a.element_size == 16 && a.element_alignment == 16 && !a.writable && !a.reference && a.index == 0);
    assert_int_equal(tombac_kernel_get_argument(kernel, 2, &a, NULL), TOMBAC_OK);
    assert_true(a.kind == TOMBAC_ARGUMENT_CONSTANT && a.type == TOMBAC_TYPE_OTHER && a.vector_length == 0 &&
                a.reference);
    assert_int_equal(a.index, 5);
    tombac_error *error = NULL;
    tombac_status status = tombac_kernel_get_argument(kernel, 3, &a, &error);
    expect_failure(status, error, TOMBAC_ERROR_NOT_FOUND, "'two' has 3 arguments, no number 3");
    assert_non_null(strstr(tombac_kernel_reflection_json(kernel), "\"args_t\""));
    assert_ptr_equal(tombac_kernel_retain(kernel), kernel);
    tombac_kernel_release(kernel);
    tombac_kernel_release(kernel);
}

/* Creates a library and kernel "k" of it; both failures end here. */
static tombac_status compile(const char *source, tombac_error **error)
{
    tombac_device *device = open_device();
    tombac_library *library = NULL;
    tombac_kernel *kernel = NULL;
    tombac_status status =
        tombac_library_create_from_source(device, "my.metal", source, strlen(source), NULL, &library, error);
    if (status == TOMBAC_OK) status = tombac_kernel_create(library, "k", NULL, 0, &kernel, error);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    return status;
}

static void test_compiler_failures(void **state)
{
    static const struct {
        const char *source, *part;
        tombac_status status;
    } cases[] = {
        {"fail-list 3 my.metal:4:9: error: no such thing", "my.metal:4:9: error: no such thing",
            TOMBAC_ERROR_SOURCE},
        {"fail-list 5 clang-22 is not installed", "clang-22 is not installed", TOMBAC_ERROR_COMPILER},
        {"fail-list 2 unknown standard", "unknown standard", TOMBAC_ERROR_ARGUMENT},
        {"bad-list", "'kernels' is not an array", TOMBAC_ERROR_ARTIFACT},
        {"kernel other", "'my.metal' has no kernel 'k' (it has 1 kernels)", TOMBAC_ERROR_NOT_FOUND},
        {"kernel k\nfail-compile 3 my.metal:4:9: error: bad", "error: bad", TOMBAC_ERROR_SOURCE},
        {"kernel k\nfail-compile 4 textures are not supported", "textures", TOMBAC_ERROR_UNSUPPORTED},
        {"kernel k\nfail-compile 5 internal", "internal", TOMBAC_ERROR_COMPILER},
        {"kernel k\nfail-compile 77 ", "exit status 77", TOMBAC_ERROR_COMPILER},
        {"kernel k\ncrash", "crashed", TOMBAC_ERROR_COMPILER},
        {"kernel k\nobject FAKE x\nbad-artifact", "damaged", TOMBAC_ERROR_ARTIFACT},
        {"kernel k\nobject FAKE x\nno-object", "no object code", TOMBAC_ERROR_ARTIFACT},
        {"kernel k\nobject NONSENSE", "not a fake object", TOMBAC_ERROR_ARTIFACT},
        {"kernel k\nobject FAKE x\nengine cpu", "for the engine 'cpu', not 'fake'", TOMBAC_ERROR_ARTIFACT},
        {"kernel k\nobject FAKE x\nname q", "holds the kernel 'q', not 'k'", TOMBAC_ERROR_ARTIFACT},
        {"kernel k\nobject FAKE x\ntarget x86-64-v9", "for 'x86-64-v9'", TOMBAC_ERROR_ARTIFACT},
        {"kernel k\nobject FAKE x\nmax 2000", "'max_total_threads_per_threadgroup' is out of range",
            TOMBAC_ERROR_ARTIFACT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tombac_error *error = NULL;
        tombac_status status = compile(cases[i].source, &error);
        expect_failure(status, error, cases[i].status, cases[i].part);
        assert_int_equal(compile(cases[i].source, NULL), cases[i].status);
    }
}

static void test_error_location(void **state)
{
    tombac_error *error = NULL;
    assert_int_equal(
        compile("kernel k\nfail-compile 3 a/b c.h:12:34: error: x", &error), TOMBAC_ERROR_SOURCE);
    assert_string_equal(tombac_error_file(error), "a/b c.h");
    assert_int_equal(tombac_error_line(error), 12);
    assert_int_equal(tombac_error_column(error), 34);
    assert_string_equal(tombac_error_kernel(error), "k");
    tombac_error_release(error);
}

static void test_limits(void **state)
{
    setenv("TOMBAC_CC_TIME", "0.2", 1);
    tombac_error *error = NULL;
    tombac_status status = compile("kernel k\nhang", &error);
    expect_failure(status, error, TOMBAC_ERROR_COMPILER, "longer than 0.2 s");
    unsetenv("TOMBAC_CC_TIME");
}

static void test_missing_compiler(void **state)
{
    setenv("TOMBAC_CC", "/nonexistent/tombac-cc", 1);
    tombac_error *error = NULL;
    tombac_status status = compile("kernel k", &error);
    expect_failure(status, error, TOMBAC_ERROR_COMPILER, "'/nonexistent/tombac-cc'");
}

/* Runs a copy of this program that lies in the world's folder/bin; it compiles one source (main, below) and
 * prints the error. */
static void expect_probe(const world *w, const char *path, const char *expected)
{
    char program[128];
    snprintf(program, sizeof program, "%s/bin/probe", w->folder);
    const char *const arguments[] = {program, "probe", NULL};
    tb_process process = {.arguments = arguments, .time_limit = 60};
    char *before = strdup(getenv("PATH"));
    setenv("PATH", path, 1);
    assert_int_equal(tb_process_run(&process, NULL), TOMBAC_OK);
    setenv("PATH", before, 1);
    free(before);
    if (!strstr(tb_text_string(&process.output), expected))
        fail_msg("'%s' lacks '%s'", tb_text_string(&process.output), expected);
    tb_text_free(&process.output);
    tb_text_free(&process.errors);
}

static void link_compiler(const char *path)
{
    assert_int_equal(symlink(TEST_FAKE_CC, path), 0);
}

/* Without $TOMBAC_CC: beside the program, in PATH, or nowhere. */
static void test_search(void **state)
{
    const world *w = *state;
    char command[512], path[128];
    snprintf(command, sizeof command, "mkdir -p '%s/bin' '%s/elsewhere' && cp /proc/%d/exe '%s/bin/probe'",
        w->folder, w->folder, (int)getpid(), w->folder);
    assert_int_equal(system(command), 0);
    unsetenv("TOMBAC_CC");
    expect_probe(w, "/nonexistent", "the compiler 'tombac-cc' is not installed");
    snprintf(path, sizeof path, "%s/elsewhere/tombac-cc", w->folder);
    link_compiler(path);
    snprintf(path, sizeof path, "/nonexistent:%s/elsewhere:/usr/bin", w->folder);
    expect_probe(w, path, "compiled");
    snprintf(path, sizeof path, "%s/bin/tombac-cc", w->folder);
    link_compiler(path);
    expect_probe(w, "/nonexistent", "compiled");
}

/* What the device "other" (which wants line tables) prints: the command line of its compilation. */
static void test_command_line(void **state)
{
    static const char *const defines[] = {"A=1", "B"}, *const folders[] = {"/inc"};
    const tombac_compile_options options = {.standard = "metal3.1",
        .math = TOMBAC_MATH_SAFE,
        .defines = defines,
        .define_count = 2,
        .include_folders = folders,
        .include_folder_count = 1};
    tombac_device *device = NULL;
    tombac_library *library = NULL;
    tombac_kernel *kernel = NULL;
    tombac_launch *launch = NULL;
    static const char source[] = "kernel k\nconstant flag 3 bool bool 1\nconstant size 1 uint u32 1\n"
                                 "constant shift 7 float3 f32 3\nobject FAKE show \nshow\n";
    assert_int_equal(tombac_device_open("other", &device, NULL), TOMBAC_OK);
    assert_int_equal(tombac_library_create_from_source(
                         device, "n.metal", source, strlen(source), &options, &library, NULL),
        TOMBAC_OK);
    bool flag = true;
    uint32_t size = 258;
    float shift[4] = {1, 2, 3, 99};
    const tombac_constant constants[] = {
        {"shift", 0, shift, sizeof shift}, {"flag", 0, &flag, 1}, {NULL, 1, &size, 4}};
    assert_int_equal(tombac_kernel_create(library, "k", constants, 3, &kernel, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_create(kernel, &launch, NULL), TOMBAC_OK);
    assert_int_equal(
        tombac_launch_set_threads(launch, (tombac_size3){1, 1, 1}, (tombac_size3){1, 1, 1}, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_submit(launch, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_wait(launch, NULL), TOMBAC_OK);
    assert_string_equal(tombac_launch_log(launch),
        "FAKE show {compile -std=metal3.1 --math safe -DA=1 -DB -I/inc -g --kernel k --engine other "
        "--constant 1=0x02010000 --constant 3=0x01 --constant 7=0x0000803f0000004000004040 -o --name n.metal "
        "- }");
    tombac_launch_release(launch);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
}

static void test_constants(void **state)
{
    tombac_device *device = open_device();
    tombac_library *library = open_library(device, plain);
    tombac_kernel *kernel = NULL;
    uint64_t eight = 0;
    const struct {
        tombac_constant given[2];
        size_t count;
        tombac_status status;
        const char *part;
    } cases[] = {
        {{{"none", 0, &eight, 1}}, 1, TOMBAC_ERROR_NOT_FOUND, "no function constant 'none'"},
        {{{NULL, 99, &eight, 1}}, 1, TOMBAC_ERROR_NOT_FOUND, "index 99"},
        {{{"size", 0, &eight, 8}}, 1, TOMBAC_ERROR_ARGUMENT, "'size' is a uint of 4 bytes, not 8"},
        {{{"flag", 0, NULL, 1}}, 1, TOMBAC_ERROR_ARGUMENT, "'flag' has no data"},
        {{{"size", 0, &eight, 4}, {NULL, 1, &eight, 4}}, 2, TOMBAC_ERROR_ARGUMENT,
            "constant 1 is given twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tombac_error *error = NULL;
        tombac_status status =
            tombac_kernel_create(library, "one", cases[i].given, cases[i].count, &kernel, &error);
        assert_string_equal(tombac_error_kernel(error), "one");
        expect_failure(status, error, cases[i].status, cases[i].part);
        assert_null(kernel);
    }
    tombac_library_release(library);
    tombac_device_release(device);
}

static void test_bad_calls(void **state)
{
    tombac_device *device = open_device();
    tombac_library *library = NULL;
    tombac_kernel *kernel = NULL;
    tombac_error *error = NULL;
    const tombac_compile_options bad_math = {.math = (tombac_math)9}, no_list = {.define_count = 1},
                                 empty = {.defines = &(const char *){""}, .define_count = 1};
    assert_int_equal(tombac_device_open(NULL, NULL, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(
        tombac_library_create_from_source(NULL, NULL, "", 0, NULL, &library, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(
        tombac_library_create_from_source(device, NULL, "", 0, NULL, NULL, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_library_create_from_source(device, NULL, NULL, 5, NULL, &library, NULL),
        TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(
        tombac_library_create_from_file(device, NULL, NULL, &library, NULL), TOMBAC_ERROR_ARGUMENT);
    tombac_status status =
        tombac_library_create_from_source(device, NULL, "", 0, &bad_math, &library, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "math mode 9");
    status = tombac_library_create_from_source(device, NULL, "", 0, &no_list, &library, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "1 defines");
    status = tombac_library_create_from_source(device, NULL, "", 0, &empty, &library, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "number 0 of the defines is empty");
    status = tombac_library_create_from_file(device, "/nonexistent.metal", NULL, &library, &error);
    expect_failure(status, error, TOMBAC_ERROR_IO, "/nonexistent.metal");
    assert_null(library);
    library = open_library(device, "");
    assert_int_equal(tombac_library_kernel_count(library), 0);
    assert_int_equal(tombac_kernel_create(library, NULL, NULL, 0, &kernel, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_kernel_create(library, "k", NULL, 1, &kernel, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_kernel_create(NULL, "k", NULL, 0, &kernel, NULL), TOMBAC_ERROR_ARGUMENT);
    tombac_library_release(library);
    tombac_device_release(device);
}

static void test_types(void **state)
{
    static const size_t sizes[] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4};
    static const char *const names[] = {
        "", "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32"};
    for (int i = 0; i < 13; i++) {
        assert_int_equal(tombac_type_size((tombac_type)i), sizes[i]);
        assert_string_equal(tombac_type_name((tombac_type)i), names[i]);
    }
    assert_int_equal(tombac_type_size((tombac_type)13), 0);
    assert_int_equal(tombac_type_size((tombac_type)-1), 0);
}

static int probe(void)
{
    tombac_error *error = NULL;
    tombac_status status = compile("kernel k\nobject FAKE x\n", &error);
    puts(status == TOMBAC_OK ? "compiled" : tombac_error_message(error));
    tombac_error_release(error);
    return 0;
}

int main(int count, char **arguments)
{
    if (count == 2 && strcmp(arguments[1], "probe") == 0) return probe();
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {TEST(test_devices), TEST(test_reflection),
        TEST(test_compiler_failures), TEST(test_error_location), TEST(test_limits),
        TEST(test_missing_compiler), TEST(test_search), TEST(test_command_line), TEST(test_constants),
        TEST(test_bad_calls), TEST(test_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
