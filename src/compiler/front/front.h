/* The front end: from Metal or C source to LLVM bitcode of one kernel, plus what the rest must know about the source.
 *
 *     front_open      preprocess (clang -E), tokenise, find kernels and function constants; no compilation
 *     front_compile   rewrite the tokens into C++ that stock clang accepts in SYCL device mode; run clang
 *
 * Every step keeps source positions: clang's diagnostics come back with the user's file, line and column, in Metal's words. */
#ifndef TB_COMPILER_FRONT_H
#define TB_COMPILER_FRONT_H

#include "base/error.h"
#include "base/text.h"

#include <stdint.h>

/* Which language a source is in: C where its name ends in ".c", else Metal. */
typedef enum front_language { FRONT_BY_NAME, FRONT_METAL, FRONT_C } front_language;

typedef struct front_options {
    front_language language;
    const char *standard;               /* any spelling of -std=, NULL: "metal3.2" */
    tombac_math math;
    const char *const *defines;         /* "NAME" or "NAME=VALUE" */
    size_t define_count;
    const char *const *include_folders;
    size_t include_folder_count;
    bool warnings;  /* report warnings too, not errors only */
    bool debug;     /* code for a debugger (-g): variables and types, not lines only */
    bool address_space_warnings; /* -Wmetal-addr-spaces: member functions without an address space */
} front_options;

/* ---- What the source declares ---- */

/* What a kernel parameter is bound to. The table of position attributes is in front/attributes.def. */
typedef enum front_binding {
    FRONT_BUFFER,      /* device or constant pointer or reference, or a tensor there */
    FRONT_THREADGROUP, /* threadgroup pointer */
    FRONT_POSITION     /* a thread-position or size attribute */
} front_binding;

typedef enum front_space { FRONT_THREAD, FRONT_DEVICE, FRONT_CONSTANT, FRONT_THREADGROUP_SPACE } front_space;

typedef struct front_parameter {
    char *name;
    front_binding binding;
    front_space space;  /* of pointers and references */
    bool is_const, is_reference;
    bool is_tensor;     /* a tensor_handle by value; `space` and `is_const` are its elements' */
    char *type_text;    /* the declared type without address space, const, * and &, as written: "float4", "T" */
    uint32_t index;     /* of [[buffer(n)]], [[threadgroup(n)]]; implicit ones numbered by Metal's rule */
    char *position;     /* FRONT_POSITION: the attribute's name, as "thread_position_in_grid" */
    char *condition;    /* name of the function constant under which the parameter exists, or NULL */
    unsigned line, column;
} front_parameter;

typedef struct front_kernel {
    char *name;         /* as the host sees it */
    char *function;     /* the function's own name in the source */
    const char *file;   /* position of the definition */
    unsigned line, column;
    front_parameter *parameters;
    size_t parameter_count;
    uint32_t max_total_threads;       /* [[max_total_threads_per_threadgroup(n)]], 0: not given */
    uint32_t required_threads[3];     /* [[required_threads_per_threadgroup(x,y,z)]], 0: not given */
    tb_text requirements; /* the strings of [[tombac::requires("...")]], a line each; Apple's compiler ignores them */
    bool has_math;        /* C: math_mode(...) gives the kernel a mode of its own */
    tombac_math math;
} front_kernel;

typedef struct front_constant {
    char *name;
    uint32_t index;
    char *type_text;    /* "bool", "short", "float4" */
    tombac_type type;   /* scalar type */
    uint32_t vector_length;
} front_constant;

typedef struct front_dependency {
    char *path;
    uint64_t size, hash; /* XXH3-64 of the content */
    bool absent;         /* looked for and not there: if it were, the result might be another */
} front_dependency;

typedef struct front_unit front_unit;

/* Preprocesses and scans. `source` NULL: read the file `path`; else `path` is the name that messages show. Fails with
 * TOMBAC_ERROR_SOURCE and clang-style diagnostics as the message where the source cannot be preprocessed or scanned. */
