/* Which matrix products of a kernel are computed together, and in which layout their sums are kept.
 *
 * Takes the shapes and the order of the blocks; leaves batches of products at the places where they are emitted, and
 * bundles of values that are kept as rows (layout.c). A product waits until somebody needs its result, memory may
 * change, or the block ends. Of the products that wait, those that add to each other's sums are a chain, and chains
 * with the same left operands lie side by side in a tile (tile.c), which keeps its sums in registers from the first
 * product to the last. Each sum is still taken in the order of the source (docs/operations.md).
 *
 * Sums that go round a loop are kept as rows on their whole way: a tuple of phis that a tile begins with is a bundle if
 * a bundle comes back to it. Phis that would be blended under a mask stay in the lanes' layout. */
#include "compiler/cpu/matrix.h"

typedef struct plan {
    cpu_kernel *k;
    int block;
    int most; /* matrices per tile */
    cpu_matrix *matrices;
    cpu_product *first, *last; /* of the block; those that wait are at the end */
    cpu_product *waiting;
    cpu_tile **tiles; /* of the kernel */
    int tile_count;
} plan;

/* ---- Operands in memory ---- */

static bool has_one_use(LLVMValueRef ir)
{
    LLVMUseRef use = LLVMGetFirstUse(ir);
    return use && !LLVMGetNextUse(use);
}

static int count_uses(LLVMValueRef ir)
{
    int count = 0;
    for (LLVMUseRef use = LLVMGetFirstUse(ir); use; use = LLVMGetNextUse(use)) count++;
    return count;
}

static bool is_instruction(LLVMValueRef ir, LLVMOpcode opcode)
{
    return LLVMIsAInstruction(ir) && LLVMGetInstructionOpcode(ir) == opcode;
}

/* The operand, if nothing else uses it and it is made by `opcode`. */
static LLVMValueRef only_operand(LLVMValueRef ir, LLVMOpcode opcode)
{
    LLVMValueRef operand = LLVMGetOperand(ir, 0);
    return is_instruction(operand, opcode) && has_one_use(operand) ? operand : NULL;
}

/* The load behind a float: itself, of a half, or of a bfloat, whose bits are moved up. `way` is filled with all
 * instructions on the way, which end with NULL. */
static LLVMValueRef find_load(LLVMValueRef ir, LLVMValueRef way[6])
{
    int count = 0;
    static const LLVMOpcode bfloat[] = {LLVMShl, LLVMZExt, LLVMLoad};
    if (!LLVMIsAInstruction(ir)) return NULL;
    way[count++] = ir;
    if (is_instruction(ir, LLVMFPExt)) {
        ir = way[count++] = only_operand(ir, LLVMLoad);
    } else if (is_instruction(ir, LLVMBitCast)) {
        for (int i = 0; i < 3; i++) {
            ir = way[count++] = only_operand(ir, bfloat[i]);
            if (!ir) return NULL;
            if (i == 0 && (!LLVMIsAConstantInt(LLVMGetOperand(ir, 1)) ||
                              LLVMConstIntGetZExtValue(LLVMGetOperand(ir, 1)) != 16))
                return NULL;
        }
        if (LLVMGetTypeKind(LLVMTypeOf(ir)) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(LLVMTypeOf(ir)) != 16)
            return NULL;
    }
    way[count] = NULL;
    return ir && is_instruction(ir, LLVMLoad) ? ir : NULL;
}

/* Do the lanes' addresses make a matrix in memory? */
static bool find_strides(const cpu_kernel *k, cpu_matrix *m, LLVMValueRef second)
{
    cpu_shape s = cpu_shape_of(k, m->place);
    if (s.bits != LANE_BITS || s.stride[0] % 2) return false;
    m->column = s.stride[0] / 2;
    m->row = s.stride[1];
    if (s.stride[2] != 2 * m->row || s.stride[4] != 4 * m->row || s.stride[3] != 4 * m->column) return false;
    cpu_canonical a = cpu_canonical_address(k, m->place), b = cpu_canonical_address(k, second);
    int64_t size = (int64_t)LLVMABISizeOfType(k->layout, m->type);
    if (!cpu_canonical_matches(&a, &b) || b.constant - a.constant != m->column) return false;
    if (m->right && m->column != size) return false;
    return size == 4 || m->column == size || m->row == size;
}

static bool is_quiet(const cpu_kernel *k, int from, int to)
{
    for (int v = from; v <= to; v++)
        if (cpu_may_write(&k->values[v])) return false;
    return true;
}

