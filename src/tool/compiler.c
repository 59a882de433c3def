/* The compiler process; see compiler.h. */
#include "tool/compiler.h"

#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double time_limit = 600; /* seconds; the largest real files take less than one minute */

char *tool_compiler_path(tombac_error **error)
{
    const char *chosen = getenv("TOMBAC_CC");
    tb_text path = {0};
    if (chosen && *chosen) {
        tb_text_puts(&path, chosen);
    } else {
        char *folder = tb_folder_of_code((const void *)(uintptr_t)tool_compiler_path);
        tb_text_printf(&path, "%s/tombac-cc", folder ? folder : ".");
        free(folder);
    }
    char *taken = tb_text_take(&path);
    if (!taken) tb_fail_memory(error);
    return taken;
}

/* Collects the command line; `store` keeps the words that are made here. */
static tombac_status build_command(const char *verb, const tool_compile *compile, const tool_words *extra,
    const char *source, tool_words *words, tool_words *made, tombac_error **error)
{
    static const char *const maths[] = {"fast", "relaxed", "safe"};
    const tool_words *lists[] = {&compile->defines, &compile->include_folders};
    tombac_status status = tool_words_add(words, verb, error);
    for (size_t k = 0; k < 3 && status == TOMBAC_OK; k++) {
        size_t count = k < 2 ? lists[k]->count : compile->standard != NULL;
        for (size_t i = 0; i < count && status == TOMBAC_OK; i++) {
            tb_text word = {0};
            tb_text_printf(&word, "%s%s",
                k == 0   ? "-D"
                : k == 1 ? "-I"
                         : "-std=",
                k < 2 ? lists[k]->items[i] : compile->standard);
            char *taken = tb_text_take(&word);
            if (!taken) return tb_fail_memory(error);
            status = tool_words_add(made, taken, error);
            if (status != TOMBAC_OK)
                free(taken);
            else
                status = tool_words_add(words, taken, error);
        }
    }
    if (status == TOMBAC_OK) status = tool_words_add(words, "--math", error);
    if (status == TOMBAC_OK) status = tool_words_add(words, maths[compile->math], error);
    if (status == TOMBAC_OK && compile->debug) status = tool_words_add(words, "-g", error);
    for (size_t i = 0; extra && i < extra->count && status == TOMBAC_OK; i++)
        status = tool_words_add(words, extra->items[i], error);
    if (status == TOMBAC_OK && strcmp(source, "-") == 0) {
        status = tool_words_add(words, "--name", error);
        if (status == TOMBAC_OK) status = tool_words_add(words, "standard input", error);
    }
    if (status == TOMBAC_OK) status = tool_words_add(words, source, error);
    if (status == TOMBAC_OK) status = tool_words_add(words, NULL, error);
    return status;
}

/* What the compiler says for itself, behind the diagnostics that are clang's. */
static const char *last_word(const char *said)
{
    static const char own[] = "tombac-cc: ", word[] = "error: ";
    const char *found = NULL;
    for (const char *at = said; (at = strstr(at, own)); at += sizeof own - 1)
        if (at == said || at[-1] == '\n') found = at + sizeof own - 1;
    if (!found) return said;
    return strncmp(found, word, sizeof word - 1) == 0 ? found + sizeof word - 1 : found;
}

/* What a failed compiler run means. */
static tombac_status refused(const tb_process *process, tombac_error **error)
{
    tombac_status kind = process->exit_status == 3   ? TOMBAC_ERROR_SOURCE
                         : process->exit_status == 4 ? TOMBAC_ERROR_UNSUPPORTED
                         : process->exit_status == 2 ? TOMBAC_ERROR_ARGUMENT
                                                     : TOMBAC_ERROR_COMPILER;
    const char *said = tb_text_string(&process->errors);
    if (kind != TOMBAC_ERROR_SOURCE) said = last_word(said);
    if (*said) return tb_fail(error, kind, "%s", said);
    return tb_fail(error, kind, "the compiler '%s' failed with exit status %d and said nothing",
        process->arguments[0], process->exit_status);
}

static tombac_status start(const char *source, tb_process *process, tombac_error **error)
{
    tb_text input = {0};
    tombac_status status = TOMBAC_OK;
    if (strcmp(source, "-") == 0)
        status = tb_file_read("/dev/stdin", 0, &input, error);
    else if (access(source, R_OK) != 0)
        status = tb_fail_errno(error, "cannot read '%s'", source);
    if (status == TOMBAC_OK) {
        process->input = strcmp(source, "-") == 0 ? tb_text_string(&input) : NULL;
        process->input_size = input.size;
        process->time_limit = time_limit;
        status = tb_process_run(process, error);
        if (status == TOMBAC_OK && process->exit_status != 0) status = refused(process, error);
        if (status == TOMBAC_ERROR_NOT_FOUND && error && *error && !process->errors.size) {
            tombac_error_release(*error);
            status = tb_fail(error, TOMBAC_ERROR_COMPILER,
                "Tombac's compiler is not installed: '%s' cannot be run (set TOMBAC_CC to its path)",
                process->arguments[0]);
        }
    }
    tb_text_free(&input);
    process->input = NULL;
    return status;
}

tombac_status tool_compiler_run(const char *verb, const tool_compile *compile, const tool_words *extra,
    const char *source, tb_process *process, tombac_error **error)
{
    tool_words words = {0}, made = {0};
    *process = (tb_process){0};
    char *path = tool_compiler_path(error);
    if (!path) return TOMBAC_ERROR_MEMORY;
    tombac_status status = tool_words_add(&words, path, error);
    if (status == TOMBAC_OK) status = build_command(verb, compile, extra, source, &words, &made, error);
    if (status == TOMBAC_OK) {
        process->arguments = words.items;
        status = start(source, process, error);
        process->arguments = NULL;
    }
    if (status != TOMBAC_OK) {
        tb_text_free(&process->output);
        tb_text_free(&process->errors);
    }
    for (size_t i = 0; i < made.count; i++) free((char *)made.items[i]);
    tool_words_free(&made);
    tool_words_free(&words);
    free(path);
    return status;
}
