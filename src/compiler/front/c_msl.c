/* A file of kernels in C as Metal source: metal4.1, whose pointers may be generic, or an older version.
 *
 *   - the prelude (tombac/kernel/prelude.metal) gives C's names their meaning in Metal
 *   - a kernel's parameters get address spaces and numbers; behind its '{' each becomes a variable of its own
 *     name and C type, so that the body stands as it is
 *   - positions are attributes of a kernel, not functions: a structure of those that the file reads is filled
 * at the kernel's start and handed, by reference, to every function that reads one or calls one that does
 *   - #line directives keep the places in the C file
 *
 * Words and initialisers are c_msl_words.c, the address spaces of older versions c_msl_spaces.c. */
#include "compiler/front/c_msl.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>

const msl_position msl_positions[MSL_POSITION_COUNT] = {
    {"thread_position_in_grid", true, false},
    {"thread_position_in_threadgroup", true, false},
    {"threadgroup_position_in_grid", true, false},
    {"threads_per_threadgroup", true, false},
    {"dispatch_threads_per_threadgroup", true, false},
    {"threads_per_grid", true, false},
    {"threadgroups_per_grid", true, false},
    {"grid_origin", true, false},
    {"thread_index_in_threadgroup", false, false},
    {"thread_index_in_simdgroup", false, false},
    {"simdgroup_index_in_threadgroup", false, false},
    {"simdgroups_per_threadgroup", false, false},
    {"dispatch_simdgroups_per_threadgroup", false, false},
    {"threads_per_simdgroup", false, false},
    {"thread_execution_width", false, false},
    {"thread_index_in_quadgroup", false, false},
    {"quadgroup_index_in_threadgroup", false, false},
    {"quadgroups_per_threadgroup", false, false},
    {"dispatch_quadgroups_per_threadgroup", false, false},
    {"thread_index_in_grid", false, true},
    {"", false, true},
};

tombac_status msl_refuse(msl_writer *w, uint32_t i, const char *format, ...)
{
    tb_text message = {0};
    va_list arguments;
    va_start(arguments, format);
    tb_text_vprintf(&message, format, arguments);
    va_end(arguments);
    tombac_status status = front_fail_at(
        w->r.unit, i, TOMBAC_ERROR_UNSUPPORTED, w->error, "%s (in Metal source)", tb_text_string(&message));
    tb_text_free(&message);
    return status;
}

/* ---- Who reads positions ---- */

size_t msl_position_at(const msl_writer *w, uint32_t i)
{
    size_t k = 0;
    if (w->list->tokens[i + 1].code != '(' || !front_c_is_use(w->list, i)) return MSL_POSITION_COUNT;
    while (k < MSL_POSITION_COUNT && !token_is(w->list, i, msl_positions[k].name)) k++;
    return k;
}

static void need(msl_writer *w, const char *name)
{
    for (size_t k = 0; k < MSL_POSITION_COUNT; k++) w->used[k] |= !strcmp(msl_positions[k].name, name);
}

static void find_used_positions(msl_writer *w)
{
    for (uint32_t i = 0; i < w->list->count; i++) {
        size_t k = msl_position_at(w, i);
        if (k < MSL_POSITION_COUNT) w->used[k] = true;
        if (k < MSL_POSITION_COUNT && msl_positions[k].own) {
            need(w, "thread_position_in_grid");
            need(w, "threads_per_grid");
        }
    }
}

/* Does the function read a position or call a function that is marked? */
static bool reads(const msl_writer *w, const c_function *f)
{
    for (uint32_t i = f->body + 1; i < w->list->tokens[f->body].match; i++) {
        if (msl_position_at(w, i) < MSL_POSITION_COUNT) return true;
        const c_function *callee = w->list->tokens[i + 1].code == '(' && front_c_is_use(w->list, i)
                                       ? front_c_function(w->list, &w->functions, i)
                                       : NULL;
        if (callee && w->reads_positions[callee - w->functions.items]) return true;
    }
    return false;
}

static void mark_functions(msl_writer *w)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < w->functions.count; i++) {
            if (w->reads_positions[i] || w->functions.items[i].body == NO_TOKEN) continue;
            w->reads_positions[i] = reads(w, &w->functions.items[i]);
            changed |= w->reads_positions[i];
        }
    }
}

