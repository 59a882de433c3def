/* Unit tests of the front end's parts: tokens, scopes, literals, Metal's words, and front_open's treatment of
 * its input. */
#include "base/file.h"
#include "compiler/front/diagnose.h"
#include "compiler/front/rewrite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static token_list lex(const char *text)
{
    token_list list;
    lex_problem problem;
    assert_int_equal(front_lex(text, strlen(text), &list, &problem, NULL), TOMBAC_OK);
    assert_int_equal(front_structure(&list, &problem, NULL), TOMBAC_OK);
    return list;
}

static void expect_token(const token_list *list, uint32_t i, token_kind kind, const char *text)
{
    assert_true(i < list->count);
    assert_int_equal(list->tokens[i].kind, kind);
    assert_true(token_is(list, i, text));
}

static void cuts_tokens(void **state)
{
    (void)state;
    token_list list =
        lex("a->b>>=c<d>> x 1.5e-3f 0x1p+2 'a' \"s\\\"\"_x u8\"t\" R\"(q\n\")\" L'\\'' ...\n#pragma p\ny");
    static const struct {
        token_kind kind;
        const char *text;
    } wanted[] = {{TOKEN_IDENTIFIER, "a"}, {TOKEN_PUNCTUATOR, "->"}, {TOKEN_IDENTIFIER, "b"},
        {TOKEN_PUNCTUATOR, ">>="}, {TOKEN_IDENTIFIER, "c"}, {TOKEN_PUNCTUATOR, "<"}, {TOKEN_IDENTIFIER, "d"},
        {TOKEN_PUNCTUATOR, ">"}, {TOKEN_PUNCTUATOR, ">"}, {TOKEN_IDENTIFIER, "x"}, {TOKEN_NUMBER, "1.5e-3f"},
        {TOKEN_NUMBER, "0x1p+2"}, {TOKEN_CHARACTER, "'a'"}, {TOKEN_STRING, "\"s\\\"\"_x"},
        {TOKEN_STRING, "u8\"t\""}, {TOKEN_STRING, "R\"(q\n\")\""}, {TOKEN_CHARACTER, "L'\\''"},
        {TOKEN_PUNCTUATOR, "..."}, {TOKEN_IDENTIFIER, "y"}};
    assert_int_equal(list.count, sizeof wanted / sizeof *wanted);
    for (uint32_t i = 0; i < list.count; i++) expect_token(&list, i, wanted[i].kind, wanted[i].text);
    assert_int_equal(list.directive_count, 1);
    assert_int_equal(list.directives[0].next, 18);
    assert_int_equal(list.tokens[16].line, 2); /* the raw string holds a newline */
    assert_int_equal(list.tokens[18].line, 4);
    front_lex_free(&list);
}

static void refuses_broken_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        uint32_t offset, line;
    } broken[] = {{"x\n \"abc\n", "missing terminating '\"' character", 3, 2},
        {"'a", "missing terminating ' character", 0, 1},
        {"R\"x(a)y\"", "raw string missing terminating delimiter", 0, 1}, {"(]", "this '(' is never closed: expected ')'", 0, 1},
        {"}", "unbalanced '}'", 0, 1}, {"a\n[(b)", "this '[' is never closed: expected ']'", 2, 2}};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        token_list list;
        lex_problem problem;
        tombac_status status = front_lex(broken[i].text, strlen(broken[i].text), &list, &problem, NULL);
        if (status == TOMBAC_OK) status = front_structure(&list, &problem, NULL);
        assert_int_equal(status, TOMBAC_ERROR_SOURCE);
        assert_string_equal(problem.message, broken[i].message);
        assert_int_equal(problem.offset, broken[i].offset);
        assert_int_equal(problem.line, broken[i].line);
        front_lex_free(&list);
    }
}

/* The scopes of all '{' of a text, as one letter each. */
static void expect_scopes(const char *text, const char *wanted)
{
    token_list list = lex(text);
    char found[64] = "";
    for (uint32_t i = 0; i < list.count; i++)
        if (list.tokens[i].code == '{') {
            size_t n = strlen(found);
            found[n] = "NCEFL"[list.tokens[i].scope];
            found[n + 1] = 0;
        }
    assert_string_equal(found, wanted);
    front_lex_free(&list);
}

static void classifies_scopes(void **state)
{
    (void)state;
    expect_scopes("namespace a { namespace { } } inline namespace b::c { }", "NNN");
    expect_scopes("struct s { enum class e : int { A }; void f() const { } }; union { int a; } u;", "CEFC");
    expect_scopes(
        "template <class T> T f() { return T{1}; } template <typename T> struct v<T> : w<T> { };", "FLC");
    expect_scopes("int a[] = {{1}, {2}}; auto l = [&](int x) { return x; }; auto k = [] { };", "LLLFF");
    expect_scopes(
        "void f() { if (a) { } else { } do { } while (0); for (;;) { { } } switch (x) { case 1: { } } }",
        "FFFFFFFF");
    expect_scopes(
        "struct s { s() : a(1), b{2} { } s() device : a(1) { } operator int() const { } };", "CFFFF");
    expect_scopes(
        "auto f() -> int { } struct s *g() { } extern \"C\" { } constant float t[2] = {1};", "FFNL");
    expect_scopes(
        "struct alignas(16) s { }; class [[deprecated]] t { }; static struct x { } y = { 1 };", "CCCL");
}

