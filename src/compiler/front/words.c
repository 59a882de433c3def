/* Metal's words for clang's.
 *
 * Address spaces (__global -> device, ...), vector and matrix types (metal::vec<float, 4> -> float4), scalar
 * types, and the names that the rewriter put in place of the user's. The message is read once, left to right;
 * at every word the table of exact replacements is tried, then the types that have parameters. */
#include "compiler/front/diagnose.h"

#include <ctype.h>

static const struct {
    const char *clang, *metal;
} words[] = {
    {"const __attribute__((opencl_global_host))", "constant"},
    {"__attribute__((opencl_global_host)) const", "constant"},
    {"__attribute__((opencl_global_host))", "constant"},
    {"__attribute__((opencl_global))", "device"},
    {"__attribute__((opencl_local))", "threadgroup"},
    {"const __global_host", "constant"},
    {"__global_host const", "constant"},
    {"__global_host", "constant"},
    {"__global", "device"},
    {"__local", "threadgroup"},
    {"sycl_global", "device"},
    {"sycl_local", "threadgroup"},
    {"__private", "thread"},
    {"__generic", "thread"},
    {"_Float16", "half"},
    {"unsigned char", "uchar"},
    {"unsigned short", "ushort"},
    {"unsigned int", "uint"},
    {"unsigned long", "ulong"},
    {"__tombac_anonymous::", ""},
    {FRONT_DEFINED_PREFIX, ""},
    {"variable length arrays in C++ are a Clang extension", "the size of an array must be a constant"},
    {"metal::__tensors::", ""},
    {"__tombac::mpp::", "mpp::"},
    {"18446744073709551615", "dynamic_extent"},
    {"18446744073709551615UL", "dynamic_extent"},
    {"::metal::__tc", "?:"},
    {"metal::__tc", "?:"},
    {"__tc", "?:"},
};

typedef struct scanner {
    const char *p, *end;
    tb_text *out;
    size_t original_length; /* of the user's token: the number of components, if it is a swizzle */
} scanner;

static bool starts(const scanner *s, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(s->end - s->p) >= length && memcmp(s->p, word, length) == 0;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Scalar type names as template arguments are printed. */
static const char *scalar(const char *p, size_t length, size_t *used)
{
    static const struct {
        const char *clang, *metal;
    } names[] = {{"unsigned char", "uchar"}, {"unsigned short", "ushort"}, {"unsigned int", "uint"},
        {"unsigned long", "ulong"}, {"_Float16", "half"}, {"float", "float"}, {"half", "half"},
        {"bfloat", "bfloat"}, {"int", "int"}, {"uint", "uint"}, {"short", "short"}, {"ushort", "ushort"},
        {"char", "char"}, {"uchar", "uchar"}, {"long", "long"}, {"ulong", "ulong"}, {"bool", "bool"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i].clang);
        if (length > n && memcmp(p, names[i].clang, n) == 0 && (p[n] == ',' || p[n] == '>')) {
            *used = n;
            return names[i].metal;
        }
    }
    return NULL;
}

/* vec<float, 4>, __packed_vec<vec<float, 4>>, matrix<float, 4, 4>, with or without metal:: in front. */
static bool parametric(scanner *s)
{
    const char *p = s->p;
    size_t used = 0;
    bool packed = false, matrix = false;
    const char *name;
#define EAT(word)                                                                                            \
    ((size_t)(s->end - p) >= strlen(word) && memcmp(p, word, strlen(word)) == 0 ? (p += strlen(word), true)  \
                                                                                : false)
    EAT("metal::");
    if (EAT("simdgroup_matrix<")) {
        name = scalar(p, (size_t)(s->end - p), &used);
        if (name) p += used;
        if (!name || !EAT(", 8, 8>")) return false;
        tb_text_printf(s->out, "simdgroup_%s8x8", name);
        s->p = p;
        return true;
    }
    if (EAT("__packed_vec<") || EAT("packed_vec<")) {
        packed = true;
        EAT("metal::");
    }
    if (EAT("matrix<"))
        matrix = true;
    else if (!EAT("vec<"))
        return false;
    name = scalar(p, (size_t)(s->end - p), &used);
    if (!name) return false;
    p += used;
    if (!EAT(", ")) return false;
    EAT("sizeof...(I) aka "); /* the length of a swizzle */
    char first = 0, second = 0;
    if (s->original_length >= 2 && s->original_length <= 4 && EAT("sizeof...(I)"))
        first = (char)('0' + s->original_length);
    else if (p < s->end && isdigit((unsigned char)*p))
        first = *p++;
    else
        return false;
    if (matrix) {
        if (!EAT(", ") || p >= s->end || !isdigit((unsigned char)*p)) return false;
        second = *p++;
    }
    if (!EAT(">") || (packed && !EAT(">"))) return false;
#undef EAT
    tb_text_printf(s->out, "%s%s%c", packed ? "packed_" : "", name, first);
    if (matrix) tb_text_printf(s->out, "x%c", second);
    s->p = p;
    return true;
}

