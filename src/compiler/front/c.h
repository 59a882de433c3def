/* The front end for kernels in C: what c_*.c share. See front.h for what comes out.
 *
 * C goes the way of Metal: preprocessed with the macros of <tombac/kernel.h> alone, cut into tokens, edited,
 * and compiled by clang, as C. Words that the rewriter reads: kernel and its attributes (requires,
 * threads_required, threads_at_most, math_mode) in front of a function, function_constant, threadgroup, slice, printf, assert.
 */
#ifndef TB_FRONT_C_H
#define TB_FRONT_C_H

#include "compiler/front/rewrite.h"

#define FRONT_C_STANDARD_HEADERS "tombac/kernel/std" /* beside tombac/kernel.h: <stdint.h>, <math.h>, ... */
#define FRONT_C_HEADER "tombac/kernel.h"
#define FRONT_C_ENTRY_PREFIX "__tombac_entry_"
/* What follows a slice's name in the name of the argument that holds its length. */
#define FRONT_C_COUNT_SUFFIX "_count"

/* ---- c_declare.c ---- */

/* Both phases before compilation: fills the whole unit. */
tombac_status front_c_scan(front_unit *unit, const char *source, size_t size, tombac_error **error);
/* The last token of the words that make a function a kernel, `kernel` first: its attributes, up to `void`. */
uint32_t front_c_attributes_end(const token_list *list, uint32_t kernel);

/* ---- c_parameter.c ---- */

typedef enum c_kind { C_VALUE, C_POINTER, C_THREADGROUP, C_SLICE } c_kind;

/* One parameter of a kernel, as declared. */
typedef struct c_parameter {
    c_kind kind;
    uint32_t first, end; /* tokens, end exclusive */
    uint32_t name;
    uint32_t star;   /* the last '*' outside brackets, or NO_TOKEN */
    uint32_t square; /* the first '[', or NO_TOKEN */
    uint32_t group;  /* the '(' of (*name), or NO_TOKEN */
    bool is_const;   /* what is pointed to, or a slice's elements */
} c_parameter;

/* The parameter at *at, which moves on to the next; false at the end of the list or where there is a problem,
 * which is then at *bad (else NO_TOKEN). Start with *at behind the '('. */
bool front_c_next_parameter(const token_list *list, uint32_t close, uint32_t *at, c_parameter *out,
    uint32_t *bad, const char **problem);
/* Appends the type of what a parameter points to, or of its value: an operand for __typeof__. */
void front_c_element_type(const token_list *list, const c_parameter *p, tb_text *out);
/* Fills the kernel's parameters. */
tombac_status front_c_read_parameters(
    front_unit *unit, const kernel_site *site, front_kernel *kernel, tombac_error **error);

/* ---- c_check.c ---- */

typedef struct c_function {
    uint32_t name, open, body; /* tokens; body NO_TOKEN: only declared */
} c_function;

typedef struct c_functions {
    c_function *items; /* in the order of their names */
    size_t count;
} c_functions;

/* All functions of the file. False if memory is short. */
bool front_c_functions(const token_list *list, c_functions *out);
const c_function *front_c_function(const token_list *list, const c_functions *functions, uint32_t name);
/* Refuses by name and place what C has and kernels have not. */
tombac_status front_c_check(const front_unit *unit, tombac_error **error);
/* Is token i the name in a use of a function, not a member or a tag of that name? */
bool front_c_is_use(const token_list *list, uint32_t i);

/* Does token i, a use of a name, stand where a variable of this name is declared? */
bool front_c_declares_variable(const token_list *list, uint32_t i);

/* ---- c_constant.c ---- */

/* Does a declaration of a function constant begin at token i? */
bool front_c_is_constant(const token_list *list, uint32_t i);
/* Fills the unit's constants. */
tombac_status front_c_find_constants(front_unit *unit, tombac_error **error);
/* Refuses what writes them. */
tombac_status front_c_check_constants(const front_unit *unit, tombac_error **error);
tombac_status front_c_rewrite_constants(rewriter *r);
/* The declaration at token i in Metal's words. */
void front_c_write_constant(edit_list *edits, const token_list *list, uint32_t i);

/* ---- c_rewrite.c, c_compile.c ---- */

tombac_status front_c_rewrite(
    rewriter *r, front_unit *unit, const front_kernel *selected, tombac_error **error);
tombac_status front_c_compile(front_unit *unit, const front_kernel *kernel, bool syntax_only,
    front_result *result, tombac_error **error);
/* Does this `threadgroup` declare a variable, not qualify a pointer? */
bool front_c_declares_threadgroup(const token_list *list, uint32_t i);

#endif
