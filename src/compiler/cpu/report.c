/* Collecting notes; see report.h. */
#include "compiler/cpu/report.h"

#include "compiler/cpu/kernel.h"
#include "compiler/cpu/memory.h"
#include "compiler/ir/support.h"

#include <llvm-c/DebugInfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The lists ---- */

static bool grow(cpu_report *r, void **list, size_t *room, size_t count, size_t size)
{
    if (r->bad) return false;
    if (count < *room) return true;
    size_t wanted = *room ? *room * 2 : 64;
    void *larger = reallocarray(*list, wanted, size);
    r->bad = !larger;
    if (!larger) return false;
    *list = larger;
    *room = wanted;
    return true;
}

static char *keep(cpu_report *r, const char *text, size_t length)
{
    if (!text || !length) return NULL;
    for (size_t i = 0; i < r->string_count; i++)
        if (strlen(r->strings[i]) == length && !memcmp(r->strings[i], text, length)) return r->strings[i];
    if (!grow(r, (void **)&r->strings, &r->string_room, r->string_count, sizeof *r->strings)) return NULL;
    char *copy = strndup(text, length);
    r->bad |= !copy;
    if (copy) r->strings[r->string_count++] = copy;
    return copy;
}

void cpu_report_free(cpu_report *r)
{
    for (size_t i = 0; i < r->string_count; i++) free(r->strings[i]);
    free(r->strings);
    free(r->notes);
    free(r->loops);
    *r = (cpu_report){0};
}

/* ---- Addresses ---- */

static cpu_space space_of(LLVMValueRef pointer)
{
    switch (LLVMGetPointerAddressSpace(LLVMTypeOf(pointer))) {
    case 1: return CPU_SPACE_DEVICE;
    case 3: return CPU_SPACE_THREADGROUP;
    default: return CPU_SPACE_PRIVATE;
    }
}

static int argument_of(const cpu_kernel *k, LLVMValueRef pointer)
{
    while (LLVMIsAGetElementPtrInst(pointer) || LLVMIsAAddrSpaceCastInst(pointer) || LLVMIsABitCastInst(pointer))
        pointer = LLVMGetOperand(pointer, 0);
    return LLVMIsAArgument(pointer) ? cpu_map_get(&k->arguments, pointer) : -1;
}

static cpu_reason reason_of(const cpu_kernel *k, const cpu_value *value)
{
    bool constant_factor = false;
    switch (LLVMGetInstructionOpcode(value->ir)) {
    case LLVMLoad:
    case LLVMAtomicRMW: return CPU_REASON_MEMORY;
    case LLVMMul:
    case LLVMShl:
        for (unsigned i = 0; i < 2; i++) constant_factor |= LLVMIsAConstantInt(LLVMGetOperand(value->ir, i)) != NULL;
        return constant_factor ? CPU_REASON_OTHER : CPU_REASON_STRIDE;
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem: return CPU_REASON_DIVISION;
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMLShr:
    case LLVMAShr: return CPU_REASON_BITS;
    case LLVMPHI:
    case LLVMSelect: return CPU_REASON_CONTROL;
    default: (void)k; return CPU_REASON_OTHER;
    }
}

/* Finds where the order of lanes is lost on the way to `ir`: the first value without a shape whose operands have one.
 * Plain sums and extensions pass on what their operands are. */
static const cpu_value *find_culprit(const cpu_kernel *k, LLVMValueRef ir, int depth)
{
    const cpu_value *value = cpu_value_of(k, ir);
    if (!value || value->shape.bits || depth > 24) return NULL;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(ir);
    if (opcode == LLVMLoad || opcode == LLVMPHI || opcode == LLVMCall) return value;
    for (int i = 0; i < LLVMGetNumOperands(ir); i++) {
        const cpu_value *found = find_culprit(k, LLVMGetOperand(ir, (unsigned)i), depth + 1);
        if (found) return found;
    }
    return value;
}

