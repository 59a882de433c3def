/* saxpy [DEVICE]: y = a x + y; the kernel is ../saxpy.c, compiled into the program. */
#include "program.h"
#include "saxpy.h"

static void run(tombac_device *device, tombac_kernel *kernel, uint32_t n)
{
    tombac_error *error = NULL;
    tombac_operation *operation = NULL;
    float *x = program_memory(n * sizeof *x), *y = program_memory(n * sizeof *y);
    for (uint32_t i = 0; i < n; i++) {
        x[i] = (float)(i % 1024) * 0.25f;
        y[i] = (float)(i % 511) * -0.5f;
    }
    tombac_buffer *in = program_buffer(device, n * sizeof *x, x),
                  *out = program_buffer(device, n * sizeof *y, y);
    example_check(
        saxpy_saxpy(kernel, tombac_for_elements(n, 256), 2.5f, in, out, n, &operation, &error), &error);
    program_run(operation);
    const float *got = program_read(out);
    for (uint32_t i = 0; i < n; i++) /* every value is exact */
        if (got[i] != 2.5f * x[i] + y[i])
            example_fail("saxpy: n = %u: element %u is %g", n, i, (double)got[i]);
    program_done(out);
    tombac_buffer_release(in);
    free(x);
    free(y);
}

int main(int count, char **arguments)
{
    tombac_device *device = NULL;
    tombac_library *library = program_open(count, arguments, &device, saxpy_open);
    tombac_kernel *kernel = program_kernel(library, "saxpy");
    for (size_t i = 0; i < example_size_count; i++) run(device, kernel, example_sizes[i]);
    puts("saxpy: right");
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    return 0;
}
