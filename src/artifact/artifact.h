/* The .tombac file: one compiled kernel with its reflection and its code, or a bundle of several.
 *
 * A kernel's file has the sections MANIFEST and OBJECT, and, if a part of the code was left out for the time being, REST, of
 * which `tombac-cc finish` makes a file of the same kind. A bundle has an INDEX and, for each entry of its list "kernels" in that
 * order, a section KERNEL, which is a kernel's file in itself:
 *
 *     {"format": 1, "tombac": "0.1.0", "source": "vec_add.metal",
 *      "options": {"standard", "math", "defines": [...], "include_folders": [...], "kernels": [...], "targets": [...],
 *                  "set": ["NAME=VALUE", ...]},
 *      "listing": what `tombac-cc list` printed,
 *      "kernels": [{"name", "engine", "target", "constants": [{"index", "value": bytes as hexadecimal}]}]}
 *
 * Paths in it are relative to the source's folder, unless they were given absolutely.
 *
 * Layout, little endian: a header (magic "TOMBAC\r\n", format version, section count, file size, XXH3-64 of
 * the table), a table of sections (kind, offset, size, XXH3-64 of the content), then the sections, each
 * aligned to 64 bytes, zero-padded. Equal input gives equal bytes. A reader checks everything before it
 * trusts anything: a truncated, changed, foreign or newer file is a TOMBAC_ERROR_ARTIFACT that says which. */
#ifndef TB_ARTIFACT_ARTIFACT_H
#define TB_ARTIFACT_ARTIFACT_H

#include "base/error.h"
#include "base/text.h"

#include <stdint.h>

#define TB_ARTIFACT_VERSION 1

typedef enum tb_section_kind {
    TB_SECTION_MANIFEST = 1, /* JSON, see docs/architecture.md "Manifest" */
    TB_SECTION_OBJECT = 2,   /* ELF relocatable object for the engine and target that the manifest names */
    TB_SECTION_INDEX = 3,    /* JSON, above */
    TB_SECTION_KERNEL = 4,   /* a whole artifact */
    TB_SECTION_REST = 5      /* LLVM bitcode of the code that was left out (abi.h, TB_CPU_SHAPES) */
} tb_section_kind;

typedef struct tb_section {
    tb_section_kind kind;
    const void *data;
    size_t size;
} tb_section;

enum { TB_MAX_SECTIONS = 1024 };
#define TB_BUNDLE_FORMAT 1

typedef struct tb_artifact {
    size_t section_count;
    tb_section sections[TB_MAX_SECTIONS]; /* point into the bytes that were parsed */
} tb_artifact;

/* Appends the file's bytes to `out`. */
tombac_status tb_artifact_build(const tb_section *sections, size_t count, tb_text *out, tombac_error **error);
/* Validates `size` bytes and fills the table; the bytes must outlive it. `name` stands for the file in
 * messages. */
tombac_status tb_artifact_parse(
    const char *name, const void *bytes, size_t size, tb_artifact *artifact, tombac_error **error);
/* The first section of that kind, or NULL. */
const tb_section *tb_artifact_find(const tb_artifact *artifact, tb_section_kind kind);

#endif
