/* reverse [DEVICE]: parts of 256 elements backwards, by the portable layer: a stream, a range, and values in
 * the order of the kernel's parameters. */
#include "program.h"
#include "reverse.h"

#include <tombac/portable.h>

static void run(tombac_stream *stream, tombac_kernel *kernel, uint32_t n)
{
    tombac_error *error = NULL;
    float *x = program_memory(n * sizeof *x);
    for (uint32_t i = 0; i < n; i++) x[i] = (float)i;
    tombac_buffer *in = program_buffer(tombac_stream_device(stream), n * sizeof *x, x), *out = NULL;
    example_check(tombac_zeros(tombac_stream_device(stream), TOMBAC_TYPE_F32, n, &out, &error), &error);
    tombac_argument_value values[] = {tombac_array(in), tombac_array(out)};
    example_check(
        tombac_stream_launch(stream, kernel, tombac_range(n), tombac_any_group, values, 2, &error), &error);
    example_check(tombac_stream_synchronize(stream, &error), &error);
    const float *got = program_read(out);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = i / 256 * 256, items = n - first < 256 ? n - first : 256;
        if (got[i] != x[first + items - 1 - i % 256])
            example_fail("reverse: n = %u: element %u is wrong", n, i);
    }
    program_done(out);
    tombac_buffer_release(in);
    free(x);
}

int main(int count, char **arguments)
{
    tombac_error *error = NULL;
    tombac_device *device = NULL;
    tombac_stream *stream = NULL;
    tombac_library *library = program_open(count, arguments, &device, reverse_open);
    tombac_kernel *kernel = program_kernel(library, "reverse");
    example_check(tombac_stream_create(device, &stream, &error), &error);
    for (size_t i = 0; i < example_size_count; i++) run(stream, kernel, example_sizes[i]);
    puts("reverse: right");
    tombac_stream_release(stream);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    return 0;
}
