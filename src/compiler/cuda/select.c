/* Private arrays that are read at a run-time index become registers.
 *
 * A GPU has no way to index registers, so such an array lives in local memory, which is device memory in
 * disguise. Where the array is small and all its uses are loads and stores, a load at a run-time index
 * becomes a tree of selects over the elements that it may mean, a store one select per element; scalar
 * replacement then removes the array. An index beyond the array is undefined in Metal: here it means one of
 * the elements. */
#include "compiler/cuda/steps.h"

#include <llvm-c/Target.h>
#include <stdlib.h>

enum { MAX_BYTES = 512, MAX_LOADED = 32, MAX_STORED = 16, MAX_ACCESSES = 4096 };

/* An offset into the array: constant + scale * index. */
typedef struct place {
    int64_t constant;
    uint64_t scale; /* of index; 0: none */
    LLVMValueRef index;
} place;

typedef struct access {
    LLVMValueRef instruction;
    place at;
} access;

typedef struct array {
    ir_kernel *kernel;
    LLVMTargetDataRef layout;
    LLVMBuilderRef builder;
    LLVMValueRef variable; /* the alloca */
    uint64_t size;
    access *accesses;
    size_t count;
} array;

/* ---- Offsets ---- */

static bool add_index(place *p, LLVMValueRef index, uint64_t scale)
{
    if (LLVMIsAConstantInt(index)) {
        p->constant += LLVMConstIntGetSExtValue(index) * (int64_t)scale;
        return true;
    }
    if (p->scale || !scale) return false;
    p->scale = scale;
    p->index = index;
    return true;
}

static bool add_gep(const array *a, LLVMValueRef gep, place *p)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    if (!add_index(p, LLVMGetOperand(gep, 1), LLVMABISizeOfType(a->layout, type))) return false;
    for (unsigned i = 1; i < LLVMGetNumIndices(gep); i++) {
        LLVMValueRef index = LLVMGetOperand(gep, i + 1);
        if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            if (!LLVMIsAConstantInt(index)) return false;
            unsigned member = (unsigned)LLVMConstIntGetZExtValue(index);
            p->constant += (int64_t)LLVMOffsetOfElement(a->layout, type, member);
            type = LLVMStructGetTypeAtIndex(type, member);
        } else {
            type = LLVMGetElementType(type);
            if (!add_index(p, index, LLVMABISizeOfType(a->layout, type))) return false;
        }
    }
    return true;
}

/* Collects all uses; false where one of them is no plain access. */
static bool collect(array *a, LLVMValueRef pointer, place p)
{
    for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAGetElementPtrInst(user)) {
            place further = p;
            if (!add_gep(a, user, &further) || !collect(a, user, further)) return false;
            continue;
        }
        if (LLVMIsAAddrSpaceCastInst(user)) { /* infer-address-spaces knows it as local memory */
            if (!collect(a, user, p)) return false;
            continue;
        }
        bool load = LLVMIsALoadInst(user),
             store = LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) != pointer;
        if ((!load && !store) || LLVMGetVolatile(user) || a->count == MAX_ACCESSES) return false;
        a->accesses[a->count++] = (access){user, p};
    }
    return true;
}

/* ---- Elements that an access may mean ---- */

typedef struct candidates {
    int64_t first; /* offset */
    uint64_t count;
    LLVMValueRef number; /* which of them, from 0 */
} candidates;

static candidates candidates_of(array *a, const place *p, uint64_t size)
{
    int64_t scale = (int64_t)p->scale, below = p->constant / scale;
    if (p->constant < 0)
        return (candidates){.count = 0}; /* an index that starts elsewhere: rare, left alone */
    candidates c = {.first = p->constant - below * scale};
    if (size > a->size || (uint64_t)c.first > a->size - size) return (candidates){.count = 0};
    c.count = (a->size - size - (uint64_t)c.first) / p->scale + 1;
    LLVMTypeRef type = LLVMTypeOf(p->index);
    c.number =
        below ? LLVMBuildAdd(a->builder, p->index, LLVMConstInt(type, (uint64_t)below, false), "") : p->index;
    return c;
}

static uint64_t size_of_access(const array *a, LLVMValueRef instruction)
{
    LLVMValueRef value = LLVMIsALoadInst(instruction) ? instruction : LLVMGetOperand(instruction, 0);
    return LLVMStoreSizeOfType(a->layout, LLVMTypeOf(value));
}