/* ---- Functions ---- */

static const kernel_site *site_of(const msl_writer *w, uint32_t name)
{
    for (size_t i = 0; i < w->r.unit->site_count; i++)
        if (tokens_equal(w->list, w->r.unit->sites[i].name, name)) return &w->r.unit->sites[i];
    return NULL;
}

/* A parameter or argument in front of the others. */
static void add_first(msl_writer *w, uint32_t open, const char *text)
{
    const token *t = w->list->tokens;
    bool none =
        t[open].match == open + 1 || (t[open].match == open + 2 && token_is(w->list, open + 1, "void"));
    tb_text made = {0};
    tb_text_printf(&made, "%s%s", text, none ? "" : ", ");
    if (none && t[open].match == open + 2) front_edit_delete(&w->r.edits, open + 1);
    front_edit_after(&w->r.edits, open, tb_text_string(&made));
    w->r.edits.pool.bad |= made.bad;
    tb_text_free(&made);
}

static tombac_status write_calls(msl_writer *w)
{
    const token *t = w->list->tokens;
    for (uint32_t i = 0; i < w->list->count; i++) {
        if (!front_c_is_use(w->list, i) || t[i + 1].code != '(') continue;
        size_t position = msl_position_at(w, i);
        if (position < MSL_POSITION_COUNT) {
            tb_text text = {0};
            tb_text_printf(&text, MSL_POSITIONS ".%s", msl_positions[position].name);
            front_edit_replace(&w->r.edits, i, tb_text_string(&text));
            for (uint32_t k = i + 1; k <= t[i + 1].match; k++) front_edit_delete(&w->r.edits, k);
            w->r.edits.pool.bad |= text.bad;
            tb_text_free(&text);
            continue;
        }
        const c_function *f = front_c_function(w->list, &w->functions, i);
        if (!f) continue;
        const kernel_site *site = site_of(w, i);
        bool call = t[i].brace != NO_TOKEN;
        if (site && call) return msl_refuse(w, i, "a kernel that is called like a function is not supported");
        if (site || !w->reads_positions[f - w->functions.items]) continue;
        add_first(w, i + 1, call ? MSL_POSITIONS : "thread const tombac_positions &" MSL_POSITIONS);
    }
    return TOMBAC_OK;
}

/* ---- Kernels ---- */

#define OWN "tombac_c_" /* what the body calls its parameter */

/* The parameter's tokens as written, its name with `prefix`, without `threadgroup`; its first dimension as a
 * '*'. */
static void append_declaration(msl_writer *w, const c_parameter *p, const char *prefix, tb_text *out)
{
    const token *t = w->list->tokens;
    bool array = p->square != NO_TOKEN && p->group == NO_TOKEN;
    for (uint32_t i = p->first; i < p->end; i++) {
        uint32_t code = t[i].code;
        if (code == KW_THREADGROUP || code == KW_RESTRICT || code == KW_RESTRICT2 || code == KW_RESTRICT3)
            continue;
        if (array && i == p->square) {
            i = t[i].match;
            continue;
        }
        bool name = i == p->name;
        tb_text_printf(out, "%s%s", name && array ? "(*" : "", name ? prefix : "");
        front_edit_render(&w->r.edits, i, i, out); /* with what c_msl_words.c made of it */
        tb_text_puts(out, name && array ? ") " : " ");
    }
}

static void append_value_type(msl_writer *w, const c_parameter *p, tb_text *out)
{
    for (uint32_t i = p->first; i < p->end; i++) {
        if (i == p->name) continue;
        front_edit_render(&w->r.edits, i, i, out);
        tb_text_putc(out, ' ');
    }
}

