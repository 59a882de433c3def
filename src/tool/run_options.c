/* The command line of tombac run; see run.h. */
#include "tool/message.h"
#include "tool/run.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: tombac run FILE KERNEL [NAME=VALUE...] --grid X[,Y[,Z]] [options]\n\n"
    "Runs a kernel of a Metal source (FILE - is standard input) and prints what it wrote.\n\n"
    "Values, by name, by buffer index (0=...) or in the order of buffer indices:\n"
    "  a=@a.npy                  a NumPy file; a=f32:@a.npy converts\n"
    "  a=f32[1000]               zeros; shapes as f32[64x128], vectors as f32x4[100]\n"
    "  a=f32[1000]:iota          0, 1, 2, ...; iota(START,STEP)\n"
    "  a=f32[1000]:fill(2.5)     one value; :rand(SEED) uniform, :rand(SEED,LOW,HIGH)\n"
    "  a=i32[4]:{1,2,3,4}        a list; a={1,2,3,4} in the kernel's own type\n"
    "  n=1000  n=u32:17  s=0.5   scalars\n"
    "  p={n: 4, scale: 0.5}      a struct; also as bytes, p=u8[8]:{...}\n"
    "  Types: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32\n\n"
    "Launch:\n"
    "  --grid X[,Y[,Z]]          threads in the grid (Metal's dispatchThreads)\n"
    "  --groups X[,Y[,Z]]        threadgroups in the grid (dispatchThreadgroups)\n"
    "  --group X[,Y[,Z]]         threads per threadgroup; default: what the kernel requires, else 256\n"
    "                            as 256, 32x8 or 32x4x2\n"
    "  --threadgroup WHICH=BYTES size of a threadgroup argument, by index or name\n"
    "  --device check|cpu|cuda   where it runs (cuda:1: the second GPU); default: cpu, else check\n"
    "  --set CONSTANT=VALUE      set a function constant, by name or index\n\n"
    "Compilation:\n"
    "  --std STANDARD            language version, as metal3.1; default metal3.2\n"
    "  --math fast|relaxed|safe  floating-point rules; default fast\n"
    "  --gpu-family apple7|8|9   the Apple GPUs that the kernel is written for; default apple9\n"
    "  -D NAME[=VALUE]  -I FOLDER  define a macro; search a folder for included files\n"
    "  -g                        code for a debugger (gdb)\n"
    "  --no-cache                compile anew, leave the compile cache alone\n\n"
    "Results:\n"
    "  --print NAME[:N|:all]     print N elements of a buffer; default: 8 of each writable buffer\n"
    "  --save NAME=FILE.npy      write a buffer to a file\n"
    "  --expect NAME=FILE.npy    compare a buffer with a file, or with a value as above\n"
    "  --tol T                   right is |found - expected| <= T + T*|expected|; default 0\n"
    "  --time [N]                run N times (10) on the same input; print minimum and median\n"
    "  --json                    print results and errors for machines\n"
    "  -h, --help                this text\n\n"
    "Exit status: 0 right, 1 the kernel failed or an expectation was missed, 2 wrong usage or input,\n"
    "3 the source does not compile.\n";

enum {
    OPTION_GRID = TOOL_OPTION_OWN,
    OPTION_GROUPS,
    OPTION_GROUP,
    OPTION_THREADGROUP,
    OPTION_DEVICE,
    OPTION_SET,
    OPTION_NO_CACHE,
    OPTION_PRINT,
    OPTION_SAVE,
    OPTION_EXPECT,
    OPTION_TOLERANCE,
    OPTION_TIME,
    OPTION_JSON
};
static const struct option known[] = {{"grid", required_argument, NULL, OPTION_GRID},
    {"groups", required_argument, NULL, OPTION_GROUPS}, {"group", required_argument, NULL, OPTION_GROUP},
    {"threadgroup", required_argument, NULL, OPTION_THREADGROUP},
    {"device", required_argument, NULL, OPTION_DEVICE}, {"set", required_argument, NULL, OPTION_SET},
    {"no-cache", no_argument, NULL, OPTION_NO_CACHE}, {"print", required_argument, NULL, OPTION_PRINT},
    {"save", required_argument, NULL, OPTION_SAVE}, {"expect", required_argument, NULL, OPTION_EXPECT},
    {"tol", required_argument, NULL, OPTION_TOLERANCE}, {"time", optional_argument, NULL, OPTION_TIME},
    {"json", no_argument, NULL, OPTION_JSON}, TOOL_COMPILE_LONG, {NULL, 0, NULL, 0}};

