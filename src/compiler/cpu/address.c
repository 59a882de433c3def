/* Addresses in canonical form, so that accesses which lie side by side are recognised.
 *
 * Takes a pointer of the kernel; promises root, index terms and a constant such that the address is their sum
 * for every active lane. Chains of getelementptr are followed to their root, through casts between address spaces, which are
 * all one here; of an index, additions of
 * constants are moved into the constant, through an extension too if the flags of the addition say that
 * nothing wraps (flags speak of active lanes, and only those access memory). */
#include "compiler/cpu/memory.h"

static bool is_extension(LLVMOpcode opcode)
{
    return opcode == LLVMZExt || opcode == LLVMSExt;
}

static bool addition_of_constant(LLVMValueRef ir, int64_t *constant)
{
    if (!LLVMIsAInstruction(ir)) return false;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(ir);
    if (opcode != LLVMAdd && !(opcode == LLVMOr && LLVMGetIsDisjoint(ir))) return false;
    LLVMValueRef c = LLVMGetOperand(ir, 1);
    if (!LLVMIsAConstantInt(c) || LLVMGetIntTypeWidth(LLVMTypeOf(c)) > 64) return false;
    *constant = LLVMConstIntGetSExtValue(c);
    return true;
}

/* May ext(a + c) be taken as ext(a) + ext(c)? */
static bool passes_extension(LLVMValueRef addition, LLVMOpcode extension, int64_t *constant)
{
    if (LLVMGetInstructionOpcode(addition) == LLVMAdd)
        if (!(extension == LLVMSExt ? LLVMGetNSW(addition) : LLVMGetNUW(addition))) return false;
    if (extension == LLVMZExt) *constant = (int64_t)LLVMConstIntGetZExtValue(LLVMGetOperand(addition, 1));
    return true;
}

static bool add_term(cpu_canonical *c, LLVMValueRef index, int64_t scale)
{
    LLVMOpcode extension = 0;
    int64_t constant;
    for (;;) {
        if (addition_of_constant(index, &constant) &&
            (!extension || passes_extension(index, extension, &constant))) {
            c->constant += constant * scale;
            index = LLVMGetOperand(index, 0);
        } else if (!extension && LLVMIsAInstruction(index) && is_extension(LLVMGetInstructionOpcode(index))) {
            extension = LLVMGetInstructionOpcode(index);
            index = LLVMGetOperand(index, 0);
        } else
            break;
    }
    int i = 0;
    for (; i < c->term_count; i++) {
        if (c->terms[i].index == index && c->terms[i].extension == extension) {
            c->terms[i].scale += scale;
            return true;
        }
        if (c->terms[i].index > index || (c->terms[i].index == index && c->terms[i].extension > extension))
            break;
    }
    if (c->term_count == MAX_TERMS) return false;
    for (int j = c->term_count++; j > i; j--) c->terms[j] = c->terms[j - 1];
    c->terms[i] = (cpu_term){index, extension, scale};
    return true;
}

/* One getelementptr; false, with *c as it was, if it does not fit. */
static bool add_step(const cpu_kernel *k, cpu_canonical *c, LLVMValueRef ir)
{
    cpu_canonical saved = *c;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(ir);
    int count = LLVMGetNumOperands(ir);
    for (int i = 1; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(ir, (unsigned)i);
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
            c->constant += (int64_t)LLVMOffsetOfElement(k->layout, type, field);
            type = LLVMStructGetTypeAtIndex(type, field);
            continue;
        }
        if (i > 1) type = LLVMGetElementType(type);
        int64_t size = (int64_t)LLVMABISizeOfType(k->layout, type);
        bool fits = true;
        if (LLVMIsAConstantInt(index))
            c->constant += LLVMConstIntGetSExtValue(index) * size;
        else
            fits = LLVMGetIntTypeWidth(LLVMTypeOf(index)) == 64 && add_term(c, index, size);
        if (fits) continue;
        *c = saved;
        return false;
    }
    return true;
}

cpu_canonical cpu_canonical_address(const cpu_kernel *k, LLVMValueRef pointer)
{
    cpu_canonical c = {.root = pointer};
    while (LLVMIsAGetElementPtrInst(c.root) || LLVMIsAAddrSpaceCastInst(c.root)) {
        const cpu_value *step = cpu_value_of(k, c.root), *base = cpu_value_of(k, LLVMGetOperand(c.root, 0));
        if (!step || (base && base->cell)) break;
        if (LLVMIsAGetElementPtrInst(c.root) && !add_step(k, &c, c.root)) break;
        c.root = LLVMGetOperand(c.root, 0);
    }
    return c;
}

bool cpu_canonical_matches(const cpu_canonical *a, const cpu_canonical *b)
{
    if (a->root != b->root || a->term_count != b->term_count) return false;
    for (int i = 0; i < a->term_count; i++)
        if (a->terms[i].index != b->terms[i].index || a->terms[i].extension != b->terms[i].extension ||
            a->terms[i].scale != b->terms[i].scale)
            return false;
    return true;
}
