/* Scalars of every type that Metal's buffers hold: names, sizes, and the way between bytes, numbers and text.
 *
 * A tool_number is exact for every type: integers travel as sign and magnitude, floats as double. */
#ifndef TB_TOOL_SCALAR_H
#define TB_TOOL_SCALAR_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64-bit floats exist in files only; no kernel has them. */
#define TOOL_TYPE_F64 ((tombac_type)100)

typedef struct tool_number {
    bool is_float;
    bool negative; /* integers: sign and magnitude */
    uint64_t magnitude;
    double real; /* floats */
} tool_number;

enum { TOOL_SCALAR_TEXT = 40 };

/* "f32" and the like; "f64" too. TOMBAC_TYPE_OTHER where there is none. */
tombac_type tool_type_from_name(const char *name, size_t length);
const char *tool_type_name(tombac_type type);
size_t tool_type_size(tombac_type type);
bool tool_type_is_float(tombac_type type);
/* Bits of a float's significand, the hidden one included: 24 for f32; 0 for other types. */
unsigned tool_type_significand(tombac_type type);

tool_number tool_number_from_int(int64_t value);
tool_number tool_number_from_real(double value);
double tool_number_real(tool_number number);

tool_number tool_scalar_load(tombac_type type, const void *bytes);
/* Floats round to nearest, ties to even. An integer or bool that cannot hold the number exactly is refused:
 * false. */
bool tool_scalar_store(tombac_type type, tool_number number, void *bytes);
/* A whole number of text: decimal or 0x integers, floats, inf, nan, true, false. */
bool tool_number_parse(const char *text, size_t length, tool_number *number);
/* The shortest text that reads back as the same value; `text` has TOOL_SCALAR_TEXT bytes. Returns `text`. */
char *tool_scalar_format(tombac_type type, const void *bytes, char *text);

#endif
