/* Metal source before metal4.1, where every pointer has an address space: they are inferred, by the compiler
 * that reads the source. A pointer variable takes its type from its initial value, a helper with pointers
 * becomes a template, of which there is a copy for each combination of spaces that it is called with:
 *
 *   const float *p = x + 1;            auto p = tombac_in<const float>(x + 1);
 *   (uchar *)p                         tombac_in<uchar>(p)
 *   float sum(const float *x) {        template <typename tombac_p_x> float sum(tombac_p_x tombac_q_x) {
 *                                      auto x = tombac_in<const float>(tombac_q_x);
 *   float *at(float *p)                template <typename tombac_p_p> auto at(tombac_p_p tombac_q_p)
 *
 * tombac_in<T>(p) (prelude.metal) is p as a pointer to T in its own space, so that elements are C's. A
 * pointer without an initial value takes the type of the first value that is stored. Pointers in structures,
 * in arrays and behind typedefs, and pointers to functions of the file that are not called, are refused by
 * name. */
#include "compiler/front/c_msl.h"

#include <stdio.h>

#define TAKEN "tombac_p_" /* the type of a parameter */
#define GIVEN "tombac_q_" /* the parameter */

/* ---- Types and declarators ---- */

static bool is_word(const token_list *list, uint32_t i, const char *const *words, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (token_is(list, i, words[k])) return true;
    return false;
}
#define IS_WORD(list, i, ...)                                                                                \
    is_word(list, i, (const char *const[]){__VA_ARGS__},                                                     \
        sizeof(const char *const[]){__VA_ARGS__} / sizeof(char *))

static bool is_qualifier(uint32_t code)
{
    return code == KW_CONST || code == KW_VOLATILE || code == KW_STATIC || code == KW_INLINE ||
           code == KW_THREADGROUP || code == KW_RESTRICT || code == KW_RESTRICT2 || code == KW_RESTRICT3 ||
           code == KW_CONSTEXPR || code == KW_EXTERN;
}

/* The end of the words of a type that begin at i, or i where none do. */
static uint32_t type_end(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    uint32_t first = i;
    bool named = false, built_in = false;
    for (;; i++) {
        if (t[i].code == KW_ATTRIBUTE && t[i + 1].code == '(') {
            i = t[i + 1].match;
        } else if (is_qualifier(t[i].code)) {
            continue;
        } else if (IS_WORD(list, i, "void", "char", "short", "int", "long", "float", "signed", "unsigned",
                       "bool", "_Bool", "half", "_Float16")) {
            if (named && !built_in) return i;
            named = built_in = true;
        } else if (!named && (t[i].code == KW_STRUCT || t[i].code == KW_UNION || t[i].code == KW_ENUM)) {
            if (t[i + 1].kind != TOKEN_IDENTIFIER || t[i + 2].code == '{') return first;
            named = true;
            i++;
        } else if (!named && t[i + 1].code == '(' &&
                   IS_WORD(list, i, "slice", "slice_const", "_Atomic", "typeof", "__typeof__")) {
            named = true;
            i = t[i + 1].match;
        } else if (!named && t[i].kind == TOKEN_IDENTIFIER && !t[i].code &&
                   !IS_WORD(list, i, "if", "while", "for", "switch", "case", "default", "break", "continue",
                       "sizeof", "goto", "static_assert", "_Static_assert")) {
            named = true;
        } else {
            return named ? i : first;
        }
    }
}

typedef struct declarator {
    uint32_t first, name, end; /* [first, end): stars, name, dimensions; name NO_TOKEN: none */
    unsigned stars;
    uint32_t group, dimensions; /* '(' of (*name), the first '[', or NO_TOKEN */
} declarator;

