/* Which of several kernel templates of one name an explicit instantiation means: C++ decides by the types of the
 * parameters, which are not known here, so by how they are written. Templates with another number of parameters are
 * out; of the others the one most of whose parameters look like those of the instantiation: the same address space,
 * the same pointers and references, and the same name of a type, where a template's own parameter looks like any. */
#include "compiler/front/declare.h"

typedef struct look {
    uint32_t space;       /* keyword, or 0 */
    uint32_t type;        /* the last name of the type before its template arguments, or NO_TOKEN */
    uint32_t indirection; /* number of '*' and '&' */
} look;

/* Reads the parameter that begins at i and ends before `close` or at a comma; returns where it ends. */
static uint32_t read_look(const token_list *list, uint32_t i, uint32_t close, look *out)
{
    const token *t = list->tokens;
    bool qualified = false;
    *out = (look){.type = NO_TOKEN};
    while (i < close && t[i].code != ',') {
        if (front_is_attribute(list, i)) {
            i = t[i].match;
        } else if (code_is_space(t[i].code)) {
            out->space = t[i].code;
        } else if (t[i].code == '*' || t[i].code == '&') {
            out->indirection++;
        } else if (t[i].code == PUNCT2(':', ':')) {
            qualified = true;
        } else if (t[i].kind == TOKEN_IDENTIFIER && t[i].code == 0 && (out->type == NO_TOKEN || qualified)) {
            out->type = i;
            qualified = false;
        } else if (t[i].code == '<') {
            uint32_t angle = front_angle_match(list, i);
            if (angle != NO_TOKEN && angle < close) i = angle;
        } else if (t[i].match != NO_TOKEN && t[i].match > i) {
            i = t[i].match;
        }
        i++;
    }
    return i;
}

static bool is_own_parameter(const token_list *list, const kernel_site *definition, uint32_t name)
{
    for (uint32_t i = definition->head; i < definition->start; i++)
        if (list->tokens[i].kind == TOKEN_IDENTIFIER && tokens_equal(list, i, name)) return true;
    return false;
}

static bool alike(const token_list *list, const kernel_site *definition, const look *a, const look *b)
{
    if (a->space != b->space || a->indirection != b->indirection) return false;
    if (a->type == NO_TOKEN || b->type == NO_TOKEN) return a->type == b->type;
    return tokens_equal(list, a->type, b->type) || is_own_parameter(list, definition, a->type);
}

/* How many parameters look alike; negative: there are more or fewer. */
static int score(const token_list *list, const kernel_site *definition, const kernel_site *instantiation)
{
    const token *t = list->tokens;
    uint32_t i = definition->open + 1, end = t[definition->open].match;
    uint32_t k = instantiation->open + 1, last = t[instantiation->open].match;
    int found = 0;
    while (i < end && k < last) {
        look a, b;
        i = read_look(list, i, end, &a);
        k = read_look(list, k, last, &b);
        found += alike(list, definition, &a, &b);
        if ((i < end) != (k < last)) return -1;
        i++, k++;
    }
    return i < end || k < last ? -1 : found;
}

const kernel_site *front_choose_template(
    const front_unit *unit, const uint32_t *sites, size_t count, const kernel_site *instantiation)
{
    const kernel_site *best = &unit->sites[sites[0]];
    if (count == 1 || instantiation->open == NO_TOKEN) return best;
    int most = -1;
    for (size_t i = 0; i < count; i++) {
        const kernel_site *site = &unit->sites[sites[i]];
        int found = score(&unit->list, site, instantiation);
        if (found > most) {
            best = site;
            most = found;
        }
    }
    return best;
}
