/* tombac build, its parts: build.c (command line, files), build_make.c (compiling a bundle), build_stale.c
 * (is a bundle still what its sources say?), build_header.c and build_struct.c (the C header). */
#ifndef TB_TOOL_BUILD_H
#define TB_TOOL_BUILD_H

#include "artifact/artifact.h"
#include "tool/options.h"

#include <jansson.h>

typedef struct build_target {
    const char *name, *engine, *level;
    bool usual; /* made where no target is asked for */
} build_target;

typedef struct build_options {
    tool_compile compile;
    tool_words kernels;   /* none: all */
    tool_words constants; /* NAME=VALUE */
    tool_words targets;   /* names of build_targets; none: the usual ones */
    bool locked;
    const char *emit; /* "msl", or NULL */
    const char *source;                           /* FILE as given */
    const char *output, *header, *name, *depfile; /* NULL where not given, but output and name */
} build_options;

/* NULL-terminated by name. */
extern const build_target build_targets[];
bool build_wants(const build_options *options, const build_target *target);

/* What makes one bundle differ from another beside the source: the index's "options". NULL if memory is
 * short. */
json_t *build_options_json(const build_options *options);

/* Compiles all kernels for all targets; appends the bundle's bytes. The working folder becomes the source's.
 */
tombac_status build_make(const build_options *options, tb_text *bundle, tombac_error **error);
/* A bundle's index, to be json_decref()d; and its tables. */
tombac_status build_read(
    const char *name, const tb_text *bytes, tb_artifact *artifact, json_t **index, tombac_error **error);
/* TOMBAC_ERROR_ARTIFACT that says what changed, if the bundle is not what `options` would make. Runs no
 * compiler. */
tombac_status build_check_current(const build_options *options, const json_t *index, tombac_error **error);
/* The C header: structs, launch functions, the bundle itself. */
tombac_status build_header(
    const build_options *options, const tb_text *bundle, tb_text *out, tombac_error **error);

/* ---- Between the header's parts ---- */

/* What has been written already, so that structs appear once. */
typedef struct build_writer {
    tb_text *out;
    const char *prefix; /* of all names */
    json_t *structs;    /* C name -> layout */
    bool conflict;      /* two layouts of one name */
} build_writer;

/* The C identifier for a Metal name, appended. */
void build_identifier(tb_text *out, const char *name);
/* Declares what an argument or member of that JSON description needs; false if it has no C form (bytes then).
 */
void build_declare_struct(build_writer *writer, const json_t *type, size_t alignment);
/* The C type of one element: "float", "vec_add_args_t"; `scalar` only. NULL: none. */
const char *build_scalar(const char *scalar);
void build_struct_name(const build_writer *writer, const json_t *type, tb_text *out);

#endif
