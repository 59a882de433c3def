/* What the examples share, so that each shows only its own matter: opening a kernel, buffers, running,
 * failing. vec_add.c has all of it written out. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <tombac/tombac.h>

typedef struct example {
    const char *name; /* of the file and of the kernel in it */
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
} example;

/* Opens NAME.metal and its kernel NAME on the device that the command line names. */
example example_open(const char *name, int count, char **arguments);
void example_close(example *e);

/* Ends the program with 1 and the error's message if `status` is a failure. */
void example_check(tombac_status status, tombac_error **error);
/* Ends the program with 1 and a message. */
_Noreturn void example_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Device memory with a copy of `data`, or zeros for NULL. */
tombac_buffer *example_buffer(const example *e, size_t size, const void *data);
/* A launch with `buffers` bound to [[buffer(0)]] and on; NULL leaves an index free. */
tombac_launch *example_launch(const example *e, tombac_buffer *const *buffers, uint32_t count);
/* Submits the launch, waits for it and releases it. */
void example_finish(tombac_launch *launch);
/* Prints the line that says that a size gave the right result. */
void example_right(const example *e, uint32_t n);

/* The vector lengths that every example tries: none, one, around a threadgroup, many and odd. */
extern const uint32_t example_sizes[];
extern const size_t example_size_count;

#endif