static void look_for_memory(plan *p, cpu_matrix *m)
{
    cpu_kernel *k = p->k;
    LLVMValueRef way[2][6], load[2];
    int first = m->last;
    if (k->variant == LAYOUT_GENERAL || k->blocks[p->block].leader != k->order[0]) return;
    for (int e = 0; e < 2; e++) {
        load[e] = find_load(m->element[e], way[e]);
        if (!load[e] || count_uses(m->element[e]) != m->uses || !cpu_is_plain(load[e])) return;
        for (int i = 0; way[e][i]; i++) {
            const cpu_value *value = cpu_value_of(k, way[e][i]);
            if (value->block != p->block || cpu_shape_copies(&value->shape)) return;
            if (value - k->values < first) first = (int)(value - k->values);
        }
    }
    m->type = LLVMTypeOf(load[0]);
    m->place = LLVMGetOperand(load[0], 0);
    if (LLVMTypeOf(load[1]) != m->type || load[0] == load[1]) return;
    if (!find_strides(k, m, LLVMGetOperand(load[1], 0)) || !is_quiet(k, first, m->last)) return;
    m->direct = true;
    m->align = LLVMGetAlignment(load[0]);
    for (int e = 0; e < 2; e++)
        for (int i = 0; way[e][i]; i++) cpu_value_of(k, way[e][i])->done = true;
}

/* ---- Products of a block ---- */

static cpu_matrix *find_matrix(plan *p, LLVMValueRef a, LLVMValueRef b)
{
    for (cpu_matrix *m = p->matrices; m; m = m->next)
        if (m->element[0] == a && m->element[1] == b) return m;
    cpu_matrix *m = cpu_alloc(&p->k->job, 1, sizeof *m);
    *m = (cpu_matrix){.element = {a, b}, .next = p->matrices};
    return p->matrices = m;
}

static void find_results(plan *p, cpu_product *product)
{
    for (LLVMUseRef use = LLVMGetFirstUse(product->value->ir); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use), index;
        cpu_value *value = cpu_value_of(p->k, user);
        bool plain = LLVMIsAExtractElementInst(user) && value->block == p->block;
        plain = plain && LLVMIsAConstantInt(index = LLVMGetOperand(user, 1));
        uint64_t e = plain ? LLVMConstIntGetZExtValue(index) : 2;
        if (e > 1 || product->result[e]) {
            product->whole = true;
            continue;
        }
        product->result[e] = value;
        value->product = product;
        value->done = true;
    }
}

static void add_product(plan *p, cpu_value *value)
{
    cpu_product *product = cpu_alloc(&p->k->job, 1, sizeof *product);
    LLVMValueRef in[6];
    for (unsigned i = 0; i < 6; i++) in[i] = LLVMGetOperand(value->ir, i);
    *product = (cpu_product){.value = value,
        .left = find_matrix(p, in[0], in[1]),
        .right = find_matrix(p, in[2], in[3]),
        .start = {in[4], in[5]}};
    product->left->left = product->right->right = true;
    product->left->uses++;
    product->right->uses++;
    product->left->last = product->right->last = (int)(value - p->k->values);
    find_results(p, product);
    value->product = product;
    value->done = true;
    if (p->last)
        p->last->following = product;
    else
        p->first = product;
    p->last = product;
}

/* ---- Tiles ---- */

static bool same_lefts(const cpu_product *a, const cpu_product *b)
{
    for (; a && b; a = a->next, b = b->next)
        if (a->left != b->left) return false;
    return !a && !b;
}

/* Does the right operand of `a` lie before that of `b` in the same rows of memory? */
static bool lies_before(const cpu_kernel *k, const cpu_product *a, const cpu_product *b)
{
    if (!a->right->direct || !b->right->direct) return false;
    cpu_canonical x = cpu_canonical_address(k, a->right->place), y = cpu_canonical_address(k, b->right->place);
    return cpu_canonical_matches(&x, &y) && x.constant < y.constant;
}

static const cpu_product *end_of(const cpu_product *chain)
{
    while (chain->next) chain = chain->next;
    return chain;
}

