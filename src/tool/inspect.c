/* tombac inspect: what the compiler makes of a kernel on the way. */
#include "tool/inspect.h"
#include "tool/message.h"
#include "tool/verbs.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: tombac inspect [options] --emit WHAT FILE KERNEL\n\n"
    "Prints what becomes of a kernel. WHAT is\n"
    "  source      the C++ that clang compiles\n"
    "  ir          LLVM IR of the prepared kernel\n"
    "  reflection  arguments, struct members and constants, as JSON (the default)\n"
    "  simd        IR after the SIMD-group vectoriser (cpu)\n"
    "  asm         machine code (check, cpu)\n"
    "  ptx         the code that NVIDIA's driver takes (cuda)\n"
    "  sass        machine code of the GPU, if NVIDIA's ptxas and nvdisasm are installed (cuda)\n"
    "  report      cpu: what the vectoriser decided, line by line, and what would help;\n"
    "              cuda: registers, memory and occupancy, from the GPU if there is one, else from ptxas\n"
    "  times       what compiling it takes, phase by phase\n\n"
    "  --device check|cpu|cuda   engine that ir, simd, asm, ptx, sass, report and times are for; default cpu\n"
    "  --target sm_80|86|89|90   of cuda: the GPU that ptx, sass and report are for; default sm_90\n"
    "  --threads N               of cuda: threads of a threadgroup, for the report; default 256\n"
    "  --json                    report or times as JSON\n"
    "  --set CONSTANT=VALUE      set a function constant, by name or index\n"
    "  --std STANDARD            language version, as metal3.1; default metal3.2\n"
    "  --math fast|relaxed|safe  floating-point rules; default fast\n"
    "  -g                        code for a debugger\n"
    "  --gpu-family apple7|8|9   the Apple GPUs that the kernel is written for; default apple9\n"
    "  -D NAME[=VALUE]           define a macro\n"
    "  -I FOLDER                 search FOLDER for included files\n"
    "  -h, --help                this text\n";

enum { OPTION_EMIT = TOOL_OPTION_OWN, OPTION_DEVICE, OPTION_SET, OPTION_JSON, OPTION_TARGET, OPTION_THREADS };
static const struct option known[] = {{"emit", required_argument, NULL, OPTION_EMIT},
    {"device", required_argument, NULL, OPTION_DEVICE}, {"set", required_argument, NULL, OPTION_SET},
    {"json", no_argument, NULL, OPTION_JSON}, {"target", required_argument, NULL, OPTION_TARGET},
    {"threads", required_argument, NULL, OPTION_THREADS}, TOOL_COMPILE_LONG, {NULL, 0, NULL, 0}};

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0) return true;
    return false;
}

static tombac_status validate(const inspect_options *options, tombac_error **error)
{
    static const char *const whats[] = {"source", "ir", "reflection", "simd", "asm", "ptx", "sass", "report", "times", NULL};
    static const char *const devices[] = {"check", "cpu", "cuda", NULL};
    static const char *const of_gpus[] = {"ptx", "sass", NULL}, *const of_processors[] = {"simd", "asm", NULL};
    static const char *const targets[] = {"sm_80", "sm_86", "sm_89", "sm_90", NULL};
    if (!is_one_of(options->what, whats)) {
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "--emit is source, ir, reflection, simd, asm, ptx, sass, report or times, not '%s'", options->what);
    }
    if (!is_one_of(options->device, devices))
        return tb_fail(
            error, TOMBAC_ERROR_ARGUMENT, "--device is check, cpu or cuda here, not '%s'", options->device);
    bool cuda = !strcmp(options->device, "cuda");
    if (is_one_of(options->what, cuda ? of_processors : of_gpus))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--emit %s does not go with --device %s", options->what, options->device);
    if (!cuda && (options->target || options->threads))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--%s goes with --device cuda", options->target ? "target" : "threads");
    if (options->target && !is_one_of(options->target, targets))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--target is sm_80, sm_86, sm_89 or sm_90 here, not '%s'", options->target);
    static const char *const of_json[] = {"report", "times", "reflection", NULL};
    if (options->json && !is_one_of(options->what, of_json))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--json goes with --emit report and times, not with '%s'", options->what);
    if (!options->kernel)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "which kernel? Usage: tombac inspect [options] --emit WHAT FILE KERNEL");
    return TOMBAC_OK;
}

static tombac_status read_options(
    int count, char **arguments, inspect_options *options, bool *help_shown, tombac_error **error)
{
    opterr = 0;
    for (int code; (code = getopt_long(count, arguments, ":" TOOL_COMPILE_SHORT, known, NULL)) != -1;) {
        bool taken;
        tombac_status status = tool_compile_option(&options->compile, code, optarg, &taken, error);
        if (status == TOMBAC_OK && code == OPTION_SET)
            status = tool_words_add(&options->constants, optarg, error);
        if (status != TOMBAC_OK) return status;
        if (taken || code == OPTION_SET) continue;
        if (code == OPTION_EMIT)
            options->what = optarg;
        else if (code == OPTION_DEVICE)
            options->device = optarg;
        else if (code == OPTION_JSON)
            options->json = true;
        else if (code == OPTION_TARGET)
            options->target = optarg;
        else if (code == OPTION_THREADS)
            status = tool_size_parse("--threads", optarg, 1024, &options->threads, error);
        else if (code == 'h')
            *help_shown = fputs(help, stdout) >= 0;
        else
            return tool_option_error("inspect", code, arguments, known, error);
        if (status != TOMBAC_OK || *help_shown) return status;
    }
    if (optind < count) options->file = arguments[optind++];
    if (optind < count) options->kernel = arguments[optind++];
    if (optind < count)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "'tombac inspect' takes FILE and KERNEL, so '%s' is too much", arguments[optind]);
    return validate(options, error);
}

