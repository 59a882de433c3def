/* tombac info: what is installed and what it can do. */
#include "tool/compiler.h"
#include "tool/message.h"
#include "tool/verbs.h"

#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] = "Usage: tombac info [--json]\n\n"
                           "Shows the version, the devices with their limits, what kernels can use, the folder and size of the "
                           "compile cache, and whether\n"
                           "the compiler is installed.\n\n"
                           "  --json      the same for machines\n"
                           "  -h, --help  this text\n";

typedef struct cache_size {
    size_t files;
    unsigned long long bytes;
} cache_size;

/* Adds up the files below `path`; links are not followed, so there are no cycles. */
static void measure(const char *path, cache_size *size, unsigned depth)
{
    DIR *folder = depth < 16 ? opendir(path) : NULL;
    if (!folder) return;
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        tb_text name = {0};
        struct stat facts;
        tb_text_printf(&name, "%s/%s", path, entry->d_name);
        if (!name.bad && lstat(name.data, &facts) == 0) {
            if (S_ISDIR(facts.st_mode)) {
                measure(name.data, size, depth + 1);
            } else if (S_ISREG(facts.st_mode)) {
                size->files++;
                size->bytes += (unsigned long long)facts.st_size;
            }
        }
        tb_text_free(&name);
    }
    closedir(folder);
}

static json_t *describe_capabilities(const tombac_device *device)
{
    json_t *list = json_array();
    tombac_capability c;
    for (size_t i = 0; i < tombac_capability_count(); i++) {
        if (tombac_device_get_capability(device, i, &c, NULL) != TOMBAC_OK) continue;
        json_array_append_new(list, json_pack("{s:s, s:I, s:s, s:s}", "name", c.name, "value", (json_int_t)c.value,
                                        "meaning", c.meaning, "enforced_by", c.enforced_by));
    }
    return list;
}

static json_t *describe_devices(void)
{
    json_t *devices = json_array();
    for (size_t i = 0; i < tombac_device_count(); i++) {
        const char *name = tombac_device_name_at(i);
        tombac_device *device = NULL;
        tombac_error *error = NULL;
        if (tombac_device_open(name, &device, &error) != TOMBAC_OK) {
            json_array_append_new(
                devices, json_pack("{s:s, s:s}", "name", name, "error", tombac_error_message(error)));
            tombac_error_release(error);
            continue;
        }
        tombac_device_limits limits = tombac_device_get_limits(device);
        json_array_append_new(devices,
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:o}", "name", name, "simd_width", (json_int_t)limits.simd_width,
                "max_threads_per_threadgroup", (json_int_t)limits.max_threads_per_threadgroup,
                "max_threadgroup_memory", (json_int_t)limits.max_threadgroup_memory, "max_buffer_size",
                (json_int_t)limits.max_buffer_size, "capabilities", describe_capabilities(device)));
        tombac_device_release(device);
    }
    return devices;
}

static json_t *describe(void)
{
    const char *folder = tombac_cache_folder();
    cache_size size = {0};
    char *compiler = tool_compiler_path(NULL);
    bool found = compiler && access(compiler, X_OK) == 0;
    if (*folder) measure(folder, &size, 0);
    json_t *facts = json_pack("{s:s, s:o, s:{s:s, s:I, s:I}, s:{s:s, s:b}, s:I}", "version", tombac_version(),
        "devices", describe_devices(), "cache", "folder", folder, "files", (json_int_t)size.files, "bytes",
        (json_int_t)size.bytes, "compiler", "path", compiler ? compiler : "", "found", found,
        "specialise_after", (json_int_t)tombac_default_specialise_after());
    free(compiler);
    return facts;
}

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const char *string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* A line for each capability: its value, or one for each device where they differ. */
static void print_capabilities(const json_t *devices)
{
    const json_t *first = NULL, *device, *row;
    size_t d, i;
    json_array_foreach(devices, d, device)
        if (!first) first = json_object_get(device, "capabilities");
    json_array_foreach(first, i, row)
    {
        bool same = true;
        tb_text values = {0};
        json_array_foreach(devices, d, device)
        {
            const json_t *other = json_array_get(json_object_get(device, "capabilities"), i);
            if (!other) continue;
            same = same && number(other, "value") == number(row, "value");
            tb_text_printf(&values, "%s%s %lld", values.size ? ", " : "", string(device, "name"),
                (long long)number(other, "value"));
        }
        printf("can       %s: ", string(row, "name"));
        if (same)
            printf("%lld", (long long)number(row, "value"));
        else
            printf("%s", tb_text_string(&values));
        printf("; %s\n", string(row, "meaning"));
        tb_text_free(&values);
    }
}

static void print(const json_t *facts)
{
    size_t i;
    const json_t *device, *cache = json_object_get(facts, "cache"),
                          *compiler = json_object_get(facts, "compiler");
    printf("version   %s\n", string(facts, "version"));
    json_array_foreach(json_object_get(facts, "devices"), i, device)
    {
        const char *failure = json_string_value(json_object_get(device, "error"));
        if (failure) {
            printf("device    %s: %s\n", string(device, "name"), failure);
            continue;
        }
        printf("device    %s: up to %lld threads and %lld bytes of threadgroup memory per threadgroup, "
               "SIMD-groups of %lld, "
               "buffers up to %.1f GiB\n",
            string(device, "name"), (long long)number(device, "max_threads_per_threadgroup"),
            (long long)number(device, "max_threadgroup_memory"), (long long)number(device, "simd_width"),
            (double)number(device, "max_buffer_size") / 0x1p30);
    }
    print_capabilities(json_object_get(facts, "devices"));
    if (*string(cache, "folder")) {
        printf("cache     %s: %lld files, %.1f KiB\n", string(cache, "folder"),
            (long long)number(cache, "files"), (double)number(cache, "bytes") / 1024);
    } else {
        printf("cache     none\n");
    }
    printf("compiler  %s: %s\n", string(compiler, "path"),
        json_is_true(json_object_get(compiler, "found")) ? "found"
                                                         : "NOT FOUND (only cached kernels can run)");
    if (number(facts, "specialise_after"))
        printf("specialise after %lld launches with the same constant arguments (TOMBAC_SPECIALISE)\n",
            (long long)number(facts, "specialise_after"));
    else
        puts("specialise never (TOMBAC_SPECIALISE)");
}

int tool_info(int count, char **arguments)
{
    static const struct option known[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bool json = false;
    opterr = 0;
    for (int code; (code = getopt_long(count, arguments, ":h", known, NULL)) != -1;) {
        tombac_error *error = NULL;
        if (code == 'j')
            json = true;
        else if (code == 'h')
            return fputs(help, stdout) < 0 ? TOOL_USAGE : TOOL_RIGHT;
        else if (tool_option_error("info", code, arguments, known, &error) != TOMBAC_OK)
            return tool_report_error(error, false, NULL);
    }
    if (optind < count) {
        tool_complain("'tombac info' takes no '%s'", arguments[optind]);
        return TOOL_USAGE;
    }
    json_t *facts = describe();
    if (!facts) {
        tool_complain("out of memory");
        return TOOL_USAGE;
    }
    if (json) {
        json_dumpf(facts, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        print(facts);
    }
    json_decref(facts);
    return TOOL_RIGHT;
}
