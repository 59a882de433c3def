/* What the files of the front end share: one opened source and the positions in it. */
#ifndef TB_FRONT_UNIT_H
#define TB_FRONT_UNIT_H

#include "compiler/front/front.h"
#include "compiler/front/lex.h"

typedef struct front_standard {
    const char *name; /* "metal3.2" */
    unsigned version; /* __METAL_VERSION__: 320 */
} front_standard;

/* Where clang and Metal's standard library lie. */
typedef struct front_paths {
    char *clang; /* program */
    char *msl;   /* folder of the headers; of C kernels: the folder that holds tombac/kernel.h */
    char *pch;   /* precompiled headers, or NULL */
    char *newer_pch; /* the same in C++20, or NULL */
} front_paths;

/* Physical lines from `line` on are lines of `file` from `presumed` on. */
typedef struct line_mark {
    uint32_t line, presumed, file;
} line_mark;

typedef struct source_file {
    char *path;
    char *text; /* NULL if it could not be read */
    size_t size;
    bool entered; /* by an #include; else a #line directive may have made the name up */
} source_file;

struct front_unit {
    front_options options; /* deep copies of the strings; the language is decided */
    front_standard standard;
    unsigned family;
    front_paths paths;
    char *main_path;
    tb_text preprocessed;
    token_list list;
    line_mark *marks;
    uint32_t mark_count;
    source_file *files;
    uint32_t file_count;
    front_dependency *dependencies;
    size_t dependency_count;
    front_kernel *kernels;
    struct kernel_site *sites; /* declarations of kernels and other stages, in source order (declare.h) */
    size_t site_count;
    size_t kernel_count;
    front_constant *constants;
    size_t constant_count;
    struct tensor_alias *aliases; /* names for types, in source order, found when first needed (parameter.c) */
    uint32_t alias_count;
    bool aliases_found;
    struct enumerator_table *enumerators; /* values of named integer constants, made when first needed */
};

/* A position as the user sees it. */
typedef struct front_position {
    const char *file;
    unsigned line, column;
} front_position;

/* Which Apple GPU family the kernels are for: a define of the user's, or the newest. Functions of younger families stay
 * in the code as calls that ir/ refuses, so that branches on tombac::apple_family() are compiled out. */
#define FRONT_FAMILY_MACRO "__TOMBAC_APPLE_FAMILY__"
enum { FRONT_OLDEST_FAMILY = 7, FRONT_NEWEST_FAMILY = 9 };

/* standard.c */
/* The family that the defines choose. */
tombac_status front_family_find(const front_options *options, unsigned *family, tombac_error **error);
tombac_status front_standard_find(const char *spelling, front_standard *standard, tombac_error **error);
tombac_status front_paths_find(front_paths *paths, tombac_error **error);
void front_paths_free(front_paths *paths);
/* The name of the umbrella header in paths->msl, of which the precompiled form is made. */
#define FRONT_UMBRELLA "__tombac/metal.h"

/* preprocess.c: fills preprocessed, marks, files, dependencies. */
tombac_status front_preprocess(front_unit *unit, const char *source, size_t size, tombac_error **error);

/* Size and XXH3-64 of a file; false if it cannot be read. */
bool front_hash_file(const char *path, uint64_t *size, uint64_t *hash);

/* searched.c: adds what was looked for without success to the dependencies. `piped`: the source is no file. */
tombac_status front_note_searched(front_unit *unit, bool piped, tombac_error **error);

/* position.c */
/* The user's position of a byte of the preprocessed text, which lies on `line` of it. */
front_position front_locate(const front_unit *unit, uint32_t offset, uint32_t line);
front_position front_locate_token(const front_unit *unit, uint32_t token);
/* File and line only: fast. */
const char *front_line_of(const front_unit *unit, uint32_t physical_line, unsigned *line);
/* Appends "file:line:col: kind: message", the source line and a caret. */
void front_report(
    const front_unit *unit, front_position position, const char *kind, const char *message, tb_text *out);
/* An error of one such report. */
tombac_status front_fail_at(const front_unit *unit, uint32_t token, tombac_status status,
    tombac_error **error, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A failed copy is NULL. */
char *front_copy(const char *text, size_t size);

#endif
