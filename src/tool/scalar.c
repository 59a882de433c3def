/* Scalars; see scalar.h. Half goes through the compiler's _Float16; brain floats are rounded here: to float
 * by round-to-odd first, so that the second rounding, to the upper 16 bits, is the only one that counts. */
#include "tool/scalar.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum scalar_class { CLASS_NONE, CLASS_BOOL, CLASS_SIGNED, CLASS_UNSIGNED, CLASS_FLOAT } scalar_class;

typedef struct scalar_info {
    tombac_type type;
    const char *name;
    scalar_class class;
    unsigned size, significand;
} scalar_info;

static const scalar_info infos[] = {
    {TOMBAC_TYPE_BOOL, "bool", CLASS_BOOL, 1, 0},
    {TOMBAC_TYPE_I8, "i8", CLASS_SIGNED, 1, 0},
    {TOMBAC_TYPE_U8, "u8", CLASS_UNSIGNED, 1, 0},
    {TOMBAC_TYPE_I16, "i16", CLASS_SIGNED, 2, 0},
    {TOMBAC_TYPE_U16, "u16", CLASS_UNSIGNED, 2, 0},
    {TOMBAC_TYPE_I32, "i32", CLASS_SIGNED, 4, 0},
    {TOMBAC_TYPE_U32, "u32", CLASS_UNSIGNED, 4, 0},
    {TOMBAC_TYPE_I64, "i64", CLASS_SIGNED, 8, 0},
    {TOMBAC_TYPE_U64, "u64", CLASS_UNSIGNED, 8, 0},
    {TOMBAC_TYPE_F16, "f16", CLASS_FLOAT, 2, 11},
    {TOMBAC_TYPE_BF16, "bf16", CLASS_FLOAT, 2, 8},
    {TOMBAC_TYPE_F32, "f32", CLASS_FLOAT, 4, 24},
    {TOOL_TYPE_F64, "f64", CLASS_FLOAT, 8, 53},
};
static const scalar_info no_info = {TOMBAC_TYPE_OTHER, "bytes", CLASS_NONE, 0, 0};

static const scalar_info *info_of(tombac_type type)
{
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++)
        if (infos[i].type == type) return &infos[i];
    return &no_info;
}

tombac_type tool_type_from_name(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++)
        if (strlen(infos[i].name) == length && memcmp(infos[i].name, name, length) == 0) return infos[i].type;
    return TOMBAC_TYPE_OTHER;
}

const char *tool_type_name(tombac_type type)
{
    return info_of(type)->name;
}

size_t tool_type_size(tombac_type type)
{
    return info_of(type)->size;
}

bool tool_type_is_float(tombac_type type)
{
    return info_of(type)->class == CLASS_FLOAT;
}

unsigned tool_type_significand(tombac_type type)
{
    return info_of(type)->significand;
}

/* ---- Numbers ---- */

tool_number tool_number_from_int(int64_t value)
{
    return (tool_number){
        .negative = value < 0, .magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value};
}

tool_number tool_number_from_real(double value)
{
    return (tool_number){.is_float = true, .real = value};
}

double tool_number_real(tool_number number)
{
    if (number.is_float) return number.real;
    return number.negative ? -(double)number.magnitude : (double)number.magnitude;
}

/* ---- Brain floating point ---- */

