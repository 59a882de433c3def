/* The loader on objects that gcc and clang make when the test runs: every supported relocation, W^X, refusals
 * by name, and damaged files (truncated at every length, every byte changed), which must be errors or
 * harmless, never crashes. */
#include "base/file.h"
#include "base/process.h"
#include "runtime/loader/loader.h"

#include <elf.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const compilers[] = {TEST_CC, TEST_CLANG};
enum { COMPILERS = 2 };

/* Compiles C source with up to four options to an object file's bytes. */
static tb_text compile(const char *compiler, const char *source, const char *const options[4])
{
    char path[] = "/tmp/tombac-loader-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    const char *arguments[16] = {compiler, "-x", "c", "-c", "-fno-asynchronous-unwind-tables", "-o", path};
    int n = 7;
    for (int i = 0; i < 4 && options[i]; i++) arguments[n++] = options[i];
    arguments[n++] = "-";
    tb_process process = {
        .arguments = arguments, .input = source, .input_size = strlen(source), .time_limit = 60};
    assert_int_equal(tb_process_run(&process, NULL), TOMBAC_OK);
    if (process.exit_status != 0) fail_msg("%s", tb_text_string(&process.errors));
    tb_text_free(&process.output);
    tb_text_free(&process.errors);
    tb_text object = {0};
    assert_int_equal(tb_file_read(path, 0, &object, NULL), TOMBAC_OK);
    unlink(path);
    return object;
}

static rt_image *load(const tb_text *object, const rt_symbol *symbols, size_t count)
{
    rt_image *image = NULL;
    tombac_error *error = NULL;
    if (rt_image_load("test", object->data, object->size, symbols, count, &image, &error) != TOMBAC_OK)
        fail_msg("%s", tombac_error_message(error));
    return image;
}

static void expect_error(const tb_text *object, const char *part)
{
    rt_image *image = NULL;
    tombac_error *error = NULL;
    assert_int_equal(
        rt_image_load("test", object->data, object->size, NULL, 0, &image, &error), TOMBAC_ERROR_ARTIFACT);
    if (!strstr(tombac_error_message(error), part))
        fail_msg("'%s' lacks '%s'", tombac_error_message(error), part);
    tombac_error_release(error);
    assert_null(image);
}

static int twice(int x)
{
    return 2 * x;
}
static int outside_value = 1000;

static const char everything[] =
    "extern int twice(int); extern int outside_value;\n"
    "static const int table[4] = {3, 5, 7, 11};\n"
    "int initialised = 40; static int zeroed[1000]; int shared;\n"
    "static int local(int x) { return x + table[x & 3]; }\n"
    "int (*const pointers[2])(int) = {twice, local};\n"
    "static const int *const inner = &table[2];\n"
    "const char *text = \"abc\";\n"
    "__attribute__((noinline)) int choose(int x) {\n"
    "    switch (x) { case 0: return 12; case 1: return 99; case 2: return -7; case 3: return 4;\n"
    "                 case 4: return zeroed[3]; case 5: return text[1]; default: return 1; } }\n"
    "int run(int x) { zeroed[3] += x; shared = *inner; initialised++;\n"
    "    int (*volatile p)(int) = pointers[1];\n"
    "    return twice(x) + outside_value + p(x) + pointers[0](x) + initialised + zeroed[3] + shared + "
    "choose(x); }\n";

/* What run(1) gives the first time: 2 + 1000 + (1 + 5) + 2 + 41 + 1 + 7 + 99. */
enum { EXPECTED = 1158 };

static void run_everything(const char *const options[4])
{
    const rt_symbol symbols[] = {{"twice", (void *)(uintptr_t)twice}, {"outside_value", &outside_value}};
    for (int i = 0; i < COMPILERS; i++) {
        tb_text object = compile(compilers[i], everything, options);
        rt_image *image = load(&object, symbols, 2);
        tb_text_free(&object);
        int (*run)(int);
        void *address = rt_image_function(image, "run");
        assert_non_null(address);
        memcpy(&run, &address, sizeof run);
        assert_int_equal(run(1), EXPECTED);
        assert_int_equal(*(int *)rt_image_variable(image, "initialised"), 41);
        assert_int_equal(*(int *)rt_image_variable(image, "shared"), 7);
        assert_null(rt_image_variable(image, "run"));
        assert_null(rt_image_function(image, "initialised"));
        assert_null(rt_image_function(image, "local"));
        assert_null(rt_image_function(image, "absent"));
        const void *begin, *end;
        rt_image_code_range(image, &begin, &end);
        assert_true((char *)address >= (char *)begin && (char *)address < (char *)end);
        rt_image_unload(image);
    }
}

static void test_position_independent(void **state)
{
    run_everything((const char *[4]){"-O2", "-fPIC"});
    run_everything((const char *[4]){"-O0", "-fPIC"});
    run_everything((const char *[4]){"-O2", "-fPIC", "-fcommon"});
    run_everything((const char *[4]){"-O2", "-fPIC", "-fno-plt", "-ffunction-sections"});
}

