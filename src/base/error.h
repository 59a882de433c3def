/* Making tombac_error objects (declared in tombac.h); used by the runtime, the compiler and the command alike.
 *
 * The usual form:  return tb_fail(error, TOMBAC_ERROR_BINDING, "argument '%s' is missing", name);
 * Every function takes `error` as the public calls do: NULL where nobody wants it. If memory is short the error object is
 * a static one whose message says so; releasing it is allowed. */
#ifndef TB_BASE_ERROR_H
#define TB_BASE_ERROR_H

#include "tombac/tombac.h"

#include <stdarg.h>

/* Fills *error and returns `status`. */
tombac_status tb_fail(tombac_error **error, tombac_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Same, with TOMBAC_ERROR_IO and ": <strerror(errno)>" at the end. */
tombac_status tb_fail_errno(tombac_error **error, const char *format, ...) __attribute__((format(printf, 2, 3)));
tombac_status tb_fail_memory(tombac_error **error);
/* Adds facts to an error that tb_fail made (no-ops where *error is absent or static). Strings are copied. */
void tb_error_set_kernel(tombac_error **error, const char *kernel);
void tb_error_set_location(tombac_error **error, const char *file, unsigned line, unsigned column);
void tb_error_set_operation(tombac_error **error, const char *name);
/* The thread's position in its threadgroup and the threadgroup's in the grid. */
void tb_error_set_thread(tombac_error **error, const uint32_t thread[3], const uint32_t threadgroup[3]);
/* A second object with the same content; `from` may be NULL, then *to is untouched. */
void tb_error_copy(const tombac_error *from, tombac_error **to);

#endif
