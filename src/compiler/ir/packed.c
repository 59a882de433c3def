/* Accesses to members of packed structures through references, which promise the alignment of the member's type; see steps.h.
 *
 * Operators of vectors take references (v += w), and in a packed structure a vector may lie anywhere. The structure's type in the
 * address says where: an access promises no more than its offset there and the structure's size, since it may stand in an array, allow. */
#include "compiler/ir/steps.h"

static unsigned lowest_bit(uint64_t bits)
{
    return bits ? (unsigned)(bits & (~bits + 1) & 0xffff) : 0x10000;
}

/* What the indices behind `first` of a GEP's packed structure allow. */
static unsigned within(LLVMTargetDataRef layout, LLVMTypeRef type, LLVMValueRef gep, int first)
{
    unsigned alignment = lowest_bit(LLVMABISizeOfType(layout, type));
    for (int i = first; i < LLVMGetNumOperands(gep); i++) {
        LLVMValueRef index = LLVMIsAConstantInt(LLVMGetOperand(gep, (unsigned)i));
        uint64_t offset;
        if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
            offset = LLVMOffsetOfElement(layout, type, field);
            type = LLVMStructGetTypeAtIndex(type, field);
        } else {
            type = LLVMGetElementType(type);
            offset = LLVMABISizeOfType(layout, type) * (index ? LLVMConstIntGetZExtValue(index) : 1);
        }
        if (lowest_bit(offset) < alignment) alignment = lowest_bit(offset);
    }
    return alignment;
}

/* The least that any packed structure on the way of an address allows. */
static unsigned allowed(LLVMTargetDataRef layout, LLVMValueRef pointer)
{
    unsigned alignment = 0x10000;
    for (; LLVMIsAGetElementPtrInst(pointer) || LLVMIsAAddrSpaceCastInst(pointer); pointer = LLVMGetOperand(pointer, 0)) {
        if (!LLVMIsAGetElementPtrInst(pointer)) continue;
        LLVMTypeRef type = LLVMGetGEPSourceElementType(pointer);
        for (int i = 2; i <= LLVMGetNumOperands(pointer); i++) {
            LLVMTypeKind kind = LLVMGetTypeKind(type);
            if (kind == LLVMStructTypeKind && LLVMIsPackedStruct(type)) {
                unsigned here = within(layout, type, pointer, i);
                if (here < alignment) alignment = here;
                break;
            }
            if (i == LLVMGetNumOperands(pointer)) break;
            LLVMValueRef index = LLVMGetOperand(pointer, (unsigned)i);
            type = kind == LLVMStructTypeKind ? LLVMStructGetTypeAtIndex(type, (unsigned)LLVMConstIntGetZExtValue(index))
                                              : LLVMGetElementType(type);
        }
    }
    return alignment;
}

static void visit(LLVMValueRef instruction, void *context)
{
    LLVMTargetDataRef layout = context;
    bool load = LLVMIsALoadInst(instruction) != NULL;
    if (!load && !LLVMIsAStoreInst(instruction)) return;
    if (LLVMGetOrdering(instruction) != LLVMAtomicOrderingNotAtomic) return;
    unsigned most = allowed(layout, LLVMGetOperand(instruction, load ? 0 : 1));
    if (LLVMGetAlignment(instruction) > most) LLVMSetAlignment(instruction, most);
}

void ir_align_packed(LLVMModuleRef module, LLVMValueRef function)
{
    ir_visit(function, visit, LLVMGetModuleDataLayout(module));
}
