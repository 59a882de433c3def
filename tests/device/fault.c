/* fault DEVICE [OTHER]: a kernel that writes where nothing is, on a GPU. The failure names the kernel, once;
 * later launches are refused with it, and so is opening the GPU again. What another GPU of the process does
 * then is told, not judged. Not for devices in this process's memory, which such a kernel would end. */
#include "tombac/tombac.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] = "kernel void stray(device uint *out [[buffer(0)]]) { out[1ul << 40] = 1; }\n"
                             "kernel void count(device uint *out [[buffer(0)]]) { out[0] += 1; }\n";

static int failures;

static void demand(tombac_status status, tombac_error *const *error)
{
    if (status == TOMBAC_OK) return;
    fprintf(stderr, "%s\n", tombac_error_message(*error));
    exit(1);
}

static void expect(
    const char *what, tombac_status status, tombac_status expected, tombac_error **error, const char *words)
{
    bool right = status == expected && (!*error || strstr(tombac_error_message(*error), words));
    printf("%s: %s: %s\n", right ? "ok  " : "FAIL", what, *error ? tombac_error_message(*error) : "no error");
    failures += !right;
    tombac_error_release(*error);
    *error = NULL;
}

typedef struct gpu {
    tombac_device *device;
    tombac_launch *launches[2];
    tombac_buffer *buffer;
} gpu;

static gpu open_gpu(const char *name)
{
    static const char *const names[] = {"stray", "count"};
    gpu g = {0};
    tombac_error *e = NULL;
    tombac_library *library;
    demand(tombac_device_open(name, &g.device, &e), &e);
    demand(tombac_library_create_from_source(
               g.device, "fault.metal", source, sizeof source - 1, NULL, &library, &e),
        &e);
    demand(tombac_buffer_create(g.device, 4, NULL, &g.buffer, &e), &e);
    for (int i = 0; i < 2; i++) {
        tombac_kernel *kernel;
        demand(tombac_kernel_create(library, names[i], NULL, 0, &kernel, &e), &e);
        demand(tombac_launch_create(kernel, &g.launches[i], &e), &e);
        demand(tombac_launch_set_buffer(g.launches[i], 0, g.buffer, 0, &e), &e);
        demand(tombac_launch_set_grid(g.launches[i], tombac_for_elements(1, 1), &e), &e);
        tombac_kernel_release(kernel);
    }
    tombac_library_release(library);
    return g;
}

static void close_gpu(gpu *g)
{
    for (int i = 0; i < 2; i++) tombac_launch_release(g->launches[i]);
    tombac_buffer_release(g->buffer);
    tombac_device_release(g->device);
}

static tombac_status run(const gpu *g, int which, tombac_error **error)
{
    tombac_status status = tombac_launch_submit(g->launches[which], error);
    return status == TOMBAC_OK ? tombac_launch_wait(g->launches[which], error) : status;
}

int main(int count, char **words)
{
    if (count < 2) return fprintf(stderr, "Usage: fault DEVICE [OTHER]\n"), 2;
    tombac_error *e = NULL;
    gpu g = open_gpu(words[1]), other = {0};
    if (count > 2) other = open_gpu(words[2]);
    demand(run(&g, 1, &e), &e);
    tombac_status status = run(&g, 0, &e);
    expect("a stray write", status, TOMBAC_ERROR_KERNEL, &e, "kernel 'stray' failed: ");
    status = run(&g, 1, &e);
    expect("the next launch", status, TOMBAC_ERROR_KERNEL, &e,
        "no further work in this process, since kernel 'stray' failed");
    const void *seen;
    status = tombac_buffer_begin_read(g.buffer, &seen, &e);
    expect("what the first had written", status, TOMBAC_ERROR_KERNEL, &e, "since kernel 'stray' failed");
    tombac_device *again = NULL;
    close_gpu(&g);
    status = tombac_device_open(words[1], &again, &e);
    expect("opening it again", status, TOMBAC_ERROR_UNSUPPORTED, &e, "a kernel failed in this process");
    tombac_device_release(again);
    if (count > 2) {
        status = run(&other, 1, &e);
        printf("the other GPU: %s\n", status == TOMBAC_OK ? "works" : tombac_error_message(e));
        tombac_error_release(e);
        close_gpu(&other);
    }
    return failures != 0;
}
