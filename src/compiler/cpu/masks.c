/* Which blocks run under the same mask, and which are so cheap that they need no test whether any lane is
 * active.
 *
 * Takes divergence; promises for every block a leader that owns the mask. Block b has a's mask if (i) it is
 * entered by uniform edges only, from blocks with one leader, and no divergent loop ends there; or (ii) a
 * dominates b in the same loop, b post-dominates a, and no way from a to the next iteration passes b by. The
 * entry's mask is the mask of the threads that exist. The header of a divergent loop leads itself: its mask
 * shrinks from iteration to iteration. */
#include "compiler/cpu/kernel.h"

#include <string.h>

enum { CHEAP_INSTRUCTIONS = 8 };

/* Can control run from a to the header of loop l without passing b? */
static bool passes_by(const cpu_kernel *k, int a, int b, int l, uint64_t *seen, int *stack)
{
    if (l < 0) return false;
    int depth = 0;
    memset(seen, 0, cpu_set_words(k->block_count) * sizeof *seen);
    cpu_set_add(seen, a);
    stack[depth++] = a;
    while (depth) {
        const cpu_block *block = &k->blocks[stack[--depth]];
        for (int i = 0; i < block->successor_count; i++) {
            int s = block->successors[i];
            if (s == k->loops[l].header) return true;
            if (s == b || cpu_set_has(seen, s) || !cpu_in_loop(k, l, s)) continue;
            cpu_set_add(seen, s);
            stack[depth++] = s;
        }
    }
    return false;
}

/* Rule (i): the common leader of all forward predecessors, -1 if there is none. */
static int leader_of_edges(const cpu_kernel *k, int b)
{
    int leader = -1;
    for (int i = 0; i < k->blocks[b].predecessor_count; i++) {
        int p = k->blocks[b].predecessors[i];
        if (k->blocks[p].position >= k->blocks[b].position) continue;
        if (k->blocks[p].divergent_branch) return -1;
        for (int l = k->blocks[p].loop; l >= 0 && !cpu_in_loop(k, l, b); l = k->loops[l].parent)
            if (k->loops[l].divergent) return -1;
        if (leader >= 0 && leader != k->blocks[p].leader) return -1;
        leader = k->blocks[p].leader;
    }
    return leader;
}

/* Rule (ii), in loop l. */
static int leader_by_dominance(const cpu_kernel *k, int b, int l, uint64_t *seen, int *stack)
{
    for (int a = k->blocks[b].idom; a >= 0; a = k->blocks[a].idom) {
        if (k->blocks[a].loop == l) {
            if (cpu_post_dominates(k, b, a) && !passes_by(k, a, b, l, seen, stack))
                return k->blocks[a].leader;
        } else if (l >= 0 && !cpu_in_loop(k, l, a))
            return -1;
        if (a == k->blocks[a].idom) return -1;
    }
    return -1;
}

static bool is_cheap(const cpu_kernel *k, int b)
{
    const cpu_block *block = &k->blocks[b];
    if (!block->successor_count || block->value_count >= CHEAP_INSTRUCTIONS || cpu_is_header(k, b))
        return false;
    if (block->successor_count == 2 && !block->divergent_branch) return false;
    for (int i = 0; i < block->successor_count; i++) {
        int s = block->successors[i];
        if (k->blocks[s].position <= block->position || cpu_is_header(k, s)) return false;
    }
    for (int v = block->first_value; v < block->first_value + block->value_count; v++)
        switch (LLVMGetInstructionOpcode(k->values[v].ir)) {
        case LLVMLoad:
        case LLVMStore:
        case LLVMCall:
        case LLVMAtomicRMW:
        case LLVMAtomicCmpXchg:
        case LLVMFence:
        case LLVMAlloca:
        case LLVMUDiv:
        case LLVMSDiv:
        case LLVMURem:
        case LLVMSRem:
        case LLVMFRem: return false;
        default: break;
        }
    return true;
}

void cpu_masks_find(cpu_kernel *k)
{
    uint64_t *seen = cpu_set_new(&k->job, k->block_count);
    int *stack = cpu_alloc(&k->job, (size_t)k->block_count, sizeof *stack);
    for (int o = 0; o < k->block_count; o++) {
        int b = k->order[o], l = k->blocks[b].loop;
        bool header = cpu_is_header(k, b);
        k->blocks[b].leader = b;
        k->blocks[b].cheap = is_cheap(k, b);
        if (o == 0 || (header && k->loops[l].divergent)) continue;
        int leader = leader_of_edges(k, b);
        if (leader < 0) leader = leader_by_dominance(k, b, header ? k->loops[l].parent : l, seen, stack);
        if (leader >= 0) k->blocks[b].leader = leader;
    }
}
