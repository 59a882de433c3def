/* Layout, symbol resolution, protection; see loader.h. Relocations are in relocate.c. */
#include "runtime/loader/announce.h"
#include "runtime/loader/image.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of one part of the mapping; all three together then stay below 2 GiB, so that distances fit 32 bits. */
#define SIZE_LIMIT ((size_t)1 << 29)

enum { STUB_SIZE = 16 };

static tombac_status refuse(const loading *l, const char *what, const char *name, tombac_error **error)
{
    return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "%s: the object has %s ('%s'), which is not supported",
        l->object.name, what, name);
}

/* Which part of the mapping a section goes to; PART_NONE: it is not loaded. */
static tombac_status classify(const loading *l, size_t index, rt_part *part, tombac_error **error)
{
    const Elf64_Shdr *section = &l->object.sections[index];
    const char *name = elf_section_name(&l->object, index);
    *part = PART_NONE;
    if (!(section->sh_flags & SHF_ALLOC) || section->sh_type == SHT_NULL) return TOMBAC_OK;
    if (section->sh_type == SHT_X86_64_UNWIND || strcmp(name, ".eh_frame") == 0 ||
        section->sh_type == SHT_NOTE)
        return TOMBAC_OK;
    if (section->sh_flags & SHF_TLS) return refuse(l, "thread-local data", name, error);
    if (section->sh_flags & SHF_COMPRESSED) return refuse(l, "a compressed section", name, error);
    if (section->sh_type == SHT_INIT_ARRAY || section->sh_type == SHT_FINI_ARRAY ||
        section->sh_type == SHT_PREINIT_ARRAY)
        return refuse(l, "constructors or destructors", name, error);
    if (section->sh_type != SHT_PROGBITS && section->sh_type != SHT_NOBITS)
        return refuse(l, "a section of unknown type", name, error);
    bool writable = section->sh_flags & SHF_WRITE, executable = section->sh_flags & SHF_EXECINSTR;
    if (writable && executable) return refuse(l, "a writable code section", name, error);
    *part = executable ? PART_CODE : writable ? PART_DATA : PART_CONSTANTS;
    return TOMBAC_OK;
}

/* Appends `size` bytes to a part; the offset within the part is in *offset. */
static bool place(loading *l, rt_part part, uint64_t size, uint64_t alignment, size_t *offset)
{
    if (alignment == 0) alignment = 1;
    if (size > SIZE_LIMIT || alignment > 4096) return false;
    size_t start = (l->part_size[part] + alignment - 1) & ~(size_t)(alignment - 1);
    if (start + size > SIZE_LIMIT) return false;
    *offset = start;
    l->part_size[part] = start + size;
    return true;
}

static tombac_status classify_all(loading *l, tombac_error **error)
{
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < l->object.section_count && status == TOMBAC_OK; i++)
        status = classify(l, i, &l->sections[i].part, error);
    return status;
}

static tombac_status place_all(loading *l, tombac_error **error)
{
    const elf_object *object = &l->object;
    bool fits = true;
    for (size_t i = 0; i < object->section_count; i++) {
        if (l->sections[i].part == PART_NONE) continue;
        fits = fits && place(l, l->sections[i].part, object->sections[i].sh_size,
                           object->sections[i].sh_addralign, &l->sections[i].offset);
    }
    for (size_t i = 1; i < object->symbol_count && fits; i++) {
        const Elf64_Sym *symbol = &object->symbols[i];
        if (symbol->st_shndx != SHN_COMMON) continue;
        if (symbol->st_value & (symbol->st_value - 1))
            fits = false; /* st_value is the alignment here */
        else
            fits = place(l, PART_DATA, symbol->st_size, symbol->st_value, &l->symbols[i].common_offset);
    }
    fits = fits && place(l, PART_CONSTANTS, l->got_count * sizeof(uint64_t), 8, &l->got_offset) &&
           place(l, PART_CODE, l->stub_count * STUB_SIZE, STUB_SIZE, &l->stubs_offset);
    if (!fits)
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "%s: the object's memory is too large", object->name);
    return TOMBAC_OK;
}

