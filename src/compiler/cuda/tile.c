/* Operands of products that are loaded from memory, in the order that tensor cores want.
 *
 * Matrices are loaded by lane: lane h takes elements (row(h), column(h)) and (row(h), column(h) + 1), and
 * row and column are calls of functions until this pass is done. So how an address depends on them can be
 * read off it, and the address of another element is the same computation with other numbers for row and
 * column; that all lanes give the same base is a rule of the language.
 *
 *     halves in threadgroup memory   ldmatrix, up to four matrices at a time, where rows are contiguous and known
 *                                    to begin at multiples of 16; by columns where it is only a right operand
 *     right operand of which         each lane loads the two elements of its column
 *     columns are contiguous
 *     two matrices of halves in      each lane loads 8 bytes of one of them, and gets its part of the other from its neighbour
 *     device memory, side by side
 *     four products in a chain       each lane loads 16 bytes of its row and of its column, where rows of the left
 *                                    operands and columns of the right ones are contiguous and neighbours: other
 *                                    elements, but the same of both, so that the sum has its terms in another order
 *
 * They save the transposition of a right operand. All operands of an instruction are loaded by the first of
 * their loads; nothing that may write memory stands between them. */
#include "compiler/cuda/steps.h"

#include <llvm-c/Target.h>
#include <stdlib.h>
#include <string.h>

#define ROW "tombac_cuda." CUDA_ROW
#define COLUMN "tombac_cuda." CUDA_COLUMN

enum { MAX_TILES = 256, MAX_DEPTH = 24, SIZE = 2, PIECE_ZEROS = 4, MOST = 4, LINE = 128 };

typedef struct tile {
    LLVMValueRef load[2], base; /* base + offset: the address of the first */
    int64_t offset;
    bool by_columns;  /* these are contiguous, not the rows */
    bool left, right; /* used as such; anything else counts as left */
    bool done;
    int epoch;            /* loads in the same one see the same memory */
    LLVMValueRef columns; /* two halves of a column, packed */
} tile;

struct cuda_tiles {
    ir_kernel *kernel;
    const char *kinds;
    LLVMTargetDataRef layout;
    LLVMBuilderRef builder;
    LLVMTypeRef i8, half, i32, i64;
    tile list[MAX_TILES];
    size_t count;
    LLVMValueRef row, column; /* of the address that is being built anew */
    unsigned mark;            /* kind of metadata */
    bool marked;
};

/* ---- How addresses depend on row and column ---- */

static bool is_call(LLVMValueRef value, const char *name)
{
    LLVMValueRef callee = LLVMIsAInstruction(value) ? ir_callee(value) : NULL;
    size_t length;
    return callee && !strcmp(LLVMGetValueName2(callee, &length), name);
}

/* Whatever is computed from row and column carries a mark. */
static bool depends(const cuda_tiles *t, LLVMValueRef value)
{
    return LLVMIsAInstruction(value) && LLVMGetMetadata(value, t->mark);
}

static void mark_instruction(LLVMValueRef value, void *context)
{
    cuda_tiles *t = context;
    if (depends(t, value)) return;
    bool marked = is_call(value, ROW) || is_call(value, COLUMN);
    for (int i = 0; i < LLVMGetNumOperands(value) && !marked; i++)
        marked = depends(t, LLVMGetOperand(value, (unsigned)i));
    if (!marked) return;
    LLVMMetadataRef nothing = LLVMMDNodeInContext2(t->kernel->context, NULL, 0);
    LLVMSetMetadata(value, t->mark, LLVMMetadataAsValue(t->kernel->context, nothing));
    t->marked = true;
}

static void mark(cuda_tiles *t)
{
    do {
        t->marked = false;
        ir_visit(t->kernel->function, mark_instruction, t);
    } while (t->marked);
}

static bool constant_of(LLVMValueRef value, int64_t *constant)
{
    if (!value || !LLVMIsAConstantInt(value) || LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64) return false;
    *constant = LLVMConstIntGetSExtValue(value);
    return true;
}

/* By how much `value` grows with each step of the call `name`; false if that is no constant. `any`: whether
 * it depends on it. */
