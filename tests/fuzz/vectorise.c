/* For tests: vectorises every function of a bitcode file that is named like a kernel.
 *
 *     tombac-vectorise [--target LEVEL] [--threads X,Y,Z] [--print vector|final] [-o PREFIX] FILE.bc
 *
 * Each function f with a body becomes PREFIX.f.o, whose entry point is called f_threadgroup; f_context (an
 * int) is the size of the context per SIMD-group. The scalar passes before are those of ir_optimise. */
#include "artifact/abi.h"
#include "base/file.h"
#include "compiler/cpu/cpu.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COMBINE "instcombine<no-verify-fixpoint>"

static const char *const scalar_passes[] = {
    "function(sroa,early-cse,simplifycfg," COMBINE ",simplifycfg,loop-simplify,lcssa,"
    "loop-mssa(loop-rotate,licm),simplifycfg,loop(indvars,loop-deletion,loop-unroll-full))",
    "function(sroa,early-cse,simplifycfg," COMBINE ",loop-simplify,lcssa,loop(loop-unroll-full),sroa,"
    "early-cse<memssa>," COMBINE ",gvn,simplifycfg,loop-simplify,lcssa,loop-mssa(licm),"
    "loop(indvars,loop-deletion)," COMBINE ",simplifycfg,dce)",
    "function(scalarizer," COMBINE
    ",dce,lower-switch,mergereturn,fix-irreducible,unify-loop-exits,loop-simplify,lcssa),"
    "globaldce",
};

typedef struct settings {
    cpu_options options;
    const char *prefix, *print, *input;
} settings;

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "tombac-vectorise: %s: %s\n", what, why);
    exit(1);
}

static void run_passes(LLVMModuleRef module, const char *passes)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure = LLVMRunPasses(module, passes, NULL, options);
    LLVMDisposePassBuilderOptions(options);
    if (failure) stop(passes, LLVMGetErrorMessage(failure));
}

/* The module with `name` alone, as the kernel. */
static LLVMModuleRef isolate(LLVMModuleRef whole, const char *name)
{
    LLVMModuleRef module = LLVMCloneModule(whole);
    for (LLVMValueRef f = LLVMGetFirstFunction(module), next; f; f = next) {
        next = LLVMGetNextFunction(f);
        if (LLVMIsDeclaration(f)) continue;
        static const char *const unwanted[] = {"optnone", "noinline"};
        for (int i = 0; i < 2; i++)
            LLVMRemoveEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                LLVMGetEnumAttributeKindForName(unwanted[i], strlen(unwanted[i])));
        size_t length;
        if (!strcmp(LLVMGetValueName2(f, &length), name))
            LLVMSetValueName2(f, CPU_KERNEL_FUNCTION, strlen(CPU_KERNEL_FUNCTION));
        else if (!LLVMGetFirstUse(f))
            LLVMDeleteFunction(f);
    }
    return module;
}

static void print_module(LLVMModuleRef module)
{
    char *text = LLVMPrintModuleToString(module);
    fputs(text, stdout);
    LLVMDisposeMessage(text);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void check(tombac_status status, tombac_error **error, const char *name)
{
    if (status) stop(name, tombac_error_message(*error));
}

static void make_kernel(const settings *s, LLVMModuleRef whole, const char *name)
{
    tombac_error *error = NULL;
    LLVMModuleRef module = isolate(whole, name);
    LLVMTargetMachineRef machine;
    size_t context = 0;
    double t0 = now();
    for (size_t i = 0; i < sizeof scalar_passes / sizeof *scalar_passes; i++)
        run_passes(module, scalar_passes[i]);
    if (s->print && !strcmp(s->print, "scalar")) print_module(module);
    double t1 = now();
    check(cpu_target_machine(s->options.target, &machine, &error), &error, name);
    check(cpu_vectorise(module, &s->options, &context, &error), &error, name);
    double t2 = now();
    if (s->print && !strcmp(s->print, "vector")) print_module(module);
    check(cpu_optimise(module, machine, false, &error), &error, name);
    double t3 = now();
    if (s->print && !strcmp(s->print, "final")) print_module(module);
    tb_text symbol = {0}, object = {0}, path = {0};
    tb_text_printf(&symbol, "%s_threadgroup", name);
    LLVMSetValueName2(LLVMGetNamedFunction(module, TB_CPU_ENTRY), symbol.data, symbol.size);
    static const char *const facts[] = {TB_CPU_SMALL_BUFFERS, TB_CPU_TALLIES}; /* many kernels become one library */
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        LLVMValueRef fact = LLVMGetNamedGlobal(module, facts[i]);
        if (fact) LLVMSetLinkage(fact, LLVMInternalLinkage);
    }
    tb_text size_name = {0};
    tb_text_printf(&size_name, "%s_context", name);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(module));
    LLVMValueRef size = LLVMAddGlobal(module, i32, tb_text_string(&size_name));
    LLVMSetInitializer(size, LLVMConstInt(i32, context, 0));
    check(cpu_emit(module, machine, false, &object, &error), &error, name);
    if (getenv("TOMBAC_TIMES"))
        fprintf(stderr, "%s: scalar %.1f vectorise %.1f optimise %.1f emit %.1f ms, %zu bytes\n", name,
            t1 - t0, t2 - t1, t3 - t2, now() - t3, object.size);
    tb_text_printf(&path, "%s.%s.o", s->prefix, name);
    check(tb_file_write_atomic(path.data, object.data, object.size, &error), &error, name);
    tb_text_free(&symbol);
    tb_text_free(&size_name);
    tb_text_free(&object);
    tb_text_free(&path);
    LLVMDisposeTargetMachine(machine);
    LLVMDisposeModule(module);
}

static settings parse(int count, char **arguments)
{
    settings s = {.options = {.target = "x86-64-v4"}, .prefix = "out"};
    for (int i = 1; i < count; i++) {
        bool has_value = i + 1 < count;
        if (!strcmp(arguments[i], "--target") && has_value)
            s.options.target = arguments[++i];
        else if (!strcmp(arguments[i], "--print") && has_value)
            s.print = arguments[++i];
        else if (!strcmp(arguments[i], "-o") && has_value)
            s.prefix = arguments[++i];
        else if (!strcmp(arguments[i], "--threads") && has_value)
            sscanf(arguments[++i], "%u,%u,%u", &s.options.threads[0], &s.options.threads[1],
                &s.options.threads[2]);
        else
            s.input = arguments[i];
    }
    if (!s.input) stop("usage", "tombac-vectorise [options] FILE.bc");
    return s;
}

int main(int count, char **arguments)
{
    settings s = parse(count, arguments);
    LLVMMemoryBufferRef buffer;
    LLVMModuleRef module;
    char *message = NULL;
    cpu_set_llvm_options();
    if (LLVMCreateMemoryBufferWithContentsOfFile(s.input, &buffer, &message)) stop(s.input, message);
    if (LLVMParseBitcodeInContext2(LLVMContextCreate(), buffer, &module)) stop(s.input, "is no bitcode");
    LLVMDisposeMemoryBuffer(buffer);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        size_t length;
        if (LLVMIsDeclaration(f) || LLVMGetLinkage(f) != LLVMExternalLinkage) continue;
        make_kernel(&s, module, LLVMGetValueName2(f, &length));
    }
    LLVMDisposeModule(module);
    return 0;
}
