/* Code for a debugger: source lines of vector code, and variables as arrays of 32 threads.
 *
 * A step function is described as a function of its own, in which the kernel (and what it calls) is inlined: every
 * location of the kernel's IR is copied with the step's at the end of its inlined-at chain. So the kernel's own
 * description serves all variants. A variable becomes an array in the step's frame, one element per thread; where the
 * kernel assigns it, the active threads' elements are stored, by volatile accesses, which keeps the array in memory.
 * In kernels with barriers, whose frame does not live on, the arrays lie in the SIMD-group's context. */
#include "compiler/cpu/debug.h"

#include "compiler/ir/debug.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

typedef struct debug_variable {
    struct debug_variable *next;
    ir_assignment first;
    uint64_t bytes;      /* of one thread */
    LLVMValueRef memory; /* NULL: in the context, */
    uint64_t offset;     /* there */
} debug_variable;

typedef struct debug_scope {
    struct debug_scope *next;
    LLVMMetadataRef from, to; /* inlined-at locations of the kernel and of the step */
} debug_scope;

typedef struct cpu_debug {
    LLVMDIBuilderRef info;
    LLVMMetadataRef file, type;
    LLVMMetadataRef step; /* location of the step's own code */
    debug_variable *variables;
    debug_scope *scopes;
    LLVMValueRef context; /* variable that holds the context's address */
} cpu_debug;

static cpu_debug *state(cpu_kernel *k)
{
    if (!k->options->debug || !k->options->subprogram) return NULL;
    if (!k->debug) {
        k->debug = cpu_alloc(&k->job, 1, sizeof *k->debug);
        k->debug->info = LLVMCreateDIBuilder(k->module);
        k->debug->file = LLVMDIScopeGetFile(k->options->subprogram);
        LLVMDIBuilderCreateCompileUnit(k->debug->info, LLVMDWARFSourceLanguageC_plus_plus_14, k->debug->file, "tombac", 6,
            false, "", 0, 0, "", 0, LLVMDWARFEmissionFull, 0, false, false, "", 0, "", 0);
        k->debug->type = LLVMDIBuilderCreateSubroutineType(k->debug->info, k->debug->file, NULL, 0, LLVMDIFlagZero);
    }
    return k->debug;
}

static LLVMMetadataRef describe_function(cpu_kernel *k, cpu_debug *d, LLVMValueRef function, const char *name)
{
    unsigned line = LLVMDISubprogramGetLine(k->options->subprogram);
    LLVMMetadataRef subprogram = LLVMDIBuilderCreateFunction(d->info, d->file, name, strlen(name), "", 0, d->file, line,
        d->type, true, true, line, LLVMDIFlagArtificial, false);
    LLVMSetSubprogram(function, subprogram);
    return LLVMDIBuilderCreateDebugLocation(k->context, line, 0, subprogram, NULL);
}

void cpu_debug_begin(cpu_kernel *k, const char *name)
{
    cpu_debug *d = state(k);
    if (!d) return;
    d->step = describe_function(k, d, k->step, name);
    d->variables = NULL;
    d->scopes = NULL;
    d->context = NULL;
    LLVMSetCurrentDebugLocation2(k->builder, d->step);
    LLVMSetCurrentDebugLocation2(k->entry_builder, d->step);
}

/* Where an array of `bytes` for all threads lies; *expression leads there from the returned variable of the frame. */
static LLVMValueRef make_room(cpu_kernel *k, cpu_debug *d, debug_variable *v, LLVMMetadataRef *expression)
{
    enum { DEREFERENCE = 0x06, PLUS_CONSTANT = 0x23 }; /* DW_OP_deref, DW_OP_plus_uconst */
    if (!k->has_barrier) {
        v->memory = cpu_alloca(k, LLVMArrayType2(k->i8, v->bytes * LANES), "variable");
        LLVMSetAlignment(v->memory, 64);
        *expression = LLVMDIBuilderCreateExpression(d->info, NULL, 0);
        return v->memory;
    }
    if (!d->context) {
        d->context = cpu_alloca(k, k->ptr, "context.home");
        LLVMSetVolatile(LLVMBuildStore(k->entry_builder, k->parameter[PARAM_CONTEXT], d->context), true);
    }
    v->offset = k->context_used;
    k->context_used += (size_t)(v->bytes * LANES + 63) / 64 * 64;
    uint64_t way[3] = {DEREFERENCE, PLUS_CONSTANT, v->offset};
    *expression = LLVMDIBuilderCreateExpression(d->info, way, 3);
    return d->context;
}

