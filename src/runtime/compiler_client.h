/* Running tombac-cc: finding it, its command lines, and what its end means (docs/architecture.md "The
 * compiler process"). */
#ifndef RT_COMPILER_CLIENT_H
#define RT_COMPILER_CLIENT_H

#include "runtime/source.h"

#include <stdatomic.h>

/* The compiler that is installed. */
typedef struct rt_compiler {
    char *program;    /* path of tombac-cc, NULL: not found */
    char *identity;   /* changes when the compiler, its clang or its data files change; "" if not found */
    bool own_headers; /* $TOMBAC_MSL is set: somebody works on Metal's headers, so nothing may come from the
                         cache */
} rt_compiler;

/* $TOMBAC_CC; else tombac-cc beside the library (../bin and the like), beside the program, in PATH. Fails
 * only for lack of memory; a missing compiler is an error when it is run. */
tombac_status rt_compiler_find(rt_compiler *compiler, tombac_error **error);
void rt_compiler_free(rt_compiler *compiler);

/* A value for a function constant, as bytes in memory order. */
typedef struct rt_value {
    uint32_t index;
    size_t size;
    unsigned char bytes[64];
} rt_value;

/* What is bound to an argument in constant memory, to specialise a kernel for it. */
typedef struct rt_fixed_argument {
    uint32_t index;
    size_t size;
    const unsigned char *bytes;
} rt_fixed_argument;

/* One run of tombac-cc. */
typedef struct rt_request {
    const rt_source *source;
    const char *kernel; /* compile this one; NULL: list */
    const char *engine, *target;
    bool driver_target; /* the driver chose the target: the compiler must be told */
    const rt_value *values; /* sorted by index */
    size_t value_count;
    const rt_fixed_argument *arguments;
    size_t argument_count;
    const uint32_t *threadgroup;  /* three sizes that all threadgroups have; NULL or 0: not known */
    bool defer; /* leave out what few launches need, of kernels of `defer_from` instructions or more */
    uint32_t defer_from;
    const atomic_bool *cancelled; /* stops the compiler once it is true; may be NULL */
} rt_request;

typedef struct rt_response {
    int exit_status;
    tb_text output;      /* the listing (JSON) or the artifact */
    tb_text diagnostics; /* what it wrote to standard error */
} rt_response;

/* Runs it; TOMBAC_OK means that it ended by itself, whatever exit_status says. It is TOMBAC_ERROR_COMPILER if
 * it is not installed, cannot be started, or ran over its limits ($TOMBAC_CC_TIME seconds, $TOMBAC_CC_MEMORY
 * bytes). */
tombac_status rt_compiler_run(
    const rt_compiler *compiler, const rt_request *request, rt_response *response, tombac_error **error);
/* `tombac-cc finish` on an artifact; the response's output is another. */
tombac_status rt_compiler_finish(
    const rt_compiler *compiler, const void *artifact, size_t size, rt_response *response, tombac_error **error);
void rt_response_free(rt_response *response);

/* Whether a failure says something about the source, so that it would happen again (and may be cached). */
bool rt_exit_is_about_source(int exit_status);
/* The error that a failed run means (exit_status not 0). */
tombac_status rt_compiler_fail(
    const rt_request *request, int exit_status, const char *diagnostics, tombac_error **error);

#endif
