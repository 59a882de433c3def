/* Child processes: run one, feed it, collect its output, bound it in time and memory. */
#ifndef TB_BASE_PROCESS_H
#define TB_BASE_PROCESS_H

#include "base/error.h"
#include "base/text.h"

#include <stdatomic.h>

typedef struct tb_process {
    const char *const *arguments; /* [0] is the program (a path, or looked up in PATH); NULL-terminated */
    const void *input;            /* what the child reads on standard input; NULL: /dev/null */
    size_t input_size;
    double time_limit;   /* seconds of wall clock, 0: none; past it the child's process group is killed */
    size_t memory_limit; /* bytes of address space (RLIMIT_AS), 0: none */
    const atomic_bool *cancelled; /* the child is killed soon after this becomes true; may be NULL */
    size_t output_limit; /* bytes of standard output, 0: none; a child that writes more is killed */
    /* Results */
    tb_text output, errors; /* standard output and error; the caller frees them */
    int exit_status;        /* exit code, or 128 + signal */
    bool timed_out, wrote_too_much, was_cancelled;
} tb_process;

/* Runs the child to its end. TOMBAC_OK means that it ran, whatever exit_status says. A program that cannot be started is
 * TOMBAC_ERROR_NOT_FOUND; running over the time limit is TOMBAC_ERROR_TIMEOUT; over the output limit,
 * TOMBAC_ERROR_IO; being cancelled, TOMBAC_ERROR_COMPILER. Thread-safe; starts no shell. */
tombac_status tb_process_run(tb_process *process, tombac_error **error);

#endif