/* The declarator at i: `**name[..]`, `(*name)[..]`; its `end` is i where there is none. */
static declarator read_declarator(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    declarator d = {.first = i, .name = NO_TOKEN, .end = i, .group = NO_TOKEN, .dimensions = NO_TOKEN};
    uint32_t k = i;
    for (; t[k].code == '*' || (k > i && is_qualifier(t[k].code)); k++) d.stars += t[k].code == '*';
    if (t[k].code == '(' && t[k + 1].code == '*') {
        uint32_t close = t[k].match;
        d.group = k;
        for (uint32_t j = k + 1; j < close; j++) {
            if (t[j].kind == TOKEN_IDENTIFIER && !t[j].code) d.name = j;
            if (t[j].code == '[') return d; /* an array of pointers to arrays */
        }
        d.stars++;
        k = close + 1;
        if (t[k].code != '[') return d;
    } else if (t[k].kind == TOKEN_IDENTIFIER && !t[k].code) {
        d.name = k++;
    }
    if (t[k].code == '[') d.dimensions = k;
    while (t[k].code == '[') k = t[k].match + 1;
    d.end = k;
    return d;
}

/* What a pointer points to, as written (and as c_msl_words.c writes it): the words of the type, the
 * dimensions. */
static void append_dimensions(msl_writer *w, const declarator *d, tb_text *out)
{
    if (d->group != NO_TOKEN) front_edit_render(&w->r.edits, d->dimensions, d->end - 1, out);
}

static void append_words(msl_writer *w, uint32_t first, uint32_t end, tb_text *out)
{
    const token *t = w->list->tokens;
    for (uint32_t i = first; i < end; i++) {
        if (t[i].code == KW_ATTRIBUTE && t[i + 1].code == '(')
            i = t[i + 1].match;
        else if (!is_qualifier(t[i].code) || t[i].code == KW_CONST || t[i].code == KW_VOLATILE) {
            front_edit_render(&w->r.edits, i, i, out);
            tb_text_putc(out, ' ');
        }
    }
}

static void append_element(msl_writer *w, uint32_t first, uint32_t end, const declarator *d, tb_text *out)
{
    append_words(w, first, end, out);
    append_dimensions(w, d, out);
}

static void delete_all(msl_writer *w, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) front_edit_delete(&w->r.edits, i);
}

/* ---- Variables ---- */

/* Where a value ends: at a ',' or ';' of its own level, or what closes the level. */
static uint32_t value_end(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    while (i < list->count && t[i].code != ',' && t[i].code != ';' && t[i].code != ')' && t[i].code != ']' &&
           t[i].code != '}')
        i = t[i].match != NO_TOKEN && t[i].match > i ? t[i].match + 1 : i + 1;
    return i;
}

static bool is_null(const token_list *list, uint32_t first, uint32_t end)
{
    return end == first + 1 && (list->tokens[first].code == KW_NULLPTR || token_is(list, first, "0"));
}

/* The first value that is stored to the variable behind its declaration: its first token, or NO_TOKEN. */
static uint32_t first_stored(const token_list *list, uint32_t name, uint32_t from)
{
    const token *t = list->tokens;
    uint32_t stop = t[name].brace == NO_TOKEN ? list->count : t[t[name].brace].match;
    for (uint32_t i = from; i < stop; i++) {
        if (!tokens_equal(list, i, name) || t[i + 1].code != '=' || !front_c_is_use(list, i)) continue;
        if (!is_null(list, i + 2, value_end(list, i + 2)) && t[i - 1].code != '*') return i + 2;
    }
    return NO_TOKEN;
}

