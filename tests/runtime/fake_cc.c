/* A stand-in for tombac-cc with its command line and exit statuses. It "compiles" a source of simple lines:
 *
 *     kernel NAME                                    constant NAME INDEX TYPE SCALAR LENGTH
 *     argument KIND NAME INDEX TYPE SCALAR LENGTH SIZE ALIGNMENT FLAGS      (flags: w writable, r reference,
 * i inactive, -) members JSON (of the next argument)     tensor JSON (of the next argument)     requires TEXT     max N     required X Y Z     static N          include PATH (its content is appended to the
 * object) object TEXT (the object section)               show (appends the command line to the object)
 *     fail-list STATUS TEXT    fail-compile STATUS TEXT    engine NAME    target NAME    name NAME
 *     fail-special STATUS TEXT    hang-special (where there are --argument)
 *     crash    hang    bad-list    bad-artifact    no-object
 *     in KERNEL LINE    LINE, when this kernel is compiled
 *     touch PATH    await PATH    when compiling: makes a file; waits until there is one (20 s at most)
 *     absent PATH (a file that was looked for without success; its content is appended if it is there)
 *
 * Each run appends one letter, l or c, to the file $FAKE_CC_LOG. */
#include "artifact/abi.h"
#include "artifact/artifact.h"
#include "base/file.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct job {
    const char *verb, *kernel, *engine, *output, *name, *source;
    bool from_stdin, special; /* with --argument */
    tb_text text, kernels, constants, manifest_constants, arguments, dependencies, object, attributes, requirements, members, tensor;
    char engine_name[32], target[32], kernel_name[64], arguments_text[4096];
    bool bad_artifact, no_object, bad_list;
} job;

static void die(int status, const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(status);
}

static void parse_command(job *j, int count, char **arguments)
{
    if (count < 2) die(2, "usage");
    j->verb = arguments[1];
    for (int i = 1; i < count; i++) {
        if (strlen(j->arguments_text) + strlen(arguments[i]) + 2 < sizeof j->arguments_text) {
            strcat(j->arguments_text, arguments[i]);
            strcat(j->arguments_text, " ");
        }
        bool has_value = strcmp(arguments[i], "--kernel") == 0 || strcmp(arguments[i], "--engine") == 0 ||
                         strcmp(arguments[i], "-o") == 0 || strcmp(arguments[i], "--name") == 0 ||
                         strcmp(arguments[i], "--math") == 0 || strcmp(arguments[i], "--constant") == 0 ||
                         strcmp(arguments[i], "--argument") == 0 || strcmp(arguments[i], "--threadgroup") == 0;
        j->special = j->special || strcmp(arguments[i], "--argument") == 0;
        if (has_value && i + 1 >= count) die(2, "missing value");
        const char *value = has_value ? arguments[i + 1] : NULL;
        if (strcmp(arguments[i], "--kernel") == 0)
            j->kernel = value;
        else if (strcmp(arguments[i], "--engine") == 0)
            j->engine = value;
        else if (strcmp(arguments[i], "-o") == 0)
            j->output = value;
        else if (strcmp(arguments[i], "--name") == 0)
            j->name = value;
        else if (i > 1 && !has_value && (arguments[i][0] != '-' || !arguments[i][1]))
            j->source = arguments[i];
        if (has_value) {
            i++;
            /* -o names a new file each time: left out, so that objects can be compared */
            if (strcmp(arguments[i - 1], "-o") != 0) strcat(strcat(j->arguments_text, value), " ");
        }
    }
    if (!j->source) die(2, "no source");
    j->from_stdin = strcmp(j->source, "-") == 0;
    if (!j->name) j->name = j->source;
}

static void dependency(job *j, const char *path, const tb_text *content)
{
    tb_text_printf(&j->dependencies, "%s{\"path\":\"%s\",\"size\":%zu,\"hash\":\"%016" PRIx64 "\"}",
        j->dependencies.size ? "," : "", path, content->size,
        (uint64_t)XXH3_64bits(tb_text_string(content), content->size));
}

static void include(job *j, const char *path)
{
    tb_text content = {0};
    if (tb_file_read(path, 0, &content, NULL) != TOMBAC_OK)
        die(3, "x.metal:1:10: fatal error: header not found");
    dependency(j, path, &content);
    tb_text_append(&j->object, content.data, content.size);
    tb_text_free(&content);
}

static void constant(job *j, const char *line)
{
    char name[64], type[32], scalar[16];
    unsigned index, length;
    if (sscanf(line, "%63s %u %31s %15s %u", name, &index, type, scalar, &length) != 5) die(2, line);
    tb_text_printf(&j->constants,
        "%s{\"name\":\"%s\",\"index\":%u,\"type\":\"%s\",\"scalar\":\"%s\",\"vector_length\":%u",
        j->constants.size ? "," : "", name, index, type, scalar, length);
    tb_text_puts(&j->constants, ",\"used\":true,\"set\":false}");
}