static void describe_address(const cpu_kernel *k, LLVMValueRef pointer, cpu_note_record *note)
{
    cpu_shape s = cpu_shape_of(k, pointer);
    note->space = space_of(pointer);
    note->argument = argument_of(k, pointer);
    note->has_stride = s.bits > 0;
    note->stride = s.bits > 0 ? s.stride[0] : 0;
    const cpu_value *culprit = find_culprit(k, pointer, 0);
    if (!culprit) return;
    note->reason = reason_of(k, culprit);
    note->reason_line = ir_instruction_position(culprit->ir).line;
}

/* ---- Notes ---- */

static bool equal(const cpu_note_record *a, const cpu_note_record *b)
{
    return a->decision == b->decision && a->variant == b->variant && a->file == b->file && a->line == b->line &&
           a->loop == b->loop && a->masked == b->masked && a->store == b->store && a->space == b->space &&
           a->argument == b->argument && a->size == b->size && a->stride == b->stride && a->reason == b->reason &&
           a->operation == b->operation && a->decision != CPU_BARRIER;
}

static void add(cpu_report *r, const cpu_note_record *note)
{
    for (size_t i = r->note_count; i-- > 0;)
        if (equal(&r->notes[i], note)) {
            r->notes[i].count++;
            return;
        }
    if (!grow(r, (void **)&r->notes, &r->note_room, r->note_count, sizeof *r->notes)) return;
    r->notes[r->note_count] = *note;
    r->notes[r->note_count++].count = 1;
}

static cpu_note_record begin(const cpu_kernel *k, LLVMValueRef ir, int block, cpu_decision decision)
{
    cpu_report *r = k->options->report;
    ir_position at = ir_instruction_position(ir);
    int loop = k->blocks[block].loop;
    return (cpu_note_record){.decision = decision,
        .variant = r->variant_count,
        .file = keep(r, at.file, at.file_length),
        .line = at.line,
        .loop = loop < 0 ? -1 : (int)r->loop_count + loop,
        .masked = k->mask && k->mask != k->all,
        .guarded = k->blocks[block].leader != k->order[0] && !k->blocks[block].cheap,
        .argument = -1};
}

/* "simd_sum" of __tombac_simd_sum.f32. */
static const char *operation_name(cpu_report *r, LLVMValueRef call)
{
    size_t length;
    const char *name = LLVMGetValueName2(LLVMGetCalledValue(call), &length), *end = memchr(name, '.', length);
    static const char prefix[] = "__tombac_";
    if (length < sizeof prefix || memcmp(name, prefix, sizeof prefix - 1)) return keep(r, name, length);
    size_t used = (end ? (size_t)(end - name) : length) - (sizeof prefix - 1);
    return keep(r, name + sizeof prefix - 1, used);
}

void cpu_note(cpu_kernel *k, const cpu_value *value, cpu_decision decision)
{
    cpu_report *r = k->options->report;
    if (!r) return;
    LLVMValueRef ir = value->ir;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(ir);
    cpu_note_record note = begin(k, ir, value->block, decision);
    note.store = opcode == LLVMStore;
    if (opcode == LLVMLoad || opcode == LLVMStore || opcode == LLVMAtomicRMW || opcode == LLVMAtomicCmpXchg) {
        LLVMTypeRef type = LLVMTypeOf(opcode == LLVMLoad ? ir : LLVMGetOperand(ir, opcode != LLVMStore));
        note.size = (int)LLVMStoreSizeOfType(k->layout, type);
        note.is_volatile = opcode <= LLVMStore && LLVMGetVolatile(ir);
        describe_address(k, LLVMGetOperand(ir, opcode == LLVMStore), &note);
        if (note.space == CPU_SPACE_PRIVATE && (decision == CPU_CONTIGUOUS || decision == CPU_UNIFORM))
            note.decision = CPU_PRIVATE_CELLS;
    }
    if (opcode == LLVMCall) note.operation = operation_name(r, ir);
    add(r, &note);
}

