/* tombac-cc: Metal source to kernels, as a process of its own. Command line and exit status: docs/architecture.md,
 * "The compiler process". A verb is one line in a table below and one function (verbs.h). */
#include "artifact/abi.h"
#include "compiler/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_SOURCE = 3, EXIT_UNSUPPORTED = 4, EXIT_COMPILER = 5 };
enum { MAX_SOURCE = 64 << 20 };

static const struct {
    const char *name;
    cc_verb *run;
} verbs[] = {
    {"list", cc_list},
    {"check", cc_check},
    {"compile", cc_compile},
    {"reflect", cc_reflect},
    {"finish", cc_finish},
}, emissions[] = {
    /* emit --what NAME */
    {"source", cc_emit_source},
    {"msl", cc_emit_msl},
    {"ir", cc_emit_ir},
    {"reflection", cc_emit_reflection},
    {"asm", cc_emit_assembly},
    {"ptx", cc_emit_ptx},
    {"simd", cc_emit_simd},
    {"report", cc_emit_report},
    {"times", cc_emit_times},
};

static const char usage[] =
    "usage: tombac-cc list    [options] SOURCE\n"
    "       tombac-cc check   [options] SOURCE\n"
    "       tombac-cc reflect [options] SOURCE\n"
    "       tombac-cc compile [options] --kernel NAME --engine ENGINE [--constant NAME=0xBYTES]... -o FILE SOURCE\n"
    "       tombac-cc finish  -o FILE ARTIFACT\n"
    "       tombac-cc emit    [options] --kernel NAME --what WHAT [--engine ENGINE] [--constant ...] SOURCE\n"
    "options: -x c|metal (default: C where the name ends in .c), -std=NAME, -DNAME[=VALUE], -IFOLDER, --math fast|relaxed|safe, -g, -w (no warnings), --name NAME,\n"
    "         -Wmetal-addr-spaces (member functions without an address space), --fix (check: adds `thread` to them),\n"
    "         --target x86-64-v3|x86-64-v4 (default: this processor's), sm_80|sm_86|sm_89|sm_90 (engine cuda)\n"
    "to specialise for one launch (engines cpu, cuda): --argument INDEX=0xBYTES (what [[buffer(INDEX)]], in constant memory, holds),\n"
    "         --threadgroup X,Y,Z (the size of all threadgroups)\n"
    "to leave out code that few launches need, for `finish` to make (engine cpu): --defer N (of kernels of N instructions or more)\n"
    "SOURCE - is standard input; --name is its name in messages.\n";

/* What the command line says; owns its lists. */
typedef struct command {
    cc_request request;
    const char *verb, *name;
    const char **defines, **folders; /* as many slots as there are arguments */
    cc_constant *constants, *values; /* of --constant and --argument */
    unsigned char *bytes; /* of all constants */
    size_t bytes_used;
    tb_text source;
} command;

