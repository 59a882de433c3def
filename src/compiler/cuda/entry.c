/* The entry point: a PTX kernel whose parameters are a tb_cuda_launch and the arguments (artifact/cuda.h).
 *
 * The blocks of the prepared kernel move into it behind a call of the library's `enter`, which fills a
 * private tb_cuda_thread; positions are loads from that record, and scalar replacement leaves only what is
 * used. A reference to constant memory whose uses are all plain loads comes by value: NVIDIA keeps parameters
 * in constant memory, and nothing is uploaded for it. */
#include "compiler/cuda/steps.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTER "enter"

typedef struct entry {
    ir_kernel *kernel;
    LLVMModuleRef module;
    LLVMContextRef context;
    LLVMBuilderRef builder;
    LLVMValueRef function, thread, shared;
    const uint32_t *threadgroup;
    unsigned blocks; /* of threadgroup memory among the arguments so far */
    LLVMTypeRef i8, i32, i64;
} entry;

enum { MAX_THREADS = 1024 }; /* in a threadgroup, where the kernel does not say */

typedef struct position_field {
    const char *name;
    uint32_t offset;
} position_field;

#define FIELD1(f) {"__tombac_" #f, offsetof(tb_dispatch, f)}
#define FIELD3(f)                                                                                            \
    {"__tombac_" #f "_x", offsetof(tb_dispatch, f)}, {"__tombac_" #f "_y", offsetof(tb_dispatch, f) + 4},    \
        {"__tombac_" #f "_z", offsetof(tb_dispatch, f) + 8}

static const position_field fields[] = {
    {"__tombac_lane", offsetof(tb_cuda_thread, lane)},
    {"__tombac_simdgroup", offsetof(tb_cuda_thread, simdgroup)},
    {"__tombac_thread_index", offsetof(tb_cuda_thread, index)},
    {"__tombac_thread_position_x", offsetof(tb_cuda_thread, position)},
    {"__tombac_thread_position_y", offsetof(tb_cuda_thread, position) + 4},
    {"__tombac_thread_position_z", offsetof(tb_cuda_thread, position) + 8},
    {CUDA_MASK, offsetof(tb_cuda_thread, mask)},
    FIELD3(threads_per_grid),
    FIELD3(threadgroups_per_grid),
    FIELD3(dispatch_threads_per_threadgroup),
    FIELD3(grid_origin),
    FIELD1(dispatch_simdgroups_per_threadgroup),
    FIELD3(threadgroup_position_in_grid),
    FIELD3(threads_per_threadgroup),
    FIELD1(simdgroups_per_threadgroup),
    FIELD1(thread_count),
};

/* ---- References by value ---- */

/* True where all uses are loads, through address arithmetic or not. */
static bool only_loads(LLVMValueRef pointer)
{
    for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsALoadInst(user)) {
            if (LLVMGetVolatile(user) || LLVMGetOrdering(user) != LLVMAtomicOrderingNotAtomic) return false;
        } else if (!LLVMIsAGetElementPtrInst(user) || LLVMGetOperand(user, 0) != pointer ||
                   !only_loads(user)) {
            return false;
        }
    }
    return true;
}

/* Loads from `old` (address space 1) become loads from `now` (generic). */
static void retype_loads(entry *e, LLVMValueRef old, LLVMValueRef now)
{
    LLVMUseRef use;
    while ((use = LLVMGetFirstUse(old))) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsALoadInst(user)) {
            LLVMSetOperand(user, 0, now);
            continue;
        }
        LLVMPositionBuilderBefore(e->builder, user);
        unsigned count = LLVMGetNumIndices(user);
        LLVMValueRef *indices = calloc(count + 1, sizeof(LLVMValueRef));
        if (!indices) return;
        for (unsigned i = 0; i < count; i++) indices[i] = LLVMGetOperand(user, i + 1);
        LLVMValueRef made =
            LLVMBuildGEP2(e->builder, LLVMGetGEPSourceElementType(user), now, indices, count, "");
        free(indices);
        retype_loads(e, user, made);
        LLVMInstructionEraseFromParent(user);
    }
}

/* ---- Arguments ---- */

static char kind_of(const entry *e, unsigned index)
{
    const ir_argument *argument = &e->kernel->arguments[index];
    const front_parameter *p = argument->parameter;
    if (!argument->active) return '-';
    if (p->binding == FRONT_THREADGROUP) return 't';
    bool small = p->is_reference && p->space == FRONT_CONSTANT && argument->type.size > 0 &&
                 argument->type.size <= TB_CUDA_BY_VALUE;
    return small && only_loads(LLVMGetParam(e->kernel->function, index)) ? 'v' : 'p';
}

static LLVMTypeRef bytes_type(const entry *e, uint64_t size)
{
    return LLVMArrayType2(e->i8, size);
}

