/* Alignment of accesses, from how their addresses are computed.
 *
 * LLVM merges narrow accesses only where the instruction promises enough alignment, and its own analysis
 * stops where a pointer goes round a loop. This one counts the zero bits at the end of an address through
 * address arithmetic, phis and selects. A phi is taken to have as many as its other inputs have: that is
 * true by induction, since every operation that is looked through keeps or adds zeros of its operands
 * (shifts to the right are not looked through).
 *
 * Buffers are known to be aligned as their elements, and of a stride in an argument nothing is known; that
 * is often too little. So buffers and numbers in arguments can be assumed to be multiples of 16, where an
 * access is better for it; such code carries a second entry point for launches where that is not so
 * (compile.c). */
#include "compiler/cuda/steps.h"

#include <llvm-c/Target.h>
#include <string.h>

enum { ALL_ZERO = 64, ASSUMED = 4, USEFUL = 4, MAX_DEPTH = 48, BUDGET = 600 };

typedef struct aligner {
    ir_kernel *kernel;
    LLVMTargetDataRef layout;
    const char *kinds;   /* of the arguments that are passed, in the order of the entry's parameters from the
                          second on */
    bool assume, change; /* change: the accesses; else find out what is needed */
    cuda_assumptions *needed;
    bool asked;                 /* for an assumption, on the way of the value at hand */
    cuda_assumptions asked_for; /* the numbers among them */
    unsigned budget;
    LLVMValueRef path[MAX_DEPTH]; /* phis that are being looked at */
    unsigned depth, unknown;      /* the first `unknown` of them are above a shift to the right */
} aligner;

static unsigned zeros(aligner *a, LLVMValueRef value);

static unsigned least(unsigned x, unsigned y)
{
    return x < y ? x : y;
}

static unsigned sum(unsigned x, unsigned y)
{
    return least(x + y, ALL_ZERO);
}

static unsigned zeros_of_number(uint64_t number)
{
    return number ? (unsigned)__builtin_ctzll(number) : ALL_ZERO;
}

static unsigned zeros_of_alignment(uint64_t alignment)
{
    return alignment ? zeros_of_number(alignment) : 0;
}

/* ---- Sources ---- */

static bool contains(const cuda_assumptions *list, const cuda_multiple *one)
{
    for (size_t i = 0; i < list->count; i++)
        if (!memcmp(&list->numbers[i], one, sizeof *one)) return true;
    return false;
}

static bool add(cuda_assumptions *list, const cuda_multiple *one)
{
    if (contains(list, one)) return true;
    if (list->count == CUDA_MAX_MULTIPLES) return false;
    list->numbers[list->count++] = *one;
    return true;
}

/* Where in a by-value argument a load reads. */
static bool find_number(const aligner *a, LLVMValueRef load, cuda_multiple *one)
{
    LLVMValueRef address = LLVMGetOperand(load, 0);
    uint64_t offset = 0;
    for (; LLVMIsAInstruction(address); address = LLVMGetOperand(address, 0)) {
        if (LLVMIsAAddrSpaceCastInst(address)) continue;
        if (!LLVMIsAGetElementPtrInst(address) || LLVMGetNumIndices(address) != 1) return false;
        LLVMValueRef index = LLVMGetOperand(address, 1);
        uint64_t scale = LLVMABISizeOfType(a->layout, LLVMGetGEPSourceElementType(address));
        if (!LLVMIsAConstantInt(index) || LLVMConstIntGetZExtValue(index) > TB_CUDA_BY_VALUE) return false;
        offset += LLVMConstIntGetZExtValue(index) * scale;
    }
    if (offset > TB_CUDA_BY_VALUE) return false;
    one->offset = (uint32_t)offset;
    for (unsigned i = 1; i < LLVMCountParams(a->kernel->function); i++) {
        one->parameter = i - 1;
        if (LLVMGetParam(a->kernel->function, i) == address) return a->kinds[i - 1] == 'v';
    }
    return false;
}

