/* tombac check: does a source compile? With --list its kernels, with --json everything that is known of them, with --fix
 * address spaces where they are missing. */
#include "tool/compiler.h"
#include "tool/message.h"
#include "tool/verbs.h"

#include <jansson.h>
#include <string.h>

static const char help[] =
    "Usage: tombac check [options] FILE...\n\n"
    "Compiles Metal sources without making anything; diagnostics go to standard error in clang's form.\n"
    "FILE - is standard input. Exit status 3: a source does not compile.\n\n"
    "  --list                    print the kernels' names, one a line (fast: nothing is compiled)\n"
    "  --json                    print every kernel with its arguments and constants\n"
    "  --std STANDARD            language version, as metal3.1; default metal3.2\n"
    "  --math fast|relaxed|safe  floating-point rules; default fast\n"
    "  --gpu-family apple7|8|9   the Apple GPUs that the kernel is written for; default apple9\n"
    "  -Wmetal-addr-spaces       warn at member functions without an address space\n"
    "  --fix                     add `thread` to those, in the files themselves\n"
    "  -D NAME[=VALUE]           define a macro\n"
    "  -I FOLDER                 search FOLDER for included files\n"
    "  -h, --help                this text\n";

typedef struct check_options {
    tool_compile compile;
    bool list, json, fix, address_spaces;
} check_options;

enum { OPTION_LIST = TOOL_OPTION_OWN, OPTION_JSON, OPTION_FIX };
static const struct option known[] = {{"list", no_argument, NULL, OPTION_LIST},
    {"json", no_argument, NULL, OPTION_JSON}, {"fix", no_argument, NULL, OPTION_FIX}, TOOL_COMPILE_LONG, {NULL, 0, NULL, 0}};

static tombac_status list_kernels(const char *output, tombac_error **error)
{
    json_error_t at;
    json_t *root = json_loads(output, 0, &at), *kernel;
    json_t *kernels = json_object_get(root, "kernels");
    if (!json_is_array(kernels)) {
        json_decref(root);
        return tb_fail(
            error, TOMBAC_ERROR_COMPILER, "the compiler's list of kernels cannot be read: %s", at.text);
    }
    size_t i;
    json_array_foreach(kernels, i, kernel)
    {
        const char *name = json_string_value(json_object_get(kernel, "name"));
        if (name) puts(name);
    }
    json_decref(root);
    return TOMBAC_OK;
}

static tombac_status check_file(const check_options *options, const char *file, tombac_error **error)
{
    tb_process process;
    const char *words[2];
    tool_words extra = {.items = words};
    if (options->address_spaces) words[extra.count++] = "-Wmetal-addr-spaces";
    if (options->fix) words[extra.count++] = "--fix";
    const char *verb = options->json ? "reflect" : options->list ? "list" : "check";
    tombac_status status = tool_compiler_run(verb, &options->compile, &extra, file, &process, error);
    if (status != TOMBAC_OK) return status;
    fputs(tb_text_string(&process.errors), stderr); /* warnings */
    if (options->list && !options->json)
        status = list_kernels(tb_text_string(&process.output), error);
    else
        fwrite(tb_text_string(&process.output), 1, process.output.size, stdout);
    tb_text_free(&process.output);
    tb_text_free(&process.errors);
    return status;
}

/* Reads the options; *help_shown says that there is nothing left to do. */
static tombac_status read_options(
    int count, char **arguments, check_options *options, bool *help_shown, tombac_error **error)
{
    opterr = 0;
    for (int code; (code = getopt_long(count, arguments, ":W:" TOOL_COMPILE_SHORT, known, NULL)) != -1;) {
        bool taken;
        tombac_status status = tool_compile_option(&options->compile, code, optarg, &taken, error);
        if (status != TOMBAC_OK) return status;
        if (taken) continue;
        if (code == OPTION_LIST)
            options->list = true;
        else if (code == OPTION_JSON)
            options->json = true;
        else if (code == OPTION_FIX)
            options->fix = true;
        else if (code == 'W' && !strcmp(optarg, "metal-addr-spaces"))
            options->address_spaces = true;
        else if (code == 'W')
            return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "unknown warning '-W%s'; there is -Wmetal-addr-spaces", optarg);
        else if (code == 'h')
            *help_shown = fputs(help, stdout) >= 0;
        else
            return tool_option_error("check", code, arguments, known, error);
        if (*help_shown) return TOMBAC_OK;
    }
    if (options->fix && (options->list || options->json))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--fix does not go with --list or --json");
    if (optind < count) return TOMBAC_OK;
    return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "which file? Usage: tombac check [options] FILE...");
}

int tool_check(int count, char **arguments)
{
    check_options options = {0};
    bool help_shown = false;
    tombac_error *error = NULL;
    int worst = TOOL_RIGHT;
    if (read_options(count, arguments, &options, &help_shown, &error) != TOMBAC_OK) {
        worst = tool_report_error(error, false, NULL);
    } else if (!help_shown) {
        for (int i = optind; i < count; i++) {
            error = NULL;
            if (check_file(&options, arguments[i], &error) == TOMBAC_OK) continue;
            int status = tool_report_error(error, options.json, NULL);
            if (status > worst) worst = status;
        }
    }
    tool_compile_free(&options.compile);
    return worst;
}
