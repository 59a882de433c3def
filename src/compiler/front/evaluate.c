/* Integer constant expressions in attribute arguments: [[buffer(BASE + 1)]].
 *
 * Precedence climbing over the tokens. Names are enumerators and integer constants of program scope; they are
 * collected once, when the first name is met. Anything else (a template parameter, sizeof) is "not a constant
 * here". */
#include "compiler/front/declare.h"

#include <errno.h>
#include <stdlib.h>

enum { MAX_DEPTH = 64, MAX_NAMES = 65536 };

typedef struct enumerator_table {
    struct {
        uint32_t name; /* token */
        int64_t value;
    } *entries;
    size_t count, room;
} enumerator_table;

typedef struct expression {
    front_unit *unit;
    uint32_t at, end;
    int depth;
    bool bad;
} expression;

static int64_t binary(expression *e, int minimum);
static bool name_value(front_unit *unit, uint32_t name, int64_t *value);

static int64_t refuse(expression *e)
{
    e->bad = true;
    return 0;
}

static int64_t number(expression *e)
{
    const token *t = &e->unit->list.tokens[e->at];
    char digits[40];
    size_t n = 0;
    for (uint32_t i = 0; i < t->length; i++) {
        char c = token_text(&e->unit->list, e->at)[i];
        if (c == '\'') continue;
        if (n + 1 >= sizeof digits) return refuse(e);
        digits[n++] = c;
    }
    digits[n] = 0;
    e->at++;
    bool binary_digits = digits[0] == '0' && (digits[1] == 'b' || digits[1] == 'B');
    char *after;
    errno = 0;
    unsigned long long value = strtoull(binary_digits ? digits + 2 : digits, &after, binary_digits ? 2 : 0);
    if (errno || after == digits || after[strspn(after, "uUlL")]) return refuse(e);
    return (int64_t)value;
}

static int64_t primary(expression *e)
{
    const token *t = e->unit->list.tokens;
    if (e->at >= e->end || e->depth >= MAX_DEPTH) return refuse(e);
    e->depth++;
    uint32_t code = t[e->at].code;
    int64_t value = 0;
    if (t[e->at].kind == TOKEN_NUMBER) {
        value = number(e);
    } else if (code == '(') {
        uint32_t close = t[e->at].match, end = e->end;
        e->at++;
        e->end = close;
        value = binary(e, 0);
        if (e->at != close) refuse(e);
        e->at = close + 1;
        e->end = end;
    } else if (code == '-' || code == '+' || code == '~' || code == '!') {
        e->at++;
        value = primary(e);
        value = code == '-'   ? (int64_t)(0 - (uint64_t)value)
                : code == '~' ? ~value
                : code == '!' ? !value
                              : value;
    } else if (t[e->at].kind == TOKEN_IDENTIFIER) {
        while (e->at + 2 < e->end && t[e->at + 1].code == PUNCT2(':', ':')) e->at += 2;
        if (!name_value(e->unit, e->at, &value)) refuse(e);
        e->at++;
    } else {
        refuse(e);
    }
    e->depth--;
    return value;
}

static int precedence(uint32_t code)
{
    switch (code) {
    case PUNCT2('|', '|'): return 1;
    case PUNCT2('&', '&'): return 2;
    case '|': return 3;
    case '^': return 4;
    case '&': return 5;
    case PUNCT2('=', '='):
    case PUNCT2('!', '='): return 6;
    case PUNCT2('<', '<'): return 8;
    case '+':
    case '-': return 9;
    case '*':
    case '/':
    case '%': return 10;
    default: return -1;
    }
}

static int64_t apply(expression *e, uint32_t code, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (code) {
    case PUNCT2('|', '|'): return a || b;
    case PUNCT2('&', '&'): return a && b;
    case '|': return a | b;
    case '^': return a ^ b;
    case '&': return a & b;
    case PUNCT2('=', '='): return a == b;
    case PUNCT2('!', '='): return a != b;
    case PUNCT2('<', '<'): return y < 64 ? (int64_t)(x << y) : refuse(e);
    case '+': return (int64_t)(x + y);
    case '-': return (int64_t)(x - y);
    case '*': return (int64_t)(x * y);
    default:
        if (b == 0 || (b == -1 && a == INT64_MIN)) return refuse(e);
        return code == '/' ? a / b : a % b;
    }
}

