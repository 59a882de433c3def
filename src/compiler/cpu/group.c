/* Accesses of one block that together cover runs of adjacent elements, done together.
 *
 * Takes the first access of a group; promises the values of all loads of the group, or, at the last store of
 * a group, all stores. Accesses belong together if their addresses differ by constants (address.c), their
 * type is one, and nothing between them can touch the memory. With all lanes active runs are moved by wide
 * accesses (runs.c); else a loop over the active lanes moves each lane's elements, since a wide access would
 * touch bytes of others. The general variant, whose masks are rarely full, leaves groups alone. */
#include "compiler/cpu/memory.h"

enum { MAX_MEMBERS = 128 };

typedef struct member {
    cpu_value *value;
    int64_t delta; /* bytes from the first access in program order */
    unsigned align;
} member;

typedef struct group {
    LLVMTypeRef type, element;
    int size, count;
    LLVMValueRef pointer; /* of the first access */
    cpu_shape shape;
    member members[MAX_MEMBERS]; /* ascending by delta */
    LLVMValueRef rows[LANES];    /* one address per lane, once they are needed */
} group;

/* Members from `first` to `end` - 1, loaded together where the first of them stands in the program. */
struct cpu_pending_run {
    group *group;
    int first, end, run;
    unsigned align;
};

struct cpu_pending_store {
    group group;
    const cpu_value *last;
};

/* A barrier of the SIMD-group alone writes nothing, and nobody else comes between: one thread of the machine runs all
 * its lanes. */
bool cpu_may_write(const cpu_value *value)
{
    LLVMValueRef ir = value->ir;
    switch (LLVMGetInstructionOpcode(ir)) {
    case LLVMStore:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMFence: return true;
    case LLVMLoad: return LLVMGetVolatile(ir) || LLVMGetOrdering(ir) != LLVMAtomicOrderingNotAtomic;
    case LLVMCall: break;
    default: return false;
    }
    if (value->operation.kind == OP_SIMDGROUP_BARRIER) return false;
    if (value->operation.kind != OP_NONE) return !cpu_operation_is_pure(value->operation.kind);
    LLVMValueRef callee = LLVMGetCalledValue(ir);
    if (!LLVMIsAFunction(callee) || !LLVMGetIntrinsicID(callee)) return true;
    return LLVMGetTypeKind(LLVMTypeOf(ir)) == LLVMVoidTypeKind;
}

static void add_member(group *g, cpu_value *value, int64_t delta)
{
    int i = g->count++;
    for (; i > 0 && g->members[i - 1].delta > delta; i--) g->members[i] = g->members[i - 1];
    g->members[i] = (member){value, delta, LLVMGetAlignment(value->ir)};
}

bool cpu_is_plain(LLVMValueRef ir)
{
    return !LLVMGetVolatile(ir) && LLVMGetOrdering(ir) == LLVMAtomicOrderingNotAtomic;
}

static bool start(cpu_kernel *k, group *g, LLVMTypeRef type, LLVMValueRef pointer)
{
    g->type = type;
    g->element = cpu_memory_type(k, type);
    g->size = cpu_memory_size(k, type);
    g->pointer = pointer;
    g->shape = cpu_shape_of(k, pointer);
    return g->size && k->variant != LAYOUT_GENERAL && LLVMGetTypeKind(type) != LLVMPointerTypeKind;
}

/* ---- Runs of a group ---- */

/* The longest power of two of members that lie side by side from number i on. */
static int run_at(const group *g, int i, unsigned *align)
{
    int most = 64 / g->size, length = 1, run = 1;
    if (most > 32) most = 32;
    while (i + length < g->count && length < most &&
           g->members[i + length].delta == g->members[i].delta + length * g->size)
        length++;
    while (run * 2 <= length) run *= 2;
    *align = g->members[i].align;
    for (int j = 1; j < run; j++)
        if (g->members[i + j].align < *align) *align = g->members[i + j].align;
    return run;
}

static cpu_run describe(const group *g, int i, int run, unsigned align, int lanes)
{
    return (cpu_run){.element = g->element,
        .size = g->size,
        .run = run,
        .lanes = lanes,
        .first = g->members[i].delta,
        .align = align,
        .shape = &g->shape};
}

static const LLVMValueRef *row_addresses(cpu_kernel *k, group *g)
{
    LLVMValueRef *rows = g->rows;
    if (rows[0]) return rows;
    LLVMValueRef addresses = cpu_vector(k, g->pointer);
    for (int lane = 0; lane < LANES; lane++) {
        int first = lane >> g->shape.bits << g->shape.bits;
        rows[lane] = lane == first
                         ? LLVMBuildExtractElement(k->builder, addresses, cpu_int(k->i32, (uint64_t)lane), "")
                         : cpu_at(k, rows[first], cpu_shape_offset(&g->shape, lane - first));
    }
    return rows;
}

