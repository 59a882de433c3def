/* Programs that are C++ but not Metal: each must be refused at the right place with the right words, and its
 * twin, which is Metal, must be accepted. Every source begins with the two usual lines, so the first line of
 * a text is line 3. */
#include "compiler/front/front.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *source;
    const char *expected; /* "LINE:COLUMN: error: message", or NULL: accepted */
} cases[] = {
    {"kernel void k(device float *a) { double x = 3; a[0] = x; }",
        "3:34: error: type 'double' does not exist in Metal"},
    {"struct d { int doubled; }; kernel void k(device int *a) { d x; x.doubled = 1; a[0] = x.doubled; }",
        NULL},
    {"kernel void k(device int *a) { thread int *p = new int[3]; a[0] = p[0]; }",
        "3:48: error: 'new' is not available in Metal"},
    {"kernel void k(device int *a) { thread int *p = a[0] ? nullptr : nullptr; delete p; }",
        "3:74: error: 'delete' is not available in Metal"},
    {"struct s { s() = default; s(int) = delete; }; kernel void k(device int *a) { s x; a[0] = sizeof(x); }",
        NULL},
    {"kernel void k(device int *a) { try { a[0] = 1; } catch (...) { } }",
        "3:32: error: exceptions are not available in Metal"},
    {"kernel void k(device int *a) { throw 3; }", "3:32: error: exceptions are not available in Metal"},
    {"struct s { virtual int f() { return 1; } }; kernel void k(device int *a) { s x; a[0] = x.f(); }",
        "3:12: error: virtual functions are not available in Metal"},
    {"kernel void k(device int *a) { a[0] = typeid(a).name()[0]; }",
        "3:39: error: 'typeid' is not available in Metal"},
    {"thread_local int q; kernel void k(device int *a) { a[0] = q; }",
        "3:1: error: 'thread_local' is not available in Metal"},
    {"kernel void k(device int *a) { asm volatile(\"nop\"); a[0] = 1; }",
        "3:32: error: inline assembly is not supported"},
    {"int counter = 0;\nkernel void k(device int *a) { a[0] = counter++; }",
        "3:5: error: variable 'counter' at program scope must be in constant memory: 'constant' is missing"},
    {"static float4 table[2];\nkernel void k(device float4 *a) { table[0] = a[0]; a[1] = table[1]; }",
        "3:15: error: variable 'table' at program scope must be in constant memory: 'constant' is missing"},
    {"namespace n { metal::vec<int, 2> v; }\nkernel void k(device int *a) { a[0] = n::v.x; }",
        "3:34: error: variable 'v' at program scope must be in constant memory: 'constant' is missing"},
    {"constant int n = 3; static constant float t[] = { 1, 2 }; constexpr constant int m = n; static "
     "constexpr int c = 2;\n"
     "enum e { one, two }; struct s { int x; static constant int y = 4; }; typedef int word; using also = "
     "word;\n"
     "template <typename T> struct q { T v; }; template struct q<int>; int f(int x); int f(int x) { int "
     "local = x; return local; }\n"
     "kernel void k(device int *a) { q<int> z; z.v = n + m + c + two + s::y + f(1) + t[1]; a[0] = z.v; }",
        NULL},
    {"constant int n [[function_constant(0)]] = 3; kernel void k(device int *a) { a[0] = n; }",
        "3:41: error: function constant 'n' cannot have an initialiser: its value comes from the host"},
    {"kernel void k(device int *a [[buffer(1)]], device int *b [[buffer(1)]]) { *a = *b; }",
        "3:56: error: kernel parameter 'b' has the index of another one"},
    {"constant bool c [[function_constant(0)]];\n"
     "kernel void k(device int *a [[buffer(1), function_constant(c)]], device int *b [[buffer(1)]]) { *b = "
     "1; }",
        NULL},
    {"kernel void k(device int *a [[bufer(0)]]) { *a = 1; }", "3:31: error: unknown attribute 'bufer'; did you mean 'buffer'?"},
    {"kernel void k(device int *a [[maybe_unused]]) { }", NULL},
    {"kernel void k(device int *a, float i [[thread_position_in_grid]]) { *a = i; }",
        "3:36: error: kernel parameter 'i' receives a position: its type must be ushort or uint, or a vector "
        "of two or "
        "three of them"},
    {"kernel void k(device int *a, uint4 i [[thread_position_in_grid]]) { *a = i.x; }",
        "3:36: error: kernel parameter 'i' receives a position: its type must be ushort or uint, or a vector "
        "of two or "
        "three of them"},
    {"typedef ushort2 place; kernel void k(device int *a, place i [[thread_position_in_grid]]) { *a = i.y; }",
        NULL},
    {"kernel int k(device int *a) { return *a; }", "3:12: error: kernel 'k' must return void"},
    {"template <int N> [[kernel]] void t(device int *a) { *a = N; }\n"
     "template [[host_name(\"x\")]] [[kernel]] void t<1>(device int *);\n"
     "template [[host_name(\"x\")]] [[kernel]] void t<2>(device int *);",
        "5:22: error: there is another kernel of the name \"x\""},
    {"kernel void k(device int *a) { a[1] = (2 + 3;\n}",
        "3:39: error: this '(' is never closed: expected ')'"},
    {"kernel void k(device int *a) { a[1 = 3;\n}", "3:33: error: this '[' is never closed: expected ']'"},
    {"kernel void k(device int *a) { int n = a[0]; int v[n]; a[1] = v[0]; }",
        "3:52: error: the size of an array must be a constant"},
    {"kernel void k(device float *a, uint n [[thread_position_in_grid]]) { threadgroup float t[n]; *a = "
     "t[0]; }",
        "3:90: error: the size of an array must be a constant"},
};

static int failures;

static void run(size_t number)
{
    tb_text source = {0};
    tb_text_printf(&source, "#include <metal_stdlib>\nusing namespace metal;\n%s\n", cases[number].source);
    front_unit *unit = NULL;
    tombac_error *error = NULL;
    front_result result = {0};
    tombac_status status = front_open("k.metal", source.data, source.size, NULL, &unit, &error);
    if (status == TOMBAC_OK) status = front_compile(unit, NULL, true, &result, &error);
    const char *message = status == TOMBAC_OK ? "" : tombac_error_message(error),
               *expected = cases[number].expected;
    tb_text wanted = {0};
    if (expected) tb_text_printf(&wanted, "k.metal:%s\n", expected);
    size_t length = wanted.size, others = 0;
    bool right = expected
                     ? status == TOMBAC_ERROR_SOURCE && strncmp(message, tb_text_string(&wanted), length) == 0
                     : status == TOMBAC_OK;
    for (const char *p = message; (p = strstr(p, ": error: ")); p++) others++;
    if (!right || others != (expected != NULL)) {
        printf("%s\n  expected: %s\n  found: %s\n", cases[number].source, expected ? expected : "no error",
            status == TOMBAC_OK ? "no error" : message);
        failures++;
    }
    tombac_error_release(error);
    front_result_free(&result);
    front_close(unit);
    tb_text_free(&wanted);
    tb_text_free(&source);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run(i);
    printf("%zu programs, %d wrong\n", sizeof cases / sizeof *cases, failures);
    return failures != 0;
}
