/* Where the contents of a SIMD-group's context are loaded and stored.
 *
 * Takes optimised code, in which a step loads its whole context where it resumes and stores it where it returns
 * (barrier.c); moves each load down to the first instruction of its block that uses it, and each store up behind the
 * instruction that makes its value. More is alive at a barrier than there are registers, and what is loaded long before
 * it is used goes to memory and back once more. Only the context's own accesses can be in the way: the parameter is
 * noalias and goes to no other function. */
#include "compiler/cpu/cpu.h"
#include "compiler/cpu/support.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <string.h>

enum { MIN_BYTES = 32 }; /* scalars stay where they are */

typedef struct access {
    LLVMValueRef ir;
    int64_t from, to; /* bytes of the context */
    int place;        /* number of the instruction; of a load that moved, that of its first user */
    bool store;
} access;

typedef struct pass {
    cpu_job job;
    LLVMTargetDataRef layout;
    LLVMBuilderRef builder;
    LLVMTypeRef i8, i64;
    LLVMValueRef context;
    LLVMBasicBlockRef block;
    cpu_map numbers; /* of the instructions of the block */
    LLVMValueRef *instructions;
    access *accesses;
    int count;
} pass;

/* ---- Accesses ---- */

static bool find_offset(const pass *p, LLVMValueRef pointer, int64_t *offset)
{
    *offset = 0;
    while (LLVMIsAGetElementPtrInst(pointer)) {
        if (LLVMGetNumOperands(pointer) != 2 || !LLVMIsAConstantInt(LLVMGetOperand(pointer, 1))) return false;
        int64_t size = (int64_t)LLVMABISizeOfType(p->layout, LLVMGetGEPSourceElementType(pointer));
        *offset += size * LLVMConstIntGetSExtValue(LLVMGetOperand(pointer, 1));
        pointer = LLVMGetOperand(pointer, 0);
    }
    return pointer == p->context;
}

static bool is_access(const pass *p, LLVMValueRef ir, access *a)
{
    bool store = LLVMIsAStoreInst(ir) != NULL;
    if (!store && !LLVMIsALoadInst(ir)) return false;
    *a = (access){.ir = ir, .store = store};
    if (!find_offset(p, LLVMGetOperand(ir, store ? 1 : 0), &a->from)) return false;
    LLVMTypeRef type = LLVMTypeOf(store ? LLVMGetOperand(ir, 0) : ir);
    a->to = a->from + (int64_t)LLVMABISizeOfType(p->layout, type);
    return true;
}

static bool overlap(const access *a, const access *b)
{
    return a->from < b->to && b->from < a->to;
}

static void number_block(pass *p)
{
    int count = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(p->block); i; i = LLVMGetNextInstruction(i)) count++;
    p->numbers = (cpu_map){0};
    p->instructions = cpu_alloc(&p->job, (size_t)count, sizeof *p->instructions);
    p->accesses = cpu_alloc(&p->job, (size_t)count, sizeof *p->accesses);
    p->count = count = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(p->block); i; i = LLVMGetNextInstruction(i)) {
        p->instructions[count] = i;
        cpu_map_put(&p->job, &p->numbers, i, count);
        if (is_access(p, i, &p->accesses[p->count])) p->accesses[p->count++].place = count;
        count++;
    }
}

/* ---- Loads go down ---- */

static int first_user(const pass *p, LLVMValueRef ir)
{
    int first = -1;
    for (LLVMUseRef use = LLVMGetFirstUse(ir); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        int number = LLVMIsAPHINode(user) ? -1 : cpu_map_get(&p->numbers, user);
        if (number >= 0 && (first < 0 || number < first)) first = number;
    }
    return first;
}

static void lower_load(pass *p, access *load)
{
    int to = first_user(p, load->ir);
    for (int i = 0; i < p->count; i++) {
        const access *a = &p->accesses[i];
        if (a->store && a->place > load->place && a->place < to && overlap(a, load)) to = a->place;
    }
    if (to <= load->place + 1) return;
    LLVMInstructionRemoveFromParent(load->ir);
    LLVMPositionBuilderBefore(p->builder, p->instructions[to]);
    LLVMInsertIntoBuilder(p->builder, load->ir);
    load->place = to;
}

/* ---- Stores go up ---- */

static void raise_store(pass *p, access *store)
{
    LLVMValueRef value = LLVMGetOperand(store->ir, 0);
    int to = cpu_map_get(&p->numbers, value);
    if (to < 0 || LLVMIsAPHINode(value)) return;
    for (const access *a = p->accesses; a < p->accesses + p->count; a++)
        if (a != store && a->place < store->place && a->place > to && overlap(a, store)) to = a->place;
    if (to + 1 >= store->place) return;
    LLVMInstructionRemoveFromParent(store->ir);
    LLVMPositionBuilderBefore(p->builder, LLVMGetNextInstruction(p->instructions[to]));
    LLVMValueRef offset = LLVMConstInt(p->i64, (uint64_t)store->from, 1);
    LLVMSetOperand(store->ir, 1, LLVMBuildGEP2(p->builder, p->i8, p->context, &offset, 1, ""));
    LLVMInsertIntoBuilder(p->builder, store->ir);
    store->place = to + 1;
}

static void place_in_block(pass *p)
{
    number_block(p);
    for (int i = p->count - 1; i >= 0; i--)
        if (!p->accesses[i].store && p->accesses[i].to - p->accesses[i].from >= MIN_BYTES)
            lower_load(p, &p->accesses[i]);
    for (int i = 0; i < p->count; i++)
        if (p->accesses[i].store && p->accesses[i].to - p->accesses[i].from >= MIN_BYTES)
            raise_store(p, &p->accesses[i]);
}

static LLVMValueRef context_of(LLVMValueRef function)
{
    unsigned count = LLVMCountParams(function), length = sizeof CPU_CONTEXT_ATTRIBUTE - 1;
    for (unsigned i = 0; i < count; i++)
        if (LLVMGetStringAttributeAtIndex(function, i + 1, CPU_CONTEXT_ATTRIBUTE, length))
            return LLVMGetParam(function, i);
    return NULL;
}

static void place_all(pass *p, LLVMModuleRef module)
{
    p->layout = LLVMGetModuleDataLayout(module);
    p->i8 = LLVMInt8TypeInContext(LLVMGetModuleContext(module));
    p->i64 = LLVMInt64TypeInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        p->context = context_of(f);
        if (!p->context) continue;
        for (p->block = LLVMGetFirstBasicBlock(f); p->block; p->block = LLVMGetNextBasicBlock(p->block))
            place_in_block(p);
    }
}

static void place_or_leave(pass *p, LLVMModuleRef module)
{
    if (!setjmp(p->job.leave)) place_all(p, module);
}

tombac_status cpu_context_place(LLVMModuleRef module, tombac_error **error)
{
    pass p = {.job = {.error = error}, .builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module))};
    place_or_leave(&p, module);
    LLVMDisposeBuilder(p.builder);
    cpu_job_free(&p.job);
    return p.job.status;
}