tombac_status front_open(const char *path, const char *source, size_t size, const front_options *options,
    front_unit **unit, tombac_error **error);
void front_close(front_unit *unit);

/* FRONT_METAL or FRONT_C. */
front_language front_language_of(const front_unit *unit);
size_t front_kernel_count(const front_unit *unit);
const front_kernel *front_kernel_at(const front_unit *unit, size_t index);
const front_kernel *front_kernel_find(const front_unit *unit, const char *name);
size_t front_constant_count(const front_unit *unit);
const front_constant *front_constant_at(const front_unit *unit, size_t index);
/* Files read by the preprocessor, the source itself first; then those that it only looked for. Tombac's own headers are left out. */
size_t front_dependency_count(const front_unit *unit);
const front_dependency *front_dependency_at(const front_unit *unit, size_t index);

/* ---- Compilation ---- */

typedef struct front_result {
    tb_text bitcode;     /* LLVM bitcode; empty after a syntax check */
    tb_text diagnostics; /* clang-style text with source line and caret; warnings on success, everything on failure */
} front_result;

/* Compiles `kernel` with every other kernel blanked, or the whole file if `kernel` is NULL; `syntax_only` makes no bitcode.
 * In the bitcode (triple nvptx64, no passes run)
 *   - the kernel is the function annotated "tombac.kernel:NAME" in llvm.global.annotations (NAME as the host sees it; an
 *     explicit instantiation is annotated "tombac.host_name:NAME"), its parameters in the order of front_kernel, vectors
 *     byval, with no annotations on parameters;
 *   - a limit of threads that depends on template parameters is the argument of a call to __tombac_limit in the kernel;
 *   - function constant C is an external, mutable global annotated "tombac.function_constant:C", and a bool global
 *     annotated "tombac.function_constant_defined:C" stands for is_function_constant_defined(C);
 *   - device and constant memory is address space 1, threadgroup memory 3, everything else 0; threadgroup variables are
 *     globals in 3;
 *   - what Metal's library does is either plain IR or a call to a function of docs/operations.md;
 *   - debug information is complete (types too); its files and lines are the user's, its columns those of the rewritten text.
 * Without a selected kernel every problem in the file is an error; with one, only what that kernel needs. A kernel that
 * needs something unsupported is TOMBAC_ERROR_UNSUPPORTED, with its place.
 *
 * The rewritten text relies on these names of the library (msl/): v.swz<0, 1>(), v.swzl<0, 1>() (a swizzle, an assignable one) and
 * metal::__tc<U>(x), which converts an operand of ?: to the value that it has in common with U; `bfloat` for bf literals. */
tombac_status front_compile(front_unit *unit, const front_kernel *kernel, bool syntax_only, front_result *result,
    tombac_error **error);
void front_result_free(front_result *result);
/* What -Wmetal-addr-spaces --fix does: `thread` after every member function that has no address space, as its `this` had
 * below metal4.1. Calls `write` with the new text of every file that changes; stops where it fails. */
typedef tombac_status front_fix_writer(const char *path, const tb_text *text, void *context, tombac_error **error);
tombac_status front_fix(front_unit *unit, front_fix_writer *write, void *context, tombac_error **error);
/* The rewritten text that clang gets, for `tombac inspect --emit source`. */
tombac_status front_rewrite(front_unit *unit, const front_kernel *kernel, tb_text *out, tombac_error **error);

/* ---- Kernels in C (front/c_*.c) ----
 *
 * A C file goes through the same two phases; its bitcode keeps the same promises, except that pointers are generic
 * (address space 0) within the source's own functions: each kernel gets an entry function, which takes every argument by a
 * pointer (1: buffers and by-value parameters, 3: threadgroup memory) and calls the source's function, and threadgroup
 * variables are globals in 0 annotated "tombac.threadgroup". ir_prepare resolves both. */
/* The whole file as Metal source for a language standard (NULL: "metal4.1"), for `tombac-cc emit --what msl`. */
tombac_status front_emit_msl(front_unit *unit, const char *standard, tb_text *out, tombac_error **error);

#endif