/* Is the half used as a float only, and in its block? */
static bool only_widened(const cpu_kernel *k, const cpu_value *value)
{
    if (LLVMGetTypeKind(LLVMTypeOf(value->ir)) != LLVMHalfTypeKind || k->mask != k->all || k->options->debug)
        return false;
    for (LLVMUseRef use = LLVMGetFirstUse(value->ir); use; use = LLVMGetNextUse(use)) {
        const cpu_value *user = cpu_value_of(k, LLVMGetUser(use));
        if (!user || !LLVMIsAFPExtInst(user->ir) || LLVMTypeOf(user->ir) != k->f32 || user->done ||
            user->copies || user->block != value->block)
            return false;
    }
    return true;
}

/* The run from member `first` on, and what reads its last element again. */
static bool run_is_widened(const cpu_kernel *k, const group *g, int first, int run)
{
    for (int i = first; i < g->count; i++) {
        if (i >= first + run && g->members[i].delta != g->members[i - 1].delta) break;
        if (!only_widened(k, g->members[i].value)) return false;
    }
    return true;
}

static void define_widened(cpu_kernel *k, const cpu_value *value, LLVMValueRef floats)
{
    for (LLVMUseRef use = LLVMGetFirstUse(value->ir); use; use = LLVMGetNextUse(use)) {
        cpu_value *user = cpu_value_of(k, LLVMGetUser(use));
        user->done = true;
        cpu_define(k, user, 0, floats);
    }
}

static void note_members(cpu_kernel *k, const group *g, int first, int end, cpu_decision decision)
{
    for (int i = first; i < end; i++) cpu_note(k, g->members[i].value, decision);
}

/* The run of `run` members from number i on with all lanes, into `values`: vectors of the memory type, or of floats that halves
 * became. */
static void load_run(cpu_kernel *k, group *g, int i, int run, unsigned align, LLVMValueRef *values)
{
    int copies = cpu_shape_copies(&g->shape);
    cpu_run r = describe(g, i, run, align, copies ? LANES / copies : LANES);
    r.widen = run_is_widened(k, g, i, run);
    if (!copies && run == 1 && g->size >= 4) {
        LLVMValueRef at = cpu_at(k, cpu_vector(k, g->pointer), g->members[i].delta);
        values[0] = cpu_gather(k, g->element, at, k->all, align);
        return;
    }
    if (!copies) {
        r.rows = row_addresses(k, g);
        cpu_run_load(k, &r, values);
        return;
    }
    LLVMValueRef parts[MAX_COPIES][32];
    for (int c = 0; c < copies; c++) {
        r.base = cpu_scalar(k, g->pointer, c, copies);
        cpu_run_load(k, &r, parts[c]);
    }
    for (int e = 0; e < run; e++) {
        LLVMValueRef joined[MAX_COPIES];
        for (int c = 0; c < copies; c++) joined[c] = parts[c][e];
        values[e] = cpu_concat(k, joined, copies, LANES / copies);
    }
}

/* Number of the first member behind the run, which takes those in that read its last element again. */
static int end_of_run(const group *g, int first, int run)
{
    int end = first + run;
    while (end < g->count && g->members[end].delta == g->members[end - 1].delta) end++;
    return end;
}

static cpu_decision decision_of(const group *g, int run)
{
    if (cpu_shape_copies(&g->shape)) return CPU_INTERLEAVED;
    return run > 1 ? CPU_ROWS : g->size >= 4 ? CPU_GATHER : CPU_LANES;
}

static struct cpu_pending_run next_run(group *g, int first)
{
    struct cpu_pending_run p = {.group = g, .first = first};
    p.run = run_at(g, first, &p.align);
    p.end = end_of_run(g, first, p.run);
    return p;
}

/* The members of one run, into `values`. */
static void load_members(cpu_kernel *k, const struct cpu_pending_run *p, LLVMValueRef *values)
{
    load_run(k, p->group, p->first, p->run, p->align, values);
    for (int e = p->run; e < p->end - p->first; e++) values[e] = values[p->run - 1];
    note_members(k, p->group, p->first, p->end, decision_of(p->group, p->run));
}

static void load_whole(cpu_kernel *k, group *g, LLVMValueRef *values)
{
    for (int i = 0; i < g->count;) {
        struct cpu_pending_run p = next_run(g, i);
        load_members(k, &p, values + i);
        i = p.end;
    }
}