/* One declarator of a declaration whose type is `words`; `starts`: a type comes before it. */
static tombac_status write_pointer(msl_writer *w, const char *words, const declarator *d, bool starts)
{
    const token_list *list = w->list;
    const token *t = list->tokens;
    edit_list *edits = &w->r.edits;
    if (d->dimensions != NO_TOKEN && d->group == NO_TOKEN)
        return msl_refuse(w, d->name, "an array of pointers is not supported before metal4.1");
    bool stored = t[d->end].code == '=';
    uint32_t value = d->end + 1, last = stored ? value_end(list, value) : d->end;
    tb_text element = {0}, type = {0};
    if (d->stars == 1) {
        tb_text_puts(&element, words);
        append_dimensions(w, d, &element);
    }
    delete_all(w, d->first, d->name);
    delete_all(w, d->name + 1, d->end);
    tombac_status status = TOMBAC_OK;
    if (stored && !is_null(list, value, last)) {
        if (starts) front_edit_before(edits, d->name, "auto ");
        if (d->stars == 1) {
            tb_text_printf(&type, "tombac_in<%s>(", tb_text_string(&element));
            front_edit_before(edits, value, tb_text_string(&type));
            front_edit_after(edits, last - 1, ")");
        }
    } else {
        uint32_t later = first_stored(list, d->name, last);
        if (later == NO_TOKEN)
            status = msl_refuse(
                w, d->name, "a pointer to which nothing is stored is not supported before metal4.1");
        tb_text_printf(&type, "decltype(%s%s%s", d->stars == 1 ? "tombac_in<" : "tombac_value",
            tb_text_string(&element), d->stars == 1 ? ">(" : "(");
        if (later != NO_TOKEN) front_edit_render(edits, later, value_end(list, later) - 1, &type);
        tb_text_puts(&type, ")) ");
        front_edit_before(edits, d->name, tb_text_string(&type));
    }
    edits->pool.bad |= element.bad | type.bad;
    tb_text_free(&element);
    tb_text_free(&type);
    return status;
}

/* The declaration whose type's words are [first, base), if it is one and has pointers. */
static tombac_status write_declaration(msl_writer *w, uint32_t first, uint32_t base, bool in_for)
{
    const token_list *list = w->list;
    const token *t = list->tokens;
    bool pointers = false, others = false;
    uint32_t i = base;
    for (;;) { /* is it one? */
        declarator d = read_declarator(list, i);
        if (d.end == i || d.name == NO_TOKEN ||
            (t[d.end].code != '=' && t[d.end].code != ',' && t[d.end].code != ';'))
            return TOMBAC_OK;
        pointers |= d.stars > 0;
        others |= d.stars == 0;
        i = t[d.end].code == '=' ? value_end(list, d.end + 1) : d.end;
        if (t[i].code != ',') break;
        i++;
    }
    if (!pointers || t[i].code != ';') return TOMBAC_OK;
    if (t[first].code == KW_TYPEDEF)
        return msl_refuse(w, first, "a pointer behind a typedef is not supported before metal4.1");
    if (in_for && others)
        return msl_refuse(
            w, first, "a pointer and a value in the same 'for' are not supported before metal4.1");
    tb_text words = {0}, again = {0};
    append_words(w, first, base, &words);
    tb_text_puts(&again, "; ");
    front_edit_render(&w->r.edits, first, base - 1, &again);
    tb_text_putc(&again, ' ');
    tombac_status status = words.bad || again.bad ? tb_fail_memory(w->error) : TOMBAC_OK;
    if (status == TOMBAC_OK && read_declarator(list, base).stars) delete_all(w, first, base);
    for (i = base; status == TOMBAC_OK;) {
        declarator d = read_declarator(list, i);
        uint32_t end = t[d.end].code == '=' ? value_end(list, d.end + 1) : d.end;
        if (i != base && !in_for) front_edit_replace(&w->r.edits, i - 1, d.stars ? "; " : again.data);
        if (d.stars) status = write_pointer(w, tb_text_string(&words), &d, i == base || !in_for);
        if (t[end].code != ',') break;
        i = end + 1;
    }
    tb_text_free(&words);
    tb_text_free(&again);
    return status;
}

/* ---- Casts ---- */

