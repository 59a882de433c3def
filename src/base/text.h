/* Growable byte string, zero-terminated whenever it is not empty. One failed allocation makes the string "bad": later
 * calls do nothing, so a writer checks once at the end. */
#ifndef TB_BASE_TEXT_H
#define TB_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct tb_text {
    char *data; /* NULL while empty */
    size_t size, capacity;
    bool bad;
} tb_text;

void tb_text_append(tb_text *text, const void *data, size_t size);
void tb_text_puts(tb_text *text, const char *string);
void tb_text_putc(tb_text *text, char c);
void tb_text_printf(tb_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tb_text_vprintf(tb_text *text, const char *format, va_list arguments);
/* The content, "" while empty. */
const char *tb_text_string(const tb_text *text);
/* Hands the heap block to the caller (to free()), zero-terminated; NULL if bad. The text is empty afterwards. */
char *tb_text_take(tb_text *text);
void tb_text_free(tb_text *text);

#endif
