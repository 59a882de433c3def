/* What is left to be called in a prepared kernel: operations and LLVM's intrinsics.
 *
 * All calls of the source's own functions have been inlined (prepare.c), self-recursion at a function's end has become
 * a loop. A function that is still defined is on a cycle of calls, or its address is taken. Inlining hides which functions
 * the source has on the cycle, so every cycle is noted before it, by a depth-first search over direct calls; the error
 * stands at the call that closes it and names every function on it. */
#include "compiler/ir/steps.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CYCLE = 64 };

typedef struct search {
    LLVMValueRef path[MAX_CYCLE]; /* functions, each calls the next */
    LLVMValueRef call;            /* that closes the cycle */
    LLVMValueRef *seen;           /* functions without a way back to the start */
    size_t depth, seen_count;
} search;

static bool was_seen(const search *s, LLVMValueRef function)
{
    for (size_t i = 0; i < s->seen_count; i++)
        if (s->seen[i] == function) return true;
    return false;
}

/* Is there a way from `function` to path[0]? The path is left as it was found. */
static bool find_cycle(search *s, LLVMValueRef function)
{
    if (s->depth == MAX_CYCLE) return false;
    s->path[s->depth++] = function;
    s->seen[s->seen_count++] = function;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block)) {
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
            LLVMValueRef callee = ir_callee(i);
            if (!callee || LLVMIsDeclaration(callee)) continue;
            s->call = i;
            if (callee == s->path[0] || (!was_seen(s, callee) && find_cycle(s, callee))) return true;
        }
    }
    s->depth--;
    return false;
}

/* Fills s->path with the cycle through `function`; false where there is none (or memory is short). */
static bool is_on_cycle(LLVMModuleRef module, LLVMValueRef function, search *s)
{
    size_t count = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) count++;
    *s = (search){.seen = malloc((count + 1) * sizeof(LLVMValueRef))};
    bool found = s->seen && find_cycle(s, function);
    free(s->seen);
    return found;
}

static void append_cycle(const search *s, tb_text *text)
{
    char name[IR_NAME_SIZE];
    for (size_t i = 0; i <= s->depth; i++) {
        ir_source_name(s->path[i % s->depth], name);
        tb_text_printf(text, "%s'%s'", i ? " calls " : "", name);
    }
}

void ir_note_cycles(ir_kernel *kernel, ir_cycles *cycles)
{
    *cycles = (ir_cycles){.count = 0};
    for (LLVMValueRef f = LLVMGetFirstFunction(kernel->module); f; f = LLVMGetNextFunction(f)) {
        search s;
        if (cycles->count == IR_MAX_CYCLES) return;
        if (LLVMIsDeclaration(f) || !is_on_cycle(kernel->module, f, &s)) continue;
        ir_cycle *cycle = &cycles->list[cycles->count++];
        *cycle = (ir_cycle){.position = ir_instruction_position(s.call)};
        ir_source_name(f, cycle->function);
        append_cycle(&s, &cycle->text);
    }
}

void ir_cycles_free(ir_cycles *cycles)
{
    for (size_t i = 0; i < cycles->count; i++) tb_text_free(&cycles->list[i].text);
    cycles->count = 0;
}

tombac_status ir_refuse_cycles(ir_kernel *kernel, const ir_cycles *cycles, tombac_error **error)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(kernel->module); f; f = LLVMGetNextFunction(f)) {
        search s;
        char name[IR_NAME_SIZE];
        if (f == kernel->function || LLVMIsDeclaration(f) || !is_on_cycle(kernel->module, f, &s)) continue;
        ir_source_name(f, name);
        ir_position at = ir_instruction_position(s.call);
        tb_text text = {0};
        for (size_t i = 0; i < cycles->count && !text.size; i++) {
            if (strcmp(cycles->list[i].function, name) != 0) continue;
            at = cycles->list[i].position;
            tb_text_puts(&text, tb_text_string(&cycles->list[i].text));
        }
        if (!text.size) append_cycle(&s, &text);
        tombac_status status = ir_fail_at(at, TOMBAC_ERROR_UNSUPPORTED, error,
            "function '%s' is recursive, which is not supported: %s", name, tb_text_string(&text));
        tb_text_free(&text);
        return status;
    }
    return TOMBAC_OK;
}

static tombac_status check_declaration(ir_kernel *kernel, LLVMValueRef f, tombac_error **error)
{
    char name[IR_NAME_SIZE];
    LLVMUseRef use = LLVMGetFirstUse(f);
    if (!use) return TOMBAC_OK;
    ir_source_name(f, name);
    if (ir_name_starts(f, "__tombac_long_list"))
        return ir_fail_at(
            ir_instruction_position(LLVMGetUser(use)), TOMBAC_ERROR_SOURCE, error, "a list for a vector has too many elements");
    if (ir_name_starts(f, "__tombac_needs_apple8"))
        return ir_fail_at(ir_instruction_position(LLVMGetUser(use)), TOMBAC_ERROR_SOURCE, error,
            "64-bit atomic min/max requires Apple8 or newer");
    if (ir_name_starts(f, "air.")) return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "'%s' is not supported", name);
    if (ir_name_starts(f, "__tombac_")) return TOMBAC_OK;
    return ir_internal_error(kernel->kernel, error, "function '%s' has no definition", name);
}

tombac_status ir_check_functions(ir_kernel *kernel, tombac_error **error)
{
    char name[IR_NAME_SIZE];
    tombac_status status = TOMBAC_OK;
    for (LLVMValueRef f = LLVMGetFirstFunction(kernel->module); f && status == TOMBAC_OK; f = LLVMGetNextFunction(f)) {
        if (f == kernel->function || LLVMGetIntrinsicID(f)) continue;
        ir_source_name(f, name);
        status = LLVMIsDeclaration(f) ? check_declaration(kernel, f, error)
                                      : tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
                                            "function '%s' is called through a pointer, which is not supported", name);
    }
    return status;
}
