/* Scalar types: one table for names and sizes. */
#include "runtime/type.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} types[] = {
    [TOMBAC_TYPE_OTHER] = {"", 0},
    [TOMBAC_TYPE_BOOL] = {"bool", 1},
    [TOMBAC_TYPE_I8] = {"i8", 1},
    [TOMBAC_TYPE_U8] = {"u8", 1},
    [TOMBAC_TYPE_I16] = {"i16", 2},
    [TOMBAC_TYPE_U16] = {"u16", 2},
    [TOMBAC_TYPE_I32] = {"i32", 4},
    [TOMBAC_TYPE_U32] = {"u32", 4},
    [TOMBAC_TYPE_I64] = {"i64", 8},
    [TOMBAC_TYPE_U64] = {"u64", 8},
    [TOMBAC_TYPE_F16] = {"f16", 2},
    [TOMBAC_TYPE_BF16] = {"bf16", 2},
    [TOMBAC_TYPE_F32] = {"f32", 4},
};

enum { TYPES = sizeof types / sizeof *types };

size_t tombac_type_size(tombac_type type)
{
    return (unsigned)type < TYPES ? types[type].size : 0;
}

const char *tombac_type_name(tombac_type type)
{
    return (unsigned)type < TYPES ? types[type].name : "";
}

bool rt_type_from_name(const char *name, tombac_type *type)
{
    for (int i = 0; i < TYPES; i++) {
        if (strcmp(types[i].name, name) != 0) continue;
        *type = (tombac_type)i;
        return true;
    }
    return false;
}
