/* What a C file declares: kernels with their attributes and parameters.
 *
 *     kernel requires(len(x) == len(y)) threads_required(256, 1, 1) void saxpy(float a, ...) { ... }
 *
 * Attributes stand between `kernel` and `void`, in any order. */
#include "compiler/front/c.h"

#include "base/file.h"

#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

static char *join(const char *folder, const char *rest)
{
    tb_text text = {0};
    tb_text_printf(&text, "%s/%s", folder, rest);
    return tb_text_take(&text);
}

/* bin/tombac-cc looks in ../share/tombac/c; TOMBAC_C names another folder and TOMBAC_CLANG another clang. */
static tombac_status find_paths(front_paths *paths, tombac_error **error)
{
    const char *clang = getenv("TOMBAC_CLANG"), *headers = getenv("TOMBAC_C");
    paths->clang = strdup(clang && *clang ? clang : "clang-22");
    if (headers && *headers) {
        paths->msl = strdup(headers);
    } else {
        char *folder = tb_folder_of_code((const void *)front_c_scan);
        if (!folder)
            return tb_fail(error, TOMBAC_ERROR_COMPILER, "cannot find the folder of the running program");
        paths->msl = join(folder, "../share/tombac/c");
        free(folder);
    }
    char *header = paths->msl ? join(paths->msl, FRONT_C_HEADER) : NULL;
    if (!paths->clang || !header) {
        free(header);
        return tb_fail_memory(error);
    }
    bool found = access(header, R_OK) == 0;
    free(header);
    if (found) return TOMBAC_OK;
    return tb_fail(error, TOMBAC_ERROR_COMPILER,
        "<tombac/kernel.h> is not in '%s'; the environment variable TOMBAC_C can name its folder",
        paths->msl);
}

/* ---- Attributes ---- */

typedef struct scan {
    front_unit *unit;
    const token_list *list;
    kernel_site *site;
    front_kernel *kernel;
    tombac_error **error;
} scan;

/* Source text of tokens [first, end), white space as one blank. */
static void append_source(const token_list *list, uint32_t first, uint32_t end, tb_text *out)
{
    if (first >= end) return;
    const token *last = &list->tokens[end - 1];
    const char *p = token_text(list, first), *stop = list->text + last->offset + last->length;
    for (bool blank = false; p < stop; p++) {
        if (!isspace((unsigned char)*p))
            tb_text_putc(out, *p);
        else if (!blank)
            tb_text_putc(out, ' ');
        blank = isspace((unsigned char)*p) != 0;
    }
}

/* The end of the argument that begins at i, in a list that is closed at `close`. */
static uint32_t argument_end(const token_list *list, uint32_t i, uint32_t close)
{
    const token *t = list->tokens;
    while (i < close && t[i].code != ',')
        i = t[i].match != NO_TOKEN && t[i].match > i ? t[i].match + 1 : i + 1;
    return i;
}

/* The same; a name of an integer constant of the file (an enumerator, say) that is none of a parameter
 * becomes its value. */
static void append_relation(scan *s, uint32_t first, uint32_t end, tb_text *out)
{
    const token_list *list = s->list;
    const token *t = list->tokens;
    for (uint32_t i = first; i < end; i++) {
        bool gap = i > first && t[i].offset > t[i - 1].offset + t[i - 1].length;
        bool name = t[i].kind == TOKEN_IDENTIFIER && t[i + 1].code != '(' && t[i + 1].code != '.' &&
                    (i == first || t[i - 1].code != '.') &&
                    (i == first || t[i - 1].code != '(' || t[i - 2].kind != TOKEN_IDENTIFIER);
        for (uint32_t k = s->site->open + 1; name && k < t[s->site->open].match; k++)
            name = !tokens_equal(list, k, i);
        int64_t value;
        tb_text_puts(out, gap ? " " : "");
        if (name && front_evaluate(s->unit, i, i + 1, &value))
            tb_text_printf(out, value < 0 ? "(%lld)" : "%lld", (long long)value);
        else
            append_source(list, i, i + 1, out);
    }
}

