/* The table of capabilities against the compiler: a row's macro is there exactly from its version on, the newest version and the
 * default are what the compiler takes, and so are the limits. */
#include "artifact/capability.h"
#include "compiler/front/front.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static const unsigned versions[] = {200, 210, 220, 230, 240, 300, 310, 320, 400, 410};
enum { VERSIONS = sizeof versions / sizeof *versions };

static tombac_status open_source(const char *text, const char *standard, front_unit **unit, tombac_error **error)
{
    front_options options = {.standard = standard};
    return front_open("c.metal", text, strlen(text), &options, unit, error);
}

/* Each macro makes a kernel of its name; the list of kernels shows which there are. */
static void macros_follow_the_table(void **state)
{
    tb_text source = {0};
    const tb_capability *c;
    size_t macros = 0;
    for (size_t i = 0; (c = tb_capability_at(i)); i++) {
        if (!c->macro[0]) continue;
        macros++;
        for (int d = 1; d < TB_DEVICES; d++) assert_int_equal(c->values[d], c->values[0]);
        tb_text_printf(&source, "#if %s == 1\nkernel void k%zu(device int *p) { *p = 1; }\n#endif\n", c->macro, i);
    }
    assert_true(macros >= 8);
    for (size_t v = 0; v < VERSIONS; v++) {
        char standard[32], name[32];
        front_unit *unit = NULL;
        tombac_error *error = NULL;
        snprintf(standard, sizeof standard, "metal%u.%u", versions[v] / 100, versions[v] / 10 % 10);
        assert_int_equal(open_source(source.data, standard, &unit, &error), TOMBAC_OK);
        for (size_t i = 0; (c = tb_capability_at(i)); i++) {
            if (!c->macro[0]) continue;
            snprintf(name, sizeof name, "k%zu", i);
            bool wanted = c->values[0] && c->since <= versions[v];
            if (wanted != (front_kernel_find(unit, name) != NULL))
                fail_msg("%s in %s: %s", c->macro, standard, wanted ? "missing" : "must not be there");
        }
        front_close(unit);
    }
    tb_text_free(&source);
}

static void versions_are_the_compilers(void **state)
{
    static const char kernel[] = "kernel void k(device int *p) { *p = 1; }";
    unsigned newest = (unsigned)tb_capability_at(TB_CAPABILITY_language_version)->values[0], usual;
    usual = (unsigned)tb_capability_at(TB_CAPABILITY_language_version_default)->values[0];
    for (unsigned version = newest; version <= newest + 190; version += 10) {
        char standard[32];
        front_unit *unit = NULL;
        tombac_error *error = NULL;
        snprintf(standard, sizeof standard, "metal%u.%u", version / 100, version / 10 % 10);
        tombac_status status = open_source(kernel, standard, &unit, &error);
        assert_int_equal(status, version == newest ? TOMBAC_OK : TOMBAC_ERROR_ARGUMENT);
        tombac_error_release(error);
        if (status == TOMBAC_OK) front_close(unit);
    }
    tb_text source = {0};
    tb_text_printf(&source, "#if __METAL_VERSION__ == %u\n%s\n#endif\n", usual, kernel);
    front_unit *unit = NULL;
    assert_int_equal(open_source(source.data, NULL, &unit, NULL), TOMBAC_OK);
    assert_int_equal(front_kernel_count(unit), 1);
    front_close(unit);
    tb_text_free(&source);
}

/* The limits that the front end refuses at. */
static void limits_are_the_compilers(void **state)
{
    unsigned buffers = (unsigned)tb_capability_at(TB_CAPABILITY_max_buffers)->values[0];
    unsigned constants = (unsigned)tb_capability_at(TB_CAPABILITY_max_function_constants)->values[0];
    for (unsigned beyond = 0; beyond < 3; beyond++) {
        tb_text source = {0};
        front_unit *unit = NULL;
        front_result result = {0};
        tombac_error *error = NULL;
        tb_text_printf(&source, "constant int c [[function_constant(%u)]];\nkernel void k(device int *p [[buffer(%u)]]) { *p = c; }",
            constants - 1 + (beyond == 2), buffers - 1 + (beyond == 1));
        assert_int_equal(open_source(source.data, NULL, &unit, NULL), TOMBAC_OK);
        tombac_status status = front_compile(unit, NULL, true, &result, &error);
        assert_int_equal(status, beyond ? TOMBAC_ERROR_SOURCE : TOMBAC_OK);
        tombac_error_release(error);
        front_result_free(&result);
        front_close(unit);
        tb_text_free(&source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(macros_follow_the_table),
        cmocka_unit_test(versions_are_the_compilers), cmocka_unit_test(limits_are_the_compilers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