static bool growth(const cuda_tiles *t, LLVMValueRef value, const char *name, int64_t *by, int depth)
{
    *by = 0;
    if (!depends(t, value)) return true;
    if (is_call(value, ROW) || is_call(value, COLUMN)) {
        *by = is_call(value, name);
        return true;
    }
    if (depth >= MAX_DEPTH) return false;
    int64_t x = 0, y = 0, constant = 0;
    LLVMValueRef a = LLVMGetOperand(value, 0),
                 b = LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
    if (!growth(t, a, name, &x, depth + 1) || (b && !growth(t, b, name, &y, depth + 1))) return false;
    if (!x && !y) return true;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMZExt:
    case LLVMSExt: *by = x; return is_call(a, name); /* sums could wrap */
    case LLVMAdd: *by = x + y; return true;
    case LLVMMul:
        if (!constant_of(y ? a : b, &constant)) return false;
        *by = (y ? y : x) * constant;
        return !x || !y;
    case LLVMShl:
        *by = constant_of(b, &constant) && constant >= 0 && constant < 32 ? x * (INT64_C(1) << constant) : 0;
        return *by != 0;
    case LLVMGetElementPtr:
        if (LLVMGetNumIndices(value) != 1) return false;
        *by = x + y * (int64_t)LLVMABISizeOfType(t->layout, LLVMGetGEPSourceElementType(value));
        return true;
    default: return false;
    }
}

static LLVMValueRef strip(const cuda_tiles *t, LLVMValueRef address, int64_t *offset)
{
    *offset = 0;
    int64_t index;
    while (LLVMIsAGetElementPtrInst(address) && LLVMGetNumIndices(address) == 1 &&
           constant_of(LLVMGetOperand(address, 1), &index)) {
        *offset += index * (int64_t)LLVMABISizeOfType(t->layout, LLVMGetGEPSourceElementType(address));
        address = LLVMGetOperand(address, 0);
    }
    return address;
}

/* ---- Finding ---- */

static bool is_plain_load(const cuda_tiles *t, LLVMValueRef value)
{
    return LLVMIsALoadInst(value) && LLVMTypeOf(value) == t->half && !LLVMGetVolatile(value) &&
           LLVMGetOrdering(value) == LLVMAtomicOrderingNotAtomic;
}

static LLVMValueRef loaded(const cuda_tiles *t, LLVMValueRef operand)
{
    if (!LLVMIsAInstruction(operand) || LLVMGetInstructionOpcode(operand) != LLVMFPExt) return NULL;
    LLVMValueRef value = LLVMGetOperand(operand, 0);
    return is_plain_load(t, value) ? value : NULL;
}

/* Calls that write nothing and order nothing. */
static bool is_silent(LLVMValueRef call)
{
    LLVMValueRef callee = ir_callee(call);
    if (cuda_is_product(call) || (callee && ir_name_starts(callee, CUDA_LDMATRIX))) return true;
    LLVMAttributeRef memory = callee ? LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex,
                                           LLVMGetEnumAttributeKindForName("memory", 6))
                                     : NULL;
    return memory && LLVMGetEnumAttributeValue(memory) == 0;
}

static int epoch_of(LLVMValueRef load)
{
    int epoch = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetInstructionParent(load)); i != load;
        i = LLVMGetNextInstruction(i)) {
        LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
        epoch += opcode == LLVMStore || opcode == LLVMFence || opcode == LLVMAtomicRMW ||
                 opcode == LLVMAtomicCmpXchg || (opcode == LLVMCall && !is_silent(i));
    }
    return epoch;
}

static bool describe(const cuda_tiles *t, tile *made, LLVMValueRef first, LLVMValueRef second)
{
    int64_t offset, rows, columns;
    *made = (tile){.load = {first, second}};
    made->base = strip(t, LLVMGetOperand(first, 0), &made->offset);
    if (strip(t, LLVMGetOperand(second, 0), &offset) != made->base) return false;
    if (!growth(t, made->base, ROW, &rows, 0)) rows = -1;
    if (!growth(t, made->base, COLUMN, &columns, 0) || offset - made->offset != columns) return false;
    made->by_columns = rows == SIZE;
    return made->by_columns != (columns == SIZE);
}

