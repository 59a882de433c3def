/* The lexer; see lex.h. The text comes from clang -E, so there are no comments, no trigraphs and no line
 * splices; what matters is that every literal is cut exactly as clang will cut it later. */
#include "compiler/front/lex.h"

#include <ctype.h>
#include <stdlib.h>

typedef struct lexer {
    token_list *list;
    const char *p, *end;
    uint32_t line;
    bool line_start; /* only white space since the last newline */
    uint32_t token_room, directive_room;
    lex_problem *problem;
    bool no_memory;
} lexer;

static bool word_start(unsigned char c)
{
    return isalpha(c) || c == '_' || c == '$' || c >= 0x80;
}

static bool word_part(unsigned char c)
{
    return word_start(c) || isdigit(c);
}

static uint32_t keyword(const char *text, size_t length)
{
    static const struct {
        const char *spelling;
        uint8_t length;
        uint32_t code;
    } words[] = {
#define X(id, spelling) {spelling, sizeof(spelling) - 1, KW_##id},
        FRONT_KEYWORDS(X)
#undef X
    };
    if (length < 2 || length > 28 || !(islower((unsigned char)text[0]) || text[0] == '_')) return 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].length == length && words[i].spelling[0] == text[0] &&
            memcmp(words[i].spelling, text, length) == 0)
            return words[i].code;
    return 0;
}

static bool fail(lexer *lx, const char *at, const char *message)
{
    lx->problem->message = message;
    lx->problem->offset = (uint32_t)(at - lx->list->text);
    lx->problem->line = lx->line;
    return false;
}

static bool add(lexer *lx, token_kind kind, const char *start, uint32_t code)
{
    token_list *list = lx->list;
    if (list->count + 1 >= lx->token_room) {
        uint32_t room = lx->token_room ? lx->token_room * 2 : 4096;
        token *grown = realloc(list->tokens, (size_t)room * sizeof *grown);
        if (!grown) {
            lx->no_memory = true;
            return false;
        }
        list->tokens = grown;
        lx->token_room = room;
    }
    list->tokens[list->count] = (token){.offset = (uint32_t)(start - list->text),
        .length = (uint32_t)(lx->p - start),
        .line = lx->line,
        .code = code,
        .match = list->count,
        .brace = NO_TOKEN,
        .kind = (uint8_t)kind};
    list->count++;
    return true;
}

static bool add_directive(lexer *lx)
{
    token_list *list = lx->list;
    const char *start = lx->p;
    const char *newline = memchr(start, '\n', (size_t)(lx->end - start));
    lx->p = newline ? newline : lx->end;
    if (list->directive_count >= lx->directive_room) {
        uint32_t room = lx->directive_room ? lx->directive_room * 2 : 64;
        directive *grown = realloc(list->directives, (size_t)room * sizeof *grown);
        if (!grown) {
            lx->no_memory = true;
            return false;
        }
        list->directives = grown;
        lx->directive_room = room;
    }
    list->directives[list->directive_count++] = (directive){.offset = (uint32_t)(start - list->text),
        .length = (uint32_t)(lx->p - start),
        .line = lx->line,
        .next = list->count};
    return true;
}

/* p is at the opening quote. */
static bool quoted(lexer *lx, const char *start, char quote)
{
    const char *p = lx->p + 1;
    while (p < lx->end && *p != quote && *p != '\n') p += *p == '\\' && p + 1 < lx->end ? 2 : 1;
    if (p >= lx->end || *p != quote)
        return fail(lx, start,
            quote == '"' ? "missing terminating '\"' character" : "missing terminating ' character");
    p++;
    while (p < lx->end && word_part((unsigned char)*p)) p++; /* a literal suffix */
    lx->p = p;
    return add(lx, quote == '"' ? TOKEN_STRING : TOKEN_CHARACTER, start, 0);
}

/* R"delimiter( ... )delimiter": p is at the quote. */
static bool raw_string(lexer *lx, const char *start)
{
    const char *delimiter = lx->p + 1, *open = delimiter;
    while (open < lx->end && *open != '(' && open - delimiter <= 16) open++;
    if (open >= lx->end || *open != '(') return fail(lx, start, "raw string without '('");
    size_t length = (size_t)(open - delimiter);
    const char *p = open + 1;
    for (;;) {
        p = memchr(p, ')', (size_t)(lx->end - p));
        if (!p) return fail(lx, start, "raw string missing terminating delimiter");
        p++;
        if ((size_t)(lx->end - p) > length && memcmp(p, delimiter, length) == 0 && p[length] == '"') break;
    }
    lx->p = p + length + 1;
    if (!add(lx, TOKEN_STRING, start, 0)) return false;
    for (const char *q = start; q < lx->p; q++) lx->line += *q == '\n';
    return true;
}

