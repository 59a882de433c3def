/* Short forms for tests that build operations on the fake device. */
#ifndef TEST_RUNTIME_GRAPH_H
#define TEST_RUNTIME_GRAPH_H

#include "fake.h"

#include <time.h>

typedef struct graph {
    tombac_device *device;
    tombac_library *library;
} graph;

/* Kernels: append_X_N (X a letter, N milliseconds; its buffer is written), read_N (its buffer is read), fold,
 * fail (writes), sleep_N (no buffer). */
static inline graph graph_open(void)
{
    return (graph){.device = open_device()};
}

static inline void graph_close(graph *g)
{
    tombac_device_release(g->device);
}

#define REQUIRE(call)                                                                                        \
    do {                                                                                                     \
        tombac_error *require_error = NULL;                                                                  \
        if ((call) != TOMBAC_OK) fail_msg("%s: %s", #call, tombac_error_message(require_error));             \
    } while (0)

/* A launch of a fake kernel whose object is `object`, with `count` uint buffers; `writes` has a letter w or r
 * for each. */
static inline tombac_launch *make_launch(
    graph *g, const char *object, const char *writes, tombac_buffer *const *buffers)
{
    tb_text source = {0};
    tb_text_puts(&source, "kernel k\n");
    for (size_t i = 0; writes[i]; i++)
        tb_text_printf(
            &source, "argument buffer b%zu %zu uint u32 1 4 4 %s\n", i, i, writes[i] == 'w' ? "w" : "-");
    tb_text_printf(&source, "object FAKE %s\n", object);
    tombac_library *library = open_library(g->device, source.data);
    tombac_kernel *kernel = open_kernel(library, "k");
    tombac_launch *launch = NULL;
    REQUIRE(tombac_launch_create(kernel, &launch, &require_error));
    for (uint32_t i = 0; writes[i]; i++)
        REQUIRE(tombac_launch_set_buffer(launch, i, buffers[i], 0, &require_error));
    REQUIRE(tombac_launch_set_grid(launch, tombac_for_elements(1, 1), &require_error));
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tb_text_free(&source);
    return launch;
}

static inline tombac_operation *operation_of(tombac_launch *launch)
{
    tombac_operation *operation = NULL;
    REQUIRE(tombac_launch_operation(launch, &operation, &require_error));
    return operation;
}

/* The operation of a new launch. */
static inline tombac_operation *make_operation(
    graph *g, const char *object, const char *writes, tombac_buffer *const *buffers)
{
    tombac_launch *launch = make_launch(g, object, writes, buffers);
    tombac_operation *operation = operation_of(launch);
    tombac_launch_release(launch);
    return operation;
}

static inline tombac_buffer *make_buffer(graph *g, size_t size)
{
    tombac_buffer *buffer = NULL;
    REQUIRE(tombac_buffer_create(g->device, size, NULL, &buffer, &require_error));
    return buffer;
}

static inline double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
