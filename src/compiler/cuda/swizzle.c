/* Threadgroup memory without bank conflicts, for kernels that multiply matrices.
 *
 * A GPU serves 32 words of different banks at a time, and a word's bank is its number modulo 32; the rows of
 * a matrix that lie a power of two apart meet in few banks. So every access goes to another place: within
 * each 128 bytes the eight pieces of 16 bytes are permuted by their line's number,
 *
 *     f(x) = x ^ (((x >> 7) ^ (x >> 10)) & 7) << 4,    x: bytes from the beginning of the threadgroup's memory,
 *
 * which is the usual swizzle, with three more bits of the line's number. That is invisible if every access
 * stays within a piece and no address leaves the function; otherwise nothing is changed. The memory is whole
 * lines of 128 bytes (artifact/cuda.h).
 *
 * f is linear over the bits: f(x + c) is f(x) ^ f(c) where x and c have no bit in common. So addresses that
 * differ by a constant share f(x), mostly computed outside of the loop, and where f(c) does not meet f(x)
 * the constant stays in the instruction. Which bits a number may have is estimated from how it is computed.
 * Comes after accesses are merged. */
#include "compiler/cuda/steps.h"

#include <llvm-c/Target.h>

enum { MAX_TERMS = 12, MAX_DEPTH = 24, PIECE = 16, LINE_BITS = 7, MORE_BITS = 10, PIECE_BITS = 4 };

typedef struct swizzler {
    ir_kernel *kernel;
    LLVMTargetDataRef layout;
    LLVMBuilderRef builder;
    LLVMTypeRef i8, i32, i64;
    LLVMValueRef memory; /* where the threadgroup's memory begins */
    uint32_t threads;    /* of a block, at most */
    bool good;
} swizzler;

/* An offset: the sum of the terms (32 bits) and the constant. */
typedef struct place {
    LLVMValueRef terms[MAX_TERMS];
    uint32_t bits[MAX_TERMS], constant;
    unsigned count;
    bool full;
} place;

static uint32_t swizzled(uint32_t x)
{
    return x ^ (((x >> LINE_BITS) ^ (x >> MORE_BITS)) & 7) << PIECE_BITS;
}

/* ---- Bits that may be one ---- */

/* All bits up to the highest of `bits`. */
static uint64_t below(uint64_t bits)
{
    return bits ? ~UINT64_C(0) >> __builtin_clzll(bits) : 0;
}

static uint64_t of_sum(uint64_t x, uint64_t y)
{
    if (!(x & y)) return x | y;
    uint64_t all = x | y, lowest = all & -all, most = below(x), other = below(y), carry;
    if (__builtin_add_overflow(most, other, &carry)) return -lowest;
    return below(carry) & -lowest;
}

static uint64_t of_type(LLVMTypeRef type)
{
    unsigned width = LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 64;
    return width >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1;
}

static uint64_t possible(const swizzler *s, LLVMValueRef value, int depth);

static uint64_t of_shift(const swizzler *s, LLVMOpcode opcode, LLVMValueRef value, int depth)
{
    LLVMValueRef distance = LLVMGetOperand(value, 1);
    uint64_t type = of_type(LLVMTypeOf(value));
    if (!LLVMIsAConstantInt(distance) || LLVMConstIntGetZExtValue(distance) > 63) return type;
    uint64_t by = LLVMConstIntGetZExtValue(distance), x = possible(s, LLVMGetOperand(value, 0), depth);
    return opcode == LLVMShl ? x << by & type : x >> by;
}

static uint64_t of_instruction(const swizzler *s, LLVMValueRef value, int depth)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    uint64_t type = of_type(LLVMTypeOf(value));
    LLVMValueRef a = LLVMGetNumOperands(value) > 0 ? LLVMGetOperand(value, 0) : NULL,
                 b = LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
    switch (opcode) {
    case LLVMCall:
        return ir_is_intrinsic(value, "llvm.nvvm.read.ptx.sreg.tid.x") ? below(s->threads - 1) : type;
    case LLVMZExt: return possible(s, a, depth);
    case LLVMTrunc: return possible(s, a, depth) & type;
    case LLVMSExt: {
        uint64_t x = possible(s, a, depth), sign = of_type(LLVMTypeOf(a)) ^ of_type(LLVMTypeOf(a)) >> 1;
        return x & sign ? type & (x | -sign) : x;
    }
    case LLVMAnd: return possible(s, a, depth) & possible(s, b, depth);
    case LLVMOr:
    case LLVMXor: return possible(s, a, depth) | possible(s, b, depth);
    case LLVMAdd: return of_sum(possible(s, a, depth), possible(s, b, depth)) & type;
    case LLVMShl:
    case LLVMLShr: return of_shift(s, opcode, value, depth);
    case LLVMSelect: return possible(s, b, depth) | possible(s, LLVMGetOperand(value, 2), depth);
    case LLVMMul: {
        uint64_t x = possible(s, a, depth), y = possible(s, b, depth), most;
        if (!x || !y) return 0;
        uint64_t multiple = (x & -x) * (y & -y);
        bool wide = __builtin_mul_overflow(below(x), below(y), &most);
        return (wide ? ~UINT64_C(0) : below(most)) & -multiple & type;
    }
    default: return type;
    }
}