void cpu_debug_end(cpu_kernel *k)
{
    if (!state(k)) return;
    LLVMSetCurrentDebugLocation2(k->builder, NULL);
    LLVMSetCurrentDebugLocation2(k->entry_builder, NULL);
}

/* ---- Locations ---- */

static LLVMMetadataRef map_location(cpu_kernel *k, cpu_debug *d, LLVMMetadataRef location);

/* Each inlined-at location is copied once: they are what tells inlined calls apart. */
static LLVMMetadataRef map_scope(cpu_kernel *k, cpu_debug *d, LLVMMetadataRef inlined_at)
{
    if (!inlined_at) return d->step;
    for (const debug_scope *s = d->scopes; s; s = s->next)
        if (s->from == inlined_at) return s->to;
    debug_scope *s = cpu_alloc(&k->job, 1, sizeof *s);
    *s = (debug_scope){d->scopes, inlined_at, map_location(k, d, inlined_at)};
    d->scopes = s;
    return s->to;
}

static LLVMMetadataRef map_location(cpu_kernel *k, cpu_debug *d, LLVMMetadataRef location)
{
    return LLVMDIBuilderCreateDebugLocation(k->context, LLVMDILocationGetLine(location), LLVMDILocationGetColumn(location),
        LLVMDILocationGetScope(location), map_scope(k, d, LLVMDILocationGetInlinedAt(location)));
}

/* ---- Variables ---- */

/* The largest extent of any assignment to it in the kernel. */
static uint64_t extent_of(cpu_kernel *k, const ir_assignment *wanted)
{
    uint64_t bytes = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(k->function); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            for (LLVMDbgRecordRef r = LLVMGetFirstDbgRecord(i); r; r = LLVMGetNextDbgRecord(r)) {
                ir_assignment a;
                if (ir_assignment_read(r, k->layout, &a) && ir_assignment_same(&a, wanted) && a.offset + a.size > bytes)
                    bytes = a.offset + a.size;
            }
    return bytes;
}

/* An array of LANES elements of the variable's type, under the same name. */
static debug_variable *find_variable(cpu_kernel *k, cpu_debug *d, const ir_assignment *a)
{
    for (debug_variable *v = d->variables; v; v = v->next)
        if (ir_assignment_same(&v->first, a)) return v;
    LLVMMetadataRef type = ir_variable_type(k->context, a->variable), scope = ir_variable_scope(k->context, a->variable);
    uint64_t bits = type ? LLVMDITypeGetSizeInBits(type) : 0;
    uint64_t bytes = bits % 8 ? 0 : bits / 8, extent = extent_of(k, a);
    if (!type || !scope) return NULL;
    if (!bytes) bytes = extent; /* a typedef does not know its size */
    if (!bytes || bytes > 4096 || extent > bytes) return NULL;
    unsigned length;
    const char *name = ir_variable_name(k->context, a->variable, &length);
    LLVMMetadataRef range = LLVMDIBuilderGetOrCreateSubrange(d->info, 0, LANES);
    LLVMMetadataRef array = LLVMDIBuilderCreateArrayType(d->info, bytes * 8 * LANES, 0, type, &range, 1);
    LLVMMetadataRef variable = LLVMDIBuilderCreateAutoVariable(d->info, scope, name, length, LLVMDIVariableGetFile(a->variable),
        LLVMDIVariableGetLine(a->variable), array, true, LLVMDIFlagZero, 0);
    ir_scope_forget_variables(k->context, scope);
    debug_variable *v = cpu_alloc(&k->job, 1, sizeof *v);
    *v = (debug_variable){.next = d->variables, .first = *a, .bytes = bytes};
    d->variables = v;
    LLVMMetadataRef expression;
    LLVMValueRef home = make_room(k, d, v, &expression);
    LLVMDIBuilderInsertDeclareRecordAtEnd(d->info, home, variable, expression, map_location(k, d, a->location), k->entry);
    return v;
}