/* The last token of the operand (a unary expression) that begins at i. */
static uint32_t operand_last(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    for (;; i++) {
        bool prefix = t[i].code == '&' || t[i].code == '*' || t[i].code == '-' || t[i].code == '+' ||
                      t[i].code == '!' || t[i].code == '~' || t[i].code == PUNCT2('+', '+') ||
                      t[i].code == PUNCT2('-', '-');
        uint32_t base = t[i].code == '(' ? type_end(list, i + 1) : i;
        while (t[i].code == '(' && base > i + 1 && (t[base].code == '*' || is_qualifier(t[base].code)))
            base++;
        bool cast = t[i].code == '(' && base > i + 1 && base == t[i].match &&
                    (t[base + 1].kind == TOKEN_IDENTIFIER || t[base + 1].kind == TOKEN_NUMBER ||
                        t[base + 1].code == '(' || t[base + 1].code == '&' || t[base + 1].code == '*');
        if (cast) i = base;
        if (!prefix && !cast) break;
    }
    i = t[i].match != NO_TOKEN && t[i].match > i ? t[i].match : i;
    for (;;) {
        uint32_t next = t[i + 1].code;
        if (next == '[' || next == '(' || next == '{')
            i = t[i + 1].match;
        else if (next == '.' || next == PUNCT2('-', '>'))
            i += 2;
        else if (next == PUNCT2('+', '+') || next == PUNCT2('-', '-'))
            i++;
        else
            return i;
    }
}

/* The '(' at i opens a cast to a pointer? */
static tombac_status write_cast(msl_writer *w, uint32_t i)
{
    const token_list *list = w->list;
    const token *t = list->tokens;
    uint32_t close = t[i].match, base = type_end(list, i + 1);
    if (base == i + 1 || base >= close ||
        (i > 0 && t[i - 1].kind == TOKEN_IDENTIFIER && t[i - 1].code != KW_RETURN))
        return TOMBAC_OK;
    declarator d = read_declarator(list, base);
    bool group = t[base].code == '(' && t[base + 1].code == '*' && t[base].match == base + 2;
    if (d.stars == 0 || d.end != close || (d.name != NO_TOKEN && !group) || t[close + 1].code == '{')
        return TOMBAC_OK;
    if (t[close + 1].kind == TOKEN_PUNCTUATOR && t[close + 1].code != '(' && t[close + 1].code != '&' &&
        t[close + 1].code != '*')
        return TOMBAC_OK; /* sizeof and its like */
    if (d.stars > 1)
        return msl_refuse(w, i, "a cast to a pointer to a pointer is not supported before metal4.1");
    tb_text text = {0};
    tb_text_puts(&text, "tombac_in<");
    append_element(w, i + 1, base, &d, &text);
    tb_text_puts(&text, ">(");
    delete_all(w, i + 1, close + 1);
    front_edit_replace(&w->r.edits, i, tb_text_string(&text));
    front_edit_after(&w->r.edits, operand_last(list, close + 1), ")");
    w->r.edits.pool.bad |= text.bad;
    tb_text_free(&text);
    return TOMBAC_OK;
}

/* ---- Helpers ---- */

/* The parameter [first, end) of a helper: pointers become template parameters, and variables at the start of
 * the body. */
static void write_parameter(
    msl_writer *w, uint32_t first, uint32_t end, unsigned number, tb_text *head, tb_text *start)
{
    const token *t = w->list->tokens;
    uint32_t base = type_end(w->list, first);
    declarator d = read_declarator(w->list, base);
    bool array = d.dimensions != NO_TOKEN && d.group == NO_TOKEN;
    if (base == first || d.end != end || (!d.stars && !array)) return;
    char type[32];
    snprintf(type, sizeof type, TAKEN "%u", number);
    tb_text_printf(head, "%stypename %s", head->size ? ", " : "", type);
    tb_text element = {0}, made = {0}, name = {0};
    if (d.name != NO_TOKEN) front_edit_render(&w->r.edits, d.name, d.name, &name);
    unsigned stars = d.stars + array;
    declarator inner = d;
    if (array && t[t[d.dimensions].match + 1].code == '[') { /* x[][4]: elements are arrays */
        inner.group = d.first;
        inner.dimensions = t[d.dimensions].match + 1;
    }
    append_element(w, first, base, &inner, &element);
    bool typed = stars == 1 && name.size;
    tb_text_printf(&made, "%s %s%s", type, typed ? GIVEN : "", tb_text_string(&name));
    if (typed)
        tb_text_printf(start, "auto %s = tombac_in<%s>(" GIVEN "%s); ", tb_text_string(&name),
            tb_text_string(&element), tb_text_string(&name));
    delete_all(w, first, end);
    front_edit_replace(&w->r.edits, first, tb_text_string(&made));
    w->r.edits.pool.bad |= element.bad | made.bad | name.bad;
    tb_text_free(&element);
    tb_text_free(&made);
    tb_text_free(&name);
}

