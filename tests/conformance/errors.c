/* Every way to call wrongly is refused with the right status and a message that names the cause. */
#include "conformance.h"

#include <string.h>

enum { N = 64 };

/* ---- Launches of kernel `simple`, each with one thing wrong ---- */

typedef enum fault {
    NOTHING,
    NO_BUFFER,
    NO_BYTES,
    NO_THREADGROUP,
    EXTRA,
    SHORT_REFERENCE,
    SHORT_ELEMENT,
    BUFFER_AS_THREADGROUP,
    ZERO_GROUP,
    LARGE_GROUP,
    LARGE_PRODUCT,
    LARGE_THREADGROUP_MEMORY,
    LARGE_GRID,
    FAULTS
} fault;

static const struct {
    const char *name;
    tombac_status status;
    const char *text;
} faults[FAULTS] = {
    [NOTHING] = {"nothing", TOMBAC_OK, ""},
    [NO_BUFFER] = {"missing-buffer", TOMBAC_ERROR_BINDING, "'in'"},
    [NO_BYTES] = {"missing-reference", TOMBAC_ERROR_BINDING, "'pair'"},
    [NO_THREADGROUP] = {"missing-threadgroup", TOMBAC_ERROR_BINDING, "'scratch'"},
    [EXTRA] = {"extra-buffer", TOMBAC_ERROR_BINDING, "9"},
    [SHORT_REFERENCE] = {"reference-too-small", TOMBAC_ERROR_BINDING, "'pair'"},
    [SHORT_ELEMENT] = {"buffer-smaller-than-an-element", TOMBAC_ERROR_BINDING, "'in'"},
    [BUFFER_AS_THREADGROUP] = {"threadgroup-memory-for-a-buffer", TOMBAC_ERROR_BINDING, "5"},
    [ZERO_GROUP] = {"zero-threadgroup", TOMBAC_ERROR_GEOMETRY, ""},
    [LARGE_GROUP] = {"threadgroup-of-1025", TOMBAC_ERROR_GEOMETRY, "1025"},
    [LARGE_PRODUCT] = {"threadgroup-of-1000x2", TOMBAC_ERROR_GEOMETRY, "1000 x 2"},
    [LARGE_THREADGROUP_MEMORY] = {"threadgroup-memory-too-large", TOMBAC_ERROR_BINDING, "32768"},
    [LARGE_GRID] = {"grid-overflows", TOMBAC_ERROR_GEOMETRY, ""},
};

static void expect(cf_test *t, const char *what, tombac_status expected, const char *text, tombac_status got,
    const char *message)
{
    if (got != expected)
        cf_fail(t, "%s: expected '%s', got '%s': %s", what, tombac_status_name(expected),
            tombac_status_name(got), message);
    else if (!strstr(message, text))
        cf_fail(t, "%s: the message does not hold \"%s\": %s", what, text, message);
}

static void run_fault(cf_test *t, const int *p)
{
    fault f = (fault)p[0];
    uint32_t out[N] = {0}, pair[2] = {1, 2}, expected[N];
    float in[4] = {4, 0, 0, 0};
    char message[1024];
    cf_call call = {.file = "errors.metal", .kernel = "simple", .grid = {N, 1, 1}, .group = {32, 1, 1}};
    cf_buffer(&call, 0, out, sizeof out);
    if (f != NO_BYTES) cf_bytes(&call, 1, pair, f == SHORT_REFERENCE ? 4 : 8);
    if (f == BUFFER_AS_THREADGROUP) cf_threadgroup(&call, 5, 64);
    if (f == SHORT_ELEMENT) cf_bytes(&call, 5, in, 8);
    if (f != NO_BUFFER && f != BUFFER_AS_THREADGROUP && f != SHORT_ELEMENT)
        cf_buffer(&call, 5, in, sizeof in);
    if (f != NO_THREADGROUP) cf_threadgroup(&call, 2, f == LARGE_THREADGROUP_MEMORY ? 32784 : 16);
    if (f == EXTRA) cf_buffer(&call, 9, in, sizeof in);
    if (f == ZERO_GROUP) call.group.y = 0;
    if (f == LARGE_GROUP) call.group = (tombac_size3){1025, 1, 1};
    if (f == LARGE_PRODUCT) call.group = (tombac_size3){1000, 2, 1};
    if (f == LARGE_GRID) {
        call.whole_groups = true;
        call.grid = (tombac_size3){0x80000000u, 1, 1};
    }
    tombac_status status = cf_try(t, &call, message, sizeof message);
    expect(t, faults[f].name, faults[f].status, faults[f].text, status, message);
    for (int i = 0; i < N; i++) expected[i] = f == NOTHING ? 8 : 0;
    cf_equal(t, TOMBAC_TYPE_U32, expected, out, N, "out");
}

