/* R7: address spaces on member functions, as in `T get() const device { ... }`.
 *
 * The default address space takes objects of all others, so the qualifier goes, and of several members that
 * differ in nothing else the first stays. That is right only if their bodies are the same but for address
 * spaces, which is checked, or if one only applies the other to a copy of the object:
 *
 *     Fp operator+(Fp x) const device { return Fp(*this) + x; }
 *     Fp get(int i) const device { return Fp(*this).get(i); } */
#include "compiler/front/rewrite.h"

#include <stdlib.h>

typedef struct method {
    uint32_t class_brace; /* '{' of the class */
    uint32_t start;       /* first token: `template`, the return type, ... */
    uint32_t name;        /* the name, or `operator` */
    uint32_t open, close; /* the parameters' parentheses */
    uint32_t body;        /* '{' or the ':' of constructor initialisers, or NO_TOKEN */
    uint32_t last;
    uint64_t hash;
    bool is_const, is_volatile;
    bool qualified;          /* has an address space */
    uint32_t qualifiers_end; /* last token of the parameters and of const, volatile */
} method;

typedef struct method_list {
    method *methods;
    size_t count, room;
} method_list;

static bool is_space(const token *t)
{
    return code_is_space(t->code);
}

/* From a constructor's ':' to the '{' of its body. */
static uint32_t skip_initialisers(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    for (i++; i < list->count; i++) {
        while (
            i < list->count && t[i].code != '(' && t[i].code != '{' && t[i].code != ';' && t[i].code != '}') {
            if (t[i].code == '<') {
                uint32_t close = front_angle_match(list, i);
                if (close != NO_TOKEN) i = close;
            }
            i++;
        }
        if (t[i].code != '(' && t[i].code != '{') return i;
        i = t[i].match + 1;
        if (t[i].code != ',') return i;
    }
    return i;
}

/* The parameter list of a member declaration that starts at m->start; false if it is no function. */
static bool find_parameters(const token_list *list, method *m)
{
    const token *t = list->tokens;
    uint32_t i = front_skip_template_head(list, m->start), limit = i + 256;
    for (; i < list->count && i < limit; i++) {
        uint32_t code = t[i].code;
        if (code == ';' || code == '{' || code == '}' || code == '=') return false;
        if (front_is_attribute(list, i)) {
            i = t[i].match;
        } else if ((code == KW_ATTRIBUTE || code == KW_ALIGNAS || code == KW_DECLTYPE) &&
                   t[i + 1].code == '(') {
            i = t[i + 1].match;
        } else if (code == '<') {
            uint32_t close = front_angle_match(list, i);
            if (close != NO_TOKEN) i = close;
        } else if (code == KW_OPERATOR) {
            m->name = i++;
            if (t[i].code == '(' && t[t[i].match + 1].code == '(') i = t[i].match + 1; /* operator()(...) */
            while (i < list->count && t[i].code != '(' && t[i].code != ';' && t[i].code != '{') i++;
            m->open = i;
            return t[i].code == '(';
        } else if (code == '(') {
            m->name = i - 1;
            m->open = i;
            return i > m->start &&
                   (t[i - 1].kind == TOKEN_IDENTIFIER || t[i - 1].code == '>'); /* S<T>() too */
        }
    }
    return false;
}

/* Reads one member declaration; returns the token after it if it is a function, else 0. */
static uint32_t read_method(rewriter *r, method *m)
{
    const token_list *list = r->list;
    const token *t = list->tokens;
    if (!find_parameters(list, m)) return 0;
    m->close = t[m->open].match;
    m->body = NO_TOKEN;
    m->qualifiers_end = m->close;
    uint32_t i = m->close + 1;
    for (; i < list->count; i++) {
        if (t[i].code == KW_CONST || t[i].code == KW_VOLATILE) m->qualifiers_end = i;
        if (t[i].code == KW_CONST)
            m->is_const = true;
        else if (t[i].code == KW_VOLATILE)
            m->is_volatile = true;
        else if (is_space(&t[i])) {
            m->qualified = true;
            front_edit_delete(&r->edits, i);
        } else if (front_is_attribute(list, i))
            i = t[i].match;
        else if (t[i].code == KW_NOEXCEPT && t[i + 1].code == '(')
            i = t[i + 1].match;
        else if (t[i].code != KW_NOEXCEPT && t[i].code != KW_OVERRIDE)
            break;
    }
    while (i < list->count && t[i].code != ':' && t[i].code != '{' && t[i].code != ';' && t[i].code != '}')
        i++;
    if (i >= list->count || t[i].code == '}') return 0;
    if (t[i].code != ';') m->body = i;
    if (t[i].code == ':') i = skip_initialisers(list, i);
    m->last = t[i].code == '{' ? t[i].match : i;
    if (t[i].code == '{' && t[m->last + 1].code == ';') m->last++;
    return m->last + 1;
}