static LLVMValueRef element(array *a, const candidates *c, uint64_t number, uint64_t scale)
{
    LLVMTypeRef i8 = LLVMInt8TypeInContext(a->kernel->context),
                i64 = LLVMInt64TypeInContext(a->kernel->context);
    LLVMValueRef offset = LLVMConstInt(i64, (uint64_t)c->first + number * scale, false);
    return LLVMBuildInBoundsGEP2(a->builder, i8, a->variable, &offset, 1, "");
}

/* ---- Rewriting ---- */

/* Level by level: bit i of the number decides among neighbours at distance 1 << i. */
static void rewrite_load(array *a, LLVMValueRef load, const candidates *c, uint64_t scale)
{
    LLVMValueRef values[MAX_LOADED];
    LLVMTypeRef type = LLVMTypeOf(c->number);
    uint64_t count = c->count;
    for (uint64_t i = 0; i < count; i++) {
        values[i] = LLVMBuildLoad2(a->builder, LLVMTypeOf(load), element(a, c, i, scale), "");
        LLVMSetAlignment(values[i], 1); /* sroa knows better */
    }
    for (unsigned bit = 0; count > 1; bit++, count = (count + 1) / 2) {
        LLVMValueRef test =
            LLVMBuildAnd(a->builder, c->number, LLVMConstInt(type, UINT64_C(1) << bit, false), "");
        LLVMValueRef odd = LLVMBuildICmp(a->builder, LLVMIntNE, test, LLVMConstInt(type, 0, false), "");
        for (uint64_t i = 0; i < (count + 1) / 2; i++)
            values[i] = 2 * i + 1 < count
                            ? LLVMBuildSelect(a->builder, odd, values[2 * i + 1], values[2 * i], "")
                            : values[2 * i];
    }
    LLVMReplaceAllUsesWith(load, values[0]);
}

static void rewrite_store(array *a, LLVMValueRef store, const candidates *c, uint64_t scale)
{
    LLVMValueRef value = LLVMGetOperand(store, 0);
    LLVMTypeRef type = LLVMTypeOf(c->number);
    for (uint64_t i = 0; i < c->count; i++) {
        LLVMValueRef at = element(a, c, i, scale);
        LLVMValueRef before = LLVMBuildLoad2(a->builder, LLVMTypeOf(value), at, "");
        LLVMSetAlignment(before, 1);
        LLVMValueRef mine = LLVMBuildICmp(a->builder, LLVMIntEQ, c->number, LLVMConstInt(type, i, false), "");
        LLVMValueRef made =
            LLVMBuildStore(a->builder, LLVMBuildSelect(a->builder, mine, value, before, ""), at);
        LLVMSetAlignment(made, 1);
    }
}

static void rewrite(array *a)
{
    bool fits = true;
    for (size_t i = 0; i < a->count && fits; i++) {
        const access *x = &a->accesses[i];
        if (!x->at.scale) continue;
        LLVMPositionBuilderBefore(a->builder, x->instruction);
        candidates c = candidates_of(a, &x->at, size_of_access(a, x->instruction));
        fits = c.count && c.count <= (LLVMIsALoadInst(x->instruction) ? MAX_LOADED : MAX_STORED);
    }
    for (size_t i = 0; i < a->count && fits; i++) {
        const access *x = &a->accesses[i];
        if (!x->at.scale) continue;
        LLVMPositionBuilderBefore(a->builder, x->instruction);
        candidates c = candidates_of(a, &x->at, size_of_access(a, x->instruction));
        if (LLVMIsALoadInst(x->instruction))
            rewrite_load(a, x->instruction, &c, x->at.scale);
        else
            rewrite_store(a, x->instruction, &c, x->at.scale);
        LLVMInstructionEraseFromParent(x->instruction);
    }
}

tombac_status cuda_select_arrays(ir_kernel *kernel, tombac_error **error)
{
    array a = {.kernel = kernel,
        .layout = LLVMGetModuleDataLayout(kernel->module),
        .builder = LLVMCreateBuilderInContext(kernel->context),
        .accesses = calloc(MAX_ACCESSES, sizeof(access))};
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(kernel->function);
    for (LLVMValueRef i = LLVMGetFirstInstruction(entry); i && a.accesses; i = LLVMGetNextInstruction(i)) {
        if (!LLVMIsAAllocaInst(i) || !LLVMIsConstant(LLVMGetOperand(i, 0))) continue;
        a.variable = i;
        a.count = 0;
        a.size = LLVMABISizeOfType(a.layout, LLVMGetAllocatedType(i));
        if (a.size <= MAX_BYTES && collect(&a, i, (place){0})) rewrite(&a);
    }
    LLVMDisposeBuilder(a.builder);
    bool good = a.accesses;
    free(a.accesses);
    return good ? TOMBAC_OK : tb_fail_memory(error);
}
