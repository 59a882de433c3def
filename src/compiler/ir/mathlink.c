/* The math library: __tombac_FN.f32 becomes __tombac_fast_FN.f32 or __tombac_precise_FN.f32, whose bodies are
 * linked in.
 *
 * Safe math takes the precise functions, fast and relaxed math the fast ones, except at a call that a pragma
 * made strict: such a call returns a float without the "afn" flag. The library is read lazily and its
 * functions are linkonce_odr, so that only what a kernel uses is read and linked. */
#include "compiler/ir/steps.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <stdlib.h>
#include <string.h>

static const char *const functions[] = {"acos", "acosh", "acospi", "asin", "asinh", "asinpi", "atan", "atanh",
    "atanpi", "cbrt", "cos", "cosh", "cospi", "exp", "exp2", "exp10", "expm1", "log", "log1p", "log2",
    "log10", "rsqrt", "sin", "sinh", "sinpi", "tan", "tanh", "tanpi", "erf", "erfc", "lgamma", "tgamma",
    "atan2", "divide", "fmod", "hypot", "pow", "powr", "nextafter", "remainder", "sincos", "frexp", "modf",
    "ldexp", "ilogb"};

static void redirect_calls(LLVMValueRef generic, const char *name, tombac_math math)
{
    LLVMModuleRef module = LLVMGetGlobalParent(generic);
    LLVMTypeRef type = LLVMGlobalGetValueType(generic);
    LLVMTypeKind result = LLVMGetTypeKind(LLVMGetReturnType(type));
    LLVMUseRef next;
    for (LLVMUseRef use = LLVMGetFirstUse(generic); use; use = next) {
        next = LLVMGetNextUse(use);
        LLVMValueRef call = LLVMGetUser(use);
        if (ir_callee(call) != generic) continue; /* an address: left unresolved, and refused later */
        bool precise = math == TOMBAC_MATH_SAFE;
        if (!precise && result == LLVMFloatTypeKind) {
            precise = !(LLVMGetFastMathFlags(call) & LLVMFastMathApproxFunc);
        }
        tb_text symbol = {0};
        tb_text_printf(&symbol, "__tombac_%s_%s.f32", precise ? "precise" : "fast", name);
        LLVMValueRef target = ir_declare(module, tb_text_string(&symbol), type);
        tb_text_free(&symbol);
        LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1, target);
    }
}

static bool is_library_function(LLVMValueRef function)
{
    return ir_name_starts(function, "__tombac_fast_") || ir_name_starts(function, "__tombac_precise_");
}

static bool needs_library(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (!LLVMGetFirstBasicBlock(f) && LLVMGetFirstUse(f) && is_library_function(f)) return true;
    }
    return false;
}

static tombac_status link_library(ir_kernel *kernel, const char *path, tombac_error **error)
{
    LLVMMemoryBufferRef buffer;
    char *message = NULL;
    if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message)) {
        tombac_status status =
            tb_fail(error, TOMBAC_ERROR_COMPILER, "the math library %s cannot be read: %s", path, message);
        LLVMDisposeMessage(message);
        return status;
    }
    LLVMModuleRef library;
    if (LLVMGetBitcodeModuleInContext2(kernel->context, buffer, &library)) { /* takes the buffer */
        return tb_fail(error, TOMBAC_ERROR_COMPILER, "the math library %s is damaged: %s", path,
            tb_text_string(&kernel->messages));
    }
    LLVMSetTarget(library, LLVMGetTarget(kernel->module));
    LLVMSetDataLayout(library, LLVMGetDataLayoutStr(kernel->module));
    for (LLVMValueRef f = LLVMGetFirstFunction(library); f; f = LLVMGetNextFunction(f)) {
        if (!LLVMIsDeclaration(f)) LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
    }
    for (LLVMValueRef g = LLVMGetFirstGlobal(library); g; g = LLVMGetNextGlobal(g)) {
        if (ir_name_starts(g, "llvm."))
            LLVMSetInitializer(g, NULL); /* llvm.used and the like keep everything */
    }
    if (LLVMLinkModules2(kernel->module, library)) {
        return ir_internal_error(
            kernel->kernel, error, "linking the math library failed: %s", tb_text_string(&kernel->messages));
    }
    return TOMBAC_OK;
}

tombac_status ir_math_link(ir_kernel *kernel, const char *path, tombac_error **error)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        tb_text symbol = {0};
        tb_text_printf(&symbol, "__tombac_%s.f32", functions[i]);
        LLVMValueRef generic = LLVMGetNamedFunction(kernel->module, tb_text_string(&symbol));
        tb_text_free(&symbol);
        if (generic) redirect_calls(generic, functions[i], kernel->math);
    }
    return needs_library(kernel->module) ? link_library(kernel, path, error) : TOMBAC_OK;
}
