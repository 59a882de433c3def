/* NumPy's array files (.npy).
 *
 * Reads format versions 1.0, 2.0 and 3.0 in C order, little or big endian, of bool, i1 to i8, u1 to u8, f2,
 * f4 and f8 (which becomes TOOL_TYPE_F64); everything else is refused by name. The file is never trusted:
 * every length in it is checked against the bytes that are there. Writes version 1.0, little endian; bf16 as
 * u2, a vector as one more dimension. Source: numpy.lib.format's description of the format. */
#ifndef TB_TOOL_NPY_H
#define TB_TOOL_NPY_H

#include "tool/array.h"

/* `name` stands for the file in messages. */
tombac_status tool_npy_parse(
    const char *name, const void *bytes, size_t size, tool_array *array, tombac_error **error);
tombac_status tool_npy_read(const char *path, tool_array *array, tombac_error **error);
/* Appends the file's bytes to `out`. */
tombac_status tool_npy_build(const tool_array *array, tb_text *out, tombac_error **error);
tombac_status tool_npy_write(const char *path, const tool_array *array, tombac_error **error);

#endif
