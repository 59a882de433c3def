/* One file of the compile cache: a short header, a body, a hash over both. Internal to the cache. */
#ifndef RT_CACHE_FILE_H
#define RT_CACHE_FILE_H

#include "base/text.h"
#include "runtime/cache.h"

/* The last is what a driver makes of an artifact's object. */
typedef enum rt_cache_kind { RT_CACHE_INDEX = 1, RT_CACHE_DATA = 2, RT_CACHE_GPU_CODE = 3 } rt_cache_kind;

/* Reads the body; false if it is absent, damaged or of another key or kind. A good file's times are renewed.
 */
bool rt_cache_read(
    const rt_cache *cache, const rt_key *key, rt_cache_kind kind, uint32_t *code, tb_text *body);
bool rt_cache_write(const rt_cache *cache, const rt_key *key, rt_cache_kind kind, uint32_t code,
    const void *body, size_t size);

#endif
