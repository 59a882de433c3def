/* Threadgroup barriers: the step function returns at each and is entered again behind it.
 *
 * Takes the kernel; cpu_barrier_split makes every barrier the first instruction of its block, so that
 * whatever lives across it lives in slots. Each barrier becomes "return its number" and a block to resume at;
 * cpu_barrier_save finds the slots that are live there (bit vectors over the blocks, backward, to a fixpoint)
 * and copies them to the SIMD-group's context and back. Slots that are copied to each other share a place there where they
 * can; one that still holds what its place holds is not stored again (the same, forward). Masks of blocks are slots too: threads that returned before, or wait elsewhere,
 * stay as they are. */
#include "compiler/cpu/kernel.h"

#include <string.h>

/* ---- Before vectorisation ---- */

static void redirect_predecessors(cpu_kernel *k, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(k->function); b; b = LLVMGetNextBasicBlock(b)) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
        if (!end) continue; /* the new block itself */
        unsigned count = LLVMGetNumSuccessors(end);
        for (unsigned i = 0; i < count; i++)
            if (LLVMGetSuccessor(end, i) == from) LLVMSetSuccessor(end, i, to);
    }
}

LLVMValueRef cpu_split_before(cpu_kernel *k, LLVMValueRef place)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(place);
    LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(k->context, block, "before");
    redirect_predecessors(k, block, head);
    LLVMPositionBuilderAtEnd(k->builder, head);
    for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i != place; i = next) {
        next = LLVMGetNextInstruction(i);
        LLVMInstructionRemoveFromParent(i);
        LLVMInsertIntoBuilder(k->builder, i);
    }
    return LLVMBuildBr(k->builder, block);
}

void cpu_barrier_split(cpu_kernel *k)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(k->function); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (LLVMGetInstructionOpcode(i) == LLVMCall && cpu_operation_of(i).kind == OP_BARRIER &&
                i != LLVMGetFirstInstruction(b))
                cpu_split_before(k, i);
}

/* ---- Emission ---- */

void cpu_emit_barrier(cpu_kernel *k)
{
    if (!k->barriers) k->barriers = cpu_alloc(&k->job, (size_t)k->value_count + 1, sizeof *k->barriers);
    cpu_barrier *barrier = &k->barriers[k->barrier_count++];
    barrier->block = LLVMGetInsertBlock(k->builder);
    barrier->ir = LLVMGetFirstInstruction(k->blocks[k->current].ir);
    LLVMBuildRet(k->builder, cpu_int(k->i32, (uint64_t)k->barrier_count));
    barrier->resume = cpu_new_block(k, "resume");
    LLVMPositionBuilderAtEnd(k->builder, barrier->resume);
}

/* ---- What is live ---- */

/* What happens to slots in a block, in order. */
typedef struct event {
    int slot;
    int copy_of; /* stores: event in the same block that loaded the value; -1: another value. Loads: -2 */
} event;

typedef struct liveness {
    cpu_map slot_map, block_map, load_map; /* load_map: load -> its event */
    LLVMValueRef *slots;
    LLVMBasicBlockRef *blocks;
    int slot_count, block_count;
    size_t words;
    uint64_t **used, **defined, **live_in; /* by block */
    uint64_t *escaped;
    uint64_t **clean; /* by block: slots that hold what the context holds when the block begins */
    event *events;    /* of all blocks */
    int event_count, *first_event; /* by block, and the end */
    int *home;        /* of a slot: the slot whose place in the context it shares, itself if its own */
    uint64_t **waits; /* by slot that has a place: barriers behind which a sharer is live */
    int *resume_of;   /* block that follows a barrier's return, -1 */
    bool *is_resume;
    struct edges {
        int to[3], count; /* successors; the last may be that behind the barrier */
        int real;         /* without that one */
    } *edges;             /* by block */
    uint64_t *changed, *seen; /* by block: when its set changed, when it was looked at; the fixpoints look only where news came */
    uint64_t now;
} liveness;

static void scan_load(cpu_kernel *k, liveness *l, int block, int slot, LLVMValueRef ir)
{
    if (!cpu_set_has(l->defined[block], slot)) cpu_set_add(l->used[block], slot);
    cpu_map_put(&k->job, &l->load_map, ir, l->event_count);
    l->events[l->event_count++] = (event){slot, -2};
}