/* Absolute 32-bit relocations: the image must lie low; what is outside is reached by call stubs and must not
 * be data. */
static void test_absolute(void **state)
{
    static const char source[] =
        "extern int twice(int); static int values[100]; int sum(int n) { int s = 0;\n"
        "for (int i = 0; i < n; i++) { values[i] = twice(i); } for (int i = 0; i < n; i++) s += values[i]; "
        "return s; }";
    const rt_symbol symbols[] = {{"twice", (void *)(uintptr_t)twice}};
    for (int i = 0; i < COMPILERS; i++) {
        tb_text object =
            compile(compilers[i], source, (const char *[4]){"-O1", "-fno-pic", "-mcmodel=small"});
        rt_image *image = load(&object, symbols, 1);
        void *address = rt_image_function(image, "sum");
        int (*sum)(int);
        memcpy(&sum, &address, sizeof sum);
        assert_int_equal(sum(10), 90);
        rt_image_unload(image);
        tb_text_free(&object);
    }
}

/* The permissions of the mapping that holds `address`, as /proc/self/maps writes them. */
static void permissions(const void *address, char out[5])
{
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    char line[512];
    out[0] = 0;
    while (fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        char rights[5];
        if (sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3) continue;
        if ((uintptr_t)address >= begin && (uintptr_t)address < end) memcpy(out, rights, 5);
    }
    fclose(maps);
}

static void test_protection(void **state)
{
    tb_text object = compile(TEST_CC, "int data = 1; const int fixed = 2; int f(void) { return data; }",
        (const char *[4]){"-fPIC"});
    rt_image *image = load(&object, NULL, 0);
    char rights[5];
    permissions(rt_image_function(image, "f"), rights);
    assert_string_equal(rights, "r-xp");
    permissions(rt_image_variable(image, "fixed"), rights);
    assert_string_equal(rights, "r--p");
    permissions(rt_image_variable(image, "data"), rights);
    assert_string_equal(rights, "rw-p");
    rt_image_unload(image);
    tb_text_free(&object);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *source, *message;
    } cases[] = {
        {"int absent(void); int f(void) { return absent(); }", "'absent'"},
        {"_Thread_local int t = 1; int f(void) { return t; }", "thread-local"},
        {"__attribute__((constructor)) void f(void) {}", "constructors"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tb_text object = compile(TEST_CC, cases[i].source, (const char *[4]){"-fPIC"});
        expect_error(&object, cases[i].message);
        tb_text_free(&object);
    }
    tb_text foreign = compile(TEST_CLANG, "int f;", (const char *[4]){"--target=aarch64-linux-gnu"});
    expect_error(&foreign, "not for x86-64");
    tb_text_free(&foreign);
    tb_text far_data =
        compile(TEST_CC, "extern int far; int f(void) { return far; }", (const char *[4]){"-fno-pic"});
    expect_error(&far_data, "'far'");
    tb_text_free(&far_data);
}

static void test_weak(void **state)
{
    tb_text object = compile(TEST_CC, "__attribute__((weak)) int w(void); int f(void) { return w ? 1 : 2; }",
        (const char *[4]){"-fPIC"});
    rt_image *image = load(&object, NULL, 0);
    void *address = rt_image_function(image, "f");
    int (*f)(void);
    memcpy(&f, &address, sizeof f);
    assert_int_equal(f(), 2);
    rt_image_unload(image);
    tb_text_free(&object);
}

/* Loads what may be damaged, from a block of exactly its size, so that a sanitizer sees every read outside.
 */
static tombac_status try_load(const char *bytes, size_t size)
{
    static const rt_symbol symbols[] = {
        {"twice", (void *)(uintptr_t)twice}, {"outside_value", &outside_value}};
    char *copy = malloc(size + !size);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    rt_image *image = NULL;
    tombac_error *error = NULL;
    tombac_status status = rt_image_load("test", copy, size, symbols, 2, &image, &error);
    assert_true((status == TOMBAC_OK) == (image != NULL) && (status == TOMBAC_OK) == (error == NULL));
    rt_image_unload(image);
    tombac_error_release(error);
    free(copy);
    return status;
}

static void test_damage(void **state)
{
    tb_text object = compile(TEST_CC, everything, (const char *[4]){"-O1", "-fPIC"});
    for (size_t size = 0; size < object.size; size++)
        assert_int_not_equal(try_load(object.data, size), TOMBAC_OK);
    unsigned errors = 0;
    for (size_t at = 0; at < object.size; at++) {
        static const unsigned char flips[] = {0xff, 0x01, 0x80};
        for (size_t k = 0; k < sizeof flips; k++) {
            object.data[at] = (char)(object.data[at] ^ flips[k]);
            errors += try_load(object.data, object.size) != TOMBAC_OK;
            object.data[at] = (char)(object.data[at] ^ flips[k]);
        }
    }
    assert_true(errors > 1000);
    assert_int_equal(try_load(object.data, object.size), TOMBAC_OK);
    tb_text_free(&object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_position_independent),
        cmocka_unit_test(test_absolute), cmocka_unit_test(test_protection), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_weak), cmocka_unit_test(test_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
