/* Products of 8x8 matrices, after the scalar passes have shown where their operands come from.
 *
 * Until then a product is a call of an opaque function. What becomes of it:
 *
 *     halves               tensor cores, unless math is safe: their products are exact in float, but the order
 *                          of the sum is the hardware's
 *     float x half,        tensor cores if math is fast, with each float split into a large and a small TF32
 *     float x float        number
 *     all others           shuffles and fma, in the order that docs/operations.md gives
 *
 * (A half is seen as a float that was converted from one.) The instructions have 16 rows, that for halves 8
 * or 16 columns of the left operand. So products wait until something needs a result; then those that wait
 * are paired where they have the same right operand, and two pairs of halves of which the second adds to the
 * first become one instruction. A product of floats without a partner has its large and small parts in the
 * upper and lower rows. Waiting is allowed because products touch no memory, and their blocks are executed
 * by whole SIMD-groups. */
#include "compiler/cuda/steps.h"

#include <string.h>

#define OPAQUE "tombac_cuda.matrix_multiply_accumulate.f32" /* as linearise.c names it */

enum { MOST = 128, NONE = -1 }; /* products that wait: their operands are kept in registers */

typedef struct product {
    LLVMValueRef call, a[2], b[2], c[2], mask;
    bool half, half_right; /* a and b were, or b was converted from half; if `half`, they are halves here */
    int before;            /* the product that gives c, or NONE */
    int level;             /* products before it in its chain */
    int partner;           /* has the lower 8 rows of the same instruction, or NONE */
    bool is_lower;
    int first_half; /* the pair that is the first half of this pair's instruction, or NONE */
    bool is_first_half;
    LLVMValueRef result[2];
} product;

typedef struct waiting {
    ir_kernel *kernel;
    LLVMBuilderRef builder;
    LLVMTypeRef half, i32, f32;
    cuda_tiles *tiles;
    product list[MOST];
    int count;
} waiting;

bool cuda_matrix_used(const ir_kernel *kernel)
{
    LLVMValueRef function = LLVMGetNamedFunction(kernel->module, OPAQUE);
    return function && LLVMGetFirstUse(function);
}

bool cuda_is_product(LLVMValueRef instruction)
{
    LLVMValueRef callee = ir_callee(instruction);
    size_t length;
    return callee && !strcmp(LLVMGetValueName2(callee, &length), OPAQUE);
}

/* ---- Who waits ---- */

static bool is_part(LLVMValueRef value)
{
    return LLVMIsAExtractElementInst(value) && LLVMIsAConstantInt(LLVMGetOperand(value, 1));
}

/* The product of which `value` is the result or a part of it; *part is which, -1 for all of it. */
static int find(const waiting *w, LLVMValueRef value, int *part)
{
    *part = -1;
    if (is_part(value)) {
        *part = (int)LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1));
        value = LLVMGetOperand(value, 0);
    }
    for (int i = 0; i < w->count; i++)
        if (w->list[i].call == value) return i;
    return NONE;
}

/* The half that a float was converted from; NULL for others. */
static LLVMValueRef half_of(const waiting *w, LLVMValueRef value)
{
    if (LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMFPExt &&
        LLVMTypeOf(LLVMGetOperand(value, 0)) == w->half)
        return LLVMGetOperand(value, 0);
    return NULL;
}

/* Whether the product can wait with the others: of their results it may only need one as its accumulator, as
 * a whole. */
static bool can_join(const waiting *w, LLVMValueRef call, int *before)
{
    int part[2];
    for (unsigned i = 0; i < 4; i++)
        if (find(w, LLVMGetOperand(call, i), part) != NONE) return false;
    *before = find(w, LLVMGetOperand(call, 4), &part[0]);
    int other = find(w, LLVMGetOperand(call, 5), &part[1]);
    return *before == other && (other == NONE || (part[0] == 0 && part[1] == 1));
}

