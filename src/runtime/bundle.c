/* Bundles; see bundle.h. The index is parsed once, the kernels' own artifacts when they are loaded. */
#include "runtime/bundle.h"

#include "artifact/artifact.h"
#include "runtime/json.h"
#include "runtime/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    char *name, *engine, *target;
    rt_value *values; /* sorted by index */
    size_t value_count;
} entry;

struct rt_bundle {
    char *name;
    char *standard; /* of its sources; NULL: not said */
    tb_text bytes;
    tb_artifact artifact;
    entry *entries;
    size_t entry_count;
};

/* ---- The index ---- */

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void read_value(rt_json *json, const json_t *object, rt_value *value)
{
    value->index = (uint32_t)rt_json_unsigned(json, object, "index", UINT32_MAX);
    const char *text = json_string_value(json_object_get(object, "value"));
    size_t length = text ? strlen(text) : 1;
    bool good = length % 2 == 0 && length > 0 && length / 2 <= sizeof value->bytes;
    for (size_t i = 0; good && i < length; i += 2) {
        int high = digit(text[i]), low = digit(text[i + 1]);
        good = high >= 0 && low >= 0;
        value->bytes[i / 2] = (unsigned char)(high * 16 + low);
    }
    value->size = length / 2;
    if (!good) rt_json_fail(json, "value", "is not a text of hexadecimal bytes");
}

static void read_entry(rt_json *json, const json_t *object, entry *e)
{
    e->name = rt_json_string(json, object, "name");
    e->engine = rt_json_string(json, object, "engine");
    e->target = rt_json_string(json, object, "target");
    const json_t *values = rt_json_array(json, object, "constants");
    e->values = rt_json_elements(json, values, "constants", sizeof *e->values, &e->value_count);
    for (size_t i = 0; i < e->value_count; i++) {
        read_value(json, json_array_get(values, i), &e->values[i]);
        if (i && e->values[i].index <= e->values[i - 1].index)
            rt_json_fail(json, "constants", "is not sorted");
    }
}

static void check_names(rt_json *json, const rt_bundle *bundle, const rt_listing *listing)
{
    for (size_t i = 0; i < bundle->entry_count && json->status == TOMBAC_OK; i++) {
        bool listed = false;
        for (size_t k = 0; k < listing->kernel_count && !listed; k++)
            listed = strcmp(listing->kernels[k].name, bundle->entries[i].name) == 0;
        if (!listed) rt_json_fail(json, "kernels", "names a kernel that is not listed");
    }
}

static tombac_status read_index(
    rt_bundle *bundle, const tb_section *index, rt_listing *listing, tombac_error **error)
{
    rt_json json = {.name = bundle->name, .error = error};
    json_t *root = rt_json_parse(&json, index->data, index->size);
    if (!root) return json.status;
    uint64_t format = rt_json_unsigned(&json, root, "format", UINT32_MAX);
    if (json.status == TOMBAC_OK && format != TB_BUNDLE_FORMAT)
        json.status = tb_fail(error, TOMBAC_ERROR_ARTIFACT, "%s: bundle format %llu, this Tombac needs %d",
            bundle->name, (unsigned long long)format, TB_BUNDLE_FORMAT);
    const char *standard = json_string_value(json_object_get(json_object_get(root, "options"), "standard"));
    if (standard && !(bundle->standard = strdup(standard)) && json.status == TOMBAC_OK) json.status = tb_fail_memory(error);
    const json_t *kernels = rt_json_array(&json, root, "kernels");
    bundle->entries =
        rt_json_elements(&json, kernels, "kernels", sizeof *bundle->entries, &bundle->entry_count);
    for (size_t i = 0; i < bundle->entry_count; i++)
        read_entry(&json, json_array_get(kernels, i), &bundle->entries[i]);
    if (bundle->entry_count + 1 != bundle->artifact.section_count)
        rt_json_fail(&json, "kernels", "does not match the sections");
    char *text = json.status == TOMBAC_OK ? json_dumps(json_object_get(root, "listing"), JSON_COMPACT) : NULL;
    if (json.status == TOMBAC_OK && !text) rt_json_fail(&json, "listing", "is missing");
    if (json.status == TOMBAC_OK)
        json.status = rt_listing_parse(bundle->name, text, strlen(text), listing, error);
    free(text);
    json_decref(root);
    if (json.status == TOMBAC_OK) check_names(&json, bundle, listing);
    return json.status;
}

/* ---- Opening ---- */