static void argument(job *j, const char *line)
{
    char kind[16], name[64], type[32], scalar[16], flags[8];
    unsigned index, length, size, alignment;
    if (sscanf(line, "%15s %63s %u %31s %15s %u %u %u %7s", kind, name, &index, type, scalar, &length, &size,
            &alignment, flags) != 9)
        die(2, line);
    tb_text_printf(&j->arguments,
        "%s{\"name\":\"%s\",\"kind\":\"%s\",\"index\":%u,\"writable\":%s,\"reference\":%s,\"active\":%s,"
        "\"type\":\"%s\","
        "\"scalar\":\"%s\",\"vector_length\":%u,\"packed\":false,\"size\":%u,\"alignment\":%u,\"members\":[%s]"
        "%s}",
        j->arguments.size ? "," : "", name, kind, index, strchr(flags, 'w') ? "true" : "false",
        strchr(flags, 'r') ? "true" : "false", strchr(flags, 'i') ? "false" : "true", type,
        strcmp(scalar, "-") == 0 ? "" : scalar, length, size, alignment, tb_text_string(&j->members),
        tb_text_string(&j->tensor));
    tb_text_free(&j->members);
    tb_text_free(&j->tensor);
}

static void attribute(job *j, const char *word, const char *rest)
{
    unsigned x, y, z;
    if (strcmp(word, "requires") == 0) {
        tb_text_printf(&j->requirements, "%s\"%s\"", j->requirements.size ? "," : "", rest);
    } else if (strcmp(word, "members") == 0) {
        tb_text_puts(&j->members, rest);
    } else if (strcmp(word, "tensor") == 0) {
        tb_text_printf(&j->tensor, ",\"tensor\":%s", rest);
    } else if (strcmp(word, "required") == 0) {
        if (sscanf(rest, "%u %u %u", &x, &y, &z) != 3) die(2, rest);
        tb_text_printf(&j->attributes, "\"required_threads_per_threadgroup\":[%u,%u,%u],", x, y, z);
    } else {
        tb_text_printf(&j->attributes, "\"%s\":%s,",
            strcmp(word, "max") == 0 ? "max_total_threads_per_threadgroup" : "static_threadgroup_memory",
            rest);
    }
}

static void await(const char *path)
{
    for (int i = 0; i < 20000 && access(path, F_OK) != 0; i++) usleep(1000);
}

static void touch(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file) fclose(file);
}

static void absent(job *j, const char *path)
{
    if (access(path, F_OK) == 0)
        include(j, path);
    else
        tb_text_printf(&j->dependencies, ",{\"path\":\"%s\",\"absent\":true}", path);
}

static void line(job *j, const char *word, const char *rest);

static void in_kernel(job *j, const char *text)
{
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", text);
    char *word = strchr(copy, ' '), *rest = word ? strchr(word + 1, ' ') : NULL;
    if (word) *word++ = 0;
    if (rest) *rest++ = 0;
    if (word && j->kernel && strcmp(j->kernel, copy) == 0) line(j, word, rest ? rest : "");
}

static void line(job *j, const char *word, const char *rest)
{
    bool listing = strcmp(j->verb, "list") == 0;
    if (strcmp(word, "kernel") == 0)
        tb_text_printf(&j->kernels, "%s{\"name\":\"%s\",\"function\":\"%s\",\"file\":\"%s\",\"line\":1}",
            j->kernels.size ? "," : "", rest, rest, j->name);
    else if (strcmp(word, "constant") == 0)
        constant(j, rest);
    else if (strcmp(word, "argument") == 0)
        argument(j, rest);
    else if (strcmp(word, "include") == 0)
        include(j, rest);
    else if (strcmp(word, "object") == 0)
        tb_text_puts(&j->object, rest);
    else if (strcmp(word, "show") == 0)
        tb_text_printf(&j->object, "{%s}", j->arguments_text);
    else if (strcmp(word, "fail-list") == 0)
        listing ? die(atoi(rest), strchr(rest, ' ') + 1) : (void)0;
    else if (strcmp(word, "fail-compile") == 0)
        listing ? (void)0 : die(atoi(rest), strchr(rest, ' ') + 1);
    else if (strcmp(word, "fail-special") == 0)
        j->special ? die(atoi(rest), strchr(rest, ' ') + 1) : (void)0;
    else if (strcmp(word, "hang-special") == 0)
        j->special ? sleep(1000) : 0;
    else if (strcmp(word, "crash") == 0)
        listing ? 0 : (signal(SIGSEGV, SIG_DFL), raise(SIGSEGV));
    else if (strcmp(word, "hang") == 0)
        listing ? 0 : sleep(1000);
    else if (strcmp(word, "in") == 0)
        in_kernel(j, rest);
    else if (strcmp(word, "touch") == 0)
        listing ? (void)0 : touch(rest);
    else if (strcmp(word, "await") == 0)
        listing ? (void)0 : await(rest);
    else if (strcmp(word, "absent") == 0)
        absent(j, rest);
    else if (strcmp(word, "bad-list") == 0)
        j->bad_list = true;
    else if (strcmp(word, "bad-artifact") == 0)
        j->bad_artifact = true;
    else if (strcmp(word, "no-object") == 0)
        j->no_object = true;
    else if (strcmp(word, "engine") == 0)
        snprintf(j->engine_name, sizeof j->engine_name, "%s", rest);
    else if (strcmp(word, "target") == 0)
        snprintf(j->target, sizeof j->target, "%s", rest);
    else if (strcmp(word, "name") == 0)
        snprintf(j->kernel_name, sizeof j->kernel_name, "%s", rest);
    else
        attribute(j, word, rest);
}