static void expect_number(const char *text, const char *wanted)
{
    tb_text out = {0};
    bool changed = front_rewrite_number(text, strlen(text), &out);
    assert_int_equal(changed, wanted != NULL);
    if (wanted) assert_string_equal(tb_text_string(&out), wanted);
    tb_text_free(&out);
}

static void rewrites_numbers(void **state)
{
    (void)state;
    expect_number("1.0", "1.0f");
    expect_number("1'000.5", "1'000.5f");
    expect_number("1e+10", "1e+10f");
    expect_number("0x1.8p-3", "0x1.8p-3f");
    expect_number("1.0h", "1.0f16");
    expect_number("3H", "3.0f16");
    expect_number("0x1p3h", "0x1p3f16");
    expect_number("2.5bf", "((bfloat)2.5f)");
    expect_number("2BF", "((bfloat)2.0f)");
    static const char *const kept[] = {
        "1", "0", "1u", "1.0f", "1.F", "0x1e", "0xbf", "0x1BF", "100ull", "1'000", "0b101", "07"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) expect_number(kept[i], NULL);
}

static void expect_words(const char *message, const char *original, const char *wanted)
{
    tb_text out = {0};
    front_metal_words(message, strlen(message), original, strlen(original), &out);
    assert_string_equal(tb_text_string(&out), wanted);
    tb_text_free(&out);
}

static void speaks_metal(void **state)
{
    (void)state;
    expect_words("'const __global_host float *' to '__local float *'", "",
        "'constant float *' to 'threadgroup float *'");
    expect_words("'metal::vec<unsigned int, 3>' and 'vec<_Float16, 4>'", "", "'uint3' and 'half4'");
    expect_words("'metal::__packed_vec<metal::vec<float, 3>>'", "", "'packed_float3'");
    expect_words("'matrix<float, 4, 3>'", "", "'float4x3'");
    expect_words("'metal::simdgroup_matrix<bfloat, 8, 8>'", "", "'simdgroup_bfloat8x8'");
    expect_words(
        "'float4' (aka 'metal::vec<float, 4>') or 'T' (aka 'int')", "", "'float4' or 'T' (aka 'int')");
    expect_words("no member named 'swz' in 'foo'", "xy", "no member named 'xy' in 'foo'");
    expect_words("'__tombac_anonymous::S'", "", "'S'");
    expect_words("'my__global' and 'metal::vec<T, N>'", "", "'my__global' and 'metal::vec<T, N>'");
}

static const char kernel_text[] =
    "#include \"helper.h\"\nkernel void k(device float *a) { a[0] = VALUE + ONE; }\n";

static void reads_text_and_dependencies(void **state)
{
    (void)state;
    char folder[] = "/tmp/tombac-front-XXXXXX", header[64], source[64];
    assert_non_null(mkdtemp(folder));
    snprintf(header, sizeof header, "%s/helper.h", folder);
    snprintf(source, sizeof source, "%s/main.metal", folder);
    assert_int_equal(tb_file_write_atomic(header, "#define ONE 1\n", 14, NULL), TOMBAC_OK);
    const char *defines[] = {"VALUE=2"};
    front_options options = {.defines = defines, .define_count = 1};
    front_unit *unit = NULL;
    tombac_error *error = NULL;
    /* The text comes from memory; its name gives the folder of "helper.h". */
    assert_int_equal(
        front_open(source, kernel_text, sizeof kernel_text - 1, &options, &unit, &error), TOMBAC_OK);
    assert_int_equal(front_kernel_count(unit), 1);
    assert_string_equal(front_kernel_at(unit, 0)->file, source);
    assert_int_equal(front_kernel_at(unit, 0)->line, 2);
    assert_int_equal(front_dependency_count(unit), 2);
    assert_string_equal(front_dependency_at(unit, 0)->path, source);
    assert_int_equal(front_dependency_at(unit, 0)->size, sizeof kernel_text - 1);
    assert_string_equal(front_dependency_at(unit, 1)->path, header);
    assert_int_equal(front_dependency_at(unit, 1)->size, 14);
    assert_true(front_dependency_at(unit, 1)->hash != front_dependency_at(unit, 0)->hash);
    uint64_t before = front_dependency_at(unit, 1)->hash;
    front_close(unit);
    assert_int_equal(tb_file_write_atomic(header, "#define ONE 2\n", 14, NULL), TOMBAC_OK);
    assert_int_equal(
        front_open(source, kernel_text, sizeof kernel_text - 1, &options, &unit, &error), TOMBAC_OK);
    assert_true(front_dependency_at(unit, 1)->hash != before);
    front_close(unit);
    unlink(header);
    rmdir(folder);
}

