/* libFuzzer target: everything that reads a compiled kernel, on any bytes. The first byte chooses:
 *
 *   0  a .tombac file as it is            1  the same with its checksums made right, so that what lies behind them is reached
 *   2  a manifest (the reflection)        3  a compiler's listing
 *   4  the index of a bundle with kernels' sections that are cut from the rest of the input
 *   5  an object file for the loader
 *
 * Nothing may crash, leak or be undefined, whatever is accepted. What is built by our own writer must be read back equal. */
#include "artifact/artifact.h"
#include "runtime/bundle.h"
#include "runtime/loader/loader.h"
#include "runtime/manifest.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { HEADER = 32, ENTRY = 32 }; /* artifact.c */

static void parse(const void *bytes, size_t size)
{
    tb_artifact artifact;
    tombac_error *error = NULL;
    if (tb_artifact_parse("fuzz", bytes, size, &artifact, &error) == TOMBAC_OK) {
        unsigned sum = 0; /* every section must lie inside */
        for (size_t i = 0; i < artifact.section_count; i++)
            for (size_t k = 0; k < artifact.sections[i].size; k++)
                sum += ((const unsigned char *)artifact.sections[i].data)[k];
        if (sum == 1234567) abort();
        tb_text again = {0};
        if (tb_artifact_build(artifact.sections, artifact.section_count, &again, NULL) == TOMBAC_OK &&
            (again.size != size || memcmp(again.data, bytes, size) != 0))
            abort(); /* the layout is canonical */
        tb_text_free(&again);
    }
    tombac_error_release(error);
}

static void put64(unsigned char *p, uint64_t value)
{
    for (int i = 0; i < 8; i++) p[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get64(const unsigned char *p)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value |= (uint64_t)p[i] << 8 * i;
    return value;
}

static void parse_with_sums(const void *data, size_t size)
{
    unsigned char *bytes = size >= HEADER ? malloc(size) : NULL;
    if (!bytes) return;
    memcpy(bytes, data, size);
    memcpy(bytes, "TOMBAC\r\n\1\0\0\0", 12);
    bytes[13] = bytes[14] = bytes[15] = 0;
    put64(bytes + 16, size);
    size_t count = bytes[12], table = count * ENTRY;
    for (size_t i = 0; i < count && HEADER + table <= size; i++) {
        unsigned char *entry = bytes + HEADER + i * ENTRY;
        uint64_t offset = get64(entry + 8), length = get64(entry + 16);
        if (offset <= size && length <= size - offset) put64(entry + 24, XXH3_64bits(bytes + offset, length));
    }
    if (HEADER + table <= size) put64(bytes + 24, XXH3_64bits(bytes + HEADER, table));
    parse(bytes, size);
    free(bytes);
}

/* The index up to the first NUL byte; what follows is cut into equal sections, as many as the index' first byte says. */
static void open_bundle(const char *data, size_t size)
{
    const char *nul = memchr(data, 0, size);
    size_t index_size = nul ? (size_t)(nul - data) : size, rest = nul ? size - index_size - 1 : 0;
    tb_section sections[4] = {{TB_SECTION_INDEX, data, index_size}};
    size_t count = 1;
    for (; count < 4 && rest >= 3; count++)
        sections[count] = (tb_section){TB_SECTION_KERNEL, nul + 1 + (count - 1) * (rest / 3), rest / 3};
    tb_text file = {0};
    rt_bundle *bundle = NULL;
    rt_listing listing = {0};
    tombac_error *error = NULL;
    if (tb_artifact_build(sections, count, &file, NULL) == TOMBAC_OK &&
        rt_bundle_open("fuzz", &file, &bundle, &listing, &error) == TOMBAC_OK) {
        const void *bytes;
        size_t found;
        rt_request request = {.kernel = listing.kernel_count ? listing.kernels[0].name : "k", .engine = "cpu", .target = "x86-64"};
        tombac_error *missing = NULL;
        rt_bundle_find(bundle, &request, &bytes, &found, &missing);
        tombac_error_release(missing);
        rt_bundle_close(bundle);
        rt_listing_free(&listing);
    }
    tombac_error_release(error);
    tb_text_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    tombac_error *error = NULL;
    rt_manifest manifest = {0};
    rt_listing listing = {0};
    rt_image *image = NULL;
    switch (*data++ % 6) {
    case 0: parse(data, size - 1); break;
    case 1: parse_with_sums(data, size - 1); break;
    case 2:
        if (rt_manifest_parse("fuzz", data, size - 1, &manifest, &error) == TOMBAC_OK) rt_manifest_free(&manifest);
        break;
    case 3:
        if (rt_listing_parse("fuzz", data, size - 1, &listing, &error) == TOMBAC_OK) rt_listing_free(&listing);
        break;
    case 4: open_bundle((const char *)data, size - 1); break;
    default:
        if (rt_image_load("fuzz", data, size - 1, NULL, 0, &image, &error) == TOMBAC_OK) rt_image_unload(image);
    }
    tombac_error_release(error);
    return 0;
}
