/* Declarations that the rewriter and the reflection look at: attributes, kernels, parameters, constants. */
#ifndef TB_FRONT_DECLARE_H
#define TB_FRONT_DECLARE_H

#include "compiler/front/unit.h"

/* ---- Attributes (attribute.c) ---- */

typedef enum attribute_kind {
    ATTRIBUTE_OTHER, /* not Metal's */
    ATTRIBUTE_POSITION,
    ATTRIBUTE_BINDING,
    ATTRIBUTE_FUNCTION,
    ATTRIBUTE_UNSUPPORTED,
    ATTRIBUTE_IGNORED
} attribute_kind;

typedef struct attribute {
    attribute_kind kind;
    const char *known;               /* the name, if it is one of attributes.def */
    uint32_t first, last;            /* the attribute's tokens, last exclusive */
    uint32_t argument, argument_end; /* tokens between the parentheses; equal if there are none */
} attribute;

/* Tombac's own attribute, `known` of which is this. */
#define FRONT_REQUIRES "tombac::requires"

/* Iterates over the attributes of one [[...]]: set `at` to front_attributes(), call until false. */
typedef struct attribute_cursor {
    const token_list *list;
    uint32_t at, end;
} attribute_cursor;

attribute_cursor front_attributes(const token_list *list, uint32_t open);
bool front_next_attribute(attribute_cursor *cursor, attribute *out);
/* The known attribute that is spelled most like token i, or NULL. */
const char *front_nearest_attribute(const token_list *list, uint32_t i);
/* The text of adjacent string literals joined, for host_name("a" "b"). NULL if memory is short; empty if
 * there are none. */
char *front_join_strings(const token_list *list, uint32_t first, uint32_t end);

/* ---- Constant expressions (evaluate.c) ---- */

/* Evaluates an integer expression of literals, enumerators and program-scope integer constants. */
bool front_evaluate(front_unit *unit, uint32_t first, uint32_t end, int64_t *value);
void front_enumerators_free(front_unit *unit);

/* ---- Kernels (declare.c, parameter.c) ---- */

typedef enum site_kind {
    SITE_KERNEL,        /* definition or declaration of a kernel function */
    SITE_INSTANTIATION, /* explicit instantiation of a kernel template */
    SITE_STAGE          /* a vertex, fragment, ... function */
} site_kind;

typedef struct kernel_site {
    site_kind kind;
    uint32_t head, last; /* the whole declaration, last inclusive */
    uint32_t start;      /* after `template <...>` */
    uint32_t name;       /* the function's name */
    uint32_t open;       /* '(' of the parameters (of the template's, if an instantiation), or NO_TOKEN */
    uint32_t body;       /* '{', or NO_TOKEN */
    uint32_t host_name;  /* token of the attribute's argument, or NO_TOKEN */
    uint32_t host_name_end;
    bool is_template; /* has template parameters */
    uint32_t limit, limit_end; /* max_total_threads_per_threadgroup(tokens), if only clang can evaluate them */
    uint32_t kernel;  /* index in unit->kernels, or NO_TOKEN: it cannot be launched */
    /* Why the kernel cannot be compiled, found while its parameters were read: NULL if it can. */
    const char *problem; /* a format with one %.*s for the token's text */
    tombac_status problem_status;
    uint32_t problem_token;
} kernel_site;

/* Fills sites, kernels and constants of the unit. */
tombac_status front_declare(front_unit *unit, tombac_error **error);
/* Reads the parameter list at site->open into the kernel; notes problems in the site. False if memory is
 * short. */
bool front_read_parameters(front_unit *unit, kernel_site *site, front_kernel *kernel);
/* The one of `count` (at least one) kernel templates of one name that an explicit instantiation means (overload.c). */
const kernel_site *front_choose_template(
    const front_unit *unit, const uint32_t *sites, size_t count, const kernel_site *instantiation);
void front_declarations_free(front_unit *unit);
/* Words of a type's name, as "float4" -> F32, 4; TOMBAC_TYPE_OTHER, 1 for what is not a scalar or vector. */
tombac_type front_scalar_type(const char *type_text, uint32_t *vector_length);
/* Source text of tokens [first, end) with single spaces where words would touch, without what `skip` says. */
void front_append_tokens(const token_list *list, uint32_t first, uint32_t end, tb_text *out);

#endif
