/* The control flow graph of a function: blocks in reverse post-order, edges, dominators, natural loops.
 *
 * Numbers are reverse post-order positions; block 0 is the entry; unreachable blocks are left out. Edges
 * appear once, even if a switch has several cases for one target. Dominators by Cooper, Harvey and Kennedy
 * (2001). A snapshot: it does not follow later changes. */
#ifndef TB_COMPILER_IR_CFG_H
#define TB_COMPILER_IR_CFG_H

#include "base/error.h"

#include <llvm-c/Core.h>
#include <stdint.h>

#define IR_NONE UINT32_MAX

typedef struct ir_cfg_block {
    LLVMBasicBlockRef block;
    uint32_t *successors, *predecessors; /* point into the cfg's edge arrays */
    uint32_t successor_count, predecessor_count;
    uint32_t dominator; /* immediate; the entry's is IR_NONE */
    uint32_t loop;      /* innermost loop, or IR_NONE */
} ir_cfg_block;

typedef struct ir_cfg_loop {
    uint32_t header, latch; /* latch IR_NONE: there are several */
    uint32_t parent;        /* loop index or IR_NONE; parents come before their children */
} ir_cfg_loop;

typedef struct ir_cfg {
    ir_cfg_block *blocks;
    uint32_t block_count;
    ir_cfg_loop *loops;
    uint32_t loop_count;
    bool irreducible; /* there is a cycle that no natural loop covers */
    uint32_t *edges;
} ir_cfg;

tombac_status ir_cfg_build(LLVMValueRef function, ir_cfg *cfg, tombac_error **error);
void ir_cfg_free(ir_cfg *cfg);
bool ir_cfg_dominates(const ir_cfg *cfg, uint32_t a, uint32_t b);
/* True where `loop` is `outer` or lies inside it; everything lies in IR_NONE. */
bool ir_cfg_in_loop(const ir_cfg *cfg, uint32_t loop, uint32_t outer);

#endif
