/* What C has and kernels have not: refused by name and place, before clang sees it.
 *
 * Types and statements are words. Functions need a table: recursion is a cycle of calls, a call of a function
 * that is declared but not defined is a call of the host, a function's name that is not called is its
 * address. A local variable of a function's name hides it for the whole function that declares it. */
#include "compiler/front/c.h"

#include <stdlib.h>

/* ---- Functions ---- */

static int compare_text(const token_list *list, uint32_t a, uint32_t b)
{
    uint32_t m = list->tokens[a].length, n = list->tokens[b].length;
    int order = memcmp(token_text(list, a), token_text(list, b), m < n ? m : n);
    return order ? order : m < n ? -1 : m > n;
}

static int compare_functions(const void *a, const void *b, void *list)
{
    const c_function *f = a, *g = b;
    int order = compare_text(list, f->name, g->name);
    if (order) return order;
    if ((f->body == NO_TOKEN) != (g->body == NO_TOKEN)) return f->body == NO_TOKEN ? 1 : -1;
    return f->name < g->name ? -1 : f->name > g->name;
}

/* Words before a '(' at file scope that name no function. */
static bool is_operator_word(const token_list *list, uint32_t i)
{
    static const char *const words[] = {"static_assert", "_Static_assert", "typeof", "__typeof__",
        "typeof_unqual", "alignas", "_Alignas", "_Atomic", "slice", "slice_const", "declare_slice",
        "__attribute__", "requires", "threads_required", "threads_at_most", "math_mode", "function_constant"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (token_is(list, i, words[k])) return true;
    return false;
}

bool front_c_functions(const token_list *list, c_functions *out)
{
    const token *t = list->tokens;
    size_t room = 0;
    *out = (c_functions){0};
    for (uint32_t i = 0; i + 1 < list->count; i++) {
        if (t[i].brace != NO_TOKEN || t[i].bracket || t[i].kind != TOKEN_IDENTIFIER || t[i + 1].code != '(' ||
            is_operator_word(list, i))
            continue;
        uint32_t next = t[i + 1].match + 1;
        if (i > 0 && (t[i - 1].code == '=' || t[i - 1].code == ',')) continue; /* an initialiser */
        if (out->count == room) {
            room = room ? room * 2 : 64;
            c_function *grown = realloc(out->items, room * sizeof *grown);
            if (!grown) return false;
            out->items = grown;
        }
        out->items[out->count++] = (c_function){i, i + 1, t[next].code == '{' ? next : NO_TOKEN};
    }
    if (out->count) qsort_r(out->items, out->count, sizeof *out->items, compare_functions, (void *)list);
    return true;
}

const c_function *front_c_function(const token_list *list, const c_functions *functions, uint32_t name)
{
    size_t low = 0, high = functions->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_text(list, functions->items[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < functions->count && compare_text(list, functions->items[low].name, name) == 0;
    return found ? &functions->items[low] : NULL;
}

bool front_c_is_use(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    if (t[i].kind != TOKEN_IDENTIFIER || t[i].code || i == 0) return false;
    uint32_t before = t[i - 1].code;
    return before != '.' && before != PUNCT2('-', '>') && before != KW_STRUCT && before != KW_UNION &&
           before != KW_ENUM;
}

bool front_c_declares_variable(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    return i > 0 && t[i - 1].kind == TOKEN_IDENTIFIER && t[i - 1].code != KW_RETURN && t[i - 1].code != KW_ELSE &&
           t[i - 1].code != KW_DO && !token_is(list, i - 1, "case") && !token_is(list, i - 1, "sizeof");
}

/* Does [first, last] declare a variable of that name: a word or '*' that can end a type stands before it? */
static bool declares(const token_list *list, uint32_t first, uint32_t last, uint32_t name)
{
    for (uint32_t i = first + 1; i <= last; i++)
        if (tokens_equal(list, i, name) && list->tokens[i + 1].code != '(' && front_c_declares_variable(list, i))
            return true;
    return false;
}

/* ---- Words ---- */

static const struct {
    const char *word, *message;
} refused[] = {
    {"double", "type 'double' is not supported in kernels: use float"},
    {"long double", "type 'long double' is not supported in kernels: use float"},
    {"thread_local",
        "'thread_local' is not supported in kernels: a variable in a function is each thread's own"},
    {"_Thread_local",
        "'_Thread_local' is not supported in kernels: a variable in a function is each thread's own"},
    {"__thread", "'__thread' is not supported in kernels: a variable in a function is each thread's own"},
    {"goto", "'goto' is not supported in kernels"},
    {"asm", "'asm' is not supported in kernels"},
    {"__asm__", "'__asm__' is not supported in kernels"},
    {"_Complex", "complex numbers are not supported in kernels"},
    {"_Decimal32", "decimal numbers are not supported in kernels"},
    {"_Decimal64", "decimal numbers are not supported in kernels"},
    {"_Decimal128", "decimal numbers are not supported in kernels"},
    {"_BitInt", "'_BitInt' is not supported in kernels"},
    {"__int128", "'__int128' is not supported in kernels"},
    {"__float128", "'__float128' is not supported in kernels"},
    {"va_list", "'va_list' is not supported in kernels"},
    {"va_start", "'va_start' is not supported in kernels"},
    {"alloca", "'alloca' is not supported in kernels"},
    {"malloc", "'malloc' is not supported in kernels: there is no heap on a device"},
    {"calloc", "'calloc' is not supported in kernels: there is no heap on a device"},
    {"realloc", "'realloc' is not supported in kernels: there is no heap on a device"},
    {"free", "'free' is not supported in kernels: there is no heap on a device"},
    {"setjmp", "'setjmp' is not supported in kernels"},
    {"longjmp", "'longjmp' is not supported in kernels"},
};

static const char *refused_word(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        const char *word = refused[k].word;
        if (!strcmp(word, "long double")) {
            if (token_is(list, i, "long") && token_is(list, i + 1, "double")) return refused[k].message;
            continue;
        }
        if (!token_is(list, i, word)) continue;
        bool call = strstr(refused[k].message, "heap") || !strcmp(word, "alloca") || strstr(word, "jmp");
        bool member = i > 0 && (t[i - 1].code == '.' || t[i - 1].code == PUNCT2('-', '>'));
        if (call && (t[i + 1].code != '(' || member)) continue;
        return refused[k].message;
    }
    return NULL;
}

/* A floating constant without f: it is a double, whatever it is used for. */
static bool is_double(const token_list *list, uint32_t i)
{
    const token *t = &list->tokens[i];
    const char *p = token_text(list, i);
    bool hex = t->length > 1 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
    bool floating = false;
    for (uint32_t k = 0; k < t->length; k++)
        floating |= p[k] == '.' || (hex ? p[k] == 'p' || p[k] == 'P' : p[k] == 'e' || p[k] == 'E');
    if (!floating) return false;
    char last = p[t->length - 1];
    bool half =
        t->length > 3 && (!memcmp(p + t->length - 3, "f16", 3) || !memcmp(p + t->length - 3, "F16", 3));
    return !half && last != 'f' && last != 'F';
}

/* `...` behind a '(' or ',' and before ')': a variadic function. */
static bool is_variadic(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    return t[i].code == PUNCT3('.', '.', '.') && i > 0 && (t[i - 1].code == ',' || t[i - 1].code == '(') &&
           t[i + 1].code == ')';
}

/* (*name)( : a declarator or a call of a pointer to a function. */
static bool is_function_pointer(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    if (t[i].code != '(' || t[i + 1].code != '*' || t[i].match == NO_TOKEN) return false;
    uint32_t close = t[i].match;
    if (t[close + 1].code != '(') return false;
    for (uint32_t k = i + 1; k < close; k++) /* (*name), (*name[4]), (*), (* const name) */
        if (t[k].code != '*' && t[k].code != '[' && t[k].code != ']' && t[k].kind != TOKEN_IDENTIFIER &&
            t[k].kind != TOKEN_NUMBER)
            return false;
    if (i > 0 &&
        (token_is(list, i - 1, "if") || token_is(list, i - 1, "while") || token_is(list, i - 1, "switch")))
        return false;
    return i == 0 || t[i - 1].kind == TOKEN_IDENTIFIER || t[i - 1].code == '*' || t[i - 1].code == ';' ||
           t[i - 1].code == '{' || t[i - 1].code == '}' || t[i - 1].code == '=';
}

static tombac_status refuse_at(const front_unit *unit, uint32_t i, const char *message, tombac_error **error)
{
    return front_fail_at(unit, i, TOMBAC_ERROR_UNSUPPORTED, error, "%s", message);
}

static tombac_status check_words(const front_unit *unit, tombac_error **error)
{
    const token_list *list = &unit->list;
    const token *t = list->tokens;
    for (uint32_t i = 0; i < list->count; i++) {
        const char *message = t[i].kind == TOKEN_IDENTIFIER ? refused_word(list, i) : NULL;
        if (message) return refuse_at(unit, i, message, error);
        if (t[i].kind == TOKEN_NUMBER && is_double(list, i))
            return front_fail_at(unit, i, TOMBAC_ERROR_UNSUPPORTED, error,
                "the constant %.*s is a double, which is not supported in kernels: write %.*s%s",
                (int)t[i].length, token_text(list, i), (int)t[i].length, token_text(list, i), "f");
        if (is_variadic(list, i))
            return refuse_at(unit, i, "variable arguments are not supported in kernels", error);
        if (is_function_pointer(list, i))
            return refuse_at(unit, i, "a pointer to a function is not supported in kernels", error);
    }
    return TOMBAC_OK;
}

/* ---- Variables that outlive a function ---- */

/* The end of the declaration that begins at `head`: its ';', or '{' of a function's body. */
static uint32_t declaration_end(const token_list *list, uint32_t head)
{
    const token *t = list->tokens;
    uint32_t i = head;
    while (i < list->count && t[i].code != ';' && !(t[i].code == '{' && t[i].scope == SCOPE_FUNCTION))
        i = t[i].match != NO_TOKEN && t[i].match > i ? t[i].match + 1 : i + 1;
    return i;
}

/* The name of the variable that tokens [head, end) declare, unless it is constant or threadgroup memory. */
static uint32_t mutable_variable(const token_list *list, uint32_t head, uint32_t end)
{
    const token *t = list->tokens;
    uint32_t name = NO_TOKEN, words = 0;
    for (uint32_t i = head; i < end && t[i].code != '='; i++) {
        if (t[i].code == KW_CONST || t[i].code == KW_CONSTEXPR || t[i].code == KW_THREADGROUP ||
            t[i].code == KW_TYPEDEF)
            return NO_TOKEN;
        if (t[i].kind == TOKEN_IDENTIFIER &&
            t[i + 1].code == '(') { /* a function, or a word with an operand */
            if (!is_operator_word(list, i)) return NO_TOKEN;
            i = t[i + 1].match;
            words++;
        } else if (t[i].code == '(' || t[i].code == '[') {
            i = t[i].match;
        } else if (t[i].code == '{') {
            i = t[i].match;
            words++;
            name = NO_TOKEN;
        } else if (t[i].kind == TOKEN_IDENTIFIER) {
            words += t[i].code != KW_STRUCT && t[i].code != KW_UNION && t[i].code != KW_ENUM &&
                     t[i].code != KW_STATIC && t[i].code != KW_EXTERN && t[i].code != KW_INLINE;
            name = i;
        }
    }
    return words > 1 && name != NO_TOKEN && t[name].code == 0 ? name : NO_TOKEN;
}

static tombac_status check_variables(const front_unit *unit, tombac_error **error)
{
    const token_list *list = &unit->list;
    const token *t = list->tokens;
    for (uint32_t i = 0; i < list->count; i++) {
        bool outside = t[i].brace == NO_TOKEN && !t[i].bracket && t[i].head == i;
        bool lasting = t[i].code == KW_STATIC && t[i].scope == SCOPE_FUNCTION && t[i].brace != NO_TOKEN;
        if (!outside && !lasting) continue;
        uint32_t end = declaration_end(list, i), next = t[i].code == KW_EXTERN ? i + 1 : i;
        bool typed = front_c_is_constant(list, i) || token_is(list, i, "static_assert") || token_is(list, i, "_Static_assert");
        uint32_t name =
            typed || end >= list->count || t[end].code == '{' ? NO_TOKEN : mutable_variable(list, next, end);
        bool tag = name != NO_TOKEN && name == next + 1 &&
                   (t[next].code == KW_STRUCT || t[next].code == KW_UNION || t[next].code == KW_ENUM);
        if (name == NO_TOKEN || tag) continue;
        return front_fail_at(unit, name, TOMBAC_ERROR_UNSUPPORTED, error,
            "variable '%.*s' outlives the function and can change, which is not supported in kernels: make "
            "it const "
            "or threadgroup",
            (int)t[name].length, token_text(list, name));
    }
    return TOMBAC_OK;
}

/* ---- Calls ---- */

typedef struct graph {
    const front_unit *unit;
    const token_list *list;
    c_functions functions;
    uint8_t *state; /* per function: 0 new, 1 on the path, 2 done */
    tombac_error **error;
} graph;

static bool is_called(const token *t, uint32_t i)
{
    return t[i + 1].code == '(';
}

static tombac_status visit(graph *g, size_t index, unsigned depth);

static tombac_status check_use(graph *g, const c_function *caller, uint32_t i, unsigned depth)
{
    const token *t = g->list->tokens;
    const c_function *callee = front_c_function(g->list, &g->functions, i);
    int length = (int)t[i].length;
    const char *name = token_text(g->list, i);
    if (!callee || declares(g->list, caller->open, t[caller->body].match, i)) return TOMBAC_OK;
    if (!is_called(t, i))
        return front_fail_at(g->unit, i, TOMBAC_ERROR_UNSUPPORTED, g->error,
            "the address of function '%.*s' is taken; pointers to functions are not supported in kernels",
            length, name);
    if (callee->body == NO_TOKEN)
        return front_fail_at(g->unit, i, TOMBAC_ERROR_UNSUPPORTED, g->error,
            "function '%.*s' has no definition in this file; calling a function of the host is not supported "
            "in kernels",
            length, name);
    size_t index = (size_t)(callee - g->functions.items);
    if (g->state[index] == 1)
        return front_fail_at(g->unit, i, TOMBAC_ERROR_UNSUPPORTED, g->error,
            "this call of '%.*s' is recursive; recursion is not supported in kernels", length, name);
    return g->state[index] ? TOMBAC_OK : visit(g, index, depth + 1);
}

static tombac_status visit(graph *g, size_t index, unsigned depth)
{
    const c_function *f = &g->functions.items[index];
    if (f->body == NO_TOKEN) return TOMBAC_OK;
    if (depth > 1000)
        return refuse_at(g->unit, f->name, "functions call each other more than 1000 deep", g->error);
    g->state[index] = 1;
    tombac_status status = TOMBAC_OK;
    for (uint32_t i = f->body + 1; i < g->list->tokens[f->body].match && status == TOMBAC_OK; i++)
        if (front_c_is_use(g->list, i)) status = check_use(g, f, i, depth);
    g->state[index] = 2;
    return status;
}

static tombac_status check_calls(const front_unit *unit, tombac_error **error)
{
    graph g = {.unit = unit, .list = &unit->list, .error = error};
    tombac_status status = front_c_functions(g.list, &g.functions) ? TOMBAC_OK : tb_fail_memory(error);
    g.state = status == TOMBAC_OK ? calloc(g.functions.count + 1, 1) : NULL;
    if (status == TOMBAC_OK && !g.state) status = tb_fail_memory(error);
    for (size_t i = 0; i < g.functions.count && status == TOMBAC_OK; i++)
        if (!g.state[i]) status = visit(&g, i, 0);
    free(g.state);
    free(g.functions.items);
    return status;
}

tombac_status front_c_check(const front_unit *unit, tombac_error **error)
{
    tombac_status status = check_words(unit, error);
    if (status == TOMBAC_OK) status = check_variables(unit, error);
    if (status == TOMBAC_OK) status = front_c_check_constants(unit, error);
    return status == TOMBAC_OK ? check_calls(unit, error) : status;
}
