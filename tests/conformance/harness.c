/* Calls and comparisons of the conformance suite. Libraries are opened once per file and options and kept by
 * the process. */
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GUARD = 256, GUARD_BYTE = 0xA5 };

/* ---- Tests ---- */

void cf_fail(cf_test *test, const char *format, ...)
{
    if (test->failed) return;
    test->failed = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(test->message, sizeof test->message, format, arguments);
    va_end(arguments);
}

bool cf_failed(const cf_test *test)
{
    return test->failed;
}
tombac_device *cf_device(cf_test *test)
{
    return test->device;
}

void *cf_alloc(cf_test *test, size_t size)
{
    cf_block *block = calloc(1, sizeof *block + size);
    if (!block) {
        fputs("tombac-conformance: out of memory\n", stderr);
        exit(2);
    }
    block->next = test->blocks;
    test->blocks = block;
    return block->data;
}

void cf_free_all(cf_test *test)
{
    while (test->blocks) {
        cf_block *next = test->blocks->next;
        free(test->blocks);
        test->blocks = next;
    }
}

uint64_t cf_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* ---- Building a call ---- */

static void bind(cf_call *call, cf_binding binding)
{
    if (call->binding_count < CF_MAX_BINDINGS) call->bindings[call->binding_count++] = binding;
}

void cf_buffer(cf_call *call, uint32_t index, void *data, size_t size)
{
    bind(call, (cf_binding){.kind = CF_BUFFER, .index = index, .data = data, .size = size});
}

void cf_tensor(cf_call *call, uint32_t index, tombac_tensor tensor, void *data, size_t size)
{
    bind(call, (cf_binding){.kind = CF_TENSOR, .index = index, .data = data, .size = size, .tensor = tensor});
}

void cf_bytes(cf_call *call, uint32_t index, const void *data, size_t size)
{
    bind(call, (cf_binding){.kind = CF_BYTES, .index = index, .data = (void *)data, .size = size});
}

void cf_threadgroup(cf_call *call, uint32_t index, size_t size)
{
    bind(call, (cf_binding){.kind = CF_THREADGROUP, .index = index, .size = size});
}

void cf_constant(cf_call *call, const char *name, const void *data, size_t size)
{
    if (call->constant_count < CF_MAX_CONSTANTS)
        call->constants[call->constant_count++] = (tombac_constant){name, 0, data, size};
}

void cf_constant_at(cf_call *call, uint32_t index, const void *data, size_t size)
{
    if (call->constant_count < CF_MAX_CONSTANTS)
        call->constants[call->constant_count++] = (tombac_constant){NULL, index, data, size};
}

/* ---- Running it ---- */

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The library of call->file with its options, opened at the first use. */
static tombac_status library_of(
    cf_test *test, const cf_call *call, tombac_library **library, tombac_error **error)
{
    for (cf_library *l = test->cache->libraries; l; l = l->next)
        if (same(l->file, call->file) && same(l->standard, call->standard) && l->math == call->math) {
            *library = l->library;
            return TOMBAC_OK;
        }
    char path[4096];
    const char *name = strrchr(call->file, '/');
    bool whole = call->file[0] == '/'; /* a generated source; it may have come along with the others */
    snprintf(path, sizeof path, "%s/%s", test->cache->folder, whole ? name + 1 : call->file);
    if (whole && access(path, R_OK) != 0) snprintf(path, sizeof path, "%s", call->file);
    tombac_compile_options options = {.standard = call->standard, .math = call->math};
    tombac_status status = tombac_library_create_from_file(test->device, path, &options, library, error);
    if (status != TOMBAC_OK) return status;
    cf_library *entry = malloc(sizeof *entry);
    if (!entry) exit(2);
    *entry = (cf_library){test->cache->libraries, call->file, call->standard, call->math, *library};
    test->cache->libraries = entry;
    return TOMBAC_OK;
}

static bool guarded(cf_test *test)
{
    return strcmp(tombac_device_name(test->device), "check") != 0;
}