/* Maps all parts, each at a page boundary, read-write for now. */
static tombac_status map(loading *l, tombac_error **error)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), total = 0;
    rt_image *image = l->image;
    for (int part = 0; part < PART_COUNT; part++) {
        l->part_size[part] = (l->part_size[part] + page - 1) & ~(page - 1);
        total += l->part_size[part];
    }
    if (total == 0) total = page;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (l->needs_low_addresses ? MAP_32BIT : 0);
    void *memory = mmap(NULL, total, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) return tb_fail_memory(error);
    image->memory = memory;
    image->size = total;
    image->code_size = l->part_size[PART_CODE];
    size_t offset = 0;
    for (int part = 0; part < PART_COUNT; part++) {
        l->part_base[part] = image->memory + offset;
        offset += l->part_size[part];
    }
    for (size_t i = 0; i < l->object.section_count; i++) {
        const Elf64_Shdr *section = &l->object.sections[i];
        if (l->sections[i].part == PART_NONE) continue;
        l->sections[i].address = l->part_base[l->sections[i].part] + l->sections[i].offset;
        if (section->sh_type != SHT_NOBITS && section->sh_size)
            memcpy(l->sections[i].address, l->object.bytes + section->sh_offset, section->sh_size);
    }
    return TOMBAC_OK;
}

static tombac_status resolve_outside(loading *l, size_t index, uint64_t *value, tombac_error **error)
{
    const char *name = elf_symbol_name(&l->object, index);
    for (size_t i = 0; i < l->outside_count; i++) {
        if (strcmp(l->outside[i].name, name) == 0) {
            *value = (uint64_t)(uintptr_t)l->outside[i].address;
            return TOMBAC_OK;
        }
    }
    if (ELF64_ST_BIND(l->object.symbols[index].st_info) == STB_WEAK) {
        *value = 0;
        return TOMBAC_OK;
    }
    return tb_fail(error, TOMBAC_ERROR_ARTIFACT,
        "%s: the object refers to '%s', which this runtime does not have", l->object.name, name);
}

tombac_status rt_symbol_value(loading *l, size_t index, uint64_t *value, tombac_error **error)
{
    const Elf64_Sym *symbol = &l->object.symbols[index];
    switch (symbol->st_shndx) {
    case SHN_UNDEF: return resolve_outside(l, index, value, error);
    case SHN_ABS: *value = symbol->st_value; return TOMBAC_OK;
    case SHN_COMMON:
        *value = (uint64_t)(uintptr_t)(l->part_base[PART_DATA] + l->symbols[index].common_offset);
        return TOMBAC_OK;
    default: break;
    }
    if (l->sections[symbol->st_shndx].part == PART_NONE)
        return refuse(
            l, "a reference into a section that is not loaded", elf_symbol_name(&l->object, index), error);
    *value = (uint64_t)(uintptr_t)(l->sections[symbol->st_shndx].address + symbol->st_value);
    return TOMBAC_OK;
}

/* Fills the GOT, and the stubs that jump through it: `jmp *slot(%rip)`, padded with int3. */
static tombac_status fill_got(loading *l, tombac_error **error)
{
    for (size_t i = 1; i < l->object.symbol_count; i++) {
        const rt_symbol_use *use = &l->symbols[i];
        if (!use->got) continue;
        unsigned char *slot = rt_got_slot(l, i);
        uint64_t value;
        tombac_status status = rt_symbol_value(l, i, &value, error);
        if (status != TOMBAC_OK) return status;
        memcpy(slot, &value, sizeof value);
        if (!use->stub) continue;
        unsigned char *stub = rt_stub(l, i);
        int32_t distance = (int32_t)(slot - (stub + 6)); /* one mapping below 2 GiB: fits */
        memset(stub, 0xcc, STUB_SIZE);
        stub[0] = 0xff;
        stub[1] = 0x25;
        memcpy(stub + 2, &distance, sizeof distance);
    }
    return TOMBAC_OK;
}

unsigned char *rt_got_slot(const loading *l, size_t symbol)
{
    return l->part_base[PART_CONSTANTS] + l->got_offset + (l->symbols[symbol].got - 1) * sizeof(uint64_t);
}

unsigned char *rt_stub(const loading *l, size_t symbol)
{
    return l->part_base[PART_CODE] + l->stubs_offset + (l->symbols[symbol].stub - 1) * STUB_SIZE;
}

