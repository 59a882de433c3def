/* Brackets and scopes of a token list; see lex.h.
 *
 * One pass with a stack of open brackets. What a '{' opens follows from the tokens since the start of the
 * declaration it stands in (its head), which are summed up in a few flags as they pass by; C++ needs no more
 * for the code that kernels contain, because types are never needed to tell a class from a function from an
 * initialiser. */
#include "compiler/front/lex.h"

#include <stdlib.h>

enum {
    SAW_NAMESPACE = 1,
    SAW_ENUM = 2,
    SAW_CLASS = 4,
    SAW_PARENTHESES = 8,
    SAW_SQUARES = 16,
    SAW_ASSIGNMENT = 32
};

enum {
    MAX_ANGLE_TOKENS = 4096,
    MAX_ANGLE_DEPTH = 128,
    MAX_DEPTH = 256
}; /* the depth is clang's own limit too */

typedef struct level {
    uint32_t open;         /* token of the bracket, NO_TOKEN at the top */
    uint32_t head;         /* first token of the running declaration */
    uint8_t saw;           /* flags of the tokens since head */
    uint8_t scope;         /* of the innermost brace */
    uint32_t template_end; /* tokens below this index stand in template < ... > */
} level;

uint32_t front_angle_match(const token_list *list, uint32_t open)
{
    const token *t = list->tokens;
    uint32_t depth = 0, limit = list->count - open > MAX_ANGLE_TOKENS ? open + MAX_ANGLE_TOKENS : list->count;
    for (uint32_t i = open; i < limit; i++) {
        switch (t[i].code) {
        case '<':
            if (++depth > MAX_ANGLE_DEPTH) return NO_TOKEN;
            break;
        case '>':
            if (--depth == 0) return i;
            break;
        case '(':
        case '[':
        case '{':
            if (t[i].match <= i || t[i].match == NO_TOKEN) return NO_TOKEN;
            i = t[i].match;
            break;
        case ')':
        case ']':
        case '}':
        case ';': return NO_TOKEN;
        default: break;
        }
    }
    return NO_TOKEN;
}

uint32_t front_skip_template_head(const token_list *list, uint32_t i)
{
    while (list->tokens[i].code == KW_TEMPLATE && list->tokens[i + 1].code == '<') {
        uint32_t close = front_angle_match(list, i + 1);
        if (close == NO_TOKEN) return i;
        i = close + 1;
    }
    return i;
}

bool front_is_attribute(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    return t[i].code == '[' && t[i + 1].code == '[' && t[i].match != NO_TOKEN && t[i + 1].match != NO_TOKEN &&
           t[i].match == t[i + 1].match + 1;
}

static char closer_of(uint32_t code)
{
    return code == '(' ? ')' : code == '[' ? ']' : '}';
}

/* Partners first: the scopes' look-ahead over template brackets needs them. */
static tombac_status match_brackets(token_list *list, lex_problem *problem, tombac_error **error)
{
    token *t = list->tokens;
    uint32_t *stack = malloc(((size_t)list->count + 1) * sizeof *stack);
    if (!stack) return tb_fail_memory(error);
    uint32_t depth = 0, bad = NO_TOKEN;
    const char *message = NULL;
    for (uint32_t i = 0; i < list->count && bad == NO_TOKEN; i++) {
        uint32_t code = t[i].code;
        if (code == '(' || code == '[' || code == '{') {
            stack[depth++] = i;
            if (depth > MAX_DEPTH) {
                bad = i;
                message = "brackets are nested more than 256 deep";
            }
        } else if (code == ')' || code == ']' || code == '}') {
            if (depth == 0 || closer_of(t[stack[depth - 1]].code) != (char)code) {
                if (depth) break; /* the innermost open one is at fault */
                bad = i;
                message = code == ')' ? "unbalanced ')'" : code == ']' ? "unbalanced ']'" : "unbalanced '}'";
                continue;
            }
            uint32_t open = stack[--depth];
            t[open].match = i;
            t[i].match = open;
        }
    }
    if (bad == NO_TOKEN && depth) {
        bad = stack[depth - 1];
        char closer = closer_of(t[bad].code);
        message = closer == ')'   ? "this '(' is never closed: expected ')'"
                  : closer == ']' ? "this '[' is never closed: expected ']'"
                                  : "this '{' is never closed: expected '}'";
    }
    free(stack);
    if (bad == NO_TOKEN) return TOMBAC_OK;
    *problem = (lex_problem){message, t[bad].offset, t[bad].line};
    return tb_fail(error, TOMBAC_ERROR_SOURCE, "%s", message);
}

