/* The object that a pointer points into, and where in it: computed beside the pointer.
 *
 * After inlining the origin of most pointers is in the same function: a private variable, a threadgroup variable, an
 * argument, a table in program scope. A span is (offset in the object, size of the object, which object), as
 * constants at the origin, a sum where the pointer is indexed, phis and selects where the pointer is one, so pointers
 * that went through callees, loops and generic pointers keep their object. Only integers are computed: no address escapes,
 * so private variables can still become registers. A pointer that comes from memory or from an integer has no span, nor has
 * one that is merged with such a pointer. */
#include "compiler/check/steps.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WEB = 128, MAX_DEPTH = 2000 };

typedef struct object {
    LLVMValueRef key; /* the value that it belongs to */
    char *name;       /* NULL: none */
    uint32_t kind, argument;
} object;

typedef struct entry {
    LLVMValueRef pointer;
    check_span span;
    bool known;
} entry;

struct check_bounds {
    entry *entries; /* open addressing, a power of two */
    size_t count, room;
    object *objects; /* an object's number is its place + 1 */
    size_t object_count, object_room;
    LLVMValueRef web[MAX_WEB];
    unsigned web_size;
    bool no_memory;
};

/* ---- Tables ---- */

static size_t slot_of(const check_bounds *b, LLVMValueRef pointer)
{
    size_t slot = (((uintptr_t)pointer >> 4) * 0x9e3779b97f4a7c15u >> 20) & (b->room - 1);
    while (b->entries[slot].pointer && b->entries[slot].pointer != pointer) slot = (slot + 1) & (b->room - 1);
    return slot;
}

static const entry *find(const check_bounds *b, LLVMValueRef pointer)
{
    if (!b->room) return NULL;
    const entry *found = &b->entries[slot_of(b, pointer)];
    return found->pointer ? found : NULL;
}

static bool grow(check_bounds *b)
{
    check_bounds larger = *b;
    larger.room = b->room ? b->room * 2 : 256;
    larger.entries = calloc(larger.room, sizeof *larger.entries);
    if (!larger.entries) return false;
    for (size_t i = 0; i < b->room; i++) {
        if (b->entries[i].pointer) larger.entries[slot_of(&larger, b->entries[i].pointer)] = b->entries[i];
    }
    free(b->entries);
    *b = larger;
    return true;
}

static void remember(check_bounds *b, LLVMValueRef pointer, check_span span, bool known)
{
    if (b->count * 2 >= b->room && !grow(b)) {
        b->no_memory = true;
        return;
    }
    entry *e = &b->entries[slot_of(b, pointer)];
    b->count += !e->pointer;
    *e = (entry){pointer, span, known};
}

/* ---- Origins ---- */

static LLVMValueRef number(check_unit *unit, uint64_t value)
{
    return LLVMConstInt(unit->i64, value, false);
}

/* The number of the object that belongs to `key`; a new one where it has none. */
static LLVMValueRef object_number(
    check_unit *unit, LLVMValueRef key, tb_check_object_kind kind, const char *name, uint32_t argument)
{
    check_bounds *b = unit->bounds;
    size_t i = 0;
    while (i < b->object_count && b->objects[i].key != key) i++;
    if (i < b->object_count) return LLVMConstInt(unit->i32, i + 1, false);
    if (b->object_count == b->object_room) {
        size_t room = b->object_room ? b->object_room * 2 : 16;
        object *grown = realloc(b->objects, room * sizeof *grown);
        b->no_memory |= !grown;
        if (!grown) return LLVMConstNull(unit->i32);
        b->objects = grown;
        b->object_room = room;
    }
    b->objects[b->object_count++] = (object){key, name ? strdup(name) : NULL, kind, argument};
    return LLVMConstInt(unit->i32, b->object_count, false);
}

/* The number that metadata of this kind gives an instruction. */
static bool tagged(check_unit *unit, LLVMValueRef value, const char *kind, uint64_t *tag)
{
    if (!LLVMIsAInstruction(value)) return false;
    LLVMValueRef node = LLVMGetMetadata(value, LLVMGetMDKindIDInContext(unit->context, kind, (unsigned)strlen(kind)));
    LLVMValueRef operand;
    if (!node || LLVMGetMDNodeNumOperands(node) != 1) return false;
    LLVMGetMDNodeOperands(node, &operand);
    *tag = LLVMConstIntGetZExtValue(operand);
    return true;
}