static void append(waiting *w, LLVMValueRef call, int before)
{
    product *made = &w->list[w->count++];
    *made = (product){.call = call,
        .before = before,
        .level = before == NONE ? 0 : w->list[before].level + 1,
        .partner = NONE,
        .first_half = NONE,
        .mask = LLVMGetOperand(call, 6)};
    LLVMValueRef halves[4];
    for (unsigned i = 0; i < 4; i++) halves[i] = half_of(w, LLVMGetOperand(call, i));
    made->half_right = halves[2] && halves[3];
    made->half = halves[0] && halves[1] && made->half_right && w->kernel->math != TOMBAC_MATH_SAFE;
    for (unsigned i = 0; i < 2; i++) {
        made->a[i] = made->half ? halves[i] : LLVMGetOperand(call, i);
        made->b[i] = made->half ? halves[2 + i] : LLVMGetOperand(call, 2 + i);
        made->c[i] = LLVMGetOperand(call, 4 + i);
    }
}

/* ---- Joining ---- */

static void pair(waiting *w)
{
    bool fast = w->kernel->math == TOMBAC_MATH_FAST;
    for (int i = 0; i < w->count; i++) {
        product *x = &w->list[i];
        for (int j = i + 1; (x->half || fast) && !x->is_lower && x->partner == NONE && j < w->count; j++) {
            product *y = &w->list[j];
            if (y->half != x->half || y->is_lower || y->partner != NONE || y->level != x->level) continue;
            if (y->b[0] != x->b[0] || y->b[1] != x->b[1]) continue;
            x->partner = j;
            y->is_lower = true;
        }
    }
}

/* Nothing but the product `next` uses the result. */
static bool is_only_for(const waiting *w, const product *x, int next)
{
    for (LLVMUseRef use = LLVMGetFirstUse(x->call); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef part = LLVMGetUser(use);
        if (!is_part(part)) return false;
        for (LLVMUseRef u = LLVMGetFirstUse(part); u; u = LLVMGetNextUse(u))
            if (LLVMGetUser(u) != w->list[next].call) return false;
    }
    return true;
}

/* Pairs, and products without a partner, whose accumulators are another one's results take that in, if it has
 * taken none itself. */
static void chain(waiting *w)
{
    for (int i = 0; i < w->count; i++) {
        product *x = &w->list[i];
        if (!x->half || x->is_lower || x->before == NONE) continue;
        product *first = &w->list[x->before];
        if (!first->half || first->is_lower || first->first_half != NONE || !is_only_for(w, first, i))
            continue;
        if ((x->partner == NONE) != (first->partner == NONE)) continue;
        if (x->partner != NONE) {
            const product *lower = &w->list[x->partner];
            if (lower->before != first->partner || !is_only_for(w, &w->list[first->partner], x->partner))
                continue;
        }
        x->first_half = x->before;
        first->is_first_half = true;
    }
}

/* ---- Code ---- */

static LLVMValueRef call(
    waiting *w, const char *name, LLVMTypeRef result, LLVMValueRef *operands, unsigned count)
{
    return cuda_call(w->kernel->module, w->builder, name, result, operands, count, true);
}

static LLVMTypeRef floats(waiting *w, unsigned count)
{
    return LLVMVectorType(w->f32, count);
}

/* The right operand by columns: packed halves (also of a half operand of which `b` are floats), or two
 * floats. Products that share it share this, too. */
static LLVMValueRef transposed(waiting *w, LLVMValueRef cache[], int index)
{
    const product *x = &w->list[index];
    for (int i = 0; i < w->count; i++)
        if (cache[i] && w->list[i].half == x->half && w->list[i].b[0] == x->b[0] &&
            w->list[i].b[1] == x->b[1])
            return cache[i];
    LLVMValueRef operands[2] = {x->b[0], x->b[1]};
    bool halves = x->half || x->half_right;
    for (int i = 0; halves && !x->half && i < 2; i++) operands[i] = half_of(w, x->b[i]);
    LLVMValueRef made = halves ? cuda_tiles_columns(w->tiles, operands[0], operands[1]) : NULL;
    if (!made)
        made =
            call(w, halves ? "transpose.f16" : "transpose.f32", halves ? w->i32 : floats(w, 2), operands, 2);
    return cache[index] = made;
}

static LLVMValueRef part(waiting *w, LLVMValueRef vector, unsigned index)
{
    return LLVMBuildExtractElement(w->builder, vector, LLVMConstInt(w->i32, index, false), "");
}