static uint64_t possible(const swizzler *s, LLVMValueRef value, int depth)
{
    if (LLVMIsAConstantInt(value)) return LLVMConstIntGetZExtValue(value);
    if (depth >= MAX_DEPTH || !LLVMIsAInstruction(value) ||
        LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMIntegerTypeKind)
        return of_type(LLVMTypeOf(value));
    return of_instruction(s, value, depth + 1);
}

/* ---- Offsets ---- */

static void add_term(swizzler *s, place *p, LLVMValueRef value, unsigned shift)
{
    if (p->count == MAX_TERMS) {
        p->full = true;
        return;
    }
    p->bits[p->count] = (uint32_t)(possible(s, value, 0) << shift);
    value = LLVMBuildIntCast2(s->builder, value, s->i32, false, "");
    if (shift) value = LLVMBuildShl(s->builder, value, LLVMConstInt(s->i32, shift, false), "");
    p->terms[p->count++] = value;
}

/* Adds value << shift, modulo 2^32, to the place. */
static void add_value(swizzler *s, place *p, LLVMValueRef value, unsigned shift, int depth)
{
    unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(value));
    if (LLVMIsAConstantInt(value)) {
        p->constant += (uint32_t)((uint64_t)LLVMConstIntGetSExtValue(value) << shift);
        return;
    }
    if (width < 32 || depth >= MAX_DEPTH || !LLVMIsAInstruction(value)) {
        /* Narrow numbers wrap earlier; they are extended with zeros as long as nothing else is known. */
        add_term(s, p, value, shift);
        return;
    }
    LLVMValueRef a = LLVMGetOperand(value, 0),
                 b = LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMZExt:
    case LLVMTrunc:
    case LLVMSExt:
        if (LLVMGetIntTypeWidth(LLVMTypeOf(a)) < 32) break;
        add_value(s, p, a, shift, depth + 1);
        return;
    case LLVMOr:
        if (possible(s, a, 0) & possible(s, b, 0)) break;
        /* fallthrough */
    case LLVMAdd:
        add_value(s, p, a, shift, depth + 1);
        add_value(s, p, b, shift, depth + 1);
        return;
    case LLVMShl:
        if (!LLVMIsAConstantInt(b) || LLVMConstIntGetZExtValue(b) + shift > 31) break;
        add_value(s, p, a, shift + (unsigned)LLVMConstIntGetZExtValue(b), depth + 1);
        return;
    default: break;
    }
    add_term(s, p, value, shift);
}

/* Where `address` is from the beginning of the threadgroup's memory. */
static void find_place(swizzler *s, place *p, LLVMValueRef address)
{
    for (int depth = 0; depth < MAX_DEPTH && address != s->memory; depth++) {
        bool element = LLVMIsAGetElementPtrInst(address) ||
                       (LLVMIsAConstantExpr(address) && LLVMGetConstOpcode(address) == LLVMGetElementPtr);
        if (!element || LLVMGetNumIndices(address) != 1) break;
        uint64_t scale = LLVMABISizeOfType(s->layout, LLVMGetGEPSourceElementType(address));
        LLVMValueRef index = LLVMGetOperand(address, 1);
        if (scale & (scale - 1)) break;
        add_value(s, p, index, (unsigned)__builtin_ctzll(scale), 0);
        address = LLVMGetOperand(address, 0);
    }
    if (address == s->memory) return;
    LLVMValueRef from = LLVMBuildPtrToInt(s->builder, s->memory, s->i32, ""),
                 to = LLVMBuildPtrToInt(s->builder, address, s->i32, "");
    add_term(s, p, LLVMBuildSub(s->builder, to, from, ""), 0);
}

/* ---- Rewriting ---- */

static LLVMValueRef number(const swizzler *s, uint32_t x)
{
    return LLVMConstInt(s->i32, x, false);
}

static LLVMValueRef build_swizzled(const swizzler *s, LLVMValueRef x)
{
    LLVMValueRef line = LLVMBuildLShr(s->builder, x, number(s, LINE_BITS - PIECE_BITS), ""),
                 more = LLVMBuildLShr(s->builder, x, number(s, MORE_BITS - PIECE_BITS), "");
    LLVMValueRef both = LLVMBuildXor(s->builder, line, more, "");
    return LLVMBuildXor(s->builder, x, LLVMBuildAnd(s->builder, both, number(s, 7 << PIECE_BITS), ""), "");
}

