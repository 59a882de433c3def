/* Function constants: from the caller's names or indices and bytes to checked, sorted values. */
#ifndef RT_CONSTANT_H
#define RT_CONSTANT_H

#include "runtime/compiler_client.h"

/* Makes `count` values sorted by index (free(); NULL if count is 0). Unknown constants are
 * TOMBAC_ERROR_NOT_FOUND; values of a wrong size and constants given twice are TOMBAC_ERROR_ARGUMENT.
 * `kernel` is for messages. */
tombac_status rt_constant_values(const rt_listing *listing, const char *kernel,
    const tombac_constant *constants, size_t count, rt_value **values, tombac_error **error);

#endif
