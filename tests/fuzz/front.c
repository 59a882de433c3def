/* libFuzzer target: the front end from tokens to rewritten text, on any bytes (what clang -E would hand over).
 *
 * Nothing may crash, leak or be undefined; the rewritten text has as many lines as the source, because positions
 * of diagnostics rest on that. The first byte chooses the language version. */
#include "compiler/front/rewrite.h"

#include <stdint.h>
#include <stdlib.h>

static size_t lines(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++) count += text[i] == '\n';
    return count;
}

static void rewrite(front_unit *unit, const front_kernel *kernel)
{
    rewriter r;
    tombac_error *error = NULL;
    tb_text text = {0};
    tombac_status status = front_rewrite_start(&r, unit, kernel, &error);
    if (status == TOMBAC_OK) status = front_check_features(&r, &error);
    if (status == TOMBAC_OK) status = front_check_spaces(&r, &error);
    if (status == TOMBAC_OK) {
        front_edit_emit(&r.edits, NULL, &text);
        if (lines(tb_text_string(&text), text.size) != lines(unit->list.text, unit->list.size)) abort();
        front_warn_unannotated(&r, &text);
    }
    tb_text_free(&text);
    tombac_error_release(error);
    front_rewrite_free(&r);
}

static tombac_status keep(const char *path, const tb_text *text, void *context, tombac_error **error)
{
    return TOMBAC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    front_unit *unit = calloc(1, sizeof *unit);
    if (!unit) return 0;
    tb_text_append(&unit->preprocessed, data + 1, size - 1);
    unit->main_path = strdup("f.metal");
    unit->standard = data[0] & 1 ? (front_standard){"metal4.1", 410} : (front_standard){"metal3.0", 300};
    unit->options.address_space_warnings = data[0] & 2;
    unit->files = calloc(1, sizeof *unit->files);
    if (unit->files) {
        unit->files[0] = (source_file){strdup("f.metal"), front_copy((const char *)data + 1, size - 1), size - 1};
        unit->file_count = 1;
    }
    lex_problem problem = {0};
    tombac_error *error = NULL;
    const char *text = tb_text_string(&unit->preprocessed);
    tombac_status status = front_lex(text, unit->preprocessed.size, &unit->list, &problem, &error);
    if (status == TOMBAC_OK) status = front_structure(&unit->list, &problem, &error);
    if (status == TOMBAC_OK) status = front_declare(unit, &error);
    if (status == TOMBAC_OK) {
        rewrite(unit, NULL);
        for (size_t i = 0; i < unit->kernel_count && i < 2; i++)
            rewrite(unit, front_kernel_find(unit, unit->kernels[i].name));
        if (unit->options.address_space_warnings) front_fix(unit, keep, NULL, &error);
    }
    tombac_error_release(error);
    front_close(unit);
    return 0;
}
