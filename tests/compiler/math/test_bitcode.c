/* test_bitcode MATH.BC: the bitcode defines every function of docs/operations.md in both modes, refers to
 * nothing that an engine would have to supply, and nothing in it keeps it from being inlined into a kernel.
 * The functions that kernels call most stay lean. */
#include "cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static math_bitcode *bitcode;

static void report(const char *name)
{
    print_error("in math.bc: %s\n", name);
}

static void test_complete(void **state)
{
    static const char *const names[] = {"acos", "acosh", "acospi", "asin", "asinh", "asinpi", "atan", "atan2",
        "atanh", "atanpi", "cbrt", "cos", "cosh", "cospi", "divide", "erf", "erfc", "exp", "exp10", "exp2",
        "expm1", "fmod", "frexp", "hypot", "ilogb", "ldexp", "lgamma", "log", "log10", "log1p", "log2",
        "modf", "nextafter", "pow", "powr", "remainder", "rsqrt", "sin", "sincos", "sinh", "sinpi", "tan",
        "tanh", "tanpi", "tgamma"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (bitcode_cost(bitcode, "precise", names[i]) <= 0) fail_msg("precise %s is missing", names[i]);
        if (bitcode_cost(bitcode, "fast", names[i]) <= 0) fail_msg("fast %s is missing", names[i]);
    }
}

static void test_self_contained(void **state)
{
    assert_int_equal(bitcode_foreign(bitcode, report), 0);
}

static void test_portable(void **state)
{
    assert_true(bitcode_is_portable(bitcode, report));
}

static void test_lean(void **state)
{
    static const struct {
        const char *mode, *name;
        int limit;
    } limits[] = {{"fast", "exp", 20}, {"fast", "exp2", 20}, {"fast", "log", 28}, {"fast", "log2", 28},
        {"fast", "sin", 28}, {"fast", "cos", 28}, {"fast", "tanh", 28}, {"fast", "pow", 70},
        {"precise", "exp", 30}, {"precise", "log", 36}, {"precise", "tanh", 28}, {"precise", "rsqrt", 16}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        int cost = bitcode_cost(bitcode, limits[i].mode, limits[i].name);
        if (cost > limits[i].limit) fail_msg("%s %s: %d instructions", limits[i].mode, limits[i].name, cost);
    }
}

int main(int count, char **arguments)
{
    bitcode = count == 2 ? bitcode_open(arguments[1]) : NULL;
    if (!bitcode) {
        fputs("test_bitcode: no bitcode\n", stderr);
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_complete), cmocka_unit_test(test_self_contained),
        cmocka_unit_test(test_portable), cmocka_unit_test(test_lean)};
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    bitcode_close(bitcode);
    return result;
}
