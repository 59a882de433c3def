/* The case through Tombac: submit and wait, as a program calls it, in the state that a program reaches which launches a kernel
 * again and again with the same scalars: compiled for these. The device's pool of threads lives as long
 * as kernels do, so TOMBAC_THREADS counts anew for every opened case. */
#include "bench.h"

#include "tombac/tombac.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct state {
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_buffer *buffers[MAX_BUFFERS];
    tombac_launch *launch;
} state;

static bool complain(const char *name, tombac_status status, tombac_error *error)
{
    if (status == TOMBAC_OK) return true;
    fprintf(stderr, "bench: %s: %s\n", name, tombac_error_message(error));
    tombac_error_release(error);
    return false;
}

static void close_tombac(void *opaque)
{
    state *s = opaque;
    tombac_launch_release(s->launch);
    for (unsigned i = 0; i < MAX_BUFFERS; i++) tombac_buffer_release(s->buffers[i]);
    tombac_kernel_release(s->kernel);
    tombac_library_release(s->library);
    tombac_device_release(s->device);
    free(s);
}

static tombac_status open_kernel(state *s, const bench_case *c, const char *path, tombac_error **error)
{
    tombac_status status = tombac_device_open("cpu", &s->device, error);
    if (status == TOMBAC_OK)
        status = tombac_library_create_from_file(s->device, path, NULL, &s->library, error);
    if (status == TOMBAC_OK) status = tombac_kernel_create(s->library, c->kernel, NULL, 0, &s->kernel, error);
    if (status == TOMBAC_OK) status = tombac_launch_create(s->kernel, &s->launch, error);
    return status;
}

static tombac_status bind(state *s, const bench_case *c, tombac_error **error)
{
    tombac_status status = TOMBAC_OK;
    for (unsigned i = 0; status == TOMBAC_OK && i < c->buffer_count; i++) {
        status =
            tombac_buffer_create(s->device, bench_buffer_size(&c->buffers[i]), NULL, &s->buffers[i], error);
        if (status == TOMBAC_OK) status = tombac_launch_set_buffer(s->launch, i, s->buffers[i], 0, error);
    }
    for (unsigned i = 0; status == TOMBAC_OK && i < c->scalar_count; i++)
        status = tombac_launch_set_bytes(s->launch, c->buffer_count + i, &c->scalars[i], 4, error);
    if (status != TOMBAC_OK) return status;
    return tombac_launch_set_threads(s->launch, (tombac_size3){c->threads[0], c->threads[1], c->threads[2]},
        (tombac_size3){c->group[0], c->group[1], c->group[2]}, error);
}

enum { WARM_LAUNCHES = 65 }; /* after 64 the library compiles for the values of the scalars */

/* On whatever the buffers hold: results are looked at later. */
static tombac_status warm_up(state *s, tombac_error **error)
{
    tombac_status status = TOMBAC_OK;
    for (int i = 0; i < WARM_LAUNCHES && status == TOMBAC_OK; i++) {
        status = tombac_launch_submit(s->launch, error);
        if (status == TOMBAC_OK) status = tombac_launch_wait(s->launch, error);
    }
    if (status == TOMBAC_OK) status = tombac_kernel_await_specialisation(s->kernel, 60, error);
    if (status == TOMBAC_OK && !tombac_kernel_get_specialisation(s->kernel).ready)
        fprintf(stderr, "bench: kernel '%s' runs without special code\n", tombac_kernel_name(s->kernel));
    return status;
}

static void *open_file(const bench_case *c, const char *path, unsigned threads, const char **why)
{
    char number[16];
    snprintf(number, sizeof number, "%u", threads);
    setenv("TOMBAC_THREADS", number, 1);
    state *s = calloc(1, sizeof *s);
    tombac_error *error = NULL;
    *why = "failed";
    if (!s) return NULL;
    tombac_status status = open_kernel(s, c, path, &error);
    if (status == TOMBAC_OK) status = bind(s, c, &error);
    if (status == TOMBAC_OK) status = warm_up(s, &error);
    if (complain(c->name, status, error)) return s;
    close_tombac(s);
    return NULL;
}

static void *open_tombac(const bench_case *c, unsigned threads, const char **why)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.metal", BENCH_KERNELS, c->file);
    return open_file(c, path, threads, why);
}

/* The same kernel written in C. */
static void *open_c(const bench_case *c, unsigned threads, const char **why)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.c", BENCH_KERNELS, c->file);
    *why = "-";
    return access(path, R_OK) == 0 ? open_file(c, path, threads, why) : NULL;
}

static bool run_tombac(void *opaque)
{
    state *s = opaque;
    tombac_error *error = NULL;
    tombac_status status = tombac_launch_submit(s->launch, &error);
    if (status == TOMBAC_OK) status = tombac_launch_wait(s->launch, &error);
    return complain(tombac_kernel_name(s->kernel), status, error);
}

static bool write_tombac(void *opaque, unsigned index, const void *data, size_t size)
{
    memcpy(tombac_buffer_contents(((state *)opaque)->buffers[index]), data, size);
    return true;
}

static bool read_tombac(void *opaque, unsigned index, void *data, size_t size)
{
    memcpy(data, tombac_buffer_contents(((state *)opaque)->buffers[index]), size);
    return true;
}

const bench_peer bench_peer_tombac = {
    "tombac", true, open_tombac, run_tombac, write_tombac, read_tombac, close_tombac};
const bench_peer bench_peer_tombac_c = {
    "kernel in C", true, open_c, run_tombac, write_tombac, read_tombac, close_tombac};
