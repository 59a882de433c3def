/* Control flow graph, dominators and natural loops; see cfg.h. */
#include "compiler/ir/cfg.h"

#include <stdlib.h>
#include <string.h>

/* ---- Reverse post-order ---- */

/* Block to number, an open-addressing hash table. */
typedef struct block_map {
    LLVMBasicBlockRef *keys;
    uint32_t *values;
    size_t mask;
} block_map;

static size_t map_slot(const block_map *map, LLVMBasicBlockRef block)
{
    size_t slot = ((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u >> 20 & map->mask;
    while (map->keys[slot] && map->keys[slot] != block) slot = (slot + 1) & map->mask;
    return slot;
}

static bool map_create(block_map *map, size_t count)
{
    size_t size = 16;
    while (size < count * 2) size *= 2;
    map->mask = size - 1;
    map->keys = calloc(size, sizeof *map->keys);
    map->values = calloc(size, sizeof *map->values);
    return map->keys && map->values;
}

typedef struct visit {
    LLVMBasicBlockRef block;
    LLVMValueRef terminator;
    unsigned next;
} visit;

/* Depth-first from the entry without recursion; fills `order` from the end and returns how many were reached.
 * Successors are taken last first, so that reverse post-order follows the order in which they are written. */
static uint32_t post_order(
    LLVMValueRef function, block_map *map, visit *stack, LLVMBasicBlockRef *order, uint32_t count)
{
    uint32_t depth = 0, placed = 0;
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);
    map->keys[map_slot(map, entry)] = entry;
    stack[depth++] = (visit){entry, LLVMGetBasicBlockTerminator(entry), 0};
    while (depth) {
        visit *top = &stack[depth - 1];
        unsigned successors = top->terminator ? LLVMGetNumSuccessors(top->terminator) : 0;
        if (top->next == successors) {
            order[count - ++placed] = top->block;
            depth--;
            continue;
        }
        LLVMBasicBlockRef to = LLVMGetSuccessor(top->terminator, successors - 1 - top->next++);
        size_t slot = map_slot(map, to);
        if (map->keys[slot]) continue;
        map->keys[slot] = to;
        stack[depth++] = (visit){to, LLVMGetBasicBlockTerminator(to), 0};
    }
    return placed;
}

/* ---- Edges ---- */

static uint32_t add_successors(ir_cfg *cfg, const block_map *map, uint32_t b, uint32_t *edges)
{
    LLVMValueRef terminator = LLVMGetBasicBlockTerminator(cfg->blocks[b].block);
    unsigned successors = terminator ? LLVMGetNumSuccessors(terminator) : 0;
    uint32_t count = 0;
    for (unsigned i = 0; i < successors; i++) {
        uint32_t to = map->values[map_slot(map, LLVMGetSuccessor(terminator, i))], k = 0;
        while (k < count && edges[k] != to) k++;
        if (k == count) edges[count++] = to;
    }
    cfg->blocks[b].successors = edges;
    cfg->blocks[b].successor_count = count;
    return count;
}

static bool build_edges(ir_cfg *cfg, const block_map *map)
{
    size_t total = 1;
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        LLVMValueRef terminator = LLVMGetBasicBlockTerminator(cfg->blocks[b].block);
        total += terminator ? LLVMGetNumSuccessors(terminator) : 0;
    }
    cfg->edges = calloc(total * 2, sizeof *cfg->edges);
    if (!cfg->edges) return false;
    uint32_t *next = cfg->edges;
    for (uint32_t b = 0; b < cfg->block_count; b++) next += add_successors(cfg, map, b, next);
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        for (uint32_t i = 0; i < cfg->blocks[b].successor_count; i++) {
            cfg->blocks[cfg->blocks[b].successors[i]].predecessor_count++;
        }
    }
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        cfg->blocks[b].predecessors = next;
        next += cfg->blocks[b].predecessor_count;
        cfg->blocks[b].predecessor_count = 0;
    }
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        for (uint32_t i = 0; i < cfg->blocks[b].successor_count; i++) {
            ir_cfg_block *to = &cfg->blocks[cfg->blocks[b].successors[i]];
            to->predecessors[to->predecessor_count++] = b;
        }
    }
    return true;
}

/* ---- Dominators ---- */

static uint32_t common_dominator(const ir_cfg *cfg, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (a > b) a = cfg->blocks[a].dominator;
        while (b > a) b = cfg->blocks[b].dominator;
    }
    return a;
}

