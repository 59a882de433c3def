/* histogram [DEVICE]: how often each byte occurs; the kernel is ../histogram.c, compiled into the program. */
#include "program.h"
#include "histogram.h"

static void run(tombac_device *device, tombac_kernel *kernel, uint32_t n)
{
    tombac_error *error = NULL;
    tombac_operation *operation = NULL;
    unsigned char *x = program_memory(n);
    uint32_t expected[256] = {0};
    for (uint32_t i = 0; i < n; i++) expected[x[i] = (unsigned char)(i * i >> 5)]++;
    tombac_buffer *in = program_buffer(device, n, x), *bins = program_buffer(device, sizeof expected, NULL);
    example_check(
        histogram_histogram(kernel, tombac_for_elements(8 * 256, 256), in, n, bins, 256, &operation, &error),
        &error);
    program_run(operation);
    const uint32_t *got = program_read(bins);
    for (uint32_t i = 0; i < 256; i++)
        if (got[i] != expected[i])
            example_fail("histogram: n = %u: %u occurs %u times, not %u", n, i, expected[i], got[i]);
    program_done(bins);
    tombac_buffer_release(in);
    free(x);
}

int main(int count, char **arguments)
{
    tombac_device *device = NULL;
    tombac_library *library = program_open(count, arguments, &device, histogram_open);
    tombac_kernel *kernel = program_kernel(library, "histogram");
    for (size_t i = 0; i < example_size_count; i++) run(device, kernel, example_sizes[i]);
    puts("histogram: right");
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    return 0;
}
