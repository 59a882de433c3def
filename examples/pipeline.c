/* pipeline: two kernels, one behind the other by what they read and write, typed buffers, views, and kernels
 * that were compiled into the program: it runs where no compiler is installed.
 *
 *     pipeline [DEVICE]      DEVICE is "cpu" or "check"; default: the best there is
 *
 * pipeline.h is made from pipeline.metal by tombac_add_kernels (CMakeLists.txt). */
#include "pipeline.h"

#include <stdio.h>
#include <stdlib.h>

static void check(tombac_status status, tombac_error **error)
{
    if (status == TOMBAC_OK) return;
    fprintf(stderr, "pipeline: %s: %s\n", tombac_status_name(status), tombac_error_message(*error));
    exit(1);
}

static const tombac_element floats = TOMBAC_ELEMENT(TOMBAC_TYPE_F32, float);

typedef struct kernels {
    tombac_kernel *scale, *finish;
    uint32_t threadgroup; /* of the first stage */
} kernels;

/* Records both stages; the second waits for the first because it reads what that writes. */
static tombac_operation *record(tombac_device *device, const kernels *k, tombac_buffer *in,
    tombac_buffer *between, tombac_buffer *out, uint32_t n)
{
    const pipeline_affine first = {1, 3, n}, second = {5, 7, n};
    tombac_error *error = NULL;
    tombac_operation *scale, *finish, *both;
    tombac_grid grid = tombac_for_elements(n, k->threadgroup);
    if (k->threadgroup == 128)
        check(pipeline_scale_128(k->scale, grid, in, between, &first, &scale, &error), &error);
    else
        check(pipeline_scale_256(k->scale, grid, in, between, &first, &scale, &error), &error);
    check(pipeline_finish(k->finish, tombac_for_elements(n, 256), between, out, &second, &finish, &error),
        &error);
    tombac_operation *parts[] = {scale, finish};
    check(tombac_operation_all(parts, 2, &both, &error), &error);
    tombac_operation_release(scale);
    tombac_operation_release(finish);
    return both;
}

static void run(tombac_device *device, const kernels *k, uint32_t n)
{
    tombac_error *error = NULL;
    tombac_buffer *in, *between, *out;
    check(tombac_buffer_create_elements(device, &floats, n, NULL, &in, &error), &error);
    check(tombac_buffer_create_elements(device, &floats, n, NULL, &between, &error), &error);
    check(tombac_buffer_create_elements(device, &floats, n, NULL, &out, &error), &error);

    void *fill;
    check(tombac_buffer_begin_write(in, &fill, &error), &error);
    for (uint32_t i = 0; i < n; i++) ((float *)fill)[i] = (float)(i % 1024) * 0.25f;
    check(tombac_buffer_end_write(in, &error), &error);

    tombac_operation *both = record(device, k, in, between, out, n);
    check(tombac_operation_submit(both, &error), &error);

    /* The read view waits for the operations, the wait tells whether they went well. */
    check(tombac_operation_wait(both, -1, &error), &error);
    const void *seen;
    check(tombac_buffer_begin_read(out, &seen, &error), &error);
    float factor = k->threadgroup == 128 ? 2 : 4;
    for (uint32_t i = 0; i < n; i++) {
        float expected = ((float)(i % 1024) * 0.25f + 3) * factor * 5 + 7;
        if (((const float *)seen)[i] == expected) continue;
        fprintf(
            stderr, "pipeline: n = %u: element %u is %g, not %g\n", n, i, ((const float *)seen)[i], expected);
        exit(1);
    }
    check(tombac_buffer_end_read(out, &error), &error);
    printf("pipeline n = %u with threadgroups of %u on %s: right\n", n, k->threadgroup,
        tombac_device_name(device));
    tombac_operation_release(both);
    tombac_buffer_release(in);
    tombac_buffer_release(between);
    tombac_buffer_release(out);
}

/* What does not fit together is refused before anything runs. */
static void show_contract(tombac_device *device, const kernels *k)
{
    tombac_error *error = NULL;
    tombac_buffer *in, *out;
    tombac_operation *operation;
    const pipeline_affine a = {1, 0, 10};
    check(tombac_buffer_create_elements(device, &floats, 10, NULL, &in, &error), &error);
    check(tombac_buffer_create_elements(device, &floats, 9, NULL, &out, &error), &error);
    if (pipeline_finish(k->finish, tombac_for_elements(10, 256), in, out, &a, &operation, &error) !=
        TOMBAC_ERROR_CONTRACT) {
        fprintf(stderr, "pipeline: the contract was not checked\n");
        exit(1);
    }
    printf("refused: %s\n", tombac_error_message(error));
    tombac_error_release(error);
    tombac_buffer_release(in);
    tombac_buffer_release(out);
}

int main(int count, char **arguments)
{
    static const uint32_t sizes[] = {0, 1, 255, 256, 257, 1000003};
    tombac_error *error = NULL;
    tombac_device *device;
    tombac_library *library;
    check(tombac_device_open(count > 1 ? arguments[1] : NULL, &device, &error), &error);
    check(pipeline_open(device, &library, &error), &error);
    for (uint32_t threadgroup = 128; threadgroup <= 256; threadgroup *= 2) {
        kernels k = {.threadgroup = threadgroup};
        const char *name = threadgroup == 128 ? "scale_128" : "scale_256";
        check(tombac_kernel_create(library, name, NULL, 0, &k.scale, &error), &error);
        check(tombac_kernel_create(library, "finish", NULL, 0, &k.finish, &error), &error);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) run(device, &k, sizes[i]);
        show_contract(device, &k);
        tombac_kernel_release(k.scale);
        tombac_kernel_release(k.finish);
    }
    tombac_library_release(library);
    tombac_device_release(device);
    return 0;
}