static tombac_status read_requires(scan *s, uint32_t open)
{
    uint32_t close = s->list->tokens[open].match;
    for (uint32_t i = open + 1; i < close; i++) {
        uint32_t end = argument_end(s->list, i, close);
        append_relation(s, i, end, &s->kernel->requirements);
        tb_text_putc(&s->kernel->requirements, '\n');
        i = end;
    }
    return s->kernel->requirements.bad ? tb_fail_memory(s->error) : TOMBAC_OK;
}

/* One to three numbers of threads; missing ones are 1. */
static tombac_status read_threads(scan *s, uint32_t open, uint32_t threads[3], size_t most)
{
    uint32_t close = s->list->tokens[open].match;
    size_t n = 0;
    threads[0] = threads[1] = threads[2] = 1;
    uint64_t product = 1;
    for (uint32_t i = open + 1; i < close || n == 0; i++) {
        uint32_t end = argument_end(s->list, i, close);
        int64_t value = 0;
        if (n == most || !front_evaluate(s->unit, i, end, &value) || value < 1 || value > 1024)
            return front_fail_at(s->unit, n == most || i >= close ? open - 1 : i, TOMBAC_ERROR_SOURCE,
                s->error, "'%.*s' takes %s", (int)s->list->tokens[open - 1].length,
                token_text(s->list, open - 1),
                most == 1 ? "one constant from 1 to 1024" : "one to three constants from 1 to 1024");
        product *= (uint64_t)value;
        threads[n++] = (uint32_t)value;
        i = end;
    }
    if (product > 1024)
        return front_fail_at(
            s->unit, open - 1, TOMBAC_ERROR_SOURCE, s->error, "a threadgroup has at most 1024 threads");
    return TOMBAC_OK;
}

static tombac_status read_math(scan *s, uint32_t open)
{
    static const char *const names[] = {"fast", "relaxed", "safe"};
    static const tombac_math modes[] = {TOMBAC_MATH_FAST, TOMBAC_MATH_RELAXED, TOMBAC_MATH_SAFE};
    for (size_t i = 0; i < 3; i++) {
        if (s->list->tokens[open].match != open + 2 || !token_is(s->list, open + 1, names[i])) continue;
        s->kernel->has_math = true;
        s->kernel->math = modes[i];
        return TOMBAC_OK;
    }
    return front_fail_at(
        s->unit, open - 1, TOMBAC_ERROR_SOURCE, s->error, "math_mode takes fast, relaxed or safe");
}

