/* math_finish OUT.bc IN.bc...: joins the modules of the math library into one and prepares it for being
 * linked into kernels.
 *
 * Every function becomes linkonce_odr and always_inline: LLVM's linker takes from the library only what the
 * kernel calls, inlining uses it up, and what is left unused vanishes. `no-builtins` goes, as it would forbid
 * inlining. The module must be self-contained: an undefined function that is not an intrinsic which every
 * target has natively, or a global variable, is an error. */
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static LLVMModuleRef read_module(LLVMContextRef context, const char *path)
{
    LLVMMemoryBufferRef buffer;
    char *message = NULL;
    if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message)) {
        fprintf(stderr, "math_finish: %s: %s\n", path, message);
        LLVMDisposeMessage(message);
        return NULL;
    }
    LLVMModuleRef module = NULL;
    if (LLVMParseBitcodeInContext2(context, buffer, &module))
        fprintf(stderr, "math_finish: %s: no bitcode\n", path);
    LLVMDisposeMemoryBuffer(buffer);
    return module;
}

static bool is_native(const char *name)
{
    static const char *const native[] = {"llvm.fma.f32", "llvm.sqrt.f32", "llvm.fabs.f32", "llvm.floor.f32",
        "llvm.ceil.f32", "llvm.trunc.f32", "llvm.rint.f32", "llvm.copysign.f32", "llvm.smin.i32",
        "llvm.smax.i32", "llvm.umin.i32", "llvm.umax.i32", "llvm.fshl.i32", "llvm.fshl.i64"};
    for (size_t i = 0; i < sizeof native / sizeof *native; i++)
        if (!strcmp(name, native[i])) return true;
    return false;
}

static void set_attributes(LLVMContextRef context, LLVMValueRef function)
{
    static const char always[] = "alwaysinline", builtins[] = "no-builtins",
                      stack[] = "stack-protector-buffer-size";
    unsigned kind = LLVMGetEnumAttributeKindForName(always, sizeof always - 1);
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(context, kind, 0));
    LLVMRemoveStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, builtins, sizeof builtins - 1);
    LLVMRemoveStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, stack, sizeof stack - 1);
}

/* Inlines calls inside the library, so that each entry stands alone. */
static bool inline_all(LLVMModuleRef module)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure = LLVMRunPasses(module,
        "always-inline,function(instcombine<no-verify-fixpoint>,simplifycfg,early-cse)", NULL, options);
    LLVMDisposePassBuilderOptions(options);
    if (!failure) return true;
    char *message = LLVMGetErrorMessage(failure);
    fprintf(stderr, "math_finish: %s\n", message);
    LLVMDisposeErrorMessage(message);
    return false;
}

static bool check(LLVMModuleRef module)
{
    bool good = true;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        size_t size;
        const char *name = LLVMGetValueName2(f, &size);
        if (!LLVMIsDeclaration(f) || is_native(name) || !LLVMGetFirstUse(f)) continue;
        fprintf(stderr, "math_finish: '%s' is neither defined nor native everywhere\n", name);
        good = false;
    }
    if (LLVMGetFirstGlobal(module)) {
        size_t size;
        fprintf(stderr, "math_finish: global variable '%s'\n",
            LLVMGetValueName2(LLVMGetFirstGlobal(module), &size));
        good = false;
    }
    return good && !LLVMVerifyModule(module, LLVMPrintMessageAction, NULL);
}

int main(int count, char **arguments)
{
    if (count < 3) {
        fputs("usage: math_finish OUT.bc IN.bc...\n", stderr);
        return 2;
    }
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef library = read_module(context, arguments[2]);
    for (int i = 3; library && i < count; i++) {
        LLVMModuleRef module = read_module(context, arguments[i]);
        if (!module || LLVMLinkModules2(library, module)) return 1;
    }
    if (!library) return 1;
    LLVMSetModuleIdentifier(library, "tombac-math", strlen("tombac-math"));
    LLVMSetSourceFileName(library, "tombac-math", strlen("tombac-math"));
    for (LLVMValueRef f = LLVMGetFirstFunction(library); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f)) set_attributes(context, f);
    bool good = inline_all(library);
    for (LLVMValueRef f = LLVMGetFirstFunction(library); f;
        f = LLVMGetNextFunction(f)) /* now: the passes drop unused ones */
        if (!LLVMIsDeclaration(f)) LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
    good = good && check(library);
    if (good && LLVMWriteBitcodeToFile(library, arguments[1])) {
        fprintf(stderr, "math_finish: cannot write %s\n", arguments[1]);
        good = false;
    }
    LLVMDisposeModule(library);
    LLVMContextDispose(context);
    return good ? 0 : 1;
}
