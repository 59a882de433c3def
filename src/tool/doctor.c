/* tombac doctor: tries everything that a launch needs, and says for what is missing how to get it. */
#include "base/file.h"
#include "base/process.h"
#include "tool/compiler.h"
#include "tool/message.h"
#include "tool/verbs.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "Usage: tombac doctor\n\n"
    "Tries the compiler, Metal's headers, the compile cache and every device, and says for each thing\n"
    "that is missing what installs or repairs it. Exit status 1 if something is missing.\n\n"
    "  -h, --help  this text\n";

/* Prints one finding; a problem comes with its cure. */
static bool report(bool good, const char *what, const char *found, const char *cure)
{
    printf("%s%s%s  %-9s %s\n", tool_colour(stdout, good ? TOOL_GREEN : TOOL_RED),
        good ? "ok     " : "MISSING", tool_colour(stdout, TOOL_PLAIN), what, found);
    if (!good && cure) printf("         %-9s %s\n", "", cure);
    return good;
}

/* ---- The compiler ---- */

static bool check_clang(void)
{
    const char *given = getenv("TOMBAC_CLANG");
    const char *const arguments[] = {given && *given ? given : "clang-22", "--version", NULL};
    tb_process process = {.arguments = arguments, .time_limit = 60};
    tombac_error *error = NULL;
    tombac_status status = tb_process_run(&process, &error);
    bool good = status == TOMBAC_OK && process.exit_status == 0;
    const char *said = good    ? tb_text_string(&process.output)
                       : error ? tombac_error_message(error)
                               : "it does not run";
    tb_text line = {0};
    tb_text_append(&line, said, strcspn(said, "\n"));
    report(good, "clang", tb_text_string(&line),
        given && *given ? "TOMBAC_CLANG names a program that does not run; unset or correct it"
                        : "apt install clang-22   (https://apt.llvm.org where Debian has none)");
    tb_text_free(&line);
    tb_text_free(&process.output);
    tb_text_free(&process.errors);
    tombac_error_release(error);
    return good;
}

static bool check_compiler(void)
{
    char *path = tool_compiler_path(NULL);
    struct stat facts;
    bool good = path && stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
    report(good, "compiler", path ? path : "out of memory",
        "install the whole package again (cmake --install, or apt install ./tombac_*.deb), or set TOMBAC_CC "
        "to tombac-cc");
    free(path);
    return good;
}

/* ---- The cache ---- */

static bool check_cache(void)
{
    const char *folder = tombac_cache_folder(), *size = getenv("TOMBAC_CACHE_SIZE");
    if (size && strcmp(size, "0") == 0) return report(true, "cache", "off (TOMBAC_CACHE_SIZE is 0)", NULL);
    tb_text path = {0}, cure = {0};
    tb_text_printf(&path, "%s/doctor.tmp", folder);
    tombac_error *error = NULL;
    bool good = *folder && tb_folder_create(folder, &error) == TOMBAC_OK && !path.bad &&
                tb_file_write_atomic(path.data, "x", 1, &error) == TOMBAC_OK;
    if (good) unlink(path.data);
    tb_text_printf(&cure, "make it writable, or set TOMBAC_CACHE to a folder of yours%s%s", error ? ": " : "",
        error ? tombac_error_message(error) : "");
    report(good, "cache", *folder ? folder : "(no folder: HOME is not set)", tb_text_string(&cure));
    tb_text_free(&path);
    tb_text_free(&cure);
    tombac_error_release(error);
    return good;
}

/* ---- Headers and devices: a kernel that uses Metal's library is compiled and run ---- */

static const char source[] =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "kernel void doctor(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{ out[i] = fma(float(i), 3.0f, 1.0f) + float(popcount(i)); }\n";
enum { THREADS = 100 };

static bool is_right(const float *out)
{
    for (unsigned i = 0; i < THREADS; i++)
        if (out[i] != 3.0f * (float)i + 1.0f + (float)__builtin_popcount(i)) return false;
    return true;
}

static tombac_status try_device(const char *name, tombac_error **error)
{
    const tombac_compile_options options = {.no_cache = true};
    tombac_device *device = NULL;
    tombac_library *library = NULL;
    tombac_kernel *kernel = NULL;
    tombac_buffer *out = NULL;
    tombac_launch *launch = NULL;
    tombac_status status = tombac_device_open(name, &device, error);
    if (status == TOMBAC_OK)
        status = tombac_library_create_from_source(
            device, "doctor.metal", source, sizeof source - 1, &options, &library, error);
    if (status == TOMBAC_OK) status = tombac_kernel_create(library, "doctor", NULL, 0, &kernel, error);
    if (status == TOMBAC_OK)
        status = tombac_buffer_create(device, THREADS * sizeof(float), NULL, &out, error);
    if (status == TOMBAC_OK) status = tombac_launch_create(kernel, &launch, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_buffer(launch, 0, out, 0, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_grid(launch, tombac_for_elements(THREADS, 64), error);
    if (status == TOMBAC_OK) status = tombac_launch_submit(launch, error);
    if (status == TOMBAC_OK) status = tombac_launch_wait(launch, error);
    if (status == TOMBAC_OK && !is_right(tombac_buffer_contents(out)))
        status = tb_fail(error, TOMBAC_ERROR_KERNEL, "the kernel ran but its results are wrong");
    tombac_launch_release(launch);
    tombac_buffer_release(out);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    return status;
}

static const char *cure_of(tombac_status status)
{
    if (status == TOMBAC_ERROR_SOURCE)
        return "Metal's headers are damaged or of another version: install the whole package again";
    if (status == TOMBAC_ERROR_COMPILER) return "see the compiler and clang above";
    return "this should not happen; please report it with the output of tombac info";
}

static bool check_devices(void)
{
    bool good = true;
    for (size_t i = 0; i < tombac_device_count(); i++) {
        const char *name = tombac_device_name_at(i);
        tombac_error *error = NULL;
        tb_text found = {0};
        tombac_status status = try_device(name, &error);
        tb_text_printf(&found, "%s: %s", name,
            status == TOMBAC_OK ? "compiles and runs a kernel" : tombac_error_message(error));
        good = report(status == TOMBAC_OK, "device", tb_text_string(&found), cure_of(status)) && good;
        tb_text_free(&found);
        tombac_error_release(error);
    }
    if (tombac_device_count() == 0)
        return report(
            false, "device", "none", "this processor lacks AVX2 (x86-64-v3), which Tombac's devices need");
    return good;
}

int tool_doctor(int count, char **arguments)
{
    static const struct option known[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    opterr = 0;
    for (int code; (code = getopt_long(count, arguments, ":h", known, NULL)) != -1;) {
        tombac_error *error = NULL;
        if (code == 'h') return fputs(help, stdout) < 0 ? TOOL_USAGE : TOOL_RIGHT;
        if (tool_option_error("doctor", code, arguments, known, &error) != TOMBAC_OK)
            return tool_report_error(error, false, NULL);
    }
    if (optind < count) {
        tool_complain("'tombac doctor' takes no '%s'", arguments[optind]);
        return TOOL_USAGE;
    }
    printf("tombac %s\n", tombac_version());
    bool good = check_clang();
    good = check_compiler() && good;
    good = check_cache() && good;
    good = check_devices() && good;
    return good ? TOOL_RIGHT : TOOL_WRONG;
}
