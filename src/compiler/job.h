/* From a request of the command line to a prepared kernel; compile.c. Shared by the verbs that make or explain code. */
#ifndef TB_COMPILER_JOB_H
#define TB_COMPILER_JOB_H

#include "compiler/ir/ir.h"
#include "compiler/verbs.h"

typedef struct cc_job {
    front_unit *unit;
    ir_kernel *kernel;
} cc_job;

/* On failure the job is closed. */
tombac_status cc_job_open(const cc_request *request, cc_job *job, tb_text *diagnostics, tombac_error **error);
void cc_job_close(cc_job *job);

#endif
