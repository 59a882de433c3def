/* Launch contracts: the form of relations, names, values, the messages; and the attribute through the real
 * compiler where there is one (test_real.c). */
#include "graph.h"

/* Opens a kernel that requires `relation`; NULL if it is refused with `part` in the message. */
static tombac_launch *make(graph *g, const char *relation, const char *part)
{
    tb_text source = {0};
    tb_text_printf(&source,
        "kernel k\nargument buffer a 0 float f32 1 4 4 -\nargument buffer out 1 float4 f32 4 16 16 w\n"
        "argument constant n 2 uint u32 1 4 4 r\n"
        "members "
        "{\"name\":\"rows\",\"offset\":0,\"size\":8,\"type\":\"ulong\",\"scalar\":\"u64\",\"vector_length\":"
        "1,"
        "\"packed\":false,\"count\":1,\"members\":[]},{\"name\":\"step\",\"offset\":8,\"size\":2,\"type\":"
        "\"short\","
        "\"scalar\":\"i16\",\"vector_length\":1,\"packed\":false,\"count\":1,\"members\":[]},"
        "{\"name\":\"bias\",\"offset\":10,\"size\":2,\"type\":\"half\",\"scalar\":\"f16\",\"vector_length\":1,"
        "\"packed\":false,\"count\":1,\"members\":[]},"
        "{\"name\":\"rate\",\"offset\":12,\"size\":4,\"type\":\"float\",\"scalar\":\"f32\",\"vector_length\":1,"
        "\"packed\":false,\"count\":1,\"members\":[]},"
        "{\"name\":\"nan\",\"offset\":16,\"size\":4,\"type\":\"float\",\"scalar\":\"f32\",\"vector_length\":1,"
        "\"packed\":false,\"count\":1,\"members\":[]}\n"
        "argument constant p 3 args_t - 0 24 8 r\nargument buffer raw 4 void - 0 0 0 -\n"
        "argument buffer gone 5 float f32 1 4 4 i\nargument threadgroup t 0 float f32 1 4 4 -\n"
        "requires %s\nobject FAKE geometry\n",
        relation);
    tombac_library *library = open_library(g->device, source.data);
    tb_text_free(&source);
    tombac_kernel *kernel = NULL;
    tombac_error *error = NULL;
    tombac_status status = tombac_kernel_create(library, "k", NULL, 0, &kernel, &error);
    tombac_library_release(library);
    if (part) {
        expect_failure(status, error, TOMBAC_ERROR_SOURCE, part);
        return NULL;
    }
    if (status != TOMBAC_OK) fail_msg("%s: %s", relation, tombac_error_message(error));
    tombac_launch *launch = NULL;
    REQUIRE(tombac_launch_create(kernel, &launch, &require_error));
    tombac_kernel_release(kernel);
    return launch;
}

static const struct {
    const char *relation, *part; /* NULL: holds */
} cases[] = {
    /* a: 10 floats; out: 3 float4; n: 10; p: rows 7, step -2, bias -0.5, rate 2.5, nan; raw: 33 bytes; t: 8 floats; grid 10 x 2,
       threadgroups 4 x 1 */
    {"len(a) == n", NULL},
    {"len(a) == len(out)", "kernel 'k' requires len(a) == len(out), but len(a) is 10 and len(out) is 3"},
    {"len( a )*4 == bytes(a) && len(out) * 4 >= n", NULL},
    {"len(a) > 20 || n == 10", NULL},
    {"n == 10 && (len(a) < 5 || p.rows == 8)", "but p.rows is 7 and 8 is 8"},
    {"p.rows + p.step == 5", NULL},
    {"p.step < -2", "but p.step is -2 and -2 is -2"},
    {"bytes(raw) % 2 == 1", NULL},
    {"(n + 2) / 4 == 3", NULL},
    {"(n - 11) * -1 == 1", NULL},
    {"grid.x == n && grid.y == 2 && grid.z == 1 && threadgroup.x == 4", NULL},
    {"grid.x <= len(out)", "but grid.x is 10 and len(out) is 3"},
    {"len(t) == 8", NULL},
    {"len(gone) == 5", NULL}, /* removed */
    {"n / (n - 10) == 1", "but it divides by zero"},
    {"9223372036854775807 + n > 0", "but it overflows"},
    {"p.rate > 2 && p.rate <= 2.5f && p.bias == -0.5h && -p.rate < 0", NULL},
    {"p.rate * n >= 25 && n / 4 == 2 && n / 4.0 == 2.5 && p.rate - p.bias == 3", NULL},
    {"p.rate < 2.5", "but p.rate is 2.5 and 2.5 is 2.5"},
    {"p.bias + n > 1e1f", "but p.bias + n is 9.5 and 1e1f is 10"},
    {"p.nan != p.nan && 1 / 0.0 > n", NULL},
    {"p.nan <= 1", "but p.nan is "},
    {"n != 10", "but n is 10 and 10 is 10"},
};

