/* prefix_sum [DEVICE]: prefix sums of any length; the kernels are ../prefix_sum.c. Nothing waits until the
 * result is read. */
#include "program.h"
#include "prefix_sum.h"

typedef struct scanner {
    tombac_device *device;
    tombac_kernel *blocks, *add;
} scanner;

static void submit(tombac_operation *operation)
{
    tombac_error *error = NULL;
    example_check(tombac_operation_submit(operation, &error), &error);
    tombac_operation_release(operation);
}

/* out = the prefix sums of in. */
static void scan(const scanner *s, tombac_buffer *in, tombac_buffer *out, uint32_t n)
{
    tombac_error *error = NULL;
    tombac_operation *operation = NULL;
    uint32_t blocks = program_groups(n, 256);
    tombac_buffer *sums = program_buffer(s->device, blocks * sizeof(uint32_t), NULL);
    example_check(prefix_sum_scan_blocks(s->blocks, tombac_for_elements(blocks * 256, 256), in, out, sums, n,
                      &operation, &error),
        &error);
    submit(operation);
    if (blocks > 1) {
        tombac_buffer *before = program_buffer(s->device, blocks * sizeof(uint32_t), NULL);
        scan(s, sums, before, blocks);
        example_check(
            prefix_sum_add_before(s->add, tombac_for_elements(n, 256), before, out, n, &operation, &error),
            &error);
        submit(operation);
        tombac_buffer_release(before);
    }
    tombac_buffer_release(sums);
}

static void run(const scanner *s, uint32_t n)
{
    uint32_t *x = program_memory(n * sizeof *x), sum = 0;
    for (uint32_t i = 0; i < n; i++) x[i] = i * 2654435761u >> 20;
    tombac_buffer *in = program_buffer(s->device, n * sizeof *x, x),
                  *out = program_buffer(s->device, n * sizeof *x, NULL);
    scan(s, in, out, n);
    const uint32_t *got = program_read(out);
    for (uint32_t i = 0; i < n; i++)
        if (got[i] != (sum += x[i]))
            example_fail("prefix_sum: n = %u: element %u is %u, not %u", n, i, got[i], sum);
    program_done(out);
    tombac_buffer_release(in);
    free(x);
}

int main(int count, char **arguments)
{
    scanner s;
    tombac_library *library = program_open(count, arguments, &s.device, prefix_sum_open);
    s.blocks = program_kernel(library, "scan_blocks");
    s.add = program_kernel(library, "add_before");
    for (size_t i = 0; i < example_size_count; i++) run(&s, example_sizes[i]);
    puts("prefix_sum: right");
    tombac_kernel_release(s.blocks);
    tombac_kernel_release(s.add);
    tombac_library_release(library);
    tombac_device_release(s.device);
    return 0;
}
