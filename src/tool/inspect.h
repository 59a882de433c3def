/* What tombac inspect was asked for, and its part for GPUs. */
#ifndef TB_TOOL_INSPECT_H
#define TB_TOOL_INSPECT_H

#include "tool/compiler.h"
#include "tool/constants.h"

typedef struct inspect_options {
    tool_compile compile;
    tool_words constants;
    const char *what, *device, *file, *kernel, *target;
    size_t threads; /* of a threadgroup, for reports; 0: not given */
    bool json;
} inspect_options;

/* Runs `tombac-cc emit --what WHAT` for the kernel. On success the caller frees both outputs of `process`. */
tombac_status inspect_emit(const inspect_options *options, const tool_constants *constants, const char *what,
    tb_process *process, tombac_error **error);

/* The report on a kernel for a GPU: what a thread and a threadgroup need, and how many a multiprocessor
 * holds. The GPU tells where there is one, else ptxas, else what the compiler knows is all. */
tombac_status inspect_cuda_report(
    const inspect_options *options, const tool_constants *constants, tb_text *out, tombac_error **error);
/* The GPU's machine code, by NVIDIA's ptxas and nvdisasm or cuobjdump. TOMBAC_ERROR_UNSUPPORTED where they
 * are not installed. */
tombac_status inspect_cuda_sass(
    const inspect_options *options, const tool_constants *constants, tb_text *out, tombac_error **error);

#endif
