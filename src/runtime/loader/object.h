/* An ELF64 relocatable object for x86-64 as tables, every offset, index and string in them checked. Internal
 * to the loader. */
#ifndef RT_LOADER_OBJECT_H
#define RT_LOADER_OBJECT_H

#include "base/error.h"

#include <elf.h>

typedef struct elf_object {
    const char *name; /* for messages */
    const unsigned char *bytes;
    size_t size;
    Elf64_Shdr *sections; /* copies, so that alignment of `bytes` does not matter */
    size_t section_count;
    Elf64_Sym *symbols; /* copies; [0] is the null symbol; none if there is no symbol table */
    size_t symbol_count;
    const char *symbol_names; /* string table, its last byte is zero */
    size_t symbol_names_size;
    const char *section_names;
    size_t section_names_size;
} elf_object;

tombac_status elf_object_open(
    const char *name, const void *bytes, size_t size, elf_object *object, tombac_error **error);
void elf_object_close(elf_object *object);

const char *elf_section_name(const elf_object *object, size_t section);
const char *elf_symbol_name(const elf_object *object, size_t symbol);
/* The i-th entry of a relocation section, whose table elf_object_open found to be inside the file. */
Elf64_Rela elf_relocation(const elf_object *object, const Elf64_Shdr *section, size_t i);

#endif
