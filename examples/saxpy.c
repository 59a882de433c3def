/* saxpy: a struct of arguments as bytes, a buffer that is read and written, and a grid of whole threadgroups,
 * whose last one reaches beyond the vectors. The buffer has a guard behind its end to show that nothing there
 * is touched. */
#include "example.h"

enum { GROUP = 256, GUARD = 64 };

/* The layout must be that of the kernel's struct. */
typedef struct saxpy_arguments {
    float alpha;
    uint32_t n;
} saxpy_arguments;

static void saxpy(const example *e, uint32_t n)
{
    tombac_error *error = NULL;
    saxpy_arguments bytes = {.alpha = 2.5f, .n = n};
    tombac_buffer *x = example_buffer(e, (n + GUARD) * sizeof(float), NULL);
    tombac_buffer *y = example_buffer(e, (n + GUARD) * sizeof(float), NULL);
    float *in = tombac_buffer_contents(x), *out = tombac_buffer_contents(y);
    for (uint32_t i = 0; i < n + GUARD; i++) {
        in[i] = (float)(i % 1000);
        out[i] = -0.25f * (float)(i % 77);
    }

    tombac_launch *launch = example_launch(e, (tombac_buffer *[]){NULL, x, y}, 3);
    example_check(tombac_launch_set_bytes(launch, 0, &bytes, sizeof bytes, &error), &error);
    tombac_size3 groups = {(n + GROUP - 1) / GROUP, 1, 1};
    example_check(
        tombac_launch_set_threadgroups(launch, groups, (tombac_size3){GROUP, 1, 1}, &error), &error);
    example_finish(launch);

    /* All values are multiples of 0.25 below 2^14, so products and sums are exact. */
    for (uint32_t i = 0; i < n + GUARD; i++) {
        float before = -0.25f * (float)(i % 77);
        float expected = i < n ? 2.5f * (float)(i % 1000) + before : before;
        if (out[i] != expected)
            example_fail("saxpy: n = %u: element %u is %g, not %g", n, i, out[i], expected);
    }
    example_right(e, n);
    tombac_buffer_release(x);
    tombac_buffer_release(y);
}

int main(int count, char **arguments)
{
    example e = example_open("saxpy", count, arguments);
    for (size_t i = 0; i < example_size_count; i++) saxpy(&e, example_sizes[i]);
    example_close(&e);
    return 0;
}
