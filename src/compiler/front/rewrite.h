/* From Metal tokens to C++ tokens: the rules R1 to R15, one file per group.
 *
 * A rule looks at tokens and notes edits; nothing is reparsed, no types are known. Rules skip tokens that
 * were blanked (parts that the selected kernel does not need) or already have a text. Ternaries come last,
 * because they repeat the edited text of their operands. */
#ifndef TB_FRONT_REWRITE_H
#define TB_FRONT_REWRITE_H

#include "compiler/front/declare.h"
#include "compiler/front/edit.h"

enum { SWIZZLE_NAMES = 2 * 4 * 4 * 4 * 4 * 3 };

/* A member function without an address space: its name, and the token after which one can be written. */
typedef struct front_unannotated {
    uint32_t name, after;
} front_unannotated;

typedef struct rewriter {
    front_unit *unit;
    const token_list *list;
    edit_list edits;
    const front_kernel *selected; /* NULL: the whole file */
    bool *swizzle_fields;         /* per swizzle spelling: a class of the source has a member of that name */
    bool *wrapped;                /* per token: this '?' has been wrapped already */
    bool *asked;                  /* per token: clang asked for a wrapped '?', for a swizzle in place of a field, or for a literal in constant memory */
    bool whole;                   /* nothing is left out but other kernels (prune.c) */
    bool pruned;                  /* something was */
    bool safe_base;               /* a region that matters asks for safe math: see rewrite_pragma.c */
    unsigned safe_regions;        /* looked at */
    front_unannotated *unannotated; /* filled if the options ask for it */
    size_t unannotated_count;
    tombac_error **error;
} rewriter;

/* Prefix of the variable that says whether a function constant is set. */
#define FRONT_DEFINED_PREFIX "__tombac_fcdef_"
#define FRONT_CONSTANT_TEXT "__attribute__((opencl_global_host)) const"

/* Runs all rules (rewrite.c). After it, front_wrap_ternary may be applied where clang asks for it. */
tombac_status front_rewrite_start(
    rewriter *r, front_unit *unit, const front_kernel *selected, tombac_error **error);
/* Runs them again, for `asked` has grown: what a wrapped '?' repeats of its operands must change with them. */
tombac_status front_rewrite_again(rewriter *r);
void front_rewrite_free(rewriter *r);

/* language.c: refuses what Metal leaves out of C++: words of it, and, where clang is content, variables. */
tombac_status front_check_words(const rewriter *r, tombac_error **error);
tombac_status front_check_variables(const rewriter *r, tombac_error **error);
/* rewrite_kernel.c: R2, R3, R3b, R4, and what the selection leaves out. */
void front_select(rewriter *r);
/* prune.c: of a large source, leaves out what the selected kernel cannot name. */
tombac_status front_prune(rewriter *r);
tombac_status front_rewrite_kernels(rewriter *r);
void front_rewrite_attributes(rewriter *r);
/* rewrite_variable.c: R5, R8. */
tombac_status front_rewrite_variables(rewriter *r);
/* rewrite_method.c: R7. */
tombac_status front_rewrite_methods(rewriter *r);
/* rewrite_literal.c: R6. Writes the literal's new text and returns true if it has one. */
bool front_rewrite_number(const char *text, size_t length, tb_text *out);
/* rewrite_swizzle.c: R9. */
void front_find_swizzle_fields(rewriter *r);
void front_rewrite_swizzle(rewriter *r, uint32_t i);
/* Is token i spelled like one? */
bool front_is_swizzle(const rewriter *r, uint32_t i);
/* rewrite_subscript.c: R15. */
void front_rewrite_subscripts(rewriter *r);
/* rewrite_alias.c: functions that are declared by Apple's labels. */
void front_rewrite_aliases(rewriter *r);
/* rewrite_ternary.c: R10. */
void front_rewrite_ternaries(rewriter *r);
/* Wraps the operands of the '?' at i; false if that was done before or cannot be. */
bool front_wrap_ternary(rewriter *r, uint32_t i);
/* reach.c: can the selected kernel reach the function that holds this directive? */
bool front_reaches_directive(rewriter *r, uint32_t d);
/* feature.c: names that need a younger language version. Reports every one that was not blanked. */
tombac_status front_check_features(const rewriter *r, tombac_error **error);
/* space.c: pointers and references without an address space, below metal4.1. */
tombac_status front_check_spaces(const rewriter *r, tombac_error **error);
/* fix.c: warns at members without an address space. */
void front_warn_unannotated(const rewriter *r, tb_text *out);
/* warn.c: barriers that not all threads reach, kernels without a name for the host. */
void front_warn(const rewriter *r, tb_text *out);
/* rewrite_pragma.c: R11. */
tombac_status front_rewrite_pragmas(rewriter *r);

static inline bool front_is_free(const rewriter *r, uint32_t i)
{
    return r->edits.edits[i].text == EDIT_NONE;
}

/* A literal, or what the compiler makes one of. */
static inline bool front_is_string(const rewriter *r, uint32_t i)
{
    return r->list->tokens[i].kind == TOKEN_STRING || token_is(r->list, i, "__func__") ||
           token_is(r->list, i, "__FUNCTION__") || token_is(r->list, i, "__PRETTY_FUNCTION__");
}

#endif
