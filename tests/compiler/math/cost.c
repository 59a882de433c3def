/* See cost.h. */
#include "cost.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct math_bitcode {
    LLVMContextRef context;
    LLVMModuleRef module;
};

math_bitcode *bitcode_open(const char *path)
{
    math_bitcode *bitcode = calloc(1, sizeof *bitcode);
    if (!bitcode) return NULL;
    bitcode->context = LLVMContextCreate();
    LLVMMemoryBufferRef buffer;
    char *message = NULL;
    if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message)) {
        LLVMDisposeMessage(message);
    } else {
        if (LLVMParseBitcodeInContext2(bitcode->context, buffer, &bitcode->module)) bitcode->module = NULL;
        LLVMDisposeMemoryBuffer(buffer);
    }
    if (bitcode->module) return bitcode;
    LLVMContextDispose(bitcode->context);
    free(bitcode);
    return NULL;
}

void bitcode_close(math_bitcode *bitcode)
{
    if (!bitcode) return;
    LLVMDisposeModule(bitcode->module);
    LLVMContextDispose(bitcode->context);
    free(bitcode);
}

int bitcode_cost(const math_bitcode *bitcode, const char *mode, const char *name)
{
    char symbol[64];
    snprintf(symbol, sizeof symbol, "__tombac_%s_%s.f32", mode, name);
    LLVMValueRef function = LLVMGetNamedFunction(bitcode->module, symbol);
    if (!function || LLVMIsDeclaration(function)) return -1;
    int count = 0;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
        block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
            count += !LLVMIsABitCastInst(i) && !LLVMIsAPHINode(i);
    return count;
}

/* The intrinsics that x86-64-v3, AVX-512 and NVPTX have as instructions, or as short sequences of their own
 * without a call. */
static bool is_native(const char *name)
{
    static const char *const native[] = {"fma", "sqrt", "fabs", "floor", "ceil", "trunc", "rint", "copysign",
        "smin", "smax", "umin", "umax", "fshl"};
    if (strncmp(name, "llvm.", 5)) return false;
    for (size_t i = 0; i < sizeof native / sizeof *native; i++) {
        size_t size = strlen(native[i]);
        if (!strncmp(name + 5, native[i], size) && name[5 + size] == '.') return true;
    }
    return false;
}

int bitcode_foreign(const math_bitcode *bitcode, void (*report)(const char *name))
{
    int count = 0;
    size_t size;
    for (LLVMValueRef f = LLVMGetFirstFunction(bitcode->module); f; f = LLVMGetNextFunction(f)) {
        const char *name = LLVMGetValueName2(f, &size);
        if (!LLVMIsDeclaration(f) || is_native(name)) continue;
        report(name);
        count++;
    }
    for (LLVMValueRef g = LLVMGetFirstGlobal(bitcode->module); g; g = LLVMGetNextGlobal(g)) {
        report(LLVMGetValueName2(g, &size));
        count++;
    }
    return count;
}

bool bitcode_is_portable(const math_bitcode *bitcode, void (*report)(const char *name))
{
    static const char *const ties[] = {"target-cpu", "target-features", "no-builtins", "frame-pointer"};
    bool good = true;
    for (LLVMValueRef f = LLVMGetFirstFunction(bitcode->module); f; f = LLVMGetNextFunction(f)) {
        size_t size;
        bool tied = !LLVMIsDeclaration(f) && LLVMGetLinkage(f) != LLVMLinkOnceODRLinkage;
        for (size_t i = 0; i < sizeof ties / sizeof *ties; i++)
            tied |= !!LLVMGetStringAttributeAtIndex(
                f, LLVMAttributeFunctionIndex, ties[i], (unsigned)strlen(ties[i]));
        if (!tied) continue;
        report(LLVMGetValueName2(f, &size));
        good = false;
    }
    return good;
}