static tombac_status check_sections(const rt_bundle *bundle, tombac_error **error)
{
    const tb_artifact *artifact = &bundle->artifact;
    if (artifact->sections[0].kind != TB_SECTION_INDEX)
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT,
            "'%s' is not a bundle of kernels, as 'tombac build' makes it", bundle->name);
    for (size_t i = 1; i < artifact->section_count; i++)
        if (artifact->sections[i].kind != TB_SECTION_KERNEL)
            return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "'%s' has a section of the unknown kind %u",
                bundle->name, (unsigned)artifact->sections[i].kind);
    return TOMBAC_OK;
}

tombac_status rt_bundle_open(
    const char *name, tb_text *bytes, rt_bundle **bundle, rt_listing *listing, tombac_error **error)
{
    rt_bundle *made = calloc(1, sizeof *made);
    if (made) made->name = strdup(name);
    if (!made || !made->name) {
        free(made);
        return tb_fail_memory(error);
    }
    made->bytes = *bytes;
    *bytes = (tb_text){0};
    tombac_status status =
        tb_artifact_parse(name, tb_text_string(&made->bytes), made->bytes.size, &made->artifact, error);
    if (status == TOMBAC_OK) status = check_sections(made, error);
    if (status == TOMBAC_OK) status = read_index(made, &made->artifact.sections[0], listing, error);
    if (status == TOMBAC_OK)
        *bundle = made;
    else
        rt_bundle_close(made);
    return status;
}

void rt_bundle_close(rt_bundle *bundle)
{
    if (!bundle) return;
    for (size_t i = 0; i < bundle->entry_count; i++) {
        free(bundle->entries[i].name);
        free(bundle->entries[i].engine);
        free(bundle->entries[i].target);
        free(bundle->entries[i].values);
    }
    free(bundle->entries);
    tb_text_free(&bundle->bytes);
    free(bundle->standard);
    free(bundle->name);
    free(bundle);
}

/* ---- Choosing ---- */

static bool same_values(const entry *e, const rt_request *request)
{
    bool same = e->value_count == request->value_count;
    for (size_t i = 0; same && i < e->value_count; i++) {
        const rt_value *a = &e->values[i], *b = &request->values[i];
        same = a->index == b->index && a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
    }
    return same;
}

/* What there is instead: "cpu for x86-64-v4, check for x86-64-v3 with other function constants". */
static tombac_status absent(const rt_bundle *bundle, const rt_request *request, tombac_error **error)
{
    tb_text others = {0};
    for (size_t i = 0; i < bundle->entry_count; i++) {
        const entry *e = &bundle->entries[i];
        if (strcmp(e->name, request->kernel) != 0) continue;
        tb_text_printf(&others, "%s'%s' on %s%s", others.size ? ", " : "", e->engine, e->target,
            same_values(e, request) ? "" : " with other function constants");
    }
    tombac_status status = tb_fail(error, TOMBAC_ERROR_ARTIFACT,
        "'%s' has no code of kernel '%s' for the device '%s' on this %s (%s); it was built for %s",
        bundle->name, request->kernel, request->engine, request->driver_target ? "machine" : "processor", request->target,
        others.size ? tb_text_string(&others) : "nothing");
    tb_text_free(&others);
    return status;
}

tombac_status rt_bundle_find(const rt_bundle *bundle, const rt_request *request, const void **bytes,
    size_t *size, tombac_error **error)
{
    const entry *best = NULL;
    for (size_t i = 0; i < bundle->entry_count; i++) {
        const entry *e = &bundle->entries[i];
        bool fits = strcmp(e->name, request->kernel) == 0 && strcmp(e->engine, request->engine) == 0 &&
                    same_values(e, request) &&
                    (request->driver_target ? rt_target_serves(e->target, request->target) : rt_target_runs(e->target));
        if (fits && (!best || rt_target_is_better(e->target, best->target))) best = e;
    }
    if (!best) return absent(bundle, request, error);
    const tb_section *section = &bundle->artifact.sections[1 + (best - bundle->entries)];
    *bytes = section->data;
    *size = section->size;
    return TOMBAC_OK;
}

/* "metal4.1", "macos-metal2.4": is it 4.1 or later? */
static bool has_generic_pointers(const char *standard)
{
    const char *digits = strstr(standard, "metal");
    unsigned major = 0, minor = 0;
    return digits && sscanf(digits, "metal%u.%u", &major, &minor) == 2 && major * 100 + minor >= 401;
}

tombac_status rt_bundle_check_standard(const rt_bundle *bundle, const rt_manifest *manifest, tombac_error **error)
{
    if (!bundle->standard || has_generic_pointers(bundle->standard) == has_generic_pointers(manifest->standard))
        return TOMBAC_OK;
    return tb_fail(error, TOMBAC_ERROR_ARTIFACT,
        "'%s' is of %s, its kernel '%s' of %s: code of metal4.1 and later does not go together with code of earlier versions",
        bundle->name, bundle->standard, manifest->kernel, manifest->standard);
}
