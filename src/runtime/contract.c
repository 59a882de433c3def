/* Launch contracts; see contract.h. A relation is evaluated while it is parsed (recursive descent); before
 * there is a launch, for form and names only. */
#include "runtime/contract.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

typedef struct span {
    const char *begin, *end;
} span;

/* Integers of 64 bits, or reals of which each value of the device is one exactly. */
typedef struct value {
    bool is_real;
    int64_t integer;
    double real; /* of integers too */
} value;

typedef struct reader {
    const rt_manifest *manifest;
    const rt_run *run; /* NULL: form and names only */
    bool (*is_known)(const void *context, size_t argument);
    const void *context;
    const char *at;
    int depth;
    bool off;      /* mentions a removed argument: values mean nothing */
    tb_text wrong; /* what is wrong with form or names, or cannot be computed */
    /* The last comparison that did not hold. */
    span left, right;
    value left_value, right_value;
} reader;

static void complain(reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void complain(reader *r, const char *format, ...)
{
    if (r->wrong.size || r->wrong.bad) return;
    va_list values;
    va_start(values, format);
    tb_text_vprintf(&r->wrong, format, values);
    va_end(values);
}

static bool is_wrong(const reader *r)
{
    return r->wrong.size || r->wrong.bad;
}

/* ---- Tokens ---- */

static void skip_blanks(reader *r)
{
    r->at += strspn(r->at, " \t");
}

static bool take(reader *r, const char *token)
{
    skip_blanks(r);
    size_t length = strlen(token);
    if (strncmp(r->at, token, length) != 0) return false;
    r->at += length;
    return true;
}

static void expect(reader *r, const char *token)
{
    if (!take(r, token)) complain(r, "'%s' is missing before '%s'", token, r->at);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static span take_name(reader *r)
{
    skip_blanks(r);
    span name = {r->at, r->at};
    while (is_letter(*r->at) || (r->at > name.begin && *r->at >= '0' && *r->at <= '9')) r->at++;
    name.end = r->at;
    if (name.begin == name.end) complain(r, "a name or number is missing before '%s'", r->at);
    return name;
}

static const char *trimmed(const char *begin, const char *end)
{
    while (end > begin && (end[-1] == ' ' || end[-1] == '\t')) end--;
    return end;
}

static int width(span s)
{
    return (int)(s.end - s.begin);
}

static bool equals(span name, const char *string)
{
    size_t length = (size_t)(name.end - name.begin);
    return strlen(string) == length && memcmp(name.begin, string, length) == 0;
}

static value integer(int64_t i)
{
    return (value){false, i, (double)i};
}
static value real(double d)
{
    return (value){true, 0, d};
}

/* ---- Arguments ---- */

/* Its number, the active one if there are several; -1 with a complaint. */
static ptrdiff_t find_argument(reader *r, span name)
{
    ptrdiff_t found = -1;
    for (size_t i = 0; i < r->manifest->visible_count; i++) {
        if (!equals(name, r->manifest->arguments[i].name)) continue;
        if (found < 0 || r->manifest->arguments[i].active) found = (ptrdiff_t)i;
    }
    if (found < 0) complain(r, "there is no argument '%.*s'", width(name), name.begin);
    if (found >= 0 && !r->manifest->arguments[found].active) r->off = true;
    return found;
}

static value extent(reader *r, bool bytes)
{
    expect(r, "(");
    span name = take_name(r);
    expect(r, ")");
    if (is_wrong(r)) return integer(0);
    ptrdiff_t i = find_argument(r, name);
    if (i < 0) return integer(0);
    const rt_argument *a = &r->manifest->arguments[i];
    if (!bytes && a->size == 0)
        complain(r, "the elements of '%s' have no known size; use bytes(%s)", a->name, a->name);
    if (!r->run || r->off || is_wrong(r)) return integer(1);
    return integer((int64_t)(r->run->bindings[i].size / (bytes ? 1 : a->size)));
}

/* A number in memory, widened; unsigned 64-bit values beyond the signed ones are an overflow. */
static value load(reader *r, const char *name, tombac_type type, const void *from)
{
    union {
        uint8_t u8;
        int8_t s8;
        uint16_t u16;
        int16_t s16;
        uint32_t u32;
        int32_t s32;
        uint64_t u64;
        int64_t s64;
        _Float16 f16;
        float f32;
    } v = {0};
    memcpy(&v, from, tombac_type_size(type));
    switch (type) {
    case TOMBAC_TYPE_BOOL: return integer(v.u8 != 0);
    case TOMBAC_TYPE_U8: return integer(v.u8);
    case TOMBAC_TYPE_I8: return integer(v.s8);
    case TOMBAC_TYPE_U16: return integer(v.u16);
    case TOMBAC_TYPE_I16: return integer(v.s16);
    case TOMBAC_TYPE_U32: return integer(v.u32);
    case TOMBAC_TYPE_I32: return integer(v.s32);
    case TOMBAC_TYPE_F16: return real((double)v.f16);
    case TOMBAC_TYPE_F32: return real((double)v.f32);
    case TOMBAC_TYPE_U64:
        if (v.u64 > INT64_MAX) complain(r, "'%s' is too large", name);
        return integer((int64_t)v.u64);
    default: return integer(v.s64);
    }
}

static bool is_number(tombac_type type)
{
    return (type >= TOMBAC_TYPE_BOOL && type <= TOMBAC_TYPE_U64) || type == TOMBAC_TYPE_F16 ||
           type == TOMBAC_TYPE_F32;
}

static const rt_member *find_member(reader *r, const rt_member *members, size_t count, span name)
{
    for (size_t i = 0; i < count; i++)
        if (equals(name, members[i].name)) return &members[i];
    complain(r, "there is no member '%.*s'", width(name), name.begin);
    return NULL;
}

/* n, p.n, p.q.n */
static value argument_value(reader *r, span name)
{
    ptrdiff_t number = find_argument(r, name);
    if (number < 0) return integer(0);
    const rt_argument *a = &r->manifest->arguments[number];
    tombac_type type = a->type;
    uint32_t length = a->vector_length;
    size_t offset = 0;
    const rt_member *members = a->members;
    size_t count = a->member_count;
    while (take(r, ".")) {
        span part = take_name(r);
        const rt_member *m = is_wrong(r) ? NULL : find_member(r, members, count, part);
        if (!m) return integer(0);
        offset += m->offset;
        type = m->count == 1 ? m->type : TOMBAC_TYPE_OTHER;
        length = m->vector_length;
        members = m->members;
        count = m->member_count;
    }
    if (a->kind != TOMBAC_ARGUMENT_CONSTANT || !is_number(type) || length != 1) {
        name.end = trimmed(name.begin, r->at);
        complain(r, "'%.*s' is not a number in constant memory", width(name), name.begin);
        return integer(0);
    }
    bool is_real = type == TOMBAC_TYPE_F16 || type == TOMBAC_TYPE_F32;
    if (!r->run || r->off) return is_real ? real(1) : integer(1);
    const rt_binding *binding = &r->run->bindings[number];
    if (!r->is_known(r->context, (size_t)number)) {
        complain(
            r, "the value of '%s' is not known, because it is bound to a buffer; bind it by bytes", a->name);
        return integer(0);
    }
    if (offset + tombac_type_size(type) > binding->size) {
        complain(r, "'%s' is too small", a->name);
        return integer(0);
    }
    return load(r, a->name, type, (const char *)binding->address + offset);
}

/* grid.x, threadgroup.y */
static value geometry(reader *r, const uint32_t *sizes)
{
    expect(r, ".");
    span axis = take_name(r);
    if (is_wrong(r)) return integer(0);
    const char *found = width(axis) == 1 ? strchr("xyz", *axis.begin) : NULL;
    if (!found) {
        complain(r, "'%.*s' is no axis", width(axis), axis.begin);
        return integer(0);
    }
    return integer(sizes ? sizes[strchr("xyz", *axis.begin) - "xyz"] : 1);
}

/* ---- Expressions ---- */

static value sum(reader *r);

/* 12, 1.5, 2e-3, with f or h behind. */
static value number(reader *r)
{
    const char *begin = r->at;
    int64_t i = 0;
    bool over = false;
    for (; *r->at >= '0' && *r->at <= '9'; r->at++)
        over |= __builtin_mul_overflow(i, 10, &i) || __builtin_add_overflow(i, *r->at - '0', &i);
    if (*r->at != '.' && *r->at != 'e' && *r->at != 'E') {
        if (over) complain(r, "a number is too large");
        return integer(i);
    }
    char *end;
    double d = strtod(begin, &end);
    r->at = end + (*end == 'f' || *end == 'F' || *end == 'h');
    return real(d);
}

static value negative(reader *r, value v)
{
    if (v.is_real) return real(-v.real);
    if (__builtin_sub_overflow((int64_t)0, v.integer, &v.integer)) complain(r, "it overflows");
    return integer(v.integer);
}

static value named(reader *r)
{
    span name = take_name(r);
    if (is_wrong(r)) return integer(0);
    if (equals(name, "len") && *r->at == '(') return extent(r, false);
    if (equals(name, "bytes") && *r->at == '(') return extent(r, true);
    if (equals(name, "grid")) return geometry(r, r->run ? r->run->dispatch.threads_per_grid : NULL);
    if (equals(name, "threadgroup"))
        return geometry(r, r->run ? r->run->dispatch.dispatch_threads_per_threadgroup : NULL);
    return argument_value(r, name);
}

static value primary(reader *r)
{
    if (++r->depth > MAX_DEPTH) {
        complain(r, "it is nested too deeply");
        return integer(0);
    }
    value v = integer(0);
    skip_blanks(r);
    if (*r->at >= '0' && *r->at <= '9') {
        v = number(r);
    } else if (take(r, "-")) {
        v = negative(r, primary(r));
    } else if (take(r, "(")) {
        v = sum(r);
        expect(r, ")");
    } else {
        v = named(r);
    }
    r->depth--;
    return v;
}

static value combined(reader *r, char operator, value a, value b)
{
    bool idle = !r->run || r->off, over = false;
    int64_t i = 0;
    if (a.is_real || b.is_real) {
        if (operator == '%') complain(r, "%% takes integers");
        return real(operator == '*'   ? a.real * b.real
                    : operator == '/' ? a.real / b.real
                    : operator == '+' ? a.real + b.real
                                      : a.real - b.real);
    }
    switch (operator) {
    case '*': over = __builtin_mul_overflow(a.integer, b.integer, &i); break;
    case '+': over = __builtin_add_overflow(a.integer, b.integer, &i); break;
    case '-': over = __builtin_sub_overflow(a.integer, b.integer, &i); break;
    default:
        if (b.integer == 0 && !idle) complain(r, "it divides by zero");
        over = a.integer == INT64_MIN && b.integer == -1;
        if (b.integer != 0 && !over) i = operator == '/' ? a.integer / b.integer : a.integer % b.integer;
        break;
    }
    if (over && !idle) complain(r, "it overflows");
    return integer(i);
}

static value product(reader *r)
{
    value v = primary(r);
    for (;;) {
        skip_blanks(r);
        char operator = *r->at;
        if (is_wrong(r) || (operator != '*' && operator != '/' && operator != '%')) return v;
        r->at++;
        v = combined(r, operator, v, primary(r));
    }
}

static value sum(reader *r)
{
    value v = product(r);
    for (;;) {
        skip_blanks(r);
        char operator = *r->at;
        if (is_wrong(r) || (operator != '+' && operator != '-')) return v;
        r->at++;
        v = combined(r, operator, v, product(r));
    }
}

/* ---- Relations ---- */

static bool either(reader *r);

/* `operator` counts == != <= >= < >. A NaN compares as in C. */
static bool compare(int operator, value a, value b)
{
    bool reals = a.is_real || b.is_real;
    bool less = reals ? a.real < b.real : a.integer < b.integer;
    bool equal = reals ? a.real == b.real : a.integer == b.integer;
    bool greater = reals ? a.real > b.real : a.integer > b.integer;
    switch (operator) {
    case 0: return equal;
    case 1: return !equal;
    case 2: return less || equal;
    case 3: return greater || equal;
    case 4: return less;
    default: return greater;
    }
}

static bool comparison(reader *r)
{
    static const char *const operators[] = {"==", "!=", "<=", ">=", "<", ">"};
    skip_blanks(r);
    const char *left_begin = r->at;
    value left = sum(r);
    const char *left_end = trimmed(left_begin, r->at);
    for (int i = 0; i < 6 && !is_wrong(r); i++) {
        if (!take(r, operators[i])) continue;
        skip_blanks(r);
        const char *right_begin = r->at;
        value right = sum(r);
        if (compare(i, left, right)) return true;
        r->left = (span){left_begin, left_end};
        r->right = (span){right_begin, trimmed(right_begin, r->at)};
        r->left_value = left;
        r->right_value = right;
        return false;
    }
    complain(r, "a comparison is missing before '%s'", r->at);
    return false;
}

/* A parenthesis begins a relation if a comparison stands in it, else an expression: the form is tried. */
static bool group_is_relation(const reader *r)
{
    int depth = 0;
    for (const char *c = r->at; *c; c++) {
        if (*c == '(') depth++;
        if (*c == ')' && --depth == 0) return false;
        if (depth && (*c == '<' || *c == '>' || *c == '=' || *c == '!')) return true;
    }
    return false;
}

static bool both(reader *r)
{
    bool holds = true;
    do {
        skip_blanks(r);
        bool one;
        if (*r->at == '(' && group_is_relation(r)) {
            if (++r->depth > MAX_DEPTH) complain(r, "it is nested too deeply");
            r->at++;
            one = !is_wrong(r) && either(r);
            expect(r, ")");
            r->depth--;
        } else {
            one = comparison(r);
        }
        holds = holds && one;
    } while (!is_wrong(r) && take(r, "&&"));
    return holds;
}

static bool either(reader *r)
{
    bool holds = false;
    do {
        bool one = both(r);
        holds = holds || one;
    } while (!is_wrong(r) && take(r, "||"));
    return holds;
}

static bool evaluate(reader *r, const char *text)
{
    r->at = text;
    bool holds = either(r);
    skip_blanks(r);
    if (!is_wrong(r) && *r->at) complain(r, "'%s' is too much", r->at);
    return holds;
}

tombac_status rt_contract_check(const rt_manifest *manifest, tombac_error **error)
{
    for (size_t i = 0; i < manifest->requirement_count; i++) {
        reader r = {.manifest = manifest};
        evaluate(&r, manifest->requirements[i]);
        if (!is_wrong(&r)) continue;
        tombac_status status = tb_fail(error, TOMBAC_ERROR_SOURCE,
            "%s:%u: kernel '%s': [[tombac::requires(\"%s\")]]: %s", manifest->file, manifest->line,
            manifest->kernel, manifest->requirements[i], tb_text_string(&r.wrong));
        tb_error_set_location(error, manifest->file, manifest->line, 0);
        tb_text_free(&r.wrong);
        return status;
    }
    return TOMBAC_OK;
}

static void append_value(value v, tb_text *out)
{
    if (v.is_real)
        tb_text_printf(out, "%g", v.real);
    else
        tb_text_printf(out, "%" PRId64, v.integer);
}

static tombac_status fail_relation(
    const rt_manifest *manifest, const char *relation, const reader *r, tombac_error **error)
{
    tb_text left = {0}, right = {0};
    append_value(r->left_value, &left);
    append_value(r->right_value, &right);
    tombac_status status = tb_fail(error, TOMBAC_ERROR_CONTRACT,
        "kernel '%s' requires %s, but %.*s is %s and %.*s is %s", manifest->kernel, relation, width(r->left),
        r->left.begin, tb_text_string(&left), width(r->right), r->right.begin, tb_text_string(&right));
    tb_text_free(&left);
    tb_text_free(&right);
    return status;
}

tombac_status rt_contract_verify(const rt_manifest *manifest, const rt_run *run,
    bool (*is_known)(const void *context, size_t argument), const void *context, tombac_error **error)
{
    for (size_t i = 0; i < manifest->requirement_count; i++) {
        reader r = {.manifest = manifest, .run = run, .is_known = is_known, .context = context};
        bool holds = evaluate(&r, manifest->requirements[i]);
        tombac_status status = TOMBAC_OK;
        if (r.wrong.bad)
            status = tb_fail_memory(error);
        else if (r.off)
            status = TOMBAC_OK;
        else if (r.wrong.size)
            status = tb_fail(error, TOMBAC_ERROR_CONTRACT, "kernel '%s' requires %s, but %s",
                manifest->kernel, manifest->requirements[i], r.wrong.data);
        else if (!holds)
            status = fail_relation(manifest, manifest->requirements[i], &r, error);
        tb_text_free(&r.wrong);
        if (status != TOMBAC_OK) return status;
    }
    return TOMBAC_OK;
}