static bool word(lexer *lx)
{
    const char *start = lx->p;
    while (lx->p < lx->end && word_part((unsigned char)*lx->p)) lx->p++;
    size_t length = (size_t)(lx->p - start);
    if (lx->p < lx->end && length <= 3 && (*lx->p == '"' || *lx->p == '\'')) {
        bool raw = start[length - 1] == 'R' && *lx->p == '"';
        size_t prefix = length - raw;
        if (prefix == 0 || (prefix == 1 && strchr("uUL", start[0])) ||
            (prefix == 2 && !memcmp(start, "u8", 2)))
            return raw ? raw_string(lx, start) : quoted(lx, start, *lx->p);
    }
    return add(lx, TOKEN_IDENTIFIER, start, keyword(start, length));
}

static bool number(lexer *lx)
{
    const char *start = lx->p++;
    while (lx->p < lx->end) {
        unsigned char c = (unsigned char)*lx->p;
        bool exponent = strchr("eEpP", lx->p[-1]) && lx->p[-1];
        if (word_part(c) || c == '.')
            lx->p++;
        else if ((c == '+' || c == '-') && exponent)
            lx->p++;
        else if (c == '\'' && lx->p + 1 < lx->end && word_part((unsigned char)lx->p[1]))
            lx->p++;
        else
            break;
    }
    return add(lx, TOKEN_NUMBER, start, 0);
}

static bool punctuator(lexer *lx)
{
    static const char three[][4] = {"<<=", ">>=", "->*", "..."};
    static const char two[][3] = {"::", "->", "++", "--",
        "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "==", "!=", "<=", ">=", "&&", "||", "<<", "##", ".*"};
    const char *start = lx->p;
    size_t left = (size_t)(lx->end - start);
    uint32_t code = (unsigned char)*start;
    lx->p++;
    for (size_t i = 0; left >= 3 && i < sizeof three / sizeof *three; i++)
        if (memcmp(start, three[i], 3) == 0) {
            lx->p = start + 3;
            return add(lx, TOKEN_PUNCTUATOR, start, PUNCT3(three[i][0], three[i][1], three[i][2]));
        }
    for (size_t i = 0; left >= 2 && i < sizeof two / sizeof *two; i++)
        if (memcmp(start, two[i], 2) == 0) {
            lx->p = start + 2;
            return add(lx, TOKEN_PUNCTUATOR, start, PUNCT2(two[i][0], two[i][1]));
        }
    return add(lx, TOKEN_PUNCTUATOR, start, code);
}

static bool next(lexer *lx)
{
    unsigned char c = (unsigned char)*lx->p;
    if (c == '\n') {
        lx->line++;
        lx->p++;
        lx->line_start = true;
        return true;
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        lx->p++;
        return true;
    }
    if (c == 0) return fail(lx, lx->p, "the source contains a NUL byte");
    bool first = lx->line_start;
    lx->line_start = false;
    if (c == '#' && first) return add_directive(lx);
    if (word_start(c)) return word(lx);
    if (isdigit(c) || (c == '.' && lx->p + 1 < lx->end && isdigit((unsigned char)lx->p[1])))
        return number(lx);
    if (c == '"' || c == '\'') return quoted(lx, lx->p, (char)c);
    return punctuator(lx);
}

tombac_status front_lex(
    const char *text, size_t size, token_list *list, lex_problem *problem, tombac_error **error)
{
    *list = (token_list){.text = text, .size = size};
    *problem = (lex_problem){0};
    if (size > INT32_MAX) return tb_fail(error, TOMBAC_ERROR_SOURCE, "the source is larger than 2 GiB");
    lexer lx = {
        .list = list, .p = text, .end = text + size, .line = 1, .line_start = true, .problem = problem};
    bool fine = true;
    while (fine && lx.p < lx.end) fine = next(&lx);
    const char *end = lx.p;
    if (fine && add(&lx, TOKEN_END, end, 0)) list->count--;
    list->line_count = lx.line;
    if (lx.no_memory) return tb_fail_memory(error);
    if (problem->message) return tb_fail(error, TOMBAC_ERROR_SOURCE, "%s", problem->message);
    return TOMBAC_OK;
}

void front_lex_free(token_list *list)
{
    free(list->tokens);
    free(list->directives);
    *list = (token_list){0};
}