static float bf16_load(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static uint16_t bf16_round(double value)
{
    float near = (float)value;
    uint32_t bits;
    memcpy(&bits, &near, sizeof bits);
    if (isnan(value)) return (uint16_t)(bits >> 16 | 0x40);
    if ((double)near != value) {
        if (fabs((double)near) > fabs(value)) bits--; /* towards zero, then odd */
        bits |= 1;
    }
    uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
    return (uint16_t)(rounded >> 16);
}

/* ---- Bytes ---- */

static tool_number load_int(const scalar_info *info, const void *bytes)
{
    uint64_t raw = 0;
    memcpy(&raw, bytes, info->size); /* little endian, as every target is */
    if (info->class != CLASS_SIGNED) return (tool_number){.magnitude = raw};
    unsigned unused = 64 - 8 * info->size;
    return tool_number_from_int((int64_t)(raw << unused) >> unused);
}

tool_number tool_scalar_load(tombac_type type, const void *bytes)
{
    const scalar_info *info = info_of(type);
    if (info->class != CLASS_FLOAT) return load_int(info, bytes);
    if (type == TOMBAC_TYPE_F16) {
        _Float16 half;
        memcpy(&half, bytes, sizeof half);
        return tool_number_from_real((double)half);
    }
    if (type == TOMBAC_TYPE_BF16) {
        uint16_t bits;
        memcpy(&bits, bytes, sizeof bits);
        return tool_number_from_real((double)bf16_load(bits));
    }
    if (type == TOMBAC_TYPE_F32) {
        float single;
        memcpy(&single, bytes, sizeof single);
        return tool_number_from_real((double)single);
    }
    double real;
    memcpy(&real, bytes, sizeof real);
    return tool_number_from_real(real);
}

static void store_float(tombac_type type, tool_number number, void *bytes)
{
    double real = tool_number_real(number);
    if (type == TOMBAC_TYPE_F16) {
        _Float16 half = (_Float16)real;
        memcpy(bytes, &half, sizeof half);
    } else if (type == TOMBAC_TYPE_BF16) {
        uint16_t bits = bf16_round(real);
        memcpy(bytes, &bits, sizeof bits);
    } else if (type == TOMBAC_TYPE_F32) {
        float single = (float)real;
        if (!number.is_float) single = number.negative ? -(float)number.magnitude : (float)number.magnitude;
        memcpy(bytes, &single, sizeof single);
    } else {
        memcpy(bytes, &real, sizeof real);
    }
}

/* A float that is an integer below 2^64 in size becomes one. */
static bool to_integer(tool_number *number)
{
    if (!number->is_float) return true;
    double size = fabs(number->real);
    if (!(size < 0x1p64) || size != trunc(size)) return false;
    *number = (tool_number){.negative = number->real < 0, .magnitude = (uint64_t)size};
    return true;
}

bool tool_scalar_store(tombac_type type, tool_number number, void *bytes)
{
    const scalar_info *info = info_of(type);
    if (info->class == CLASS_NONE) return false;
    if (info->class == CLASS_FLOAT) {
        store_float(type, number, bytes);
        return true;
    }
    if (!to_integer(&number)) return false;
    uint64_t limit = info->class == CLASS_BOOL ? 1 : UINT64_MAX >> (64 - 8 * info->size);
    if (info->class == CLASS_SIGNED)
        limit = (limit >> 1) + (number.negative ? 1 : 0);
    else if (number.negative && number.magnitude)
        return false;
    if (number.magnitude > limit) return false;
    uint64_t raw = number.negative ? 0 - number.magnitude : number.magnitude;
    memcpy(bytes, &raw, info->size);
    return true;
}

/* ---- Text ---- */

static bool parse_integer(const char *text, tool_number *number)
{
    const char *digits = text + (*text == '-' || *text == '+');
    bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    uint64_t value = 0;
    unsigned base = hexadecimal ? 16 : 10;
    if (hexadecimal) digits += 2;
    if (!*digits) return false;
    for (; *digits; digits++) {
        unsigned digit = *digits >= '0' && *digits <= '9' ? (unsigned)(*digits - '0')
                         : (*digits | 32) >= 'a' && (*digits | 32) <= 'f'
                             ? (unsigned)((*digits | 32) - 'a' + 10)
                             : 99;
        if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value)) {
            return false;
        }
    }
    *number = (tool_number){.negative = *text == '-', .magnitude = value};
    return true;
}

bool tool_number_parse(const char *text, size_t length, tool_number *number)
{
    char copy[128];
    if (length == 0 || length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    if (strcmp(copy, "true") == 0 || strcmp(copy, "false") == 0) {
        *number = tool_number_from_int(copy[0] == 't');
        return true;
    }
    if (copy[0] == ' ' || copy[0] == '\t') return false;
    if (parse_integer(copy, number)) {
        if (number->negative && number->magnitude == 0) *number = tool_number_from_real(-0.0);
        return true;
    }
    char *end;
    double real = strtod(copy, &end);
    if (end == copy || *end) return false;
    *number = tool_number_from_real(real);
    return true;
}

/* The fewest digits with which the value, rounded to its type again, is the same. */
static void format_float(tombac_type type, double real, char *text)
{
    if (isnan(real)) {
        strcpy(text, "nan");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, TOOL_SCALAR_TEXT, "%.*g", digits, real);
        uint64_t bytes = 0;
        store_float(type, tool_number_from_real(strtod(text, NULL)), &bytes);
        if (tool_scalar_load(type, &bytes).real == real) break;
    }
    /* 1e+02 is shorter in digits than 100 but not in reading. */
    char *exponent = strchr(text, 'e');
    if (exponent && fabs(real) >= 1 && fabs(real) < 1e7) snprintf(text, TOOL_SCALAR_TEXT, "%.0f", real);
}

char *tool_scalar_format(tombac_type type, const void *bytes, char *text)
{
    const scalar_info *info = info_of(type);
    tool_number number = tool_scalar_load(type, bytes);
    if (info->class == CLASS_BOOL && number.magnitude <= 1) {
        strcpy(text, number.magnitude ? "true" : "false");
    } else if (number.is_float) {
        format_float(type, number.real, text);
    } else {
        snprintf(text, TOOL_SCALAR_TEXT, "%s%llu", number.negative ? "-" : "",
            (unsigned long long)number.magnitude);
    }
    return text;
}
