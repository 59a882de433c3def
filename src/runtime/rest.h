/* Code that was left out of a kernel until a launch needs it.
 *
 * Half of the work of many compilations is the form of the code that takes threadgroups of any shape (docs/cpu-engine.md, "Threads
 * per threadgroup"), and many programs never launch one that needs it. So a kernel from source, of some size, is compiled without; its
 * artifact holds the bitcode. The first launch that needs the rest waits, where it is made, for `tombac-cc finish`, or finds
 * the result in the compile cache. Bundles, debugger's code and specialised code are complete. */
#ifndef RT_REST_H
#define RT_REST_H

#include "artifact/artifact.h"
#include "runtime/object.h"

/* Is code of the library's kernels to be left out, and from how many instructions of the kernel on ($TOMBAC_DEFER)? */
bool rt_rest_wanted(const tombac_library *library, uint32_t *from);
/* Keeps the two sections of an artifact that the rest is made of. */
tombac_status rt_rest_create(const tb_section *manifest, const tb_section *rest, rt_rest **made, tombac_error **error);
void rt_rest_free(rt_rest *rest);
/* Makes sure that the kernel's code can run a launch of this shape. */
tombac_status rt_rest_provide(const tombac_kernel *kernel, const tb_dispatch *dispatch, tombac_error **error);

#endif