/* Results are kept as rows if each is there. */
static cpu_bundle *bundle_results(plan *p, const cpu_tile *tile)
{
    if (p->k->products_called) return NULL;
    cpu_bundle *bundle = cpu_alloc(&p->k->job, 1, sizeof *bundle);
    bundle->count = tile->count;
    for (int j = 0; j < tile->count; j++) {
        const cpu_product *end = end_of(tile->chain[j]);
        if (end->whole || !end->result[0] || !end->result[1]) return NULL;
        for (int e = 0; e < 2; e++) bundle->member[2 * j + e] = end->result[e];
    }
    for (int i = 0; i < 2 * bundle->count; i++) {
        bundle->member[i]->bundle = bundle;
        bundle->member[i]->place = i;
    }
    return bundle;
}

static void add_tile(plan *p, struct cpu_batch *batch, cpu_product *const *chains, int count)
{
    cpu_tile *tile = cpu_alloc(&p->k->job, 1, sizeof *tile);
    tile->count = count;
    for (int j = 0; j < count; j++) tile->chain[j] = chains[j];
    tile->result = bundle_results(p, tile);
    if (batch->last)
        batch->last->next = tile;
    else
        batch->tiles = tile;
    batch->last = tile;
    p->tiles[p->tile_count++] = tile;
}

/* The products that wait, to be emitted now. */
static struct cpu_batch *make_batch(plan *p)
{
    enum { MOST = 64 };
    if (!p->waiting) return NULL;
    struct cpu_batch *batch = cpu_alloc(&p->k->job, 1, sizeof *batch);
    for (cpu_product *head = p->waiting; head; head = head->following) {
        cpu_product *chains[MOST];
        int count = 0;
        if (head->previous || !head->pending) continue;
        for (cpu_product *other = head; other && count < MOST; other = other->following) {
            if (other->previous || !other->pending || !same_lefts(head, other)) continue;
            other->pending = false;
            int i = count++;
            for (; i > 0 && lies_before(p->k, other, chains[i - 1]); i--) chains[i] = chains[i - 1];
            chains[i] = other;
        }
        for (int from = 0, width; from < count; from += width) {
            for (width = p->most; width > count - from; width /= 2) continue;
            add_tile(p, batch, chains + from, width);
        }
    }
    for (cpu_product *product = p->waiting; product; product = product->following) product->pending = false;
    p->waiting = NULL;
    return batch;
}

/* ---- What waits for what ---- */

static cpu_product *pending_behind(const plan *p, LLVMValueRef ir)
{
    const cpu_value *value = cpu_value_of(p->k, ir);
    return value && value->product && value->product->pending ? value->product : NULL;
}

static bool needs_pending(const plan *p, const cpu_value *value)
{
    int count = LLVMGetNumOperands(value->ir);
    for (int i = 0; i < count; i++)
        if (pending_behind(p, LLVMGetOperand(value->ir, (unsigned)i))) return true;
    return false;
}

/* The product whose sum this one goes on with, and nobody else sees. */
static cpu_product *chained(const plan *p, const cpu_product *product)
{
    cpu_product *before = pending_behind(p, product->start[0]);
    if (!before || before->next || before->whole) return NULL;
    for (int e = 0; e < 2; e++)
        if (!before->result[e] || before->result[e]->ir != product->start[e] || !has_one_use(product->start[e]))
            return NULL;
    return before;
}

static void add_waiting(plan *p, cpu_product *product)
{
    cpu_product *before = chained(p, product);
    bool needs = false;
    for (unsigned i = 0; i < (before ? 4 : 6); i++)
        needs |= pending_behind(p, LLVMGetOperand(product->value->ir, i)) != NULL;
    if (needs) {
        product->value->batch = make_batch(p);
        before = NULL;
    }
    product->pending = true;
    product->previous = before;
    if (before) before->next = product;
    if (!p->waiting) p->waiting = product;
}

static void plan_block(plan *p)
{
    cpu_kernel *k = p->k;
    cpu_block *block = &k->blocks[p->block];
    int end = block->first_value + block->value_count;
    p->matrices = NULL;
    p->first = p->last = p->waiting = NULL;
    for (int v = block->first_value; v < end; v++)
        if (k->values[v].operation.kind == OP_MATRIX_MULTIPLY) add_product(p, &k->values[v]);
    for (cpu_matrix *m = p->matrices; m; m = m->next) look_for_memory(p, m);
    for (int v = block->first_value; p->first && v < end; v++) {
        cpu_value *value = &k->values[v];
        if (LLVMGetInstructionOpcode(value->ir) == LLVMPHI) continue;
        if (value->operation.kind == OP_MATRIX_MULTIPLY)
            add_waiting(p, value->product);
        else if (!value->product && (needs_pending(p, value) || cpu_may_write(value)))
            value->batch = make_batch(p);
    }
    block->batch = make_batch(p);
}