/* A buffer that holds the binding's data, between guards where the device does not check itself. */
static tombac_status make_buffer(
    cf_test *test, const cf_binding *binding, tombac_buffer **buffer, size_t *offset, tombac_error **error)
{
    *offset = guarded(test) ? GUARD : 0;
    size_t size = binding->size + 2 * *offset;
    tombac_status status = tombac_buffer_create(test->device, size, NULL, buffer, error);
    if (status != TOMBAC_OK) return status;
    unsigned char *bytes = tombac_buffer_contents(*buffer);
    if (*offset) memset(bytes, GUARD_BYTE, size);
    if (binding->size) memcpy(bytes + *offset, binding->data, binding->size);
    return TOMBAC_OK;
}

/* Copies results back and looks at the guards. */
static void take_buffer(
    cf_test *test, const cf_call *call, const cf_binding *binding, tombac_buffer *buffer, size_t offset)
{
    const unsigned char *bytes = tombac_buffer_contents(buffer);
    if (binding->size) memcpy(binding->data, bytes + offset, binding->size);
    for (size_t i = 0; i < offset; i++) {
        if (bytes[i] != GUARD_BYTE)
            cf_fail(test, "%s: wrote %zu bytes before buffer %u", call->kernel, offset - i, binding->index);
        if (bytes[offset + binding->size + i] != GUARD_BYTE)
            cf_fail(test, "%s: wrote %zu bytes past buffer %u", call->kernel, i, binding->index);
    }
}

/* Does the binding go to an argument in constant memory? */
static bool is_constant(const tombac_kernel *kernel, const cf_binding *binding)
{
    tombac_argument argument;
    for (size_t i = 0; i < tombac_kernel_argument_count(kernel); i++)
        if (tombac_kernel_get_argument(kernel, i, &argument, NULL) == TOMBAC_OK && argument.active &&
            argument.index == binding->index && argument.kind == TOMBAC_ARGUMENT_CONSTANT)
            return true;
    return false;
}

/* An operation that is made counts as a launch; this one is dropped. Then waits for the code that the launch will run. */
static tombac_status specialise(
    cf_test *test, tombac_kernel *kernel, const tombac_launch *object, tombac_error **error)
{
    tombac_operation *operation = NULL;
    tombac_status status = tombac_launch_operation(object, &operation, error);
    tombac_operation_release(operation);
    if (status == TOMBAC_OK) status = tombac_kernel_await_specialisation(kernel, 100, error);
    if (tombac_kernel_get_specialisation(kernel).failed)
        cf_fail(test, "%s: cannot be specialised", tombac_kernel_name(kernel));
    return status;
}

static tombac_status launch(
    cf_test *test, cf_call *call, tombac_kernel *kernel, tombac_launch *object, tombac_error **error)
{
    bool special = test->cache->specialise;
    tombac_status status = TOMBAC_OK;
    tombac_buffer *buffers[CF_MAX_BINDINGS] = {NULL};
    size_t offsets[CF_MAX_BINDINGS] = {0};
    for (size_t i = 0; i < call->binding_count && status == TOMBAC_OK; i++) {
        const cf_binding *b = &call->bindings[i];
        if (b->kind == CF_THREADGROUP) {
            status = tombac_launch_set_threadgroup_memory(object, b->index, b->size, error);
        } else if (b->kind == CF_BYTES || (special && b->size && b->size <= 4096 && is_constant(kernel, b))) {
            status = tombac_launch_set_bytes(object, b->index, b->data, b->size, error);
        } else {
            status = make_buffer(test, b, &buffers[i], &offsets[i], error);
            if (status == TOMBAC_OK && b->kind == CF_TENSOR)
                status = tombac_launch_set_tensor(object, b->index, buffers[i], offsets[i], &b->tensor, error);
            else if (status == TOMBAC_OK)
                status = tombac_launch_set_buffer(object, b->index, buffers[i], offsets[i], error);
        }
    }
    if (status == TOMBAC_OK)
        status = call->whole_groups ? tombac_launch_set_threadgroups(object, call->grid, call->group, error)
                                    : tombac_launch_set_threads(object, call->grid, call->group, error);
    if (status == TOMBAC_OK && special) status = specialise(test, kernel, object, error);
    if (status == TOMBAC_OK) status = tombac_launch_submit(object, error);
    if (status == TOMBAC_OK) status = tombac_launch_wait(object, error);
    const char *log = tombac_launch_log(object);
    call->log = cf_alloc(test, strlen(log) + 1);
    memcpy(call->log, log, strlen(log) + 1);
    for (size_t i = 0; i < call->binding_count; i++) {
        if (buffers[i] && status == TOMBAC_OK)
            take_buffer(test, call, &call->bindings[i], buffers[i], offsets[i]);
        tombac_buffer_release(buffers[i]);
    }
    return status;
}

