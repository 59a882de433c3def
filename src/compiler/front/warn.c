/* Warnings of the front end's own, about what clang cannot know: a barrier that only some threads of a threadgroup reach, and
 * a kernel that the host cannot name.
 *
 * Divergence is read off the tokens of each kernel's body, in order. A name varies if it is a parameter that differs between
 * the threads of a threadgroup, or was assigned an expression with such a name in it. A barrier inside a
 * statement whose condition has a varying name in it is reported. This sees neither functions nor early returns, and it takes
 * x - x for varying; so it is a warning. The device "check" knows for certain, when the kernel runs. */
#include "compiler/front/rewrite.h"

enum { MAX_VARYING = 128, MAX_NESTING = 64 };

typedef struct condition {
    uint32_t name; /* the varying name in it */
    uint32_t last; /* last token of what it decides about */
} condition;

typedef struct walker {
    const rewriter *r;
    uint32_t varying[MAX_VARYING]; /* tokens that spell the names */
    size_t varying_count;
    condition around[MAX_NESTING];
    size_t depth;
    tb_text *out;
} walker;

static bool differs_within_threadgroup(const char *position)
{
    static const char *const names[] = {"thread_position_in_grid", "thread_position_in_threadgroup",
        "thread_index_in_threadgroup", "thread_index_in_simdgroup", "thread_index_in_quadgroup",
        "simdgroup_index_in_threadgroup", "quadgroup_index_in_threadgroup"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], position)) return true;
    return false;
}

static void add_varying(walker *w, uint32_t name)
{
    for (size_t i = 0; i < w->varying_count; i++)
        if (tokens_equal(w->r->list, w->varying[i], name)) return;
    if (w->varying_count < MAX_VARYING) w->varying[w->varying_count++] = name;
}

static void remove_varying(walker *w, uint32_t name)
{
    for (size_t i = 0; i < w->varying_count; i++)
        if (tokens_equal(w->r->list, w->varying[i], name)) w->varying[i--] = w->varying[--w->varying_count];
}

/* The first varying name in tokens [first, end), or NO_TOKEN. */
static uint32_t find_varying(const walker *w, uint32_t first, uint32_t end)
{
    const token *t = w->r->list->tokens;
    for (uint32_t i = first; i < end; i++) {
        bool member = i > 0 && (t[i - 1].code == '.' || t[i - 1].code == PUNCT2('-', '>'));
        if (t[i].kind != TOKEN_IDENTIFIER || t[i].code || member) continue;
        for (size_t k = 0; k < w->varying_count; k++)
            if (tokens_equal(w->r->list, w->varying[k], i)) return i;
    }
    return NO_TOKEN;
}

static void read_parameters(walker *w, uint32_t open)
{
    const token_list *list = w->r->list;
    for (uint32_t i = open + 1; i < list->tokens[open].match; i++) {
        if (!front_is_attribute(list, i)) continue;
        attribute_cursor cursor = front_attributes(list, i);
        for (attribute a; front_next_attribute(&cursor, &a);)
            if (a.kind == ATTRIBUTE_POSITION && differs_within_threadgroup(a.known) &&
                list->tokens[i - 1].kind == TOKEN_IDENTIFIER)
                add_varying(w, i - 1);
        i = list->tokens[i].match;
    }
}

/* Past the end of an expression that starts at i: the ',' or ';' or closing bracket behind it. */
static uint32_t expression_end(const token_list *list, uint32_t i, uint32_t limit)
{
    const token *t = list->tokens;
    for (; i < limit && t[i].code != ';' && t[i].code != ','; i++) {
        if (t[i].code == ')' || t[i].code == '}' || t[i].code == ']') break;
        if ((t[i].code == '(' || t[i].code == '[' || t[i].code == '{') && t[i].match != NO_TOKEN) i = t[i].match;
    }
    return i < limit ? i : limit;
}

/* name = expression, name += expression. A new variable of an old name, `int i = 0`, does not vary any more. */
static void read_assignment(walker *w, uint32_t i, uint32_t limit)
{
    const token *t = w->r->list->tokens;
    static const char operators[] = "+-*/%&|^";
    uint32_t sign = t[i + 1].code;
    bool assigns = sign == '=';
    for (const char *p = operators; *p && !assigns; p++) assigns = sign == PUNCT2(*p, '=');
    bool member = i > 0 && (t[i - 1].code == '.' || t[i - 1].code == PUNCT2('-', '>'));
    if (!assigns || member || t[i].kind != TOKEN_IDENTIFIER || t[i].code) return;
    bool declares = sign == '=' && i > 0 && t[i - 1].kind == TOKEN_IDENTIFIER && t[i - 1].code != KW_RETURN;
    if (find_varying(w, i + 2, expression_end(w->r->list, i + 2, limit)) != NO_TOKEN)
        add_varying(w, i);
    else if (declares)
        remove_varying(w, i);
}

static bool is_word(const walker *w, uint32_t i, const char *word)
{
    return w->r->list->tokens[i].kind == TOKEN_IDENTIFIER && token_is(w->r->list, i, word);
}