static void test_values(void **state)
{
    graph g = graph_open();
    const uint32_t n = 10;
    const struct {
        uint64_t rows;
        int16_t step;
        _Float16 bias;
        float rate, nan;
    } p = {7, -2, (_Float16)-0.5f, 2.5f, __builtin_nanf("")};
    tombac_buffer *a = make_buffer(&g, 40), *out = make_buffer(&g, 48), *raw = make_buffer(&g, 33);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tombac_launch *launch = make(&g, cases[i].relation, NULL);
        REQUIRE(tombac_launch_set_buffer(launch, 0, a, 0, &require_error));
        REQUIRE(tombac_launch_set_buffer(launch, 1, out, 0, &require_error));
        REQUIRE(tombac_launch_set_bytes(launch, 2, &n, sizeof n, &require_error));
        REQUIRE(tombac_launch_set_bytes(launch, 3, &p, sizeof p, &require_error));
        REQUIRE(tombac_launch_set_buffer(launch, 4, raw, 0, &require_error));
        REQUIRE(tombac_launch_set_threadgroup_memory(launch, 0, 32, &require_error));
        REQUIRE(tombac_launch_set_grid(launch, tombac_for_elements_2d(10, 2, 4, 1), &require_error));
        tombac_error *error = NULL;
        tombac_status status = tombac_launch_submit(launch, &error);
        if (cases[i].part)
            expect_failure(status, error, TOMBAC_ERROR_CONTRACT, cases[i].part);
        else if (status != TOMBAC_OK)
            fail_msg("%s: %s", cases[i].relation, tombac_error_message(error));
        else
            REQUIRE(tombac_launch_wait(launch, &require_error));
        tombac_launch_release(launch);
    }
    tombac_launch *launch = make(&g, "len(a) == n", NULL);
    REQUIRE(tombac_launch_set_buffer(launch, 0, a, 8, &require_error)); /* from the binding's start */
    REQUIRE(tombac_launch_set_buffer(launch, 1, out, 0, &require_error));
    REQUIRE(tombac_launch_set_buffer(launch, 2, raw, 0, &require_error));
    REQUIRE(tombac_launch_set_bytes(launch, 3, &p, sizeof p, &require_error));
    REQUIRE(tombac_launch_set_buffer(launch, 4, raw, 0, &require_error));
    REQUIRE(tombac_launch_set_threadgroup_memory(launch, 0, 32, &require_error));
    REQUIRE(tombac_launch_set_grid(launch, tombac_for_elements(1, 1), &require_error));
    tombac_error *error = NULL;
    tombac_status status = tombac_launch_submit(launch, &error);
    expect_failure(status, error, TOMBAC_ERROR_CONTRACT, "'n' is not known, because it is bound to a buffer");
    REQUIRE(tombac_launch_set_bytes(launch, 2, &n, sizeof n, &require_error));
    status = tombac_launch_submit(launch, &error);
    expect_failure(status, error, TOMBAC_ERROR_CONTRACT, "but len(a) is 8 and n is 10");
    tombac_launch_release(launch);
    tombac_buffer_release(a);
    tombac_buffer_release(out);
    tombac_buffer_release(raw);
    graph_close(&g);
}

static void test_form(void **state)
{
    static const char *const wrong[][2] = {{"len(b) == 1", "there is no argument 'b'"},
        {"len(a)", "a comparison is missing"}, {"len(a) ==", "a name or number is missing"},
        {"len(a) == 1 1", "'1' is too much"}, {"a == 1", "'a' is not a number in constant memory"},
        {"p.x == 1", "there is no member 'x'"}, {"p == 1", "'p' is not a number"}, {"p.rate % 2 == 1", "% takes integers"},
        {"len(raw) == 1", "no known size; use bytes(raw)"}, {"grid.w == 1", "'w' is no axis"},
        {"(len(a) == 1", "')' is missing"}, {"len a == 1", "there is no argument 'len'"},
        {"99999999999999999999 == 1", "a number is too large"},
        {"n == 1 && ", "a name or number is missing"}};
    graph g = graph_open();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) make(&g, wrong[i][0], wrong[i][1]);
    tb_text deep = {0};
    for (int i = 0; i < 5000; i++) tb_text_putc(&deep, '(');
    tb_text_puts(&deep, "1 == 1");
    make(&g, deep.data, "nested too deeply");
    tb_text_free(&deep);
    graph_close(&g);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {TEST(test_values), TEST(test_form)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
