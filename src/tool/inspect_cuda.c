/* Reports and machine code of kernels for NVIDIA GPUs; see inspect.h.
 *
 * Occupancy by ptxas's numbers follows NVIDIA's occupancy calculator: registers are given out in units of 256
 * for each SIMD-group, threadgroup memory in units of 128 bytes, of which each threadgroup costs 1024 more.
 * The limits of each architecture are those of the CUDA C++ Programming Guide, "Compute Capabilities". */
#include "tool/inspect.h"

#include "artifact/cuda.h"
#include "base/file.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_TARGET "sm_90"
enum {
    DEFAULT_THREADS = 256,
    REGISTER_UNIT = 256,
    MEMORY_UNIT = 128,
    MEMORY_RESERVED = 1024,
    REGISTERS = 65536
};
static const double time_limit = 600;

typedef struct facts {
    const char *from; /* who told: "GPU", "ptxas", "compiler" */
    const char *target;
    uint32_t threads;
    bool known; /* the next three, and occupancy */
    uint32_t registers;
    size_t private_memory, spilled; /* bytes of a thread; SIZE_MAX: not told */
    size_t threadgroup_memory;
    uint32_t groups, most_threads; /* on a multiprocessor at the same time */
} facts;

/* ---- The compiler ---- */

/* Threadgroup memory, and a size of threadgroup that the kernel can have. */
static tombac_status read_reflection(
    const inspect_options *options, const tool_constants *constants, facts *f, tombac_error **error)
{
    tb_process process = {0};
    tombac_status status = inspect_emit(options, constants, "reflection", &process, error);
    if (status != TOMBAC_OK) return status;
    json_t *root = json_loads(tb_text_string(&process.output), 0, NULL),
           *kernel = json_object_get(root, "kernel");
    const json_t *required = json_object_get(kernel, "required_threads_per_threadgroup");
    json_int_t most = json_integer_value(json_object_get(kernel, "max_total_threads_per_threadgroup"));
    f->threadgroup_memory = (size_t)json_integer_value(json_object_get(kernel, "static_threadgroup_memory"));
    f->threads = most < DEFAULT_THREADS ? (uint32_t)most : DEFAULT_THREADS;
    if (json_is_array(required)) {
        f->threads = 1;
        for (size_t i = 0; i < json_array_size(required); i++)
            f->threads *= (uint32_t)json_integer_value(json_array_get(required, i));
    }
    if (options->threads) f->threads = (uint32_t)options->threads;
    if (!root || most <= 0)
        status = tb_fail(error, TOMBAC_ERROR_COMPILER, "the compiler's reflection cannot be read");
    else if (f->threads > most)
        status = tb_fail(error, TOMBAC_ERROR_GEOMETRY,
            "kernel '%s' takes threadgroups of up to %d threads, not %u", options->kernel, (int)most,
            f->threads);
    json_decref(root);
    tb_text_free(&process.output);
    tb_text_free(&process.errors);
    return status;
}

/* ---- The GPU ---- */

static tombac_status ask_gpu(const inspect_options *options, const tool_constants *constants,
    tombac_device *device, facts *f, tombac_error **error)
{
    tombac_compile_options compile = tool_compile_options(&options->compile);
    tombac_library *library = NULL;
    tombac_kernel *kernel = NULL;
    tombac_resources r;
    tombac_status status = tombac_library_create_from_file(device, options->file, &compile, &library, error);
    if (status == TOMBAC_OK)
        status = tombac_kernel_create(
            library, options->kernel, constants->items, constants->count, &kernel, error);
    if (status == TOMBAC_OK)
        status = tombac_kernel_get_resources(kernel, f->threads, f->threadgroup_memory, &r, error);
    if (status == TOMBAC_OK) {
        f->from = "GPU";
        f->known = true;
        f->registers = r.registers;
        f->private_memory = r.private_memory;
        f->groups = r.threadgroups_per_multiprocessor;
        f->most_threads = r.max_threads_per_multiprocessor;
    }
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    return status;
}

