/* Leaves out what the selected kernel cannot name.
 *
 * Of a large source clang would spend most of its time on functions that the kernel never calls. A function, a typedef or
 * an alias of program scope whose name occurs in nothing that is kept goes, in the text that clang gets; everything else is
 * kept, and what is kept keeps all that it names, overloads of one name together. What may be meant without being named stays:
 * operators, begin and end, whatever the source adds to namespace metal, and whatever this file does not recognise as a plain
 * declaration. If clang is not content with what is left, the whole text is tried (compile.c). */
#include "compiler/front/rewrite.h"

#include <stdlib.h>

enum { LARGE_SOURCE = 8192 }; /* tokens; in smaller ones there is not much to gain */

/* A declaration that can go. */
typedef struct item {
    uint32_t name, first, last; /* tokens */
    bool kept;
} item;

typedef struct pruning {
    const rewriter *r;
    const token_list *list;
    item *items;      /* in source order */
    uint32_t *sorted; /* their numbers, by name */
    uint32_t *stack;  /* kept, and to be looked at */
    size_t count, depth;
} pruning;

static int compare_text(const token_list *list, uint32_t a, uint32_t b)
{
    uint32_t n = list->tokens[a].length, m = list->tokens[b].length;
    int order = memcmp(token_text(list, a), token_text(list, b), n < m ? n : m);
    return order ? order : n < m ? -1 : n > m;
}

static int compare_items(const void *a, const void *b, void *pruning_)
{
    const pruning *p = pruning_;
    return compare_text(p->list, p->items[*(const uint32_t *)a].name, p->items[*(const uint32_t *)b].name);
}

/* ---- What can go ---- */

static bool is_one_of(const token_list *list, uint32_t i, const char *const *words, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (token_is(list, i, words[k])) return true;
    return false;
}

/* The name of the function that `first` to before `end` declares, NO_TOKEN if it is not plainly one. */
static uint32_t function_name(const token_list *list, uint32_t first, uint32_t end)
{
    static const char *const others[] = {"operator", "requires", "static_assert", "_Static_assert", "asm", "explicit",
        "concept", "friend", "begin", "end"};
    const token *t = list->tokens;
    for (uint32_t i = front_skip_template_head(list, first); i < end; i++) {
        uint32_t code = t[i].code;
        if (front_is_attribute(list, i)) {
            i = t[i].match;
        } else if ((code == KW_ATTRIBUTE || code == KW_ALIGNAS || code == KW_DECLTYPE) && t[i + 1].code == '(') {
            i = t[i + 1].match;
        } else if (code == '<') {
            if ((i = front_angle_match(list, i)) == NO_TOKEN) return NO_TOKEN;
        } else if (code == '=' || code == '(' || code == '{' || code == KW_NAMESPACE || code == KW_TEMPLATE ||
                   code == KW_STRUCT || code == KW_CLASS || code == KW_UNION || code == KW_USING || code == KW_TYPEDEF ||
                   token_is(list, i, "enum") || is_one_of(list, i, others, sizeof others / sizeof *others)) {
            return NO_TOKEN;
        } else if (t[i].kind == TOKEN_IDENTIFIER && code == 0 && t[i + 1].code == '(') {
            return i > first && t[i - 1].code == PUNCT2(':', ':') ? NO_TOKEN : i;
        }
    }
    return NO_TOKEN;
}

/* The name of a typedef or alias that ends at `end`. */
static uint32_t type_name(const token_list *list, uint32_t first, uint32_t end)
{
    const token *t = list->tokens;
    uint32_t i = front_skip_template_head(list, first);
    if (t[end].code != ';') return NO_TOKEN;
    if (t[i].code == KW_USING) return t[i + 1].kind == TOKEN_IDENTIFIER && t[i + 2].code == '=' ? i + 1 : NO_TOKEN;
    if (t[i].code != KW_TYPEDEF || end <= i || t[end - 1].kind != TOKEN_IDENTIFIER) return NO_TOKEN;
    for (uint32_t k = i; k < end; k++)
        if (t[k].code == '{') return NO_TOKEN;
    return end - 1;
}

