/* From C to Metal source, token by token: spellings that differ, and what Metal cannot say, refused by name.
 *
 * Metal is C++: names that are words of C++ or Metal get a tail; a vector's initialiser becomes a
 * constructor, because a lone element in braces means "this one, then zeros" in C and "this one everywhere"
 * in Metal. */
#include "compiler/front/c_msl.h"

/* Words of C++ and Metal that are names in C. */
static bool is_reserved(const token_list *list, uint32_t i)
{
    static const char *const words[] = {"and", "and_eq", "bitand", "bitor", "catch", "class", "co_await",
        "compl", "constant", "constinit", "decltype", "delete", "device", "dynamic_cast", "explicit",
        "export", "fragment", "friend", "half8", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
        "operator", "or", "or_eq", "private", "protected", "public", "ray_data", "reinterpret_cast",
        "sampler", "static_cast", "template", "texture", "this", "thread", "throw", "try", "typeid",
        "typename", "using", "vec", "vertex", "virtual", "wchar_t", "xor", "xor_eq", "metal", "matrix",
        "atomic", "array"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (token_is(list, i, words[k])) return true;
    return false;
}

static const struct {
    const char *c, *metal;
} spellings[] = {
    {"_Bool", "bool"},
    {"_Float16", "half"},
    {"_Static_assert", "static_assert"},
    {"_Alignas", "alignas"},
    {"_Alignof", "alignof"},
    {"typeof", "__typeof__"},
    {"printf", "os_log_default.log"},
    {"restrict", ""},
    {"__restrict", ""},
    {"__restrict__", ""},
};

/* Functions that Metal's library has not. */
static const char *const absent[] = {"acospi", "asinpi", "atanpi", "cbrt", "expm1", "log1p", "erf", "erfc",
    "lgamma", "tgamma", "hypot", "remainder"};

static bool is_absent(const token_list *list, uint32_t i)
{
    const char *p = token_text(list, i);
    size_t length = list->tokens[i].length;
    if (length > 5 && !memcmp(p, "fast_", 5))
        p += 5, length -= 5;
    else if (length > 8 && !memcmp(p, "precise_", 8))
        p += 8, length -= 8;
    for (size_t k = 0; k < sizeof absent / sizeof *absent; k++) {
        size_t n = strlen(absent[k]);
        bool same = length >= n && !memcmp(p, absent[k], n);
        if (same && (length == n || (length == n + 1 && p[n] == 'f'))) return true;
    }
    return false;
}

/* The number of elements of a vector type's name (float4: 4), else 0. */
static unsigned vector_length(const token_list *list, uint32_t i)
{
    uint32_t length = list->tokens[i].length;
    char name[16];
    if (list->tokens[i].kind != TOKEN_IDENTIFIER || length >= sizeof name) return 0;
    memcpy(name, token_text(list, i), length);
    name[length] = 0;
    uint32_t n = 0;
    return front_scalar_type(name, &n) != TOMBAC_TYPE_OTHER && n > 1 ? n : 0;
}

static unsigned count_elements(const token *t, uint32_t open)
{
    unsigned n = t[open].match > open + 1;
    for (uint32_t i = open + 1; i < t[open].match; i++) {
        if (t[i].code == ',' && i + 1 < t[open].match) n++;
        if (t[i].code == '(' || t[i].code == '[' || t[i].code == '{') i = t[i].match;
    }
    return n;
}

/* {a, b} -> (a, b, 0, 0) of a vector type with `length` elements; `before` goes in front. */
static tombac_status write_vector(msl_writer *w, uint32_t open, unsigned length, const char *before)
{
    const token *t = w->list->tokens;
    unsigned given = count_elements(t, open);
    if (given > length || t[open + 1].code == '.' || t[open + 1].code == '[')
        return msl_refuse(
            w, open, "an initialiser of a vector with designators or too many elements is not supported");
    tb_text text = {0};
    tb_text_printf(&text, "%s(", before);
    front_edit_replace(&w->r.edits, open, tb_text_string(&text));
    tb_text_free(&text);
    uint32_t close = t[open].match;
    if (given && t[close - 1].code == ',') front_edit_delete(&w->r.edits, close - 1);
    for (unsigned i = given; i < length; i++) tb_text_printf(&text, "%s0", i ? ", " : "");
    tb_text_puts(&text, ")");
    front_edit_replace(&w->r.edits, close, tb_text_string(&text));
    w->r.edits.pool.bad |= text.bad;
    tb_text_free(&text);
    return TOMBAC_OK;
}

/* The vector type in the head of the declaration that initialises at i (`=`), or NO_TOKEN; arrays have none.
 */
static uint32_t declared_vector(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    if (i == 0 || t[i - 1].code == ']') return NO_TOKEN;
    for (uint32_t k = t[i].head; k < i; k++)
        if (vector_length(list, k) && t[k + 1].code != '*') return k;
    return NO_TOKEN;
}

/* A lone element that is not 0 in inner braces, and a structure with vectors that is filled without braces of
 * their own, could be read differently: refused. */
static tombac_status check_list(msl_writer *w, uint32_t open)
{
    const token *t = w->list->tokens;
    uint32_t before = open ? t[open - 1].code : 0;
    bool inner =
        before == '{' || before == ',' || (before == '=' && open > 1 && t[open - 2].kind == TOKEN_IDENTIFIER);
    bool lone = t[open].match == open + 2 && !token_is(w->list, open + 1, "0");
    if (inner && lone)
        return msl_refuse(w, open,
            "a single element in braces could mean a vector's first or all of its elements: "
            "this initialiser is not supported; write every element");
    return TOMBAC_OK;
}

static bool has_vector_member(const token_list *list, uint32_t open)
{
    for (uint32_t i = open + 1; i < list->tokens[open].match; i++)
        if (vector_length(list, i)) return true;
    return false;
}

/* Is the type of the declaration or compound literal before the '{' a structure of the file with vectors in
 * it? */
static bool is_structure_with_vectors(const token_list *list, uint32_t first, uint32_t end)
{
    const token *t = list->tokens;
    for (uint32_t k = first; k < end; k++) {
        if (t[k].kind != TOKEN_IDENTIFIER || t[k].code) continue;
        for (uint32_t i = 0; i + 1 < list->count; i++) {
            if (t[i].code != '{' || t[i].scope != SCOPE_CLASS || !has_vector_member(list, i)) continue;
            bool tag = i > 0 && tokens_equal(list, i - 1, k);
            bool name = tokens_equal(list, t[i].match + 1, k);
            if (tag || name) return true;
        }
    }
    return false;
}

static tombac_status write_braces(msl_writer *w, uint32_t i)
{
    const token *t = w->list->tokens;
    uint32_t before = i ? t[i - 1].code : 0, first = NO_TOKEN, end = i;
    if (before == ')' && t[i - 1].match + 2 == i - 1 && vector_length(w->list, i - 2)) { /* (float4){...} */
        unsigned length = vector_length(w->list, i - 2);
        front_edit_delete(&w->r.edits, t[i - 1].match);
        front_edit_delete(&w->r.edits, i - 1);
        return write_vector(w, i, length, "");
    }
    if (before == '=') {
        uint32_t type = declared_vector(w->list, i - 1);
        if (type != NO_TOKEN) {
            tb_text name = {0};
            tb_text_printf(&name, "%.*s", (int)t[type].length, token_text(w->list, type));
            tombac_status status = write_vector(w, i, vector_length(w->list, type), tb_text_string(&name));
            tb_text_free(&name);
            return status;
        }
        first = t[i - 1].head;
    } else if (before == ')') {
        first = t[i - 1].match + 1;
        end = i - 1;
    }
    bool list = before == '=' || before == ',' || before == '{' || t[i].scope == SCOPE_LIST;
    bool positional = t[i + 1].code != '.' && t[i + 1].code != '{' && t[i].match > i + 1 &&
                      !(t[i].match == i + 2 && token_is(w->list, i + 1, "0"));
    if (first != NO_TOKEN && t[i].scope == SCOPE_LIST && positional &&
        is_structure_with_vectors(w->list, first, end))
        return msl_refuse(w, i,
            "a structure with vectors that is initialised without naming its members (.member = "
            "...) is not supported");
    return list && t[i].scope == SCOPE_LIST ? check_list(w, i) : TOMBAC_OK;
}

/* Program-scope constants live in constant memory: const -> constant, static goes. */
static tombac_status write_variable(msl_writer *w, uint32_t i)
{
    const token *t = w->list->tokens;
    uint32_t k = t[i].head, end = i;
    while (t[end].code != ';' && t[end].code != '=' && end < w->list->count)
        end = t[end].match != NO_TOKEN && t[end].match > end ? t[end].match + 1 : end + 1;
    bool pointer = false, function = false, stored = t[end].code == '=';
    for (uint32_t j = k; j < end; j++) {
        pointer |= t[j].code == '*';
        function |= t[j].code == '(' && t[j].bracket == 0;
    }
    if (function || !stored || t[k].code == KW_TYPEDEF) return TOMBAC_OK;
    if (pointer) return msl_refuse(w, i, "a pointer as a variable of the whole program is not supported");
    for (uint32_t j = k; j < i; j++)
        if (t[j].code == KW_STATIC) front_edit_delete(&w->r.edits, j);
    if (front_is_free(&w->r, i)) front_edit_replace(&w->r.edits, i, "constant");
    return TOMBAC_OK;
}

static tombac_status write_threadgroup(msl_writer *w, uint32_t i)
{
    const token *t = w->list->tokens;
    if (!front_c_declares_threadgroup(w->list, i)) {
        front_edit_delete(&w->r.edits, i);
        return TOMBAC_OK;
    }
    bool in_kernel = false;
    for (size_t k = 0; k < w->r.unit->site_count; k++) {
        const kernel_site *site = &w->r.unit->sites[k];
        in_kernel |= site->body != NO_TOKEN && i > site->body && i < site->last;
    }
    if (!in_kernel) return msl_refuse(w, i, "a threadgroup variable outside of a kernel is not supported");
    if (i > 0 && t[i - 1].code == KW_STATIC) front_edit_delete(&w->r.edits, i - 1);
    return TOMBAC_OK;
}

/* Pointers have address spaces in Metal, so a pointer type could match where it does not in C, or the
 * reverse. */
static tombac_status check_generic(msl_writer *w, uint32_t i)
{
    const token *t = w->list->tokens;
    for (uint32_t k = i + 2; t[i + 1].code == '(' && k < t[i + 1].match; k++) {
        if (t[k].code == ':' && t[k - 1].code == '*')
            return msl_refuse(w, k - 1, "_Generic over pointer types is not supported");
        if (t[k].code == '(' || t[k].code == '[' || t[k].code == '{') k = t[k].match;
    }
    return TOMBAC_OK;
}

static void replace(msl_writer *w, uint32_t i, const char *text)
{
    if (*text)
        front_edit_replace(&w->r.edits, i, text);
    else
        front_edit_delete(&w->r.edits, i);
}

/* What Metal has had since metal3.2: messages, fences, and with them all orders of atomic operations. */
static tombac_status check_version(msl_writer *w, uint32_t i)
{
    const token *t = w->list->tokens;
    const char *name = token_text(w->list, i);
    bool atomic = t[i].length > 7 && !memcmp(name, "atomic_", 7) && !token_is(w->list, i, "atomic_init") &&
                  (t[i].length < 9 || memcmp(name + t[i].length - 9, "_explicit", 9) != 0);
    if (w->version >= MSL_FENCES ||
        !(atomic || token_is(w->list, i, "memory_fence") || token_is(w->list, i, "printf")))
        return TOMBAC_OK;
    return msl_refuse(w, i, "function '%.*s' is not supported before metal3.2%s", (int)t[i].length, name,
        atomic ? ", which has no order of atomic operations but memory_order_relaxed" : "");
}

static tombac_status write_word(msl_writer *w, uint32_t i)
{
    const token *t = w->list->tokens;
    if (!front_is_free(&w->r, i)) return TOMBAC_OK;
    if (front_c_is_constant(w->list, i)) {
        front_c_write_constant(&w->r.edits, w->list, i);
        return TOMBAC_OK;
    }
    if (t[i].code == KW_THREADGROUP) return write_threadgroup(w, i);
    if (t[i].code == KW_CONST && t[i].brace == NO_TOKEN && !t[i].bracket) return write_variable(w, i);
    if (t[i + 1].code == '(' && front_c_is_use(w->list, i) && !front_c_function(w->list, &w->functions, i)) {
        tombac_status status = check_version(w, i);
        if (status != TOMBAC_OK) return status;
        if (is_absent(w->list, i))
            return msl_refuse(w, i, "function '%.*s' is not supported: Metal's library has none like it",
                (int)t[i].length, token_text(w->list, i));
        if (token_is(w->list, i, "atomic_thread_fence")) {
            front_edit_after(&w->r.edits, i + 1, "mem_flags(3), ");
            return TOMBAC_OK;
        }
        if (token_is(w->list, i, "_Atomic")) {
            front_edit_replace(&w->r.edits, i, "metal::atomic");
            front_edit_replace(&w->r.edits, i + 1, "<");
            front_edit_replace(&w->r.edits, t[i + 1].match, ">");
            return TOMBAC_OK;
        }
    }
    if (token_is(w->list, i, "_Generic")) return check_generic(w, i);
    if (token_is(w->list, i, "_Atomic"))
        return msl_refuse(w, i, "'_Atomic' as a qualifier is not supported; write atomic_uint");
    for (size_t k = 0; k < sizeof spellings / sizeof *spellings; k++)
        if (token_is(w->list, i, spellings[k].c)) replace(w, i, spellings[k].metal);
    if (is_reserved(w->list, i)) {
        tb_text text = {0};
        tb_text_printf(&text, "%.*s_c", (int)t[i].length, token_text(w->list, i));
        front_edit_replace(&w->r.edits, i, tb_text_string(&text));
        w->r.edits.pool.bad |= text.bad;
        tb_text_free(&text);
    }
    return TOMBAC_OK;
}

tombac_status msl_write_words(msl_writer *w)
{
    tombac_status status = TOMBAC_OK;
    for (uint32_t i = 0; i < w->list->count && status == TOMBAC_OK; i++) {
        if (w->list->tokens[i].kind == TOKEN_IDENTIFIER)
            status = write_word(w, i);
        else if (w->list->tokens[i].code == '{')
            status = write_braces(w, i);
    }
    return status;
}
