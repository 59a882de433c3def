/* tombac build: compiles a source into a .tombac bundle and a C header that embeds it. */
#include "tool/build.h"

#include "base/file.h"
#include "tool/compiler.h"
#include "tool/message.h"
#include "tool/verbs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Usage: tombac build [options] FILE\n\n"
    "Compiles the kernels of a source into one .tombac file, which programs open without a compiler.\n\n"
    "  -o FILE                   the artifact; default: the source's name with .tombac, here\n"
    "  --header FILE             also write a C header with the artifact and a launch function per kernel\n"
    "  --name NAME               prefix of the header's names; default: the artifact's name\n"
    "  --emit msl                write a file of kernels in C as Metal source instead (to -o, else standard output)\n"
    "  --kernel NAME             only this kernel (may be repeated)\n"
    "  --target TARGET           check, cpu-v3, cpu-v4 (default: these three), sm_80, sm_86, sm_89 or sm_90\n"
    "                            (NVIDIA GPUs of this compute capability and later); may be repeated\n"
    "  --set CONSTANT=VALUE      set a function constant, by name or index\n"
    "  --locked                  compile nothing: fail if the artifact is missing or stale\n"
    "  --depfile FILE            write the files that were read, for make and ninja\n"
    "  --std STANDARD            language version, as metal3.1; default metal3.2\n"
    "  --math fast|relaxed|safe  floating-point rules; default fast\n"
    "  --gpu-family apple7|8|9   the Apple GPUs that the kernel is written for; default apple9\n"
    "  -D NAME[=VALUE]           define a macro\n"
    "  -I FOLDER                 search FOLDER for included files\n"
    "  -h, --help                this text\n";

enum {
    OPTION_HEADER = TOOL_OPTION_OWN,
    OPTION_NAME,
    OPTION_EMIT,
    OPTION_KERNEL,
    OPTION_TARGET,
    OPTION_SET,
    OPTION_LOCKED,
    OPTION_DEPFILE
};
static const struct option known[] = {{"header", required_argument, NULL, OPTION_HEADER},
    {"name", required_argument, NULL, OPTION_NAME},
    {"emit", required_argument, NULL, OPTION_EMIT}, {"kernel", required_argument, NULL, OPTION_KERNEL},
    {"target", required_argument, NULL, OPTION_TARGET}, {"set", required_argument, NULL, OPTION_SET},
    {"locked", no_argument, NULL, OPTION_LOCKED}, {"depfile", required_argument, NULL, OPTION_DEPFILE},
    TOOL_COMPILE_LONG, {NULL, 0, NULL, 0}};

const build_target build_targets[] = {{"check", "check", "x86-64-v3", true}, {"cpu-v3", "cpu", "x86-64-v3", true},
    {"cpu-v4", "cpu", "x86-64-v4", true}, {"sm_80", "cuda", "sm_80", false}, {"sm_86", "cuda", "sm_86", false},
    {"sm_89", "cuda", "sm_89", false}, {"sm_90", "cuda", "sm_90", false}, {NULL, NULL, NULL, false}};

bool build_wants(const build_options *options, const build_target *target)
{
    bool found = options->targets.count == 0 && target->usual;
    for (size_t i = 0; i < options->targets.count && !found; i++)
        found = strcmp(options->targets.items[i], target->name) == 0;
    return found;
}

/* ---- The command line ---- */

static tombac_status add_target(build_options *options, const char *name, tombac_error **error)
{
    for (const build_target *t = build_targets; t->name; t++)
        if (strcmp(t->name, name) == 0) return tool_words_add(&options->targets, t->name, error);
    return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
        "--target is check, cpu-v3, cpu-v4, sm_80, sm_86, sm_89 or sm_90, not '%s'", name);
}

