/* The compile cache: folder, keys, look-up; see cache.h. */
#include "runtime/cache.h"

#include "base/file.h"
#include "runtime/cache_file.h"
#include "runtime/cache_index.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define DEFAULT_LIMIT ((uint64_t)1 << 30)

/* ---- The folder ---- */

/* Appends the folder's name, or nothing where there is none. */
static void folder_name(tb_text *text)
{
    const char *own = getenv("TOMBAC_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own && *own)
        tb_text_puts(text, own);
    else if (xdg && *xdg == '/')
        tb_text_printf(text, "%s/tombac", xdg);
    else if (home && *home)
        tb_text_printf(text, "%s/.cache/tombac", home);
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
    return stat(folder, &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
           !(facts.st_mode & S_IWOTH);
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

static void string_field(tb_text *text, const char *string)
{
    field(text, string ? string : "", string ? strlen(string) : 0);
}

static void number_field(tb_text *text, uint64_t number)
{
    field(text, &number, sizeof number);
}

static rt_key hash_of(const tb_text *text)
{
    XXH128_hash_t hash = XXH3_128bits(text->data, text->size);
    return (rt_key){hash.high64, hash.low64};
}

/* Relative names mean something else in another folder, and includes of a source without a file are relative
 * to it too. */
static bool depends_on_folder(const rt_source *source)
{
    bool relative = !source->is_file || source->name[0] != '/';
    for (size_t i = 0; i < source->include_folder_count; i++)
        relative = relative || source->include_folders[i][0] != '/';
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
        number_field(&text, request->source->debug);
        number_field(&text, request->value_count);
        for (size_t i = 0; i < request->value_count; i++) {
            number_field(&text, request->values[i].index);
            field(&text, request->values[i].bytes, request->values[i].size);
        }
        number_field(&text, request->argument_count);
        for (size_t i = 0; i < request->argument_count; i++) {
            number_field(&text, request->arguments[i].index);
            field(&text, request->arguments[i].bytes, request->arguments[i].size);
        }
        for (int i = 0; i < 3; i++) number_field(&text, request->threadgroup ? request->threadgroup[i] : 0);
        number_field(&text, request->defer ? 1 + (uint64_t)request->defer_from : 0);
    }
    tombac_status status = text.bad ? tb_fail_memory(error) : TOMBAC_OK;
    if (status == TOMBAC_OK) *key = hash_of(&text);
    tb_text_free(&text);
    return status;
}

/* ---- Looking up and keeping ---- */

/* The second key: the first, the compiler, and the state of every header. */
static bool data_key(const rt_key *key, const rt_variant *variant, rt_key *second)
{
    tb_text text = {0};
    field(&text, key, sizeof *key);
    string_field(&text, variant->compiler);
    for (size_t i = 0; i < variant->header_count; i++) {
        string_field(&text, variant->headers[i].path);
        number_field(&text, variant->headers[i].absent);
        number_field(&text, variant->headers[i].size);
        number_field(&text, variant->headers[i].hash);
    }
    bool good = !text.bad;
    if (good) *second = hash_of(&text);
    tb_text_free(&text);
    return good;
}

static bool read_data(
    const rt_cache *cache, const rt_key *key, const rt_variant *variant, rt_response *response)
{
    rt_key second;
    uint32_t code = 0;
    tb_text body = {0};
    if (!data_key(key, variant, &second) || !rt_cache_read(cache, &second, RT_CACHE_DATA, &code, &body)) {
        tb_text_free(&body);
        return false;
    }
    response->exit_status = (int)code;
    *(code == 0 ? &response->output : &response->diagnostics) = body;
    return true;
}

bool rt_cache_get(const rt_cache *cache, const rt_key *key, const char *identity, rt_response *response)
{
    *response = (rt_response){0};
    rt_index index;
    if (!cache->folder || !rt_index_read(cache, key, &index)) return false;
    bool hit = false;
    for (size_t i = 0; i < index.count && !hit; i++) {
        bool renewed = false;
        rt_variant *variant = &index.variants[i];
        if (*identity && strcmp(identity, variant->compiler) != 0) continue;
        hit = rt_variant_is_current(variant, &renewed) && read_data(cache, key, variant, response);
        if (hit && renewed) rt_index_write(cache, key, &index);
    }
    rt_index_free(&index);
    return hit;
}

void rt_cache_put(const rt_cache *cache, const rt_key *key, const char *identity,
    const rt_dependency *headers, size_t header_count, const rt_response *response)
{
    if (!cache->folder) return;
    rt_index index;
    if (!rt_index_read(cache, key, &index)) index = (rt_index){0};
    rt_variant *variant = rt_index_add(&index, identity, headers, header_count);
    bool renewed;
    rt_key second;
    bool good = variant && rt_variant_is_current(variant, &renewed) && data_key(key, variant, &second);
    if (good) {
        const tb_text *body = response->exit_status == 0 ? &response->output : &response->diagnostics;
        good = rt_cache_write(
            cache, &second, RT_CACHE_DATA, (uint32_t)response->exit_status, tb_text_string(body), body->size);
    }
    good = good && rt_index_write(cache, key, &index);
    rt_index_free(&index);
    if (good) rt_cache_trim(cache);
}
