/* Pointers and references without an address space: an error below metal4.1, where they become generic.
 *
 * The rule looks at declarators alone: parameters of functions at program and class scope, their results,
 * members, variables. Types are not known, so a name that may carry an address space (a parameter of a
 * template, an alias whose declaration has one, auto, decltype) is let through, and so are casts, lambdas,
 * pointers to functions and pointers to pointers. Parameters of kernels have a rule of their own
 * (parameter.c). */
#include "compiler/front/rewrite.h"

#include <stdlib.h>

enum { MAX_REPORTS = 20, MAX_TYPE = 512 };

typedef struct checker {
    const rewriter *r;
    const token_list *list;
    const token *t;
    uint32_t *carriers; /* tokens: names that may stand for a type with an address space */
    size_t carrier_count, carrier_room;
    bool no_memory;
    tb_text report;
    front_position first;
    unsigned count;
} checker;

/* ---- Names that may carry an address space ---- */

static void add_carrier(checker *c, uint32_t name)
{
    if (c->carrier_count == c->carrier_room) {
        size_t room = c->carrier_room ? c->carrier_room * 2 : 64;
        uint32_t *grown = realloc(c->carriers, room * sizeof *grown);
        c->no_memory |= !grown;
        if (!grown) return;
        c->carriers = grown;
        c->carrier_room = room;
    }
    for (size_t i = 0; i < c->carrier_count; i++)
        if (tokens_equal(c->list, c->carriers[i], name)) return;
    c->carriers[c->carrier_count++] = name;
}

static bool is_carrier(const checker *c, uint32_t name)
{
    for (size_t i = 0; i < c->carrier_count; i++)
        if (tokens_equal(c->list, c->carriers[i], name)) return true;
    return token_is(c->list, name, "auto");
}

/* template <typename T, class U, template <...> class V>: T, U, V. */
static void collect_parameters(checker *c, uint32_t open)
{
    uint32_t close = front_angle_match(c->list, open);
    for (uint32_t i = open + 1; close != NO_TOKEN && i < close; i++) {
        if (c->t[i].code != KW_TYPENAME && c->t[i].code != KW_CLASS) continue;
        while (i + 1 < close && c->t[i + 1].code == '.') i++;
        if (c->t[i + 1].code == PUNCT3('.', '.', '.')) i++;
        if (c->t[i + 1].kind == TOKEN_IDENTIFIER) add_carrier(c, i + 1);
    }
}

/* using NAME = ...;   typedef ... NAME; */
static void collect_alias(checker *c, uint32_t i)
{
    bool using = c->t[i].code == KW_USING, space = false;
    uint32_t end = i + 1;
    for (; end < c->list->count && end - i < MAX_TYPE && c->t[end].code != ';'; end++) {
        uint32_t code = c->t[end].code;
        space |= code_is_space(code) || code == KW_TYPENAME || code == KW_DECLTYPE ||
                 (c->t[end].kind == TOKEN_IDENTIFIER && is_carrier(c, end));
    }
    if (!space) return;
    if (using && c->t[i + 2].code == '=') add_carrier(c, i + 1);
    if (!using && c->t[end - 1].kind == TOKEN_IDENTIFIER) add_carrier(c, end - 1);
}

static void collect(checker *c)
{
    for (uint32_t i = 0; i < c->list->count; i++) {
        uint32_t code = c->t[i].code;
        if (code == KW_TEMPLATE && c->t[i + 1].code == '<') collect_parameters(c, i + 1);
        if (code == KW_USING || code == KW_TYPEDEF) collect_alias(c, i);
    }
}

/* ---- The type before a sign ---- */

static uint32_t angle_open(const checker *c, uint32_t close)
{
    for (uint32_t i = close; i-- > 0 && close - i < MAX_TYPE;) {
        uint32_t code = c->t[i].code;
        if (code == ';' || code == '{' || code == '}') return NO_TOKEN;
        if (code == '<' && front_angle_match(c->list, i) == close) return i;
    }
    return NO_TOKEN;
}

