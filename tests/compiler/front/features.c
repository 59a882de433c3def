/* Every row of features.def: below its version the use of the name is an error that names the version, at its
 * place; from it on the front end has nothing against the name; and the newest version accepts all examples.
 */
#include "compiler/front/feature.h"
#include "compiler/front/front.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static const unsigned versions[] = {200, 210, 220, 230, 240, 300, 310, 320, 400, 410};
enum { VERSIONS = sizeof versions / sizeof *versions };

static tombac_status compile(const char *text, unsigned version, tb_text *message)
{
    char standard[32];
    snprintf(standard, sizeof standard, "metal%u.%u", version / 100, version / 10 % 10);
    front_options options = {.standard = standard};
    front_unit *unit = NULL;
    front_result result = {0};
    tombac_error *error = NULL;
    tombac_status status = front_open("f.metal", text, strlen(text), &options, &unit, &error);
    if (status == TOMBAC_OK) status = front_compile(unit, NULL, true, &result, &error);
    tb_text_puts(message, error ? tombac_error_message(error) : "");
    tombac_error_release(error);
    front_result_free(&result);
    front_close(unit);
    return status;
}

static unsigned before(unsigned version)
{
    unsigned last = 0;
    for (size_t i = 0; i < VERSIONS; i++)
        if (versions[i] < version) last = versions[i];
    return last;
}

static void append_use(tb_text *source, const front_feature *f, size_t i)
{
    tb_text_printf(source, "kernel void k%zu(device uint *p) { %s }\n", i, f->example);
}

static void every_row_is_refused_below_its_version(void **state)
{
    for (size_t i = 0; front_feature_at(i); i++) {
        const front_feature *f = front_feature_at(i);
        tb_text source = {0}, message = {0}, wanted = {0};
        append_use(&source, f, i);
        const char *word = f->name;
        size_t length = strcspn(word, "<(");
        const char *at = strstr(source.data, word);
        assert_non_null(at);
        assert_true(before(f->version) > 0);
        tombac_status status = compile(source.data, before(f->version), &message);
        tb_text_printf(&wanted, "f.metal:1:%d: error: '%.*s' needs language version metal%u.%u or later",
            (int)(at - source.data) + 1, (int)length, word, f->version / 100, f->version / 10 % 10);
        if (status != TOMBAC_ERROR_SOURCE || !strstr(tb_text_string(&message), wanted.data))
            fail_msg("row '%s': wanted\n%s\nfound %s:\n%s", f->name, wanted.data, tombac_status_name(status),
                tb_text_string(&message));
        tb_text_free(&source);
        tb_text_free(&message);
        tb_text_free(&wanted);
    }
}

/* One compilation per version: all rows that it has. */
static void every_row_is_accepted_from_its_version(void **state)
{
    for (size_t v = 0; v < VERSIONS; v++) {
        tb_text source = {0}, message = {0};
        for (size_t i = 0; front_feature_at(i); i++)
            if (front_feature_at(i)->version <= versions[v]) append_use(&source, front_feature_at(i), i);
        if (source.size && compile(source.data, versions[v], &message) != TOMBAC_OK)
            fail_msg("version %u: %s", versions[v], tb_text_string(&message));
        tb_text_free(&source);
        tb_text_free(&message);
    }
}

/* The source's own declarations win, in every version. */
static void own_names_are_free(void **state)
{
    static const char *const sources[] = {
        "struct bfloat { ushort bits; }; bfloat f() { bfloat b = {0}; return b; }",
        "typedef struct half_like { ushort bits; } bfloat; bfloat f(thread bfloat &b) { return b; }",
        "using bfloat = ushort; bfloat f(bfloat b) { return b; }",
        "float nextafter(float x, float y) { return x + y; } float g(float x) { return nextafter(x, 1.0); }",
        "struct S { int coherent; int bfloat; }; int f(thread S &s) { return s.bfloat + s.coherent; }",
        "int f(int nextafter) { return nextafter; }",
        "namespace own { float nextafter(float x) { return x; } } float g(float x) { return own::nextafter(x); }",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        tb_text message = {0};
        tb_text source = {0};
        tb_text_printf(&source, "%s\nkernel void k(device uint *p) { p[0] = 1; }\n", sources[i]);
        tombac_status status = compile(source.data, 240, &message);
        if (strstr(tb_text_string(&message), "needs language version"))
            fail_msg("%s: %s %s", sources[i], tombac_status_name(status), tb_text_string(&message));
        tb_text_free(&message);
        tb_text_free(&source);
    }
}

/* What the headers check, because it depends on arguments and types. */
static void headers_know_the_version(void **state)
{
    static const struct {
        unsigned first;
        const char *statement, *message;
    } rows[] = {
        {410, "atomic_store_explicit(a, 1u, memory_order_release);",
            "atomic operations with an order other than memory_order_relaxed need language version metal4.1"},
        {410, "atomic_fetch_add_explicit(a, 1u, memory_order_acq_rel);",
            "atomic operations with an order other than memory_order_relaxed need language version metal4.1"},
        {410,
            "uint e = 0; atomic_compare_exchange_weak_explicit(a, &e, 1u, memory_order_acquire, "
            "memory_order_relaxed);",
            "atomic operations with an order other than memory_order_relaxed need language version metal4.1"},
        {410, "atomic_fetch_add_explicit(s, 1.0f, memory_order_relaxed);",
            "adding to atomic floats in threadgroup memory needs language version metal4.1"},
        {300, "atomic_fetch_add_explicit(f, 1.0f, memory_order_relaxed);", "atomic"},
        {200, "atomic_fetch_add_explicit(a, 1u, memory_order_relaxed);", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *floats =
            rows[i].first >= 300 ? ", device atomic_float *f, threadgroup atomic_float *s" : "";
        tb_text source = {0}, below = {0}, from = {0};
        tb_text_printf(&source,
            "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device atomic_uint *a%s) { %s "
            "}\n",
            floats, rows[i].statement);
        if (compile(source.data, rows[i].first, &from) != TOMBAC_OK) fail_msg("%s", tb_text_string(&from));
        if (before(rows[i].first)) {
            unsigned version = rows[i].first == 410 ? 320 : before(rows[i].first);
            assert_int_equal(compile(source.data, version, &below), TOMBAC_ERROR_SOURCE);
            if (!strstr(tb_text_string(&below), rows[i].message))
                fail_msg("%s:\n%s", rows[i].statement, tb_text_string(&below));
        }
        tb_text_free(&source);
        tb_text_free(&below);
        tb_text_free(&from);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_refused_below_its_version),
        cmocka_unit_test(every_row_is_accepted_from_its_version),
        cmocka_unit_test(own_names_are_free),
        cmocka_unit_test(headers_know_the_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
