/* Threadgroup memory without bank conflicts, for kernels that multiply matrices.
 *
 * A GPU serves 32 words of different banks at a time, and a word's bank is its number modulo 32; the rows of
 * a matrix that lie a power of two apart meet in few banks. So every access goes to another place: within
 * each 128 bytes the eight pieces of 16 bytes are permuted by their line's number l,
 *
 *     f(x) = x ^ g(l) << 4,    l = x >> 7,    x: bytes from the beginning of the threadgroup's memory,
 *
 * where bit i of l adds (exclusively) g_i. Two f are tried, and taken is the one with which the kernel's accesses take fewer turns of the
 * banks (bank.c), or none if that is as good, as in tiles whose rows are padded:
 *
 *     g = 001, 010, 100, 001, ...            the usual swizzle, with three more bits of the line's number
 *     g = 111, 101, 110, 100, 111, 101       any three neighbours are independent, also with the bits of x below 7 in front of them: so
 *                                            eight rows that lie 32, 64, ..., 1024 bytes apart are read in eight different pieces, as
 *                                            ldmatrix does. Of any two neighbours the upper two bits are, and of each the uppermost is
 *                                            one: so four rows of 32 bytes, as matrices of floats are read, and two of 64, too
 *
 * That is invisible if every access
 * stays within a piece and no address leaves the function; otherwise nothing is changed. The memory is whole
 * lines of 128 bytes (artifact/cuda.h).
 *
 * f is linear over the bits: f(x + c) is f(x) ^ f(c) where x and c have no bit in common. So addresses that
 * differ by a constant share f(x), mostly computed outside of the loop, and where f(c) does not meet f(x)
 * the constant stays in the instruction. Which bits a number may have is estimated from how it is computed.
 * Comes after accesses are merged. */
#include "compiler/cuda/steps.h"

#include <llvm-c/Target.h>

enum { MAX_TERMS = 12, MAX_DEPTH = 24, PIECE = 16, PIECE_BITS = 4, LINE_BITS = 7, LINES = 6, MAX_WEIGHT = 512, LOOP_WEIGHT = 8, MAX_PHIS = 4,
    MAX_ROUNDS = 3 };

/* g_i of those f that are tried. */
static const uint8_t candidates[][LINES] = {{1, 2, 4, 1, 2, 4}, {7, 5, 6, 4, 7, 5}};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

typedef struct swizzler {
    ir_kernel *kernel;
    LLVMTargetDataRef layout;
    LLVMBuilderRef builder;
    LLVMTypeRef i8, i32, i64;
    LLVMValueRef memory; /* where the threadgroup's memory begins */
    uint32_t threads;    /* of a block, at most */
    const ir_cfg *cfg;
    uint32_t loop; /* of the access, as ir_cfg_block.loop */
    const uint8_t *g; /* the f that is chosen */
    uint64_t before, after[CANDIDATES]; /* turns of the banks without and with each f */
    LLVMValueRef phis[MAX_PHIS]; /* that are being looked at, and the bits that they are taken to have */
    uint64_t taken[MAX_PHIS];
    unsigned phi_count;
    bool good;
} swizzler;

/* An offset: the sum of the terms (32 bits) and the constant. */
typedef struct place {
    LLVMValueRef terms[MAX_TERMS];
    bool varies[MAX_TERMS]; /* from one iteration of the access's loop to the next */
    uint32_t bits[MAX_TERMS], constant;
    unsigned count;
    bool full;
} place;

/* Of x >> shift what is added, so that bit i of x's line adds g[i]. */
static uint32_t mask_of(const uint8_t *g, unsigned shift)
{
    uint32_t mask = 0;
    for (unsigned i = 0; i < LINES; i++)
        for (unsigned bit = 0; bit < 3; bit++)
            if (g[i] >> bit & 1 && LINE_BITS + i == PIECE_BITS + bit + shift) mask |= UINT32_C(1) << (PIECE_BITS + bit);
    return mask;
}

static uint32_t swizzled(const uint8_t *g, uint32_t x)
{
    uint32_t result = x;
    for (unsigned i = 0; i < LINES; i++)
        if (x >> (LINE_BITS + i) & 1) result ^= (uint32_t)g[i] << PIECE_BITS;
    return result;
}

