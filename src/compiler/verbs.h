/* The verbs of tombac-cc: what main.c hands to each, one function per verb.
 *
 * A verb appends what belongs on standard output to `output` and warnings to `diagnostics` (standard error).
 * On failure it returns a status and an error whose message main.c prints after them; the status decides the
 * exit status. */
#ifndef TB_COMPILER_VERBS_H
#define TB_COMPILER_VERBS_H

#include "base/times.h"
#include "compiler/front/front.h"

/* A function constant as given on the command line, --constant NAME=0xBYTES, or the bytes of an argument, --argument
 * INDEX=0xBYTES. */
typedef struct cc_constant {
    const char *name;           /* its name, or its index in decimal digits */
    const unsigned char *bytes; /* in memory order */
    size_t size;
} cc_constant;

typedef struct cc_request {
    front_options options;
    const char *path;   /* of the source, or its name in messages if `source` is set */
    const char *source; /* the text, if it came from standard input; else NULL */
    size_t source_size;
    const char *kernel, *engine, *target, *what, *output_path; /* NULL where not given */
    const cc_constant *constants;
    size_t constant_count;
    const cc_constant *arguments; /* to specialise for */
    size_t argument_count;
    uint32_t threadgroup[3]; /* 0: not given */
    bool json; /* emit --what report, times: for machines */
    bool defer; /* compile, emit --what times: leave out the general form of the code */
    uint32_t defer_from; /* instructions from which it is left out */
    tb_text *rest; /* receives it */
    bool fix; /* check: write what the warnings propose into the files */
    tb_times *times; /* emit --what times: what the compilation took; else NULL */
} cc_request;

typedef tombac_status cc_verb(
    const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error);

cc_verb cc_list;  /* list.c */
cc_verb cc_check; /* list.c */
cc_verb cc_emit_source;
cc_verb cc_emit_msl; /* a file in C as Metal source */
cc_verb cc_compile, cc_reflect, cc_emit_ir, cc_emit_reflection, cc_emit_assembly, cc_emit_simd, cc_emit_ptx; /* compile.c */
cc_verb cc_finish;      /* finish.c */
cc_verb cc_emit_report; /* report.c */
cc_verb cc_emit_times;  /* times.c */

/* front_open on the request's source. */
tombac_status cc_open(const cc_request *request, front_unit **unit, tombac_error **error);
/* The kernel that --kernel names; without --kernel an argument error. */
tombac_status cc_find_kernel(
    const cc_request *request, front_unit *unit, const front_kernel **kernel, tombac_error **error);

#endif
