/* Bundles: several compiled kernels in one artifact (artifact.h), as `tombac build` writes them. */
#ifndef RT_BUNDLE_H
#define RT_BUNDLE_H

#include "runtime/compiler_client.h"

typedef struct rt_bundle rt_bundle;

/* Validates all of it and takes the bytes; the listing is filled from the index. */
tombac_status rt_bundle_open(
    const char *name, tb_text *bytes, rt_bundle **bundle, rt_listing *listing, tombac_error **error);
void rt_bundle_close(rt_bundle *bundle);
/* The artifact of the requested kernel, engine and constants for the best target that this processor runs. */
tombac_status rt_bundle_find(const rt_bundle *bundle, const rt_request *request, const void **bytes,
    size_t *size, tombac_error **error);

/* Code of metal4.1 and later, whose pointers are generic, does not go together with code of earlier versions (Apple: "Prevent ABI
 * mismatches"): refuses a kernel of the bundle that is on the other side than the bundle's own language version. */
tombac_status rt_bundle_check_standard(const rt_bundle *bundle, const rt_manifest *manifest, tombac_error **error);

#endif
