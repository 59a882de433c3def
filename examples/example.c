/* What the examples share; see example.h. */
#include "example.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const uint32_t example_sizes[] = {0, 1, 255, 256, 257, 1000003};
const size_t example_size_count = sizeof example_sizes / sizeof *example_sizes;

void example_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

void example_check(tombac_status status, tombac_error **error)
{
    if (status != TOMBAC_OK) example_fail("%s", tombac_error_message(*error));
}

example example_open(const char *name, int count, char **arguments)
{
    char path[1024];
    tombac_error *error = NULL;
    example e = {.name = name};
    snprintf(path, sizeof path, "%s/%s.metal", EXAMPLE_FOLDER, name);
    example_check(tombac_device_open(count > 1 ? arguments[1] : NULL, &e.device, &error), &error);
    example_check(tombac_library_create_from_file(e.device, path, NULL, &e.library, &error), &error);
    example_check(tombac_kernel_create(e.library, name, NULL, 0, &e.kernel, &error), &error);
    return e;
}

void example_close(example *e)
{
    tombac_kernel_release(e->kernel);
    tombac_library_release(e->library);
    tombac_device_release(e->device);
}

tombac_buffer *example_buffer(const example *e, size_t size, const void *data)
{
    tombac_buffer *buffer;
    tombac_error *error = NULL;
    example_check(tombac_buffer_create(e->device, size, data, &buffer, &error), &error);
    return buffer;
}

tombac_launch *example_launch(const example *e, tombac_buffer *const *buffers, uint32_t count)
{
    tombac_launch *launch;
    tombac_error *error = NULL;
    example_check(tombac_launch_create(e->kernel, &launch, &error), &error);
    for (uint32_t i = 0; i < count; i++) {
        if (buffers[i]) example_check(tombac_launch_set_buffer(launch, i, buffers[i], 0, &error), &error);
    }
    return launch;
}

void example_finish(tombac_launch *launch)
{
    tombac_error *error = NULL;
    example_check(tombac_launch_submit(launch, &error), &error);
    example_check(tombac_launch_wait(launch, &error), &error);
    tombac_launch_release(launch);
}

void example_right(const example *e, uint32_t n)
{
    printf("%s n = %u on %s: right\n", e->name, n, tombac_device_name(e->device));
}
