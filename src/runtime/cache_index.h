/* The index of a request in the compile cache: which headers its runs read, and in which state. Internal to
 * the cache.
 *
 * Headers change and change back (as with branches of a repository), so an index remembers the last few
 * states, its variants, latest first; each has a data file of its own. */
#ifndef RT_CACHE_INDEX_H
#define RT_CACHE_INDEX_H

#include "runtime/cache.h"

/* A header, or a place where none was found, and the modification time at which its hash was known to be right (0: none). */
typedef struct rt_watched {
    char *path;
    uint64_t size, hash;
    int64_t seconds, nanoseconds;
    bool absent; /* must not be there */
} rt_watched;

typedef struct rt_variant {
    char *compiler; /* its identity */
    rt_watched *headers;
    size_t header_count;
} rt_variant;

enum { RT_MAX_VARIANTS = 8 };

typedef struct rt_index {
    rt_variant variants[RT_MAX_VARIANTS];
    size_t count;
} rt_index;

bool rt_index_read(const rt_cache *cache, const rt_key *key, rt_index *index);
bool rt_index_write(const rt_cache *cache, const rt_key *key, const rt_index *index);
void rt_index_free(rt_index *index);

/* Puts a variant in front, removing an equal one and, if there are too many, the last. NULL if memory is
 * short. */
rt_variant *rt_index_add(rt_index *index, const char *compiler, const rt_dependency *headers, size_t count);

/* Whether every header still is what the variant says: by size and time, else by content. *renewed is set,
 * and the time remembered, if only a time had changed. */
bool rt_variant_is_current(rt_variant *variant, bool *renewed);

#endif
