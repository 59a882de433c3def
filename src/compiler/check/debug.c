/* Code for a debugger: every local variable lies in memory while its thread runs.
 *
 * Takes the entry function with clang's debug records; promises for each variable a place on the stack that holds its
 * value from each assignment on, described once and for all. The stores have the line of what they store, so that at
 * the next line the variable is right. */
#include "compiler/check/steps.h"
#include "compiler/ir/debug.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>

typedef struct variable {
    ir_assignment first;
    uint64_t bytes;
    LLVMValueRef memory;
} variable;

typedef struct variables {
    check_unit *unit;
    LLVMTargetDataRef layout;
    variable *items;
    size_t count, room;
    bool bad;
} variables;

static variable *find(variables *v, const ir_assignment *a)
{
    for (size_t i = 0; i < v->count; i++)
        if (ir_assignment_same(&v->items[i].first, a)) return &v->items[i];
    return NULL;
}

static void note(variables *v, const ir_assignment *a)
{
    variable *known = find(v, a);
    if (!known && v->count == v->room) {
        size_t room = v->room ? v->room * 2 : 32;
        variable *items = reallocarray(v->items, room, sizeof *items);
        v->bad |= !items;
        if (!items) return;
        v->items = items;
        v->room = room;
    }
    if (!known) {
        known = &v->items[v->count++];
        *known = (variable){.first = *a};
    }
    if (a->offset + a->size > known->bytes) known->bytes = a->offset + a->size;
}

typedef void each_assignment(variables *v, LLVMValueRef before, const ir_assignment *a);

static void visit_records(variables *v, each_assignment *visit)
{
    LLVMValueRef function = v->unit->function;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            for (LLVMDbgRecordRef r = LLVMGetFirstDbgRecord(i); r; r = LLVMGetNextDbgRecord(r)) {
                ir_assignment a;
                if (ir_assignment_read(r, v->layout, &a)) visit(v, i, &a);
            }
}

static void collect(variables *v, LLVMValueRef before, const ir_assignment *a)
{
    (void)before;
    note(v, a);
}

/* Where the value is known: `before`, or behind the value itself where the records got in front of it. */
static LLVMValueRef place_of(LLVMValueRef before, LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value) || LLVMIsAPHINode(value) || LLVMGetInstructionParent(value) != LLVMGetInstructionParent(before))
        return before;
    for (LLVMValueRef i = before; i; i = LLVMGetNextInstruction(i))
        if (i == value) return LLVMGetNextInstruction(i);
    return before;
}

static void store(variables *v, LLVMValueRef before, const ir_assignment *a)
{
    check_unit *unit = v->unit;
    const variable *to = find(v, a);
    LLVMBuilderRef b = unit->builder;
    LLVMValueRef value = a->value, offset = LLVMConstInt(unit->i64, a->offset, false);
    LLVMPositionBuilderBefore(b, place_of(before, value));
    LLVMMetadataRef line = LLVMIsAInstruction(value) && !LLVMIsAPHINode(value) ? LLVMInstructionGetDebugLoc(value) : NULL;
    if (line && LLVMDILocationGetInlinedAt(line) != a->inlined_at) line = NULL; /* a parameter: computed elsewhere */
    LLVMSetCurrentDebugLocation2(b, line);
    LLVMTypeRef type = LLVMTypeOf(value);
    if (LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) < 8)
        value = LLVMBuildZExt(b, value, unit->i8, "");
    LLVMValueRef at = LLVMBuildInBoundsGEP2(b, unit->i8, to->memory, &offset, 1, "");
    LLVMSetAlignment(LLVMBuildStore(b, value, at), 1);
    LLVMSetCurrentDebugLocation2(b, NULL);
}

void check_debug_keep(check_unit *unit, LLVMMetadataRef subprogram)
{
    variables v = {.unit = unit, .layout = LLVMGetModuleDataLayout(unit->module)};
    if (!subprogram) return;
    LLVMSetSubprogram(unit->function, subprogram);
    visit_records(&v, collect);
    LLVMDIBuilderRef info = LLVMCreateDIBuilder(unit->module);
    LLVMMetadataRef plain = LLVMDIBuilderCreateExpression(info, NULL, 0);
    LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(unit->function));
    for (size_t i = 0; i < v.count; i++) {
        LLVMPositionBuilderBefore(unit->builder, first);
        LLVMSetCurrentDebugLocation2(unit->builder, NULL);
        LLVMTypeRef type = LLVMArrayType2(unit->i8, v.items[i].bytes);
        v.items[i].memory = LLVMBuildAlloca(unit->builder, type, "");
        LLVMSetAlignment(v.items[i].memory, 16);
        LLVMDIBuilderInsertDeclareRecordBefore(
            info, v.items[i].memory, v.items[i].first.variable, plain, v.items[i].first.location, first);
    }
    visit_records(&v, store);
    LLVMDIBuilderFinalize(info);
    LLVMDisposeDIBuilder(info);
    if (v.bad) check_fail(unit, tb_fail_memory(unit->error));
    free(v.items);
}
