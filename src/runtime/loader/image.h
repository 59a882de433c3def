/* State of the loader while it loads, and the loaded image. Internal to loader.c and relocate.c. */
#ifndef RT_LOADER_IMAGE_H
#define RT_LOADER_IMAGE_H

#include "runtime/loader/loader.h"
#include "runtime/loader/object.h"

#include <stdint.h>

/* Parts of the mapping, in this order. */
typedef enum rt_part { PART_NONE = -1, PART_CODE, PART_CONSTANTS, PART_DATA, PART_COUNT } rt_part;

typedef struct rt_export {
    const char *name;
    void *address;
    bool code;
} rt_export;

struct rt_image {
    unsigned char *memory; /* starts with the code */
    size_t size, code_size;
    char *names;
    rt_export *exports;
    size_t export_count;
    struct rt_announcement *announcement; /* to a debugger */
};

typedef struct rt_placed_section {
    rt_part part;
    size_t offset; /* in the part */
    unsigned char *address;
} rt_placed_section;

typedef struct rt_symbol_use {
    size_t got, stub; /* 1 + number of the symbol's GOT slot and call stub, 0: none */
    size_t common_offset;
} rt_symbol_use;

typedef struct loading {
    elf_object object;
    const rt_symbol *outside;
    size_t outside_count;
    rt_image *image;
    rt_placed_section *sections;
    rt_symbol_use *symbols;
    size_t part_size[PART_COUNT];
    unsigned char *part_base[PART_COUNT];
    size_t got_count, got_offset, stub_count, stubs_offset;
    bool needs_low_addresses; /* has absolute 32-bit relocations */
} loading;

/* Counts what the relocations need (GOT slots, stubs) and refuses unknown ones. */
tombac_status rt_relocations_scan(loading *l, tombac_error **error);
tombac_status rt_relocations_apply(loading *l, tombac_error **error);

tombac_status rt_symbol_value(loading *l, size_t symbol, uint64_t *value, tombac_error **error);
unsigned char *rt_got_slot(const loading *l, size_t symbol);
unsigned char *rt_stub(const loading *l, size_t symbol);

#endif
