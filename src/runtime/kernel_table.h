/* A library's kernels: who asks for one that exists shares it, who asks for one that is being made waits for
 * it. So preparing kernels in the background is never wasted, and never done twice.
 *
 * A kernel is told by its name and the values of its function constants. The library's list does not retain
 * its kernels (they retain the library); a kernel leaves it when the last reference goes. */
#ifndef RT_KERNEL_TABLE_H
#define RT_KERNEL_TABLE_H

#include "runtime/object.h"

/* The kernel with one more reference; `values` sorted by index. */
tombac_status rt_kernel_obtain(tombac_library *library, const char *name, const rt_value *values, size_t count,
    tombac_kernel **kernel, tombac_error **error);
/* At the end of a kernel. */
void rt_kernel_forget(tombac_kernel *kernel);

/* ---- kernel.c ---- */

/* Whether there is such a kernel and such constants; their values, sorted, to be freed (NULL: none). */
tombac_status rt_kernel_check(const tombac_library *library, const char *name, const tombac_constant *constants,
    size_t constant_count, rt_value **values, tombac_error **error);
/* Makes a kernel of its own: from the bundle, the cache or the compiler. */
tombac_status rt_kernel_make(tombac_library *library, const char *name, const rt_value *values, size_t count,
    tombac_kernel **kernel, tombac_error **error);

#endif