static tombac_status attempt(cf_test *test, cf_call *call, tombac_error **error)
{
    tombac_library *library = NULL;
    tombac_status status = library_of(test, call, &library, error);
    if (status != TOMBAC_OK) return status;
    tombac_kernel *kernel = NULL;
    status =
        tombac_kernel_create(library, call->kernel, call->constants, call->constant_count, &kernel, error);
    if (status != TOMBAC_OK) return status;
    tombac_launch *object = NULL;
    status = tombac_launch_create(kernel, &object, error);
    if (status == TOMBAC_OK) status = launch(test, call, kernel, object, error);
    tombac_launch_release(object);
    tombac_kernel_release(kernel);
    return status;
}

tombac_status cf_try(cf_test *test, cf_call *call, char *message, size_t size)
{
    tombac_error *error = NULL;
    tombac_status status = attempt(test, call, &error);
    snprintf(message, size, "%s", error ? tombac_error_message(error) : "");
    if (status != TOMBAC_OK && !error)
        cf_fail(test, "%s: status %s without an error object", call->kernel, tombac_status_name(status));
    if (error && tombac_error_status(error) != status)
        cf_fail(test, "%s: status %s, error object says %s", call->kernel, tombac_status_name(status),
            tombac_status_name(tombac_error_status(error)));
    const char *file = error ? tombac_error_file(error) : NULL;
    snprintf(call->error_file, sizeof call->error_file, "%s", file ? file : "");
    call->error_line = error ? tombac_error_line(error) : 0;
    tombac_error_release(error);
    bool check = !strcmp(tombac_device_name(cf_device(test)), "check");
    const char *unset = check && call->log ? strstr(call->log, "variables that nothing set") : NULL;
    if (check && status == TOMBAC_OK && (unset != NULL) != call->uses_unset)
        cf_fail(test, "%s: a use of what nothing set is %s: %s", call->kernel, unset ? "made up" : "not found", call->log);
    return status;
}

bool cf_run(cf_test *test, cf_call *call)
{
    char message[1024];
    tombac_status status = cf_try(test, call, message, sizeof message);
    if (status != TOMBAC_OK) cf_fail(test, "%s: %s: %s", call->kernel, tombac_status_name(status), message);
    return !test->failed;
}

/* ---- Comparisons ---- */

static void print_scalar(char *out, size_t size, tombac_type type, const void *p)
{
    union {
        uint8_t u8;
        int8_t s8;
        uint16_t u16;
        int16_t s16;
        uint32_t u32;
        int32_t s32;
        uint64_t u64;
        int64_t s64;
        float f32;
    } v = {0};
    memcpy(&v, p, tombac_type_size(type));
    switch (type) {
    case TOMBAC_TYPE_BOOL: snprintf(out, size, "%s", v.u8 ? "true" : "false"); break;
    case TOMBAC_TYPE_I8: snprintf(out, size, "%d", v.s8); break;
    case TOMBAC_TYPE_U8: snprintf(out, size, "%u", v.u8); break;
    case TOMBAC_TYPE_I16: snprintf(out, size, "%d", v.s16); break;
    case TOMBAC_TYPE_U16: snprintf(out, size, "%u", v.u16); break;
    case TOMBAC_TYPE_I32: snprintf(out, size, "%d", v.s32); break;
    case TOMBAC_TYPE_U32: snprintf(out, size, "%u (0x%08x)", v.u32, v.u32); break;
    case TOMBAC_TYPE_I64: snprintf(out, size, "%lld", (long long)v.s64); break;
    case TOMBAC_TYPE_U64: snprintf(out, size, "0x%llx", (unsigned long long)v.u64); break;
    case TOMBAC_TYPE_F16: snprintf(out, size, "%.6g (0x%04x)", cf_half_to_double(v.u16), v.u16); break;
    case TOMBAC_TYPE_BF16: snprintf(out, size, "%.6g (0x%04x)", cf_bfloat_to_double(v.u16), v.u16); break;
    case TOMBAC_TYPE_F32: snprintf(out, size, "%.9g (0x%08x)", (double)v.f32, v.u32); break;
    default: snprintf(out, size, "?");
    }
}

