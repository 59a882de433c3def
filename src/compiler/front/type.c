/* Names of scalar and vector types as sources write them, and text of token ranges. */
#include "compiler/front/declare.h"

static const struct {
    const char *name;
    tombac_type type;
} scalars[] = {
    {"bool", TOMBAC_TYPE_BOOL},
    {"char", TOMBAC_TYPE_I8},
    {"uchar", TOMBAC_TYPE_U8},
    {"short", TOMBAC_TYPE_I16},
    {"ushort", TOMBAC_TYPE_U16},
    {"int", TOMBAC_TYPE_I32},
    {"uint", TOMBAC_TYPE_U32},
    {"long", TOMBAC_TYPE_I64},
    {"ulong", TOMBAC_TYPE_U64},
    {"half", TOMBAC_TYPE_F16},
    {"bfloat", TOMBAC_TYPE_BF16},
    {"float", TOMBAC_TYPE_F32},
    {"int8_t", TOMBAC_TYPE_I8},
    {"uint8_t", TOMBAC_TYPE_U8},
    {"int16_t", TOMBAC_TYPE_I16},
    {"uint16_t", TOMBAC_TYPE_U16},
    {"int32_t", TOMBAC_TYPE_I32},
    {"uint32_t", TOMBAC_TYPE_U32},
    {"int64_t", TOMBAC_TYPE_I64},
    {"uint64_t", TOMBAC_TYPE_U64},
    {"size_t", TOMBAC_TYPE_U64},
    {"ptrdiff_t", TOMBAC_TYPE_I64},
    {"signed char", TOMBAC_TYPE_I8},
    {"unsigned char", TOMBAC_TYPE_U8},
    {"unsigned short", TOMBAC_TYPE_U16},
    {"unsigned", TOMBAC_TYPE_U32},
    {"unsigned int", TOMBAC_TYPE_U32},
    {"unsigned long", TOMBAC_TYPE_U64},
    {"signed", TOMBAC_TYPE_I32},
    {"signed int", TOMBAC_TYPE_I32},
};

tombac_type front_scalar_type(const char *text, uint32_t *vector_length)
{
    *vector_length = 1;
    static const char *const prefixes[] = {"metal::", "simd::", "packed_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(text, prefixes[i], strlen(prefixes[i]))) text += strlen(prefixes[i]);
    size_t length = strlen(text);
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        size_t n = strlen(scalars[i].name);
        if (strncmp(text, scalars[i].name, n) != 0) continue;
        if (length == n) return scalars[i].type;
        bool built_in =
            scalars[i].name[n - 1] != 't' || i < 12; /* there is no int32_t4, but uint4 and short4 */
        if (length == n + 1 && built_in && text[n] >= '2' && text[n] <= '4') {
            *vector_length = (uint32_t)(text[n] - '0');
            return scalars[i].type;
        }
    }
    return TOMBAC_TYPE_OTHER;
}

void front_append_tokens(const token_list *list, uint32_t first, uint32_t end, tb_text *out)
{
    for (uint32_t i = first; i < end; i++) {
        const token *t = &list->tokens[i];
        bool words = i > first && t->kind != TOKEN_PUNCTUATOR && t[-1].kind != TOKEN_PUNCTUATOR;
        bool comma = i > first && t[-1].code == ',';
        if (words || comma) tb_text_putc(out, ' ');
        tb_text_append(out, token_text(list, i), t->length);
    }
}
