/* Log records: C's printf over arguments that the kernel passed as 64-bit patterns, each with its kind.
 *
 * Conversions take what the kernel gave, whatever the format says: an integer conversion of a float converts
 * its value, a conversion without an argument prints "<missing>", %s reads only the program's own string
 * literals. Vector conversions as
 * "%v4f" (OpenCL's, which Metal takes too) consume one argument per component. */
#include "runtime/driver/log_record.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNED, UNSIGNED, FLOATING, STRING, POINTER };

typedef struct conversion {
    char flags[8];
    int width, precision; /* -1: not given */
    unsigned vector;      /* components, 1: a scalar */
    int length;           /* bytes that the length modifier names, 0: none */
    char type;
} conversion;

typedef struct reader {
    rt_find_literal *find;
    const void *code;
    const rt_log_record *record;
    uint32_t next;
} reader;

static int read_number(const char **at)
{
    int value = 0;
    while (**at >= '0' && **at <= '9') {
        if (value < 10000) value = value * 10 + (**at - '0');
        ++*at;
    }
    return value;
}

static int64_t as_signed(const reader *r, uint32_t i)
{
    uint64_t bits = r->record->bits[i];
    if (r->record->kinds[i] != FLOATING) return (int64_t)bits;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value >= 9.2e18 ? INT64_MAX : value <= -9.2e18 ? INT64_MIN : value != value ? 0 : (int64_t)value;
}

static double as_double(const reader *r, uint32_t i)
{
    uint64_t bits = r->record->bits[i];
    double value;
    if (r->record->kinds[i] == SIGNED) return (double)(int64_t)bits;
    if (r->record->kinds[i] != FLOATING) return (double)bits;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* '*': the width or precision is an argument. */
static int read_amount(reader *r, const char **at)
{
    if (**at != '*') return read_number(at);
    ++*at;
    if (r->next >= r->record->count) return 0;
    int64_t value = as_signed(r, r->next++);
    return value < 0 ? 0 : value > 10000 ? 10000 : (int)value;
}

static void read_modifiers(const char **at, conversion *c)
{
    if (**at == 'v') {
        ++*at;
        c->vector = (unsigned)read_number(at);
        if (c->vector < 1 || c->vector > 16) c->vector = 1;
    }
    if (!strncmp(*at, "hh", 2))
        *at += 2, c->length = 1;
    else if (!strncmp(*at, "hl", 2))
        *at += 2, c->length = 4; /* OpenCL's, for vectors of 32 bits */
    else if (!strncmp(*at, "ll", 2))
        *at += 2, c->length = 8;
    else if (**at == 'h')
        ++*at, c->length = 2;
    else if (**at == 'l' || **at == 'z' || **at == 'j' || **at == 't')
        ++*at, c->length = 8;
}

/* Reads what follows '%'. */
static conversion read_conversion(reader *r, const char **at)
{
    conversion c = {.width = -1, .precision = -1, .vector = 1};
    for (size_t n = 0; **at && strchr("-+ #0", **at); ++*at) {
        if (n + 1 < sizeof c.flags) c.flags[n++] = **at;
    }
    if ((**at >= '0' && **at <= '9') || **at == '*') c.width = read_amount(r, at);
    if (**at == '.') {
        ++*at;
        c.precision = read_amount(r, at);
    }
    read_modifiers(at, &c);
    c.type = **at;
    if (**at) ++*at;
    return c;
}

static void write_string(const reader *r, const conversion *c, uint32_t i, tb_text *out)
{
    size_t left;
    const char *string = r->find(r->code, r->record->bits[i], &left);
    if (r->record->kinds[i] != STRING || !string) {
        tb_text_puts(out, "<not a string literal>");
        return;
    }
    size_t length = strnlen(string, left);
    if (c->precision >= 0 && (size_t)c->precision < length) length = (size_t)c->precision;
    int width = c->width < 0 ? 0 : c->width;
    tb_text_printf(out, strchr(c->flags, '-') ? "%-*.*s" : "%*.*s", width, (int)length, string);
}

/* The value of an integer argument cut to the length that the conversion names. */
static uint64_t cut(uint64_t value, int length, bool is_signed)
{
    unsigned shift = length && length < 8 ? 64 - 8 * (unsigned)length : 0;
    return is_signed ? (uint64_t)((int64_t)(value << shift) >> shift) : value << shift >> shift;
}

/* A specification for the C library, made here and so always right for the argument that follows. */
static void specify(char *out, size_t size, const conversion *c, const char *length, char type)
{
    int n = snprintf(out, size, "%%%s", c->flags);
    if (c->width >= 0) n += snprintf(out + n, size - (size_t)n, "%d", c->width);
    if (c->precision >= 0) n += snprintf(out + n, size - (size_t)n, ".%d", c->precision);
    snprintf(out + n, size - (size_t)n, "%s%c", length, type);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void write_scalar(reader *r, const conversion *c, tb_text *out)
{
    if (r->next >= r->record->count) {
        tb_text_puts(out, "<missing>");
        return;
    }
    uint32_t i = r->next++;
    char specification[48];
    int length = c->length ? c->length : 4;
    if (!c->length && r->record->kinds[i] == POINTER) length = 8;
    switch (c->type) {
    case 'd':
    case 'i':
        specify(specification, sizeof specification, c, "l", 'd');
        tb_text_printf(out, specification, (long)cut((uint64_t)as_signed(r, i), length, true));
        break;
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        specify(specification, sizeof specification, c, "l", c->type);
        tb_text_printf(out, specification, (unsigned long)cut((uint64_t)as_signed(r, i), length, false));
        break;
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
        specify(specification, sizeof specification, c, "", c->type);
        tb_text_printf(out, specification, as_double(r, i));
        break;
    case 'c': tb_text_putc(out, (char)as_signed(r, i)); break;
    case 'p': tb_text_printf(out, "0x%" PRIx64, r->record->bits[i]); break;
    case 's': write_string(r, c, i, out); break;
    default: break;
    }
}
#pragma GCC diagnostic pop

static void write_conversion(reader *r, const conversion *c, tb_text *out)
{
    if (c->type == '%') {
        tb_text_putc(out, '%');
        return;
    }
    if (!c->type || !strchr("diuxXofFeEgGaAcps", c->type)) {
        tb_text_puts(out, "<unknown conversion>");
        return;
    }
    for (unsigned i = 0; i < c->vector; i++) {
        if (i) tb_text_putc(out, ',');
        write_scalar(r, c, out);
    }
}

void rt_log_record_add(rt_log_record *record, uint32_t kind, uint64_t bits)
{
    if (record->count == RT_LOG_ARGUMENTS) return;
    record->kinds[record->count] = kind;
    record->bits[record->count++] = bits;
}

void rt_log_record_write(
    const rt_log_record *record, rt_find_literal *find, const void *code, const rt_log *log)
{
    tb_text out = {0};
    reader r = {find, code, record, 0};
    size_t left;
    const char *literal = find(code, (uint64_t)(uintptr_t)record->format, &left);
    char *format = literal ? strndup(literal, left) : strdup("<the format is not a string literal>");
    for (const char *at = format; at && *at;) {
        if (*at != '%') {
            tb_text_putc(&out, *at++);
            continue;
        }
        at++;
        conversion c = read_conversion(&r, &at);
        write_conversion(&r, &c, &out);
    }
    free(format);
    if (!out.size || out.data[out.size - 1] != '\n') tb_text_putc(&out, '\n');
    if (!out.bad && log->write) log->write(log->context, out.data, out.size);
    tb_text_free(&out);
}