static LLVMValueRef accumulator(waiting *w, const product *x, unsigned index)
{
    return x->before == NONE ? x->c[index] : w->list[x->before].result[index];
}

/* The left operand's halves of a product, or of a pair. */
static unsigned put_left(waiting *w, const product *x, LLVMValueRef *operands)
{
    LLVMValueRef zero = LLVMConstNull(w->half);
    const product *lower = x->partner == NONE ? NULL : &w->list[x->partner];
    operands[0] = x->a[0], operands[1] = x->a[1];
    operands[2] = lower ? lower->a[0] : zero, operands[3] = lower ? lower->a[1] : zero;
    return 4;
}

static void emit_halves(waiting *w, LLVMValueRef cache[], int index)
{
    product *x = &w->list[index], *lower = x->partner == NONE ? NULL : &w->list[x->partner];
    int first = x->first_half;
    LLVMValueRef operands[14];
    unsigned n = 0;
    if (first != NONE) n += put_left(w, &w->list[first], operands);
    n += put_left(w, x, operands + n);
    if (first != NONE) operands[n++] = transposed(w, cache, first);
    operands[n++] = transposed(w, cache, index);
    const product *source = first == NONE ? x : &w->list[first];
    const product *source_lower = source->partner == NONE ? NULL : &w->list[source->partner];
    for (unsigned i = 0; i < 2; i++) operands[n++] = accumulator(w, source, i);
    for (unsigned i = 0; i < 2; i++)
        operands[n++] = source_lower ? accumulator(w, source_lower, i) : LLVMConstNull(w->f32);
    LLVMValueRef made =
        call(w, first == NONE ? "multiply8.f16" : "multiply16.f16", floats(w, 4), operands, n);
    for (unsigned i = 0; i < 2; i++) {
        x->result[i] = part(w, made, i);
        if (lower) lower->result[i] = part(w, made, 2 + i);
    }
}

/* The right operand by columns, as floats. */
static void put_right(waiting *w, LLVMValueRef cache[], int index, LLVMValueRef *operands)
{
    const product *x = &w->list[index];
    LLVMValueRef b = transposed(w, cache, index);
    if (x->half_right) b = LLVMBuildBitCast(w->builder, b, LLVMVectorType(w->half, 2), "");
    for (unsigned i = 0; i < 2; i++) {
        operands[i] = part(w, b, i);
        if (x->half_right) operands[i] = LLVMBuildFPExt(w->builder, operands[i], w->f32, "");
    }
}

static void emit_float_pair(waiting *w, LLVMValueRef cache[], int index)
{
    product *x = &w->list[index], *lower = &w->list[x->partner];
    LLVMValueRef operands[10] = {x->a[0], x->a[1], lower->a[0], lower->a[1]};
    put_right(w, cache, index, operands + 4);
    for (unsigned i = 0; i < 2; i++) {
        operands[6 + i] = accumulator(w, x, i);
        operands[8 + i] = accumulator(w, lower, i);
    }
    const char *name = x->half_right ? "multiply2.tf32.half" : "multiply2.tf32";
    LLVMValueRef made = call(w, name, floats(w, 4), operands, 10);
    for (unsigned i = 0; i < 2; i++) {
        x->result[i] = part(w, made, i);
        lower->result[i] = part(w, made, 2 + i);
    }
}

static void emit_floats(waiting *w, LLVMValueRef cache[], int index)
{
    product *x = &w->list[index];
    bool fast = w->kernel->math == TOMBAC_MATH_FAST;
    LLVMValueRef operands[7] = {
        x->a[0], x->a[1], x->b[0], x->b[1], accumulator(w, x, 0), accumulator(w, x, 1), x->mask};
    if (fast) put_right(w, cache, index, operands + 2);
    const char *name = !fast ? "multiply.f32" : x->half_right ? "multiply.tf32.half" : "multiply.tf32";
    LLVMValueRef made = call(w, name, floats(w, 2), operands, fast ? 6 : 7);
    for (unsigned i = 0; i < 2; i++) x->result[i] = part(w, made, i);
}

/* ---- The end of waiting ---- */

