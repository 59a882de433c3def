/* Sources that clang would take hours or all its stack for are refused before it sees them.
 *
 *   a<a<a<a<...          clang tries each '<' as a template bracket and as an operator: 2^n ways for n of them that never close.
 *                        More than 16 of the form name<name<..., unclosed, are no program
 *   if (a) if (b) ...    statements in statements without braces, else-ifs included, are deep trees: clang and LLVM
 *                        walk them by recursion, in quadratic time. 1000 is far above what any real source has
 *
 *   x + x + x + ...      an expression's tree is as deep as it has operators: 2 million of them, ten megabytes of source, are a
 *                        minute of clang's and a crash in the end. 10000 is far above what any real source has; lists, with
 *                        their commas, may be as long as they like
 *
 * Brackets have clang's own limit (256), which it names. */
#include "compiler/front/lex.h"

#include <stdlib.h>

enum { MAX_OPEN_ANGLES = 16, MAX_NESTED_STATEMENTS = 1000, MAX_OPERATORS = 10000 };

/* The '<' after name or space::name at i; NO_TOKEN if there is none. */
static uint32_t angle_after_name(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    while (i < list->count && t[i].kind == TOKEN_IDENTIFIER) {
        if (t[i + 1].code == '<') return i + 1;
        if (t[i + 1].code != PUNCT2(':', ':')) return NO_TOKEN;
        i += 2;
    }
    return NO_TOKEN;
}

static bool check_angles(const token_list *list, lex_problem *problem)
{
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t first = angle_after_name(list, i), last = first, count = 0;
        if (first == NO_TOKEN) continue;
        for (uint32_t at = first; at != NO_TOKEN; at = angle_after_name(list, at + 1)) {
            last = at;
            count++;
        }
        if (count > MAX_OPEN_ANGLES && front_angle_match(list, first) == NO_TOKEN) {
            *problem = (lex_problem){
                "more than 16 '<' follow on each other and are not closed", list->tokens[i].offset, list->tokens[i].line};
            return false;
        }
        i = last;
    }
    return true;
}

static bool is_head(const token_list *list, uint32_t i)
{
    static const char *const words[] = {"if", "for", "while", "switch"};
    const token *t = list->tokens;
    if (t[i].kind != TOKEN_IDENTIFIER || t[i + 1].code != '(') return false;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (token_is(list, i, words[k])) return true;
    return false;
}

/* How deep the statement is that each token stands in is counted per block: `counts` has a place for each open brace. */
static bool count_statements(const token_list *list, uint32_t *counts, lex_problem *problem)
{
    const token *t = list->tokens;
    uint32_t depth = 0;
    counts[0] = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        bool ends = t[i].code == ';';
        if (t[i].code == '{') {
            counts[++depth] = 0;
        } else if (t[i].code == '}') {
            if (depth) depth--;
            ends = true;
        } else if (t[i].code == '(' || t[i].code == '[') {
            i = t[i].match; /* heads of loops have semicolons; a lambda's body is small */
        } else if (is_head(list, i) && ++counts[depth] > MAX_NESTED_STATEMENTS) {
            *problem = (lex_problem){
                "statements are nested more than 1000 deep (each else-if is one in the last)", t[i].offset, t[i].line};
            return false;
        }
        if (ends && t[i + 1].code != KW_ELSE) counts[depth] = 0;
    }
    return true;
}

/* Punctuators since the last comma, semicolon or brace of the same level; `counts` has a place for each open bracket. */
static bool count_operators(const token_list *list, uint32_t *counts, lex_problem *problem)
{
    const token *t = list->tokens;
    uint32_t depth = 0;
    counts[0] = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t code = t[i].code;
        bool closes = code == ')' || code == ']' || code == '}';
        if (closes && depth) depth--;
        if (code == '(' || code == '[' || code == '{') {
            counts[depth] += code != '{';
            counts[++depth] = 0;
        } else if (code == ';' || code == ',' || code == '}') {
            counts[depth] = 0;
        } else if (t[i].kind == TOKEN_PUNCTUATOR && !closes && ++counts[depth] > MAX_OPERATORS) {
            *problem = (lex_problem){"an expression has more than 10000 operators", t[i].offset, t[i].line};
            return false;
        }
    }
    return true;
}

tombac_status front_check_limits(const token_list *list, lex_problem *problem, tombac_error **error)
{
    uint32_t *counts = malloc(((size_t)list->count + 1) * sizeof *counts);
    if (!counts) return tb_fail_memory(error);
    bool fine = check_angles(list, problem) && count_statements(list, counts, problem) &&
                count_operators(list, counts, problem);
    free(counts);
    return fine ? TOMBAC_OK : tb_fail(error, TOMBAC_ERROR_SOURCE, "%s", problem->message);
}