static bool of_alloca(check_unit *unit, LLVMValueRef variable, check_span *span)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(unit->module);
    LLVMValueRef count = LLVMIsAConstantInt(LLVMGetOperand(variable, 0));
    if (!count) return false;
    uint64_t size = LLVMABISizeOfType(layout, LLVMGetAllocatedType(variable)) * LLVMConstIntGetZExtValue(count);
    *span = (check_span){number(unit, 0), number(unit, size),
        object_number(unit, variable, TB_CHECK_OBJECT_PRIVATE, NULL, 0)};
    return true;
}

static bool of_table(check_unit *unit, LLVMValueRef table, check_span *span)
{
    char name[IR_NAME_SIZE];
    if (!LLVMGetInitializer(table)) return false;
    ir_source_name(table, name);
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(unit->module);
    uint64_t size = LLVMABISizeOfType(layout, LLVMGlobalGetValueType(table));
    *span = (check_span){number(unit, 0), number(unit, size),
        object_number(unit, table, TB_CHECK_OBJECT_CONSTANT, name[0] == '.' || !name[0] ? NULL : name, 0)};
    return true;
}

/* What the driver says of the argument: how far its address is into the buffer, and the buffer's size. */
static void of_argument(check_unit *unit, LLVMValueRef address, uint32_t index, check_span *span)
{
    LLVMPositionBuilderBefore(unit->builder, LLVMGetNextInstruction(address));
    LLVMValueRef extents =
        check_load_field(unit, unit->ptr, unit->thread, offsetof(tb_check_thread, extents), true);
    uint64_t at = (uint64_t)index * sizeof(tb_check_extent);
    span->offset = check_load_field(unit, unit->i64, extents, at + offsetof(tb_check_extent, before), true);
    span->size = check_load_field(unit, unit->i64, extents, at + offsetof(tb_check_extent, size), true);
    span->object = object_number(unit, address, TB_CHECK_OBJECT_ARGUMENT, NULL, index);
}

static bool is_origin(check_unit *unit, LLVMValueRef pointer)
{
    uint64_t tag;
    if (LLVMIsAAllocaInst(pointer)) return LLVMIsAConstantInt(LLVMGetOperand(pointer, 0)) != NULL;
    if (LLVMIsAGlobalVariable(pointer)) return LLVMGetInitializer(pointer) != NULL;
    return (LLVMIsConstant(pointer) && LLVMIsNull(pointer)) || tagged(unit, pointer, IR_VARIABLE, &tag) ||
           tagged(unit, pointer, CHECK_ARGUMENT, &tag);
}

static bool of_origin(check_unit *unit, LLVMValueRef pointer, check_span *span)
{
    uint64_t tag;
    if (LLVMIsAAllocaInst(pointer)) return of_alloca(unit, pointer, span);
    if (LLVMIsAGlobalVariable(pointer)) return of_table(unit, pointer, span);
    if (LLVMIsConstant(pointer) && LLVMIsNull(pointer)) {
        LLVMValueRef null = LLVMConstNull(unit->ptr);
        *span = (check_span){number(unit, 0), number(unit, 0),
            object_number(unit, null, TB_CHECK_OBJECT_NULL, NULL, 0)};
        return true;
    }
    if (tagged(unit, pointer, IR_VARIABLE, &tag) && tag < unit->kernel->variable_count) {
        const ir_variable *v = &unit->kernel->variables[tag];
        LLVMValueRef key = number(unit, tag); /* constants are unique: one object for all uses of the variable */
        *span = (check_span){number(unit, 0), number(unit, v->size),
            object_number(unit, key, TB_CHECK_OBJECT_THREADGROUP, v->name, 0)};
        return true;
    }
    if (!tagged(unit, pointer, CHECK_ARGUMENT, &tag)) return false;
    of_argument(unit, pointer, (uint32_t)tag, span);
    return true;
}

/* ---- What pointers are computed from ---- */

static bool is_gep(LLVMValueRef pointer)
{
    return LLVMIsAGetElementPtrInst(pointer) ||
           (LLVMIsAConstantExpr(pointer) && LLVMGetConstOpcode(pointer) == LLVMGetElementPtr);
}

