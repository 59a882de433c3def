/* Files of the compile cache; see cache_file.h. FOLDER/v1/XX/KEY.index, .data and .cubin, XX the first byte of the
 * key. */
#include "runtime/cache_file.h"

#include "base/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FILE_LIMIT ((size_t)1 << 30)

/* Host byte order: a cache belongs to one kind of machine; on another the magic number differs. */
typedef struct header {
    uint64_t magic;
    rt_key key;
    uint32_t kind, code;
    uint64_t size; /* of the body */
    uint64_t hash; /* XXH3-64 of the body, seeded by that of the fields before */
} header;

#define MAGIC UINT64_C(0x3145484341434254) /* "TBCACHE1" */

static uint64_t hash(const header *h, const void *body)
{
    return XXH3_64bits_withSeed(body, h->size, XXH3_64bits(h, offsetof(header, hash)));
}

static char *path_of(const rt_cache *cache, const rt_key *key, rt_cache_kind kind)
{
    static const char *const ends[] = {[RT_CACHE_INDEX] = "index", [RT_CACHE_DATA] = "data", [RT_CACHE_GPU_CODE] = "cubin"};
    tb_text path = {0};
    tb_text_printf(&path, "%s/v1/%02x/%016" PRIx64 "%016" PRIx64 ".%s", cache->folder,
        (unsigned)(key->high >> 56), key->high, key->low, ends[kind]);
    return tb_text_take(&path);
}

bool rt_cache_read(
    const rt_cache *cache, const rt_key *key, rt_cache_kind kind, uint32_t *code, tb_text *body)
{
    char *path = path_of(cache, key, kind);
    tb_text file = {0};
    header h;
    bool good = path && tb_file_read(path, FILE_LIMIT, &file, NULL) == TOMBAC_OK && file.size >= sizeof h;
    if (good) {
        memcpy(&h, file.data, sizeof h);
        const char *content = file.data + sizeof h;
        good = h.magic == MAGIC && h.key.high == key->high && h.key.low == key->low &&
               h.kind == (uint32_t)kind && h.size == file.size - sizeof h && h.hash == hash(&h, content);
        if (good) {
            *code = h.code;
            tb_text_append(body, content, h.size);
            good = !body->bad;
        }
    }
    if (good) utimensat(AT_FDCWD, path, NULL, 0); /* now: recently used */
    tb_text_free(&file);
    free(path);
    return good;
}

bool rt_cache_write(const rt_cache *cache, const rt_key *key, rt_cache_kind kind, uint32_t code,
    const void *body, size_t size)
{
    header h = {.magic = MAGIC, .key = *key, .kind = (uint32_t)kind, .code = code, .size = size};
    h.hash = hash(&h, body);
    tb_text file = {0};
    tb_text_append(&file, &h, sizeof h);
    tb_text_append(&file, body, size);
    char *path = path_of(cache, key, kind);
    bool written = path && !file.bad && file.size <= FILE_LIMIT;
    if (written) {
        char *slash = strrchr(path, '/');
        *slash = 0;
        written = tb_folder_create(path, NULL) == TOMBAC_OK;
        *slash = '/';
    }
    written = written && tb_file_write_atomic(path, file.data, file.size, NULL) == TOMBAC_OK;
    tb_text_free(&file);
    free(path);
    return written;
}