/* ---- Branches, loops, barriers: one call per variant ---- */

static void note_branches(cpu_kernel *k)
{
    k->mask = k->all;
    for (int b = 0; b < k->block_count; b++) {
        const cpu_block *block = &k->blocks[b];
        if (block->successor_count < 2) continue;
        int l = block->loop;
        bool ends_loop = l >= 0 && (!cpu_in_loop(k, l, block->successors[0]) || !cpu_in_loop(k, l, block->successors[1]));
        if (ends_loop && !block->forced) continue; /* the loop's own note tells */
        cpu_note_record note = begin(k, LLVMGetBasicBlockTerminator(block->ir), b,
            block->forced             ? CPU_BRANCH_FORCED
            : block->divergent_branch ? CPU_BRANCH_DIVERGENT
                                      : CPU_BRANCH_UNIFORM);
        note.guarded = !k->blocks[block->successors[0]].cheap || !k->blocks[block->successors[1]].cheap;
        add(k->options->report, &note);
    }
}

/* The line of a loop: the first known one of the latch's branch and of the header's instructions. */
static ir_position loop_position(const cpu_kernel *k, const cpu_loop *loop)
{
    ir_position at = ir_instruction_position(LLVMGetBasicBlockTerminator(k->blocks[loop->latch].ir));
    LLVMValueRef i = LLVMGetFirstInstruction(k->blocks[loop->header].ir);
    for (; !at.line && i; i = LLVMGetNextInstruction(i)) at = ir_instruction_position(i);
    return at;
}

static void note_loops(cpu_kernel *k)
{
    cpu_report *r = k->options->report;
    size_t first = r->loop_count;
    for (int l = 0; l < k->loop_count; l++) {
        const cpu_loop *loop = &k->loops[l];
        if (!grow(r, (void **)&r->loops, &r->loop_room, r->loop_count, sizeof *r->loops)) return;
        ir_position at = loop_position(k, loop);
        r->loops[r->loop_count++] = (cpu_note_loop){.variant = r->variant_count,
            .parent = loop->parent < 0 ? -1 : (int)first + loop->parent,
            .depth = loop->depth,
            .file = keep(r, at.file, at.file_length),
            .line = at.line,
            .divergent = loop->divergent};
        cpu_note_record note = {.decision = loop->divergent ? CPU_LOOP_DIVERGENT : CPU_LOOP_UNIFORM,
            .variant = r->variant_count,
            .file = keep(r, at.file, at.file_length),
            .line = at.line,
            .loop = loop->parent < 0 ? -1 : (int)first + loop->parent,
            .argument = -1};
        add(r, &note);
    }
}

static void note_barriers(cpu_kernel *k)
{
    for (int i = 0; i < k->barrier_count; i++) {
        const cpu_barrier *barrier = &k->barriers[i];
        cpu_note_record note = begin(k, barrier->ir, cpu_value_of(k, barrier->ir)->block, CPU_BARRIER);
        note.saved = barrier->saved;
        note.loaded = barrier->loaded;
        add(k->options->report, &note);
    }
}

void cpu_report_end_variant(cpu_kernel *k)
{
    cpu_report *r = k->options->report;
    if (!r || r->variant_count == CPU_REPORT_VARIANTS) return;
    note_branches(k);
    note_barriers(k);
    note_loops(k); /* last: notes count on the number of loops before */
    cpu_report_variant *v = &r->variants[r->variant_count++];
    v->context = k->has_barrier || k->context_used > 64 ? k->context_used : 0;
    if (k->variant == LAYOUT_GENERAL)
        snprintf(v->name, sizeof v->name, "any shape");
    else
        snprintf(v->name, sizeof v->name, "rows of %d threads", k->variant == LAYOUT_BOX ? k->width : LANES);
}
