/* The verbs of tombac-cc that make code: compile, reflect, emit --what ir | reflection | asm.
 *
 * Each goes front end -> ir_prepare -> engine. LLVM ends the process on errors of its own; the handler
 * installed here says for which kernel before it does. */
#include "artifact/artifact.h"
#include "base/file.h"
#include "compiler/check/check.h"
#include "compiler/cpu/cpu.h"
#include "compiler/cuda/cuda.h"
#include "compiler/ir/support.h"
#include "compiler/job.h"

#include <llvm-c/ErrorHandling.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_COMPILER = 5 };

/* The kernel being compiled, for LLVM's fatal errors: this process compiles one. */
static const char *current_kernel = "the source";

static void on_fatal_error(const char *reason)
{
    fprintf(stderr, "tombac-cc: internal error in LLVM while compiling %s: %s\n", current_kernel, reason);
    fflush(stderr);
    _exit(EXIT_COMPILER);
}

/* What the environment variable names, else ../lib/tombac/FILE beside the program's folder. */
static char *find_library(const char *variable, const char *file)
{
    const char *given = getenv(variable);
    if (given && given[0]) return strdup(given);
    char *folder = tb_folder_of_code((const void *)(uintptr_t)&find_library);
    tb_text path = {0};
    tb_text_printf(&path, "%s/../lib/tombac/%s", folder ? folder : ".", file);
    free(folder);
    return tb_text_take(&path);
}

static bool starts_with_digit(const char *text)
{
    return text[0] >= '0' && text[0] <= '9';
}

/* A constant's left side is an index where it starts with a digit. */
static ir_constant_value *convert_constants(const cc_request *request)
{
    ir_constant_value *values = calloc(request->constant_count + 1, sizeof *values);
    for (size_t i = 0; values && i < request->constant_count; i++) {
        const cc_constant *given = &request->constants[i];
        bool by_index = starts_with_digit(given->name);
        values[i] = (ir_constant_value){.name = by_index ? NULL : given->name,
            .index = by_index ? (uint32_t)strtoul(given->name, NULL, 10) : 0,
            .bytes = given->bytes,
            .size = given->size};
    }
    return values;
}

/* What --argument and --threadgroup fix. */
static tombac_status specialise(const cc_request *request, ir_kernel *kernel, tombac_error **error)
{
    if (!request->argument_count && !request->threadgroup[0]) return TOMBAC_OK;
    ir_argument_value *values = calloc(request->argument_count + 1, sizeof *values);
    if (!values) return tb_fail_memory(error);
    ir_specialisation specialisation = {.arguments = values, .argument_count = request->argument_count};
    memcpy(specialisation.threadgroup, request->threadgroup, sizeof request->threadgroup);
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < request->argument_count && status == TOMBAC_OK; i++) {
        const cc_constant *given = &request->arguments[i];
        if (!starts_with_digit(given->name))
            status = tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--argument takes an index, not '%s'", given->name);
        values[i] = (ir_argument_value){(uint32_t)strtoul(given->name, NULL, 10), given->bytes, given->size};
    }
    if (status == TOMBAC_OK) status = ir_specialise(kernel, &specialisation, error);
    free(values);
    return status;
}

static bool is_engine(const cc_request *request, const char *name)
{
    return request->engine && !strcmp(request->engine, name);
}

/* The processor level to compile for: this machine's, since the cache belongs to it. The check engine gains
 * nothing from the highest one. Of the cuda engine the target names the GPU; preparation is for the host then too. */
static const char *target_level(const cc_request *request)
{
    if (request->target && !is_engine(request, "cuda")) return request->target;
    __builtin_cpu_init();
    if (is_engine(request, "cpu") && __builtin_cpu_supports("x86-64-v4")) return "x86-64-v4";
    return __builtin_cpu_supports("x86-64-v3") ? "x86-64-v3" : "x86-64-v2";
}

void cc_job_close(cc_job *j)
{
    ir_kernel_free(j->kernel);
    front_close(j->unit);
}

static tombac_status prepare(
    const cc_request *request, const front_kernel *kernel, cc_job *j, tb_text *diagnostics, tombac_error **error)
{
    front_result result = {0};
    tb_times_begin(request->times, "rewrite, clang");
    tombac_status status = front_compile(j->unit, kernel, false, &result, error);
    if (status == TOMBAC_OK) {
        tb_times_size(request->times, result.bitcode.size);
        tb_text_append(diagnostics, result.diagnostics.data, result.diagnostics.size);
        char *library = find_library("TOMBAC_MATH", "math.bc");
        ir_constant_value *constants = convert_constants(request);
        if (library && constants) {
            ir_request prepared = {.unit = j->unit,
                .kernel = kernel,
                .bitcode = result.bitcode.data,
                .bitcode_size = result.bitcode.size,
                .constants = constants,
                .constant_count = request->constant_count,
                .math = kernel->has_math ? kernel->math : request->options.math,
                .math_library = library,
                .target = target_level(request),
                .debug = request->options.debug,
                .watch = is_engine(request, "check"),
                .times = request->times};
            status = ir_prepare(&prepared, &j->kernel, error);
        } else {
            status = tb_fail_memory(error);
        }
        free(library);
        free(constants);
    }
    front_result_free(&result);
    return status;
}