static void scan_store(liveness *l, int block, int slot, LLVMValueRef ir)
{
    int from = cpu_map_get(&l->load_map, LLVMGetOperand(ir, 0));
    bool copies = from >= l->first_event[block] && LLVMGetAllocatedType(l->slots[l->events[from].slot]) ==
                                                       LLVMGetAllocatedType(l->slots[slot]);
    cpu_set_add(l->defined[block], slot);
    l->events[l->event_count++] = (event){slot, copies ? from : -1};
}

static void scan_instruction(cpu_kernel *k, liveness *l, int block, LLVMValueRef ir)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(ir);
    int count = LLVMGetNumOperands(ir);
    for (int i = 0; i < count; i++) {
        int slot = cpu_map_get(&l->slot_map, LLVMGetOperand(ir, (unsigned)i));
        if (slot < 0) continue;
        if (opcode == LLVMLoad)
            scan_load(k, l, block, slot, ir);
        else if (opcode == LLVMStore && i == 1)
            scan_store(l, block, slot, ir);
        else
            cpu_set_add(l->escaped, slot);
    }
}

static void number_slots(cpu_kernel *k, liveness *l)
{
    int room = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(k->entry); i; i = LLVMGetNextInstruction(i)) room++;
    l->slots = cpu_alloc(&k->job, (size_t)room + 1, sizeof *l->slots);
    for (LLVMValueRef i = LLVMGetFirstInstruction(k->entry); i; i = LLVMGetNextInstruction(i)) {
        if (!LLVMIsAAllocaInst(i)) continue;
        cpu_map_put(&k->job, &l->slot_map, i, l->slot_count);
        l->slots[l->slot_count++] = i;
    }
}

static void make_room(cpu_kernel *k, liveness *l)
{
    size_t room = LLVMCountBasicBlocks(k->step), accesses = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(k->step); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            accesses += LLVMIsALoadInst(i) || LLVMIsAStoreInst(i);
    l->blocks = cpu_alloc(&k->job, room, sizeof *l->blocks);
    l->used = cpu_alloc(&k->job, room, sizeof *l->used);
    l->defined = cpu_alloc(&k->job, room, sizeof *l->defined);
    l->live_in = cpu_alloc(&k->job, room, sizeof *l->live_in);
    l->clean = cpu_alloc(&k->job, room, sizeof *l->clean);
    l->resume_of = cpu_alloc(&k->job, room, sizeof *l->resume_of);
    l->is_resume = cpu_alloc(&k->job, room, sizeof *l->is_resume);
    l->edges = cpu_alloc(&k->job, room, sizeof *l->edges);
    l->changed = cpu_alloc(&k->job, room, sizeof *l->changed);
    l->seen = cpu_alloc(&k->job, room, sizeof *l->seen);
    l->first_event = cpu_alloc(&k->job, room + 1, sizeof *l->first_event);
    l->events = cpu_alloc(&k->job, accesses + 1, sizeof *l->events);
    l->escaped = cpu_set_new(&k->job, l->slot_count);
    l->words = cpu_set_words(l->slot_count);
}

static void number_edges(liveness *l, int b)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(l->blocks[b]);
    struct edges *e = &l->edges[b];
    int count = (int)LLVMGetNumSuccessors(end);
    for (int i = 0; i < count && i < 2; i++)
        e->to[e->count++] = cpu_map_get(&l->block_map, LLVMGetSuccessor(end, (unsigned)i));
    e->real = e->count;
    if (l->resume_of[b] >= 0) e->to[e->count++] = l->resume_of[b];
}

static void number_blocks(cpu_kernel *k, liveness *l)
{
    make_room(k, l);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(k->step); b; b = LLVMGetNextBasicBlock(b)) {
        int number = l->block_count++;
        l->blocks[number] = b;
        l->resume_of[number] = -1;
        l->first_event[number] = l->event_count;
        cpu_map_put(&k->job, &l->block_map, b, number);
        l->used[number] = cpu_set_new(&k->job, l->slot_count);
        l->defined[number] = cpu_set_new(&k->job, l->slot_count);
        l->live_in[number] = cpu_set_new(&k->job, l->slot_count);
        l->clean[number] = cpu_set_new(&k->job, l->slot_count);
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            scan_instruction(k, l, number, i);
    }
    l->first_event[l->block_count] = l->event_count;
    for (int i = 0; i < k->barrier_count; i++) {
        int resume = cpu_map_get(&l->block_map, k->barriers[i].resume);
        l->resume_of[cpu_map_get(&l->block_map, k->barriers[i].block)] = resume;
        l->is_resume[resume] = true;
    }
    for (int b = 0; b < l->block_count; b++) number_edges(l, b);
}