/* A number in an argument that is passed by value, such as a stride. */
static unsigned zeros_of_load(aligner *a, LLVMValueRef load)
{
    LLVMTypeRef type = LLVMTypeOf(load);
    if (!a->assume || LLVMGetTypeKind(type) != LLVMIntegerTypeKind) return 0;
    cuda_multiple one = {.size = (uint32_t)LLVMStoreSizeOfType(a->layout, type)};
    if ((one.size != 4 && one.size != 8) || !find_number(a, load, &one)) return 0;
    if (a->change ? !contains(a->needed, &one) : !add(&a->asked_for, &one)) return 0;
    a->asked = true;
    return ASSUMED;
}

static unsigned zeros_of_parameter(aligner *a, LLVMValueRef parameter)
{
    LLVMValueRef function = a->kernel->function;
    for (unsigned i = 0; i < LLVMCountParams(function); i++) {
        if (LLVMGetParam(function, i) != parameter) continue;
        char kind = i ? a->kinds[i - 1] : 'v';
        if (kind == 't') return ASSUMED; /* the driver rounds offsets up to 16 */
        unsigned known = 0;
        LLVMAttributeRef align =
            LLVMGetEnumAttributeAtIndex(function, i + 1, LLVMGetEnumAttributeKindForName("align", 5));
        if (align) known = zeros_of_alignment(LLVMGetEnumAttributeValue(align));
        if (kind != 'p' || !a->assume || known >= ASSUMED) return known;
        a->asked = true;
        return ASSUMED;
    }
    return 0;
}

/* ---- Operations ---- */

static unsigned zeros_of_gep(aligner *a, LLVMValueRef gep)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    unsigned result = zeros(a, LLVMGetOperand(gep, 0));
    for (unsigned i = 0; i < LLVMGetNumIndices(gep) && result; i++) {
        LLVMValueRef index = LLVMGetOperand(gep, i + 1);
        uint64_t scale;
        if (i == 0) {
            scale = LLVMABISizeOfType(a->layout, type);
        } else if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned member = (unsigned)LLVMConstIntGetZExtValue(index);
            result = least(result, zeros_of_number(LLVMOffsetOfElement(a->layout, type, member)));
            type = LLVMStructGetTypeAtIndex(type, member);
            continue;
        } else {
            type = LLVMGetElementType(type);
            scale = LLVMABISizeOfType(a->layout, type);
        }
        result = least(result, sum(zeros(a, index), zeros_of_number(scale)));
    }
    return result;
}

static unsigned zeros_of_phi(aligner *a, LLVMValueRef phi)
{
    for (unsigned i = 0; i < a->depth; i++)
        if (a->path[i] == phi) return i < a->unknown ? 0 : ALL_ZERO;
    if (a->depth == MAX_DEPTH) return 0;
    a->path[a->depth++] = phi;
    unsigned result = ALL_ZERO;
    for (unsigned i = 0; i < LLVMCountIncoming(phi) && result; i++)
        result = least(result, zeros(a, LLVMGetIncomingValue(phi, i)));
    a->depth--;
    return result;
}

/* Narrow numbers are widened by pairs of shifts, of which the second may be shorter. */
static unsigned zeros_of_right_shift(aligner *a, LLVMValueRef value, LLVMValueRef distance)
{
    if (!LLVMIsAConstantInt(distance)) return 0;
    uint64_t by = LLVMConstIntGetZExtValue(distance);
    unsigned before = a->unknown;
    a->unknown = a->depth;
    unsigned found = zeros(a, value);
    a->unknown = before;
    if (found == ALL_ZERO) return ALL_ZERO; /* it is 0 */
    return by < found ? found - (unsigned)by : 0;
}