static void replace(waiting *w, product *x)
{
    LLVMUseRef use;
    while ((use = LLVMGetFirstUse(x->call))) {
        LLVMValueRef user = LLVMGetUser(use);
        if (is_part(user)) {
            LLVMReplaceAllUsesWith(user, x->result[LLVMConstIntGetZExtValue(LLVMGetOperand(user, 1))]);
            LLVMInstructionEraseFromParent(user);
            continue;
        }
        LLVMValueRef whole = LLVMGetUndef(LLVMTypeOf(x->call));
        for (unsigned i = 0; i < 2; i++)
            whole =
                LLVMBuildInsertElement(w->builder, whole, x->result[i], LLVMConstInt(w->i32, i, false), "");
        LLVMReplaceAllUsesWith(x->call, whole);
    }
}

/* Emits what waits, before the instruction, in the order of the chains. */
static void flush(waiting *w, LLVMValueRef before)
{
    if (!w->count) return;
    LLVMValueRef cache[MOST] = {NULL};
    pair(w);
    chain(w);
    LLVMPositionBuilderBefore(w->builder, before);
    for (int level = 0, left = w->count; left > 0; level++) {
        for (int i = 0; i < w->count; i++) {
            product *x = &w->list[i];
            if (x->level != level) continue;
            left--;
            if (x->is_lower || x->is_first_half) continue;
            if (x->half)
                emit_halves(w, cache, i);
            else if (x->partner != NONE)
                emit_float_pair(w, cache, i);
            else
                emit_floats(w, cache, i);
        }
    }
    /* A first half's parts have no users but its second half, which is gone with it. */
    for (int i = w->count; i-- > 0;) {
        product *x = &w->list[i];
        if (!x->result[0]) x->result[0] = x->result[1] = LLVMGetUndef(w->f32);
        replace(w, x);
        LLVMInstructionEraseFromParent(x->call);
    }
    w->count = 0;
}

static bool needs_result(const waiting *w, LLVMValueRef instruction)
{
    int which;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(instruction); i++)
        if (find(w, LLVMGetOperand(instruction, i), &which) != NONE) return true;
    return false;
}

static void lower_block(waiting *w, LLVMBasicBlockRef block)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
        int before = NONE; /* what goes with `flush` is never i itself, but may be what comes next */
        if (cuda_is_product(i)) {
            if (w->count == MOST || !can_join(w, i, &before)) {
                flush(w, i);
                can_join(w, i, &before);
            }
            append(w, i, before);
        } else if (LLVMIsATerminatorInst(i) || (!is_part(i) && needs_result(w, i))) {
            flush(w, i);
        }
    }
}

/* From here on the library says where lanes are in a matrix. */
static void show_places(ir_kernel *kernel)
{
    static const char *const names[2][2] = {{"tombac_cuda." CUDA_ROW, "tombac_cuda.matrix_row"},
        {"tombac_cuda." CUDA_COLUMN, "tombac_cuda.matrix_column"}};
    for (int i = 0; i < 2; i++) {
        LLVMValueRef opaque = LLVMGetNamedFunction(kernel->module, names[i][0]);
        if (!opaque) continue;
        LLVMReplaceAllUsesWith(
            opaque, ir_declare(kernel->module, names[i][1], LLVMGlobalGetValueType(opaque)));
        LLVMDeleteFunction(opaque);
    }
}

tombac_status cuda_matrix_lower(ir_kernel *kernel, const char *kinds, tombac_error **error)
{
    LLVMContextRef c = kernel->context;
    waiting w = {.kernel = kernel,
        .tiles = cuda_tiles_create(kernel, kinds),
        .builder = LLVMCreateBuilderInContext(c),
        .half = LLVMHalfTypeInContext(c),
        .i32 = LLVMInt32TypeInContext(c),
        .f32 = LLVMFloatTypeInContext(c)};
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel->function); b && w.tiles;
        b = LLVMGetNextBasicBlock(b)) {
        if (kernel->math != TOMBAC_MATH_SAFE) cuda_tiles_load(w.tiles, b);
        lower_block(&w, b);
    }
    bool good = w.tiles;
    cuda_tiles_free(w.tiles);
    LLVMDisposeBuilder(w.builder);
    show_places(kernel);
    return good ? TOMBAC_OK : tb_fail_memory(error);
}
