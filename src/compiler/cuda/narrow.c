/* Stores of fewer bits than their register has, in PTX.
 *
 * LLVM 22 stores the low byte of a 32-bit register by `st.b8 [a], %r`. Where %r is the result of a floating-point instruction, NVIDIA's
 * compiler (driver 580, CUDA 13) does not cut it off, as the PTX manual has it ("chop", table of relaxed type checks), but converts
 * the number to an integer. A copy by `mov` has no such type, and costs nothing in machine code. Seen in as_type of
 * numbers, and in members of packed structures, whose bytes are stored one by one.
 *
 * Takes PTX as LLVM prints it: one instruction on a line, virtual registers %rs (16 bits), %r (32), %rd (64). */
#include "compiler/cuda/steps.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 8 };

/* A store whose registers are wider than what it stores. */
typedef struct narrow_store {
    const char *line, *registers[MAX_ELEMENTS], *end; /* the end of the line */
    size_t lengths[MAX_ELEMENTS];
    unsigned count, bits; /* of a register */
} narrow_store;

static unsigned register_bits(const char *name)
{
    if (strncmp(name, "%rs", 3) == 0) return 16;
    if (strncmp(name, "%rd", 3) == 0) return 64;
    return strncmp(name, "%r", 2) == 0 && name[2] >= '0' && name[2] <= '9' ? 32 : 0;
}

/* The bits that `st.SPACE.vN.bBITS` stores of each register; 0 if the line is no store of bits. */
static unsigned stored_bits(const char *line, const char *bracket)
{
    if (strncmp(line, "\tst.", 4) != 0) return 0;
    for (const char *at = bracket; at > line; at--)
        if (at[0] == 'b' && at[-1] == '.') return (unsigned)strtoul(at + 1, NULL, 10);
    return 0;
}

static bool find_narrow(const char *line, const char *end, narrow_store *s)
{
    *s = (narrow_store){.line = line, .end = end};
    const char *bracket = memchr(line, '[', (size_t)(end - line));
    const char *close = bracket ? memchr(bracket, ']', (size_t)(end - bracket)) : NULL;
    unsigned bits = close ? stored_bits(line, bracket) : 0;
    if (!bits) return false;
    for (const char *at = close; (at = memchr(at, '%', (size_t)(end - at))) && s->count < MAX_ELEMENTS;) {
        s->bits = register_bits(at);
        if (s->bits <= bits) return false;
        s->registers[s->count] = at;
        at += s->lengths[s->count++] = strcspn(at, ",}; \t\n");
    }
    return s->count > 0;
}

/* The same in a scope of its own, from copies. */
static void write_copied(tb_text *out, const narrow_store *s)
{
    tb_text_printf(out, "\t{\n\t.reg .b%u %%cut<%u>;\n", s->bits, s->count);
    const char *at = s->line;
    for (unsigned i = 0; i < s->count; i++)
        tb_text_printf(out, "\tmov.b%u %%cut%u, %.*s;\n", s->bits, i, (int)s->lengths[i], s->registers[i]);
    for (unsigned i = 0; i < s->count; i++) {
        tb_text_append(out, at, (size_t)(s->registers[i] - at));
        tb_text_printf(out, "%%cut%u", i);
        at = s->registers[i] + s->lengths[i];
    }
    tb_text_append(out, at, (size_t)(s->end - at));
    tb_text_puts(out, "\t}\n");
}

tombac_status cuda_copy_narrow_stores(tb_text *ptx, tombac_error **error)
{
    tb_text out = {0};
    narrow_store store;
    const char *line = tb_text_string(ptx), *last = line + ptx->size, *copied = line;
    for (const char *end; line < last; line = end) {
        const char *newline = memchr(line, '\n', (size_t)(last - line));
        end = newline ? newline + 1 : last;
        if (!find_narrow(line, end, &store)) continue;
        tb_text_append(&out, copied, (size_t)(line - copied));
        write_copied(&out, &store);
        copied = end;
    }
    tb_text_append(&out, copied, (size_t)(last - copied));
    bool bad = out.bad || ptx->bad;
    tb_text_free(ptx);
    *ptx = out;
    return bad ? tb_fail_memory(error) : TOMBAC_OK;
}
