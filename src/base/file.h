/* Whole files, and writing them so that readers see the old or the new content but nothing between. */
#ifndef TB_BASE_FILE_H
#define TB_BASE_FILE_H

#include "base/error.h"
#include "base/text.h"

/* Appends the content of `path` to `text`; more than `limit` bytes is an error (0: no limit). */
tombac_status tb_file_read(const char *path, size_t limit, tb_text *text, tombac_error **error);
/* Writes a temporary file beside `path` and renames it over `path`. */
tombac_status tb_file_write_atomic(const char *path, const void *data, size_t size, tombac_error **error);
/* mkdir -p; an existing folder is fine. */
tombac_status tb_folder_create(const char *path, tombac_error **error);
/* The folder that holds the running program or shared object which contains `address`, without a trailing slash, as a heap
 * string; NULL if it cannot be found. Data files are found relative to it. */
char *tb_folder_of_code(const void *address);

#endif