/* ---- NVIDIA's programs ---- */

typedef struct architecture {
    const char *name;
    uint32_t threads, groups; /* of a multiprocessor, at most */
    size_t memory;            /* for threadgroups, bytes */
} architecture;

static const architecture architectures[] = {{"sm_80", 2048, 32, 164 << 10}, {"sm_86", 1536, 16, 100 << 10},
    {"sm_89", 1536, 24, 100 << 10}, {"sm_90", 2048, 32, 228 << 10}};

static const char *program(const char *variable, const char *name)
{
    const char *given = getenv(variable);
    return given && *given ? given : name;
}

/* True if it ran and succeeded; *missing: it is not installed. */
static tombac_status run(const char *const *words, tb_process *process, bool *missing, tombac_error **error)
{
    tombac_error *failure = NULL;
    *process = (tb_process){.arguments = words, .time_limit = time_limit};
    tombac_status status = tb_process_run(process, &failure);
    *missing = status == TOMBAC_ERROR_NOT_FOUND || status == TOMBAC_ERROR_IO;
    if (status == TOMBAC_OK && process->exit_status)
        status = tb_fail(&failure, TOMBAC_ERROR_COMPILER, "'%s' failed with exit status %d:\n%s", words[0],
            process->exit_status, tb_text_string(&process->errors));
    if (status != TOMBAC_OK && error)
        *error = failure;
    else
        tombac_error_release(failure);
    return status;
}

/* A folder with kernel.ptx, and kernel.cubin by ptxas; what ptxas said goes to `said`. */
typedef struct assembly {
    char folder[40], ptx[64], cubin[64];
    tb_text said;
} assembly;

static void remove_assembly(assembly *a)
{
    unlink(a->ptx);
    unlink(a->cubin);
    rmdir(a->folder);
    tb_text_free(&a->said);
}

static tombac_status assemble(const inspect_options *options, const tool_constants *constants,
    const char *target, assembly *a, bool *missing, tombac_error **error)
{
    tb_process process = {0};
    *a = (assembly){.folder = "/tmp/tombac-inspect-XXXXXX"};
    if (!mkdtemp(a->folder)) return tb_fail_errno(error, "cannot make a folder '%s'", a->folder);
    snprintf(a->ptx, sizeof a->ptx, "%s/kernel.ptx", a->folder);
    snprintf(a->cubin, sizeof a->cubin, "%s/kernel.cubin", a->folder);
    tombac_status status = inspect_emit(options, constants, "ptx", &process, error);
    if (status != TOMBAC_OK) return status;
    status = tb_file_write_atomic(a->ptx, tb_text_string(&process.output), process.output.size, error);
    tb_text_free(&process.output);
    tb_text_free(&process.errors);
    if (status != TOMBAC_OK) return status;
    tb_text arch = {0};
    tb_text_printf(&arch, "-arch=%s", target);
    const char *words[] = {
        program("TOMBAC_PTXAS", "ptxas"), "-v", tb_text_string(&arch), a->ptx, "-o", a->cubin, NULL};
    status = run(words, &process, missing, error);
    a->said = process.errors;
    tb_text_append(&a->said, tb_text_string(&process.output), process.output.size);
    tb_text_free(&process.output);
    tb_text_free(&arch);
    return status;
}

/* What ptxas -v says of one entry:
 *     ptxas info    : Function properties for tombac_cuda_kernel
 *         0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     ptxas info    : Used 22 registers, used 1 barriers */
static bool read_said(const char *said, facts *f)
{
    static const char begin[] = "Function properties for " TB_CUDA_ENTRY "\n";
    const char *at = strstr(said, begin), *used = at ? strstr(at, "Used ") : NULL;
    unsigned frame, stores, loads, registers;
    if (!used ||
        sscanf(at + sizeof begin - 1, " %u bytes stack frame, %u bytes spill stores, %u bytes spill loads",
            &frame, &stores, &loads) != 3)
        return false;
    if (sscanf(used, "Used %u registers", &registers) != 1) return false;
    f->registers = registers;
    f->private_memory = frame;
    f->spilled = stores;
    return true;
}

