/* Tokens of preprocessed Metal source.
 *
 * Only significant tokens are kept, in one array, so that the neighbours of a token are i - 1 and i + 1;
 * white space is the gap between two of them. Directives (line markers and pragmas, all that the preprocessor
 * leaves) are a second array. Punctuators follow C++17 with one exception: '>' never joins another '>', so
 * template brackets close one by one. Linear in time; two allocations for the whole text. */
#ifndef TB_FRONT_LEX_H
#define TB_FRONT_LEX_H

#include "base/error.h"

#include <stdint.h>
#include <string.h>

typedef enum token_kind {
    TOKEN_IDENTIFIER,
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_CHARACTER,
    TOKEN_PUNCTUATOR,
    TOKEN_END /* one after the last, so that i + 1 always exists */
} token_kind;

typedef enum scope_kind { SCOPE_NAMESPACE, SCOPE_CLASS, SCOPE_ENUM, SCOPE_FUNCTION, SCOPE_LIST } scope_kind;

/* A punctuator's code is its characters, a keyword's is below, any other token's is 0. */
#define PUNCT1(a) ((uint32_t)(a))
#define PUNCT2(a, b) ((uint32_t)(a) | (uint32_t)(b) << 8)
#define PUNCT3(a, b, c) (PUNCT2(a, b) | (uint32_t)(c) << 16)

/* X(identifier, spelling): words that a rule asks for. */
/* clang-format off */
#define FRONT_KEYWORDS(X)                                                                                 \
    X(ALIGNAS, "alignas") X(ATTRIBUTE, "__attribute__") X(CLASS, "class") X(COHERENT, "coherent")         \
    X(CONST, "const") X(CONSTANT, "constant") X(CONSTEXPR, "constexpr") X(DECLTYPE, "decltype")           \
    X(DEVICE, "device") X(DO, "do") X(ELSE, "else") X(ENUM, "enum") X(EXTERN, "extern")                   \
    X(FRAGMENT, "fragment") X(INLINE, "inline") X(IS_DEFINED, "is_function_constant_defined")             \
    X(KERNEL, "kernel") X(MUTABLE, "mutable") X(NAMESPACE, "namespace") X(NOEXCEPT, "noexcept")           \
    X(NULLPTR, "nullptr") X(OPERATOR, "operator") X(OVERRIDE, "override") X(PRIVATE, "private")           \
    X(PROTECTED, "protected") X(PUBLIC, "public") X(REINTERPRET_CAST, "reinterpret_cast")                 \
    X(RESTRICT, "restrict") X(RESTRICT2, "__restrict") X(RESTRICT3, "__restrict__")                       \
    X(RETURN, "return") X(STATIC, "static") X(STATIC_CAST, "static_cast") X(STRUCT, "struct")             \
    X(TEMPLATE, "template") X(THREAD, "thread") X(THREADGROUP, "threadgroup") X(THROW, "throw")           \
    X(TRY, "try") X(TYPEDEF, "typedef") X(TYPENAME, "typename") X(UNION, "union") X(USING, "using")       \
    X(VERTEX, "vertex") X(VOLATILE, "volatile")
/* clang-format on */

enum {
    KEYWORD_FIRST = 1 << 24,
#define X(id, spelling) KW_##id,
    FRONT_KEYWORDS(X)
#undef X
};

#define NO_TOKEN UINT32_MAX

typedef struct token {
    uint32_t offset, length; /* in the text */
    uint32_t line;           /* physical line of the text, from 1 */
    uint32_t code;
    uint32_t match;  /* bracket: its partner, or NO_TOKEN; any other token: itself */
    uint32_t brace;  /* the '{' around this token, or NO_TOKEN */
    uint32_t head;   /* first token of the declaration or statement that this token belongs to */
    uint8_t kind;    /* token_kind */
    uint8_t scope;   /* scope_kind of `brace`; of a '{' itself: what it opens */
    uint8_t bracket; /* the innermost open bracket around this token: ( [ { or 0 */
} token;

typedef struct directive {
    uint32_t offset, length; /* the '#' up to the end of the line */
    uint32_t line;
    uint32_t next; /* the token that follows */
} directive;

typedef struct token_list {
    const char *text;
    size_t size;
    token *tokens;
    uint32_t count; /* without the TOKEN_END */
    directive *directives;
    uint32_t directive_count;
    uint32_t line_count;
} token_list;

/* Where and why scanning stopped; the caller turns it into a diagnostic. */
typedef struct lex_problem {
    const char *message;
    uint32_t offset, line;
} lex_problem;

/* `text` must be zero-terminated at text[size] and outlive the list. On a SOURCE error `problem` is filled.
 */
tombac_status front_lex(
    const char *text, size_t size, token_list *list, lex_problem *problem, tombac_error **error);
void front_lex_free(token_list *list);

/* Matches brackets and fills match, brace, head, scope and bracket of every token (structure.c). */
tombac_status front_structure(token_list *list, lex_problem *problem, tombac_error **error);

/* Refuses what clang would take too long for (limits.c); part of front_structure. */
tombac_status front_check_limits(const token_list *list, lex_problem *problem, tombac_error **error);

static inline const char *token_text(const token_list *list, uint32_t i)
{
    return list->text + list->tokens[i].offset;
}

static inline bool token_is(const token_list *list, uint32_t i, const char *spelling)
{
    size_t length = strlen(spelling);
    return list->tokens[i].length == length && memcmp(token_text(list, i), spelling, length) == 0;
}

static inline bool tokens_equal(const token_list *list, uint32_t a, uint32_t b)
{
    return list->tokens[a].length == list->tokens[b].length &&
           memcmp(token_text(list, a), token_text(list, b), list->tokens[a].length) == 0;
}

static inline bool code_is_space(uint32_t code)
{
    return code == KW_DEVICE || code == KW_CONSTANT || code == KW_THREAD || code == KW_THREADGROUP;
}

/* The '>' that closes the template bracket at `open`, or NO_TOKEN if it is no template bracket. Bounded. */
uint32_t front_angle_match(const token_list *list, uint32_t open);
/* Index after `template < ... >` if `i` is such a `template`, else `i`. */
uint32_t front_skip_template_head(const token_list *list, uint32_t i);
/* Is token `i` the first '[' of an attribute [[...]]? */
bool front_is_attribute(const token_list *list, uint32_t i);

#endif
