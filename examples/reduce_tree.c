/* reduce_tree: threadgroup memory and barriers. The kernel sums 256 elements per threadgroup; launching it on
 * its own results until one is left sums a vector of any length. */
#include "example.h"

enum { GROUP = 256 };

/* Sums each threadgroup's elements of `in`; returns a new buffer of as many sums as there are threadgroups.
 */
static tombac_buffer *step(const example *e, tombac_buffer *in, uint32_t n, uint32_t groups)
{
    tombac_error *error = NULL;
    tombac_buffer *sums = example_buffer(e, groups * sizeof(float), NULL);
    tombac_launch *launch = example_launch(e, (tombac_buffer *[]){in, sums}, 2);
    example_check(tombac_launch_set_bytes(launch, 2, &n, sizeof n, &error), &error);
    example_check(tombac_launch_set_threadgroup_memory(launch, 0, GROUP * sizeof(float), &error), &error);
    example_check(tombac_launch_set_threadgroups(
                      launch, (tombac_size3){groups, 1, 1}, (tombac_size3){GROUP, 1, 1}, &error),
        &error);
    example_finish(launch);
    return sums;
}

static void reduce(const example *e, uint32_t n)
{
    tombac_buffer *buffer = example_buffer(e, n * sizeof(float), NULL);
    float *in = tombac_buffer_contents(buffer);
    double expected = 0;
    for (uint32_t i = 0; i < n; i++) {
        in[i] = (float)(i % 8);
        expected += i % 8; /* every partial sum is an integer below 2^24, so floats are exact too */
    }
    uint32_t left = n;
    do {
        uint32_t groups = left / GROUP + (left % GROUP || left == 0);
        tombac_buffer *sums = step(e, buffer, left, groups);
        tombac_buffer_release(buffer);
        buffer = sums;
        left = groups;
    } while (left > 1);

    float sum = *(float *)tombac_buffer_contents(buffer);
    if ((double)sum != expected)
        example_fail("reduce_tree: n = %u: the sum is %.9g, not %.9g", n, (double)sum, expected);
    example_right(e, n);
    tombac_buffer_release(buffer);
}

int main(int count, char **arguments)
{
    example e = example_open("reduce_tree", count, arguments);
    for (size_t i = 0; i < example_size_count; i++) reduce(&e, example_sizes[i]);
    example_close(&e);
    return 0;
}