static void hash_tokens(const token_list *list, uint32_t first, uint32_t end, bool spaces, uint64_t *hash)
{
    for (uint32_t i = first; i < end; i++) {
        if (!spaces && is_space(&list->tokens[i])) continue;
        const char *p = token_text(list, i);
        for (uint32_t k = 0; k < list->tokens[i].length; k++)
            *hash = (*hash ^ (unsigned char)p[k]) * 0x100000001b3u;
        *hash = (*hash ^ 0xff) * 0x100000001b3u;
    }
}

/* Are the tokens the same, address spaces (if `spaces`: only outside the comparison) left out? */
static bool same_tokens(
    const token_list *list, uint32_t a, uint32_t a_end, uint32_t b, uint32_t b_end, bool spaces)
{
    const token *t = list->tokens;
    for (;; a++, b++) {
        while (!spaces && a < a_end && is_space(&t[a])) a++;
        while (!spaces && b < b_end && is_space(&t[b])) b++;
        if (a >= a_end || b >= b_end) return a >= a_end && b >= b_end;
        if (!tokens_equal(list, a, b)) return false;
    }
}

static bool same_signature(const token_list *list, const method *a, const method *b)
{
    return a->class_brace == b->class_brace && a->hash == b->hash && a->is_const == b->is_const &&
           a->is_volatile == b->is_volatile &&
           same_tokens(list, a->start, a->open, b->start, b->open, false) &&
           same_tokens(list, a->open, a->close + 1, b->open, b->close + 1, true);
}

static bool add(method_list *list, const method *m)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 256;
        method *grown = realloc(list->methods, room * sizeof *grown);
        if (!grown) return false;
        list->methods = grown;
        list->room = room;
    }
    list->methods[list->count++] = *m;
    return true;
}

/* -Wmetal-addr-spaces wants to know the members whose `this` has no address space. */
static bool note_unannotated(rewriter *r, const method *m)
{
    const token_list *list = r->list;
    if (m->qualified || !r->unit->options.address_space_warnings) return true;
    for (uint32_t i = m->start; i < m->open; i++)
        if (list->tokens[i].code == KW_STATIC || token_is(list, i, "friend")) return true;
    front_unannotated *grown = realloc(r->unannotated, (r->unannotated_count + 1) * sizeof *grown);
    if (!grown) return false;
    r->unannotated = grown;
    r->unannotated[r->unannotated_count++] = (front_unannotated){m->name, m->qualifiers_end};
    return true;
}