static bool update_block(liveness *l, int b)
{
    const struct edges *e = &l->edges[b];
    bool changed = false, news = l->seen[b] == 0;
    for (int i = 0; i < e->count; i++) news |= l->changed[e->to[i]] > l->seen[b];
    if (!news) return false;
    l->seen[b] = ++l->now;
    for (size_t w = 0; w < l->words; w++) {
        uint64_t out = 0;
        for (int i = 0; i < e->count; i++) out |= l->live_in[e->to[i]][w];
        uint64_t in = l->used[b][w] | (out & ~l->defined[b][w]);
        changed |= in != l->live_in[b][w];
        l->live_in[b][w] = in;
    }
    if (changed) l->changed[b] = ++l->now;
    return changed;
}

/* ---- Places ---- */

static int home_of(const liveness *l, int slot)
{
    while (l->home[slot] != slot) slot = l->home[slot];
    return slot;
}

/* Slots between which values are copied share their place in the context if no barrier has two of them live behind it:
 * a sum that goes round a loop then stays where it is. */
static void share_places(cpu_kernel *k, liveness *l)
{
    size_t words = cpu_set_words(k->barrier_count);
    l->home = cpu_alloc(&k->job, (size_t)l->slot_count + 1, sizeof *l->home);
    l->waits = cpu_alloc(&k->job, (size_t)l->slot_count + 1, sizeof *l->waits);
    for (int s = 0; s < l->slot_count; s++) {
        l->home[s] = s;
        l->waits[s] = cpu_set_new(&k->job, k->barrier_count);
        for (int i = 0; i < k->barrier_count; i++)
            if (cpu_set_has(l->live_in[cpu_map_get(&l->block_map, k->barriers[i].resume)], s))
                cpu_set_add(l->waits[s], i);
    }
    for (int e = 0; e < l->event_count; e++) {
        if (l->events[e].copy_of < 0) continue;
        int to = l->events[e].slot, from = l->events[l->events[e].copy_of].slot;
        if (cpu_set_has(l->escaped, to) || cpu_set_has(l->escaped, from)) continue;
        int a = home_of(l, to), b = home_of(l, from);
        bool meet = a == b;
        for (size_t w = 0; w < words; w++) meet |= (l->waits[a][w] & l->waits[b][w]) != 0;
        if (meet) continue;
        for (size_t w = 0; w < words; w++) l->waits[b][w] |= l->waits[a][w];
        l->home[a] = b;
    }
    for (int s = 0; s < l->slot_count; s++) l->home[s] = home_of(l, s);
}

/* ---- What is unchanged ---- */

static void set_clean(uint64_t *set, int slot, bool clean)
{
    if (clean)
        cpu_set_add(set, slot);
    else
        set[slot / 64] &= ~((uint64_t)1 << (slot % 64));
}

/* What the context holds where the function is entered: everything that is restored there, nothing at the start. The
 * rest begins with all slots and loses those that are written on some way. */
static void begin_clean(liveness *l)
{
    l->now = 0;
    memset(l->changed, 0, (size_t)l->block_count * sizeof *l->changed);
    memset(l->seen, 0, (size_t)l->block_count * sizeof *l->seen);
    for (int b = 0; b < l->block_count; b++)
        for (size_t w = 0; w < l->words; w++) {
            uint64_t restored = l->live_in[b][w] & ~l->escaped[w];
            l->clean[b][w] = l->is_resume[b] ? restored : b == 0 ? 0 : ~(uint64_t)0;
        }
}

/* From the beginning to the end of block b: a slot is clean too if it was filled from a clean one that shares its place;
 * the context itself changes at barriers only. `loaded` has room for all events. */