static void run_bounded(cf_test *t, const int *p)
{
    uint32_t out[128] = {0};
    char message[512];
    cf_call call = {
        .file = "errors.metal", .kernel = "bounded", .grid = {128, 1, 1}, .group = {(uint32_t)p[0], 1, 1}};
    cf_buffer(&call, 0, out, sizeof out);
    tombac_status status = cf_try(t, &call, message, sizeof message);
    expect(
        t, "bounded", p[0] > 64 ? TOMBAC_ERROR_GEOMETRY : TOMBAC_OK, p[0] > 64 ? "64" : "", status, message);
}

/* p: 0 no such kernel, 1 no such constant, 2 constant of a wrong size, 3 constant not set, 4 optional
 * argument missing, 5 argument bound that the constants removed: allowed, since hosts bind alike for all
 * variants of a kernel */
static void run_constants(cf_test *t, const int *p)
{
    static const struct {
        tombac_status status;
        const char *text;
    } wanted[] = {{TOMBAC_ERROR_NOT_FOUND, "no_such_kernel"}, {TOMBAC_ERROR_NOT_FOUND, "NO_SUCH_CONSTANT"},
        {TOMBAC_ERROR_ARGUMENT, "NEEDED"}, {TOMBAC_OK, ""}, {TOMBAC_ERROR_BINDING, "'bias'"},
        {TOMBAC_OK, ""}};
    int32_t out[N] = {0}, needed = 5;
    bool bias = p[0] == 4;
    char message[1024];
    cf_call call = {.file = "errors.metal",
        .kernel = p[0] ? "specialised" : "no_such_kernel",
        .grid = {N, 1, 1},
        .group = {N, 1, 1}};
    cf_buffer(&call, 0, out, sizeof out);
    cf_constant(&call, "NEEDED", &needed, p[0] == 2 ? 2 : 4);
    cf_constant(&call, p[0] == 1 ? "NO_SUCH_CONSTANT" : "WITH_BIAS", &bias, 1);
    if (p[0] == 5) cf_buffer(&call, 1, out, sizeof out);
    tombac_status status = cf_try(t, &call, message, sizeof message);
    expect(t, "specialised", wanted[p[0]].status, wanted[p[0]].text, status, message);
}

/* ---- Sources that must not compile ---- */