/* Does it add to Metal's own namespace, whose functions may call it? */
static bool extends_metal(const token_list *list, uint32_t at)
{
    const token *t = list->tokens;
    for (uint32_t b = t[at].brace; b != NO_TOKEN; b = t[b].brace)
        for (uint32_t i = t[b].head; i < b; i++)
            if (token_is(list, i, "metal")) return true;
    return false;
}

static bool is_selected(const rewriter *r, uint32_t at)
{
    for (size_t i = 0; i < r->unit->site_count; i++) {
        const kernel_site *site = &r->unit->sites[i];
        if (site->kernel != NO_TOKEN && &r->unit->kernels[site->kernel] == r->selected && at >= site->head && at <= site->last)
            return true;
    }
    return false;
}

static bool collect(pruning *p)
{
    const token_list *list = p->list;
    const token *t = list->tokens;
    size_t room = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (t[i].scope != SCOPE_NAMESPACE || (t[i].bracket != 0 && t[i].bracket != '{') || t[i].head != i ||
            p->r->edits.edits[i].blank)
            continue;
        uint32_t end = i;
        while (end < list->count && t[end].code != ';' && t[end].code != '{' && t[end].code != '}')
            end = t[end].match != NO_TOKEN && t[end].match > end ? t[end].match + 1 : end + 1;
        if (end >= list->count) break;
        if (t[end].code == '}' || (t[end].code == '{' && t[end].scope != SCOPE_FUNCTION)) continue;
        uint32_t name = type_name(list, i, end), last = t[end].code == '{' ? t[end].match : end;
        if (name == NO_TOKEN) name = function_name(list, i, end);
        if (name == NO_TOKEN || extends_metal(list, i) || is_selected(p->r, i)) continue;
        if (p->count == room) {
            room = room ? room * 2 : 256;
            item *grown = realloc(p->items, room * sizeof *grown);
            if (!grown) return false;
            p->items = grown;
        }
        p->items[p->count++] = (item){name, i, last, false};
        i = last;
    }
    return true;
}

/* ---- What is kept ---- */

static void keep_named(pruning *p, uint32_t at)
{
    if (p->list->tokens[at].kind != TOKEN_IDENTIFIER || p->list->tokens[at].code || p->r->edits.edits[at].blank) return;
    size_t low = 0, high = p->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_text(p->list, p->items[p->sorted[middle]].name, at) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    /* Those of one name stand side by side; if the first is kept, all are. */
    for (; low < p->count && compare_text(p->list, p->items[p->sorted[low]].name, at) == 0; low++) {
        item *found = &p->items[p->sorted[low]];
        if (found->kept) return;
        found->kept = true;
        p->stack[p->depth++] = p->sorted[low];
    }
}

static void find_kept(pruning *p)
{
    size_t next = 0;
    for (uint32_t i = 0; i < p->list->count; i++) {
        if (next < p->count && i == p->items[next].first)
            i = p->items[next++].last;
        else
            keep_named(p, i);
    }
    while (p->depth) {
        const item *kept = &p->items[p->stack[--p->depth]];
        for (uint32_t i = kept->first; i <= kept->last; i++) keep_named(p, i);
    }
}

tombac_status front_prune(rewriter *r)
{
    r->pruned = false;
    if (!r->selected || r->whole || r->list->count < LARGE_SOURCE) return TOMBAC_OK;
    pruning p = {.r = r, .list = r->list};
    bool fine = collect(&p);
    p.sorted = malloc((p.count + 1) * sizeof *p.sorted);
    p.stack = malloc((p.count + 1) * sizeof *p.stack);
    fine = fine && p.sorted && p.stack;
    for (size_t i = 0; fine && i < p.count; i++) p.sorted[i] = (uint32_t)i;
    if (fine) {
        qsort_r(p.sorted, p.count, sizeof *p.sorted, compare_items, &p);
        find_kept(&p);
    }
    for (size_t i = 0; fine && i < p.count; i++) {
        if (p.items[i].kept) continue;
        front_edit_blank(&r->edits, p.items[i].first, p.items[i].last);
        r->pruned = true;
    }
    free(p.items);
    free(p.sorted);
    free(p.stack);
    return fine ? TOMBAC_OK : tb_fail_memory(r->error);
}
