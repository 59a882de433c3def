/* R6: Metal has no double, so 1.0 is a float; 1.0h is a half and 1.0bf a bfloat. */
#include "compiler/front/rewrite.h"

#include <ctype.h>

bool front_rewrite_number(const char *text, size_t length, tb_text *out)
{
    bool hexadecimal = length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    bool point = memchr(text, '.', length) != NULL;
    bool exponent = false;
    size_t digits = length; /* without the suffix */
    for (size_t i = hexadecimal ? 2 : 0; i < length; i++) {
        char c = (char)tolower((unsigned char)text[i]);
        bool is_exponent = hexadecimal ? c == 'p' : c == 'e';
        bool digit = isdigit((unsigned char)c) || c == '.' || c == '\'' ||
                     (hexadecimal && !exponent && isxdigit((unsigned char)c));
        if (is_exponent && !exponent) {
            exponent = true;
            if (i + 1 < length && (text[i + 1] == '+' || text[i + 1] == '-')) i++;
        } else if (!digit) {
            digits = i;
            break;
        }
    }
    bool floating = hexadecimal ? exponent : point || exponent;
    size_t suffix = length - digits;
    const char *dot = floating ? "" : ".0";
    if (suffix == 0 && floating) {
        tb_text_printf(out, "%.*sf", (int)digits, text);
    } else if (suffix == 1 && (text[digits] == 'h' || text[digits] == 'H') && (floating || !hexadecimal)) {
        tb_text_printf(out, "%.*s%sf16", (int)digits, text, dot);
    } else if (suffix == 2 && (text[digits] == 'b' || text[digits] == 'B') &&
               (text[digits + 1] == 'f' || text[digits + 1] == 'F') && (floating || !hexadecimal)) {
        tb_text_printf(out, "((bfloat)%.*s%sf)", (int)digits, text, dot);
    } else {
        return false;
    }
    return true;
}
