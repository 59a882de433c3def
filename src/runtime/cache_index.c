/* Indices of the compile cache; see cache_index.h. */
#include "runtime/cache_index.h"

#include "base/file.h"
#include "runtime/cache_file.h"
#include "runtime/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A file that changed this recently may change again within its clock's resolution: its time proves nothing
 * yet. */
enum { SETTLED_SECONDS = 2 };

/* ---- Files ---- */

static bool hash_file(const char *path, uint64_t *hash)
{
    tb_text content = {0};
    bool read = tb_file_read(path, 0, &content, NULL) == TOMBAC_OK;
    if (read) *hash = XXH3_64bits(tb_text_string(&content), content.size);
    tb_text_free(&content);
    return read;
}

static bool is_unchanged(rt_watched *file, bool *renewed)
{
    struct stat facts;
    if (file->absent) return stat(file->path, &facts) != 0;
    if (stat(file->path, &facts) != 0 || (uint64_t)facts.st_size != file->size) return false;
    if (file->seconds && file->seconds == facts.st_mtim.tv_sec && file->nanoseconds == facts.st_mtim.tv_nsec)
        return true;
    uint64_t hash;
    if (!hash_file(file->path, &hash) || hash != file->hash) return false;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec - facts.st_mtim.tv_sec < SETTLED_SECONDS) return true;
    file->seconds = facts.st_mtim.tv_sec;
    file->nanoseconds = facts.st_mtim.tv_nsec;
    *renewed = true;
    return true;
}

bool rt_variant_is_current(rt_variant *variant, bool *renewed)
{
    for (size_t i = 0; i < variant->header_count; i++) {
        if (!is_unchanged(&variant->headers[i], renewed)) return false;
    }
    return true;
}

/* ---- Memory ---- */

static void free_variant(rt_variant *variant)
{
    for (size_t i = 0; i < variant->header_count; i++) free(variant->headers[i].path);
    free(variant->headers);
    free(variant->compiler);
    *variant = (rt_variant){0};
}

void rt_index_free(rt_index *index)
{
    for (size_t i = 0; i < index->count; i++) free_variant(&index->variants[i]);
    index->count = 0;
}

static bool same(const rt_variant *a, const rt_variant *b)
{
    if (strcmp(a->compiler, b->compiler) != 0 || a->header_count != b->header_count) return false;
    for (size_t i = 0; i < a->header_count; i++) {
        if (a->headers[i].absent != b->headers[i].absent || a->headers[i].hash != b->headers[i].hash || a->headers[i].size != b->headers[i].size ||
            strcmp(a->headers[i].path, b->headers[i].path) != 0)
            return false;
    }
    return true;
}

static void remove_at(rt_index *index, size_t at)
{
    free_variant(&index->variants[at]);
    index->count--;
    memmove(&index->variants[at], &index->variants[at + 1], (index->count - at) * sizeof *index->variants);
}

rt_variant *rt_index_add(rt_index *index, const char *compiler, const rt_dependency *headers, size_t count)
{
    rt_variant made = {.compiler = strdup(compiler), .headers = calloc(count + 1, sizeof *made.headers)};
    bool good = made.compiler && made.headers;
    for (size_t i = 0; i < count && good; i++) {
        made.headers[i] =
            (rt_watched){.path = strdup(headers[i].path), .size = headers[i].size, .hash = headers[i].hash,
                .absent = headers[i].absent};
        made.header_count++;
        good = made.headers[i].path != NULL;
    }
    if (!good) {
        free_variant(&made);
        return NULL;
    }
    for (size_t i = index->count; i-- > 0;) {
        if (same(&index->variants[i], &made)) remove_at(index, i);
    }
    if (index->count == RT_MAX_VARIANTS) remove_at(index, index->count - 1);
    memmove(&index->variants[1], &index->variants[0], index->count * sizeof *index->variants);
    index->variants[0] = made;
    index->count++;
    return &index->variants[0];
}

/* ---- As JSON ---- */

static json_t *to_json(const rt_variant *variant)
{
    json_t *headers = json_array();
    bool good = headers != NULL;
    for (size_t i = 0; i < variant->header_count && good; i++) {
        const rt_watched *file = &variant->headers[i];
        char hash[17];
        snprintf(hash, sizeof hash, "%016" PRIx64, file->hash);
        json_t *item = file->absent ? json_pack("{s:s, s:b}", "path", file->path, "absent", 1) :
            json_pack("{s:s, s:I, s:s, s:I, s:I}", "path", file->path, "size", (json_int_t)file->size, "hash",
                hash, "seconds", (json_int_t)file->seconds, "nanoseconds", (json_int_t)file->nanoseconds);
        good = item && json_array_append_new(headers, item) == 0;
    }
    json_t *made = good ? json_pack("{s:s, s:O}", "compiler", variant->compiler, "headers", headers) : NULL;
    json_decref(headers);
    return made;
}

bool rt_index_write(const rt_cache *cache, const rt_key *key, const rt_index *index)
{
    json_t *list = json_array(), *root = list ? json_pack("{s:O}", "variants", list) : NULL;
    bool good = root != NULL;
    for (size_t i = 0; i < index->count && good; i++) {
        json_t *variant = to_json(&index->variants[i]);
        good = variant && json_array_append_new(list, variant) == 0;
    }
    char *text = good ? json_dumps(root, JSON_COMPACT) : NULL;
    good = text && rt_cache_write(cache, key, RT_CACHE_INDEX, 0, text, strlen(text));
    free(text);
    json_decref(list);
    json_decref(root);
    return good;
}

static void from_json(rt_json *json, const json_t *object, rt_variant *variant)
{
    variant->compiler = rt_json_string(json, object, "compiler");
    const json_t *list = rt_json_array(json, object, "headers");
    variant->headers =
        rt_json_elements(json, list, "headers", sizeof *variant->headers, &variant->header_count);
    for (size_t i = 0; i < variant->header_count; i++) {
        const json_t *item = json_array_get(list, i);
        rt_watched *file = &variant->headers[i];
        file->path = rt_json_string(json, item, "path");
        file->absent = json_object_get(item, "absent") && rt_json_bool(json, item, "absent");
        if (file->absent) continue;
        file->size = rt_json_unsigned(json, item, "size", INT64_MAX);
        file->hash = rt_json_hash(json, item, "hash");
        file->seconds = (int64_t)rt_json_unsigned(json, item, "seconds", INT64_MAX);
        file->nanoseconds = (int64_t)rt_json_unsigned(json, item, "nanoseconds", INT64_MAX);
    }
}

bool rt_index_read(const rt_cache *cache, const rt_key *key, rt_index *index)
{
    rt_json json = {.name = "index"};
    tb_text text = {0};
    uint32_t code;
    json_t *root = NULL;
    *index = (rt_index){0};
    if (rt_cache_read(cache, key, RT_CACHE_INDEX, &code, &text))
        root = rt_json_parse(&json, text.data, text.size);
    tb_text_free(&text);
    if (!root) return false;
    const json_t *list = rt_json_array(&json, root, "variants");
    for (size_t i = 0; list && i < json_array_size(list) && i < RT_MAX_VARIANTS; i++) {
        from_json(&json, json_array_get(list, i), &index->variants[i]);
        index->count++;
    }
    json_decref(root);
    if (json.status == TOMBAC_OK) return true;
    rt_index_free(index);
    return false;
}