static void note(cuda_tiles *t, LLVMValueRef product, bool right)
{
    LLVMValueRef first = loaded(t, LLVMGetOperand(product, right ? 2 : 0)),
                 second = loaded(t, LLVMGetOperand(product, right ? 3 : 1));
    LLVMBasicBlockRef block = LLVMGetInstructionParent(product);
    if (!first || !second || first == second) return;
    if (LLVMGetInstructionParent(first) != block || LLVMGetInstructionParent(second) != block) return;
    tile *found = NULL, made;
    for (size_t i = 0; i < t->count && !found; i++)
        if (t->list[i].load[0] == first && t->list[i].load[1] == second) found = &t->list[i];
    if (!found) {
        if (t->count == MAX_TILES || !describe(t, &made, first, second)) return;
        made.epoch = epoch_of(first);
        if (epoch_of(second) != made.epoch) return;
        found = &t->list[t->count++];
        *found = made;
    }
    found->left |= !right;
    found->right |= right;
}

/* Anything but right operands of products, in their places. */
static bool has_other_uses(const tile *x)
{
    for (unsigned part = 0; part < 2; part++) {
        for (LLVMUseRef use = LLVMGetFirstUse(x->load[part]); use; use = LLVMGetNextUse(use)) {
            LLVMValueRef extended = LLVMGetUser(use);
            if (LLVMGetInstructionOpcode(extended) != LLVMFPExt) return true;
            for (LLVMUseRef u = LLVMGetFirstUse(extended); u; u = LLVMGetNextUse(u)) {
                LLVMValueRef product = LLVMGetUser(u);
                if (!cuda_is_product(product)) return true;
                for (int i = 0; i < LLVMGetNumOperands(product); i++)
                    if (LLVMGetOperand(product, (unsigned)i) == extended && i != 2 + (int)part) return true;
            }
        }
    }
    return false;
}

/* ---- Addresses of other elements ---- */

static LLVMValueRef rebuild(cuda_tiles *t, LLVMValueRef value, int depth)
{
    if (!depends(t, value) || depth > MAX_DEPTH) return value;
    if (is_call(value, ROW)) return t->row;
    if (is_call(value, COLUMN)) return t->column;
    LLVMValueRef operands[8];
    unsigned count = (unsigned)LLVMGetNumOperands(value);
    for (unsigned i = 0; i < count && i < 8; i++)
        operands[i] = rebuild(t, LLVMGetOperand(value, i), depth + 1);
    LLVMValueRef made = LLVMInstructionClone(value);
    LLVMInsertIntoBuilder(t->builder, made);
    for (unsigned i = 0; i < count && i < 8; i++) LLVMSetOperand(made, i, operands[i]);
    return made;
}

static LLVMValueRef number(const cuda_tiles *t, int64_t x)
{
    return LLVMConstInt(t->i32, (uint64_t)x, true);
}

static LLVMValueRef address_at(cuda_tiles *t, LLVMValueRef base, LLVMValueRef offset)
{
    LLVMValueRef wide = LLVMBuildIntCast2(t->builder, offset, t->i64, true, "");
    return LLVMBuildGEP2(t->builder, t->i8, base, &wide, 1, "");
}

static LLVMValueRef hardware_lane(cuda_tiles *t)
{
    LLVMValueRef thread =
        ir_build_intrinsic(t->builder, t->kernel->module, "llvm.nvvm.read.ptx.sreg.tid.x", NULL, 0, NULL, 0);
    return LLVMBuildAnd(t->builder, thread, number(t, 31), "");
}

/* What lane h adds to the address of the first matrix for its own, number h / 8: their offsets, two of them
 * at a time. */
static LLVMValueRef distance(cuda_tiles *t, LLVMValueRef lane, tile *const *group, unsigned count)
{
    LLVMValueRef sums[2];
    int64_t first = group[0]->offset;
    for (unsigned i = 0; i < count / 2; i++) {
        LLVMValueRef odd =
            LLVMBuildAnd(t->builder, LLVMBuildLShr(t->builder, lane, number(t, 3), ""), number(t, 1), "");
        int64_t step = group[2 * i + 1]->offset - group[2 * i]->offset;
        sums[i] = LLVMBuildAdd(t->builder, LLVMBuildMul(t->builder, odd, number(t, step), ""),
            number(t, group[2 * i]->offset - first), "");
    }
    if (count == 1) return number(t, 0);
    if (count == 2) return sums[0];
    LLVMValueRef high =
        LLVMBuildAnd(t->builder, LLVMBuildLShr(t->builder, lane, number(t, 4), ""), number(t, 1), "");
    int64_t step = group[2]->offset - first;
    if (group[3]->offset - group[2]->offset == group[1]->offset - first)
        return LLVMBuildAdd(t->builder, sums[0], LLVMBuildMul(t->builder, high, number(t, step), ""), "");
    LLVMValueRef upper = LLVMBuildICmp(t->builder, LLVMIntNE, high, number(t, 0), "");
    return LLVMBuildSelect(t->builder, upper, sums[1], sums[0], "");
}