static tombac_status write_helper(msl_writer *w, const c_function *f)
{
    const token *t = w->list->tokens;
    uint32_t close = t[f->open].match, head = t[f->name].head, base = type_end(w->list, head);
    tb_text templates = {0}, start = {0};
    unsigned number = 0;
    for (uint32_t i = f->open + 1; i < close;) {
        uint32_t end = value_end(w->list, i);
        write_parameter(w, i, end, ++number, &templates, &start);
        i = end + (t[end].code == ',');
    }
    bool pointer = false;
    for (uint32_t i = base; i < f->name; i++) pointer |= t[i].code == '*';
    if (pointer) {
        for (uint32_t i = head; i < f->name; i++)
            if (t[i].code != KW_STATIC && t[i].code != KW_INLINE) front_edit_delete(&w->r.edits, i);
        front_edit_before(&w->r.edits, f->name, "auto ");
    }
    if (templates.size) {
        tb_text text = {0};
        tb_text_printf(&text, "template <%s> ", templates.data);
        front_edit_before(&w->r.edits, head, tb_text_string(&text));
        w->r.edits.pool.bad |= text.bad;
        tb_text_free(&text);
    }
    if (f->body != NO_TOKEN && start.size) front_edit_after(&w->r.edits, f->body, start.data);
    w->r.edits.pool.bad |= templates.bad | start.bad;
    tb_text_free(&templates);
    tb_text_free(&start);
    return TOMBAC_OK;
}

/* ---- The file ---- */

static bool is_kernel(const msl_writer *w, uint32_t name)
{
    for (size_t i = 0; i < w->r.unit->site_count; i++)
        if (w->r.unit->sites[i].name == name) return true;
    return false;
}

/* A statement or a `for` begins at i. */
static bool starts_statement(const token_list *list, uint32_t i, bool *in_for)
{
    const token *t = list->tokens;
    *in_for = i > 1 && t[i - 1].code == '(' && token_is(list, i - 2, "for");
    bool inside =
        t[i].brace != NO_TOKEN && t[i].scope == SCOPE_FUNCTION && t[i].bracket != '(' && t[i].bracket != '[';
    uint32_t before = i ? t[i - 1].code : ';';
    return *in_for || (inside && (before == ';' || before == '{' || before == '}'));
}

static tombac_status check_lasting(msl_writer *w, uint32_t i)
{
    const token *t = w->list->tokens;
    bool member = t[i].code == '*' && t[i].scope == SCOPE_CLASS && t[i].bracket != '[' && t[i].bracket != '(';
    bool type = t[i].code == '*' && t[i].bracket != '[' && t[t[i].head].code == KW_TYPEDEF &&
                t[i].scope != SCOPE_CLASS;
    if (member) return msl_refuse(w, i, "a pointer in a structure is not supported before metal4.1");
    if (type) return msl_refuse(w, i, "a pointer behind a typedef is not supported before metal4.1");
    return TOMBAC_OK;
}

tombac_status msl_write_spaces(msl_writer *w)
{
    const token_list *list = w->list;
    tombac_status status = TOMBAC_OK;
    /* From the end: what a variable takes from a later value has been written when its own turn comes. */
    for (uint32_t i = list->count; i-- > 0 && status == TOMBAC_OK;) {
        const token *t = list->tokens;
        bool in_for;
        status = check_lasting(w, i);
        if (status == TOMBAC_OK && t[i].code == '(' && t[i].brace != NO_TOKEN) status = write_cast(w, i);
        if (status != TOMBAC_OK || !starts_statement(list, i, &in_for)) continue;
        uint32_t base = type_end(list, i);
        if (base > i) status = write_declaration(w, i, base, in_for);
    }
    for (size_t k = 0; k < w->functions.count && status == TOMBAC_OK; k++)
        if (!is_kernel(w, w->functions.items[k].name)) status = write_helper(w, &w->functions.items[k]);
    return status;
}
