/* tombac run, in parts: run_options.c reads the command line, run_bind.c makes arguments, run.c opens and
 * launches, run_report.c shows, saves and compares. */
#ifndef TB_TOOL_RUN_H
#define TB_TOOL_RUN_H

#include "tool/options.h"
#include "tool/value.h"

typedef struct run_options {
    const char *file, *kernel, *device;
    tool_compile compile;
    bool has_grid, has_groups, has_group;
    tombac_size3 grid, group; /* `grid` in threads or in threadgroups */
    tool_words values;        /* VALUE or NAME=VALUE */
    tool_words constants, threadgroup, prints, saves, expects;
    double tolerance;
    size_t repeats; /* 0: not timed */
    bool json, help;
} run_options;

/* One argument of the kernel with what the command line gives it. */
typedef struct run_argument {
    tombac_argument info;
    char *what;            /* "argument 'a'" */
    const json_t *members; /* of structs, in the reflection */
    tombac_type type;      /* as info.type, atomics included */
    uint32_t vector_length;
    const char *text; /* the value, NULL: none */
    tool_array array; /* the value as given */
    size_t stride;    /* bytes of one element of `array` in the kernel's memory */
    tb_text initial;  /* the bytes before the run */
    tombac_buffer *buffer;
    size_t threadgroup_size; /* of threadgroup arguments */
    bool bound;
} run_argument;

typedef struct run_expectation {
    const run_argument *argument;
    const char *source; /* a file or a value, as written */
    tool_array array;
} run_expectation;

typedef struct run_state {
    const run_options *options;
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_launch *launch;
    json_t *reflection;
    run_argument *arguments;
    size_t argument_count;
    run_expectation *expectations;
    size_t expectation_count;
    tombac_size3 group;        /* as launched */
    double *seconds;           /* per run */
    size_t started, run_count; /* runs, and those that ended well */
} run_state;

tombac_status run_options_read(int count, char **arguments, run_options *options, tombac_error **error);
void run_options_free(run_options *options);

/* Fills state->arguments from the kernel and the command line, makes the buffers and binds them to
 * state->launch. */
tombac_status run_bind(run_state *state, tombac_error **error);
void run_unbind(run_state *state);
/* The argument of that name or buffer index, or an error that names what would be right. */
tombac_status run_find_argument(
    const run_state *state, const char *name, run_argument **argument, tombac_error **error);

/* Finds every name that --print, --save and --expect use and reads what is expected: before the launch. */
tombac_status run_prepare_report(run_state *state, tombac_error **error);
/* Prints, saves and compares. *missed says that an expectation was missed. */
tombac_status run_report(run_state *state, bool *missed, tombac_error **error);

#endif