/* ---- Which operands go together ---- */

static LLVMValueRef only_user(LLVMValueRef value)
{
    LLVMUseRef use = LLVMGetFirstUse(value);
    return use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
}

/* The product that takes the whole result as its accumulator, if nothing else uses it. */
static LLVMValueRef next_in_chain(LLVMValueRef product)
{
    LLVMValueRef next = NULL;
    unsigned parts = 0;
    for (LLVMUseRef use = LLVMGetFirstUse(product); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef part = LLVMGetUser(use);
        if (!LLVMIsAExtractElementInst(part) || !LLVMIsAConstantInt(LLVMGetOperand(part, 1))) return NULL;
        unsigned index = (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(part, 1));
        LLVMValueRef user = only_user(part);
        if (!user || !cuda_is_product(user) || (next && user != next) || index > 1) return NULL;
        if (LLVMGetOperand(user, 4 + index) != part) return NULL;
        parts |= 1u << index;
        next = user;
    }
    return parts == 3 && LLVMGetInstructionParent(next) == LLVMGetInstructionParent(product) ? next : NULL;
}

static tile *operand_of(cuda_tiles *t, LLVMValueRef product, bool right)
{
    LLVMValueRef first = product ? loaded(t, LLVMGetOperand(product, right ? 2 : 0)) : NULL,
                 second = product ? loaded(t, LLVMGetOperand(product, right ? 3 : 1)) : NULL;
    for (size_t i = 0; first && second && i < t->count; i++)
        if (t->list[i].load[0] == first && t->list[i].load[1] == second) return &t->list[i];
    return NULL;
}

/* The first product from `start` on with this operand; with the same other operand as `like`, if there is one. */
static LLVMValueRef product_with(cuda_tiles *t, LLVMValueRef start, const tile *x, bool right, LLVMValueRef like)
{
    for (LLVMValueRef i = start; i; i = LLVMGetNextInstruction(i)) {
        if (!cuda_is_product(i)) continue;
        bool same = !like || (LLVMGetOperand(i, right ? 0 : 2) == LLVMGetOperand(like, right ? 0 : 2) &&
                                 LLVMGetOperand(i, right ? 1 : 3) == LLVMGetOperand(like, right ? 1 : 3));
        if (same && (like ? operand_of(t, i, right) != x : operand_of(t, i, right) == x)) return i;
    }
    return NULL;
}

/* Appends `x` if it can be loaded with the others. */
static bool take(tile **group, unsigned *count, tile *x)
{
    if (!x || x->done || x->by_columns || *count == MOST) return false;
    for (unsigned i = 0; i < *count; i++)
        if (group[i] == x) return false;
    if (*count && (x->base != group[0]->base || x->epoch != group[0]->epoch || x->left != group[0]->left)) return false;
    group[(*count)++] = x;
    return true;
}

/* What the instructions of matrix.c take together, in their order: left operands of two products with the same right one, then those of
 * the next in their chains; right operands of a product and of the next, then those of another with the same left ones. So what is
 * loaded lies in the registers where it is wanted. */
static void take_neighbours(cuda_tiles *t, tile **group, unsigned *count, tile *x)
{
    LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetInstructionParent(x->load[0]));
    bool right = !x->left;
    if (!take(group, count, x)) return;
    LLVMValueRef one = product_with(t, first, x, right, NULL);
    LLVMValueRef two = one ? product_with(t, LLVMGetNextInstruction(one), x, right, one) : NULL;
    LLVMValueRef next[2] = {one ? next_in_chain(one) : NULL, two ? next_in_chain(two) : NULL};
    tile *second = operand_of(t, right ? next[0] : two, right), *third = operand_of(t, right ? two : next[0], right),
         *fourth = operand_of(t, next[1], right);
    if (!take(group, count, second) || *count + 2 > MOST) return;
    if (take(group, count, third) && !take(group, count, fourth)) --*count;
}

/* ---- Loading ---- */