static void store_whole(cpu_kernel *k, const group *g, const LLVMValueRef *data)
{
    int copies = cpu_shape_copies(&g->shape), lanes = LANES / copies;
    for (int i = 0; i < g->count;) {
        unsigned align;
        int run = run_at(g, i, &align);
        for (int c = 0; c < copies; c++) {
            cpu_run r = describe(g, i, run, align, lanes);
            LLVMValueRef part[32];
            r.base = cpu_scalar(k, g->pointer, c, copies);
            for (int e = 0; e < run; e++) part[e] = cpu_slice(k, data[i + e], c * lanes, lanes);
            cpu_run_store(k, &r, part);
        }
        note_members(k, g, i, i + run, CPU_INTERLEAVED);
        i += run;
    }
}

/* ---- Lane by lane ---- */

typedef struct lanewise {
    const group *group;
    LLVMValueRef addresses, memory[MAX_MEMBERS];
    bool store;
} lanewise;

static void move_lane(cpu_kernel *k, LLVMValueRef lane, void *data)
{
    lanewise *w = data;
    const group *g = w->group;
    LLVMValueRef address = cpu_spilled_lane(k, w->addresses, LLVMTypeOf(g->pointer), lane);
    for (int i = 0; i < g->count; i++) {
        LLVMValueRef at = cpu_at(k, address, g->members[i].delta);
        if (w->store)
            cpu_store_at(k, cpu_spilled_lane(k, w->memory[i], g->element, lane), at, g->members[i].align);
        else
            cpu_set_spilled_lane(k, w->memory[i], cpu_load_at(k, g->element, at, g->members[i].align), lane);
    }
}

static LLVMBasicBlockRef branch_on_full_mask(cpu_kernel *k, LLVMBasicBlockRef *part)
{
    LLVMBasicBlockRef whole = cpu_new_block(k, "group.all"), end = cpu_new_block(k, "group.end");
    *part = cpu_new_block(k, "group.part");
    LLVMBuildCondBr(k->builder, cpu_mask_all(k, k->mask), whole, *part);
    LLVMPositionBuilderAtEnd(k->builder, whole);
    return end;
}

static void load_under_mask(cpu_kernel *k, group *g, LLVMValueRef *values)
{
    LLVMBasicBlockRef part, end, from[2];
    LLVMTypeRef type = cpu_vector_type(k, g->element);
    lanewise w = {.group = g};
    LLVMValueRef slow[MAX_MEMBERS];
    end = branch_on_full_mask(k, &part);
    load_whole(k, g, values);
    from[0] = LLVMGetInsertBlock(k->builder);
    LLVMBuildBr(k->builder, end);
    LLVMPositionBuilderAtEnd(k->builder, part);
    w.addresses = cpu_spill(k, cpu_vector(k, g->pointer));
    for (int i = 0; i < g->count; i++) w.memory[i] = cpu_spill_room(k, g->element);
    cpu_lane_loop(k, k->mask, move_lane, &w);
    for (int i = 0; i < g->count; i++) slow[i] = cpu_unspill(k, w.memory[i], g->element);
    from[1] = LLVMGetInsertBlock(k->builder);
    LLVMBuildBr(k->builder, end);
    LLVMPositionBuilderAtEnd(k->builder, end);
    for (int i = 0; i < g->count; i++) {
        LLVMValueRef phi = LLVMBuildPhi(k->builder, type, ""), in[2] = {values[i], slow[i]};
        LLVMAddIncoming(phi, in, from, 2);
        values[i] = phi;
    }
}

static void store_under_mask(cpu_kernel *k, const group *g, const LLVMValueRef *data)
{
    LLVMBasicBlockRef part, end;
    lanewise w = {.group = g, .store = true};
    end = branch_on_full_mask(k, &part);
    store_whole(k, g, data);
    LLVMBuildBr(k->builder, end);
    LLVMPositionBuilderAtEnd(k->builder, part);
    w.addresses = cpu_spill(k, cpu_vector(k, g->pointer));
    for (int i = 0; i < g->count; i++) w.memory[i] = cpu_spill(k, data[i]);
    cpu_lane_loop(k, k->mask, move_lane, &w);
    LLVMBuildBr(k->builder, end);
    LLVMPositionBuilderAtEnd(k->builder, end);
}

/* ---- The two entries ---- */

static void define_members(cpu_kernel *k, const group *g, int first, int end, const LLVMValueRef *values)
{
    for (int i = first; i < end; i++) {
        cpu_value *value = g->members[i].value;
        LLVMValueRef vector = values[i - first];
        value->done = true;
        if (LLVMGetElementType(LLVMTypeOf(vector)) == k->f32 && g->element != k->f32)
            define_widened(k, value, vector);
        else
            cpu_define(k, value, 0, cpu_cast_vector(k, vector, g->type));
    }
}

static void load_pending(cpu_kernel *k, const struct cpu_pending_run *p)
{
    LLVMValueRef values[MAX_MEMBERS];
    load_members(k, p, values);
    define_members(k, p->group, p->first, p->end, values);
}