static void set_by_value(const entry *e, unsigned parameter, uint64_t size, uint64_t alignment)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("byval", 5);
    LLVMAddAttributeAtIndex(
        e->function, parameter + 1, LLVMCreateTypeAttribute(e->context, kind, bytes_type(e, size)));
    LLVMAddAttributeAtIndex(e->function, parameter + 1, ir_enum_attribute(e->context, "align", alignment));
    LLVMAddAttributeAtIndex(e->function, parameter + 1, ir_enum_attribute(e->context, "readonly", 0));
}

/* No launch changes constant memory while it runs: its loads take the way for such (ld.global.nc). */
static void mark_unchanging(const entry *e, LLVMValueRef pointer)
{
    for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAGetElementPtrInst(user) && LLVMGetOperand(user, 0) == pointer) mark_unchanging(e, user);
        if (!LLVMIsALoadInst(user) || LLVMGetVolatile(user) || LLVMGetOrdering(user)) continue;
        LLVMValueRef nothing = LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, NULL, 0));
        LLVMSetMetadata(user, LLVMGetMDKindIDInContext(e->context, "invariant.load", 14), nothing);
    }
}

static void bind_argument(entry *e, LLVMBasicBlockRef start, unsigned index, char kind, LLVMValueRef own)
{
    LLVMValueRef old = LLVMGetParam(e->kernel->function, index);
    LLVMPositionBuilderAtEnd(e->builder, start);
    if (kind == 't') {
        uint64_t first = (e->kernel->static_threadgroup_memory + 15) / 16 * 16;
        LLVMValueRef offset =
            e->blocks++ ? LLVMBuildZExt(e->builder, own, e->i64, "") : LLVMConstInt(e->i64, first, false);
        own = LLVMBuildInBoundsGEP2(e->builder, e->i8, e->shared, &offset, 1, "");
    }
    if (kind == 'v') {
        retype_loads(e, old, own);
        return;
    }
    LLVMReplaceAllUsesWith(old, own);
    if (kind == 'p' && e->kernel->arguments[index].parameter->space == FRONT_CONSTANT) mark_unchanging(e, own);
}

/* ---- Positions ---- */

static LLVMValueRef field_address(entry *e, uint64_t offset)
{
    LLVMValueRef index = LLVMConstInt(e->i64, offset, false);
    return LLVMBuildInBoundsGEP2(e->builder, e->i8, e->thread, &index, 1, "");
}

static void resolve_position(LLVMValueRef call, void *context)
{
    entry *e = context;
    LLVMValueRef callee = ir_callee(call);
    if (!callee || LLVMGetIntrinsicID(callee)) return;
    size_t length;
    const char *name = LLVMGetValueName2(callee, &length);
    LLVMPositionBuilderBefore(e->builder, call);
    LLVMValueRef value = strcmp(name, "__tombac_threadgroup_memory") ? NULL : e->shared;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0] && !value; i++) {
        if (strcmp(name, fields[i].name)) continue;
        value = LLVMBuildLoad2(e->builder, e->i32, field_address(e, fields[i].offset), "");
        LLVMValueRef range = LLVMGetMetadata(call, LLVMGetMDKindIDInContext(e->context, "range", 5));
        if (range) LLVMSetMetadata(value, LLVMGetMDKindIDInContext(e->context, "range", 5), range);
    }
    if (!value) return;
    LLVMReplaceAllUsesWith(call, value);
    LLVMInstructionEraseFromParent(call);
}

/* ---- The function ---- */

static LLVMValueRef declare(entry *e, const char *kinds)
{
    unsigned count = LLVMCountParams(e->kernel->function), n = 1;
    LLVMTypeRef *types = calloc(count + 1, sizeof(LLVMTypeRef));
    if (!types) return NULL;
    types[0] = LLVMPointerTypeInContext(e->context, 0);
    for (unsigned i = 0; i < count; i++) {
        if (kinds[i] == 'p') types[n++] = LLVMPointerTypeInContext(e->context, 1);
        if (kinds[i] == 'v') types[n++] = LLVMPointerTypeInContext(e->context, 0);
        if (kinds[i] == 't') types[n++] = e->i32;
    }
    e->function = LLVMAddFunction(
        e->module, TB_CUDA_ENTRY, LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, n, false));
    free(types);
    ir_add_function_attribute(e->function, "nounwind", 0);
    LLVMSetFunctionCallConv(e->function, 71); /* ptx_kernel */
    set_by_value(e, 0, sizeof(tb_cuda_launch), _Alignof(tb_cuda_launch));
    n = 1;
    for (unsigned i = 0; i < count; i++) {
        const ir_type *type = &e->kernel->arguments[i].type;
        if (kinds[i] == 'v') set_by_value(e, n, type->size, type->alignment ? type->alignment : 1);
        n += kinds[i] != '-';
    }
    return e->function;
}

