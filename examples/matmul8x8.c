/* matmul8x8: simdgroup_matrix. A two-dimensional grid of threadgroups with one SIMD-group each; sizes are
 * multiples of 8. */
#include "example.h"

/* Small integers, so that every product and sum is exact in float. */
static float element_a(uint32_t row, uint32_t column)
{
    return (float)((row * 3 + column * 5) % 11) - 5;
}
static float element_b(uint32_t row, uint32_t column)
{
    return (float)((row * 7 + column * 2) % 13) - 6;
}

static void multiply(const example *e, uint32_t n)
{
    tombac_error *error = NULL;
    size_t size = (size_t)n * n * sizeof(float);
    tombac_buffer *a = example_buffer(e, size, NULL), *b = example_buffer(e, size, NULL),
                  *c = example_buffer(e, size, NULL);
    float *left = tombac_buffer_contents(a), *right = tombac_buffer_contents(b);
    for (uint32_t i = 0; i < n * n; i++) {
        left[i] = element_a(i / n, i % n);
        right[i] = element_b(i / n, i % n);
    }

    tombac_launch *launch = example_launch(e, (tombac_buffer *[]){a, b, c}, 3);
    example_check(tombac_launch_set_bytes(launch, 3, &n, sizeof n, &error), &error);
    example_check(tombac_launch_set_threadgroups(
                      launch, (tombac_size3){n / 8, n / 8, 1}, (tombac_size3){32, 1, 1}, &error),
        &error);
    example_finish(launch);

    const float *found = tombac_buffer_contents(c);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            double expected = 0;
            for (uint32_t k = 0; k < n; k++) expected += (double)element_a(i, k) * (double)element_b(k, j);
            if ((double)found[i * n + j] != expected)
                example_fail(
                    "matmul8x8: n = %u: C[%u][%u] is %g, not %g", n, i, j, found[i * n + j], expected);
        }
    }
    example_right(e, n);
    tombac_buffer_release(a);
    tombac_buffer_release(b);
    tombac_buffer_release(c);
}

int main(int count, char **arguments)
{
    static const uint32_t sizes[] = {0, 8, 16, 24, 128, 256};
    example e = example_open("matmul8x8", count, arguments);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) multiply(&e, sizes[i]);
    example_close(&e);
    return 0;
}