static unsigned zeros_of_instruction(aligner *a, LLVMValueRef i)
{
    LLVMValueRef x = LLVMGetNumOperands(i) > 0 ? LLVMGetOperand(i, 0) : NULL,
                 y = LLVMGetNumOperands(i) > 1 ? LLVMGetOperand(i, 1) : NULL;
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMGetElementPtr: return zeros_of_gep(a, i);
    case LLVMLoad: return zeros_of_load(a, i);
    case LLVMPHI: return zeros_of_phi(a, i);
    case LLVMSelect: return least(zeros(a, y), zeros(a, LLVMGetOperand(i, 2)));
    case LLVMAlloca: return zeros_of_alignment(LLVMGetAlignment(i));
    case LLVMAddrSpaceCast:
    case LLVMIntToPtr:
    case LLVMPtrToInt:
    case LLVMFreeze:
    case LLVMSExt:
    case LLVMZExt:
    case LLVMTrunc: return zeros(a, x);
    case LLVMAdd:
    case LLVMSub:
    case LLVMOr:
    case LLVMXor: return least(zeros(a, x), zeros(a, y));
    case LLVMMul: return sum(zeros(a, x), zeros(a, y));
    case LLVMShl: {
        uint64_t distance = LLVMIsAConstantInt(y) ? LLVMConstIntGetZExtValue(y) : 0;
        return sum(zeros(a, x), distance < ALL_ZERO ? (unsigned)distance : ALL_ZERO);
    }
    case LLVMLShr:
    case LLVMAShr: return zeros_of_right_shift(a, x, y);
    case LLVMAnd: {
        unsigned left = zeros(a, x), right = zeros(a, y);
        return left > right ? left : right;
    }
    default: return 0;
    }
}

/* How many of the lowest bits are zero; fewer where that is not known. */
static unsigned zeros(aligner *a, LLVMValueRef value)
{
    if (a->budget == 0) return 0;
    a->budget--;
    if (LLVMIsAConstantInt(value))
        return LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64 ? 0
                                                           : zeros_of_number(LLVMConstIntGetZExtValue(value));
    if (LLVMIsAArgument(value)) return zeros_of_parameter(a, value);
    if (LLVMIsAGlobalVariable(value)) return zeros_of_alignment(LLVMGetAlignment(value));
    if (LLVMIsAInstruction(value)) return zeros_of_instruction(a, value);
    return 0;
}

/* ---- Accesses ---- */

static unsigned zeros_of_address(aligner *a, LLVMValueRef address, bool assume)
{
    bool before = a->assume;
    a->assume = assume;
    a->budget = BUDGET;
    a->depth = a->unknown = 0;
    unsigned found = least(zeros(a, address), USEFUL);
    a->assume = before;
    return found;
}

static void raise_alignment(LLVMValueRef instruction, void *context)
{
    aligner *a = context;
    bool load = LLVMIsALoadInst(instruction);
    if (!load && !LLVMIsAStoreInst(instruction)) return;
    unsigned known = zeros_of_alignment(LLVMGetAlignment(instruction));
    if (known >= USEFUL) return;
    LLVMValueRef address = LLVMGetOperand(instruction, load ? 0 : 1);
    a->asked = false;
    a->asked_for.count = 0;
    unsigned found = zeros_of_address(a, address, a->assume);
    if (found <= known) return;
    if (a->change) {
        LLVMSetAlignment(instruction, 1u << found);
    } else if (a->asked && zeros_of_address(a, address, false) < found) {
        a->needed->any = true;
        for (size_t i = 0; i < a->asked_for.count; i++) add(a->needed, &a->asked_for.numbers[i]);
    }
}

unsigned cuda_known_zeros(ir_kernel *kernel, const char *kinds, LLVMValueRef value)
{
    aligner a = {.kernel = kernel, .layout = LLVMGetModuleDataLayout(kernel->module), .kinds = kinds};
    return zeros_of_address(&a, value, false);
}

void cuda_find_assumptions(ir_kernel *kernel, const char *kinds, cuda_assumptions *needed)
{
    *needed = (cuda_assumptions){0};
    aligner a = {.kernel = kernel,
        .layout = LLVMGetModuleDataLayout(kernel->module),
        .kinds = kinds,
        .assume = true,
        .needed = needed};
    ir_visit(kernel->function, raise_alignment, &a);
}

void cuda_align(ir_kernel *kernel, const char *kinds, const cuda_assumptions *assume)
{
    cuda_assumptions list = assume ? *assume : (cuda_assumptions){0};
    aligner a = {.kernel = kernel,
        .layout = LLVMGetModuleDataLayout(kernel->module),
        .kinds = kinds,
        .assume = list.any,
        .change = true,
        .needed = &list};
    ir_visit(kernel->function, raise_alignment, &a);
}
