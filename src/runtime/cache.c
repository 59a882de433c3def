/* The compile cache: folder, keys, indices; see cache.h. */
#include "runtime/cache.h"

#include "base/file.h"
#include "runtime/cache_file.h"
#include "runtime/json.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define DEFAULT_LIMIT ((uint64_t)1 << 30)

/* ---- The folder ---- */

/* Appends the folder's name, or nothing where there is none. */
static void folder_name(tb_text *text)
{
    const char *own = getenv("TOMBAC_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own && *own) tb_text_puts(text, own);
    else if (xdg && *xdg == '/') tb_text_printf(text, "%s/tombac", xdg);
    else if (home && *home) tb_text_printf(text, "%s/.cache/tombac", home);
}

const char *tombac_cache_folder(void)
{
    static _Thread_local char name[PATH_MAX];
    tb_text text = {0};
    folder_name(&text);
    bool fits = !text.bad && text.size < sizeof name;
    memcpy(name, fits ? tb_text_string(&text) : "", fits ? text.size + 1 : 1);
    tb_text_free(&text);
    return name;
}

static uint64_t limit_from_environment(void)
{
    const char *text = getenv("TOMBAC_CACHE_SIZE");
    if (!text || *text < '0' || *text > '9') return DEFAULT_LIMIT;
    char *unit;
    errno = 0;
    uint64_t value = strtoull(text, &unit, 10);
    static const char units[] = "KMG";
    const char *known = *unit ? strchr(units, *unit & ~0x20) : NULL;
    unsigned shift = known ? 10 * (unsigned)(known - units + 1) : 0;
    if (errno || (*unit && !known) || value > UINT64_MAX >> shift) return DEFAULT_LIMIT;
    return value << shift;
}

/* The code in the cache is run, so nobody else may be able to write there. */
static bool is_ours(const char *folder)
{
    struct stat facts;
    return stat(folder, &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() && !(facts.st_mode & S_IWOTH);
}

static bool make_folder(char *folder)
{
    char *slash = strrchr(folder, '/');
    if (slash && slash != folder) {
        *slash = 0;
        tombac_status status = tb_folder_create(folder, NULL);
        *slash = '/';
        if (status != TOMBAC_OK) return false;
    }
    return (mkdir(folder, 0700) == 0 || errno == EEXIST) && is_ours(folder);
}

tombac_status rt_cache_open(rt_cache *cache, tombac_error **error)
{
    tb_text folder = {0};
    folder_name(&folder);
    *cache = (rt_cache){.limit = limit_from_environment()};
    if (folder.bad) {
        tb_text_free(&folder);
        return tb_fail_memory(error);
    }
    while (folder.size > 1 && folder.data[folder.size - 1] == '/') folder.data[--folder.size] = 0;
    if (folder.size && cache->limit && make_folder(folder.data)) cache->folder = tb_text_take(&folder);
    tb_text_free(&folder);
    return TOMBAC_OK;
}

void rt_cache_close(rt_cache *cache)
{
    free(cache->folder);
    *cache = (rt_cache){0};
}

/* ---- Keys ---- */

/* Fields are length-prefixed, so that no two requests write the same text. */
static void field(tb_text *text, const void *data, size_t size)
{
    uint64_t length = size;
    tb_text_append(text, &length, sizeof length);
    tb_text_append(text, data, size);
}

static void string_field(tb_text *text, const char *string) { field(text, string ? string : "", string ? strlen(string) : 0); }

static void number_field(tb_text *text, uint64_t number) { field(text, &number, sizeof number); }

static rt_key hash_of(const tb_text *text)
{
    XXH128_hash_t hash = XXH3_128bits(text->data, text->size);
    return (rt_key){hash.high64, hash.low64};
}

/* Relative names mean something else in another folder, and includes of a source without a file are relative to it too. */
static bool depends_on_folder(const rt_source *source)
{
    bool relative = !source->is_file || source->name[0] != '/';
    for (size_t i = 0; i < source->include_folder_count; i++) relative = relative || source->include_folders[i][0] != '/';
    return relative;
}

static void source_fields(tb_text *text, const rt_source *source)
{
    char folder[PATH_MAX] = "";
    if (depends_on_folder(source) && !getcwd(folder, sizeof folder)) folder[0] = 0;
    XXH128_hash_t content = XXH3_128bits(tb_text_string(&source->content), source->content.size);
    string_field(text, folder);
    number_field(text, source->is_file);
    string_field(text, source->name);
    number_field(text, content.high64);
    number_field(text, content.low64);
    string_field(text, source->standard);
    number_field(text, source->math);
    number_field(text, source->define_count);
    for (size_t i = 0; i < source->define_count; i++) string_field(text, source->defines[i]);
    number_field(text, source->include_folder_count);
    for (size_t i = 0; i < source->include_folder_count; i++) string_field(text, source->include_folders[i]);
}

tombac_status rt_cache_key(const rt_request *request, rt_key *key, tombac_error **error)
{
    tb_text text = {0};
    string_field(&text, tombac_version());
    source_fields(&text, request->source);
    number_field(&text, request->kernel != NULL);
    if (request->kernel) {
        string_field(&text, request->kernel);
        string_field(&text, request->engine);
        string_field(&text, request->target);
        number_field(&text, request->line_tables);
        number_field(&text, request->value_count);
        for (size_t i = 0; i < request->value_count; i++) {
            number_field(&text, request->values[i].index);
            field(&text, request->values[i].bytes, request->values[i].size);
        }
    }
    tombac_status status = text.bad ? tb_fail_memory(error) : TOMBAC_OK;
    if (status == TOMBAC_OK) *key = hash_of(&text);
    tb_text_free(&text);
    return status;
}

/* ---- Indices ---- */

/* A header as the index remembers it. */
typedef struct watched {
    char *path;
    uint64_t size, hash;
    int64_t seconds, nanoseconds; /* modification time when the hash was known to be right; 0: not trusted */
} watched;

/* A file that changed this recently may change again within the clock's resolution. */
enum { SETTLED_SECONDS = 2 };

static bool hash_file(const char *path, uint64_t *hash)
{
    tb_text content = {0};
    bool read = tb_file_read(path, 0, &content, NULL) == TOMBAC_OK;
    if (read) *hash = XXH3_64bits(tb_text_string(&content), content.size);
    tb_text_free(&content);
    return read;
}

/* Whether the file still is what the index says; *renewed is set if only its time was not known. */
static bool unchanged(watched *file, bool *renewed)
{
    struct stat facts;
    if (stat(file->path, &facts) != 0 || (uint64_t)facts.st_size != file->size) return false;
    if (file->seconds && file->seconds == facts.st_mtim.tv_sec && file->nanoseconds == facts.st_mtim.tv_nsec) return true;
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

static rt_key data_key(const rt_key *key, const char *identity, const watched *headers, size_t count)
{
    tb_text text = {0};
    field(&text, key, sizeof *key);
    string_field(&text, identity);
    for (size_t i = 0; i < count; i++) {
        string_field(&text, headers[i].path);
        number_field(&text, headers[i].size);
        number_field(&text, headers[i].hash);
    }
    rt_key made = text.bad ? (rt_key){0} : hash_of(&text);
    tb_text_free(&text);
    return made;
}

static void write_index(const rt_cache *cache, const rt_key *key, const char *identity, const watched *headers, size_t count)
{
    json_t *list = json_array(), *root = json_pack("{s:s, s:o}", "compiler", identity, "headers", list);
    bool good = root != NULL;
    for (size_t i = 0; i < count && good; i++) {
        char hash[17];
        snprintf(hash, sizeof hash, "%016" PRIx64, headers[i].hash);
        json_t *item = json_pack("{s:s, s:I, s:s, s:I, s:I}", "path", headers[i].path, "size", (json_int_t)headers[i].size,
            "hash", hash, "seconds", (json_int_t)headers[i].seconds, "nanoseconds", (json_int_t)headers[i].nanoseconds);
        good = item && json_array_append_new(list, item) == 0;
    }
    char *text = good ? json_dumps(root, JSON_COMPACT) : NULL;
    if (text) rt_cache_write(cache, key, RT_CACHE_INDEX, 0, text, strlen(text));
    free(text);
    json_decref(root);
}

static void free_watched(watched *headers, size_t count)
{
    for (size_t i = 0; i < count; i++) free(headers[i].path);
    free(headers);
}

static bool read_index(const rt_cache *cache, const rt_key *key, char **identity, watched **headers, size_t *count)
{
    tb_text text = {0};
    uint32_t code;
    rt_json json = {.name = "index"};
    json_t *root = NULL;
    if (rt_cache_read(cache, key, RT_CACHE_INDEX, &code, &text)) root = rt_json_parse(&json, text.data, text.size);
    tb_text_free(&text);
    if (!root) return false;
    *identity = rt_json_string(&json, root, "compiler");
    const json_t *list = rt_json_array(&json, root, "headers");
    *headers = rt_json_elements(&json, list, "headers", sizeof **headers, count);
    for (size_t i = 0; i < *count; i++) {
        const json_t *item = json_array_get(list, i);
        (*headers)[i].path = rt_json_string(&json, item, "path");
        (*headers)[i].size = rt_json_unsigned(&json, item, "size", INT64_MAX);
        (*headers)[i].hash = rt_json_hash(&json, item, "hash");
        (*headers)[i].seconds = (int64_t)rt_json_unsigned(&json, item, "seconds", INT64_MAX);
        (*headers)[i].nanoseconds = (int64_t)rt_json_unsigned(&json, item, "nanoseconds", INT64_MAX);
    }
    json_decref(root);
    return json.status == TOMBAC_OK;
}

/* ---- Looking up and keeping ---- */

bool rt_cache_get(const rt_cache *cache, const rt_key *key, const char *identity, rt_response *response)
{
    *response = (rt_response){0};
    if (!cache->folder) return false;
    char *made_by = NULL;
    watched *headers = NULL;
    size_t count = 0;
    bool hit = read_index(cache, key, &made_by, &headers, &count), renewed = false;
    hit = hit && (!*identity || strcmp(identity, made_by) == 0);
    for (size_t i = 0; i < count && hit; i++) hit = unchanged(&headers[i], &renewed);
    uint32_t code = 0;
    tb_text body = {0};
    if (hit) {
        rt_key second = data_key(key, made_by, headers, count);
        hit = rt_cache_read(cache, &second, RT_CACHE_DATA, &code, &body);
    }
    if (hit) {
        response->exit_status = (int)code;
        *(code == 0 ? &response->output : &response->diagnostics) = body;
        if (renewed) write_index(cache, key, made_by, headers, count);
    } else {
        tb_text_free(&body);
    }
    free(made_by);
    free_watched(headers, count);
    return hit;
}

void rt_cache_put(const rt_cache *cache, const rt_key *key, const char *identity, const rt_dependency *headers,
    size_t header_count, const rt_response *response)
{
    if (!cache->folder) return;
    watched *list = calloc(header_count + 1, sizeof *list);
    bool good = list != NULL, renewed;
    for (size_t i = 0; i < header_count && good; i++) {
        list[i] = (watched){.path = strdup(headers[i].path), .size = headers[i].size, .hash = headers[i].hash};
        good = list[i].path && unchanged(&list[i], &renewed); /* else it changed during the run */
    }
    if (good) {
        const tb_text *body = response->exit_status == 0 ? &response->output : &response->diagnostics;
        rt_key second = data_key(key, identity, list, header_count);
        good = rt_cache_write(
            cache, &second, RT_CACHE_DATA, (uint32_t)response->exit_status, tb_text_string(body), body->size);
    }
    if (good) write_index(cache, key, identity, list, header_count);
    if (list) free_watched(list, header_count);
    if (good) rt_cache_trim(cache);
}
