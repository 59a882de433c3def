/* What a kernel can reach, by name: an over-estimate that needs no types.
 *
 * Nodes are the functions, classes and type names of program scope. A node reaches every node whose name
 * occurs among its tokens. Names are sorted, so a walk costs O(tokens x log names). */
#include "compiler/front/rewrite.h"

#include <stdlib.h>

typedef struct node {
    uint32_t name, first, last; /* tokens */
    bool seen;
} node;

typedef struct graph {
    const token_list *list;
    node *nodes;
    size_t count, room;
    uint32_t *stack; /* nodes to be walked */
    size_t depth;
} graph;

static int compare_text(const token_list *list, uint32_t a, uint32_t b)
{
    uint32_t n = list->tokens[a].length, m = list->tokens[b].length;
    int order = memcmp(token_text(list, a), token_text(list, b), n < m ? n : m);
    return order ? order : n < m ? -1 : n > m;
}

static int compare_nodes(const void *a, const void *b, void *list)
{
    return compare_text(list, ((const node *)a)->name, ((const node *)b)->name);
}

/* The name that a declaration from `first` to before `end` gives, NO_TOKEN if it is none that matters. */
static uint32_t declared_name(const token_list *list, uint32_t first, uint32_t end)
{
    const token *t = list->tokens;
    uint32_t i = front_skip_template_head(list, first);
    if (t[i].code == KW_USING) return t[i + 1].kind == TOKEN_IDENTIFIER ? i + 1 : NO_TOKEN;
    if (t[i].code == KW_TYPEDEF) return end > i && t[end - 1].kind == TOKEN_IDENTIFIER ? end - 1 : NO_TOKEN;
    bool class = false;
    for (; i < end; i++) {
        if (front_is_attribute(list, i)) {
            i = t[i].match;
        } else if ((t[i].code == KW_ATTRIBUTE || t[i].code == KW_ALIGNAS || t[i].code == KW_DECLTYPE) &&
                   t[i + 1].code == '(') {
            i = t[i + 1].match;
        } else if (t[i].code == '=' || t[i].code == KW_NAMESPACE) {
            return NO_TOKEN;
        } else if (t[i].code == KW_STRUCT || t[i].code == KW_CLASS || t[i].code == KW_UNION) {
            class = true;
        } else if (t[i].kind == TOKEN_IDENTIFIER && t[i].code == 0 && (t[i + 1].code == '(' || class)) {
            return i;
        }
    }
    return NO_TOKEN;
}

static bool add(graph *g, uint32_t name, uint32_t first, uint32_t last)
{
    if (g->count == g->room) {
        size_t room = g->room ? g->room * 2 : 256;
        node *grown = realloc(g->nodes, room * sizeof *grown);
        if (!grown) return false;
        g->nodes = grown;
        g->room = room;
    }
    g->nodes[g->count++] = (node){name, first, last, false};
    return true;
}

static bool collect(graph *g)
{
    const token *t = g->list->tokens;
    for (uint32_t i = 0; i < g->list->count; i++) {
        if (t[i].scope != SCOPE_NAMESPACE || (t[i].bracket != 0 && t[i].bracket != '{') || t[i].head != i)
            continue;
        uint32_t end = i;
        while (end < g->list->count && t[end].code != ';' && t[end].code != '{' && t[end].code != '}')
            end = t[end].match != NO_TOKEN && t[end].match > end ? t[end].match + 1 : end + 1;
        if (end >= g->list->count) break;
        if (t[end].code == '{' && t[end].scope == SCOPE_NAMESPACE) continue;
        uint32_t name = declared_name(g->list, i, end), last = t[end].code == '{' ? t[end].match : end;
        if (name != NO_TOKEN && !add(g, name, i, last)) return false;
        i = last;
    }
    qsort_r(g->nodes, g->count, sizeof *g->nodes, compare_nodes, (void *)g->list);
    return true;
}

/* Marks what the tokens name. */
static void walk(graph *g, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i <= last; i++) {
        if (g->list->tokens[i].kind != TOKEN_IDENTIFIER || g->list->tokens[i].code) continue;
        size_t low = 0, high = g->count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (compare_text(g->list, g->nodes[middle].name, i) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        /* Overloads stand side by side; if the first is seen, all are. */
        for (; low < g->count && !g->nodes[low].seen && compare_text(g->list, g->nodes[low].name, i) == 0;
            low++) {
            g->nodes[low].seen = true;
            g->stack[g->depth++] = (uint32_t)low;
        }
    }
}

bool front_reaches_directive(rewriter *r, uint32_t d)
{
    const directive *at = &r->list->directives[d];
    uint32_t position = at->next;
    const token *t = r->list->tokens;
    if (!r->selected || position >= r->list->count || t[position].brace == NO_TOKEN ||
        t[t[position].brace].scope == SCOPE_NAMESPACE)
        return true;
    graph g = {.list = r->list};
    bool found = true; /* where memory is short, the safe answer */
    if (collect(&g) && (g.stack = malloc((g.count + 1) * sizeof *g.stack)) != NULL) {
        found = false;
        for (size_t i = 0; i < r->unit->site_count; i++) {
            const kernel_site *site = &r->unit->sites[i];
            if (site->kernel == NO_TOKEN || &r->unit->kernels[site->kernel] != r->selected) continue;
            walk(&g, site->head, site->last);
            found |= position >= site->head && position <= site->last;
        }
        while (g.depth && !found) {
            const node *n = &g.nodes[g.stack[--g.depth]];
            found |= position >= n->first && position <= n->last;
            walk(&g, n->first, n->last);
        }
    }
    free(g.nodes);
    free(g.stack);
    return found;
}