static bool collect(rewriter *r, method_list *methods)
{
    const token_list *list = r->list;
    const token *t = list->tokens;
    for (uint32_t i = 0; i < list->count; i++) {
        if (t[i].scope != SCOPE_CLASS || t[i].bracket != '{' || t[i].code == '{' || t[i].head != i) continue;
        method m = {.class_brace = t[i].brace, .start = i, .hash = 0xcbf29ce484222325u};
        while ((t[m.start].code == KW_PUBLIC || t[m.start].code == KW_PRIVATE ||
                   t[m.start].code == KW_PROTECTED) &&
               t[m.start + 1].code == ':')
            m.start += 2;
        if (!read_method(r, &m)) continue;
        if (!note_unannotated(r, &m)) return false;
        hash_tokens(list, m.start, m.open, false, &m.hash);
        hash_tokens(list, m.open, m.close + 1, true, &m.hash);
        if (!add(methods, &m)) return false;
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    const method *x = a, *y = b;
    if (x->class_brace != y->class_brace) return x->class_brace < y->class_brace ? -1 : 1;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* The name of the class whose '{' this is: the token after struct or class, or NO_TOKEN. */
static uint32_t class_name(const token_list *list, uint32_t brace)
{
    const token *t = list->tokens;
    for (uint32_t i = t[brace].head; i < brace; i++)
        if ((t[i].code == KW_STRUCT || t[i].code == KW_CLASS) && t[i + 1].kind == TOKEN_IDENTIFIER) return i + 1;
    return NO_TOKEN;
}

/* The name of parameter i is the last token before the ',' or ')' at `end`. */
static bool is_parameter(const token_list *list, uint32_t end, uint32_t name)
{
    return list->tokens[end - 1].kind == TOKEN_IDENTIFIER && tokens_equal(list, end - 1, name);
}

/* Is the body `{ return CLASS(*this) ...; }` with the same member applied to the same arguments? */
static bool delegates(const token_list *list, const method *m)
{
    const token *t = list->tokens;
    uint32_t class = class_name(list, m->class_brace), i = m->body;
    if (i == NO_TOKEN || t[i].code != '{' || t[i + 1].code != KW_RETURN || class == NO_TOKEN) return false;
    bool operators = t[m->name].code == KW_OPERATOR, unary = m->close == m->open + 1;
    uint32_t sign = m->name + 1;
    i += 2;
    if (operators && (t[sign].kind != TOKEN_PUNCTUATOR || sign + 1 != m->open)) return false;
    if (operators && unary && !tokens_equal(list, i++, sign)) return false;
    if (!tokens_equal(list, i, class) || t[i + 1].code != '(' || t[i + 2].code != '*' || !token_is(list, i + 3, "this") ||
        t[i + 4].code != ')')
        return false;
    i += 5;
    if (operators) {
        if (unary) return t[i].code == ';' && i + 1 == t[m->body].match;
        return tokens_equal(list, i, sign) && is_parameter(list, m->close, i + 1) && t[i + 2].code == ';' &&
               i + 3 == t[m->body].match;
    }
    if (t[i].code != '.' || !tokens_equal(list, i + 1, m->name) || t[i + 2].code != '(') return false;
    i += 3;
    for (uint32_t p = m->open + 1; p <= m->close && !unary; p++) { /* an argument for each parameter, in order */
        if (p < m->close && t[p].code != ',') continue;
        if (!is_parameter(list, p, i) || t[i + 1].code != (p < m->close ? ',' : ')')) return false;
        i += 1 + (p < m->close);
    }
    return t[i].code == ')' && t[i + 1].code == ';' && i + 2 == t[m->body].match;
}

/* Drops `other`, which says the same as `first`; or the one that delegates to the other. */
static tombac_status drop(rewriter *r, const method *first, const method *other)
{
    const token_list *list = r->list;
    if (delegates(list, first) != delegates(list, other)) {
        const method *gone = delegates(list, first) ? first : other;
        front_edit_blank(&r->edits, gone->start, gone->last);
        return TOMBAC_OK;
    }
    bool bodies = first->body != NO_TOKEN && other->body != NO_TOKEN;
    if (bodies && !same_tokens(list, first->body, first->last, other->body, other->last, false))
        return front_fail_at(r->unit, other->name, TOMBAC_ERROR_UNSUPPORTED, r->error,
            "member function '%.*s' does different things in different address spaces, which is not "
            "supported",
            (int)list->tokens[other->name].length, token_text(list, other->name));
    front_edit_blank(&r->edits, other->start, other->last);
    return TOMBAC_OK;
}

/* Qualifiers outside classes: of members defined out of line, and of lambdas. */
static void strip_outside(rewriter *r)
{
    const token *t = r->list->tokens;
    for (uint32_t i = 1; i < r->list->count; i++) {
        if (!is_space(&t[i]) || !front_is_free(r, i)) continue;
        uint32_t before = t[i - 1].code == KW_CONST && i > 1 ? t[i - 2].code : t[i - 1].code,
                 after = t[i + 1].code;
        bool ends = after == '{' || after == ';' || after == ':' || after == '=' ||
                    after == PUNCT2('-', '>') || after == KW_CONST || after == KW_NOEXCEPT;
        if (before == ')' && ends) front_edit_delete(&r->edits, i);
    }
}

tombac_status front_rewrite_methods(rewriter *r)
{
    method_list methods = {0};
    tombac_status status = TOMBAC_OK;
    if (!collect(r, &methods)) status = tb_fail_memory(r->error);
    if (methods.count) qsort(methods.methods, methods.count, sizeof *methods.methods, compare);
    for (size_t i = 0; status == TOMBAC_OK && i + 1 < methods.count; i++) {
        const method *first = &methods.methods[i];
        if (r->edits.edits[first->start].blank) continue;
        for (size_t k = i + 1;
            status == TOMBAC_OK && k < methods.count && methods.methods[k].hash == first->hash; k++) {
            const method *other = &methods.methods[k];
            if (!same_signature(r->list, first, other)) break;
            if (r->edits.edits[other->start].blank) continue;
            if (first->qualified || other->qualified) status = drop(r, first, other);
            if (r->edits.edits[first->start].blank) break; /* the others are compared with those that stay */
        }
    }
    free(methods.methods);
    if (status == TOMBAC_OK) strip_outside(r);
    return status;
}
