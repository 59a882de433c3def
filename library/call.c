/* The handle of the ready kernels, and the recording of a call; see call.h. */
#include "call.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    char *name;
    tombac_kernel *kernel;
} entry;

struct tombac_algorithms {
    atomic_size_t references;
    tombac_device *device;
    pthread_mutex_t mutex;      /* guards what follows */
    tombac_library **libraries; /* one per artifact, NULL until needed */
    entry *entries;
    size_t entry_count, entry_room;
};

static tombac_status fail(tombac_status status, tombac_error **error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static tombac_status fail(tombac_status status, tombac_error **error, const char *format, ...)
{
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return tombac_error_create(status, message, error);
}

tombac_status tombac_algorithms_create(
    tombac_device *device, tombac_algorithms **algorithms, tombac_error **error)
{
    if (!device || !algorithms)
        return fail(
            TOMBAC_ERROR_ARGUMENT, error, "%s: '%s' is NULL", __func__, device ? "algorithms" : "device");
    tombac_algorithms *made = calloc(1, sizeof *made);
    if (made) made->libraries = calloc(call_artifact_count, sizeof *made->libraries);
    if (!made || !made->libraries || pthread_mutex_init(&made->mutex, NULL) != 0) {
        if (made) free(made->libraries);
        free(made);
        return fail(TOMBAC_ERROR_MEMORY, error, "out of memory");
    }
    atomic_init(&made->references, 1);
    made->device = tombac_device_retain(device);
    *algorithms = made;
    return TOMBAC_OK;
}

tombac_algorithms *tombac_algorithms_retain(tombac_algorithms *algorithms)
{
    if (algorithms) atomic_fetch_add(&algorithms->references, 1);
    return algorithms;
}

void tombac_algorithms_release(tombac_algorithms *algorithms)
{
    if (!algorithms || atomic_fetch_sub(&algorithms->references, 1) != 1) return;
    for (size_t i = 0; i < algorithms->entry_count; i++) {
        free(algorithms->entries[i].name);
        tombac_kernel_release(algorithms->entries[i].kernel);
    }
    for (size_t i = 0; i < call_artifact_count; i++) tombac_library_release(algorithms->libraries[i]);
    free(algorithms->entries);
    free(algorithms->libraries);
    pthread_mutex_destroy(&algorithms->mutex);
    tombac_device_release(algorithms->device);
    free(algorithms);
}

/* ---- Kernels by name ---- */

static tombac_status load(
    tombac_algorithms *a, const char *name, tombac_kernel **kernel, tombac_error **error)
{
    size_t length = strcspn(name, "_"), i = 0;
    while (i < call_artifact_count &&
           (strlen(call_artifacts[i].name) != length || memcmp(call_artifacts[i].name, name, length) != 0))
        i++;
    if (i == call_artifact_count)
        return fail(TOMBAC_ERROR_NOT_FOUND, error, "there is no ready kernel '%s'", name);
    const call_artifact *from = &call_artifacts[i];
    tombac_status status = TOMBAC_OK;
    if (!a->libraries[i])
        status = tombac_library_open_artifact_memory(
            a->device, from->name, from->bytes, from->size, &a->libraries[i], error);
    return status == TOMBAC_OK ? tombac_kernel_create(a->libraries[i], name, NULL, 0, kernel, error) : status;
}

static tombac_status add_entry(
    tombac_algorithms *a, const char *name, tombac_kernel **kernel, tombac_error **error)
{
    if (a->entry_count == a->entry_room) {
        size_t room = a->entry_room ? 2 * a->entry_room : 16;
        entry *grown = realloc(a->entries, room * sizeof *grown);
        if (!grown) return fail(TOMBAC_ERROR_MEMORY, error, "out of memory");
        a->entries = grown;
        a->entry_room = room;
    }
    char *copy = strdup(name);
    if (!copy) return fail(TOMBAC_ERROR_MEMORY, error, "out of memory");
    tombac_status status = load(a, name, kernel, error);
    if (status == TOMBAC_OK)
        a->entries[a->entry_count++] = (entry){copy, *kernel};
    else
        free(copy);
    return status;
}

/* The kernel stays the handle's. */
static tombac_status find_kernel(
    tombac_algorithms *a, const char *name, tombac_kernel **kernel, tombac_error **error)
{
    tombac_status status = TOMBAC_OK;
    *kernel = NULL;
    pthread_mutex_lock(&a->mutex);
    for (size_t i = 0; i < a->entry_count && !*kernel; i++)
        if (strcmp(a->entries[i].name, name) == 0) *kernel = a->entries[i].kernel;
    if (!*kernel) status = add_entry(a, name, kernel, error);
    pthread_mutex_unlock(&a->mutex);
    return status;
}

/* ---- A call ---- */

void call_begin(call *c, tombac_algorithms *algorithms, tombac_error **error)
{
    *c = (call){.algorithms = algorithms, .error = error};
    if (!algorithms)
        call_fail(c, TOMBAC_ERROR_ARGUMENT, "'algorithms' is NULL");
    else
        c->status = tombac_sequence_begin(algorithms->device, &c->sequence, error);
}

void call_fail(call *c, tombac_status status, const char *format, ...)
{
    if (c->status != TOMBAC_OK) return;
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    c->status = tombac_error_create(status, message, c->error);
}

tombac_status call_end(call *c, tombac_operation **operation)
{
    tombac_operation *made = NULL;
    if (c->status == TOMBAC_OK)
        c->status = tombac_sequence_end(c->sequence, &made, c->error);
    else
        tombac_sequence_release(c->sequence);
    tombac_launch_release(c->launch);
    for (size_t i = 0; i < c->temporary_count; i++) tombac_buffer_release(c->temporaries[i]);
    if (c->status == TOMBAC_OK) c->status = tombac_operation_submit(made, c->error);
    if (c->status == TOMBAC_OK && !operation) c->status = tombac_operation_wait(made, -1, c->error);
    if (c->status == TOMBAC_OK && operation)
        *operation = made;
    else
        tombac_operation_release(made);
    return c->status;
}

static tombac_buffer *keep(call *c, tombac_buffer *buffer)
{
    if (c->status == TOMBAC_OK) c->temporaries[c->temporary_count++] = buffer;
    return c->status == TOMBAC_OK ? buffer : NULL;
}

tombac_buffer *call_temporary(call *c, size_t count, size_t size)
{
    if (c->status != TOMBAC_OK) return NULL;
    if (count > SIZE_MAX / size || c->temporary_count == CALL_TEMPORARIES) {
        call_fail(c, TOMBAC_ERROR_MEMORY, "the size of temporary memory overflows");
        return NULL;
    }
    tombac_buffer *buffer = NULL;
    c->status = tombac_buffer_create(c->algorithms->device, count * size, NULL, &buffer, c->error);
    return keep(c, buffer);
}

tombac_buffer *call_view(call *c, tombac_buffer *buffer, size_t size, size_t offset, size_t count)
{
    static const tombac_element elements[] = {TOMBAC_ELEMENT(TOMBAC_TYPE_U8, uint8_t),
        TOMBAC_ELEMENT(TOMBAC_TYPE_U16, uint16_t), TOMBAC_ELEMENT(TOMBAC_TYPE_U32, uint32_t),
        TOMBAC_ELEMENT(TOMBAC_TYPE_U64, uint64_t), TOMBAC_ELEMENT_VECTOR(TOMBAC_TYPE_U32, uint32_t, 4)};
    tombac_buffer *view = NULL;
    size_t i = 0;
    while (i < sizeof elements / sizeof *elements && elements[i].size != size) i++;
    if (i == sizeof elements / sizeof *elements)
        call_fail(c, TOMBAC_ERROR_UNSUPPORTED, "elements of %zu bytes are not supported", size);
    if (c->status == TOMBAC_OK)
        c->status = tombac_buffer_create_view(buffer, &elements[i], offset, count, &view, c->error);
    return keep(c, view);
}

void call_kernel(call *c, const char *format, ...)
{
    if (c->status != TOMBAC_OK) return;
    char name[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    tombac_kernel *kernel;
    c->next = 0;
    c->status = find_kernel(c->algorithms, name, &kernel, c->error);
    if (c->status == TOMBAC_OK) c->status = tombac_launch_create(kernel, &c->launch, c->error);
}

void call_buffer(call *c, tombac_buffer *buffer)
{
    if (c->status == TOMBAC_OK)
        c->status = tombac_launch_set_buffer(c->launch, c->next++, buffer, 0, c->error);
}

void call_bytes(call *c, const void *data, size_t size)
{
    if (c->status == TOMBAC_OK)
        c->status = tombac_launch_set_bytes(c->launch, c->next++, data, size, c->error);
}

void call_uint(call *c, size_t value)
{
    uint32_t word = (uint32_t)value;
    call_bytes(c, &word, sizeof word);
}

void call_float(call *c, float value)
{
    call_bytes(c, &value, sizeof value);
}

static void add_launch(call *c)
{
    if (c->status == TOMBAC_OK) c->status = tombac_sequence_add(c->sequence, c->launch, c->error);
    tombac_launch_release(c->launch);
    c->launch = NULL;
}

void call_groups(call *c, size_t x, size_t y, tombac_size3 group)
{
    tombac_size3 grid = {(uint32_t)x, (uint32_t)y, 1};
    if (c->status == TOMBAC_OK) c->status = tombac_launch_set_threadgroups(c->launch, grid, group, c->error);
    add_launch(c);
}

void call_threads(call *c, size_t x, size_t y, tombac_size3 group)
{
    tombac_size3 grid = {(uint32_t)x, (uint32_t)y, 1};
    if (c->status == TOMBAC_OK) c->status = tombac_launch_set_threads(c->launch, grid, group, c->error);
    add_launch(c);
}

/* ---- Checks ---- */

void call_check_count(call *c, const char *call_name, size_t a, size_t b)
{
    if (a > INT32_MAX || b > INT32_MAX || (b && a > INT32_MAX / b))
        call_fail(c, TOMBAC_ERROR_ARGUMENT, "%s: there are more than 2147483647 elements", call_name);
}

void call_check_apart(call *c, const char *call_name, tombac_buffer *in, tombac_buffer *out)
{
    if (in && in == out) /* NULL: found when it is bound */
        call_fail(c, TOMBAC_ERROR_ARGUMENT, "%s: the output is an input", call_name);
}

const char *call_type(call *c, const char *call_name, tombac_type type, const char *types)
{
    static const struct {
        tombac_type type;
        char letter;
        const char *name;
    } known[] = {{TOMBAC_TYPE_F32, 'f', "float"}, {TOMBAC_TYPE_F16, 'h', "half"},
        {TOMBAC_TYPE_I32, 'i', "int"}, {TOMBAC_TYPE_U32, 'u', "uint"}, {TOMBAC_TYPE_U8, 'c', "uchar"},
        {TOMBAC_TYPE_U16, 's', "ushort"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].type == type && strchr(types, known[i].letter)) return known[i].name;
    call_fail(c, TOMBAC_ERROR_UNSUPPORTED, "%s: elements of type %s are not supported", call_name,
        tombac_type_name(type));
    return NULL;
}