/* A name that only a #line directive gives is no file that was read, even if there is such a file. */
static void names_are_no_dependencies(void **state)
{
    (void)state;
    char folder[] = "/tmp/tombac-front-XXXXXX", named[64], header[64], text[512];
    assert_non_null(mkdtemp(folder));
    snprintf(named, sizeof named, "%s/named.c", folder);
    snprintf(header, sizeof header, "%s/header.h", folder);
    assert_int_equal(tb_file_write_atomic(named, "#include \"absent.h\"\n", 20, NULL), TOMBAC_OK);
    assert_int_equal(tb_file_write_atomic(header, "#define ONE 1\n", 14, NULL), TOMBAC_OK);
    snprintf(text, sizeof text, "#line 1 \"%s\"\n#include \"%s\"\n#line 7 \"%s\"\n%s", named, header, named,
        "kernel void k(device float *a) { a[0] = ONE; }\n");
    front_unit *unit = NULL;
    assert_int_equal(front_open("main.metal", text, strlen(text), NULL, &unit, NULL), TOMBAC_OK);
    assert_string_equal(front_kernel_at(unit, 0)->file, named);
    assert_int_equal(front_kernel_at(unit, 0)->line, 7);
    assert_int_equal(front_dependency_count(unit), 2);
    assert_string_equal(front_dependency_at(unit, 0)->path, "main.metal");
    assert_string_equal(front_dependency_at(unit, 1)->path, header);
    front_close(unit);
    unlink(named);
    unlink(header);
    rmdir(folder);
}

static void expect_open_error(const char *path, const char *source, tombac_status status, const char *words)
{
    front_unit *unit = NULL;
    tombac_error *error = NULL;
    assert_int_equal(front_open(path, source, source ? strlen(source) : 0, NULL, &unit, &error), status);
    assert_null(unit);
    assert_non_null(strstr(tombac_error_message(error), words));
    tombac_error_release(error);
}

static void names_what_is_missing(void **state)
{
    (void)state;
    expect_open_error("/nonexistent/x.metal", NULL, TOMBAC_ERROR_IO, "/nonexistent/x.metal");
    expect_open_error("a.metal", "#include <nothing.h>\n", TOMBAC_ERROR_SOURCE,
        "a.metal:1:10: fatal error: 'nothing.h' file not found");
    expect_open_error("a.metal", "#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>\n",
        TOMBAC_ERROR_SOURCE, "MetalPerformancePrimitives needs language version metal4.0 or later");
    expect_open_error("a.metal", "#include <metal_tensor>\n", TOMBAC_ERROR_SOURCE,
        "<metal_tensor> needs language version metal4.0 or later");
    setenv("TOMBAC_CLANG", "/nonexistent/clang", 1);
    expect_open_error("a.metal", "int x;", TOMBAC_ERROR_COMPILER, "/nonexistent/clang");
    unsetenv("TOMBAC_CLANG");
    setenv("TOMBAC_MSL", "/nonexistent", 1);
    expect_open_error("a.metal", "int x;", TOMBAC_ERROR_COMPILER, "/nonexistent");
    unsetenv("TOMBAC_MSL");
}

/* Scanning takes time in proportion to the text, whatever it is: ten times the text, at most thirty times the
 * time. */
static void scans_in_linear_time(void **state)
{
    (void)state;
    static const char *const pieces[] = {"template ", "template <", "kernel ", "kernel void f(", "x < ",
        "[[a]] ", ".xy ", "a ? b[1] : ", "threadgroup ", "struct s { void f() device; ", "static_cast<",
        "enum {"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        double seconds[2];
        for (int size = 0; size < 2; size++) {
            tb_text text = {0};
            for (int n = 0; n < (size ? 20000 : 2000); n++) tb_text_puts(&text, pieces[i]);
            struct timespec a, b;
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
            token_list list;
            lex_problem problem;
            if (front_lex(text.data, text.size, &list, &problem, NULL) == TOMBAC_OK)
                (void)front_structure(&list, &problem, NULL);
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
            front_lex_free(&list);
            tb_text_free(&text);
            seconds[size] = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
        }
        if (seconds[1] > 30 * seconds[0] + 0.5)
            fail_msg("'%s': %g s, then %g s", pieces[i], seconds[0], seconds[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cuts_tokens), cmocka_unit_test(refuses_broken_text),
        cmocka_unit_test(classifies_scopes), cmocka_unit_test(names_are_no_dependencies),
        cmocka_unit_test(rewrites_numbers),
        cmocka_unit_test(speaks_metal), cmocka_unit_test(reads_text_and_dependencies),
        cmocka_unit_test(names_what_is_missing), cmocka_unit_test(scans_in_linear_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
