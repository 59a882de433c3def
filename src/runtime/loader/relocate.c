/* Relocations of the System V psABI for x86-64 (table 4.9); see loader.h. In its words: S the symbol, A the
 * addend, P the place, G + GOT the symbol's slot in the global offset table, L its call stub. */
#include "runtime/loader/image.h"

#include <string.h>

typedef struct site {
    size_t section; /* that is patched */
    uint64_t offset;
    size_t symbol;
    uint32_t type;
    int64_t addend;
} site;

/* The type's bytes at the place; 0: not supported. */
static size_t width(uint32_t type)
{
    switch (type) {
    case R_X86_64_64:
    case R_X86_64_PC64: return 8;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
    case R_X86_64_32:
    case R_X86_64_32S: return 4;
    default: return 0;
    }
}

static bool is_got(uint32_t type)
{
    return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
}

/* Calls `visit` for every relocation of a loaded section, checked. */
static tombac_status each(
    loading *l, tombac_status (*visit)(loading *, const site *, tombac_error **), tombac_error **error)
{
    const elf_object *object = &l->object;
    for (size_t i = 1; i < object->section_count; i++) {
        const Elf64_Shdr *table = &object->sections[i];
        if (table->sh_type != SHT_RELA) continue;
        const Elf64_Shdr *target = &object->sections[table->sh_info];
        if (l->sections[table->sh_info].part == PART_NONE) continue;
        for (size_t k = 0; k < table->sh_size / sizeof(Elf64_Rela); k++) {
            Elf64_Rela r = elf_relocation(object, table, k);
            site s = {.section = table->sh_info,
                .offset = r.r_offset,
                .symbol = ELF64_R_SYM(r.r_info),
                .type = ELF64_R_TYPE(r.r_info),
                .addend = r.r_addend};
            if (s.type == R_X86_64_NONE) continue;
            size_t bytes = width(s.type);
            if (!bytes)
                return tb_fail(error, TOMBAC_ERROR_ARTIFACT,
                    "%s: the object has a relocation of type %u, which is not supported", object->name,
                    s.type);
            if (s.symbol == 0 || s.symbol >= object->symbol_count || target->sh_type == SHT_NOBITS ||
                s.offset > target->sh_size || bytes > target->sh_size - s.offset)
                return tb_fail(
                    error, TOMBAC_ERROR_ARTIFACT, "%s: damaged object: bad relocation", object->name);
            tombac_status status = visit(l, &s, error);
            if (status != TOMBAC_OK) return status;
        }
    }
    return TOMBAC_OK;
}

static tombac_status count(loading *l, const site *s, tombac_error **error)
{
    rt_symbol_use *use = &l->symbols[s->symbol];
    bool outside = l->object.symbols[s->symbol].st_shndx == SHN_UNDEF;
    bool stub = s->type == R_X86_64_PLT32 && outside;
    if ((stub || is_got(s->type)) && !use->got) use->got = ++l->got_count;
    if (stub && !use->stub) use->stub = ++l->stub_count;
    if (s->type == R_X86_64_32 || s->type == R_X86_64_32S) l->needs_low_addresses = true;
    return TOMBAC_OK;
}

tombac_status rt_relocations_scan(loading *l, tombac_error **error)
{
    return each(l, count, error);
}

static bool fits_signed(uint64_t value)
{
    return (uint64_t)(int64_t)(int32_t)(uint32_t)value == value;
}

static tombac_status apply(loading *l, const site *s, tombac_error **error)
{
    unsigned char *place = l->sections[s->section].address + s->offset;
    uint64_t p = (uint64_t)(uintptr_t)place, a = (uint64_t)s->addend, value;
    tombac_status status = rt_symbol_value(l, s->symbol, &value, error);
    if (status != TOMBAC_OK) return status;
    uint64_t result = value + a;
    bool fits = true;
    switch (s->type) {
    case R_X86_64_64: break;
    case R_X86_64_PC64: result -= p; break;
    case R_X86_64_PC32: fits = fits_signed(result -= p); break;
    case R_X86_64_PLT32:
        result -= p;
        if (!fits_signed(result) && l->symbols[s->symbol].stub)
            result = (uint64_t)(uintptr_t)rt_stub(l, s->symbol) + a - p;
        fits = fits_signed(result);
        break;
    case R_X86_64_32: fits = (uint32_t)result == result; break;
    case R_X86_64_32S: fits = fits_signed(result); break;
    default: /* through the GOT */
        result = (uint64_t)(uintptr_t)rt_got_slot(l, s->symbol) + a - p;
        fits = fits_signed(result);
    }
    if (!fits)
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT,
            "%s: the object reaches '%s' by 32 bits, but it is farther away", l->object.name,
            elf_symbol_name(&l->object, s->symbol));
    memcpy(place, &result, width(s->type));
    return TOMBAC_OK;
}

tombac_status rt_relocations_apply(loading *l, tombac_error **error)
{
    return each(l, apply, error);
}
