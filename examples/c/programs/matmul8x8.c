/* matmul8x8 [DEVICE]: products of 8 x 8 matrices; the kernel is ../matmul8x8.c. As in the other programs n is the number of
 * elements of an array: of one that holds matrix after matrix, the last filled up with zeros. */
#include "program.h"
#include "matmul8x8.h"

static void run(tombac_device *device, tombac_kernel *kernel, uint32_t n)
{
    tombac_error *error = NULL;
    tombac_operation *operation = NULL;
    uint32_t matrices = n / 64 + (n % 64 != 0);
    size_t count = (size_t)matrices * 64, size = count * sizeof(float);
    float *x = program_memory(size), *y = program_memory(size);
    for (size_t i = 0; i < n; i++) { /* small whole numbers: every sum is exact */
        x[i] = (float)(i * 5 % 17) - 8;
        y[i] = (float)(i * 3 % 13) - 6;
    }
    tombac_buffer *a = program_buffer(device, size, x), *b = program_buffer(device, size, y),
                  *c = program_buffer(device, size, NULL);
    example_check(
        matmul8x8_matmul8x8(kernel, tombac_for_elements(matrices * 32, 32), a, b, c, &operation, &error), &error);
    program_run(operation);
    const float *got = program_read(c);
    for (size_t i = 0; i < count; i++) {
        size_t row = i / 8 * 8, column = i / 64 * 64 + i % 8;
        float sum = 0;
        for (size_t k = 0; k < 8; k++) sum += x[row + k] * y[column + 8 * k];
        if (got[i] != sum)
            example_fail("matmul8x8: n = %u: element %zu is %g, not %g", n, i, (double)got[i], (double)sum);
    }
    program_done(c);
    tombac_buffer_release(a);
    tombac_buffer_release(b);
    free(x);
    free(y);
}

int main(int count, char **arguments)
{
    tombac_device *device = NULL;
    tombac_library *library = program_open(count, arguments, &device, matmul8x8_open);
    tombac_kernel *kernel = program_kernel(library, "matmul8x8");
    for (size_t i = 0; i < example_size_count; i++) run(device, kernel, example_sizes[i]);
    puts("matmul8x8: right");
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    return 0;
}