/* The parameter for the kernel's head, and the body's variable with the value that was given. */
static void append_parameter(
    msl_writer *w, const c_parameter *p, uint32_t next[2], tb_text *head, tb_text *start)
{
    uint32_t *index = &next[p->kind == C_THREADGROUP];
    tb_text type = {0}, written = {0};
    front_edit_render(&w->r.edits, p->name, p->name, &written);
    const char *name = tb_text_string(&written);
    int length = (int)written.size;
    if (p->kind == C_VALUE)
        append_value_type(w, p, &type);
    else
        front_c_element_type(w->list, p, &type);
    tb_text_puts(head, p->kind == C_VALUE         ? "constant "
                       : p->kind == C_THREADGROUP ? "threadgroup "
                                                  : "device ");
    if (w->spaces && (p->kind == C_POINTER || p->kind == C_THREADGROUP))
        tb_text_printf(start, "auto " OWN "%.*s ", length, name);
    else
        append_declaration(w, p, OWN, start);
    if (p->kind == C_VALUE) {
        tb_text_printf(head, "%s&%.*s [[buffer(%u)]]", tb_text_string(&type), length, name, (*index)++);
        tb_text_printf(start, "= %.*s; ", length, name);
    } else if (p->kind == C_SLICE) {
        tb_text_printf(head,
            "%s *%.*s [[buffer(%u)]], constant ulong &%.*s" FRONT_C_COUNT_SUFFIX " [[buffer(%u)]]",
            tb_text_string(&type), length, name, *index, length, name, *index + 1);
        *index += 2;
        tb_text_printf(start, "= {%.*s, %.*s" FRONT_C_COUNT_SUFFIX "}; ", length, name, length, name);
    } else {
        append_declaration(w, p, "", head);
        tb_text_printf(head, "[[%s(%u)]]", p->kind == C_THREADGROUP ? "threadgroup" : "buffer", (*index)++);
        tb_text_printf(start, "= %.*s; ", length, name);
    }
    head->bad |= type.bad | written.bad;
    tb_text_free(&type);
    tb_text_free(&written);
}

/* The body uses its own variable in place of the parameter. */
static void rename_uses(msl_writer *w, const kernel_site *site, uint32_t name)
{
    tb_text text = {0};
    tb_text_printf(&text, OWN "%.*s", (int)w->list->tokens[name].length, token_text(w->list, name));
    for (uint32_t i = site->body + 1; i < site->last; i++)
        if (tokens_equal(w->list, i, name) && front_c_is_use(w->list, i))
            front_edit_replace(&w->r.edits, i, tb_text_string(&text));
    w->r.edits.pool.bad |= text.bad;
    tb_text_free(&text);
}

/* Positions as parameters, and the structure that collects them. */
static void append_positions(const msl_writer *w, bool first, tb_text *head, tb_text *start)
{
    tb_text_puts(start, "tombac_positions " MSL_POSITIONS "; ");
    bool grid = false;
    for (size_t k = 0; k < MSL_POSITION_COUNT; k++) {
        const msl_position *p = &msl_positions[k];
        if (!w->used[k]) continue;
        grid |= p->own;
        if (p->own) continue;
        tb_text_printf(
            head, "%s%s tombac_%s [[%s]]", first ? "" : ", ", p->vector ? "uint3" : "uint", p->name, p->name);
        tb_text_printf(start, MSL_POSITIONS ".%s = tombac_%s; ", p->name, p->name);
        first = false;
    }
    if (grid)
        tb_text_puts(start,
            MSL_POSITIONS ".thread_index_in_grid = (ulong(tombac_thread_position_in_grid.z) * "
                          "tombac_threads_per_grid.y + tombac_thread_position_in_grid.y) * "
                          "tombac_threads_per_grid.x + tombac_thread_position_in_grid.x; ");
}

/* Before metal4.0 a required size of the threadgroup can only be a limit. */
static void append_attributes(const msl_writer *w, const front_kernel *kernel, tb_text *out)
{
    const uint32_t *required = kernel->required_threads;
    bool known = w->version >= MSL_REQUIRED_THREADS;
    uint32_t most = kernel->max_total_threads;
    if (!known && required[0]) most = required[0] * required[1] * required[2];
    if (most) tb_text_printf(out, "[[max_total_threads_per_threadgroup(%u)]] ", most);
    if (required[0] && known)
        tb_text_printf(out, "[[required_threads_per_threadgroup(%u, %u, %u)]] ", kernel->required_threads[0],
            kernel->required_threads[1], kernel->required_threads[2]);
    const char *line = tb_text_string(&kernel->requirements);
    for (size_t length; *line; line += length + 1) {
        length = strcspn(line, "\n");
        tb_text_printf(out, "[[tombac::requires(\"%.*s\")]] ", (int)length, line);
    }
    tb_text_puts(out, "kernel");
}