static bool is_cast(LLVMValueRef pointer)
{
    if (LLVMIsAConstantExpr(pointer))
        return LLVMGetConstOpcode(pointer) == LLVMAddrSpaceCast || LLVMGetConstOpcode(pointer) == LLVMBitCast;
    return LLVMIsAAddrSpaceCastInst(pointer) || LLVMIsABitCastInst(pointer) || LLVMIsAFreezeInst(pointer);
}

/* Has every origin of the pointer a span? Collects the phis and selects on the way. */
static bool has_span(check_unit *unit, LLVMValueRef pointer)
{
    check_bounds *b = unit->bounds;
    const entry *e;
    while (!is_origin(unit, pointer) && !find(b, pointer) && (is_gep(pointer) || is_cast(pointer)))
        pointer = LLVMGetOperand(pointer, 0);
    if (is_origin(unit, pointer)) return true;
    e = find(b, pointer);
    if (e) return e->known;
    for (unsigned i = 0; i < b->web_size; i++)
        if (b->web[i] == pointer) return true;
    bool select = LLVMIsASelectInst(pointer) != NULL;
    if ((!LLVMIsAPHINode(pointer) && !select) || b->web_size == MAX_WEB) return false;
    b->web[b->web_size++] = pointer;
    if (select) return has_span(unit, LLVMGetOperand(pointer, 1)) && has_span(unit, LLVMGetOperand(pointer, 2));
    for (unsigned i = 0; i < LLVMCountIncoming(pointer); i++)
        if (!has_span(unit, LLVMGetIncomingValue(pointer, i))) return false;
    return true;
}

/* The bytes that the indices of a GEP add, as instructions before it (or constants). */
static LLVMValueRef indexed(check_unit *unit, LLVMValueRef gep)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(unit->module);
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    LLVMValueRef sum = number(unit, 0);
    for (int i = 1; i < LLVMGetNumOperands(gep); i++) {
        LLVMValueRef index = LLVMGetOperand(gep, (unsigned)i);
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
            sum = LLVMBuildAdd(unit->builder, sum, number(unit, LLVMOffsetOfElement(layout, type, field)), "");
            type = LLVMStructGetTypeAtIndex(type, field);
            continue;
        }
        if (i > 1) type = LLVMGetElementType(type);
        LLVMValueRef wide = LLVMBuildIntCast2(unit->builder, index, unit->i64, true, "");
        LLVMValueRef step = number(unit, LLVMABISizeOfType(layout, type));
        sum = LLVMBuildAdd(unit->builder, sum, LLVMBuildMul(unit->builder, wide, step, ""), "");
    }
    return sum;
}

static bool span_of(check_unit *unit, LLVMValueRef pointer, check_span *span, unsigned depth);

static bool of_phi(check_unit *unit, LLVMValueRef phi, check_span *span, unsigned depth)
{
    LLVMPositionBuilderBefore(unit->builder, phi);
    span->offset = LLVMBuildPhi(unit->builder, unit->i64, "");
    span->size = LLVMBuildPhi(unit->builder, unit->i64, "");
    span->object = LLVMBuildPhi(unit->builder, unit->i32, "");
    remember(unit->bounds, phi, *span, true); /* before its operands: loops come back here */
    bool good = true;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMBasicBlockRef block = LLVMGetIncomingBlock(phi, i);
        check_span in = {LLVMConstNull(unit->i64), LLVMConstNull(unit->i64), LLVMConstNull(unit->i32)};
        good &= span_of(unit, LLVMGetIncomingValue(phi, i), &in, depth);
        LLVMAddIncoming(span->offset, &in.offset, &block, 1);
        LLVMAddIncoming(span->size, &in.size, &block, 1);
        LLVMAddIncoming(span->object, &in.object, &block, 1);
    }
    return good;
}