tombac_status cc_job_open(const cc_request *request, cc_job *j, tb_text *diagnostics, tombac_error **error)
{
    *j = (cc_job){0};
    const front_kernel *kernel = NULL;
    tb_times_begin(request->times, "preprocess, list");
    tombac_status status = cc_open(request, &j->unit, error);
    if (status == TOMBAC_OK) status = cc_find_kernel(request, j->unit, &kernel, error);
    if (status == TOMBAC_OK) {
        current_kernel = kernel->name;
        LLVMInstallFatalErrorHandler(on_fatal_error);
        status = prepare(request, kernel, j, diagnostics, error);
    }
    if (status != TOMBAC_OK) cc_job_close(j);
    return status;
}

tombac_status cc_require_engine(const cc_request *request, tombac_error **error)
{
    if ((request->argument_count || request->threadgroup[0]) && !is_engine(request, "cpu") &&
        !is_engine(request, "cuda"))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "only the engines cpu and cuda specialise kernels");
    if (is_engine(request, "check") || is_engine(request, "cpu") || is_engine(request, "cuda")) return TOMBAC_OK;
    return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--engine takes check, cpu or cuda, not '%s'",
        request->engine ? request->engine : "");
}

cpu_options cc_cpu_options(const cc_request *request, const ir_kernel *kernel)
{
    cpu_options options = {.target = kernel->target,
        .whole = request->threadgroup[0] != 0,
        .debug = kernel->debug,
        .times = request->times,
        .rest = request->rest,
        .defer_from = request->defer_from,
        .subprogram = kernel->subprogram};
    memcpy(options.threads, options.whole ? request->threadgroup : kernel->kernel->required_threads, sizeof options.threads);
    return options;
}

tombac_status cc_optimise(const cc_request *request, ir_kernel *kernel, tombac_error **error)
{
    kernel->gpu = is_engine(request, "cuda");
    tb_times_begin(request->times, "scalar passes");
    tombac_status status = ir_optimise(kernel, error);
    if (status != TOMBAC_OK) return status;
    ir_contract(kernel);
    status = specialise(request, kernel, error);
    ir_note_size(request->times, kernel->module);
    return status;
}

static tombac_status generate_cpu(const cc_request *request,
    ir_kernel *kernel, bool assembly, tb_text *object, size_t *context_size, tombac_error **error)
{
    cpu_options options = cc_cpu_options(request, kernel);
    cpu_set_llvm_options();
    tombac_status status = cc_optimise(request, kernel, error);
    if (status != TOMBAC_OK || !assembly) {
        return status == TOMBAC_OK ? cpu_compile(kernel->module, &options, object, context_size, error)
                                   : status;
    }
    LLVMTargetMachineRef machine;
    status = cpu_target_machine(kernel->target, &machine, error);
    if (status != TOMBAC_OK) return status;
    status = cpu_vectorise(kernel->module, &options, context_size, error);
    if (status == TOMBAC_OK) status = cpu_optimise(kernel->module, machine, kernel->debug, error);
    if (status == TOMBAC_OK) status = cpu_emit(kernel->module, machine, true, object, error);
    LLVMDisposeTargetMachine(machine);
    return status;
}

/* The kernel's target, so far the host's, becomes the GPU's. */
static tombac_status generate_cuda(
    const cc_request *request, ir_kernel *kernel, tb_text *object, tombac_error **error)
{
    const char *target = request->target ? request->target : CUDA_DEFAULT_TARGET;
    if (!cuda_is_target(target)) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "no GPU architecture '%s'", target);
    char *folder = find_library("TOMBAC_CUDA_LIBRARY", ""), *own = strdup(target);
    cuda_set_llvm_options();
    tombac_status status = folder && own ? cc_optimise(request, kernel, error) : tb_fail_memory(error);
    if (status == TOMBAC_OK) {
        free(kernel->target);
        kernel->target = own;
        own = NULL;
        cuda_options options = {.folder = folder};
        memcpy(options.threadgroup, request->threadgroup, sizeof options.threadgroup);
        status = cuda_compile(kernel, &options, object, error);
    }
    free(own);
    free(folder);
    return status;
}

tombac_status cc_generate(const cc_request *request, ir_kernel *kernel, bool assembly, tb_text *object, size_t *context_size,
    tombac_error **error)
{
    *context_size = 0;
    tombac_status status = is_engine(request, "cpu")    ? generate_cpu(request, kernel, assembly, object, context_size, error)
                           : is_engine(request, "cuda") ? generate_cuda(request, kernel, object, error)
                                                        : check_compile(kernel, assembly, object, error);
    if (status != TOMBAC_OK) tb_error_set_kernel(error, kernel->kernel->name);
    return status;
}