static tombac_status take_option(build_options *options, int code, bool *taken, tombac_error **error)
{
    *taken = true;
    switch (code) {
    case 'o': options->output = optarg; return TOMBAC_OK;
    case OPTION_HEADER: options->header = optarg; return TOMBAC_OK;
    case OPTION_NAME: options->name = optarg; return TOMBAC_OK;
    case OPTION_EMIT:
        options->emit = optarg;
        if (strcmp(optarg, "msl") == 0) return TOMBAC_OK;
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--emit is msl here, not '%s'", optarg);
    case OPTION_DEPFILE: options->depfile = optarg; return TOMBAC_OK;
    case OPTION_LOCKED: options->locked = true; return TOMBAC_OK;
    case OPTION_KERNEL: return tool_words_add(&options->kernels, optarg, error);
    case OPTION_SET: return tool_words_add(&options->constants, optarg, error);
    case OPTION_TARGET: return add_target(options, optarg, error);
    default: return tool_compile_option(&options->compile, code, optarg, taken, error);
    }
}

static tombac_status read_options(
    int count, char **arguments, build_options *options, bool *help_shown, tombac_error **error)
{
    opterr = 0;
    for (int code; (code = getopt_long(count, arguments, ":o:" TOOL_COMPILE_SHORT, known, NULL)) != -1;) {
        bool taken;
        tombac_status status = take_option(options, code, &taken, error);
        if (status != TOMBAC_OK) return status;
        if (taken) continue;
        if (code != 'h') return tool_option_error("build", code, arguments, known, error);
        *help_shown = fputs(help, stdout) >= 0;
        return TOMBAC_OK;
    }
    if (optind >= count)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "which source? Usage: tombac build [options] FILE");
    options->source = arguments[optind++];
    if (optind < count)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "'tombac build' takes one FILE, so '%s' is too much",
            arguments[optind]);
    if (strcmp(options->source, "-") == 0)
        return tb_fail(
            error, TOMBAC_ERROR_ARGUMENT, "'tombac build' needs a source in a file, not standard input");
    return TOMBAC_OK;
}

