/* Loads an x86-64 ELF relocatable object into executable memory.
 *
 * Takes what LLVM and gcc write for one object: code, constants, data, bss and common symbols, with the
 * relocations of the small code model, position-independent or not. Not taken, and refused by name:
 * thread-local data, constructors, other relocations. Unwind tables and debug sections are not loaded; debuggers
 * and profilers are told of the code (announce.h). Memory is
 * never writable and executable at once. The object is not trusted: every offset, size, index and string is
 * checked, so that a damaged file is an error, not a crash.
 *
 * Method: the System V psABI for x86-64. Everything lies in one mapping (code and call stubs | constants and
 * GOT | data), so distances inside fit 32 bits; calls to the outside go through a stub and the GOT. */
#ifndef RT_LOADER_LOADER_H
#define RT_LOADER_LOADER_H

#include "base/error.h"

#include <stdint.h>

/* A name that objects may refer to. */
typedef struct rt_symbol {
    const char *name;
    void *address;
} rt_symbol;

typedef struct rt_image rt_image;

/* Loads; undefined symbols are looked up in `symbols` only. `name` stands for the object in messages. Errors
 * are TOMBAC_ERROR_ARTIFACT (damaged or not loadable, unknown symbol by name), TOMBAC_ERROR_MEMORY, and
 * TOMBAC_ERROR_IO where the system refuses to make memory executable. */
tombac_status rt_image_load(const char *name, const void *object, size_t size, const rt_symbol *symbols,
    size_t symbol_count, rt_image **image, tombac_error **error);

/* Address of a global function (in executable memory) or a global variable of the object, or NULL. */
void *rt_image_function(const rt_image *image, const char *name);
void *rt_image_variable(const rt_image *image, const char *name);

/* The range of the executable memory, to tell a fault in a kernel from others. */
void rt_image_code_range(const rt_image *image, const void **begin, const void **end);

/* Does `address` lie in the image's data (constants included)? *left: bytes to the end of the image. */
bool rt_image_holds_data(const rt_image *image, uint64_t address, size_t *left);

void rt_image_unload(rt_image *image);

#endif
