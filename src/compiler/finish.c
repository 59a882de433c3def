/* finish: makes the code that `compile --defer` left out.
 *
 * Takes the artifact of that compilation, or an artifact of its sections MANIFEST and REST, and writes one of MANIFEST and
 * OBJECT. Nothing else is read: the source may be gone. */
#include "artifact/artifact.h"
#include "base/file.h"
#include "compiler/cpu/cpu.h"
#include "compiler/verbs.h"

#include <jansson.h>
#include <string.h>

static tombac_status make(const tb_artifact *artifact, const tb_section *manifest, tb_text *object, tombac_error **error)
{
    const tb_section *rest = tb_artifact_find(artifact, TB_SECTION_REST);
    if (!rest) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "nothing was left out of this artifact");
    json_t *root = json_loadb(manifest->data, manifest->size, 0, NULL);
    const char *target = json_string_value(json_object_get(root, "target"));
    const char *engine = json_string_value(json_object_get(root, "engine"));
    tombac_status status;
    if (!target || !engine || strcmp(engine, "cpu"))
        status = tb_fail(error, TOMBAC_ERROR_ARTIFACT, "the artifact's manifest names no target of the cpu engine");
    else {
        cpu_set_llvm_options();
        status = cpu_finish(rest->data, rest->size, target, object, error);
    }
    json_decref(root);
    return status;
}

static tombac_status finish(const char *name, const void *bytes, size_t size, tb_text *file, tombac_error **error)
{
    tb_artifact artifact;
    tb_text object = {0};
    tombac_status status = tb_artifact_parse(name, bytes, size, &artifact, error);
    if (status != TOMBAC_OK) return status;
    const tb_section *manifest = tb_artifact_find(&artifact, TB_SECTION_MANIFEST);
    if (!manifest) return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "the artifact has no manifest");
    status = make(&artifact, manifest, &object, error);
    if (status == TOMBAC_OK) {
        tb_section sections[2] = {*manifest, {TB_SECTION_OBJECT, object.data, object.size}};
        status = tb_artifact_build(sections, 2, file, error);
    }
    tb_text_free(&object);
    return status;
}

tombac_status cc_finish(const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error)
{
    if (!request->output_path) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "finish needs -o FILE");
    tb_text read = {0}, file = {0};
    tombac_status status = request->source ? TOMBAC_OK : tb_file_read(request->path, 0, &read, error);
    const void *bytes = request->source ? request->source : read.data;
    if (status == TOMBAC_OK)
        status = finish(request->path, bytes, request->source ? request->source_size : read.size, &file, error);
    if (status == TOMBAC_OK) status = tb_file_write_atomic(request->output_path, file.data, file.size, error);
    tb_text_free(&read);
    tb_text_free(&file);
    return status;
}
