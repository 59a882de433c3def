/* Types by their names: Metal's own spellings and those that clang's debug information uses for our class
 * templates.
 *
 * Grammar:  scalar | scalar N | "packed_" scalar N | scalar CxR | "vec<" scalar "," N ">" | "packed_vec<" vec
 * ">" | "matrix<" scalar "," C "," R ">" | "atomic<" scalar ">" | "atomic_" scalar ; namespaces are skipped.
 */
#include "compiler/ir/type.h"

#include <stdlib.h>
#include <string.h>

typedef struct scalar_name {
    const char *name;
    const char *metal;
    tombac_type type;
} scalar_name;

static const scalar_name scalars[] = {
    {"float", "float", TOMBAC_TYPE_F32},
    {"half", "half", TOMBAC_TYPE_F16},
    {"_Float16", "half", TOMBAC_TYPE_F16},
    {"bfloat", "bfloat", TOMBAC_TYPE_BF16},
    {"__bf16", "bfloat", TOMBAC_TYPE_BF16},
    {"bool", "bool", TOMBAC_TYPE_BOOL},
    {"_Bool", "bool", TOMBAC_TYPE_BOOL},
    {"char", "char", TOMBAC_TYPE_I8},
    {"signed char", "char", TOMBAC_TYPE_I8},
    {"int8_t", "char", TOMBAC_TYPE_I8},
    {"uchar", "uchar", TOMBAC_TYPE_U8},
    {"unsigned char", "uchar", TOMBAC_TYPE_U8},
    {"uint8_t", "uchar", TOMBAC_TYPE_U8},
    {"short", "short", TOMBAC_TYPE_I16},
    {"int16_t", "short", TOMBAC_TYPE_I16},
    {"ushort", "ushort", TOMBAC_TYPE_U16},
    {"unsigned short", "ushort", TOMBAC_TYPE_U16},
    {"uint16_t", "ushort", TOMBAC_TYPE_U16},
    {"int", "int", TOMBAC_TYPE_I32},
    {"int32_t", "int", TOMBAC_TYPE_I32},
    {"uint", "uint", TOMBAC_TYPE_U32},
    {"unsigned int", "uint", TOMBAC_TYPE_U32},
    {"unsigned", "uint", TOMBAC_TYPE_U32},
    {"uint32_t", "uint", TOMBAC_TYPE_U32},
    {"long", "long", TOMBAC_TYPE_I64},
    {"int64_t", "long", TOMBAC_TYPE_I64},
    {"long long", "long", TOMBAC_TYPE_I64},
    {"ulong", "ulong", TOMBAC_TYPE_U64},
    {"unsigned long", "ulong", TOMBAC_TYPE_U64},
    {"unsigned long long", "ulong", TOMBAC_TYPE_U64},
    {"uint64_t", "ulong", TOMBAC_TYPE_U64},
    {"size_t", "ulong", TOMBAC_TYPE_U64},
    {"ptrdiff_t", "long", TOMBAC_TYPE_I64},
};

static const struct {
    const char *name;
    size_t size;
} facts[] = {[TOMBAC_TYPE_OTHER] = {"", 0},
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
    [TOMBAC_TYPE_F32] = {"f32", 4}};

size_t ir_scalar_size(tombac_type type)
{
    return facts[type].size;
}
const char *ir_scalar_name(tombac_type type)
{
    return facts[type].name;
}

/* A piece of text being read. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_space(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n')) c->at++;
}

static bool take(cursor *c, const char *word)
{
    skip_space(c);
    size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length)) return false;
    c->at += length;
    return true;
}

static void skip_namespaces(cursor *c)
{
    while (take(c, "::") || take(c, "metal::")) {
    }
}

static bool at_end(cursor *c)
{
    skip_space(c);
    return c->at == c->end;
}

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The longest scalar name at the cursor; with `whole` it must not run on as an identifier ("float4" is no
 * "float"). */
static const scalar_name *take_scalar(cursor *c, bool whole)
{
    skip_namespaces(c);
    const scalar_name *best = NULL;
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++) {
        size_t length = strlen(scalars[i].name);
        if ((size_t)(c->end - c->at) < length || memcmp(c->at, scalars[i].name, length)) continue;
        if (c->at + length < c->end && is_word(c->at[length]) &&
            (whole || c->at[length] < '2' || c->at[length] > '4')) {
            continue;
        }
        if (!best || length > strlen(best->name)) best = &scalars[i];
    }
    if (best) c->at += strlen(best->name);
    return best;
}