static uint32_t lowest(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void occupy(facts *f)
{
    const architecture *a = &architectures[0];
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
        if (!strcmp(architectures[i].name, f->target)) a = &architectures[i];
    uint32_t warps = (f->threads + TB_SIMD_WIDTH - 1) / TB_SIMD_WIDTH;
    uint32_t each = (f->registers * TB_SIMD_WIDTH + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    size_t memory = (f->threadgroup_memory + MEMORY_UNIT - 1) / MEMORY_UNIT * MEMORY_UNIT + MEMORY_RESERVED;
    f->most_threads = a->threads;
    f->groups = lowest(a->groups, a->threads / TB_SIMD_WIDTH / warps);
    if (each) f->groups = lowest(f->groups, REGISTERS / each / warps);
    f->groups = lowest(f->groups, (uint32_t)(a->memory / memory));
}

static tombac_status ask_ptxas(const inspect_options *options, const tool_constants *constants, facts *f,
    bool *missing, tombac_error **error)
{
    assembly a;
    tombac_status status = assemble(options, constants, f->target, &a, missing, error);
    if (status == TOMBAC_OK) {
        f->known = read_said(tb_text_string(&a.said), f);
        if (f->known)
            f->from = "ptxas", occupy(f);
        else
            status = tb_fail(
                error, TOMBAC_ERROR_COMPILER, "what ptxas says cannot be read:\n%s", tb_text_string(&a.said));
    }
    remove_assembly(&a);
    return status;
}

/* ---- The report ---- */

static void print_text(const inspect_options *options, const facts *f, tb_text *out)
{
    tb_text_printf(
        out, "%s on cuda (%s), threadgroups of %u threads\n", options->kernel, f->target, f->threads);
    if (f->known) {
        tb_text_printf(out, "  registers of a thread         %u\n", f->registers);
        tb_text_printf(out, "  private memory of a thread    %zu bytes", f->private_memory);
        if (f->spilled != SIZE_MAX) tb_text_printf(out, ", %zu of them spilled registers", f->spilled);
        tb_text_puts(out, "\n");
    }
    tb_text_printf(out, "  threadgroup memory            %zu bytes\n", f->threadgroup_memory);
    if (f->known) {
        uint32_t resident = f->groups * ((f->threads + TB_SIMD_WIDTH - 1) / TB_SIMD_WIDTH * TB_SIMD_WIDTH);
        tb_text_printf(out, "  threadgroups at a time        %u on a multiprocessor\n", f->groups);
        tb_text_printf(out, "  occupancy                     %.0f %%, %u of %u threads\n",
            100.0 * resident / f->most_threads, resident, f->most_threads);
        tb_text_printf(out, "as %s\n", strcmp(f->from, "GPU") ? "ptxas says" : "the GPU's driver says");
    } else {
        tb_text_puts(out,
            "registers and occupancy are not known: there is no GPU, and no ptxas in PATH or TOMBAC_PTXAS\n");
    }
}

static tombac_status print_json(
    const inspect_options *options, const facts *f, tb_text *out, tombac_error **error)
{
    json_t *root = json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "kernel", options->kernel, "device", "cuda",
        "target", f->target, "threads_per_threadgroup", (json_int_t)f->threads, "threadgroup_memory",
        (json_int_t)f->threadgroup_memory, "from", f->from);
    const struct {
        const char *name;
        size_t value;
        bool known;
    } rows[] = {{"registers", f->registers, f->known}, {"private_memory", f->private_memory, f->known},
        {"spilled", f->spilled, f->known && f->spilled != SIZE_MAX},
        {"threadgroups_per_multiprocessor", f->groups, f->known},
        {"max_threads_per_multiprocessor", f->most_threads, f->known}};
    for (size_t i = 0; root && i < sizeof rows / sizeof *rows; i++)
        json_object_set_new(
            root, rows[i].name, rows[i].known ? json_integer((json_int_t)rows[i].value) : json_null());
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    if (text) tb_text_printf(out, "%s\n", text);
    json_decref(root);
    tombac_status status = text ? TOMBAC_OK : tb_fail_memory(error);
    free(text);
    return status;
}

tombac_status inspect_cuda_report(
    const inspect_options *options, const tool_constants *constants, tb_text *out, tombac_error **error)
{
    facts f = {.from = "compiler",
        .target = options->target ? options->target : DEFAULT_TARGET,
        .spilled = SIZE_MAX};
    tombac_device *device = NULL;
    tombac_status status = read_reflection(options, constants, &f, error);
    if (status != TOMBAC_OK) return status;
    /* A given target is one to be asked of ptxas: the GPU that is there may be another. */
    if (!options->target && strcmp(options->file, "-") &&
        tombac_device_open("cuda", &device, NULL) == TOMBAC_OK) {
        status = ask_gpu(options, constants, device, &f, error);
        tombac_device_release(device);
    } else {
        bool missing = false;
        tombac_error *failure = NULL;
        status = ask_ptxas(options, constants, &f, &missing, &failure);
        if (status != TOMBAC_OK && !missing) {
            if (error) *error = failure;
            return status;
        }
        tombac_error_release(failure);
        status = TOMBAC_OK;
    }
    if (status != TOMBAC_OK) return status;
    if (options->json) return print_json(options, &f, out, error);
    print_text(options, &f, out);
    return out->bad ? tb_fail_memory(error) : TOMBAC_OK;
}

/* ---- Machine code ---- */

static tombac_status disassemble(const assembly *a, tb_text *out, bool *missing, tombac_error **error)
{
    const char *const nvdisasm[] = {program("TOMBAC_NVDISASM", "nvdisasm"), "-c", a->cubin, NULL};
    const char *const cuobjdump[] = {"cuobjdump", "-sass", a->cubin, NULL};
    tb_process process = {0};
    tombac_status status = run(nvdisasm, &process, missing, NULL);
    if (status != TOMBAC_OK && *missing && !getenv("TOMBAC_NVDISASM")) {
        tb_text_free(&process.output);
        tb_text_free(&process.errors);
        status = run(cuobjdump, &process, missing, error);
    } else if (status != TOMBAC_OK && !*missing) {
        status = tb_fail(
            error, TOMBAC_ERROR_COMPILER, "'%s' failed: %s", nvdisasm[0], tb_text_string(&process.errors));
    }
    if (status == TOMBAC_OK) tb_text_append(out, tb_text_string(&process.output), process.output.size);
    tb_text_free(&process.output);
    tb_text_free(&process.errors);
    return status;
}

tombac_status inspect_cuda_sass(
    const inspect_options *options, const tool_constants *constants, tb_text *out, tombac_error **error)
{
    assembly a;
    bool missing = false, no_ptxas;
    tombac_error *failure = NULL;
    tombac_status status = assemble(
        options, constants, options->target ? options->target : DEFAULT_TARGET, &a, &missing, &failure);
    no_ptxas = missing;
    if (status == TOMBAC_OK) status = disassemble(&a, out, &missing, &failure);
    remove_assembly(&a);
    if (status != TOMBAC_OK && missing) {
        tombac_error_release(failure);
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
            "no %s: --emit sass needs ptxas and nvdisasm or cuobjdump of NVIDIA's CUDA toolkit in PATH "
            "(TOMBAC_PTXAS and "
            "TOMBAC_NVDISASM name others)",
            no_ptxas ? "ptxas" : "nvdisasm");
    }
    if (status != TOMBAC_OK && error)
        *error = failure;
    else
        tombac_error_release(failure);
    return status;
}
