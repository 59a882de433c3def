/* From a request of the command line to a prepared kernel; compile.c. Shared by the verbs that make or explain code. */
#ifndef TB_COMPILER_JOB_H
#define TB_COMPILER_JOB_H

#include "compiler/cpu/cpu.h"
#include "compiler/ir/ir.h"
#include "compiler/verbs.h"

typedef struct cc_job {
    front_unit *unit;
    ir_kernel *kernel;
} cc_job;

/* On failure the job is closed. */
tombac_status cc_job_open(const cc_request *request, cc_job *job, tb_text *diagnostics, tombac_error **error);
void cc_job_close(cc_job *job);

/* For the cpu engine: scalar optimisation, as far as no lanes matter; then what the request says about lanes. */
tombac_status cc_optimise(const cc_request *request, ir_kernel *kernel, tombac_error **error);
/* Is the engine one, and does it take what the request says about lanes? */
tombac_status cc_require_engine(const cc_request *request, tombac_error **error);
/* The engine's code. */
tombac_status cc_generate(const cc_request *request, ir_kernel *kernel, bool assembly, tb_text *object, size_t *context_size,
    tombac_error **error);
cpu_options cc_cpu_options(const cc_request *request, const ir_kernel *kernel);

#endif
