/* Building and checking .tombac files; see artifact.h. The layout is canonical (sections in table order, each
 * at the next multiple of 64, zeros between), so a reader compares offsets instead of testing for overlaps.
 */
#include "artifact/artifact.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const char magic[8] = {'T', 'O', 'M', 'B', 'A', 'C', '\r', '\n'};

/* Header: magic, u32 version, u32 section count, u64 file size, u64 XXH3-64 of the section table.
 * Table entry: u32 kind, u32 zero, u64 offset, u64 size, u64 XXH3-64 of the content. */
enum { HEADER_SIZE = 32, ENTRY_SIZE = 32, ALIGNMENT = 64 };

static void put32(unsigned char *p, uint32_t value)
{
    for (int i = 0; i < 4; i++) p[i] = (unsigned char)(value >> 8 * i);
}

static void put64(unsigned char *p, uint64_t value)
{
    for (int i = 0; i < 8; i++) p[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get64(const unsigned char *p)
{
    return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static uint64_t align(uint64_t offset)
{
    return (offset + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

static void pad(tb_text *out, size_t size)
{
    static const char zeros[ALIGNMENT];
    tb_text_append(out, zeros, size);
}

tombac_status tb_artifact_build(const tb_section *sections, size_t count, tb_text *out, tombac_error **error)
{
    unsigned char head[HEADER_SIZE + TB_MAX_SECTIONS * ENTRY_SIZE] = {0};
    if (count == 0 || count > TB_MAX_SECTIONS)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "an artifact has 1 to %d sections, not %zu",
            TB_MAX_SECTIONS, count);
    uint64_t head_size = HEADER_SIZE + count * ENTRY_SIZE, offset = head_size;
    for (size_t i = 0; i < count; i++) {
        unsigned char *entry = head + HEADER_SIZE + i * ENTRY_SIZE;
        if (sections[i].size > SIZE_MAX / 32) return tb_fail_memory(error);
        offset = align(offset);
        put32(entry, (uint32_t)sections[i].kind);
        put64(entry + 8, offset);
        put64(entry + 16, sections[i].size);
        put64(entry + 24, XXH3_64bits(sections[i].data, sections[i].size));
        offset += sections[i].size;
    }
    memcpy(head, magic, sizeof magic);
    put32(head + 8, TB_ARTIFACT_VERSION);
    put32(head + 12, (uint32_t)count);
    put64(head + 16, offset);
    put64(head + 24, XXH3_64bits(head + HEADER_SIZE, count * ENTRY_SIZE));
    tb_text_append(out, head, head_size);
    uint64_t written = head_size;
    for (size_t i = 0; i < count; i++) {
        pad(out, align(written) - written);
        tb_text_append(out, sections[i].data, sections[i].size);
        written = align(written) + sections[i].size;
    }
    return out->bad ? tb_fail_memory(error) : TOMBAC_OK;
}

static tombac_status damaged(const char *name, const char *what, tombac_error **error)
{
    return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "'%s' is damaged: %s", name, what);
}

static tombac_status check_header(
    const char *name, const unsigned char *bytes, size_t size, size_t *count, tombac_error **error)
{
    if (size < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0)
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "'%s' is not a Tombac artifact", name);
    if (size < HEADER_SIZE) return damaged(name, "truncated in the header", error);
    uint32_t version = get32(bytes + 8);
    if (version != TB_ARTIFACT_VERSION)
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT,
            "'%s' has artifact format %u; this version of Tombac reads format %d", name, version,
            TB_ARTIFACT_VERSION);
    uint64_t file_size = get64(bytes + 16);
    if (file_size > size)
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "'%s' is truncated: %zu of %llu bytes", name, size,
            (unsigned long long)file_size);
    if (file_size < size) return damaged(name, "bytes after its end", error);
    *count = get32(bytes + 12);
    if (*count == 0 || *count > TB_MAX_SECTIONS || HEADER_SIZE + *count * ENTRY_SIZE > size)
        return damaged(name, "bad number of sections", error);
    if (get64(bytes + 24) != XXH3_64bits(bytes + HEADER_SIZE, *count * ENTRY_SIZE))
        return damaged(name, "its section table changed", error);
    return TOMBAC_OK;
}

static bool zeros(const unsigned char *bytes, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++) {
        if (bytes[i]) return false;
    }
    return true;
}

tombac_status tb_artifact_parse(
    const char *name, const void *file, size_t size, tb_artifact *artifact, tombac_error **error)
{
    const unsigned char *bytes = file;
    size_t count = 0;
    tombac_status status = check_header(name, bytes, size, &count, error);
    if (status != TOMBAC_OK) return status;
    tb_artifact made = {.section_count = count};
    uint64_t end = HEADER_SIZE + count * ENTRY_SIZE;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *entry = bytes + HEADER_SIZE + i * ENTRY_SIZE;
        uint64_t offset = get64(entry + 8), section_size = get64(entry + 16);
        if (get32(entry + 4) != 0 || offset != align(end) || offset > size || section_size > size - offset)
            return damaged(name, "a section lies outside it", error);
        if (!zeros(bytes, end, offset)) return damaged(name, "bytes between its sections", error);
        if (get64(entry + 24) != XXH3_64bits(bytes + offset, section_size))
            return damaged(name, "a section's content changed", error);
        made.sections[i] = (tb_section){(tb_section_kind)get32(entry), bytes + offset, section_size};
        end = offset + section_size;
    }
    if (end != size) return damaged(name, "bytes after its last section", error);
    *artifact = made;
    return TOMBAC_OK;
}

const tb_section *tb_artifact_find(const tb_artifact *artifact, tb_section_kind kind)
{
    for (size_t i = 0; i < artifact->section_count; i++) {
        if (artifact->sections[i].kind == kind) return &artifact->sections[i];
    }
    return NULL;
}