static tombac_status write_kernel(msl_writer *w, const kernel_site *site)
{
    static const char *const modes[] = {"fast", "relaxed", "safe"};
    const front_kernel *kernel = &w->r.unit->kernels[site->kernel];
    edit_list *edits = &w->r.edits;
    tb_text attributes = {0}, head = {0}, start = {0};
    append_attributes(w, kernel, &attributes);
    front_edit_replace(edits, site->head, tb_text_string(&attributes));
    uint32_t last = front_c_attributes_end(w->list, site->head), close = w->list->tokens[site->open].match;
    for (uint32_t i = site->head + 1; i < site->name; i++)
        if (i <= last || !token_is(w->list, i, "void")) front_edit_delete(edits, i);
    if (kernel->has_math)
        tb_text_printf(&start, " _Pragma(\"METAL fp math_mode(%s)\") ", modes[kernel->math]);
    uint32_t at = site->open + 1, bad, next[2] = {0, 0};
    const char *problem;
    bool first = true;
    for (c_parameter p; front_c_next_parameter(w->list, close, &at, &p, &bad, &problem); first = false) {
        tb_text_puts(&head, first ? "" : ", ");
        append_parameter(w, &p, next, &head, &start);
        rename_uses(w, site, p.name);
    }
    const c_function *f = front_c_function(w->list, &w->functions, site->name);
    if (f && w->reads_positions[f - w->functions.items]) append_positions(w, first, &head, &start);
    for (uint32_t i = site->open + 1; i < close; i++) front_edit_delete(edits, i);
    front_edit_after(edits, site->open, tb_text_string(&head));
    front_edit_after(edits, site->body, tb_text_string(&start));
    edits->pool.bad |= attributes.bad | head.bad | start.bad;
    tb_text_free(&attributes);
    tb_text_free(&head);
    tb_text_free(&start);
    return TOMBAC_OK;
}

/* ---- The file ---- */

static tombac_status write_prelude(const msl_writer *w, tb_text *out, tombac_error **error)
{
    tb_text path = {0};
    tb_text_printf(&path, "%s/tombac/kernel/prelude.metal", w->r.unit->paths.msl);
    if (w->spaces) tb_text_puts(out, "#define TOMBAC_SPACES 1 // pointers have address spaces\n");
    tb_text_puts(out, "#line 1 \"tombac/kernel/prelude.metal\"\n");
    tombac_status status = path.bad ? tb_fail_memory(error) : tb_file_read(path.data, 1 << 20, out, error);
    tb_text_free(&path);
    bool any = false;
    for (size_t k = 0; k < MSL_POSITION_COUNT; k++) {
        if (!w->used[k]) continue;
        const msl_position *p = &msl_positions[k];
        tb_text_printf(out, "%s    %s %s;\n", any ? "" : "\nstruct tombac_positions {\n",
            p->own      ? "ulong"
            : p->vector ? "uint3"
                        : "uint",
            p->name);
        any = true;
    }
    tb_text_puts(out, any ? "};\n\n" : "\n");
    return status;
}

/* `# 12 "file" 1` -> `#line 12 "file"` */
static void write_line_directives(msl_writer *w)
{
    for (uint32_t d = 0; d < w->list->directive_count; d++) {
        const directive *at = &w->list->directives[d];
        const char *p = w->list->text + at->offset;
        unsigned line;
        if (at->length < 3 || p[1] != ' ' || p[2] < '0' || p[2] > '9') continue;
        const char *file = front_line_of(w->r.unit, at->line + 1, &line);
        tb_text text = {0};
        if (file[0] != '<' || !strcmp(file, w->r.unit->main_path))
            tb_text_printf(&text, "#line %u \"%s\"", line, file);
        front_edit_directive(&w->r.edits, d, text.size ? text.data : " ");
        w->r.edits.pool.bad |= text.bad;
        tb_text_free(&text);
    }
}