/* Appends "--constant" "INDEX=0xBYTES" for each constant. */
static tombac_status add_constants(
    const tool_constants *constants, tool_words *extra, tool_words *made, tombac_error **error)
{
    for (size_t i = 0; i < constants->count; i++) {
        const tombac_constant *constant = &constants->items[i];
        tb_text word = {0};
        tb_text_printf(&word, "%u=0x", constant->index);
        for (size_t k = 0; k < constant->size; k++)
            tb_text_printf(&word, "%02x", ((const unsigned char *)constant->data)[k]);
        char *taken = tb_text_take(&word);
        if (!taken) return tb_fail_memory(error);
        tombac_status status = tool_words_add(made, taken, error);
        if (status != TOMBAC_OK) free(taken);
        if (status == TOMBAC_OK) status = tool_words_add(extra, "--constant", error);
        if (status == TOMBAC_OK) status = tool_words_add(extra, taken, error);
        if (status != TOMBAC_OK) return status;
    }
    return TOMBAC_OK;
}

/* The values of --set; their types are the library's to tell. */
static tombac_status read_constants(
    const inspect_options *options, tool_constants *constants, tombac_error **error)
{
    tombac_compile_options compile = tool_compile_options(&options->compile);
    tombac_device *device = NULL;
    tombac_library *library = NULL;
    if (!options->constants.count) return TOMBAC_OK;
    if (strcmp(options->file, "-") == 0)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--set needs a source in a file, not standard input");
    tombac_status status = tombac_device_open(NULL, &device, error);
    if (status == TOMBAC_OK)
        status = tombac_library_create_from_file(device, options->file, &compile, &library, error);
    if (status == TOMBAC_OK) status = tool_constants_read(&options->constants, library, constants, error);
    tombac_library_release(library);
    tombac_device_release(device);
    return status;
}

tombac_status inspect_emit(const inspect_options *options, const tool_constants *constants, const char *what,
    tb_process *process, tombac_error **error)
{
    const char *fixed[] = {"--kernel", options->kernel, "--what", what, "--engine", options->device};
    tool_words extra = {0}, made = {0};
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed && status == TOMBAC_OK; i++)
        status = tool_words_add(&extra, fixed[i], error);
    bool json = options->json && (!strcmp(options->device, "cpu") || !strcmp(what, "times"));
    if (status == TOMBAC_OK && json) status = tool_words_add(&extra, "--json", error);
    if (status == TOMBAC_OK && options->target) status = tool_words_add(&extra, "--target", error);
    if (status == TOMBAC_OK && options->target) status = tool_words_add(&extra, options->target, error);
    if (status == TOMBAC_OK) status = add_constants(constants, &extra, &made, error);
    if (status == TOMBAC_OK) status = tool_compiler_run("emit", &options->compile, &extra, options->file, process, error);
    for (size_t i = 0; i < made.count; i++) free((char *)made.items[i]);
    tool_words_free(&made);
    tool_words_free(&extra);
    return status;
}

static tombac_status inspect(const inspect_options *options, tombac_error **error)
{
    tool_constants constants = {0};
    tb_process process = {0};
    bool cuda = !strcmp(options->device, "cuda");
    tombac_status status = read_constants(options, &constants, error);
    if (status == TOMBAC_OK && cuda && !strcmp(options->what, "report"))
        status = inspect_cuda_report(options, &constants, &process.output, error);
    else if (status == TOMBAC_OK && cuda && !strcmp(options->what, "sass"))
        status = inspect_cuda_sass(options, &constants, &process.output, error);
    else if (status == TOMBAC_OK)
        status = inspect_emit(options, &constants, options->what, &process, error);
    if (status == TOMBAC_OK) {
        fputs(tb_text_string(&process.errors), stderr);
        fwrite(tb_text_string(&process.output), 1, process.output.size, stdout);
        tb_text_free(&process.output);
        tb_text_free(&process.errors);
    }
    tool_constants_free(&constants);
    return status;
}

int tool_inspect(int count, char **arguments)
{
    inspect_options options = {.what = "reflection", .device = "cpu"};
    bool help_shown = false;
    tombac_error *error = NULL;
    int result = TOOL_RIGHT;
    tombac_status status = read_options(count, arguments, &options, &help_shown, &error);
    if (status == TOMBAC_OK && !help_shown) status = inspect(&options, &error);
    if (status != TOMBAC_OK) result = tool_report_error(error, false, NULL);
    tool_compile_free(&options.compile);
    tool_words_free(&options.constants);
    return result;
}