static void build_dominators(ir_cfg *cfg)
{
    for (uint32_t b = 1; b < cfg->block_count; b++) cfg->blocks[b].dominator = IR_NONE;
    cfg->blocks[0].dominator = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 1; b < cfg->block_count; b++) {
            uint32_t found = IR_NONE;
            for (uint32_t i = 0; i < cfg->blocks[b].predecessor_count; i++) {
                uint32_t p = cfg->blocks[b].predecessors[i];
                if (cfg->blocks[p].dominator == IR_NONE) continue;
                found = found == IR_NONE ? p : common_dominator(cfg, found, p);
            }
            if (found != cfg->blocks[b].dominator) changed = true;
            cfg->blocks[b].dominator = found;
        }
    }
    cfg->blocks[0].dominator = IR_NONE;
}

bool ir_cfg_dominates(const ir_cfg *cfg, uint32_t a, uint32_t b)
{
    while (b != IR_NONE && b > a) b = cfg->blocks[b].dominator;
    return a == b;
}

/* ---- Loops ---- */

bool ir_cfg_in_loop(const ir_cfg *cfg, uint32_t loop, uint32_t outer)
{
    while (loop != outer && loop != IR_NONE) loop = cfg->loops[loop].parent;
    return loop == outer;
}

/* Marks the natural loop of header `h`: everything that reaches a back edge's source without passing the
 * header. Headers come in reverse post-order, so outer loops come first and inner ones overwrite the mark. */
static void mark_loop(ir_cfg *cfg, uint32_t loop, uint32_t *stack, uint32_t *seen)
{
    uint32_t h = cfg->loops[loop].header, depth = 0;
    cfg->loops[loop].parent = cfg->blocks[h].loop;
    cfg->blocks[h].loop = loop;
    seen[h] = loop;
    for (uint32_t i = 0; i < cfg->blocks[h].predecessor_count; i++) {
        uint32_t p = cfg->blocks[h].predecessors[i];
        if (!ir_cfg_dominates(cfg, h, p)) continue;
        cfg->loops[loop].latch = cfg->loops[loop].latch == IR_NONE - 1 ? p : IR_NONE;
        if (seen[p] == loop) continue;
        seen[p] = loop;
        stack[depth++] = p;
    }
    while (depth) {
        uint32_t b = stack[--depth];
        cfg->blocks[b].loop = loop;
        for (uint32_t i = 0; i < cfg->blocks[b].predecessor_count; i++) {
            uint32_t p = cfg->blocks[b].predecessors[i];
            if (seen[p] == loop) continue;
            seen[p] = loop;
            stack[depth++] = p;
        }
    }
}

static bool build_loops(ir_cfg *cfg)
{
    uint32_t *stack = calloc((size_t)cfg->block_count * 2, sizeof *stack);
    cfg->loops = calloc(cfg->block_count, sizeof *cfg->loops);
    if (!stack || !cfg->loops) {
        free(stack);
        return false;
    }
    uint32_t *seen = stack + cfg->block_count;
    memset(seen, 0xff, cfg->block_count * sizeof *seen);
    for (uint32_t h = 0; h < cfg->block_count; h++) {
        bool header = false;
        for (uint32_t i = 0; i < cfg->blocks[h].predecessor_count; i++) {
            uint32_t p = cfg->blocks[h].predecessors[i];
            bool back = ir_cfg_dominates(cfg, h, p);
            header |= back;
            cfg->irreducible |= p >= h && !back;
        }
        if (!header) continue;
        cfg->loops[cfg->loop_count] = (ir_cfg_loop){h, IR_NONE - 1, IR_NONE};
        mark_loop(cfg, cfg->loop_count++, stack, seen);
    }
    free(stack);
    return true;
}

tombac_status ir_cfg_build(LLVMValueRef function, ir_cfg *cfg, tombac_error **error)
{
    *cfg = (ir_cfg){0};
    uint32_t count = LLVMCountBasicBlocks(function);
    block_map map = {0};
    LLVMBasicBlockRef *order = calloc(count, sizeof *order);
    visit *stack = calloc(count, sizeof *stack);
    cfg->blocks = calloc(count, sizeof *cfg->blocks);
    bool good = order && stack && cfg->blocks && map_create(&map, count);
    if (good) {
        uint32_t reached = post_order(function, &map, stack, order, count);
        cfg->block_count = reached;
        for (uint32_t i = 0; i < reached; i++) {
            LLVMBasicBlockRef block = order[count - reached + i];
            cfg->blocks[i] = (ir_cfg_block){.block = block, .loop = IR_NONE};
            map.values[map_slot(&map, block)] = i;
        }
        good = build_edges(cfg, &map);
    }
    if (good) {
        build_dominators(cfg);
        good = build_loops(cfg);
    }
    free(map.keys);
    free(map.values);
    free(order);
    free(stack);
    if (good) return TOMBAC_OK;
    ir_cfg_free(cfg);
    return tb_fail_memory(error);
}

void ir_cfg_free(ir_cfg *cfg)
{
    free(cfg->blocks);
    free(cfg->loops);
    free(cfg->edges);
    *cfg = (ir_cfg){0};
}