static bool is_builtin_word(const checker *c, uint32_t i)
{
    static const char *const names[] = {"unsigned", "signed", "int", "char", "short", "long"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (token_is(c->list, i, names[k])) return true;
    return false;
}

/* First token of the type that ends before `sign`; NO_TOKEN if that is none, or may have an address space. */
static uint32_t type_start(const checker *c, uint32_t sign)
{
    const token *t = c->t;
    uint32_t i = sign;
    while (i > 0 && (t[i - 1].code == KW_CONST || t[i - 1].code == KW_VOLATILE)) i--;
    if (i == 0) return NO_TOKEN;
    i--;
    for (;;) { /* A::B<...>::C, from its end */
        if (t[i].code == '>') {
            i = angle_open(c, i);
            if (i == NO_TOKEN || i == 0) return NO_TOKEN;
            i--;
        }
        if (t[i].kind != TOKEN_IDENTIFIER || t[i].code != 0 || is_carrier(c, i)) return NO_TOKEN;
        if (i < 2 || t[i - 1].code != PUNCT2(':', ':')) break;
        i -= 2;
    }
    while (i > 0 && is_builtin_word(c, i) && is_builtin_word(c, i - 1)) i--;
    while (i > 0 && (t[i - 1].code == KW_CONST || t[i - 1].code == KW_VOLATILE ||
                        t[i - 1].code == KW_STRUCT || t[i - 1].code == KW_CLASS || t[i - 1].code == KW_UNION))
        i--;
    if (i > 0 && (code_is_space(t[i - 1].code) || t[i - 1].code == KW_TYPENAME)) return NO_TOKEN;
    for (uint32_t k = i; k < sign; k++)
        if (code_is_space(t[k].code)) return NO_TOKEN;
    return i;
}

/* ---- Where it stands ---- */

/* Back over what may precede a type in a declaration: true if that is where the statement begins. */
static bool begins_declaration(const checker *c, uint32_t i)
{
    const token *t = c->t;
    uint32_t head = t[i].head;
    while (i > head) {
        uint32_t code = t[i - 1].code;
        if (code == KW_STATIC || code == KW_CONSTEXPR || code == KW_INLINE || code == KW_EXTERN ||
            code == KW_MUTABLE || token_is(c->list, i - 1, "friend") || token_is(c->list, i - 1, "explicit"))
            i--;
        else if (code == ')' && t[i - 1].match > head && t[t[i - 1].match - 1].code == KW_ATTRIBUTE)
            i = t[i - 1].match - 1;
        else if (code == ']' && front_is_attribute(c->list, t[i - 1].match))
            i = t[i - 1].match;
        else if (code == ':' &&
                 (t[i - 2].code == KW_PUBLIC || t[i - 2].code == KW_PRIVATE || t[i - 2].code == KW_PROTECTED))
            return true;
        else
            return code == '>' && front_skip_template_head(c->list, head) == i;
    }
    return true;
}

/* The '(' around token i, if it holds the parameters of a function at program or class scope. */
static uint32_t parameter_list(const checker *c, uint32_t i)
{
    const token *t = c->t;
    while (i > 0 && t[i].code != '(')
        i = t[i].code == ')' || t[i].code == ']' || t[i].code == '}' ? t[i].match - 1 : i - 1;
    if (i == 0 || (t[i].scope != SCOPE_NAMESPACE && t[i].scope != SCOPE_CLASS)) return NO_TOKEN;
    if (t[i].bracket != 0 && t[i].bracket != '{') return NO_TOKEN;
    uint32_t head = front_skip_template_head(c->list, t[i].head), name = i - 1;
    bool operators = false, constant = false;
    for (uint32_t k = head; k < i; k++) {
        operators |= t[k].code == KW_OPERATOR;
        constant |= t[k].code == KW_CONSTANT || t[k].code == KW_CONSTEXPR;
        if (!operators && t[k].code == '=') return NO_TOKEN;
        if (t[k].code == KW_TYPEDEF || t[k].code == KW_USING) return NO_TOKEN;
    }
    if (constant && t[t[i].match + 1].code == ';') return NO_TOKEN; /* an object and its initialiser? */
    if (operators) return i;
    if (t[name].kind != TOKEN_IDENTIFIER || t[name].code != 0) return NO_TOKEN;
    if (token_is(c->list, name, "static_assert") || token_is(c->list, name, "asm") ||
        token_is(c->list, name, "__asm") || token_is(c->list, name, "__asm__"))
        return NO_TOKEN;
    bool constructor =
        t[i].scope == SCOPE_CLASS && begins_declaration(c, name); /* not a member's initialiser */
    uint32_t before = name > head ? name - 1 : head;
    bool typed = name > head && ((t[before].kind == TOKEN_IDENTIFIER && t[before].code != KW_RETURN) ||
                                    t[before].code == '>' || t[before].code == '*' || t[before].code == '&' ||
                                    t[before].code == PUNCT2(':', ':'));
    return typed || constructor ? i : NO_TOKEN;
}

static bool is_kernel_list(const checker *c, uint32_t open)
{
    for (size_t i = 0; i < c->r->unit->site_count; i++)
        if (c->r->unit->sites[i].open == open) return true;
    return false;
}

/* Does the sign belong to a declarator of the type that begins at `start`? */
static bool declares(const checker *c, uint32_t start, uint32_t sign)
{
    const token *t = c->t;
    uint32_t name = sign + 1;
    while (t[name].code == KW_CONST || t[name].code == KW_VOLATILE || t[name].code == KW_RESTRICT ||
           t[name].code == KW_RESTRICT2 || t[name].code == KW_RESTRICT3)
        name++;
    if (t[sign].bracket == '(') {
        uint32_t before = start ? t[start - 1].code : 0, code = t[name].code;
        if (before != '(' && before != ',') return false;
        uint32_t after = t[name].kind == TOKEN_IDENTIFIER ? t[name + 1].code : code;
        if (after != ')' && after != ',' && after != '=' && after != '[') return false;
        uint32_t open = parameter_list(c, start - 1);
        return open != NO_TOKEN && !is_kernel_list(c, open);
    }
    if (t[sign].bracket != 0 && t[sign].bracket != '{') return false;
    if (t[sign].scope == SCOPE_ENUM || t[sign].scope == SCOPE_LIST) return false;
    if (t[name].kind != TOKEN_IDENTIFIER || !begins_declaration(c, start)) return false;
    if (t[name].code == KW_OPERATOR) return t[sign].scope != SCOPE_FUNCTION;
    if (t[name].code != 0) return false;
    while (t[name + 1].code == PUNCT2(':', ':') && t[name + 2].kind == TOKEN_IDENTIFIER) name += 2;
    if (t[name].code == KW_OPERATOR) return true;
    uint32_t after = t[name + 1].code;
    if (c->t[sign].code != '*' && t[sign].scope == SCOPE_FUNCTION) return after == '=';
    if (after == '=' || after == ';' || after == '[' || after == ',') return true;
    return after == '(' && t[sign].scope != SCOPE_FUNCTION;
}

/* ---- Reports ---- */

static void add_report(checker *c, uint32_t start, uint32_t sign)
{
    if (c->count++ >= MAX_REPORTS) return;
    const front_unit *unit = c->r->unit;
    front_position at = front_locate_token(unit, start);
    if (c->count == 1) c->first = at;
    tb_text message = {0};
    tb_text_printf(&message, "%s type must have an explicit address space below metal4.1",
        c->t[sign].code == '*' ? "pointer" : "reference");
    front_report(unit, at, "error", tb_text_string(&message), &c->report);
    if (c->count > 1) { /* the hint once */
        c->report.bad |= message.bad;
        tb_text_free(&message);
        return;
    }
    front_report(unit, at, "note",
        "write device, constant, threadgroup or thread before the type, or compile with -std=metal4.1, where "
        "it is generic",
        &c->report);
    c->report.bad |= message.bad;
    tb_text_free(&message);
}

tombac_status front_check_spaces(const rewriter *r, tombac_error **error)
{
    if (r->unit->standard.version >= 410) return TOMBAC_OK;
    checker c = {.r = r, .list = r->list, .t = r->list->tokens};
    collect(&c);
    for (uint32_t i = 1; i < r->list->count; i++) {
        uint32_t code = c.t[i].code;
        if (code != '*' && code != '&' && code != PUNCT2('&', '&')) continue;
        if (r->edits.edits[i].blank) continue;
        uint32_t start = type_start(&c, i);
        if (start != NO_TOKEN && declares(&c, start, i)) add_report(&c, start, i);
    }
    free(c.carriers);
    tombac_status status = c.no_memory || c.report.bad ? tb_fail_memory(error) : TOMBAC_OK;
    if (status == TOMBAC_OK && c.count) {
        status = tb_fail(error, TOMBAC_ERROR_SOURCE, "%s", tb_text_string(&c.report));
        tb_error_set_location(error, c.first.file, c.first.line, c.first.column);
    }
    tb_text_free(&c.report);
    return status;
}