static LLVMValueRef half_of(cuda_tiles *t, LLVMValueRef packed, unsigned part)
{
    LLVMValueRef halves = LLVMBuildBitCast(t->builder, packed, LLVMVectorType(t->half, 2), "");
    return LLVMBuildExtractElement(t->builder, halves, number(t, part), "");
}

/* The first of the group's loads in their block. */
static LLVMValueRef first_load(tile *const *group, unsigned count)
{
    LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetInstructionParent(group[0]->load[0]));
    for (;; i = LLVMGetNextInstruction(i))
        for (unsigned n = 0; n < count; n++)
            if (i == group[n]->load[0] || i == group[n]->load[1]) return i;
}

/* `count` (1, 2 or 4) matrices with one base by one instruction; false if rows are not known to be aligned. */
static bool load_group(cuda_tiles *t, tile *const *group, unsigned count, bool by_columns)
{
    static const char *const names[2][MOST + 1] = {
        {NULL, CUDA_LDMATRIX ".m8n8.x1.b16", CUDA_LDMATRIX ".m8n8.x2.b16", NULL,
            CUDA_LDMATRIX ".m8n8.x4.b16"},
        {NULL, CUDA_LDMATRIX ".m8n8.x1.trans.b16", CUDA_LDMATRIX ".m8n8.x2.trans.b16", NULL,
            CUDA_LDMATRIX ".m8n8.x4.trans.b16"}};
    LLVMPositionBuilderBefore(t->builder, first_load(group, count));
    LLVMValueRef lane = hardware_lane(t);
    t->row = LLVMBuildAnd(t->builder, lane, number(t, 7), "");
    t->column = number(t, 0);
    LLVMValueRef base = rebuild(t, group[0]->base, 0);
    LLVMValueRef address = address_at(t, base, distance(t, lane, group, count));
    address = address_at(t, address, number(t, group[0]->offset));
    if (cuda_known_zeros(t->kernel, t->kinds, address) < PIECE_ZEROS) return false;
    LLVMTypeRef type = LLVMTypeOf(address);
    LLVMValueRef all =
        ir_build_intrinsic(t->builder, t->kernel->module, names[by_columns][count], &type, 1, &address, 1);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef packed = count == 1 ? all : LLVMBuildExtractValue(t->builder, all, i, "");
        group[i]->done = true;
        if (by_columns) {
            group[i]->columns = packed;
            continue;
        }
        for (unsigned part = 0; part < 2; part++)
            LLVMReplaceAllUsesWith(group[i]->load[part], half_of(t, packed, part));
    }
    return true;
}

static bool is_in(const tile *x, unsigned space)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(x->load[0], 0))) == space;
}

static void load_rows(cuda_tiles *t, size_t from)
{
    tile *group[MOST];
    unsigned count = 0;
    take_neighbours(t, group, &count, &t->list[from]);
    for (size_t i = from + 1; i < t->count && count < MOST; i++) {
        if (count == 2)
            take_neighbours(t, group, &count, &t->list[i]);
        else
            take(group, &count, &t->list[i]);
    }
    if (count == 3) count = 2;
    group[0]->done = true;
    load_group(t, group, count, !group[0]->left);
}

/* Two matrices of one base by 8 bytes for each lane instead of twice 4: of four lanes with the same row two load that of each matrix, and
 * then give each other what they have of the other's columns. */