static void read_source(job *j)
{
    if (tb_file_read(j->from_stdin ? "/dev/stdin" : j->source, 0, &j->text, NULL) != TOMBAC_OK)
        die(3, "cannot read");
    dependency(j, j->name, &j->text);
    if (j->kernel) snprintf(j->kernel_name, sizeof j->kernel_name, "%s", j->kernel);
    if (j->engine) snprintf(j->engine_name, sizeof j->engine_name, "%s", j->engine);
    snprintf(j->target, sizeof j->target, "x86-64");
    char *copy = strdup(tb_text_string(&j->text)), *state = NULL;
    for (char *at = strtok_r(copy, "\n", &state); at; at = strtok_r(NULL, "\n", &state)) {
        size_t length = strcspn(at, " ");
        char *rest = at[length] ? at + length + 1 : at + length;
        at[length] = 0;
        line(j, at, rest);
    }
    free(copy);
}

static void write_artifact(const job *j)
{
    tb_text manifest = {0}, file = {0};
    tb_text_printf(&manifest,
        "{\"format\":1,\"abi\":%d,\"tombac\":\"test\",\"engine\":\"%s\",\"target\":\"%s\",\"standard\":"
        "\"metal3.2\","
        "\"math\":\"fast\",\"kernel\":{\"name\":\"%s\",\"function\":\"f\",\"file\":\"%s\",\"line\":1,%s\"requires\":[%s],"
        "\"threadgroup_barriers\":false,\"simdgroup_operations\":false,\"arguments\":[%s]},\"constants\":[%s]"
        ","
        "\"dependencies\":[%s]}",
        TB_ABI_VERSION, j->engine_name, j->target, j->kernel_name, j->name, tb_text_string(&j->attributes),
        tb_text_string(&j->requirements),
        tb_text_string(&j->arguments), tb_text_string(&j->constants), tb_text_string(&j->dependencies));
    const tb_section sections[] = {{TB_SECTION_MANIFEST, manifest.data, manifest.size},
        {TB_SECTION_OBJECT, tb_text_string(&j->object), j->object.size}};
    if (tb_artifact_build(sections, j->no_object ? 1 : 2, &file, NULL) != TOMBAC_OK) die(5, "artifact");
    if (j->bad_artifact) file.data[file.size - 1] ^= 1;
    if (tb_file_write_atomic(j->output, file.data, file.size, NULL) != TOMBAC_OK) die(5, "write");
    tb_text_free(&manifest);
    tb_text_free(&file);
}

int main(int count, char **arguments)
{
    static job j;
    parse_command(&j, count, arguments);
    const char *log = getenv("FAKE_CC_LOG");
    FILE *file = log ? fopen(log, "a") : NULL;
    if (file) {
        fputc(j.verb[0], file);
        fclose(file);
    }
    read_source(&j);
    if (strstr(tb_text_string(&j.attributes), "max_total") == NULL)
        tb_text_puts(&j.attributes, "\"max_total_threads_per_threadgroup\":1024,");
    if (strstr(tb_text_string(&j.attributes), "static_thr") == NULL)
        tb_text_puts(&j.attributes, "\"static_threadgroup_memory\":0,");
    if (strcmp(j.verb, "compile") == 0)
        write_artifact(&j);
    else if (j.bad_list)
        puts("{\"kernels\": 5}");
    else
        printf("{\"kernels\":[%s],\"constants\":[%s],\"dependencies\":[%s]}\n", tb_text_string(&j.kernels),
            tb_text_string(&j.constants), tb_text_string(&j.dependencies));
    return 0;
}