static bool of_select(check_unit *unit, LLVMValueRef select, check_span *span, unsigned depth)
{
    check_span yes, no;
    if (!span_of(unit, LLVMGetOperand(select, 1), &yes, depth) ||
        !span_of(unit, LLVMGetOperand(select, 2), &no, depth))
        return false;
    LLVMValueRef which = LLVMGetOperand(select, 0);
    LLVMPositionBuilderBefore(unit->builder, select);
    span->offset = LLVMBuildSelect(unit->builder, which, yes.offset, no.offset, "");
    span->size = LLVMBuildSelect(unit->builder, which, yes.size, no.size, "");
    span->object = LLVMBuildSelect(unit->builder, which, yes.object, no.object, "");
    return true;
}

/* Builds the span of a pointer for which has_span holds. */
static bool span_of(check_unit *unit, LLVMValueRef pointer, check_span *span, unsigned depth)
{
    const entry *e = find(unit->bounds, pointer);
    if (e) *span = e->span;
    if (e) return e->known;
    if (depth == MAX_DEPTH) {
        check_fail(unit, tb_fail(unit->error, TOMBAC_ERROR_UNSUPPORTED, "an address made in too many steps"));
        return false;
    }
    bool good;
    if (is_origin(unit, pointer)) {
        good = of_origin(unit, pointer, span);
    } else if (is_gep(pointer)) {
        good = span_of(unit, LLVMGetOperand(pointer, 0), span, depth + 1);
        if (LLVMIsAInstruction(pointer)) LLVMPositionBuilderBefore(unit->builder, pointer);
        if (good) span->offset = LLVMBuildAdd(unit->builder, span->offset, indexed(unit, pointer), "");
    } else if (is_cast(pointer)) {
        good = span_of(unit, LLVMGetOperand(pointer, 0), span, depth + 1);
    } else if (LLVMIsAPHINode(pointer)) {
        return of_phi(unit, pointer, span, depth + 1);
    } else {
        good = LLVMIsASelectInst(pointer) && of_select(unit, pointer, span, depth + 1);
    }
    remember(unit->bounds, pointer, *span, good);
    return good;
}

bool check_bounds_find(check_unit *unit, LLVMValueRef pointer, check_span *span)
{
    if (!unit->bounds) unit->bounds = calloc(1, sizeof *unit->bounds);
    if (!unit->bounds || unit->bounds->no_memory) {
        check_fail(unit, tb_fail_memory(unit->error));
        return false;
    }
    unit->bounds->web_size = 0;
    if (!has_span(unit, pointer)) {
        LLVMValueRef base = unit->bounds->web_size ? unit->bounds->web[0] : pointer;
        remember(unit->bounds, base, (check_span){0}, false);
        return false;
    }
    LLVMSetCurrentDebugLocation2(unit->builder, NULL);
    return span_of(unit, pointer, span, 0) && unit->status == TOMBAC_OK;
}

static LLVMValueRef describe(check_unit *unit, const object *o)
{
    LLVMValueRef name = LLVMConstNull(unit->ptr);
    if (o->name) {
        name = check_constant_global(
            unit, LLVMConstStringInContext2(unit->context, o->name, strlen(o->name), false));
    }
    _Static_assert(offsetof(tb_check_object, kind) == 8 && offsetof(tb_check_object, argument) == 12, "fields");
    LLVMValueRef fields[3] = {
        name, LLVMConstInt(unit->i32, o->kind, false), LLVMConstInt(unit->i32, o->argument, false)};
    return LLVMConstStructInContext(unit->context, fields, 3, false);
}

LLVMValueRef check_bounds_objects(check_unit *unit, uint64_t *count)
{
    check_bounds *b = unit->bounds;
    *count = b ? b->object_count : 0;
    LLVMValueRef *list = *count ? calloc(*count, sizeof *list) : NULL;
    if (*count && !list) check_fail(unit, tb_fail_memory(unit->error));
    if (!list) return LLVMConstNull(unit->ptr);
    for (size_t i = 0; i < *count; i++) list[i] = describe(unit, &b->objects[i]);
    LLVMValueRef array = check_constant_global(unit, LLVMConstArray2(LLVMTypeOf(list[0]), list, *count));
    free(list);
    return array;
}

void check_bounds_free(check_unit *unit)
{
    if (!unit->bounds) return;
    free(unit->bounds->entries);
    for (size_t i = 0; i < unit->bounds->object_count; i++) free(unit->bounds->objects[i].name);
    free(unit->bounds->objects);
    free(unit->bounds);
    unit->bounds = NULL;
}