static tombac_status read_tolerance(const char *text, double *tolerance, tombac_error **error)
{
    char *end;
    *tolerance = strtod(text, &end);
    if (end != text && !*end && isfinite(*tolerance) && *tolerance >= 0) return TOMBAC_OK;
    return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--tol takes a number from 0 on, not '%s'", text);
}

/* --time, --time=N, or --time N where the next word is a number. */
static tombac_status read_repeats(int count, char **arguments, run_options *options, tombac_error **error)
{
    const char *text = optarg;
    if (!text && optind < count && *arguments[optind] &&
        strspn(arguments[optind], "0123456789") == strlen(arguments[optind])) {
        text = arguments[optind++];
    }
    options->repeats = 10;
    if (!text) return TOMBAC_OK;
    tombac_status status = tool_size_parse("--time", text, 1000000, &options->repeats, error);
    if (status != TOMBAC_OK || options->repeats) return status;
    return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--time takes a number of runs from 1 on, not '%s'", text);
}

static tombac_status read_option(
    int code, int count, char **arguments, run_options *options, tombac_error **error)
{
    switch (code) {
    case OPTION_GRID:
        options->has_grid = true;
        return tool_size3_parse("--grid", optarg, &options->grid, error);
    case OPTION_GROUPS:
        options->has_groups = true;
        return tool_size3_parse("--groups", optarg, &options->grid, error);
    case OPTION_GROUP:
        options->has_group = true;
        return tool_size3_parse("--group", optarg, &options->group, error);
    case OPTION_THREADGROUP: return tool_words_add(&options->threadgroup, optarg, error);
    case OPTION_DEVICE: options->device = optarg; return TOMBAC_OK;
    case OPTION_SET: return tool_words_add(&options->constants, optarg, error);
    case OPTION_NO_CACHE: options->compile.no_cache = true; return TOMBAC_OK;
    case OPTION_PRINT: return tool_words_add(&options->prints, optarg, error);
    case OPTION_SAVE: return tool_words_add(&options->saves, optarg, error);
    case OPTION_EXPECT: return tool_words_add(&options->expects, optarg, error);
    case OPTION_TOLERANCE: return read_tolerance(optarg, &options->tolerance, error);
    case OPTION_TIME: return read_repeats(count, arguments, options, error);
    case OPTION_JSON: options->json = true; return TOMBAC_OK;
    default: return tool_option_error("run", code, arguments, known, error);
    }
}

static tombac_status validate(const run_options *options, tombac_error **error)
{
    if (!options->file)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "which file? Usage: tombac run FILE KERNEL [NAME=VALUE...] --grid X");
    if (!options->kernel) {
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "which kernel of '%s'? 'tombac check --list %s' lists them", options->file, options->file);
    }
    if (options->has_grid && options->has_groups) {
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "--grid (in threads) and --groups (in threadgroups) exclude each other");
    }
    if (!options->has_grid && !options->has_groups) {
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "how many threads? Give --grid X (threads) or --groups X (threadgroups)");
    }
    return TOMBAC_OK;
}

tombac_status run_options_read(int count, char **arguments, run_options *options, tombac_error **error)
{
    tombac_status status = TOMBAC_OK;
    opterr = 0;
    for (int code; (code = getopt_long(count, arguments, ":" TOOL_COMPILE_SHORT, known, NULL)) != -1;) {
        bool taken;
        status = tool_compile_option(&options->compile, code, optarg, &taken, error);
        if (status == TOMBAC_OK && code == 'h') {
            options->help = true;
            fputs(help, stdout);
            return TOMBAC_OK;
        }
        if (status == TOMBAC_OK && !taken) status = read_option(code, count, arguments, options, error);
        if (status != TOMBAC_OK) return status;
    }
    if (optind < count) options->file = arguments[optind++];
    if (optind < count) options->kernel = arguments[optind++];
    for (; optind < count && status == TOMBAC_OK; optind++)
        status = tool_words_add(&options->values, arguments[optind], error);
    return status == TOMBAC_OK ? validate(options, error) : status;
}

void run_options_free(run_options *options)
{
    tool_words *lists[] = {&options->values, &options->constants, &options->threadgroup, &options->prints,
        &options->saves, &options->expects};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) tool_words_free(lists[i]);
    tool_compile_free(&options->compile);
}