static void load_pair(cuda_tiles *t, tile *const *pair)
{
    LLVMBuilderRef b = t->builder;
    LLVMTypeRef type = LLVMFunctionType(t->i32, NULL, 0, false);
    LLVMPositionBuilderBefore(b, first_load(pair, 2));
    LLVMValueRef column = LLVMBuildCall2(b, type, LLVMGetNamedFunction(t->kernel->module, COLUMN), NULL, 0, "");
    LLVMValueRef second = LLVMBuildAnd(b, LLVMBuildLShr(b, column, number(t, 1), ""), number(t, 1), "");
    t->row = LLVMBuildCall2(b, type, LLVMGetNamedFunction(t->kernel->module, ROW), NULL, 0, "");
    t->column = LLVMBuildAnd(b, column, number(t, 4), "");
    LLVMValueRef base = rebuild(t, pair[0]->base, 0), words[2];
    LLVMValueRef address = address_at(t, base, distance(t, LLVMBuildShl(b, second, number(t, 3), ""), pair, 2));
    for (unsigned i = 0; i < 2; i++) {
        words[i] = LLVMGetUndef(LLVMVectorType(t->half, 2));
        for (unsigned part = 0; part < 2; part++) {
            int64_t offset = pair[0]->offset + SIZE * (int64_t)(2 * i + part);
            LLVMValueRef made = LLVMBuildLoad2(b, t->half, address_at(t, address, number(t, offset)), "");
            LLVMSetAlignment(made, SIZE);
            words[i] = LLVMBuildInsertElement(b, words[i], made, number(t, part), "");
        }
        words[i] = LLVMBuildBitCast(b, words[i], t->i32, "");
    }
    LLVMValueRef is_second = LLVMBuildICmp(b, LLVMIntNE, second, number(t, 0), "");
    LLVMValueRef operands[4] = {LLVMConstAllOnes(t->i32), LLVMBuildSelect(b, is_second, words[0], words[1], ""),
        number(t, 1), number(t, 31)};
    LLVMValueRef got = ir_build_intrinsic(b, t->kernel->module, "llvm.nvvm.shfl.sync.bfly.i32", NULL, 0, operands, 4);
    LLVMValueRef packed[2] = {
        LLVMBuildSelect(b, is_second, got, words[0], ""), LLVMBuildSelect(b, is_second, words[1], got, "")};
    for (unsigned i = 0; i < 2; i++) {
        pair[i]->done = true;
        for (unsigned part = 0; part < 2; part++)
            LLVMReplaceAllUsesWith(pair[i]->load[part], half_of(t, packed[i], part));
    }
}

/* With a neighbour whose rows mostly lie in the same lines of 128 bytes: a GPU looks at one line at a time. */
static void load_from_device(cuda_tiles *t, size_t from)
{
    tile *pair[2] = {&t->list[from], NULL};
    for (size_t i = from + 1; i < t->count && !pair[1]; i++) {
        tile *x = &t->list[i];
        int64_t step = x->offset - pair[0]->offset;
        if (!x->done && !x->by_columns && x->base == pair[0]->base && x->epoch == pair[0]->epoch && step > 0 && step < LINE) pair[1] = x;
    }
    if (pair[1]) load_pair(t, pair);
}

/* Element (row, column) of the transposed matrix is (column, row) of what is in memory. */
static void load_columns(cuda_tiles *t, tile *x)
{
    x->done = true;
    if (x->left) return;
    LLVMPositionBuilderBefore(t->builder, first_load(&x, 1));
    t->row = LLVMBuildCall2(t->builder, LLVMFunctionType(t->i32, NULL, 0, false),
        LLVMGetNamedFunction(t->kernel->module, COLUMN), NULL, 0, "");
    t->column = LLVMBuildCall2(t->builder, LLVMFunctionType(t->i32, NULL, 0, false),
        LLVMGetNamedFunction(t->kernel->module, ROW), NULL, 0, "");
    LLVMValueRef base = rebuild(t, x->base, 0), pair = LLVMGetUndef(LLVMVectorType(t->half, 2));
    for (unsigned part = 0; part < 2; part++) {
        LLVMValueRef address = address_at(t, base, number(t, x->offset + SIZE * (int64_t)part));
        LLVMValueRef made = LLVMBuildLoad2(t->builder, t->half, address, "");
        LLVMSetAlignment(made, SIZE);
        pair = LLVMBuildInsertElement(t->builder, pair, made, number(t, part), "");
    }
    x->columns = LLVMBuildBitCast(t->builder, pair, t->i32, "");
}

/* ---- Four products ---- */

static bool is_for_one_product(const tile *x)
{
    for (unsigned part = 0; part < 2; part++) {
        LLVMValueRef extended = only_user(x->load[part]);
        if (!extended || !only_user(extended)) return false;
    }
    return true;
}

static tile *tile_of(cuda_tiles *t, LLVMValueRef product, bool right)
{
    LLVMValueRef first = loaded(t, LLVMGetOperand(product, right ? 2 : 0)),
                 second = loaded(t, LLVMGetOperand(product, right ? 3 : 1));
    for (size_t i = 0; first && second && i < t->count; i++) {
        tile *x = &t->list[i];
        if (x->load[0] == first && x->load[1] == second && !x->done && x->by_columns == right &&
            x->right == right && x->left != right && is_for_one_product(x))
            return x;
    }
    return NULL;
}

