/* What C++ has and Metal's language does not: refused by name, because clang would accept it and the kernel
 * would then fail far from its cause, or, with a variable that lives from launch to launch, compute something
 * else. Source: "Metal Shading Language Specification", 1.5.4 (restrictions) and 4 (address spaces).
 *
 * All is read off the tokens. A variable at program scope is recognised where its declaration is made of
 * words, template arguments and array bounds only; what is missed here is refused by ir/, which sees the
 * variable. */
#include "compiler/front/rewrite.h"

enum { MAX_DECLARATION_TOKENS = 256 };

static const struct {
    const char *word, *what;
} missing[] = {
    {"double", "type 'double' does not exist in Metal"},
    {"new", "'new' is not available in Metal"},
    {"delete", "'delete' is not available in Metal"},
    {"try", "exceptions are not available in Metal"},
    {"catch", "exceptions are not available in Metal"},
    {"throw", "exceptions are not available in Metal"},
    {"virtual", "virtual functions are not available in Metal"},
    {"dynamic_cast", "'dynamic_cast' is not available in Metal"},
    {"typeid", "'typeid' is not available in Metal"},
    {"thread_local", "'thread_local' is not available in Metal"},
    {"goto", "'goto' is not available in Metal"},
    {"__syncthreads", "'__syncthreads' does not exist in Metal; threads of a threadgroup wait with "
                      "threadgroup_barrier(mem_flags::mem_threadgroup)"},
    {"asm", "inline assembly is not supported"},
    {"__asm", "inline assembly is not supported"},
    {"__asm__", "inline assembly is not supported"},
};

static const char *missing_word(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    if (t[i].kind != TOKEN_IDENTIFIER || t[i].length < 3) return NULL;
    const char *text = token_text(list, i);
    if (!strchr("dntcvga_", text[0])) return NULL;
    for (size_t k = 0; k < sizeof missing / sizeof *missing; k++) {
        if (missing[k].word[0] != text[0] || !token_is(list, i, missing[k].word)) continue;
        uint32_t before = i > 0 ? t[i - 1].code : 0;
        bool deleted = before == '=' && (t[i + 1].code == ';' || t[i + 1].code == ',');
        if (text[0] == 'd' && deleted) return NULL; /* f() = delete; */
        if ((text[0] == 'a' || text[0] == '_') && t[i].scope != SCOPE_FUNCTION)
            return NULL; /* f() asm("label"); */
        return missing[k].what;
    }
    return NULL;
}

/* The name declared by a variable's declaration that starts at i, or NO_TOKEN: words, template arguments and
 * array bounds up to '=', '{', ',' or ';', and none of the words that put it into constant memory or make it
 * something else. */
static uint32_t mutable_variable(const token_list *list, uint32_t i)
{
    static const char *const others[] = {"using", "typedef", "template", "namespace", "struct", "class",
        "union", "enum", "extern", "friend", "static_assert", "_Static_assert", "concept", "requires",
        "constexpr", "constinit", "const", "constant", "operator", "goto", "return", "inline", "kernel",
        "vertex", "fragment"};
    const token *t = list->tokens;
    uint32_t name = NO_TOKEN, words = 0;
    uint32_t limit = list->count - i > MAX_DECLARATION_TOKENS ? i + MAX_DECLARATION_TOKENS : list->count;
    for (; i < limit; i++) {
        if (t[i].kind == TOKEN_IDENTIFIER) {
            for (size_t k = 0; k < sizeof others / sizeof *others; k++)
                if (token_is(list, i, others[k])) return NO_TOKEN;
            name = i;
            words++;
        } else if (front_is_attribute(list, i) || (t[i].code == '[' && name != NO_TOKEN)) {
            i = t[i].match;
        } else if (t[i].code == '<') {
            uint32_t close = front_angle_match(list, i);
            if (close == NO_TOKEN) return NO_TOKEN;
            i = close;
        } else if (t[i].code == '=' || t[i].code == '{' || t[i].code == ',' || t[i].code == ';') {
            return words >= 2 && t[name - 1].code != PUNCT2(':', ':') ? name : NO_TOKEN;
        } else if (t[i].code != '*' && t[i].code != '&' && t[i].code != PUNCT2(':', ':')) {
            return NO_TOKEN;
        }
    }
    return NO_TOKEN;
}

tombac_status front_check_words(const rewriter *r, tombac_error **error)
{
    const token_list *list = r->list;
    for (uint32_t i = 0; i < list->count; i++) {
        if (front_is_attribute(list, i)) {
            i = list->tokens[i].match;
            continue;
        }
        const char *what = r->edits.edits[i].blank ? NULL : missing_word(list, i);
        if (what) return front_fail_at(r->unit, i, TOMBAC_ERROR_SOURCE, error, "%s", what);
    }
    return TOMBAC_OK;
}

tombac_status front_check_variables(const rewriter *r, tombac_error **error)
{
    const token_list *list = r->list;
    const token *t = list->tokens;
    for (uint32_t i = 0; i < list->count; i++) {
        bool program_scope = t[i].scope == SCOPE_NAMESPACE && (t[i].bracket == 0 || t[i].bracket == '{');
        if (!program_scope || t[i].head != i || t[i].code == '}' || r->edits.edits[i].blank) continue;
        uint32_t name = mutable_variable(list, i);
        if (name == NO_TOKEN) continue;
        return front_fail_at(r->unit, name, TOMBAC_ERROR_SOURCE, error,
            "variable '%.*s' at program scope must be in constant memory: 'constant' is missing",
            (int)t[name].length, token_text(list, name));
    }
    return TOMBAC_OK;
}
