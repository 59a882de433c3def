/* The kernels of examples/c, each launched and compared with a plain loop: kernels_in_c DEVICE [FOLDER].
 * With FOLDER, NAME.metal there (Metal source that `tombac-cc emit --what msl` made of NAME.c) runs instead.
 */
#include "example.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder; /* of generated Metal source, or NULL */

/* What an example opens, and the launch that it fills. */
typedef struct session {
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_launch *launch;
} session;

static session open_session(const char *device, const char *name)
{
    session s = {0};
    tombac_error *error = NULL;
    char path[4096];
    snprintf(
        path, sizeof path, "%s/%s%s", folder ? folder : EXAMPLE_FOLDER "/c", name, folder ? ".metal" : ".c");
    tombac_compile_options options = {.standard = folder ? "metal4.1" : NULL};
    example_check(tombac_device_open(device, &s.device, &error), &error);
    example_check(tombac_library_create_from_file(s.device, path, &options, &s.library, &error), &error);
    example_check(tombac_kernel_create(s.library, name, NULL, 0, &s.kernel, &error), &error);
    example_check(tombac_launch_create(s.kernel, &s.launch, &error), &error);
    return s;
}

static void close_session(session *s)
{
    tombac_launch_release(s->launch);
    tombac_kernel_release(s->kernel);
    tombac_library_release(s->library);
    tombac_device_release(s->device);
}

static tombac_buffer *bind(const session *s, uint32_t index, const void *data, size_t size)
{
    tombac_error *error = NULL;
    tombac_buffer *buffer = NULL;
    example_check(tombac_buffer_create(s->device, size, data, &buffer, &error), &error);
    example_check(tombac_launch_set_buffer(s->launch, index, buffer, 0, &error), &error);
    return buffer;
}

static void bind_bytes(const session *s, uint32_t index, const void *data, size_t size)
{
    tombac_error *error = NULL;
    example_check(tombac_launch_set_bytes(s->launch, index, data, size, &error), &error);
}

static void run(const session *s, tombac_size3 groups, tombac_size3 group)
{
    tombac_error *error = NULL;
    example_check(tombac_launch_set_threadgroups(s->launch, groups, group, &error), &error);
    example_check(tombac_launch_submit(s->launch, &error), &error);
    example_check(tombac_launch_wait(s->launch, &error), &error);
}

static void *allocate(size_t size)
{
    void *memory = calloc(size + 1, 1);
    if (!memory) example_fail("out of memory");
    return memory;
}

static void saxpy(const char *device, uint32_t n)
{
    session s = open_session(device, "saxpy");
    float a = 2.5f, *x = allocate(n * sizeof(float)), *y = allocate(n * sizeof(float));
    for (uint32_t i = 0; i < n; i++) {
        x[i] = (float)(i % 1024) * 0.25f;
        y[i] = (float)(i % 511) * -0.5f;
    }
    bind_bytes(&s, 0, &a, sizeof a);
    tombac_buffer *in = bind(&s, 1, x, n * sizeof(float)), *out = bind(&s, 2, y, n * sizeof(float));
    bind_bytes(&s, 3, &n, sizeof n);
    run(&s, (tombac_size3){(n + 255) / 256, 1, 1}, (tombac_size3){256, 1, 1});
    const float *got = tombac_buffer_contents(out);
    for (uint32_t i = 0; i < n; i++)
        if (got[i] != a * x[i] + y[i]) example_fail("saxpy: n = %u: element %u is wrong", n, i);
    tombac_buffer_release(in);
    tombac_buffer_release(out);
    free(x);
    free(y);
    close_session(&s);
}

static void reduction(const char *device, uint32_t n)
{
    session s = open_session(device, "reduction");
    uint32_t *x = allocate(n * sizeof *x), zero = 0, expected = 0;
    for (uint32_t i = 0; i < n; i++) expected += x[i] = i * 2654435761u >> 8;
    tombac_buffer *in = bind(&s, 0, x, n * sizeof *x), *out = bind(&s, 1, &zero, sizeof zero);
    bind_bytes(&s, 2, &n, sizeof n);
    run(&s, (tombac_size3){16, 1, 1}, (tombac_size3){256, 1, 1});
    uint32_t got = *(const uint32_t *)tombac_buffer_contents(out);
    if (got != expected) example_fail("reduction: n = %u: the sum is %u, not %u", n, got, expected);
    tombac_buffer_release(in);
    tombac_buffer_release(out);
    free(x);
    close_session(&s);
}

static void histogram(const char *device, uint32_t n)
{
    session s = open_session(device, "histogram");
    unsigned char *x = allocate(n);
    uint32_t bins[256] = {0}, expected[256] = {0};
    uint64_t count = n, bin_count = 256;
    for (uint32_t i = 0; i < n; i++) expected[x[i] = (unsigned char)(i * i >> 5)]++;
    tombac_buffer *in = bind(&s, 0, x, n), *out = bind(&s, 2, bins, sizeof bins);
    bind_bytes(&s, 1, &count, sizeof count);
    bind_bytes(&s, 3, &bin_count, sizeof bin_count);
    run(&s, (tombac_size3){8, 1, 1}, (tombac_size3){256, 1, 1});
    if (memcmp(tombac_buffer_contents(out), expected, sizeof expected) != 0)
        example_fail("histogram: n = %u: the counts are wrong", n);
    tombac_buffer_release(in);
    tombac_buffer_release(out);
    free(x);
    close_session(&s);
}

/* Small whole numbers: every sum is exact. */
static void matmul(const char *device, uint32_t n)
{
    session s = open_session(device, "matmul");
    size_t size = (size_t)n * n * sizeof(float);
    float *a = allocate(size), *b = allocate(size);
    for (uint32_t i = 0; i < n * n; i++) {
        a[i] = (float)(i % 7) - 3;
        b[i] = (float)(i % 5) - 2;
    }
    tombac_buffer *left = bind(&s, 0, a, size), *right = bind(&s, 1, b, size), *out = bind(&s, 2, NULL, size);
    bind_bytes(&s, 3, &n, sizeof n);
    run(&s, (tombac_size3){(n + 15) / 16, (n + 15) / 16, 1}, (tombac_size3){16, 16, 1});
    const float *got = tombac_buffer_contents(out);
    for (uint32_t row = 0; row < n; row++)
        for (uint32_t column = 0; column < n; column++) {
            float sum = 0;
            for (uint32_t k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
            if (got[row * n + column] != sum) example_fail("matmul: n = %u: row %u is wrong", n, row);
        }
    tombac_buffer_release(left);
    tombac_buffer_release(right);
    tombac_buffer_release(out);
    free(a);
    free(b);
    close_session(&s);
}

int main(int count, char **arguments)
{
    const char *device = count > 1 ? arguments[1] : NULL;
    folder = count > 2 ? arguments[2] : NULL;
    for (size_t i = 0; i < example_size_count; i++) {
        saxpy(device, example_sizes[i]);
        reduction(device, example_sizes[i]);
        histogram(device, example_sizes[i]);
    }
    static const uint32_t sizes[] = {0, 1, 16, 33, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) matmul(device, sizes[i]);
    puts("kernels in C: saxpy, reduction, histogram and matmul are right");
    return 0;
}
