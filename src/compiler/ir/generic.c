/* Which memory does a generic pointer refer to?
 *
 * After inlining, a generic pointer is a value whose origin is in the same function. Its address space is
 * computed beside it: a constant at an allocation, an argument or a cast, a phi where the pointer is a phi, a
 * select where it is a select. Constant propagation then removes what is the same on all paths, so that a
 * pointer resolved statically costs nothing, and one that is not costs a number in a register. Memory holds
 * no such number: a pointer that comes from device memory was put there by the host and refers to device
 * memory; any other one is refused. */
#include "compiler/ir/steps.h"

#include <stdlib.h>

enum { SPACE_THREAD = 0, SPACE_DEVICE = 1, SPACE_THREADGROUP = 3 };

typedef struct pair {
    LLVMValueRef pointer, space;
} pair;

typedef struct resolver {
    ir_kernel *kernel;
    LLVMBuilderRef builder;
    LLVMTypeRef type; /* of a space: i32 */
    pair *known;      /* pointers that are instructions of more than one space, perhaps */
    size_t count, room;
    LLVMValueRef unknown; /* the first load or conversion that brings a pointer of unknown space */
    bool found, no_memory;
} resolver;

static LLVMValueRef space_of(resolver *r, LLVMValueRef pointer);

static LLVMValueRef constant(const resolver *r, unsigned space)
{
    return LLVMConstInt(r->type, space, false);
}

static void remember(resolver *r, LLVMValueRef pointer, LLVMValueRef space)
{
    if (r->count == r->room) {
        size_t room = r->room ? r->room * 2 : 32;
        pair *grown = realloc(r->known, room * sizeof *grown);
        r->no_memory |= !grown;
        if (!grown) return;
        r->known = grown;
        r->room = room;
    }
    r->known[r->count++] = (pair){pointer, space};
}

static LLVMValueRef refuse(resolver *r, LLVMValueRef instruction)
{
    if (!r->unknown) r->unknown = instruction;
    return constant(r, SPACE_THREAD);
}

/* A pointer in memory: the host's, if it is device memory. */
static LLVMValueRef of_load(resolver *r, LLVMValueRef load)
{
    LLVMValueRef from = space_of(r, LLVMGetOperand(load, 0));
    if (LLVMIsConstant(from) && LLVMConstIntGetZExtValue(from) == SPACE_DEVICE) return from;
    return refuse(r, load);
}

static LLVMValueRef of_phi(resolver *r, LLVMValueRef phi)
{
    LLVMPositionBuilderBefore(r->builder, phi);
    LLVMValueRef space = LLVMBuildPhi(r->builder, r->type, "");
    remember(r, phi, space); /* before its operands: loops come back here */
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef value = space_of(r, LLVMGetIncomingValue(phi, i));
        LLVMBasicBlockRef block = LLVMGetIncomingBlock(phi, i);
        LLVMAddIncoming(space, &value, &block, 1);
    }
    return space;
}

static LLVMValueRef of_select(resolver *r, LLVMValueRef select)
{
    LLVMValueRef yes = space_of(r, LLVMGetOperand(select, 1)), no = space_of(r, LLVMGetOperand(select, 2));
    if (yes == no) return yes;
    LLVMPositionBuilderBefore(r->builder, select);
    LLVMValueRef space = LLVMBuildSelect(r->builder, LLVMGetOperand(select, 0), yes, no, "");
    remember(r, select, space);
    return space;
}

static LLVMValueRef space_of(resolver *r, LLVMValueRef pointer)
{
    for (;;) {
        unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
        if (space != SPACE_THREAD) return constant(r, space);
        if (LLVMIsConstant(pointer) && !LLVMIsAConstantExpr(pointer)) return constant(r, SPACE_THREAD);
        LLVMOpcode opcode = LLVMIsAConstantExpr(pointer)  ? LLVMGetConstOpcode(pointer)
                            : LLVMIsAInstruction(pointer) ? LLVMGetInstructionOpcode(pointer)
                                                          : LLVMAlloca;
        if (opcode != LLVMGetElementPtr && opcode != LLVMAddrSpaceCast && opcode != LLVMBitCast &&
            opcode != LLVMFreeze) {
            for (size_t i = 0; i < r->count; i++)
                if (r->known[i].pointer == pointer) return r->known[i].space;
            return opcode == LLVMAlloca   ? constant(r, SPACE_THREAD)
                   : opcode == LLVMPHI    ? of_phi(r, pointer)
                   : opcode == LLVMSelect ? of_select(r, pointer)
                   : opcode == LLVMLoad   ? of_load(r, pointer)
                                          : refuse(r, pointer);
        }
        pointer = LLVMGetOperand(pointer, 0);
    }
}

static void visit(LLVMValueRef instruction, void *context)
{
    resolver *r = context;
    LLVMValueRef callee = ir_callee(instruction);
    if (!callee || !ir_name_starts(callee, "__tombac_is_")) return;
    unsigned wanted = ir_name_starts(callee, "__tombac_is_device")        ? SPACE_DEVICE
                      : ir_name_starts(callee, "__tombac_is_threadgroup") ? SPACE_THREADGROUP
                                                                          : SPACE_THREAD;
    LLVMValueRef space = space_of(r, LLVMGetOperand(instruction, 0));
    LLVMPositionBuilderBefore(r->builder, instruction);
    LLVMValueRef answer = LLVMBuildICmp(r->builder, LLVMIntEQ, space, constant(r, wanted), "");
    LLVMReplaceAllUsesWith(instruction, answer);
    LLVMInstructionEraseFromParent(instruction);
    r->found = true;
}

tombac_status ir_generic_resolve(ir_kernel *kernel, bool *found, tombac_error **error)
{
    resolver r = {.kernel = kernel, .builder = LLVMCreateBuilderInContext(kernel->context)};
    r.type = LLVMInt32TypeInContext(kernel->context);
    ir_visit(kernel->function, visit, &r);
    LLVMDisposeBuilder(r.builder);
    free(r.known);
    *found = r.found;
    if (r.no_memory) return tb_fail_memory(error);
    if (!r.unknown) return TOMBAC_OK;
    return ir_fail_at(ir_instruction_position(r.unknown), TOMBAC_ERROR_UNSUPPORTED, error,
        "the address space of a generic pointer that lies in thread or threadgroup memory cannot be asked, "
        "which is not supported");
}
