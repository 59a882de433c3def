/* The compile cache: what compiler runs gave, in files that many processes and threads share.
 *
 * A request's key is a hash of everything that is known before a run (source, options, kernel, constants,
 * engine, target, version). KEY.index lists the headers that the run read, with sizes and hashes, and the
 * compiler's identity: it holds while those are unchanged. What the run gave is in a second file, KEY2.data,
 * where KEY2 hashes the key with these facts, and an index remembers several states, so a header that is
 * changed and changed back hits again. A run that failed because of the source is kept too.
 *
 * The list also has the places where the compiler looked for a header and found none: a file that appears
 * there may be what an #include finds now, or change the answer of a __has_include.
 *
 * Files appear by an atomic rename and carry a hash of their content. Whatever is damaged, foreign or
 * unreadable is a miss, and what cannot be written is not cached: the cache never makes a call fail. A hit
 * renews both files' times; past $TOMBAC_CACHE_SIZE bytes (K, M, G allowed; 1 GiB) the least recently used
 * files go. */
#ifndef RT_CACHE_H
#define RT_CACHE_H

#include "runtime/compiler_client.h"

typedef struct rt_cache {
    char *folder;   /* NULL: caching is off */
    uint64_t limit; /* bytes */
} rt_cache;

/* Finds and, where needed, creates the folder. Fails only for lack of memory. */
tombac_status rt_cache_open(rt_cache *cache, tombac_error **error);
void rt_cache_close(rt_cache *cache);

typedef struct rt_key {
    uint64_t high, low;
} rt_key;

/* Hash of a request; see above. */
tombac_status rt_cache_key(const rt_request *request, rt_key *key, tombac_error **error);

/* Looks a run up. `identity` is the compiler's, "" where none is installed: then any compiler's result will
 * do. */
bool rt_cache_get(const rt_cache *cache, const rt_key *key, const char *identity, rt_response *response);

/* Keeps a run that read `headers`. */
void rt_cache_put(const rt_cache *cache, const rt_key *key, const char *identity,
    const rt_dependency *headers, size_t header_count, const rt_response *response);

/* Removes the least recently used files until the rest fits the limit. */
void rt_cache_trim(const rt_cache *cache);

#endif