static void pass_block(const liveness *l, int b, uint64_t *set, bool *loaded)
{
    memcpy(set, l->clean[b], l->words * sizeof *set);
    for (int e = l->first_event[b]; e < l->first_event[b + 1]; e++) {
        int slot = l->events[e].slot, from = l->events[e].copy_of;
        if (from == -2) {
            loaded[e] = cpu_set_has(set, slot);
            continue;
        }
        set_clean(set, slot, from >= 0 && loaded[from] && l->home[l->events[from].slot] == l->home[slot]);
    }
}

static bool spread_clean(liveness *l, int b, uint64_t *set, bool *loaded)
{
    const struct edges *e = &l->edges[b];
    bool any = false;
    if (l->seen[b] && l->changed[b] <= l->seen[b]) return false;
    l->seen[b] = ++l->now;
    pass_block(l, b, set, loaded);
    for (int i = 0; i < e->real; i++) {
        int next = e->to[i];
        bool changed = false;
        if (l->is_resume[next]) continue;
        for (size_t w = 0; w < l->words; w++) {
            uint64_t left = l->clean[next][w] & set[w];
            changed |= left != l->clean[next][w];
            l->clean[next][w] = left;
        }
        if (changed) l->changed[next] = ++l->now;
        any |= changed;
    }
    return any;
}

/* ---- Saving ---- */

static void save_slot(
    cpu_kernel *k, const cpu_barrier *barrier, LLVMValueRef slot, size_t offset, bool unchanged)
{
    LLVMTypeRef type = LLVMGetAllocatedType(slot);
    unsigned align = LLVMABISizeOfType(k->layout, type) >= 64 ? 64 : 1;
    LLVMValueRef at;
    if (!unchanged) {
        LLVMPositionBuilderBefore(k->builder, LLVMGetBasicBlockTerminator(barrier->block));
        at = cpu_at(k, k->parameter[PARAM_CONTEXT], (int64_t)offset);
        LLVMSetAlignment(LLVMBuildStore(k->builder, LLVMBuildLoad2(k->builder, type, slot, ""), at), align);
    }
    LLVMPositionBuilderBefore(k->builder, LLVMGetFirstInstruction(barrier->resume));
    at = cpu_at(k, k->parameter[PARAM_CONTEXT], (int64_t)offset);
    LLVMValueRef load = LLVMBuildLoad2(k->builder, type, at, "");
    LLVMSetAlignment(load, align);
    LLVMBuildStore(k->builder, load, slot);
}

static size_t take_place(cpu_kernel *k, LLVMValueRef slot)
{
    size_t size = (size_t)LLVMABISizeOfType(k->layout, LLVMGetAllocatedType(slot));
    if (size >= 64) k->context_used = (k->context_used + 63) / 64 * 64;
    size_t place = k->context_used;
    k->context_used += (size + 7) / 8 * 8;
    return place;
}

void cpu_barrier_save(cpu_kernel *k)
{
    liveness l = {0};
    number_slots(k, &l);
    number_blocks(k, &l);
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = l.block_count - 1; b >= 0; b--) changed |= update_block(&l, b);
    }
    share_places(k, &l);
    uint64_t *set = cpu_set_new(&k->job, l.slot_count);
    bool *loaded = cpu_alloc(&k->job, (size_t)l.event_count + 1, sizeof *loaded);
    begin_clean(&l);
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = 0; b < l.block_count; b++) changed |= spread_clean(&l, b, set, loaded);
    }
    size_t *place = cpu_alloc(&k->job, (size_t)l.slot_count + 1, sizeof *place);
    for (int i = 0; i < k->barrier_count; i++) {
        const uint64_t *live = l.live_in[cpu_map_get(&l.block_map, k->barriers[i].resume)];
        pass_block(&l, cpu_map_get(&l.block_map, k->barriers[i].block), set, loaded);
        for (int s = 0; s < l.slot_count; s++) {
            if (!cpu_set_has(live, s) || cpu_set_has(l.escaped, s)) continue;
            if (!place[l.home[s]]) place[l.home[s]] = take_place(k, l.slots[s]);
            bool unchanged = cpu_set_has(set, s);
            save_slot(k, &k->barriers[i], l.slots[s], place[l.home[s]], unchanged);
            size_t bytes = (size_t)LLVMABISizeOfType(k->layout, LLVMGetAllocatedType(l.slots[s]));
            k->barriers[i].loaded += bytes;
            if (!unchanged) k->barriers[i].saved += bytes;
        }
    }
}
