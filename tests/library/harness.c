/* See harness.h. */
#include "harness.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned failures;

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    if (++failures >= 20) exit(1);
}

bool succeeded(tombac_status status, tombac_error **error, const char *what)
{
    if (status == TOMBAC_OK) return true;
    fail("%s: %s", what, tombac_error_message(*error));
    tombac_error_release(*error);
    *error = NULL;
    return false;
}

void refused(tombac_status status, tombac_error **error, tombac_status expected, const char *what)
{
    if (status != expected)
        fail("%s: %s, not %s: %s", what, tombac_status_name(status), tombac_status_name(expected),
            status == TOMBAC_OK ? "" : tombac_error_message(*error));
    if (status != TOMBAC_OK) tombac_error_release(*error);
    *error = NULL;
}

void *allocate(size_t size)
{
    void *memory = calloc(size + 1, 1);
    if (!memory) abort();
    return memory;
}

tombac_buffer *buffer_of(const void *data, size_t size)
{
    tombac_error *error = NULL;
    tombac_buffer *buffer = NULL;
    if (!succeeded(tombac_buffer_create(device, size, data, &buffer, &error), &error, "a buffer")) exit(1);
    return buffer;
}

void take(tombac_buffer *buffer, void *data, size_t size)
{
    tombac_error *error = NULL;
    const void *view;
    if (data && succeeded(tombac_buffer_begin_read(buffer, &view, &error), &error, "reading")) {
        memcpy(data, view, size);
        succeeded(tombac_buffer_end_read(buffer, &error), &error, "reading");
    }
    tombac_buffer_release(buffer);
}

void equal(const char *what, size_t n, const void *expected, const void *got, size_t size, size_t element)
{
    for (size_t i = 0; i < size; i += element) {
        if (memcmp((const char *)expected + i, (const char *)got + i, element) == 0) continue;
        fail("%s, n = %zu: element %zu of %zu is wrong", what, n, i / element, size / element);
        return;
    }
}

void close_to(
    const char *what, size_t n, const double *expected, const float *got, size_t count, double tolerance)
{
    for (size_t i = 0; i < count; i++) {
        if (fabs((double)got[i] - expected[i]) <= tolerance) continue;
        fail("%s, n = %zu: element %zu is %.9g, not %.9g", what, n, i, (double)got[i], expected[i]);
        return;
    }
}

uint64_t next_random(void)
{
    static uint64_t state = 1;
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

float next_unit(void)
{
    return (float)(int32_t)(uint32_t)next_random() * 0x1p-31f;
}