static bool is_nan(tombac_type type, const void *p)
{
    if (type == TOMBAC_TYPE_F32) {
        float x;
        memcpy(&x, p, sizeof x);
        return isnan(x);
    }
    if (type != TOMBAC_TYPE_F16 && type != TOMBAC_TYPE_BF16) return false;
    uint16_t bits;
    memcpy(&bits, p, sizeof bits);
    return isnan(type == TOMBAC_TYPE_F16 ? cf_half_to_double(bits) : cf_bfloat_to_double(bits));
}

bool cf_equal(cf_test *test, tombac_type type, const void *expected, const void *got, size_t count,
    const char *what_format, ...)
{
    size_t size = tombac_type_size(type), first = 0, wrong = 0;
    const char *e = expected, *g = got;
    for (size_t i = 0; i < count; i++) {
        const char *x = e + i * size, *y = g + i * size;
        if (memcmp(x, y, size) == 0 || (is_nan(type, x) && is_nan(type, y))) continue;
        if (wrong++ == 0) first = i;
    }
    if (!wrong) return true;
    char what[256], a[64], b[64];
    va_list arguments;
    va_start(arguments, what_format);
    vsnprintf(what, sizeof what, what_format, arguments);
    va_end(arguments);
    print_scalar(a, sizeof a, type, e + first * size);
    print_scalar(b, sizeof b, type, g + first * size);
    cf_fail(test, "%s[%zu]: expected %s, got %s (%zu of %zu differ)", what, first, a, b, wrong, count);
    return false;
}

/* Distance of `got` from `exact` in units of the last place of the float nearest to `exact`. */
static double ulp_error(double exact, float got)
{
    if (isnan(exact)) return isnan(got) ? 0 : HUGE_VAL;
    if (isnan(got)) return HUGE_VAL;
    float nearest = (float)exact;
    if (isinf(nearest) || isinf(got)) return (double)nearest == (double)got ? 0 : HUGE_VAL;
    int exponent = -126;
    if (exact != 0) {
        frexp(exact, &exponent);
        exponent -= 1;
        if (exponent < -126) exponent = -126;
    }
    return fabs((double)got - exact) / ldexp(1, exponent - 23);
}

bool cf_close(cf_test *test, const double *expected, const float *got, size_t count, double ulps,
    double absolute, const char *what_format, ...)
{
    size_t first = 0, wrong = 0;
    double first_error = 0;
    for (size_t i = 0; i < count; i++) {
        double error = ulp_error(expected[i], got[i]);
        if (error <= ulps || fabs((double)got[i] - expected[i]) <= absolute) continue;
        if (fabs(expected[i]) < 0x1p-126 && got[i] == 0) continue;
        if (wrong++ == 0) {
            first = i;
            first_error = error;
        }
    }
    if (!wrong) return true;
    char what[256];
    va_list arguments;
    va_start(arguments, what_format);
    vsnprintf(what, sizeof what, what_format, arguments);
    va_end(arguments);
    cf_fail(test, "%s[%zu]: expected %.10g, got %.9g (%.3g ulp, %g allowed; %zu of %zu wrong)", what, first,
        expected[first], (double)got[first], first_error, ulps, wrong, count);
    return false;
}