static int64_t binary(expression *e, int minimum)
{
    int64_t left = primary(e);
    while (!e->bad && e->at < e->end) {
        uint32_t code = e->unit->list.tokens[e->at].code;
        int p = precedence(code);
        if (p < 0 || p < minimum) break;
        e->at++;
        left = apply(e, code, left, binary(e, p + 1));
    }
    return left;
}

static bool add_name(enumerator_table *table, uint32_t name, int64_t value)
{
    if (table->count == table->room) {
        size_t room = table->room ? table->room * 2 : 64;
        void *grown = room <= MAX_NAMES ? realloc(table->entries, room * sizeof *table->entries) : NULL;
        if (!grown) return false;
        table->entries = grown;
        table->room = room;
    }
    table->entries[table->count].name = name;
    table->entries[table->count++].value = value;
    return true;
}

static bool evaluate(front_unit *unit, uint32_t first, uint32_t end, int64_t *value)
{
    expression e = {.unit = unit, .at = first, .end = end};
    *value = binary(&e, 0);
    return !e.bad && e.at == end;
}

/* The enumerators between the braces at `open`. */
static void add_enumerators(front_unit *unit, uint32_t open)
{
    const token *t = unit->list.tokens;
    int64_t value = 0;
    for (uint32_t i = open + 1; i < t[open].match; i++) {
        uint32_t name = i++;
        if (t[name].kind != TOKEN_IDENTIFIER) return;
        uint32_t expression_start = i + 1;
        bool given = t[i].code == '=';
        while (i < t[open].match && t[i].code != ',')
            i = t[i].match > i && t[i].match != NO_TOKEN ? t[i].match + 1 : i + 1;
        if (given && !evaluate(unit, expression_start, i, &value)) return;
        if (!add_name(unit->enumerators, name, value)) return;
        value = (int64_t)((uint64_t)value + 1);
    }
}

/* `const int NAME = expression;` of program scope; i is the '='. */
static void add_constant(front_unit *unit, uint32_t i)
{
    const token *t = unit->list.tokens;
    bool constant = false;
    if (i == 0 || t[i - 1].kind != TOKEN_IDENTIFIER || i - t[i].head > 16) return;
    for (uint32_t j = t[i].head; j < i; j++)
        constant |= t[j].code == KW_CONST || t[j].code == KW_CONSTEXPR || t[j].code == KW_CONSTANT;
    uint32_t end = i + 1;
    while (end < unit->list.count && end - i < 64 && t[end].code != ';' && t[end].code != ',') end++;
    int64_t value;
    if (constant && evaluate(unit, i + 1, end, &value)) add_name(unit->enumerators, i - 1, value);
}

static bool name_value(front_unit *unit, uint32_t name, int64_t *value)
{
    const token_list *list = &unit->list;
    if (!unit->enumerators) {
        unit->enumerators = calloc(1, sizeof *unit->enumerators);
        if (!unit->enumerators) return false;
        for (uint32_t i = 0; i < list->count; i++) {
            if (list->tokens[i].code == '{' && list->tokens[i].scope == SCOPE_ENUM)
                add_enumerators(unit, i);
            else if (list->tokens[i].code == '=' && list->tokens[i].scope == SCOPE_NAMESPACE &&
                     list->tokens[i].bracket != '(')
                add_constant(unit, i);
        }
    }
    for (size_t i = unit->enumerators->count; i-- > 0;)
        if (tokens_equal(list, unit->enumerators->entries[i].name, name)) {
            *value = unit->enumerators->entries[i].value;
            return true;
        }
    return false;
}

bool front_evaluate(front_unit *unit, uint32_t first, uint32_t end, int64_t *value)
{
    return evaluate(unit, first, end, value);
}

void front_enumerators_free(front_unit *unit)
{
    if (unit->enumerators) free(unit->enumerators->entries);
    free(unit->enumerators);
    unit->enumerators = NULL;
}