/* Each run is loaded where it is needed first, lest all wait in registers for their turn. */
static void plan_runs(cpu_kernel *k, const group *found)
{
    group *g = cpu_alloc(&k->job, 1, sizeof *g);
    *g = *found;
    for (int i = 0; i < g->count;) {
        struct cpu_pending_run *p = cpu_alloc(&k->job, 1, sizeof *p);
        *p = next_run(g, i);
        for (; i < p->end; i++) g->members[i].value->pending_run = p;
    }
}

bool cpu_group_load(cpu_kernel *k, cpu_value *value)
{
    if (value->pending_run) {
        load_pending(k, value->pending_run);
        return true;
    }
    group g = {0};
    LLVMValueRef pointer = LLVMGetOperand(value->ir, 0);
    if (!start(k, &g, LLVMTypeOf(value->ir), pointer)) return false;
    bool rows = !cpu_shape_copies(&g.shape);
    if (!rows && !cpu_shape_has_stride(&g.shape)) return false;
    cpu_canonical first = cpu_canonical_address(k, pointer);
    const cpu_block *block = &k->blocks[value->block];
    const cpu_value *end = k->values + block->first_value + block->value_count;
    for (cpu_value *v = value; v < end && g.count < MAX_MEMBERS; v++) {
        if (v != value && cpu_may_write(v)) break;
        if (LLVMGetInstructionOpcode(v->ir) != LLVMLoad || LLVMTypeOf(v->ir) != g.type) continue;
        if (!cpu_is_plain(v->ir) || v->done || v->copies || v->pending_run) continue;
        cpu_canonical other = cpu_canonical_address(k, LLVMGetOperand(v->ir, 0));
        if (cpu_canonical_matches(&first, &other)) add_member(&g, v, other.constant - first.constant);
    }
    if (rows && g.count < 2 && (g.size >= 4 || k->mask != k->all)) return false;
    if (k->mask == k->all) {
        plan_runs(k, &g);
        load_pending(k, value->pending_run);
        return true;
    }
    LLVMValueRef values[MAX_MEMBERS];
    load_under_mask(k, &g, values);
    define_members(k, &g, 0, g.count, values);
    return true;
}

static void emit_stores(cpu_kernel *k, const group *g)
{
    LLVMValueRef data[MAX_MEMBERS];
    for (int i = 0; i < g->count; i++)
        data[i] = cpu_cast_vector(k, cpu_vector(k, LLVMGetOperand(g->members[i].value->ir, 0)), g->element);
    if (k->mask == k->all)
        store_whole(k, g, data);
    else
        store_under_mask(k, g, data);
}

/* Same bytes twice: the order would matter. */
static bool overlaps(const group *g, int64_t delta)
{
    for (int i = 0; i < g->count; i++)
        if (delta > g->members[i].delta - g->size && delta < g->members[i].delta + g->size) return true;
    return false;
}

bool cpu_group_store(cpu_kernel *k, cpu_value *value)
{
    if (k->pending_store && k->pending_store->last == value) {
        emit_stores(k, &k->pending_store->group);
        k->pending_store = NULL;
        return true;
    }
    struct cpu_pending_store *p = cpu_alloc(&k->job, 1, sizeof *p);
    group *g = &p->group;
    LLVMValueRef pointer = LLVMGetOperand(value->ir, 1);
    if (!start(k, g, LLVMTypeOf(LLVMGetOperand(value->ir, 0)), pointer)) return false;
    if (!cpu_shape_copies(&g->shape)) return false;
    for (int b = 0; b < g->shape.bits; b++)
        if (!g->shape.stride[b]) return false;
    cpu_canonical first = cpu_canonical_address(k, pointer);
    const cpu_block *block = &k->blocks[value->block];
    cpu_value *end = k->values + block->first_value + block->value_count;
    for (cpu_value *v = value; v < end && g->count < MAX_MEMBERS / 2; v++) {
        LLVMOpcode opcode = LLVMGetInstructionOpcode(v->ir);
        if (opcode == LLVMLoad) break;
        if (opcode != LLVMStore) {
            if (cpu_may_write(v)) break;
            continue;
        }
        if (!cpu_is_plain(v->ir) || LLVMTypeOf(LLVMGetOperand(v->ir, 0)) != g->type) break;
        cpu_canonical other = cpu_canonical_address(k, LLVMGetOperand(v->ir, 1));
        int64_t delta = other.constant - first.constant;
        if (!cpu_canonical_matches(&first, &other) || overlaps(g, delta)) break;
        add_member(g, v, delta);
        p->last = v;
    }
    if (g->count == 1) {
        emit_stores(k, g);
        return true;
    }
    for (int i = 0; i < g->count; i++) g->members[i].value->done = g->members[i].value != p->last;
    k->pending_store = p;
    return true;
}