static LLVMValueRef build_address(swizzler *s, LLVMValueRef old)
{
    place p = {.count = 0};
    find_place(s, &p, old);
    if (p.full) { /* too many terms: as one */
        p = (place){.count = 0};
        LLVMValueRef from = LLVMBuildPtrToInt(s->builder, s->memory, s->i32, "");
        add_term(
            s, &p, LLVMBuildSub(s->builder, LLVMBuildPtrToInt(s->builder, old, s->i32, ""), from, ""), 0);
    }
    LLVMValueRef sum = number(s, 0), constant = NULL;
    uint64_t bits = 0;
    for (unsigned i = 0; i < p.count; i++) {
        sum = LLVMBuildAdd(s->builder, sum, p.terms[i], "");
        bits = of_sum(bits, p.bits[i]);
    }
    uint32_t left = swizzled(p.constant), reached = (uint32_t)bits;
    reached |= ((reached >> LINE_BITS | reached >> MORE_BITS) & 7) << PIECE_BITS;
    if ((uint32_t)bits & p.constant) {
        sum = build_swizzled(s, LLVMBuildAdd(s->builder, sum, number(s, p.constant), ""));
    } else {
        sum = build_swizzled(s, sum);
        if (left & reached)
            sum = LLVMBuildXor(s->builder, sum, number(s, left), "");
        else
            constant = LLVMConstInt(s->i64, left, false);
    }
    sum = LLVMBuildZExt(s->builder, sum, s->i64, "");
    LLVMValueRef made = LLVMBuildGEP2(s->builder, s->i8, s->memory, &sum, 1, "");
    return constant ? LLVMBuildGEP2(s->builder, s->i8, made, &constant, 1, "") : made;
}

/* ---- Accesses ---- */

static bool is_shared(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMPointerTypeKind && LLVMGetPointerAddressSpace(type) == 3;
}

/* The operand that is the address of an access, -1 for other instructions. */
static int address_of(LLVMValueRef instruction)
{
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMLoad:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: return 0;
    case LLVMStore: return 1;
    case LLVMCall:
        return ir_callee(instruction) && ir_name_starts(ir_callee(instruction), CUDA_LDMATRIX) ? 0 : -1;
    default: return -1;
    }
}

static bool is_within_piece(const swizzler *s, LLVMValueRef instruction)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    if (opcode == LLVMCall) return true; /* rows of 16 bytes, aligned */
    LLVMTypeRef type = LLVMTypeOf(opcode == LLVMStore  ? LLVMGetOperand(instruction, 0)
                                  : opcode == LLVMLoad ? instruction
                                                       : LLVMGetOperand(instruction, 1));
    uint64_t size = LLVMStoreSizeOfType(s->layout, type);
    bool simple = opcode == LLVMLoad || opcode == LLVMStore;
    return size <= PIECE && (!simple || size <= LLVMGetAlignment(instruction)); /* atomic ones are aligned */
}

static void judge(LLVMValueRef instruction, void *context)
{
    swizzler *s = context;
    int address = address_of(instruction);
    for (int i = 0; i < LLVMGetNumOperands(instruction); i++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);
        if (!is_shared(operand)) continue;
        LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
        bool stays = opcode == LLVMGetElementPtr || opcode == LLVMPHI || opcode == LLVMSelect ||
                     opcode == LLVMICmp || opcode == LLVMFreeze;
        if (!(i == address ? is_within_piece(s, instruction) : stays)) s->good = false;
    }
}

static void rewrite(LLVMValueRef instruction, void *context)
{
    swizzler *s = context;
    int address = address_of(instruction);
    if (address < 0 || !is_shared(LLVMGetOperand(instruction, (unsigned)address))) return;
    LLVMPositionBuilderBefore(s->builder, instruction);
    LLVMSetOperand(
        instruction, (unsigned)address, build_address(s, LLVMGetOperand(instruction, (unsigned)address)));
}

bool cuda_swizzle(ir_kernel *kernel, uint32_t threads)
{
    LLVMContextRef c = kernel->context;
    swizzler s = {.kernel = kernel,
        .layout = LLVMGetModuleDataLayout(kernel->module),
        .builder = LLVMCreateBuilderInContext(c),
        .i8 = LLVMInt8TypeInContext(c),
        .i32 = LLVMInt32TypeInContext(c),
        .i64 = LLVMInt64TypeInContext(c),
        .memory = LLVMGetNamedGlobal(kernel->module, CUDA_SHARED),
        .threads = threads,
        .good = true};
    if (s.memory) ir_visit(kernel->function, judge, &s);
    bool changes = s.memory && s.good;
    if (changes) ir_visit(kernel->function, rewrite, &s);
    LLVMDisposeBuilder(s.builder);
    return changes;
}
