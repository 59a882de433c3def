/* several_devices DEVICE...: a histogram by several devices. Each counts its share of the bytes; all-reduce
 * adds the counts, so that every device has the whole. Nothing is waited for in between: buffers put the sum
 * behind the launches, on every device. */
#include "example.h"

#include <stdio.h>

enum { GROUP = 128, BINS = 256, MOST = 16, BYTES = 1000003 };

static void make_bytes(uint8_t bytes[BYTES], uint32_t expected[BINS])
{
    uint32_t state = 1;
    for (uint32_t i = 0; i < BYTES; i++) {
        state = state * 1664525 + 1013904223; /* Numerical Recipes' generator */
        bytes[i] = (uint8_t)(state >> 24);
        expected[bytes[i]]++;
    }
}

/* Starts counting `n` bytes; the launch goes on when its object is released. */
static void start(
    const example *e, const uint8_t *bytes, uint32_t n, tombac_buffer **in, tombac_buffer *counts)
{
    tombac_error *error = NULL;
    *in = example_buffer(e, n, bytes);
    tombac_launch *launch = example_launch(e, (tombac_buffer *[]){*in, counts}, 2);
    example_check(tombac_launch_set_bytes(launch, 2, &n, sizeof n, &error), &error);
    tombac_size3 groups = {(n + GROUP - 1) / GROUP, 1, 1};
    example_check(
        tombac_launch_set_threadgroups(launch, groups, (tombac_size3){GROUP, 1, 1}, &error), &error);
    example_check(tombac_launch_submit(launch, &error), &error);
    tombac_launch_release(launch);
}

static void check(const example *e, tombac_buffer *counts, const uint32_t expected[BINS])
{
    tombac_error *error = NULL;
    const void *data;
    example_check(tombac_buffer_begin_read(counts, &data, &error), &error);
    for (uint32_t i = 0; i < BINS; i++)
        if (((const uint32_t *)data)[i] != expected[i])
            example_fail("on %s bin %u has %u, not %u", tombac_device_name(e->device), i,
                ((const uint32_t *)data)[i], expected[i]);
    example_check(tombac_buffer_end_read(counts, &error), &error);
}

int main(int count, char **arguments)
{
    size_t members = count > 1 && count <= MOST + 1 ? (size_t)count - 1 : 0;
    if (!members) example_fail("Usage: several_devices DEVICE..., up to %d", MOST);
    example examples[MOST];
    tombac_device *devices[MOST];
    tombac_buffer *in[MOST], *counts[MOST];
    uint32_t expected[BINS] = {0};
    static uint8_t bytes[BYTES];
    make_bytes(bytes, expected);
    tombac_error *error = NULL;
    for (size_t i = 0; i < members; i++) {
        examples[i] = example_open("histogram", 2, (char *[]){arguments[0], arguments[i + 1]});
        devices[i] = examples[i].device;
        counts[i] = example_buffer(&examples[i], BINS * sizeof(uint32_t), NULL);
        uint32_t first = (uint32_t)(BYTES * i / members), end = (uint32_t)(BYTES * (i + 1) / members);
        start(&examples[i], bytes + first, end - first, &in[i], counts[i]);
    }

    tombac_group *group;
    tombac_operation *sum;
    example_check(tombac_group_create(devices, members, TOMBAC_TRANSPORT_ANY, &group, &error), &error);
    example_check(tombac_group_all_reduce(
                      group, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_U32, BINS, counts, counts, &sum, &error),
        &error);
    example_check(tombac_operation_wait(sum, -1, &error), &error);
    for (size_t i = 0; i < members; i++) check(&examples[i], counts[i], expected);
    printf("%d bytes counted by %zu devices, added by %s: right\n", BYTES, members,
        tombac_group_transport(group) == TOMBAC_TRANSPORT_NCCL ? "NCCL" : "the host");

    tombac_operation_release(sum);
    tombac_group_release(group);
    for (size_t i = 0; i < members; i++) {
        tombac_buffer_release(in[i]);
        tombac_buffer_release(counts[i]);
        example_close(&examples[i]);
    }
    return 0;
}