/* What does the '{' at i open? `l` is the level that it stands in. */
static scope_kind classify(const token_list *list, uint32_t i, const level *l)
{
    const token *t = list->tokens;
    uint32_t previous = i > 0 ? t[i - 1].code : 0;
    bool in_function = l->scope == SCOPE_FUNCTION || l->scope == SCOPE_CLASS;
    if (i ==
        l->head) { /* nothing before it: a block, a body after initialisers, or the next element of a list */
        if (l->open != NO_TOKEN && t[l->open].code != '{') return SCOPE_LIST;
        return l->scope == SCOPE_LIST ? SCOPE_LIST : in_function ? SCOPE_FUNCTION : SCOPE_NAMESPACE;
    }
    if (l->saw & SAW_NAMESPACE) return SCOPE_NAMESPACE;
    if (l->saw & SAW_ENUM && previous != ')') return SCOPE_ENUM;
    if (i > 0 && t[i - 1].kind == TOKEN_STRING && t[l->head].code == KW_EXTERN) return SCOPE_NAMESPACE;
    switch (previous) {
    case ')':
    case KW_ELSE:
    case KW_DO:
    case KW_TRY: return SCOPE_FUNCTION;
    case KW_CONST:
    case KW_NOEXCEPT:
    case KW_OVERRIDE:
    case KW_MUTABLE:
    case KW_CONSTEXPR:
    case KW_DEVICE:
    case KW_THREAD:
    case KW_CONSTANT:
    case KW_THREADGROUP:
        if (l->saw & (SAW_PARENTHESES | SAW_SQUARES)) return SCOPE_FUNCTION;
        break;
    case ']': return SCOPE_FUNCTION; /* a lambda without parameters */
    case '=':
    case ',':
    case KW_RETURN: return SCOPE_LIST;
    default: break;
    }
    if (l->saw & SAW_CLASS && !(l->saw & SAW_ASSIGNMENT)) return SCOPE_CLASS;
    if (l->saw & SAW_PARENTHESES && !(l->saw & SAW_ASSIGNMENT)) return SCOPE_FUNCTION; /* f() -> T { */
    if (previous == ':') return in_function ? SCOPE_FUNCTION : SCOPE_NAMESPACE;
    return SCOPE_LIST;
}

static void note(level *l, const token_list *list, uint32_t i)
{
    switch (list->tokens[i].code) {
    case KW_NAMESPACE:
        if (list->tokens[l->head].code != KW_USING) l->saw |= SAW_NAMESPACE;
        break;
    case KW_ENUM: l->saw |= SAW_ENUM; break;
    case KW_STRUCT:
    case KW_CLASS:
    case KW_UNION:
        if (i >= l->template_end) l->saw |= SAW_CLASS;
        break;
    case '=':
        if (i >= l->template_end && !(i > 0 && list->tokens[i - 1].code == KW_OPERATOR))
            l->saw |= SAW_ASSIGNMENT;
        break;
    case '(': l->saw |= SAW_PARENTHESES; break;
    case '[':
        if (!front_is_attribute(list, i) && !(i > 0 && front_is_attribute(list, i - 1)))
            l->saw |= SAW_SQUARES;
        break;
    case KW_TEMPLATE: {
        uint32_t after = front_skip_template_head(list, i);
        if (after > i) l->template_end = after;
        break;
    }
    default: break;
    }
}

static void restart(level *l, uint32_t head)
{
    l->head = head;
    l->saw = 0;
    l->template_end = 0;
}

/* The head of what follows a '}' is what follows, except where the declaration goes on: `} name;`, `} while`,
 * `}, {`. For the rules a new head after '}' is right in all of these. */
static void close_level(level *stack, uint32_t *depth, const token_list *list, uint32_t i)
{
    --*depth;
    level *outer = &stack[*depth];
    if (list->tokens[i].code == '}' && (outer->open == NO_TOKEN || list->tokens[outer->open].code == '{')) {
        scope_kind kind = (scope_kind)list->tokens[list->tokens[i].match].scope;
        if (kind != SCOPE_LIST) restart(outer, i + 1);
    }
}

tombac_status front_structure(token_list *list, lex_problem *problem, tombac_error **error)
{
    tombac_status status = match_brackets(list, problem, error);
    if (status != TOMBAC_OK) return status;
    level *stack = malloc(((size_t)list->count + 1) * sizeof *stack);
    if (!stack) return tb_fail_memory(error);
    token *t = list->tokens;
    uint32_t depth = 0;
    stack[0] = (level){.open = NO_TOKEN, .scope = SCOPE_NAMESPACE};
    for (uint32_t i = 0; i <= list->count; i++) {
        uint32_t code = t[i].code;
        if (code == ')' || code == ']' || code == '}') close_level(stack, &depth, list, i);
        level *l = &stack[depth];
        uint32_t open = l->open;
        t[i].head = l->head;
        t[i].scope = l->scope;
        t[i].bracket = open == NO_TOKEN ? 0 : (uint8_t)t[open].code;
        t[i].brace = open == NO_TOKEN ? NO_TOKEN : t[open].code == '{' ? open : t[open].brace;
        if (code == ';')
            restart(l, i + 1);
        else if (code == '}' && l->head == i + 1)
            t[i].head = t[t[i].match].head;
        else
            note(l, list, i);
        if (code == '(' || code == '[' || code == '{') {
            uint8_t scope = code == '{' ? (uint8_t)classify(list, i, l) : l->scope;
            if (code == '{') t[i].scope = scope;
            stack[++depth] = (level){.open = i, .head = i + 1, .scope = scope};
        }
    }
    free(stack);
    return front_check_limits(list, problem, error);
}
