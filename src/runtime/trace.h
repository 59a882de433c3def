/* A record of what ran when, in the JSON that chrome://tracing and Perfetto read. */
#ifndef RT_TRACE_H
#define RT_TRACE_H

#include "runtime/object.h"

/* Starts to record into `path`; an existing trace is continued, another file is TOMBAC_ERROR_IO. */
tombac_status rt_trace_open(const char *path, const char *device, rt_trace **trace, tombac_error **error);
/* Notes an operation that has ended; called by its worker. What cannot be noted is left out. */
void rt_trace_operation(rt_trace *trace, const tombac_operation *operation);
/* Notes the making of a kernel. */
void rt_trace_compile(rt_trace *trace, const char *kernel, double begin, double end);
/* Notes that code was made for one set of argument values, or could not be. */
void rt_trace_specialise(rt_trace *trace, const char *kernel, double begin, double end, bool good);
/* Writes what is still in memory. */
void rt_trace_close(rt_trace *trace);

#endif
