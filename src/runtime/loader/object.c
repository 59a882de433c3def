/* Reading and checking ELF tables; see object.h. After elf_object_open no other code needs bounds checks on
 * the file. */
#include "runtime/loader/object.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static tombac_status damaged(const elf_object *object, const char *what, tombac_error **error)
{
    return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "%s: damaged object: %s", object->name, what);
}

static bool inside(const elf_object *object, uint64_t offset, uint64_t size)
{
    return offset <= object->size && size <= object->size - offset;
}

static tombac_status read_header(elf_object *object, Elf64_Ehdr *header, tombac_error **error)
{
    if (object->size < sizeof *header) return damaged(object, "shorter than its header", error);
    memcpy(header, object->bytes, sizeof *header);
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return damaged(object, "not an ELF file", error);
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != EM_X86_64)
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "%s: the object is not for x86-64", object->name);
    if (header->e_type != ET_REL)
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "%s: not a relocatable object", object->name);
    if (header->e_ident[EI_VERSION] != EV_CURRENT || header->e_shentsize != sizeof(Elf64_Shdr))
        return damaged(object, "unknown version or size of section headers", error);
    return TOMBAC_OK;
}

static tombac_status read_sections(elf_object *object, const Elf64_Ehdr *header, tombac_error **error)
{
    if (header->e_shnum == 0 || header->e_shnum >= SHN_LORESERVE || header->e_shstrndx >= header->e_shnum)
        return damaged(object, "bad number of sections", error);
    object->section_count = header->e_shnum;
    if (!inside(object, header->e_shoff, object->section_count * sizeof(Elf64_Shdr)))
        return damaged(object, "section headers lie outside the file", error);
    object->sections = malloc(object->section_count * sizeof(Elf64_Shdr));
    if (!object->sections) return tb_fail_memory(error);
    memcpy(object->sections, object->bytes + header->e_shoff, object->section_count * sizeof(Elf64_Shdr));
    for (size_t i = 0; i < object->section_count; i++) {
        const Elf64_Shdr *section = &object->sections[i];
        bool has_bytes = section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL;
        if (has_bytes && !inside(object, section->sh_offset, section->sh_size))
            return damaged(object, "a section lies outside the file", error);
        if (section->sh_addralign & (section->sh_addralign - 1))
            return damaged(object, "a section's alignment is no power of two", error);
    }
    return TOMBAC_OK;
}

/* A string table must end in a zero, so that every string in it ends. */
static bool string_table(const elf_object *object, size_t index, const char **strings, size_t *size)
{
    if (index == 0 || index >= object->section_count) return false;
    const Elf64_Shdr *section = &object->sections[index];
    if (section->sh_type != SHT_STRTAB || section->sh_size == 0) return false;
    *strings = (const char *)object->bytes + section->sh_offset;
    *size = section->sh_size;
    return (*strings)[*size - 1] == 0;
}

static tombac_status check_symbol(const elf_object *object, const Elf64_Sym *symbol, tombac_error **error)
{
    if (symbol->st_name >= object->symbol_names_size)
        return damaged(object, "a symbol's name is outside", error);
    if (symbol->st_shndx == SHN_ABS || symbol->st_shndx == SHN_COMMON || symbol->st_shndx == SHN_UNDEF)
        return TOMBAC_OK;
    if (symbol->st_shndx >= object->section_count)
        return damaged(object, "a symbol's section does not exist", error);
    if (symbol->st_value > object->sections[symbol->st_shndx].sh_size)
        return damaged(object, "a symbol lies outside its section", error);
    return TOMBAC_OK;
}

static tombac_status read_symbols(elf_object *object, tombac_error **error)
{
    const Elf64_Shdr *table = NULL;
    for (size_t i = 1; i < object->section_count; i++) {
        if (object->sections[i].sh_type != SHT_SYMTAB) continue;
        if (table) return damaged(object, "two symbol tables", error);
        table = &object->sections[i];
    }
    if (!table) return TOMBAC_OK;
    if (table->sh_entsize != sizeof(Elf64_Sym) || table->sh_size % sizeof(Elf64_Sym) != 0 ||
        !string_table(object, table->sh_link, &object->symbol_names, &object->symbol_names_size))
        return damaged(object, "bad symbol table", error);
    object->symbol_count = table->sh_size / sizeof(Elf64_Sym);
    if (object->symbol_count == 0) return TOMBAC_OK;
    object->symbols = malloc(table->sh_size);
    if (!object->symbols) return tb_fail_memory(error);
    memcpy(object->symbols, object->bytes + table->sh_offset, table->sh_size);
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < object->symbol_count && status == TOMBAC_OK; i++)
        status = check_symbol(object, &object->symbols[i], error);
    return status;
}

static tombac_status check_relocations(const elf_object *object, tombac_error **error)
{
    for (size_t i = 1; i < object->section_count; i++) {
        const Elf64_Shdr *section = &object->sections[i];
        if (section->sh_type == SHT_REL) return damaged(object, "relocations without addends", error);
        if (section->sh_type != SHT_RELA) continue;
        if (section->sh_entsize != sizeof(Elf64_Rela) || section->sh_size % sizeof(Elf64_Rela) != 0 ||
            section->sh_info == 0 || section->sh_info >= object->section_count)
            return damaged(object, "bad relocation table", error);
    }
    return TOMBAC_OK;
}

tombac_status elf_object_open(
    const char *name, const void *bytes, size_t size, elf_object *object, tombac_error **error)
{
    *object = (elf_object){.name = name, .bytes = bytes, .size = size};
    Elf64_Ehdr header;
    tombac_status status = read_header(object, &header, error);
    if (status == TOMBAC_OK) status = read_sections(object, &header, error);
    if (status == TOMBAC_OK &&
        !string_table(object, header.e_shstrndx, &object->section_names, &object->section_names_size))
        status = damaged(object, "bad table of section names", error);
    for (size_t i = 0; status == TOMBAC_OK && i < object->section_count; i++) {
        if (object->sections[i].sh_name >= object->section_names_size)
            status = damaged(object, "a section's name is outside", error);
    }
    if (status == TOMBAC_OK) status = read_symbols(object, error);
    if (status == TOMBAC_OK) status = check_relocations(object, error);
    if (status != TOMBAC_OK) elf_object_close(object);
    return status;
}

void elf_object_close(elf_object *object)
{
    free(object->sections);
    free(object->symbols);
    *object = (elf_object){0};
}

const char *elf_section_name(const elf_object *object, size_t section)
{
    return object->section_names + object->sections[section].sh_name;
}

const char *elf_symbol_name(const elf_object *object, size_t symbol)
{
    const Elf64_Sym *s = &object->symbols[symbol];
    if (ELF64_ST_TYPE(s->st_info) == STT_SECTION && s->st_shndx < object->section_count)
        return elf_section_name(object, s->st_shndx);
    return object->symbol_names + s->st_name;
}

Elf64_Rela elf_relocation(const elf_object *object, const Elf64_Shdr *section, size_t i)
{
    Elf64_Rela relocation;
    memcpy(&relocation, object->bytes + section->sh_offset + i * sizeof relocation, sizeof relocation);
    return relocation;
}
