/* vec_add [DEVICE]: adds two vectors; the kernel is ../vec_add.c, compiled into the program. */
#include "program.h"
#include "vec_add.h"

static void run(tombac_device *device, tombac_kernel *kernel, uint32_t n)
{
    tombac_error *error = NULL;
    tombac_operation *operation = NULL;
    float *x = program_memory(n * sizeof *x), *y = program_memory(n * sizeof *y);
    for (uint32_t i = 0; i < n; i++) {
        x[i] = (float)(i % 1024) * 0.25f;
        y[i] = (float)(i % 511) * -0.5f;
    }
    tombac_buffer *a = program_buffer(device, n * sizeof *x, x),
                  *b = program_buffer(device, n * sizeof *y, y),
                  *out = program_buffer(device, n * sizeof(float), NULL);
    example_check(
        vec_add_vec_add(kernel, tombac_for_elements(n, 256), a, b, out, n, &operation, &error), &error);
    program_run(operation);
    const float *sum = program_read(out);
    for (uint32_t i = 0; i < n; i++)
        if (sum[i] != x[i] + y[i]) example_fail("vec_add: n = %u: element %u is %g", n, i, (double)sum[i]);
    program_done(out);
    tombac_buffer_release(a);
    tombac_buffer_release(b);
    free(x);
    free(y);
}

int main(int count, char **arguments)
{
    tombac_device *device = NULL;
    tombac_library *library = program_open(count, arguments, &device, vec_add_open);
    tombac_kernel *kernel = program_kernel(library, "vec_add");
    for (size_t i = 0; i < example_size_count; i++) run(device, kernel, example_sizes[i]);
    puts("vec_add: right");
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    return 0;
}