/* ---- Sums round loops ---- */

static bool is_phi_of(const cpu_kernel *k, LLVMValueRef ir, int block)
{
    const cpu_value *value = cpu_value_of(k, ir);
    return value && LLVMGetInstructionOpcode(ir) == LLVMPHI && value->block == block && !value->bundle &&
           !cpu_shape_copies(&value->shape);
}

static LLVMValueRef incoming(const cpu_kernel *k, LLVMValueRef phi, int from)
{
    unsigned count = LLVMCountIncoming(phi);
    for (unsigned i = 0; i < count; i++)
        if (LLVMGetIncomingBlock(phi, i) == k->blocks[from].ir) return LLVMGetIncomingValue(phi, i);
    return NULL;
}

/* Are these phis that can be kept as rows? Different ones, of one block, never blended. */
static bool can_be_bundle(const cpu_kernel *k, const LLVMValueRef *elements, int count)
{
    const cpu_value *first = cpu_value_of(k, elements[0]);
    if (!first) return false;
    const cpu_block *block = &k->blocks[first->block];
    for (int i = 0; i < 2 * count; i++) {
        if (!is_phi_of(k, elements[i], first->block)) return false;
        for (int j = 0; j < i; j++)
            if (elements[i] == elements[j]) return false;
    }
    for (int i = 0; i < block->predecessor_count; i++)
        if (cpu_edge_blends(k, block->predecessors[i], first->block)) return false;
    return true;
}

static bool is_bundle(const cpu_kernel *k, const LLVMValueRef *elements, int count)
{
    const cpu_value *first = cpu_value_of(k, elements[0]);
    if (!first || !first->bundle || first->bundle->count != count) return false;
    for (int i = 0; i < 2 * count; i++)
        if (first->bundle->member[i]->ir != elements[i]) return false;
    return true;
}

/* Do rows come to these phis, over at most `depth` other phis? */
static bool rows_come(const cpu_kernel *k, const LLVMValueRef *elements, int count, int depth)
{
    const cpu_block *block = &k->blocks[cpu_value_of(k, elements[0])->block];
    for (int p = 0; p < block->predecessor_count; p++) {
        LLVMValueRef in[2 * MAX_TILE];
        for (int i = 0; i < 2 * count; i++) in[i] = incoming(k, elements[i], block->predecessors[p]);
        if (is_bundle(k, in, count)) return true;
        if (depth && can_be_bundle(k, in, count) && rows_come(k, in, count, depth - 1)) return true;
    }
    return false;
}

static void keep_as_rows(cpu_kernel *k, const LLVMValueRef *elements, int count)
{
    enum { DEPTH = 4 };
    if (!can_be_bundle(k, elements, count) || !rows_come(k, elements, count, DEPTH)) return;
    cpu_bundle *bundle = cpu_alloc(&k->job, 1, sizeof *bundle);
    bundle->count = count;
    for (int i = 0; i < 2 * count; i++) {
        cpu_value *value = bundle->member[i] = cpu_value_of(k, elements[i]);
        value->bundle = bundle;
        value->place = i;
    }
    const cpu_block *block = &k->blocks[bundle->member[0]->block];
    for (int p = 0; p < block->predecessor_count; p++) {
        LLVMValueRef in[2 * MAX_TILE];
        for (int i = 0; i < 2 * count; i++) in[i] = incoming(k, elements[i], block->predecessors[p]);
        keep_as_rows(k, in, count);
    }
}

void cpu_matrix_plan(cpu_kernel *k)
{
    plan p = {.k = k, .most = k->piece_bytes == 64 ? MAX_TILE : MAX_TILE / 2};
    int products = 0;
    for (int v = 0; v < k->value_count; v++) products += k->values[v].operation.kind == OP_MATRIX_MULTIPLY;
    if (!products) return;
    k->products_called = cpu_products_are_many(k, products);
    p.tiles = cpu_alloc(&k->job, (size_t)products, sizeof *p.tiles);
    for (p.block = 0; p.block < k->block_count; p.block++) plan_block(&p);
    for (int t = 0; t < p.tile_count; t++) {
        LLVMValueRef start[2 * MAX_TILE];
        const cpu_tile *tile = p.tiles[t];
        for (int i = 0; i < 2 * tile->count; i++) start[i] = tile->chain[i / 2]->start[i % 2];
        keep_as_rows(k, start, tile->count);
    }
}