static bool is_simple(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
    case LLVMHalfTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind: return true;
    default: return false;
    }
}

static void assign(cpu_kernel *k, cpu_debug *d, const ir_assignment *a)
{
    const cpu_value *value = cpu_value_of(k, a->value);
    if (!is_simple(LLVMTypeOf(a->value)) || (LLVMIsAInstruction(a->value) && !value)) return;
    debug_variable *v = find_variable(k, d, a);
    if (!v) return;
    LLVMValueRef vector = cpu_vector(k, a->value);
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(vector));
    if (LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) < 8) {
        vector = LLVMBuildZExt(k->builder, vector, cpu_vector_type(k, k->i8), "");
        type = k->i8;
    }
    LLVMValueRef bits = cpu_mask_bits(k, k->mask);
    for (int lane = 0; lane < LANES; lane++) { /* elements may be parts of a struct: one by one */
        LLVMValueRef number = cpu_int(k->i32, (uint64_t)lane), at = v->memory ? v->memory : k->parameter[PARAM_CONTEXT];
        at = cpu_at(k, at, (int64_t)(v->offset + (uint64_t)lane * v->bytes + a->offset));
        LLVMValueRef new = LLVMBuildExtractElement(k->builder, vector, number, "");
        if (k->mask != k->all) {
            LLVMValueRef old = LLVMBuildLoad2(k->builder, type, at, "");
            LLVMSetVolatile(old, true);
            LLVMSetAlignment(old, 1);
            LLVMValueRef active = LLVMBuildTrunc(k->builder, LLVMBuildLShr(k->builder, bits, number, ""), k->i1, "");
            new = LLVMBuildSelect(k->builder, active, new, old, "");
        }
        LLVMValueRef store = LLVMBuildStore(k->builder, new, at);
        LLVMSetVolatile(store, true);
        LLVMSetAlignment(store, 1);
    }
}

void cpu_debug_at(cpu_kernel *k, LLVMValueRef instruction)
{
    cpu_debug *d = state(k);
    if (!d) return;
    for (LLVMDbgRecordRef r = LLVMGetFirstDbgRecord(instruction); r; r = LLVMGetNextDbgRecord(r)) {
        ir_assignment a;
        if (ir_assignment_read(r, k->layout, &a)) assign(k, d, &a);
    }
    LLVMMetadataRef location = LLVMInstructionGetDebugLoc(instruction);
    LLVMSetCurrentDebugLocation2(k->builder, location ? map_location(k, d, location) : d->step);
}

/* ---- The module ---- */

void cpu_debug_entry(cpu_kernel *k, LLVMValueRef function)
{
    cpu_debug *d = state(k);
    if (d) LLVMSetCurrentDebugLocation2(k->builder, describe_function(k, d, function, "threadgroup"));
}

void cpu_debug_free(cpu_kernel *k)
{
    if (k->debug) LLVMDisposeDIBuilder(k->debug->info);
    k->debug = NULL;
}

void cpu_debug_finish(cpu_kernel *k)
{
    cpu_debug *d = state(k);
    if (d) {
        LLVMSetCurrentDebugLocation2(k->builder, NULL);
        LLVMDIBuilderFinalize(d->info);
        cpu_debug_free(k);
    } else {
        LLVMStripModuleDebugInfo(k->module);
    }
}
