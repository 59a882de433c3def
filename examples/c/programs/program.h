/* What the programs share: an opened device, buffers, and the end of a program with a message. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "../../example.h"

#include <stdio.h>
#include <stdlib.h>

typedef tombac_status program_opener(tombac_device *device, tombac_library **library, tombac_error **error);

/* The device that the command line names (default: the best one), and the kernels that are compiled into the
 * program. */
static inline tombac_library *program_open(
    int count, char **arguments, tombac_device **device, program_opener *open)
{
    tombac_error *error = NULL;
    tombac_library *library = NULL;
    example_check(tombac_device_open(count > 1 ? arguments[1] : NULL, device, &error), &error);
    example_check(open(*device, &library, &error), &error);
    return library;
}

static inline tombac_kernel *program_kernel(tombac_library *library, const char *name)
{
    tombac_error *error = NULL;
    tombac_kernel *kernel = NULL;
    example_check(tombac_kernel_create(library, name, NULL, 0, &kernel, &error), &error);
    return kernel;
}

/* Device memory with a copy of `data`, or zeros for NULL. */
static inline tombac_buffer *program_buffer(tombac_device *device, size_t size, const void *data)
{
    tombac_error *error = NULL;
    tombac_buffer *buffer = NULL;
    example_check(tombac_buffer_create(device, size, data, &buffer, &error), &error);
    return buffer;
}

/* Submits, waits and releases. */
static inline void program_run(tombac_operation *operation)
{
    tombac_error *error = NULL;
    example_check(tombac_operation_wait(operation, -1, &error), &error);
    tombac_operation_release(operation);
}

static inline const void *program_read(tombac_buffer *buffer)
{
    tombac_error *error = NULL;
    const void *data = NULL;
    example_check(tombac_buffer_begin_read(buffer, &data, &error), &error);
    return data;
}

/* Ends what program_read began, and releases the buffer. */
static inline void program_done(tombac_buffer *buffer)
{
    tombac_error *error = NULL;
    example_check(tombac_buffer_end_read(buffer, &error), &error);
    tombac_buffer_release(buffer);
}

static inline void *program_memory(size_t size)
{
    void *memory = calloc(size + 1, 1);
    if (!memory) example_fail("out of memory");
    return memory;
}

static inline uint32_t program_groups(uint32_t n, uint32_t group)
{
    return n / group + (n % group != 0);
}

#endif
