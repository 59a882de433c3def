/* pipeline [DEVICE]: two kernels of ../pipeline.c; the second waits for the first because it reads what that
 * writes. */
#include "program.h"
#include "pipeline.h"

static void run(tombac_device *device, tombac_kernel *scale, tombac_kernel *finish, uint32_t n)
{
    const pipeline_affine first = {1, 3, n}, second = {5, 7, n};
    tombac_error *error = NULL;
    tombac_operation *stages[2] = {NULL};
    float *x = program_memory(n * sizeof *x);
    for (uint32_t i = 0; i < n; i++) x[i] = (float)(i % 1024) * 0.25f;
    tombac_buffer *in = program_buffer(device, n * sizeof *x, x),
                  *between = program_buffer(device, n * sizeof *x, NULL),
                  *out = program_buffer(device, n * sizeof *x, NULL);
    example_check(
        pipeline_scale(scale, tombac_for_elements(n, 128), in, between, &first, &stages[0], &error), &error);
    example_check(
        pipeline_finish(finish, tombac_for_elements(n, 256), between, out, &second, &stages[1], &error),
        &error);
    for (int i = 0; i < 2; i++) {
        example_check(tombac_operation_submit(stages[i], &error), &error);
        tombac_operation_release(stages[i]);
    }
    const float *got = program_read(out); /* waits for the second */
    for (uint32_t i = 0; i < n; i++)
        if (got[i] != (x[i] + 3) * 2 * 5 + 7)
            example_fail("pipeline: n = %u: element %u is %g", n, i, (double)got[i]);
    program_done(out);
    tombac_buffer_release(in);
    tombac_buffer_release(between);
    free(x);
}

int main(int count, char **arguments)
{
    tombac_device *device = NULL;
    tombac_library *library = program_open(count, arguments, &device, pipeline_open);
    tombac_kernel *scale = program_kernel(library, "scale"), *finish = program_kernel(library, "finish");
    for (size_t i = 0; i < example_size_count; i++) run(device, scale, finish, example_sizes[i]);
    puts("pipeline: right");
    tombac_kernel_release(scale);
    tombac_kernel_release(finish);
    tombac_library_release(library);
    tombac_device_release(device);
    return 0;
}