/* A vector length or matrix dimension, with C++'s suffix ("4u") if any; 0 where there is none. */
static uint32_t take_length(cursor *c)
{
    skip_space(c);
    if (take(c, "(int)")) skip_space(c);
    if (c->at == c->end || *c->at < '2' || *c->at > '4') return 0;
    uint32_t length = (uint32_t)(*c->at++ - '0');
    while (c->at < c->end && (*c->at == 'u' || *c->at == 'U' || *c->at == 'l' || *c->at == 'L')) c->at++;
    return length;
}

static bool set_name(ir_type *type, const char *prefix, const char *scalar, uint32_t n, uint32_t rows)
{
    tb_text text = {0};
    tb_text_printf(&text, "%s%s", prefix, scalar);
    if (n > 1) tb_text_printf(&text, "%u", n);
    if (rows) tb_text_printf(&text, "x%u", rows);
    type->name = tb_text_take(&text);
    return type->name != NULL;
}

static bool set_vector(ir_type *type, const scalar_name *scalar, uint32_t n, bool packed)
{
    size_t size = ir_scalar_size(scalar->type);
    type->scalar = scalar->type;
    type->vector_length = n;
    type->packed = packed;
    type->alignment = packed || n == 1 ? size : size * (n == 2 ? 2 : 4);
    type->size = packed || n == 1 ? size * n : type->alignment;
    return set_name(type, packed ? "packed_" : "", scalar->metal, n, 0);
}

static bool set_matrix(ir_type *type, const scalar_name *scalar, uint32_t columns, uint32_t rows)
{
    uint64_t column = ir_scalar_size(scalar->type) * (rows == 2 ? 2 : 4);
    type->alignment = column;
    type->size = column * columns;
    return set_name(type, "", scalar->metal, columns, rows);
}

/* What follows "vec<" */
static const scalar_name *take_vec(cursor *c, uint32_t *n)
{
    const scalar_name *scalar = take_scalar(c, true);
    if (!scalar || !take(c, ",")) return NULL;
    *n = take_length(c);
    return *n && take(c, ">") ? scalar : NULL;
}

static bool template_from_name(cursor *c, ir_type *type, bool *known)
{
    uint32_t n = 0, rows = 0;
    const scalar_name *scalar = NULL;
    *known = true;
    if (take(c, "vec<")) {
        scalar = take_vec(c, &n);
        return scalar && at_end(c) && set_vector(type, scalar, n, false);
    }
    if (take(c, "packed_vec<") || take(c, "__packed_vec<")) {
        skip_namespaces(c);
        if (!take(c, "vec<")) return false;
        scalar = take_vec(c, &n);
        return scalar && take(c, ">") && at_end(c) && set_vector(type, scalar, n, true);
    }
    if (take(c, "matrix<")) {
        scalar = take_scalar(c, true);
        if (!scalar || !take(c, ",") || !(n = take_length(c)) || !take(c, ",") || !(rows = take_length(c)))
            return false;
        return take(c, ">") && at_end(c) && set_matrix(type, scalar, n, rows);
    }
    if (take(c, "atomic<") || take(c, "_atomic<")) {
        scalar = take_scalar(c, true);
        return scalar && take(c, ">") && at_end(c) && set_vector(type, scalar, 1, false) &&
               (free(type->name), 1) && set_name(type, "atomic_", scalar->metal, 1, 0);
    }
    *known = false;
    return false;
}

bool ir_type_from_name(const char *name, size_t length, ir_type *type)
{
    cursor c = {name, name + length};
    while (take(&c, "const ") || take(&c, "volatile ")) {
    }
    skip_namespaces(&c);
    bool known;
    bool found = template_from_name(&c, type, &known);
    if (known) return found;
    bool packed = take(&c, "packed_"), atomic = !packed && take(&c, "atomic_");
    const scalar_name *scalar = take_scalar(&c, false);
    if (!scalar) return false;
    if (at_end(&c)) {
        if (packed || !set_vector(type, scalar, 1, false)) return false;
        if (!atomic) return true;
        free(type->name);
        return set_name(type, "atomic_", scalar->metal, 1, 0);
    }
    uint32_t n = take_length(&c);
    if (!n || atomic) return false;
    if (at_end(&c)) return set_vector(type, scalar, n, packed);
    uint32_t rows = !packed && take(&c, "x") ? take_length(&c) : 0;
    return rows && at_end(&c) && set_matrix(type, scalar, n, rows);
}
