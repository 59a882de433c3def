/* The .tombac file: one compiled kernel (later: several), its reflection and its code.
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
    TB_SECTION_OBJECT = 2    /* ELF relocatable object for the engine and target that the manifest names */
} tb_section_kind;

typedef struct tb_section {
    tb_section_kind kind;
    const void *data;
    size_t size;
} tb_section;

enum { TB_MAX_SECTIONS = 16 };

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
