/* Whether a bundle is still what its sources and options say; needs no compiler. */
#include "tool/build.h"

#include "base/file.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

tombac_status build_read(
    const char *name, const tb_text *bytes, tb_artifact *artifact, json_t **index, tombac_error **error)
{
    tombac_status status = tb_artifact_parse(name, tb_text_string(bytes), bytes->size, artifact, error);
    if (status != TOMBAC_OK) return status;
    const tb_section *section = tb_artifact_find(artifact, TB_SECTION_INDEX);
    *index = section ? json_loadb(section->data, section->size, 0, NULL) : NULL;
    if (*index && json_integer_value(json_object_get(*index, "format")) == TB_BUNDLE_FORMAT) return TOMBAC_OK;
    json_decref(*index);
    *index = NULL;
    return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "'%s' is not a bundle of kernels of this format", name);
}

static tombac_status stale(
    const build_options *options, const char *why, const char *what, tombac_error **error)
{
    return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "'%s' is stale: %s%s", options->output, why, what);
}

static tombac_status check_file(const build_options *options, const char *folder, size_t length,
    const json_t *dependency, tombac_error **error)
{
    const char *path = json_string_value(json_object_get(dependency, "path"));
    const char *hash = json_string_value(json_object_get(dependency, "hash"));
    bool absent = json_is_true(json_object_get(dependency, "absent"));
    if (!path || (!hash && !absent)) return stale(options, "its list of files cannot be read", "", error);
    tb_text full = {0}, content = {0};
    if (*path != '/') tb_text_append(&full, folder, length);
    tb_text_puts(&full, path);
    if (absent) {
        bool there = full.bad || access(full.data, F_OK) == 0;
        tb_text_free(&full);
        return there ? stale(options, "there is a new file that its source may include: ", path, error) : TOMBAC_OK;
    }
    bool found = !full.bad && tb_file_read(full.data, 0, &content, NULL) == TOMBAC_OK;
    char now[17] = "";
    if (found)
        snprintf(
            now, sizeof now, "%016" PRIx64, (uint64_t)XXH3_64bits(tb_text_string(&content), content.size));
    tb_text_free(&content);
    tb_text_free(&full);
    if (!found) return stale(options, "a file is gone: ", path, error);
    return strcmp(now, hash) == 0 ? TOMBAC_OK : stale(options, "a file has changed: ", path, error);
}

tombac_status build_check_current(const build_options *options, const json_t *index, tombac_error **error)
{
    const char *version = json_string_value(json_object_get(index, "tombac"));
    const char *slash = strrchr(options->source, '/');
    const char *source = json_string_value(json_object_get(index, "source"));
    const json_t *before = json_object_get(index, "options");
    if (!version || strcmp(version, tombac_version()) != 0)
        return stale(options, "it was made by another version, ", version ? version : "(none)", error);
    if (!source || strcmp(source, slash + 1) != 0)
        return stale(options, "it was made from ", source ? source : "(nothing)", error);
    json_t *now = build_options_json(options);
    bool same = now && json_equal(now, before);
    json_decref(now);
    if (!same) return stale(options, "it was made with other options", "", error);
    size_t i;
    json_t *dependency;
    json_array_foreach(json_object_get(json_object_get(index, "listing"), "dependencies"), i, dependency)
    {
        tombac_status status =
            check_file(options, options->source, (size_t)(slash + 1 - options->source), dependency, error);
        if (status != TOMBAC_OK) return status;
    }
    return TOMBAC_OK;
}
