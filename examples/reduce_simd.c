/* reduce_simd: SIMD-group functions and atomics on device memory. The grid has exactly n threads, so the last
 * SIMD-group is partial for most n, and simd_sum must leave the missing threads out. */
#include "example.h"

static void reduce(const example *e, uint32_t n)
{
    tombac_error *error = NULL;
    tombac_buffer *in = example_buffer(e, n * sizeof(uint32_t), NULL);
    tombac_buffer *total = example_buffer(e, sizeof(uint32_t), NULL);
    uint32_t *values = tombac_buffer_contents(in), expected = 0;
    for (uint32_t i = 0; i < n; i++) {
        values[i] =
            i * 2654435761u; /* large numbers: the sum wraps, as unsigned integers do in Metal and in C */
        expected += values[i];
    }

    tombac_launch *launch = example_launch(e, (tombac_buffer *[]){in, total}, 2);
    example_check(
        tombac_launch_set_threads(launch, (tombac_size3){n, 1, 1}, (tombac_size3){256, 1, 1}, &error),
        &error);
    example_finish(launch);

    uint32_t sum = *(uint32_t *)tombac_buffer_contents(total);
    if (sum != expected) example_fail("reduce_simd: n = %u: the sum is %u, not %u", n, sum, expected);
    example_right(e, n);
    tombac_buffer_release(in);
    tombac_buffer_release(total);
}

int main(int count, char **arguments)
{
    example e = example_open("reduce_simd", count, arguments);
    for (size_t i = 0; i < example_size_count; i++) reduce(&e, example_sizes[i]);
    example_close(&e);
    return 0;
}