tombac_status cc_compile(
    const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error)
{
    if (!request->output_path) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "compile needs -o FILE");
    tombac_status status = cc_require_engine(request, error);
    cc_job j;
    if (status == TOMBAC_OK) status = cc_job_open(request, &j, diagnostics, error);
    if (status != TOMBAC_OK) return status;
    tb_text manifest = {0}, object = {0}, file = {0}, rest = {0};
    size_t context_size;
    cc_request own = *request;
    own.rest = request->defer ? &rest : NULL;
    status = cc_generate(&own, j.kernel, false, &object, &context_size, error);
    if (status == TOMBAC_OK) {
        status =
            ir_manifest(j.kernel, request->engine, request->options.standard, context_size, &manifest, error);
    }
    if (status == TOMBAC_OK) {
        tb_section sections[3] = {{TB_SECTION_MANIFEST, manifest.data, manifest.size},
            {TB_SECTION_OBJECT, object.data, object.size}, {TB_SECTION_REST, rest.data, rest.size}};
        status = tb_artifact_build(sections, rest.size ? 3 : 2, &file, error);
    }
    if (status == TOMBAC_OK) status = tb_file_write_atomic(request->output_path, file.data, file.size, error);
    tb_text_free(&manifest);
    tb_text_free(&object);
    tb_text_free(&rest);
    tb_text_free(&file);
    cc_job_close(&j);
    return status;
}

/* Every kernel of the file by one clang run. */
tombac_status cc_reflect(
    const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error)
{
    front_unit *unit = NULL;
    front_result result = {0};
    LLVMInstallFatalErrorHandler(on_fatal_error);
    tombac_status status = cc_open(request, &unit, error);
    if (status == TOMBAC_OK) status = front_compile(unit, NULL, false, &result, error);
    if (status == TOMBAC_OK) {
        tb_text_append(diagnostics, result.diagnostics.data, result.diagnostics.size);
        status = ir_reflect_unit(unit, result.bitcode.data, result.bitcode.size, output, error);
    }
    front_result_free(&result);
    front_close(unit);
    return status;
}

/* What ir_prepare hands to the engines. */
tombac_status cc_emit_ir(
    const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error)
{
    cc_job j;
    tombac_status status = cc_job_open(request, &j, diagnostics, error);
    if (status != TOMBAC_OK) return status;
    char *text = LLVMPrintModuleToString(j.kernel->module);
    tb_text_puts(output, text);
    LLVMDisposeMessage(text);
    cc_job_close(&j);
    return TOMBAC_OK;
}

tombac_status cc_emit_reflection(
    const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error)
{
    cc_job j;
    tombac_status status = cc_job_open(request, &j, diagnostics, error);
    if (status != TOMBAC_OK) return status;
    status = ir_manifest(j.kernel, request->engine, request->options.standard, 0, output, error);
    cc_job_close(&j);
    return status;
}

tombac_status cc_emit_assembly(
    const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error)
{
    tombac_status status = cc_require_engine(request, error);
    cc_job j;
    if (status == TOMBAC_OK) status = cc_job_open(request, &j, diagnostics, error);
    if (status != TOMBAC_OK) return status;
    size_t context_size;
    status = cc_generate(request, j.kernel, true, output, &context_size, error);
    cc_job_close(&j);
    return status;
}

tombac_status cc_emit_ptx(
    const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error)
{
    if (request->engine && !is_engine(request, "cuda"))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "only the engine cuda makes PTX, not '%s'", request->engine);
    cc_request own = *request;
    own.engine = "cuda";
    return cc_emit_assembly(&own, output, diagnostics, error);
}

/* The cpu engine's vector code, as LLVM IR. */
tombac_status cc_emit_simd(const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error)
{
    cc_job j;
    cc_request for_cpu = *request;
    for_cpu.engine = "cpu";
    tombac_status status = cc_job_open(&for_cpu, &j, diagnostics, error);
    if (status != TOMBAC_OK) return status;
    cpu_options options = cc_cpu_options(request, j.kernel);
    size_t context_size;
    cpu_set_llvm_options();
    status = cc_optimise(&for_cpu, j.kernel, error);
    if (status == TOMBAC_OK) status = cpu_vectorise(j.kernel->module, &options, &context_size, error);
    if (status == TOMBAC_OK) status = cpu_optimise(j.kernel->module, j.kernel->machine, j.kernel->debug, error);
    if (status == TOMBAC_OK) {
        char *text = LLVMPrintModuleToString(j.kernel->module);
        tb_text_puts(output, text);
        LLVMDisposeMessage(text);
    }
    cc_job_close(&j);
    return status;
}
