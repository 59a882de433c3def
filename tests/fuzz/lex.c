/* libFuzzer target: the lexer and the structure of brackets and scopes, on any bytes.
 *
 * What must hold whatever comes in: nothing crashes, leaks or is undefined; tokens and directives lie in the text in order
 * and do not overlap; nothing but white space is between them; a token's line is one more than the newlines in front of it;
 * lexing a token's own text gives that token again; brackets are each other's partners, and every token's brace is around
 * it. */
#include "compiler/front/lex.h"

#include <stdlib.h>

static void must(bool holds)
{
    if (!holds) abort();
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == '\n';
}

/* Everything up to `end` is white space, behind which the next token or directive may come. */
static void pass_space(const token_list *list, uint32_t *at, uint32_t end, uint32_t *line)
{
    must(*at <= end && end <= list->size);
    for (; *at < end; ++*at) {
        must(is_space(list->text[*at]));
        *line += list->text[*at] == '\n';
    }
}

static void check_order(const token_list *list)
{
    uint32_t at = 0, line = 1, d = 0;
    for (uint32_t i = 0; i <= list->count; i++) {
        for (; d < list->directive_count && list->directives[d].next == i; d++) {
            const directive *directive = &list->directives[d];
            pass_space(list, &at, directive->offset, &line);
            must(directive->line == line && list->text[at] == '#');
            at += directive->length;
        }
        const token *t = &list->tokens[i];
        pass_space(list, &at, t->offset, &line);
        must(t->line == line && (t->length > 0) == (t->kind != TOKEN_END));
        for (uint32_t k = 0; k < t->length; k++) line += list->text[at++] == '\n';
    }
    must(at == list->size && d == list->directive_count && list->tokens[list->count].kind == TOKEN_END);
}

static void check_alone(const token_list *list, uint32_t i)
{
    const token *t = &list->tokens[i];
    if (token_text(list, i)[0] == '#' || t->length > 300) return; /* at the start of a line it would be a directive */
    char text[301];
    token_list alone;
    lex_problem problem;
    memcpy(text, token_text(list, i), t->length);
    text[t->length] = 0;
    tombac_status status = front_lex(text, t->length, &alone, &problem, NULL);
    must(status == TOMBAC_OK && alone.count == 1 && alone.directive_count == 0);
    must(alone.tokens[0].kind == t->kind && alone.tokens[0].code == t->code && alone.tokens[0].length == t->length);
    front_lex_free(&alone);
}

static void check_structure(const token_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const token *t = &list->tokens[i];
        must(t->match < list->count && list->tokens[t->match].match == i && t->head <= list->count);
        if (t->brace == NO_TOKEN) continue;
        const token *brace = &list->tokens[t->brace];
        must(brace->code == '{' && t->brace < i && brace->match >= i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    token_list list;
    lex_problem problem = {0};
    tombac_error *error = NULL;
    tombac_status status = front_lex(text, size, &list, &problem, &error);
    if (status == TOMBAC_OK) {
        check_order(&list);
        for (uint32_t i = 0; i < list.count && i < 200; i++) check_alone(&list, i);
        status = front_structure(&list, &problem, &error);
        if (status == TOMBAC_OK) check_structure(&list);
    }
    if (status == TOMBAC_ERROR_SOURCE) must(problem.message && problem.offset <= size && problem.line > 0);
    tombac_error_release(error);
    front_lex_free(&list);
    free(text);
    return 0;
}