static tombac_status write_all(msl_writer *w, tb_text *out, tombac_error **error)
{
    find_used_positions(w);
    mark_functions(w);
    tombac_status status = write_calls(w);
    if (status == TOMBAC_OK) status = msl_write_words(w);
    const front_unit *unit = w->r.unit;
    for (size_t i = 0; i < unit->site_count && status == TOMBAC_OK; i++)
        if (unit->sites[i].kernel != NO_TOKEN)
            status = write_kernel(w, &unit->sites[i]);
        else
            front_edit_blank(&w->r.edits, unit->sites[i].head, unit->sites[i].last);
    if (status == TOMBAC_OK && w->spaces) status = msl_write_spaces(w);
    if (status != TOMBAC_OK) return status;
    write_line_directives(w);
    status = write_prelude(w, out, error);
    front_edit_emit(&w->r.edits, NULL, out);
    return status == TOMBAC_OK && (out->bad || w->r.edits.pool.bad) ? tb_fail_memory(error) : status;
}

/* What was made for an older version must be right in it: what the writer did not foresee is refused here. */
static tombac_status check_result(
    const front_unit *unit, const char *standard, const tb_text *text, tombac_error **error)
{
    front_options options = {.language = FRONT_METAL, .standard = standard};
    front_unit *made = NULL;
    front_result result = {0};
    tombac_error *problem = NULL;
    tb_text path = {0}; /* not that of the C file, whose lines messages quote */
    tb_text_printf(&path, "%s.metal", unit->main_path);
    if (path.bad) return tb_fail_memory(error);
    tombac_status status = front_open(path.data, text->data, text->size, &options, &made, &problem);
    if (status == TOMBAC_OK) status = front_compile(made, NULL, true, &result, &problem);
    if (status != TOMBAC_OK)
        status = tb_fail(error, status == TOMBAC_ERROR_SOURCE ? TOMBAC_ERROR_UNSUPPORTED : status,
            "%s\n%s cannot be written as Metal source for %s: see above", tombac_error_message(problem),
            unit->main_path, standard);
    tombac_error_release(problem);
    front_result_free(&result);
    front_close(made);
    tb_text_free(&path);
    return status;
}

static tombac_status emit(
    front_unit *unit, const front_standard *standard, bool spaces, tb_text *out, tombac_error **error)
{
    msl_writer w = {.r = {.unit = unit, .list = &unit->list, .error = error},
        .list = &unit->list,
        .version = standard->version,
        .spaces = spaces,
        .error = error};
    bool fine = front_edit_start(&w.r.edits, w.list) && front_c_functions(w.list, &w.functions);
    w.reads_positions = fine ? calloc(w.functions.count + 1, sizeof *w.reads_positions) : NULL;
    tombac_status status = w.reads_positions ? write_all(&w, out, error) : tb_fail_memory(error);
    if (status == TOMBAC_OK) status = check_result(unit, standard->name, out, error);
    free(w.reads_positions);
    free(w.functions.items);
    front_rewrite_free(&w.r);
    return status;
}

/* Generic pointers say all that C's do but for pointers to constants and conversions of void *, which the
 * other way has. */
tombac_status front_emit_msl(front_unit *unit, const char *standard, tb_text *out, tombac_error **error)
{
    if (unit->options.language != FRONT_C)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "'%s' is Metal source already", unit->main_path);
    front_standard found;
    tombac_status status = front_standard_find(standard ? standard : "metal4.1", &found, error);
    if (status == TOMBAC_OK && found.version < MSL_OLDEST)
        status = tb_fail(
            error, TOMBAC_ERROR_UNSUPPORTED, "Metal source is made for metal2.3 and later, not %s", standard);
    if (status == TOMBAC_OK) status = front_c_check(unit, error);
    if (status != TOMBAC_OK) return status;
    bool generic = found.version >= MSL_GENERIC_POINTERS;
    tb_text text = {0};
    status = emit(unit, &found, !generic, &text, error);
    if (generic && status == TOMBAC_ERROR_UNSUPPORTED) {
        tombac_error *second = NULL;
        tb_text_free(&text);
        if (emit(unit, &found, true, &text, &second) == TOMBAC_OK) {
            if (error) tombac_error_release(*error);
            if (error) *error = NULL;
            status = TOMBAC_OK;
        }
        tombac_error_release(second);
    }
    if (status == TOMBAC_OK) tb_text_append(out, text.data, text.size);
    tb_text_free(&text);
    return status;
}
