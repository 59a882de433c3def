/* What the ready kernels' calls are made of. A call records launches into a sequence; the first failure
 * stays, and what follows it does nothing. */
#ifndef LIBRARY_CALL_H
#define LIBRARY_CALL_H

#include "tombac/algorithms.h"

enum { CALL_TEMPORARIES = 6 };

typedef struct call {
    tombac_algorithms *algorithms;
    tombac_sequence *sequence;
    tombac_launch *launch;
    uint32_t next; /* index of the next buffer or value */
    tombac_buffer *temporaries[CALL_TEMPORARIES];
    size_t temporary_count;
    tombac_status status;
    tombac_error **error;
} call;

/* Compiled kernels of library/kernels/NAME.c; the kernels' names begin with NAME. */
typedef struct call_artifact {
    const char *name;
    const unsigned char *bytes;
    size_t size;
} call_artifact;
extern const call_artifact call_artifacts[];
extern const size_t call_artifact_count;

void call_begin(call *c, tombac_algorithms *algorithms, tombac_error **error);
/* Submits what was recorded, and waits for it where `operation` is NULL. */
tombac_status call_end(call *c, tombac_operation **operation);
/* The call's failure, unless it has one. */
void call_fail(call *c, tombac_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Device memory of the call's own, `count` elements of `size` bytes. */
tombac_buffer *call_temporary(call *c, size_t count, size_t size);
/* `count` elements of 1, 2, 4, 8 or 16 bytes from `offset` bytes on, as unsigned numbers whatever the
 * buffer's type. */
tombac_buffer *call_view(call *c, tombac_buffer *buffer, size_t size, size_t offset, size_t count);
/* Begins a launch of a kernel: a name, or printf's format of one. */
void call_kernel(call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void call_buffer(call *c, tombac_buffer *buffer);
void call_bytes(call *c, const void *data, size_t size);
void call_uint(call *c, size_t value);
void call_float(call *c, float value);
/* Ends a launch: whole threadgroups, or threads. */
void call_groups(call *c, size_t x, size_t y, tombac_size3 group);
void call_threads(call *c, size_t x, size_t y, tombac_size3 group);

/* Fails unless the counts' product is a number of elements that kernels can count, 2^31 - 1. */
void call_check_count(call *c, const char *call_name, size_t a, size_t b);
/* Fails if both are the same buffer. */
void call_check_apart(call *c, const char *call_name, tombac_buffer *in, tombac_buffer *out);
/* "float" for F32 and so on; fails, and NULL, if `types` (of letters f h i u c s) does not have it. */
const char *call_type(call *c, const char *call_name, tombac_type type, const char *types);

/* All bytes of `from` to `to`, which is as long (elements.c). */
tombac_status call_copy(tombac_algorithms *algorithms, tombac_buffer *to, tombac_buffer *from,
    tombac_operation **operation, tombac_error **error);
#endif