/* The bits that f of numbers with these bits may have. */
static uint32_t reached_by(const uint8_t *g, uint32_t bits)
{
    uint32_t reached = 0;
    for (uint32_t left = bits; left; left &= left - 1) reached |= swizzled(g, left & -left);
    return reached;
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

static uint64_t possible(swizzler *s, LLVMValueRef value, int depth);

/* Begins with no bits and adds what the inputs have, until that is no more: then it holds by induction. */
static uint64_t of_phi(swizzler *s, LLVMValueRef phi, int depth)
{
    uint64_t type = of_type(LLVMTypeOf(phi));
    for (unsigned i = 0; i < s->phi_count; i++)
        if (s->phis[i] == phi) return s->taken[i];
    if (s->phi_count == MAX_PHIS) return type;
    unsigned own = s->phi_count++;
    s->phis[own] = phi;
    s->taken[own] = 0;
    uint64_t bits = 0;
    for (int round = 0; round <= MAX_ROUNDS; round++) {
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
            bits |= possible(s, LLVMGetIncomingValue(phi, i), depth);
        if (bits == s->taken[own]) break;
        s->taken[own] = round + 1 < MAX_ROUNDS ? bits : type;
    }
    s->phi_count = own;
    return s->taken[own];
}

static uint64_t of_shift(swizzler *s, LLVMOpcode opcode, LLVMValueRef value, int depth)
{
    LLVMValueRef distance = LLVMGetOperand(value, 1);
    uint64_t type = of_type(LLVMTypeOf(value));
    if (!LLVMIsAConstantInt(distance) || LLVMConstIntGetZExtValue(distance) > 63) return type;
    uint64_t by = LLVMConstIntGetZExtValue(distance), x = possible(s, LLVMGetOperand(value, 0), depth);
    return opcode == LLVMShl ? x << by & type : x >> by;
}

static uint64_t of_instruction(swizzler *s, LLVMValueRef value, int depth)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    uint64_t type = of_type(LLVMTypeOf(value));
    LLVMValueRef a = LLVMGetNumOperands(value) > 0 ? LLVMGetOperand(value, 0) : NULL,
                 b = LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
    switch (opcode) {
    case LLVMCall:
        return ir_is_intrinsic(value, "llvm.nvvm.read.ptx.sreg.tid.x") ? below(s->threads - 1) : type;
    case LLVMPHI: return of_phi(s, value, depth);
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

static uint64_t possible(swizzler *s, LLVMValueRef value, int depth)
{
    if (LLVMIsAConstantInt(value)) return LLVMConstIntGetZExtValue(value);
    if (depth >= MAX_DEPTH || !LLVMIsAInstruction(value) ||
        LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMIntegerTypeKind)
        return of_type(LLVMTypeOf(value));
    return of_instruction(s, value, depth + 1);
}

/* ---- Offsets ---- */

static uint32_t loop_of(const swizzler *s, LLVMBasicBlockRef block)
{
    for (uint32_t i = 0; i < s->cfg->block_count; i++)
        if (s->cfg->blocks[i].block == block) return s->cfg->blocks[i].loop;
    return IR_NONE;
}

static bool varies(const swizzler *s, LLVMValueRef value)
{
    return LLVMIsAInstruction(value) && s->loop != IR_NONE &&
           ir_cfg_in_loop(s->cfg, loop_of(s, LLVMGetInstructionParent(value)), s->loop);
}

static void add_term(swizzler *s, place *p, LLVMValueRef value, unsigned shift)
{
    if (p->count == MAX_TERMS) {
        p->full = true;
        return;
    }
    p->bits[p->count] = (uint32_t)(possible(s, value, 0) << shift);
    p->varies[p->count] = varies(s, value);
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
    LLVMValueRef result = x;
    for (unsigned shift = 1; shift < LINE_BITS + LINES; shift++) {
        uint32_t mask = mask_of(s->g, shift);
        if (!mask) continue;
        LLVMValueRef part = LLVMBuildAnd(s->builder, LLVMBuildLShr(s->builder, x, number(s, shift), ""), number(s, mask), "");
        result = LLVMBuildXor(s->builder, result, part, "");
    }
    return result;
}

/* The sum of the terms that vary, or of the others, and the bits that it may have. */
static LLVMValueRef build_sum(const swizzler *s, const place *p, bool varying, uint64_t *bits)
{
    LLVMValueRef sum = NULL;
    *bits = 0;
    for (unsigned i = 0; i < p->count; i++) {
        if (p->varies[i] != varying) continue;
        sum = sum ? LLVMBuildAdd(s->builder, sum, p->terms[i], "") : p->terms[i];
        *bits = of_sum(*bits, p->bits[i]);
    }
    return sum ? sum : number(s, 0);
}

/* f of the terms' sum, and the bits that this may have; f of what does not vary by itself, where that is the same. */
static LLVMValueRef build_permuted(const swizzler *s, const place *p, uint32_t constant, uint32_t *reached)
{
    uint64_t bits[2];
    LLVMValueRef rest = build_sum(s, p, false, &bits[0]), varying = build_sum(s, p, true, &bits[1]);
    *reached = reached_by(s->g, (uint32_t)of_sum(bits[0], bits[1]));
    if (bits[0] & bits[1] || constant) {
        rest = LLVMBuildAdd(s->builder, rest, varying, "");
        return build_swizzled(s, LLVMBuildAdd(s->builder, rest, number(s, constant), ""));
    }
    if (!bits[0] || !bits[1]) return build_swizzled(s, bits[1] ? varying : rest);
    return LLVMBuildXor(s->builder, build_swizzled(s, rest), build_swizzled(s, varying), "");
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
    uint64_t bits = 0;
    for (unsigned i = 0; i < p.count; i++) bits = of_sum(bits, p.bits[i]);
    bool meets = (uint32_t)bits & p.constant;
    uint32_t left = meets ? 0 : swizzled(s->g, p.constant), reached;
    LLVMValueRef sum = build_permuted(s, &p, meets ? p.constant : 0, &reached), constant = NULL;
    if (left & reached)
        sum = LLVMBuildXor(s->builder, sum, number(s, left), "");
    else if (left)
        constant = LLVMConstInt(s->i64, left, false);
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

/* Bytes of each lane. */
static uint64_t size_of(const swizzler *s, LLVMValueRef instruction)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    if (opcode == LLVMCall) return PIECE; /* rows of matrices */
    return LLVMStoreSizeOfType(s->layout, LLVMTypeOf(opcode == LLVMStore  ? LLVMGetOperand(instruction, 0)
                                                     : opcode == LLVMLoad ? instruction
                                                                          : LLVMGetOperand(instruction, 1)));
}

static bool is_within_piece(const swizzler *s, LLVMValueRef instruction)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    if (opcode == LLVMCall) return true; /* aligned */
    uint64_t size = size_of(s, instruction);
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

/* How often a block is executed, roughly. */
static uint64_t weight_of(const swizzler *s, LLVMBasicBlockRef block)
{
    uint64_t weight = 1;
    for (uint32_t l = loop_of(s, block); l != IR_NONE && weight < MAX_WEIGHT; l = s->cfg->loops[l].parent) weight *= LOOP_WEIGHT;
    return weight;
}

static void compare(LLVMValueRef instruction, void *context)
{
    swizzler *s = context;
    int address = address_of(instruction);
    if (address < 0 || !is_shared(LLVMGetOperand(instruction, (unsigned)address))) return;
    uint32_t places[TB_SIMD_WIDTH];
    cuda_bank_places(s->kernel, LLVMGetOperand(instruction, (unsigned)address), places);
    uint64_t weight = weight_of(s, LLVMGetInstructionParent(instruction));
    unsigned size = (unsigned)size_of(s, instruction);
    s->before += weight * cuda_bank_turns(places, size);
    for (unsigned n = 0; n < CANDIDATES; n++) {
        uint32_t other[TB_SIMD_WIDTH];
        for (unsigned lane = 0; lane < TB_SIMD_WIDTH; lane++) other[lane] = swizzled(candidates[n], places[lane]);
        s->after[n] += weight * cuda_bank_turns(other, size);
    }
}

static void rewrite(LLVMValueRef instruction, void *context)
{
    swizzler *s = context;
    int address = address_of(instruction);
    if (address < 0 || !is_shared(LLVMGetOperand(instruction, (unsigned)address))) return;
    LLVMPositionBuilderBefore(s->builder, instruction);
    s->loop = loop_of(s, LLVMGetInstructionParent(instruction));
    LLVMSetOperand(
        instruction, (unsigned)address, build_address(s, LLVMGetOperand(instruction, (unsigned)address)));
}

tombac_status cuda_swizzle(ir_kernel *kernel, uint32_t threads, bool *changed, tombac_error **error)
{
    *changed = false;
    LLVMContextRef c = kernel->context;
    ir_cfg cfg;
    tombac_status status = ir_cfg_build(kernel->function, &cfg, error);
    if (status != TOMBAC_OK) return status;
    swizzler s = {.kernel = kernel,
        .layout = LLVMGetModuleDataLayout(kernel->module),
        .builder = LLVMCreateBuilderInContext(c),
        .i8 = LLVMInt8TypeInContext(c),
        .i32 = LLVMInt32TypeInContext(c),
        .i64 = LLVMInt64TypeInContext(c),
        .memory = LLVMGetNamedGlobal(kernel->module, CUDA_SHARED),
        .threads = threads,
        .cfg = &cfg,
        .good = true};
    if (s.memory) ir_visit(kernel->function, judge, &s);
    if (s.memory && s.good) ir_visit(kernel->function, compare, &s);
    uint64_t least = s.before;
    for (unsigned n = 0; n < CANDIDATES; n++) {
        if (s.after[n] >= least) continue;
        least = s.after[n];
        s.g = candidates[n];
    }
    *changed = s.g != NULL;
    if (*changed) ir_visit(kernel->function, rewrite, &s);
    LLVMDisposeBuilder(s.builder);
    ir_cfg_free(&cfg);
    return TOMBAC_OK;
}