static bool complain(const char *format, const char *what)
{
    fputs("tombac-cc: ", stderr);
    fprintf(stderr, format, what);
    fputc('\n', stderr);
    return false;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* NAME=0xBYTES; cuts the argument at the '='. */
static bool parse_constant(command *c, char *argument, cc_constant *constant)
{
    char *equal = strchr(argument, '=');
    if (!equal || equal == argument || equal[1] != '0' || (equal[2] != 'x' && equal[2] != 'X'))
        return complain("--constant and --argument take NAME=0xBYTES, not '%s'", argument);
    const char *digits = equal + 3;
    size_t count = strlen(digits);
    if (count == 0 || count % 2) return complain("'%s' has no whole bytes", argument);
    constant->name = argument;
    constant->bytes = c->bytes + c->bytes_used;
    constant->size = count / 2;
    for (size_t i = 0; i < count; i += 2) {
        int high = hex_digit(digits[i]), low = hex_digit(digits[i + 1]);
        if (high < 0 || low < 0) return complain("'%s' is not hexadecimal", argument);
        c->bytes[c->bytes_used++] = (unsigned char)(high * 16 + low);
    }
    *equal = 0;
    return true;
}

static bool parse_threadgroup(command *c, const char *value)
{
    uint32_t *size = c->request.threadgroup;
    int used = 0;
    uint64_t threads = 0;
    if (strspn(value, "0123456789,") == strlen(value) && strlen(value) < 16 &&
        sscanf(value, "%" SCNu32 ",%" SCNu32 ",%" SCNu32 "%n", &size[0], &size[1], &size[2], &used) == 3 && !value[used])
        threads = (uint64_t)size[0] * size[1] * size[2];
    return (threads && threads <= TB_MAX_THREADS_PER_THREADGROUP) ||
           complain("--threadgroup takes X,Y,Z, not '%s'", value);
}

static bool parse_defer(command *c, const char *value)
{
    size_t digits = strspn(value, "0123456789");
    if (!digits || digits > 9 || value[digits]) return complain("--defer takes a number of instructions, not '%s'", value);
    c->request.defer = true;
    c->request.defer_from = (uint32_t)strtoul(value, NULL, 10);
    return true;
}

static bool parse_math(command *c, const char *value)
{
    if (!strcmp(value, "fast")) c->request.options.math = TOMBAC_MATH_FAST;
    else if (!strcmp(value, "relaxed")) c->request.options.math = TOMBAC_MATH_RELAXED;
    else if (!strcmp(value, "safe")) c->request.options.math = TOMBAC_MATH_SAFE;
    else return complain("--math takes fast, relaxed or safe, not '%s'", value);
    return true;
}

static bool parse_language(command *c, const char *value)
{
    if (!strcmp(value, "c")) c->request.options.language = FRONT_C;
    else if (!strcmp(value, "metal")) c->request.options.language = FRONT_METAL;
    else return complain("-x takes c or metal, not '%s'", value);
    return true;
}

/* An option whose value is the rest of the argument or the next one; NULL if `argument` is another option. */
static char *joined_or_next(const char *option, char **arguments, int count, int *i)
{
    size_t length = strlen(option);
    if (strncmp(arguments[*i], option, length) != 0) return NULL;
    if (arguments[*i][length]) return arguments[*i] + length;
    return *i + 1 < count ? arguments[++*i] : NULL;
}

static bool parse_option(command *c, char **arguments, int count, int *i)
{
    static const char *const with_value[] = {"--math", "--name", "--kernel", "--engine", "--target",
        "--what", "--constant", "--argument", "--threadgroup", "--defer"};
    front_options *options = &c->request.options;
    char *argument = arguments[*i], *value;
    if (!strncmp(argument, "-std=", 5)) options->standard = argument + 5;
    else if (!strcmp(argument, "-g")) options->debug = true;
    else if (!strcmp(argument, "-w")) options->warnings = false;
    else if (!strcmp(argument, "-Wmetal-addr-spaces")) options->address_space_warnings = true;
    else if (!strcmp(argument, "--json")) c->request.json = true;
    else if (!strcmp(argument, "--fix")) c->request.fix = options->address_space_warnings = true;
    else if ((value = joined_or_next("-x", arguments, count, i))) return parse_language(c, value);
    else if ((value = joined_or_next("-D", arguments, count, i))) c->defines[options->define_count++] = value;
    else if ((value = joined_or_next("-I", arguments, count, i))) c->folders[options->include_folder_count++] = value;
    else if ((value = joined_or_next("-o", arguments, count, i))) c->request.output_path = value;
    else {
        size_t known = 0, end = sizeof with_value / sizeof *with_value;
        while (known < end && strcmp(argument, with_value[known]) != 0) known++;
        if (known == end) return complain("unknown option '%s'", argument);
        if (*i + 1 >= count) return complain("'%s' needs a value", argument);
        value = arguments[++*i];
        switch (known) {
        case 0: return parse_math(c, value);
        case 1: c->name = value; break;
        case 2: c->request.kernel = value; break;
        case 3: c->request.engine = value; break;
        case 4: c->request.target = value; break;
        case 5: c->request.what = value; break;
        case 6: return parse_constant(c, value, &c->constants[c->request.constant_count++]);
        case 7: return parse_constant(c, value, &c->values[c->request.argument_count++]);
        case 8: return parse_threadgroup(c, value);
        default: return parse_defer(c, value);
        }
    }
    return true;
}

static bool read_standard_input(command *c)
{
    char block[1 << 16];
    for (;;) {
        ssize_t got = read(0, block, sizeof block);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return complain("cannot read standard input: %s", strerror(errno));
        if (got == 0) break;
        tb_text_append(&c->source, block, (size_t)got);
        if (c->source.size > MAX_SOURCE) return complain("%s", "standard input has more than 64 MB");
    }
    if (c->source.bad) return complain("%s", "out of memory");
    c->request.source = tb_text_string(&c->source);
    c->request.source_size = c->source.size;
    return true;
}

static bool parse(command *c, int count, char **arguments)
{
    size_t room = 0;
    for (int i = 0; i < count; i++) room += strlen(arguments[i]) + 1;
    c->defines = calloc((size_t)count + 1, sizeof *c->defines);
    c->folders = calloc((size_t)count + 1, sizeof *c->folders);
    c->constants = calloc((size_t)count + 1, sizeof *c->constants);
    c->values = calloc((size_t)count + 1, sizeof *c->values);
    c->bytes = malloc(room + 1);
    if (!c->defines || !c->folders || !c->constants || !c->values || !c->bytes) return complain("%s", "out of memory");
    c->request.options.warnings = true;
    c->verb = arguments[1];
    for (int i = 2; i < count; i++) {
        char *argument = arguments[i];
        if (argument[0] == '-' && argument[1]) {
            if (!parse_option(c, arguments, count, &i)) return false;
        } else if (c->request.path) {
            return complain("more than one source: '%s'", argument);
        } else {
            c->request.path = argument;
        }
    }
    if (!c->request.path) return complain("%s", "no source given");
    if (!strcmp(c->request.path, "-")) {
        if (!read_standard_input(c)) return false;
        c->request.path = c->name ? c->name : "<stdin>";
    }
    c->request.options.defines = c->defines;
    c->request.options.include_folders = c->folders;
    c->request.constants = c->constants;
    c->request.arguments = c->values;
    return true;
}

static cc_verb *find(const command *c)
{
    if (!strcmp(c->verb, "emit")) {
        for (size_t i = 0; i < sizeof emissions / sizeof *emissions; i++)
            if (c->request.what && !strcmp(c->request.what, emissions[i].name)) return emissions[i].run;
        complain("emit needs --what and one of its names%s", "");
        return NULL;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (!strcmp(c->verb, verbs[i].name)) return verbs[i].run;
    complain("unknown verb '%s'", c->verb);
    return NULL;
}

static int exit_status(tombac_status status)
{
    switch (status) {
    case TOMBAC_OK: return 0;
    case TOMBAC_ERROR_ARGUMENT:
    case TOMBAC_ERROR_NOT_FOUND:
    case TOMBAC_ERROR_IO: return EXIT_USAGE;
    case TOMBAC_ERROR_SOURCE: return EXIT_SOURCE;
    case TOMBAC_ERROR_UNSUPPORTED: return EXIT_UNSUPPORTED;
    default: return EXIT_COMPILER;
    }
}

/* A message of diagnostics stands for itself; anything else gets the program's name in front. */
static void print_error(const tombac_error *error, tombac_status status)
{
    const char *message = tombac_error_message(error);
    bool diagnostics = status == TOMBAC_ERROR_SOURCE || status == TOMBAC_ERROR_UNSUPPORTED;
    size_t length = strlen(message);
    fprintf(stderr, "%s%s%s", diagnostics ? "" : "tombac-cc: error: ", message,
        length && message[length - 1] == '\n' ? "" : "\n");
}

static int run(const command *c)
{
    cc_verb *verb = find(c);
    if (!verb) return EXIT_USAGE;
    tb_text output = {0}, diagnostics = {0};
    tombac_error *error = NULL;
    tombac_status status = verb(&c->request, &output, &diagnostics, &error);
    if (status == TOMBAC_OK && (output.bad || diagnostics.bad)) status = tb_fail_memory(&error);
    fputs(tb_text_string(&diagnostics), stderr);
    if (status != TOMBAC_OK) print_error(error, status);
    if (status == TOMBAC_OK && output.size) fwrite(output.data, 1, output.size, stdout);
    if (fflush(stdout) != 0 && status == TOMBAC_OK) {
        complain("cannot write standard output: %s", strerror(errno));
        status = TOMBAC_ERROR_COMPILER;
    }
    tb_text_free(&output);
    tb_text_free(&diagnostics);
    tombac_error_release(error);
    return exit_status(status);
}

int main(int count, char **arguments)
{
    if (count < 2 || !strcmp(arguments[1], "--help") || !strcmp(arguments[1], "-h")) {
        fputs(usage, count < 2 ? stderr : stdout);
        return count < 2 ? EXIT_USAGE : 0;
    }
    command c = {0};
    int result = parse(&c, count, arguments) ? run(&c) : EXIT_USAGE;
    free(c.defines);
    free(c.folders);
    free(c.constants);
    free(c.values);
    free(c.bytes);
    tb_text_free(&c.source);
    return result;
}