static bool is_attribute(const token_list *list, uint32_t i)
{
    static const char *const names[] = {"requires", "threads_required", "threads_at_most", "math_mode"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (list->tokens[i + 1].code == '(' && token_is(list, i, names[k])) return true;
    return false;
}

uint32_t front_c_attributes_end(const token_list *list, uint32_t kernel)
{
    uint32_t i = kernel;
    while (is_attribute(list, i + 1)) i = list->tokens[i + 2].match;
    return i;
}

static tombac_status read_attributes(scan *s)
{
    tombac_status status = TOMBAC_OK;
    for (uint32_t i = s->site->head + 1; status == TOMBAC_OK && is_attribute(s->list, i);
        i = s->list->tokens[i + 1].match + 1) {
        uint32_t most[3];
        if (token_is(s->list, i, "requires"))
            status = read_requires(s, i + 1);
        else if (token_is(s->list, i, "math_mode"))
            status = read_math(s, i + 1);
        else if (token_is(s->list, i, "threads_required"))
            status = read_threads(s, i + 1, s->kernel->required_threads, 3);
        else {
            status = read_threads(s, i + 1, most, 1);
            s->kernel->max_total_threads = most[0];
        }
    }
    return status;
}

/* ---- Kernels ---- */

static tombac_status read_head(scan *s)
{
    const token *t = s->list->tokens;
    uint32_t i = front_c_attributes_end(s->list, s->site->head) + 1;
    while (t[i].code == KW_STATIC || t[i].code == KW_INLINE) i++;
    if (!token_is(s->list, i, "void"))
        return front_fail_at(s->unit, i, TOMBAC_ERROR_SOURCE, s->error,
            "a kernel is a function that returns void: expected 'void' or an attribute of kernels");
    if (t[i + 1].kind != TOKEN_IDENTIFIER || t[i + 2].code != '(')
        return front_fail_at(
            s->unit, i + 1, TOMBAC_ERROR_SOURCE, s->error, "expected a kernel's name and parameters");
    s->site->name = i + 1;
    s->site->open = i + 2;
    uint32_t next = t[i + 2].match + 1;
    if (t[next].code != '{' && t[next].code != ';')
        return front_fail_at(s->unit, next, TOMBAC_ERROR_SOURCE, s->error, "expected a kernel's body");
    s->site->body = t[next].code == '{' ? next : NO_TOKEN;
    s->site->last = t[next].code == '{' ? t[next].match : next;
    return TOMBAC_OK;
}

static bool keep(scan *s, bool is_kernel)
{
    front_unit *unit = s->unit;
    kernel_site *sites = realloc(unit->sites, (unit->site_count + 1) * sizeof *sites);
    if (!sites) return false;
    unit->sites = sites;
    if (is_kernel) {
        front_kernel *kernels = realloc(unit->kernels, (unit->kernel_count + 1) * sizeof *kernels);
        if (!kernels) return false;
        unit->kernels = kernels;
        s->site->kernel = (uint32_t)unit->kernel_count;
        kernels[unit->kernel_count++] = *s->kernel;
        *s->kernel = (front_kernel){0};
    }
    sites[unit->site_count++] = *s->site;
    return true;
}

static void free_kernel(front_kernel *kernel)
{
    for (size_t i = 0; i < kernel->parameter_count; i++) {
        free(kernel->parameters[i].name);
        free(kernel->parameters[i].type_text);
    }
    free(kernel->parameters);
    free(kernel->name);
    free(kernel->function);
    tb_text_free(&kernel->requirements);
}

/* The kernel whose `kernel` stands at i; *last becomes its last token. */
static tombac_status read_kernel(front_unit *unit, uint32_t i, uint32_t *last, tombac_error **error)
{
    kernel_site site = {
        .kind = SITE_KERNEL, .head = i, .start = i, .host_name = NO_TOKEN, .kernel = NO_TOKEN};
    front_kernel kernel = {0};
    scan s = {unit, &unit->list, &site, &kernel, error};
    tombac_status status = read_head(&s);
    if (status == TOMBAC_OK) status = read_attributes(&s);
    bool defined = status == TOMBAC_OK && site.body != NO_TOKEN;
    if (defined) {
        const token *name = &unit->list.tokens[site.name];
        kernel.name = front_copy(token_text(s.list, site.name), name->length);
        kernel.function = front_copy(token_text(s.list, site.name), name->length);
        kernel.file = front_line_of(unit, name->line, &kernel.line);
        status = kernel.name && kernel.function ? front_c_read_parameters(unit, &site, &kernel, error)
                                                : tb_fail_memory(error);
    }
    if (status == TOMBAC_OK && defined && front_kernel_find(unit, kernel.name))
        status = front_fail_at(
            unit, site.name, TOMBAC_ERROR_SOURCE, error, "kernel '%s' is defined twice", kernel.name);
    if (status == TOMBAC_OK && !keep(&s, defined)) status = tb_fail_memory(error);
    *last = site.last;
    free_kernel(&kernel);
    return status;
}

static tombac_status find_kernels(front_unit *unit, tombac_error **error)
{
    const token *t = unit->list.tokens;
    for (uint32_t i = 0; i < unit->list.count; i++) {
        if (t[i].code != KW_KERNEL || t[i].brace != NO_TOKEN || t[i].bracket) continue;
        tombac_status status = read_kernel(unit, i, &i, error);
        if (status != TOMBAC_OK) return status;
    }
    return TOMBAC_OK;
}

tombac_status front_c_scan(front_unit *unit, const char *source, size_t size, tombac_error **error)
{
    const char *standard = unit->options.standard;
    if (standard && strcmp(standard, "c23") != 0 && strcmp(standard, "c2x") != 0)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "unknown language standard '%s' for a kernel in C, which is C23 (-std=c23)", standard);
    tombac_status status = find_paths(&unit->paths, error);
    if (status == TOMBAC_OK) status = front_preprocess(unit, source, size, error);
    if (status == TOMBAC_OK) status = front_c_find_constants(unit, error);
    return status == TOMBAC_OK ? find_kernels(unit, error) : status;
}