static const struct {
    const char *name, *source;
    tombac_status status;
    const char *text;
} sources[] = {
    {"undeclared",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float *out "
        "[[buffer(0)]])\n{\n    out[0] = missing;\n}\n",
        TOMBAC_ERROR_SOURCE, "test.metal:5:14"},
    {"syntax",
        "#include <metal_stdlib>\nkernel void k(device float *out [[buffer(0)]])\n{\n    out[0] = ;\n}\n",
        TOMBAC_ERROR_SOURCE, "test.metal:4:"},
    {"type",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float *out "
        "[[buffer(0)]])\n{\n    float3 v = out;\n    out[0] = v.x;\n}\n",
        TOMBAC_ERROR_SOURCE, "test.metal:5:"},
    {"write-to-constant",
        "#include <metal_stdlib>\nkernel void k(constant float *in [[buffer(0)]])\n{\n    in[0] = 1;\n}\n",
        TOMBAC_ERROR_SOURCE, "test.metal:4:"},
    {"address-space",
        "#include <metal_stdlib>\nkernel void k(device float *in [[buffer(0)]], threadgroup float *t "
        "[[threadgroup(0)]])\n{\n    t = in;\n}\n",
        TOMBAC_ERROR_SOURCE, "test.metal:4:"},
    {"missing-include", "#include \"no_such_file.h\"\nkernel void k(device float *out [[buffer(0)]]) {}\n",
        TOMBAC_ERROR_SOURCE, "no_such_file.h"},
    {"texture",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(texture2d<float> image "
        "[[texture(0)]], device float *out [[buffer(0)]])\n{\n"
        "    out[0] = image.read(uint2(0, 0)).x;\n}\n",
        TOMBAC_ERROR_UNSUPPORTED, "texture"},
    {"static-variable", "kernel void k(device int *out)\n{\n    static int count = 0;\n    out[0] = count++;\n}\n", TOMBAC_ERROR_UNSUPPORTED,
        "static"},
    {"variable-of-program", "struct counter { int n; } count;\nkernel void k(device int *out) { out[0] = count.n++; }\n",
        TOMBAC_ERROR_UNSUPPORTED, "program-scope variable"},
    {"recursion", "namespace s { int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2); } }\n"
                  "kernel void k(device int *out) { out[0] = s::tree(out[0]); }\n", TOMBAC_ERROR_UNSUPPORTED, "'s::tree'"},
};
enum { SOURCES = sizeof sources / sizeof *sources };

static void run_source(cf_test *t, const int *p)
{
    const char *source = sources[p[0]].source;
    tombac_library *library = NULL;
    tombac_kernel *kernel = NULL;
    tombac_error *error = NULL;
    tombac_status status = tombac_library_create_from_source(
        cf_device(t), "test.metal", source, strlen(source), NULL, &library, &error);
    if (status == TOMBAC_OK) status = tombac_kernel_create(library, "k", NULL, 0, &kernel, &error);
    expect(t, sources[p[0]].name, sources[p[0]].status, sources[p[0]].text, status,
        error ? tombac_error_message(error) : "");
    tombac_error_release(error);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
}

/* ---- Faults that only the check device promises to find ---- */

/* p: write, offset. A near miss names the buffer; a far one may hit another buffer's address. */
static void run_stray(cf_test *t, const int *p)
{
    if (strcmp(tombac_device_name(cf_device(t)), "check") != 0) return;
    uint32_t out[N] = {0}, in[N] = {0};
    int32_t offset = p[1];
    char message[1024];
    cf_call call = {
        .file = "errors.metal", .kernel = p[0] ? "writes" : "reads", .grid = {N, 1, 1}, .group = {32, 1, 1}};
    cf_buffer(&call, 0, out, sizeof out);
    if (!p[0]) cf_buffer(&call, 1, in, sizeof in);
    cf_bytes(&call, p[0] ? 1 : 2, &offset, 4);
    tombac_status status = cf_try(t, &call, message, sizeof message);
    expect(t, call.kernel, p[1] ? TOMBAC_ERROR_KERNEL : TOMBAC_OK, p[1] == 1 ? (p[0] ? "'out'" : "'in'") : "",
        status, message);
}

static void run_device(cf_test *t, const int *p)
{
    tombac_device *device = NULL;
    tombac_error *error = NULL;
    tombac_status status = tombac_device_open("no-such-device", &device, &error);
    expect(t, "device", TOMBAC_ERROR_NOT_FOUND, "no-such-device", status,
        error ? tombac_error_message(error) : "");
    tombac_error_release(error);
    if (tombac_device_open("no-such-device", &device, NULL) != TOMBAC_ERROR_NOT_FOUND)
        cf_fail(t, "no error object wanted");
}

void cf_family_errors(cf_suite *suite)
{
    for (int f = 0; f < FAULTS; f++) cf_add(suite, run_fault, CF_P(f), "errors.launch.%s", faults[f].name);
    cf_add(suite, run_bounded, CF_P(64), "errors.bounded.64");
    cf_add(suite, run_bounded, CF_P(128), "errors.bounded.128");
    static const char *const names[] = {"no-such-kernel", "no-such-constant", "constant-of-wrong-size",
        "fine", "optional-missing", "removed-bound"};
    for (int i = 0; i < 6; i++) cf_add(suite, run_constants, CF_P(i), "errors.constants.%s", names[i]);
    for (int i = 0; i < SOURCES; i++) cf_add(suite, run_source, CF_P(i), "errors.source.%s", sources[i].name);
    static const int offsets[] = {0, 1, 100000, -1};
    for (int i = 0; i < 4; i++) {
        if (i < 3) cf_add(suite, run_stray, CF_P(0, offsets[i]), "errors.stray.read.%d", offsets[i]);
        cf_add(suite, run_stray, CF_P(1, offsets[i]), "errors.stray.write.%d", offsets[i]);
    }
    cf_add(suite, run_device, CF_P(0), "errors.no-such-device");
}
