/* A Metal source with its compile options, copied and owned: what the compiler is run on and the cache is
 * keyed by. */
#ifndef RT_SOURCE_H
#define RT_SOURCE_H

#include "base/error.h"
#include "base/text.h"
#include "runtime/manifest.h"

typedef struct rt_source {
    bool is_file;
    char *name;      /* path of the file, or the name for messages */
    tb_text content; /* read when the library was created */
    uint64_t hash;   /* XXH3-64 of the content */
    char *standard;  /* or NULL */
    tombac_math math;
    char **defines, **include_folders;
    size_t define_count, include_folder_count;
    bool no_cache, no_specialise;
} rt_source;

/* Copies `options` (may be NULL) and takes the content: of the file `name` if `content` is NULL. */
tombac_status rt_source_open(const char *name, const char *content, size_t size,
    const tombac_compile_options *options, rt_source *source, tombac_error **error);
void rt_source_close(rt_source *source);

/* Splits the dependencies that a compiler run reported: the first must be the source itself, unchanged since
 * the library was created (TOMBAC_ERROR_IO if not); the rest, in *headers, is what the cache has to watch. */
tombac_status rt_source_headers(const rt_source *source, const rt_dependency *dependencies, size_t count,
    const rt_dependency **headers, size_t *header_count, tombac_error **error);

#endif