static tombac_status protect(loading *l, tombac_error **error)
{
    static const int rights[PART_COUNT] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    for (int part = 0; part < PART_COUNT; part++) {
        if (l->part_size[part] && mprotect(l->part_base[part], l->part_size[part], rights[part]) != 0)
            return tb_fail_errno(error, "%s: cannot make kernel code executable", l->object.name);
    }
    return TOMBAC_OK;
}

/* Keeps the global names, for look-ups after the object's bytes are gone. */
static tombac_status keep_exports(loading *l, tombac_error **error)
{
    rt_image *image = l->image;
    const elf_object *object = &l->object;
    if (object->symbol_count == 0) return TOMBAC_OK;
    image->names = malloc(object->symbol_names_size);
    image->exports = calloc(object->symbol_count, sizeof *image->exports);
    if (!image->names || !image->exports) return tb_fail_memory(error);
    memcpy(image->names, object->symbol_names, object->symbol_names_size);
    for (size_t i = 1; i < object->symbol_count; i++) {
        const Elf64_Sym *symbol = &object->symbols[i];
        if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS) continue;
        if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL) continue;
        if (symbol->st_shndx != SHN_COMMON && l->sections[symbol->st_shndx].part == PART_NONE) continue;
        uint64_t value;
        tombac_status status = rt_symbol_value(l, i, &value, error);
        if (status != TOMBAC_OK) return status;
        rt_export *export = &image->exports[image->export_count++];
        *export = (rt_export){.name = image->names + symbol->st_name, .address = (void *)(uintptr_t)value};
        export->code = symbol->st_shndx != SHN_COMMON && l->sections[symbol->st_shndx].part == PART_CODE;
    }
    return TOMBAC_OK;
}

static tombac_status allocate(loading *l, tombac_error **error)
{
    l->image = calloc(1, sizeof *l->image);
    l->sections = calloc(l->object.section_count, sizeof *l->sections);
    l->symbols = calloc(l->object.symbol_count + 1, sizeof *l->symbols);
    return l->image && l->sections && l->symbols ? TOMBAC_OK : tb_fail_memory(error);
}

tombac_status rt_image_load(const char *name, const void *bytes, size_t size, const rt_symbol *symbols,
    size_t symbol_count, rt_image **image, tombac_error **error)
{
    loading l = {.outside = symbols, .outside_count = symbol_count};
    tombac_status status = elf_object_open(name, bytes, size, &l.object, error);
    if (status != TOMBAC_OK) return status;
    status = allocate(&l, error);
    if (status == TOMBAC_OK) status = classify_all(&l, error);
    if (status == TOMBAC_OK) status = rt_relocations_scan(&l, error);
    if (status == TOMBAC_OK) status = place_all(&l, error);
    if (status == TOMBAC_OK) status = map(&l, error);
    if (status == TOMBAC_OK) status = fill_got(&l, error);
    if (status == TOMBAC_OK) status = rt_relocations_apply(&l, error);
    if (status == TOMBAC_OK) status = keep_exports(&l, error);
    if (status == TOMBAC_OK) status = protect(&l, error);
    if (status == TOMBAC_OK) {
        l.image->announcement = rt_announce(&l);
        *image = l.image;
    } else {
        rt_image_unload(l.image);
    }
    free(l.sections);
    free(l.symbols);
    elf_object_close(&l.object);
    return status;
}

static void *find(const rt_image *image, const char *name, bool code)
{
    for (size_t i = 0; i < image->export_count; i++) {
        if (image->exports[i].code == code && strcmp(image->exports[i].name, name) == 0)
            return image->exports[i].address;
    }
    return NULL;
}

void *rt_image_function(const rt_image *image, const char *name)
{
    return find(image, name, true);
}

void *rt_image_variable(const rt_image *image, const char *name)
{
    return find(image, name, false);
}

void rt_image_code_range(const rt_image *image, const void **begin, const void **end)
{
    *begin = image->memory;
    *end = image->memory + image->code_size;
}

bool rt_image_holds_data(const rt_image *image, uint64_t address, size_t *left)
{
    uint64_t begin = (uint64_t)(uintptr_t)image->memory;
    if (address < begin + image->code_size || address >= begin + image->size) return false;
    *left = (size_t)(begin + image->size - address);
    return true;
}

void rt_image_unload(rt_image *image)
{
    if (!image) return;
    rt_retract(image->announcement);
    if (image->memory) munmap(image->memory, image->size);
    free(image->exports);
    free(image->names);
    free(image);
}
