/* Command lines; see options.h. */
#include "tool/options.h"

#include "tool/cursor.h"
#include "tool/suggest.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

tombac_status tool_words_add(tool_words *words, const char *word, tombac_error **error)
{
    if (words->count == words->capacity) {
        size_t capacity = words->capacity ? 2 * words->capacity : 8;
        const char **items = realloc(words->items, capacity * sizeof *items);
        if (!items) return tb_fail_memory(error);
        words->items = items;
        words->capacity = capacity;
    }
    words->items[words->count++] = word;
    return TOMBAC_OK;
}

void tool_words_free(tool_words *words)
{
    free(words->items);
    *words = (tool_words){0};
}

/* ---- Compiler options ---- */

static tombac_status parse_math(const char *text, tombac_math *math, tombac_error **error)
{
    static const char *const names[] = {"fast", "relaxed", "safe"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], text) != 0) continue;
        *math = (tombac_math)i;
        return TOMBAC_OK;
    }
    return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--math is fast, relaxed or safe, not '%s'", text);
}

/* A macro says it to the compiler (docs/command.md), so it is one for the library and its cache too. */
static tombac_status add_family(tool_compile *compile, const char *text, tombac_error **error)
{
    static const char *const defines[] = {
        "__TOMBAC_APPLE_FAMILY__=7", "__TOMBAC_APPLE_FAMILY__=8", "__TOMBAC_APPLE_FAMILY__=9"};
    if (strlen(text) == 6 && !strncmp(text, "apple", 5) && text[5] >= '7' && text[5] <= '9')
        return tool_words_add(&compile->defines, defines[text[5] - '7'], error);
    return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--gpu-family is apple7, apple8 or apple9, not '%s'", text);
}

tombac_status tool_compile_option(
    tool_compile *compile, int option, const char *value, bool *taken, tombac_error **error)
{
    *taken = true;
    switch (option) {
    case 'D': return tool_words_add(&compile->defines, value, error);
    case 'I': return tool_words_add(&compile->include_folders, value, error);
    case TOOL_OPTION_STANDARD: compile->standard = value; return TOMBAC_OK;
    case TOOL_OPTION_MATH: return parse_math(value, &compile->math, error);
    case TOOL_OPTION_FAMILY: return add_family(compile, value, error);
    default: *taken = false; return TOMBAC_OK;
    }
}

void tool_compile_free(tool_compile *compile)
{
    tool_words_free(&compile->defines);
    tool_words_free(&compile->include_folders);
}

tombac_compile_options tool_compile_options(const tool_compile *compile)
{
    return (tombac_compile_options){.standard = compile->standard,
        .math = compile->math,
        .defines = compile->defines.items,
        .define_count = compile->defines.count,
        .include_folders = compile->include_folders.items,
        .include_folder_count = compile->include_folders.count,
        .no_cache = compile->no_cache};
}

/* ---- Wrong options ---- */

static bool is_known(const char *name, size_t length, const struct option *known)
{
    for (const struct option *o = known; o->name; o++)
        if (strlen(o->name) == length && memcmp(o->name, name, length) == 0) return true;
    return false;
}

tombac_status tool_option_error(
    const char *verb, int code, char *const *arguments, const struct option *known, tombac_error **error)
{
    const char *word = arguments[optind - 1];
    if (code == ':') return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "option '%s' needs a value", word);
    if (strncmp(word, "--", 2) != 0) {
        return tb_fail(
            error, TOMBAC_ERROR_ARGUMENT, "unknown option '-%c'; see 'tombac %s --help'", optopt, verb);
    }
    size_t length = strcspn(word + 2, "=");
    if (is_known(word + 2, length, known))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "option '--%.*s' takes no value", (int)length, word + 2);
    char name[64];
    if (length >= sizeof name) length = sizeof name - 1;
    memcpy(name, word + 2, length);
    name[length] = 0;
    tool_suggestion suggestion = {.name = name};
    for (const struct option *o = known; o->name; o++) tool_suggest_consider(&suggestion, o->name);
    if (suggestion.best) {
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "unknown option '--%s'; did you mean '--%s'?", name,
            suggestion.best);
    }
    return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "unknown option '--%s'; see 'tombac %s --help'", name, verb);
}

/* ---- Sizes ---- */

tombac_status tool_size3_parse(const char *option, const char *text, tombac_size3 *size, tombac_error **error)
{
    tool_cursor c = {text, text + strlen(text)};
    size_t sizes[3] = {1, 1, 1}, count = 0;
    do {
        if (count == 3 || !tool_cursor_size(&c, &sizes[count])) {
            return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
                "%s takes one to three sizes, as in %s 64,32; not '%s'", option, option, text);
        }
        if (sizes[count] > UINT32_MAX) {
            return tb_fail(error, TOMBAC_ERROR_GEOMETRY,
                "%s %s: %zu is more than 4294967295, the largest size in Metal", option, text, sizes[count]);
        }
        count++;
    } while (tool_cursor_take(&c, ',') || tool_cursor_take(&c, 'x'));
    if (!tool_cursor_done(&c)) {
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s takes one to three sizes, as in %s 64,32; not '%s'",
            option, option, text);
    }
    *size = (tombac_size3){(uint32_t)sizes[0], (uint32_t)sizes[1], (uint32_t)sizes[2]};
    return TOMBAC_OK;
}

tombac_status tool_size_parse(
    const char *option, const char *text, size_t limit, size_t *size, tombac_error **error)
{
    tool_cursor c = {text, text + strlen(text)};
    if (!tool_cursor_size(&c, size) || !tool_cursor_done(&c))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s takes a number, not '%s'", option, text);
    if (*size > limit)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s is at most %zu, not %s", option, limit, text);
    return TOMBAC_OK;
}

const char *tool_assignment(const char *word)
{
    const char *at = word;
    while (tool_is_word(*at)) at++;
    return at > word && *at == '=' ? at : NULL;
}
