/* A position in a text that is being parsed; blanks between tokens are skipped. Shared by values, structs and
 * npy headers. */
#ifndef TB_TOOL_CURSOR_H
#define TB_TOOL_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tool_cursor {
    const char *at, *end;
} tool_cursor;

static inline void tool_cursor_skip(tool_cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) c->at++;
}

static inline bool tool_cursor_done(tool_cursor *c)
{
    tool_cursor_skip(c);
    return c->at == c->end;
}

/* The next token's first character without taking it; 0 at the end. */
static inline char tool_cursor_peek(tool_cursor *c)
{
    tool_cursor_skip(c);
    return c->at < c->end ? *c->at : 0;
}

static inline bool tool_cursor_take(tool_cursor *c, char wanted)
{
    tool_cursor_skip(c);
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

/* Names may hold letters of any language (UTF-8). */
static inline bool tool_is_word(char c)
{
    return (unsigned char)c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* An identifier; its length, 0 where there is none. */
static inline size_t tool_cursor_word(tool_cursor *c, const char **word)
{
    tool_cursor_skip(c);
    *word = c->at;
    if (c->at < c->end && *c->at >= '0' && *c->at <= '9') return 0;
    while (c->at < c->end && tool_is_word(*c->at)) c->at++;
    return (size_t)(c->at - *word);
}

/* What may be a number: letters, digits, '.', and signs at its start or after an exponent's e or p. */
static inline size_t tool_cursor_number(tool_cursor *c, const char **word)
{
    tool_cursor_skip(c);
    *word = c->at;
    while (c->at < c->end) {
        bool sign = *c->at == '-' || *c->at == '+';
        char before = c->at == *word ? 'e' : (char)(c->at[-1] | 32);
        if (!(tool_is_word(*c->at) || *c->at == '.' || (sign && (before == 'e' || before == 'p')))) break;
        c->at++;
    }
    return (size_t)(c->at - *word);
}

/* A decimal size; false where there is none or it overflows. */
static inline bool tool_cursor_size(tool_cursor *c, size_t *size)
{
    tool_cursor_skip(c);
    const char *start = c->at;
    *size = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (__builtin_mul_overflow(*size, (size_t)10, size)) return false;
        if (__builtin_add_overflow(*size, (size_t)(*c->at - '0'), size)) return false;
    }
    return c->at > start;
}

#endif
