/* test_math_accuracy [NAME...]              checks every (named) rounded function in both modes against the bounds
 *                                           of functions.def
 * test_math_accuracy --every K [NAME...]    the same over every K-th float; 1 is exhaustive and takes minutes each
 * test_math_accuracy --table BITCODE        prints the table of docs/math.md */
#include "cost.h"
#include "sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const modes[] = {"precise", "fast"};

static bool selected(const char *name, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(name, names[i])) return true;
    return count == 0;
}

static int check(uint64_t step, int count, char **names)
{
    int failures = 0;
    for (size_t f = 0; f < tested_function_count; f++) {
        const tested_function *t = &tested_functions[f];
        if (!selected(t->name, count, names)) continue;
        measurement results[2];
        sweep(f, step, results);
        for (int mode = PRECISE; mode <= FAST; mode++) {
            const measurement *m = &results[mode];
            printf("%s %s::%s: %.4g ulp at (%a, %a)", m->good ? "ok  " : "FAIL", modes[mode], t->name, m->ulp,
                m->ulp_at[0], m->ulp_at[1]);
            if (mode == FAST && t->low < t->high)
                printf(", %.3g absolute at %a", m->absolute, m->absolute_at);
            if (!m->good)
                printf("; (%a, %a) gave %a, not %a", m->bad_at[0], m->bad_at[1], m->bad_got, m->bad_expected);
            putchar('\n');
            fflush(stdout);
            failures += !m->good;
        }
    }
    return failures;
}

static void print_row(const tested_function *t, int mode, const measurement *m, const math_bitcode *bitcode)
{
    char error[80], at[80];
    if (mode == FAST && t->absolute > 0) {
        snprintf(error, sizeof error, "%.2g absolute in [%g, %g]", m->absolute, t->low, t->high);
        snprintf(at, sizeof at, "%a", m->absolute_at);
    } else {
        snprintf(error, sizeof error, isinf(m->ulp) ? "by its formula" : "%.2f ulp", m->ulp);
        snprintf(at, sizeof at, t->arity == 1 ? "%a" : "%a, %a", m->ulp_at[0], m->ulp_at[1]);
    }
    printf("| %s | %s | %s | `%s` | %d |\n", t->name, modes[mode], error, at,
        bitcode_cost(bitcode, modes[mode], t->name));
}

static int table(const char *path)
{
    math_bitcode *bitcode = bitcode_open(path);
    if (!bitcode) {
        fprintf(stderr, "test_accuracy: %s is no bitcode\n", path);
        return 1;
    }
    puts("| function | mode | worst error | at | LLVM instructions |\n| --- | --- | --- | --- | --- |");
    for (size_t f = 0; f < tested_function_count; f++) {
        measurement results[2];
        sweep(f, SWEEP_STEP, results);
        for (int mode = PRECISE; mode <= FAST; mode++)
            print_row(&tested_functions[f], mode, &results[mode], bitcode);
    }
    static const char *const exact[] = {"sincos", "frexp", "ilogb", "ldexp", "modf", "nextafter"};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        for (int mode = PRECISE; mode <= FAST; mode++)
            printf("| %s | %s | %s | | %d |\n", exact[i], modes[mode], i ? "exact" : "as sin and cos",
                bitcode_cost(bitcode, modes[mode], exact[i]));
    bitcode_close(bitcode);
    return 0;
}

int main(int count, char **arguments)
{
    int result;
    if (count > 2 && !strcmp(arguments[1], "--table"))
        result = table(arguments[2]);
    else if (count > 2 && !strcmp(arguments[1], "--every")) {
        long step = strtol(arguments[2], NULL, 10);
        if (step < 1) return fputs("test_accuracy: --every needs a positive number\n", stderr), 2;
        result = check((uint64_t)step, count - 3, arguments + 3);
    } else
        result = check(SWEEP_STEP, count - 1, arguments + 1);
    reference_free();
    return result != 0;
}
