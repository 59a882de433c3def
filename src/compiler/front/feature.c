/* Names that only younger versions of the language have; the table is features.def.
 *
 * An older compiler does not know such a name, so any use is an error, in templates too, unless the source
 * declares the name itself. Declarations are told from uses by the token before the name, as no types are
 * known: a word that can end a type, `struct`, `enum`, `using`, `typedef`. Where that is uncertain the name
 * counts as declared, and clang judges it. */
#include "compiler/front/rewrite.h"

#include "compiler/front/feature.h"

static const front_feature features[] = {
#define X(version, name, example) {version, name, example},
#include "compiler/front/features.def"
#undef X
};

enum { FEATURES = sizeof features / sizeof *features, MAX_REPORTS = 20 };

const front_feature *front_feature_at(size_t index)
{
    return index < FEATURES ? &features[index] : NULL;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

/* Do the tokens from i on spell the name? */
static bool spells(const token_list *list, uint32_t i, const char *name)
{
    while (*name) {
        size_t length = 1;
        while (is_letter(name[0]) && is_letter(name[length])) length++;
        if (i >= list->count || list->tokens[i].length != length ||
            memcmp(token_text(list, i), name, length) != 0)
            return false;
        name += length;
        i++;
    }
    return true;
}

/* Words that stand before a use of a name, and are no type. */
static bool precedes_use(uint32_t code)
{
    return code_is_space(code) || code == KW_RETURN || code == KW_CONST || code == KW_CONSTEXPR ||
           code == KW_STATIC || code == KW_INLINE || code == KW_ELSE || code == KW_DO ||
           code == KW_VOLATILE || code == KW_TYPENAME || code == KW_KERNEL || code == KW_MUTABLE ||
           code == KW_EXTERN || code == KW_COHERENT || code == KW_RESTRICT || code == KW_RESTRICT2 ||
           code == KW_RESTRICT3 || code == KW_OPERATOR || code == KW_THROW || code == KW_TEMPLATE ||
           code == KW_TYPEDEF || code == KW_PUBLIC || code == KW_PRIVATE;
}

/* Does the token at i, spelled like a feature, declare something of the source's own? */
static bool declares(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    const token *before = i ? &t[i - 1] : NULL;
    if (!before) return false;
    switch (before->code) {
    case KW_STRUCT:
    case KW_CLASS:
    case KW_UNION:
    case KW_ENUM: return true;
    case KW_USING: return t[i + 1].code == '=';
    default: break;
    }
    bool typedefs = t[t[i].head].code == KW_TYPEDEF || (before->code == '}' && t[i].bracket != '(');
    if (typedefs && t[i + 1].code == ';') return true;
    bool program = t[i].scope == SCOPE_NAMESPACE || t[i].scope == SCOPE_CLASS;
    bool declarator = t[i].bracket == 0 || t[i].bracket == '{';
    if (before->code == '*' || before->code == '&') return program && declarator && t[i + 1].code == '(';
    if (before->kind == TOKEN_IDENTIFIER && !precedes_use(before->code)) return true;
    return before->code == '>' && (t[i].bracket != '(' || t[i + 1].code == ',' || t[i + 1].code == ')');
}

/* A member of some object, or of a namespace that is not Metal's. */
static bool is_foreign(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    if (i == 0) return false;
    if (t[i - 1].code == '.' || t[i - 1].code == PUNCT2('-', '>')) return true;
    if (t[i - 1].code != PUNCT2(':', ':') || i < 2) return false;
    return t[i - 2].kind == TOKEN_IDENTIFIER && t[i - 2].code == 0 && !token_is(list, i - 2, "metal") &&
           !token_is(list, i - 2, "fast") && !token_is(list, i - 2, "precise");
}

/* The first use of the feature, or NO_TOKEN: also if the source declares such a name. */
static uint32_t find_use(const rewriter *r, const char *name)
{
    const token_list *list = r->list;
    uint32_t found = NO_TOKEN;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->tokens[i].kind != TOKEN_IDENTIFIER || !spells(list, i, name)) continue;
        if (declares(list, i)) return NO_TOKEN;
        if (found == NO_TOKEN && !r->edits.edits[i].blank && !is_foreign(list, i)) found = i;
    }
    return found;
}

/* 1.0bf */
static uint32_t find_literal(const rewriter *r)
{
    const token_list *list = r->list;
    for (uint32_t i = 0; i < list->count; i++) {
        const token *t = &list->tokens[i];
        if (t->kind != TOKEN_NUMBER || t->length < 3 || r->edits.edits[i].blank) continue;
        const char *p = token_text(list, i);
        bool hexadecimal = p[1] == 'x' || p[1] == 'X';
        if (!hexadecimal && (p[t->length - 1] | 32) == 'f' && (p[t->length - 2] | 32) == 'b') return i;
    }
    return NO_TOKEN;
}

typedef struct report {
    tb_text text;
    front_position first;
    unsigned count;
} report;

static void add(const rewriter *r, report *out, uint32_t at, unsigned version)
{
    const token *t = &r->list->tokens[at];
    if (out->count++ >= MAX_REPORTS) return;
    front_position position = front_locate_token(r->unit, at);
    tb_text message = {0};
    tb_text_printf(&message, "'%.*s' needs language version metal%u.%u or later; this is %s", (int)t->length,
        token_text(r->list, at), version / 100, version / 10 % 10, r->unit->standard.name);
    if (out->count == 1) out->first = position;
    front_report(r->unit, position, "error", tb_text_string(&message), &out->text);
    out->text.bad |= message.bad;
    tb_text_free(&message);
}

tombac_status front_check_features(const rewriter *r, tombac_error **error)
{
    report out = {0};
    unsigned version = r->unit->standard.version;
    for (size_t i = 0; i < FEATURES; i++) {
        uint32_t at = features[i].version > version ? find_use(r, features[i].name) : NO_TOKEN;
        if (at != NO_TOKEN) add(r, &out, at, features[i].version);
    }
    uint32_t literal = version < 310 ? find_literal(r) : NO_TOKEN;
    if (literal != NO_TOKEN) add(r, &out, literal, 310);
    tombac_status status = out.text.bad ? tb_fail_memory(error) : TOMBAC_OK;
    if (status == TOMBAC_OK && out.count) {
        status = tb_fail(error, TOMBAC_ERROR_SOURCE, "%s", tb_text_string(&out.text));
        tb_error_set_location(error, out.first.file, out.first.line, out.first.column);
    }
    tb_text_free(&out.text);
    return status;
}