/* 16 bytes for each lane, at four times the column that it has otherwise, instead of four times 4 bytes. */
static void load_strip(cuda_tiles *t, tile *const *group, bool right)
{
    LLVMTypeRef type = LLVMFunctionType(t->i32, NULL, 0, false);
    LLVMPositionBuilderBefore(t->builder, first_load(group, MOST));
    LLVMValueRef row = LLVMBuildCall2(
                     t->builder, type, LLVMGetNamedFunction(t->kernel->module, ROW), NULL, 0, ""),
                 column = LLVMBuildCall2(
                     t->builder, type, LLVMGetNamedFunction(t->kernel->module, COLUMN), NULL, 0, "");
    column = LLVMBuildMul(t->builder, column, number(t, MOST), "");
    t->row = right ? column : row;
    t->column = right ? row : column;
    LLVMValueRef base = rebuild(t, group[0]->base, 0);
    for (unsigned n = 0; n < MOST; n++) {
        LLVMValueRef pair = LLVMGetUndef(LLVMVectorType(t->half, 2));
        group[n]->done = true;
        for (unsigned part = 0; part < 2; part++) {
            int64_t offset = group[0]->offset + SIZE * (int64_t)(2 * n + part);
            LLVMValueRef made =
                LLVMBuildLoad2(t->builder, t->half, address_at(t, base, number(t, offset)), "");
            LLVMSetAlignment(made, SIZE);
            if (!right) LLVMReplaceAllUsesWith(group[n]->load[part], made);
            pair = LLVMBuildInsertElement(t->builder, pair, made, number(t, part), "");
        }
        if (right) group[n]->columns = LLVMBuildBitCast(t->builder, pair, t->i32, "");
    }
}

static void load_four(cuda_tiles *t, LLVMValueRef product)
{
    tile *left[MOST], *right[MOST];
    for (unsigned n = 0; n < MOST; n++, product = next_in_chain(product)) {
        if (!product || !(left[n] = tile_of(t, product, false)) || !(right[n] = tile_of(t, product, true)))
            return;
        int64_t distance = 8 * SIZE * (int64_t)n;
        if (left[n]->base != left[0]->base || left[n]->offset != left[0]->offset + distance) return;
        if (right[n]->base != right[0]->base || right[n]->offset != right[0]->offset + distance) return;
        if (left[n]->epoch != left[0]->epoch || right[n]->epoch != right[0]->epoch) return;
    }
    load_strip(t, left, false);
    load_strip(t, right, true);
}

/* ---- Interface ---- */

cuda_tiles *cuda_tiles_create(ir_kernel *kernel, const char *kinds)
{
    cuda_tiles *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    LLVMContextRef c = kernel->context;
    t->kernel = kernel;
    t->kinds = kinds;
    t->mark = LLVMGetMDKindIDInContext(c, "tombac.tile", 11);
    t->layout = LLVMGetModuleDataLayout(kernel->module);
    t->builder = LLVMCreateBuilderInContext(c);
    t->i8 = LLVMInt8TypeInContext(c);
    t->half = LLVMHalfTypeInContext(c);
    t->i32 = LLVMInt32TypeInContext(c);
    t->i64 = LLVMInt64TypeInContext(c);
    mark(t);
    return t;
}

void cuda_tiles_free(cuda_tiles *t)
{
    if (t) LLVMDisposeBuilder(t->builder);
    free(t);
}

void cuda_tiles_load(cuda_tiles *t, LLVMBasicBlockRef block)
{
    t->count = 0;
    if (!LLVMGetNamedFunction(t->kernel->module, ROW) || !LLVMGetNamedFunction(t->kernel->module, COLUMN))
        return;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
        if (!cuda_is_product(i)) continue;
        note(t, i, false);
        note(t, i, true);
    }
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].right) t->list[i].left |= has_other_uses(&t->list[i]);
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
        if (cuda_is_product(i)) load_four(t, i);
    for (size_t i = 0; i < t->count; i++) {
        tile *x = &t->list[i];
        if (x->done) continue;
        if (x->by_columns)
            load_columns(t, x);
        else if (is_in(x, 3))
            load_rows(t, i);
        else if (is_in(x, 1))
            load_from_device(t, i);
    }
}

LLVMValueRef cuda_tiles_columns(const cuda_tiles *t, LLVMValueRef first, LLVMValueRef second)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].load[0] == first && t->list[i].load[1] == second) return t->list[i].columns;
    return NULL;
}
