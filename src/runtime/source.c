/* Sources and their options; see source.h. */
#include "runtime/source.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SOURCE_LIMIT ((size_t)256 << 20) /* bytes; far above any real kernel file */

static void free_strings(char **strings, size_t count)
{
    for (size_t i = 0; strings && i < count; i++) free(strings[i]);
    free(strings);
}

static tombac_status copy_strings(const char *const *strings, size_t count, const char *what, char ***out,
    size_t *out_count, tombac_error **error)
{
    if (count == 0) return TOMBAC_OK;
    if (!strings)
        return tb_fail(
            error, TOMBAC_ERROR_ARGUMENT, "%zu %s were announced, but there is no list", count, what);
    char **copy = calloc(count, sizeof *copy);
    if (!copy) return tb_fail_memory(error);
    *out = copy;
    *out_count = count;
    for (size_t i = 0; i < count; i++) {
        if (!strings[i] || !*strings[i])
            return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "number %zu of the %s is empty", i, what);
        copy[i] = strdup(strings[i]);
        if (!copy[i]) return tb_fail_memory(error);
    }
    return TOMBAC_OK;
}

static tombac_status copy_options(
    rt_source *source, const tombac_compile_options *options, tombac_error **error)
{
    if ((unsigned)options->math > TOMBAC_MATH_SAFE)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "math mode %d does not exist", (int)options->math);
    source->math = options->math;
    source->no_cache = options->no_cache;
    source->no_specialise = options->no_specialise;
    if (options->standard && !(source->standard = strdup(options->standard))) return tb_fail_memory(error);
    tombac_status status = copy_strings(
        options->defines, options->define_count, "defines", &source->defines, &source->define_count, error);
    if (status == TOMBAC_OK)
        status = copy_strings(options->include_folders, options->include_folder_count, "include folders",
            &source->include_folders, &source->include_folder_count, error);
    return status;
}

tombac_status rt_source_open(const char *name, const char *content, size_t size,
    const tombac_compile_options *options, rt_source *source, tombac_error **error)
{
    rt_source made = {.is_file = content == NULL, .name = strdup(name)};
    tombac_status status = made.name ? TOMBAC_OK : tb_fail_memory(error);
    if (status == TOMBAC_OK && options) status = copy_options(&made, options, error);
    if (status == TOMBAC_OK && content) {
        if (size > SOURCE_LIMIT)
            status = tb_fail(error, TOMBAC_ERROR_ARGUMENT,
                "the source '%s' of %zu bytes is larger than %zu bytes", name, size, SOURCE_LIMIT);
        else
            tb_text_append(&made.content, content, size);
    } else if (status == TOMBAC_OK) {
        status = tb_file_read(name, SOURCE_LIMIT, &made.content, error);
    }
    if (status == TOMBAC_OK && made.content.bad) status = tb_fail_memory(error);
    if (status != TOMBAC_OK) {
        rt_source_close(&made);
        return status;
    }
    made.hash = XXH3_64bits(tb_text_string(&made.content), made.content.size);
    *source = made;
    return TOMBAC_OK;
}

void rt_source_close(rt_source *source)
{
    free(source->name);
    tb_text_free(&source->content);
    free(source->standard);
    free_strings(source->defines, source->define_count);
    free_strings(source->include_folders, source->include_folder_count);
    *source = (rt_source){0};
}

tombac_status rt_source_headers(const rt_source *source, const rt_dependency *dependencies, size_t count,
    const rt_dependency **headers, size_t *header_count, tombac_error **error)
{
    if (count == 0)
        return tb_fail(
            error, TOMBAC_ERROR_COMPILER, "the compiler reported no dependencies of '%s'", source->name);
    if (dependencies[0].hash != source->hash || dependencies[0].size != source->content.size)
        return tb_fail(error, TOMBAC_ERROR_IO, "'%s' changed after its library was created", source->name);
    *headers = dependencies + 1;
    *header_count = count - 1;
    return TOMBAC_OK;
}