/* Last token of the statement that starts at i. Statements may nest without braces, so this is bounded. */
static uint32_t statement_last(const walker *w, uint32_t i, uint32_t limit)
{
    const token *t = w->r->list->tokens;
    while (i < limit) {
        if (t[i].code == '{') return t[i].match;
        if (t[i].code == ';') return i;
        bool head = is_word(w, i, "if") || is_word(w, i, "for") || is_word(w, i, "while") || is_word(w, i, "switch");
        if (head && t[i + 1].code == '(')
            i = t[i + 1].match + 1;
        else if (t[i].code == '(' || t[i].code == '[')
            i = t[i].match + 1;
        else
            i++;
    }
    return limit;
}

/* t < end_t where both vary: as a loop's condition it may well end for all threads at once. */
static bool compares_varying(const walker *w, uint32_t name, uint32_t end)
{
    for (uint32_t i = find_varying(w, name + 1, end); i != NO_TOKEN; i = find_varying(w, i + 1, end))
        if (!tokens_equal(w->r->list, name, i)) return true;
    return false;
}

/* `if`, `for`, `while` or `switch` at i, with what its condition decides about. */
static void read_control(walker *w, uint32_t i, uint32_t limit)
{
    const token *t = w->r->list->tokens;
    uint32_t open = i + 1, first = open + 1, end = t[open].match;
    bool is_loop = is_word(w, i, "for") || is_word(w, i, "while");
    if (is_word(w, i, "for")) { /* the part between the semicolons; what is before it may make a name varying */
        for (uint32_t k = first; k < end && t[k].code != ';'; k++) read_assignment(w, k, end);
        first = expression_end(w->r->list, first, end);
        while (first < end && t[first].code != ';') first = expression_end(w->r->list, first + 1, end);
        if (first < end) end = expression_end(w->r->list, first + 1, end);
    }
    uint32_t name = find_varying(w, first, end);
    if (name == NO_TOKEN || (is_loop && compares_varying(w, name, end))) return;
    uint32_t last = statement_last(w, t[open].match + 1, limit);
    while (last + 1 < limit && t[last + 1].code == KW_ELSE) last = statement_last(w, last + 2, limit);
    if (w->depth < MAX_NESTING) w->around[w->depth++] = (condition){name, last};
}

static void report_barrier(walker *w, uint32_t at)
{
    const front_unit *unit = w->r->unit;
    uint32_t name = w->around[w->depth - 1].name;
    const token *t = &unit->list.tokens[name];
    tb_text note = {0};
    tb_text_printf(&note, "'%.*s' in this condition differs between them", (int)t->length, token_text(&unit->list, name));
    front_report(unit, front_locate_token(unit, at), "warning",
        "not all threads of a threadgroup may come to this barrier, which waits for all", w->out);
    front_report(unit, front_locate_token(unit, name), "note", tb_text_string(&note), w->out);
    w->out->bad |= note.bad;
    tb_text_free(&note);
}

static void walk_kernel(walker *w, const kernel_site *site)
{
    const token *t = w->r->list->tokens;
    uint32_t limit = t[site->body].match;
    read_parameters(w, site->open);
    for (uint32_t i = site->body + 1; i < limit; i++) {
        while (w->depth && i > w->around[w->depth - 1].last) w->depth--;
        if (t[i].kind != TOKEN_IDENTIFIER) continue;
        bool control = is_word(w, i, "if") || is_word(w, i, "while") || is_word(w, i, "for") || is_word(w, i, "switch");
        if (control && t[i + 1].code == '(' && t[i + 1].match != NO_TOKEN)
            read_control(w, i, limit);
        else if (w->depth && t[i + 1].code == '(' && is_word(w, i, "threadgroup_barrier"))
            report_barrier(w, i);
        else
            read_assignment(w, i, limit);
    }
}

/* template kernel void k<1>(...); without a name for it. */
static void report_nameless(const rewriter *r, const kernel_site *site, tb_text *out)
{
    const token *t = &r->list->tokens[site->name];
    tb_text message = {0};
    tb_text_printf(&message, "this instantiation of kernel '%.*s' has no [[host_name(\"...\")]]: the host cannot find it",
        (int)t->length, token_text(r->list, site->name));
    front_report(r->unit, front_locate_token(r->unit, site->name), "warning", tb_text_string(&message), out);
    out->bad |= message.bad;
    tb_text_free(&message);
}

void front_warn(const rewriter *r, tb_text *out)
{
    if (!r->unit->options.warnings) return;
    for (size_t i = 0; i < r->unit->site_count; i++) {
        const kernel_site *site = &r->unit->sites[i];
        if (site->kind == SITE_STAGE || r->edits.edits[site->head].blank || site->open == NO_TOKEN) continue;
        walker w = {.r = r, .out = out};
        if (site->kind == SITE_INSTANTIATION && site->host_name == NO_TOKEN && !r->selected)
            report_nameless(r, site, out);
        else if (site->kind == SITE_KERNEL && site->body != NO_TOKEN)
            walk_kernel(&w, site);
    }
}