/* swz<0, 1>, swzl<...>: what the user wrote. */
static bool swizzle(scanner *s, const char *original, size_t length)
{
    if (!starts(s, "swz")) return false;
    const char *p = s->p + 3;
    if (p < s->end && *p == 'l') p++;
    if (p < s->end && is_word(*p)) return false;
    if (p < s->end && *p == '<')
        while (p < s->end && *p++ != '>') continue;
    tb_text_append(s->out, original, length);
    s->p = p;
    return true;
}

static bool exact(scanner *s)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].clang);
        if (!starts(s, words[i].clang)) continue;
        bool prefix = words[i].clang[length - 1] == '_' || words[i].clang[length - 1] == ':';
        if (!prefix && s->p + length < s->end && is_word(s->p[length])) continue;
        tb_text_puts(s->out, words[i].metal);
        s->p += length;
        return true;
    }
    return false;
}

/* Writes `text`, leaving out (aka 'T') after 'T': Metal's names for types make the two the same. */
static void append_without_aka(const tb_text *text, tb_text *out)
{
    static const char aka[] = " (aka '";
    const char *p = tb_text_string(text), *end = p + text->size, *quoted = NULL;
    size_t quoted_length = 0;
    while (p < end) {
        size_t length = sizeof aka - 1;
        if ((size_t)(end - p) > length && memcmp(p, aka, length) == 0) {
            const char *close = memchr(p + length, '\'', (size_t)(end - p) - length);
            bool same = close && quoted && (size_t)(close - p) - length == quoted_length &&
                        memcmp(p + length, quoted, quoted_length) == 0;
            if (same && close + 1 < end && close[1] == ')') {
                p = close + 2;
                continue;
            }
        }
        if (*p == '\'') {
            const char *close = memchr(p + 1, '\'', (size_t)(end - p) - 1);
            if (close) {
                quoted = p + 1;
                quoted_length = (size_t)(close - quoted);
                tb_text_append(out, p, (size_t)(close + 1 - p));
                p = close + 1;
                continue;
            }
        }
        tb_text_putc(out, *p++);
    }
}

void front_metal_words(
    const char *message, size_t length, const char *original, size_t original_length, tb_text *out)
{
    tb_text words_replaced = {0};
    scanner s = {message, message + length, &words_replaced, original_length};
    char before = ' ';
    if (memmem(message, length, FRONT_TERNARY_SIGN, strlen(FRONT_TERNARY_SIGN))) {
        tb_text_puts(out, "incompatible operand types of '?:'");
        return;
    }
    static const char undeclared[] = "use of undeclared 'swz"; /* a swizzle of what has no members */
    if (starts(&s, undeclared)) {
        tb_text_puts(s.out, "no member named '");
        s.p += sizeof undeclared - 1 - 3;
    }
    while (s.p < s.end) {
        bool start = !is_word(before) && before != ':';
        const char *was = s.p;
        if (start && (parametric(&s) || swizzle(&s, original, original_length) || exact(&s))) {
            before = s.p > was ? s.p[-1] : ' ';
            if (before == ':' || before == '_') before = ' ';
            continue;
        }
        before = *s.p;
        tb_text_putc(s.out, *s.p++);
    }
    append_without_aka(&words_replaced, out);
    out->bad |= words_replaced.bad;
    tb_text_free(&words_replaced);
}
