/* Growable byte strings; see text.h. Capacity doubles, so that n appended bytes cost O(n). */
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `more` bytes and a terminator. */
static bool reserve(tb_text *text, size_t more)
{
    if (text->bad) return false;
    if (more > SIZE_MAX / 2 - text->size - 1) {
        text->bad = true;
        return false;
    }
    size_t need = text->size + more + 1;
    if (need <= text->capacity) return true;
    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity < need) capacity *= 2;
    char *data = realloc(text->data, capacity);
    if (!data) {
        text->bad = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void tb_text_append(tb_text *text, const void *data, size_t size)
{
    if (!reserve(text, size)) return;
    if (size) memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = 0;
}

void tb_text_puts(tb_text *text, const char *string) { tb_text_append(text, string, strlen(string)); }

void tb_text_putc(tb_text *text, char c) { tb_text_append(text, &c, 1); }

void tb_text_vprintf(tb_text *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    if (size < 0) text->bad = true;
    if (size >= 0 && reserve(text, (size_t)size)) {
        vsnprintf(text->data + text->size, (size_t)size + 1, format, again);
        text->size += (size_t)size;
    }
    va_end(again);
}

void tb_text_printf(tb_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tb_text_vprintf(text, format, arguments);
    va_end(arguments);
}

const char *tb_text_string(const tb_text *text) { return text->data ? text->data : ""; }

char *tb_text_take(tb_text *text)
{
    if (!text->data) reserve(text, 0);
    char *data = text->bad ? NULL : text->data;
    if (data) {
        data[text->size] = 0;
        text->data = NULL;
    }
    tb_text_free(text);
    return data;
}

void tb_text_free(tb_text *text)
{
    free(text->data);
    *text = (tb_text){0};
}