/* Calls `enter` in a block of its own; threads that do not exist return. */
static void build_prologue(entry *e, LLVMBasicBlockRef start, LLVMBasicBlockRef body)
{
    LLVMBasicBlockRef leave = LLVMAppendBasicBlockInContext(e->context, e->function, "");
    LLVMPositionBuilderAtEnd(e->builder, start);
    LLVMTypeRef i1 = LLVMInt1TypeInContext(e->context);
    LLVMValueRef operands[6] = {LLVMGetParam(e->function, 0), e->thread, LLVMConstNull(i1)};
    for (int i = 0; i < 3; i++) operands[3 + i] = LLVMConstInt(e->i32, e->threadgroup[i], false);
    LLVMValueRef exists = cuda_call(e->module, e->builder, ENTER, i1, operands, 6, false);
    LLVMBuildCondBr(e->builder, exists, body, leave);
    LLVMPositionBuilderAtEnd(e->builder, leave);
    LLVMBuildRetVoid(e->builder);
}

static void move_body(entry *e, const char *kinds)
{
    LLVMValueRef old = e->kernel->function;
    LLVMBasicBlockRef start = LLVMAppendBasicBlockInContext(e->context, e->function, ""),
                      first = LLVMGetFirstBasicBlock(old);
    LLVMPositionBuilderAtEnd(e->builder, start);
    e->thread = LLVMBuildAlloca(e->builder, bytes_type(e, sizeof(tb_cuda_thread)), "");
    LLVMSetAlignment(e->thread, _Alignof(tb_cuda_thread));
    for (unsigned i = 0, n = 1; kinds[i]; i++) {
        if (kinds[i] != '-') bind_argument(e, start, i, kinds[i], LLVMGetParam(e->function, n++));
    }
    /* Private variables stay in the first block, where passes look for them. */
    for (LLVMValueRef i = LLVMGetFirstInstruction(first), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (!LLVMIsAAllocaInst(i)) continue;
        LLVMInstructionRemoveFromParent(i);
        LLVMPositionBuilderAtEnd(e->builder, start);
        LLVMInsertIntoBuilder(e->builder, i);
    }
    for (LLVMBasicBlockRef block = first; block; block = LLVMGetFirstBasicBlock(old)) {
        LLVMRemoveBasicBlockFromParent(block);
        LLVMAppendExistingBasicBlock(e->function, block);
    }
    build_prologue(e, start, first);
    LLVMDeleteFunction(old);
    e->kernel->function = e->function;
}

tombac_status cuda_entry_build(ir_kernel *kernel, const uint32_t threadgroup[3], tb_text *kinds,
    LLVMValueRef *thread, tombac_error **error)
{
    LLVMContextRef c = kernel->context;
    entry e = {.kernel = kernel,
        .module = kernel->module,
        .context = c,
        .builder = LLVMCreateBuilderInContext(c),
        .threadgroup = threadgroup,
        .i8 = LLVMInt8TypeInContext(c),
        .i32 = LLVMInt32TypeInContext(c),
        .i64 = LLVMInt64TypeInContext(c)};
    for (unsigned i = 0; i < kernel->argument_count; i++) tb_text_putc(kinds, kind_of(&e, i));
    e.shared = LLVMAddGlobalInAddressSpace(e.module, bytes_type(&e, 0), CUDA_SHARED, 3);
    LLVMSetAlignment(e.shared, 128);
    bool good = !kinds->bad && declare(&e, tb_text_string(kinds));
    if (good) {
        move_body(&e, tb_text_string(kinds));
        ir_visit(e.function, resolve_position, &e);
        *thread = e.thread;
    }
    LLVMDisposeBuilder(e.builder);
    return good ? TOMBAC_OK : tb_fail_memory(error);
}

/* ---- Launches ---- */

void cuda_entry_make_plain(ir_kernel *kernel)
{
    LLVMValueRef enter = LLVMGetNamedFunction(kernel->module, "tombac_cuda." ENTER);
    LLVMTypeRef i1 = LLVMInt1TypeInContext(kernel->context);
    for (LLVMUseRef use = enter ? LLVMGetFirstUse(enter) : NULL; use; use = LLVMGetNextUse(use))
        LLVMSetOperand(LLVMGetUser(use), 2, LLVMConstInt(i1, 1, false));
}

void cuda_entry_limit(ir_kernel *kernel, const uint32_t threadgroup[3], bool plain)
{
    uint32_t threads = threadgroup[0] * threadgroup[1] * threadgroup[2];
    bool known = threads > 0;
    if (!known && plain) return;
    if (!known) threads = kernel->max_total_threads ? kernel->max_total_threads : MAX_THREADS;
    threads = (threads + TB_SIMD_WIDTH - 1) / TB_SIMD_WIDTH * TB_SIMD_WIDTH;
    const char *name = known ? "nvvm.reqntid" : "nvvm.maxntid";
    char value[32];
    int length = snprintf(value, sizeof value, known ? "%u,1,1" : "%u", (unsigned)threads);
    LLVMAttributeRef limit =
        LLVMCreateStringAttribute(kernel->context, name, (unsigned)strlen(name), value, (unsigned)length);
    LLVMAddAttributeAtIndex(kernel->function, LLVMAttributeFunctionIndex, limit);
}