/* ---- Names ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* base name without its extension */
static void stem(const char *path, tb_text *out)
{
    const char *base = base_name(path), *dot = strrchr(base, '.');
    tb_text_append(out, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

/* A path that stays right in another working folder; the file need not exist. */
static tombac_status make_absolute(const char **path, tb_text *keep, tombac_error **error)
{
    char folder[PATH_MAX];
    if (!*path || **path == '/') return TOMBAC_OK;
    if (!getcwd(folder, sizeof folder)) return tb_fail_errno(error, "cannot find the working folder");
    tb_text_printf(keep, "%s/%s", folder, *path);
    if (keep->bad) return tb_fail_memory(error);
    *path = keep->data;
    return TOMBAC_OK;
}

/* ---- The files ---- */

static tombac_status write_if_changed(const char *path, const tb_text *content, tombac_error **error)
{
    tb_text before = {0};
    bool same = tb_file_read(path, 0, &before, NULL) == TOMBAC_OK && before.size == content->size &&
                memcmp(tb_text_string(&before), tb_text_string(content), content->size) == 0;
    tb_text_free(&before);
    return same ? TOMBAC_OK : tb_file_write_atomic(path, tb_text_string(content), content->size, error);
}

static void print_escaped(tb_text *out, const char *path)
{
    for (; *path; path++) {
        if (*path == ' ' || *path == '#') tb_text_putc(out, '\\');
        if (*path == '$') tb_text_putc(out, '$');
        tb_text_putc(out, *path);
    }
}

/* Paths in the index are relative to the source's folder, which is the working folder or (locked) may not be.
 */
static tombac_status write_depfile(
    const build_options *options, const char *folder, const json_t *index, tombac_error **error)
{
    tb_text out = {0};
    size_t i;
    json_t *dependency;
    print_escaped(&out, options->output);
    tb_text_putc(&out, ':');
    json_array_foreach(json_object_get(json_object_get(index, "listing"), "dependencies"), i, dependency)
    {
        const char *path = json_string_value(json_object_get(dependency, "path"));
        if (json_object_get(dependency, "absent")) continue; /* make would want to make it */
        tb_text_puts(&out, " \\\n  ");
        if (*path != '/') {
            print_escaped(&out, folder);
            tb_text_putc(&out, '/');
        }
        print_escaped(&out, path);
    }
    tb_text_putc(&out, '\n');
    tombac_status status = out.bad ? tb_fail_memory(error) : write_if_changed(options->depfile, &out, error);
    tb_text_free(&out);
    return status;
}

static tombac_status finish(
    const build_options *options, const char *folder, const tb_text *bundle, tombac_error **error)
{
    tb_artifact artifact;
    json_t *index = NULL;
    tombac_status status = build_read(options->output, bundle, &artifact, &index, error);
    if (status != TOMBAC_OK) return status;
    if (options->locked) status = build_check_current(options, index, error);
    if (status == TOMBAC_OK && !options->locked) status = write_if_changed(options->output, bundle, error);
    if (status == TOMBAC_OK && options->depfile) status = write_depfile(options, folder, index, error);
    json_decref(index);
    if (status != TOMBAC_OK || !options->header) return status;
    tb_text header = {0};
    status = build_header(options, bundle, &header, error);
    if (status == TOMBAC_OK) status = write_if_changed(options->header, &header, error);
    tb_text_free(&header);
    return status;
}

/* A file of kernels in C as Metal source. */
static tombac_status emit(const build_options *options, tombac_error **error)
{
    tool_words extra = {0};
    tb_process process = {0};
    tombac_status status = tool_words_add(&extra, "--what", error);
    if (status == TOMBAC_OK) status = tool_words_add(&extra, options->emit, error);
    if (status == TOMBAC_OK)
        status = tool_compiler_run("emit", &options->compile, &extra, options->source, &process, error);
    if (status == TOMBAC_OK && options->output)
        status = write_if_changed(options->output, &process.output, error);
    else if (status == TOMBAC_OK)
        fwrite(tb_text_string(&process.output), 1, process.output.size, stdout);
    tb_text_free(&process.output);
    tb_text_free(&process.errors);
    tool_words_free(&extra);
    return status;
}

static tombac_status build(build_options *options, tombac_error **error)
{
    if (options->emit) return emit(options, error);
    tb_text output = {0}, name = {0}, keep[4] = {{0}}, bundle = {0};
    char source[PATH_MAX];
    if (!options->output) {
        stem(options->source, &output);
        tb_text_puts(&output, ".tombac");
        options->output = tb_text_string(&output);
    }
    if (!options->name) {
        tb_text own = {0};
        stem(options->output, &own);
        build_identifier(&name, tb_text_string(&own));
        tb_text_free(&own);
        options->name = tb_text_string(&name);
    }
    tombac_status status = output.bad || name.bad ? tb_fail_memory(error) : TOMBAC_OK;
    if (status == TOMBAC_OK && !realpath(options->source, source))
        status = tb_fail_errno(error, "cannot read '%s'", options->source);
    if (status == TOMBAC_OK) status = make_absolute(&options->output, &keep[0], error);
    if (status == TOMBAC_OK) status = make_absolute(&options->header, &keep[1], error);
    if (status == TOMBAC_OK) status = make_absolute(&options->depfile, &keep[2], error);
    if (status == TOMBAC_OK) {
        options->source = source;
        status = options->locked ? tb_file_read(options->output, 0, &bundle, error)
                                 : build_make(options, &bundle, error);
    }
    if (status == TOMBAC_OK) {
        char folder[PATH_MAX];
        memcpy(folder, source, sizeof folder);
        *strrchr(folder, '/') = 0;
        status = finish(options, folder, &bundle, error);
    }
    tb_text_free(&bundle);
    tb_text_free(&output);
    tb_text_free(&name);
    for (int i = 0; i < 4; i++) tb_text_free(&keep[i]);
    return status;
}

int tool_build(int count, char **arguments)
{
    build_options options = {0};
    bool help_shown = false;
    tombac_error *error = NULL;
    int result = TOOL_RIGHT;
    tombac_status status = read_options(count, arguments, &options, &help_shown, &error);
    if (status == TOMBAC_OK && !help_shown) status = build(&options, &error);
    if (status != TOMBAC_OK) result = tool_report_error(error, false, NULL);
    if (status == TOMBAC_ERROR_ARTIFACT) result = TOOL_WRONG;
    tool_compile_free(&options.compile);
    tool_words_free(&options.kernels);
    tool_words_free(&options.constants);
    tool_words_free(&options.targets);
    return result;
}
