/* histogram: atomics in threadgroup memory, then in device memory. */
#include "example.h"

enum { GROUP = 128, BINS = 256 };

static void histogram(const example *e, uint32_t n)
{
    tombac_error *error = NULL;
    tombac_buffer *in = example_buffer(e, n, NULL);
    tombac_buffer *counts = example_buffer(e, BINS * sizeof(uint32_t), NULL);
    uint8_t *bytes = tombac_buffer_contents(in);
    uint32_t expected[BINS] = {0}, state = 1;
    for (uint32_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223; /* Numerical Recipes' generator */
        uint32_t high = state >> 24;
        bytes[i] = (uint8_t)(high * high >> 8); /* small values are frequent, so that threads collide */
        expected[bytes[i]]++;
    }

    tombac_launch *launch = example_launch(e, (tombac_buffer *[]){in, counts}, 2);
    example_check(tombac_launch_set_bytes(launch, 2, &n, sizeof n, &error), &error);
    example_check(tombac_launch_set_threadgroups(launch, (tombac_size3){(n + GROUP - 1) / GROUP, 1, 1},
                      (tombac_size3){GROUP, 1, 1}, &error),
        &error);
    example_finish(launch);

    const uint32_t *found = tombac_buffer_contents(counts);
    for (uint32_t i = 0; i < BINS; i++) {
        if (found[i] != expected[i])
            example_fail("histogram: n = %u: bin %u has %u, not %u", n, i, found[i], expected[i]);
    }
    example_right(e, n);
    tombac_buffer_release(in);
    tombac_buffer_release(counts);
}

int main(int count, char **arguments)
{
    example e = example_open("histogram", count, arguments);
    for (size_t i = 0; i < example_size_count; i++) histogram(&e, example_sizes[i]);
    example_close(&e);
    return 0;
}
