/* Dominators and post-dominators.
 *
 * Takes the graph; promises idom and ipdom (-1 where there is none: blocks from which no return is reached
 * have no post-dominator) and interval numbers for constant-time queries. Method: Cooper, Harvey, Kennedy, "A
 * Simple, Fast Dominance Algorithm" (2001), once forward from the entry, once backward from the one returning
 * block. */
#include "compiler/cpu/kernel.h"

typedef struct direction {
    bool backward;
    int *sequence, *number, *idom, count, root;
} direction;

static int parent_count(const cpu_kernel *k, const direction *d, int b)
{
    return d->backward ? k->blocks[b].successor_count : k->blocks[b].predecessor_count;
}

static int parent(const cpu_kernel *k, const direction *d, int b, int i)
{
    return d->backward ? k->blocks[b].successors[i] : k->blocks[b].predecessors[i];
}

static int intersect(const direction *d, int a, int b)
{
    while (a != b) {
        while (d->number[a] > d->number[b]) a = d->idom[a];
        while (d->number[b] > d->number[a]) b = d->idom[b];
    }
    return a;
}

static void solve(const cpu_kernel *k, direction *d)
{
    for (int b = 0; b < k->block_count; b++) d->idom[b] = -1;
    d->idom[d->root] = d->root;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < d->count; i++) {
            int b = d->sequence[i], best = -1;
            if (b == d->root) continue;
            for (int j = 0; j < parent_count(k, d, b); j++) {
                int p = parent(k, d, b, j);
                if (d->idom[p] < 0) continue;
                best = best < 0 ? p : intersect(d, p, best);
            }
            if (best >= 0 && best != d->idom[b]) {
                d->idom[b] = best;
                changed = true;
            }
        }
    }
}

/* Reverse post-order of the reversed graph, from the exit. */
static void backward_sequence(cpu_kernel *k, direction *d)
{
    int n = k->block_count, depth = 0, at = n;
    int *stack = cpu_alloc(&k->job, (size_t)n, sizeof *stack),
        *next = cpu_alloc(&k->job, (size_t)n, sizeof *next);
    int *place = cpu_alloc(&k->job, (size_t)n, sizeof *place);
    uint64_t *seen = cpu_set_new(&k->job, n);
    stack[depth++] = d->root;
    cpu_set_add(seen, d->root);
    while (depth) {
        int b = stack[depth - 1];
        if (next[b] < k->blocks[b].predecessor_count) {
            int p = k->blocks[b].predecessors[next[b]++];
            if (cpu_set_has(seen, p)) continue;
            cpu_set_add(seen, p);
            stack[depth++] = p;
        } else {
            place[--at] = b;
            depth--;
        }
    }
    d->count = n - at;
    for (int i = 0; i < d->count; i++) {
        d->sequence[i] = place[at + i];
        d->number[d->sequence[i]] = i;
    }
}

/* Pre-order intervals of the tree, so that a dominates b iff a's interval holds b's. */
static void number_tree(cpu_kernel *k, const direction *d, bool post)
{
    int n = k->block_count, clock = 0, depth = 0;
    int *child = cpu_alloc(&k->job, (size_t)n, sizeof *child),
        *sibling = cpu_alloc(&k->job, (size_t)n, sizeof *sibling);
    int *stack = cpu_alloc(&k->job, (size_t)n, sizeof *stack);
    for (int b = 0; b < n; b++) {
        child[b] = sibling[b] = -1;
        *(post ? &k->blocks[b].pdom_in : &k->blocks[b].dom_in) = -1;
        *(post ? &k->blocks[b].pdom_out : &k->blocks[b].dom_out) = -1;
    }
    for (int b = 0; b < n; b++)
        if (d->idom[b] >= 0 && b != d->root) {
            sibling[b] = child[d->idom[b]];
            child[d->idom[b]] = b;
        }
    stack[depth++] = d->root;
    *(post ? &k->blocks[d->root].pdom_in : &k->blocks[d->root].dom_in) = clock++;
    while (depth) {
        int b = stack[depth - 1], c = child[b];
        if (c >= 0) {
            child[b] = sibling[c];
            stack[depth++] = c;
            *(post ? &k->blocks[c].pdom_in : &k->blocks[c].dom_in) = clock++;
        } else {
            *(post ? &k->blocks[b].pdom_out : &k->blocks[b].dom_out) = clock++;
            depth--;
        }
    }
}

void cpu_dominance_build(cpu_kernel *k)
{
    int n = k->block_count;
    direction d = {.root = 0, .count = n};
    d.sequence = cpu_alloc(&k->job, (size_t)n, sizeof *d.sequence);
    d.number = cpu_alloc(&k->job, (size_t)n, sizeof *d.number);
    d.idom = cpu_alloc(&k->job, (size_t)n, sizeof *d.idom);
    for (int b = 0; b < n; b++) {
        d.sequence[k->blocks[b].rpo] = b;
        d.number[b] = k->blocks[b].rpo;
    }
    solve(k, &d);
    for (int b = 0; b < n; b++) k->blocks[b].idom = d.idom[b];
    number_tree(k, &d, false);

    d.backward = true;
    d.root = -1;
    for (int b = 0; b < n; b++)
        if (!k->blocks[b].successor_count) d.root = b;
    if (d.root < 0) cpu_fail(&k->job, TOMBAC_ERROR_UNSUPPORTED, "cpu engine: the kernel never returns");
    backward_sequence(k, &d);
    solve(k, &d);
    for (int b = 0; b < n; b++) k->blocks[b].ipdom = d.idom[b];
    number_tree(k, &d, true);
}

bool cpu_dominates(const cpu_kernel *k, int a, int b)
{
    return k->blocks[a].dom_in <= k->blocks[b].dom_in && k->blocks[b].dom_out <= k->blocks[a].dom_out;
}

bool cpu_post_dominates(const cpu_kernel *k, int a, int b)
{
    const cpu_block *x = &k->blocks[a], *y = &k->blocks[b];
    if (a == b) return true;
    return x->pdom_in >= 0 && y->pdom_in >= 0 && x->pdom_in <= y->pdom_in && y->pdom_out <= x->pdom_out;
}
