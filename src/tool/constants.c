/* Function constants; see constants.h. */
#include "tool/constants.h"

#include "tool/suggest.h"
#include "tool/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The declared constant of that name, or of that index where the name begins with a digit. */
static bool find(const tombac_library *library, const char *name, tombac_constant_info *constant)
{
    bool numbered = name[0] >= '0' && name[0] <= '9';
    char *end = NULL;
    unsigned long index = numbered ? strtoul(name, &end, 10) : 0;
    if (numbered && *end) return false;
    for (size_t i = 0; i < tombac_library_constant_count(library); i++) {
        if (tombac_library_get_constant(library, i, constant, NULL) != TOMBAC_OK) return false;
        if (numbered ? constant->index == index : strcmp(constant->name, name) == 0) return true;
    }
    return false;
}

static tombac_status unknown(const tombac_library *library, const char *name, tombac_error **error)
{
    size_t count = tombac_library_constant_count(library);
    tombac_constant_info constant;
    tool_suggestion suggestion = {.name = name};
    tb_text text = {0};
    for (size_t i = 0; i < count; i++)
        if (tombac_library_get_constant(library, i, &constant, NULL) == TOMBAC_OK)
            tool_suggest_consider(&suggestion, constant.name);
    tool_suggest_append(&suggestion, &text);
    if (count == 0)
        tb_text_puts(&text, "; it has none at all");
    else if (!suggestion.best && count <= 20) {
        tb_text_puts(&text, "; it has");
        for (size_t i = 0; i < count; i++) {
            if (tombac_library_get_constant(library, i, &constant, NULL) == TOMBAC_OK)
                tb_text_printf(&text, "%s %s (index %u)", i ? "," : "", constant.name, constant.index);
        }
    }
    tombac_status status = tb_fail(error, TOMBAC_ERROR_NOT_FOUND,
        "the source has no function constant '%s'%s", name, tb_text_string(&text));
    tb_text_free(&text);
    return status;
}

/* One NAME=VALUE. */
static tombac_status read_one(
    const tombac_library *library, const char *word, tombac_constant *made, tombac_error **error)
{
    const char *equals = tool_assignment(word);
    if (!equals) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--set takes CONSTANT=VALUE, not '%s'", word);
    char name[256], what[300];
    size_t length = (size_t)(equals - word);
    if (length >= sizeof name)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--set: the name in '%s' is too long", word);
    memcpy(name, word, length);
    name[length] = 0;
    tombac_constant_info constant;
    if (!find(library, name, &constant)) return unknown(library, name, error);
    snprintf(what, sizeof what, "constant '%s'", constant.name);
    tool_slot slot = {.what = what,
        .type_name = constant.type_name,
        .type = constant.type,
        .vector_length = constant.vector_length ? constant.vector_length : 1};
    tool_array value;
    tombac_status status = tool_value_parse(&slot, equals + 1, &value, error);
    if (status != TOMBAC_OK) return status;
    if (value.type != slot.type || value.count != 1 || value.vector_length != slot.vector_length) {
        status = tb_fail(
            error, TOMBAC_ERROR_ARGUMENT, "%s is a %s; '%s' is not", what, slot.type_name, equals + 1);
        tool_array_free(&value);
        return status;
    }
    made->index = constant.index;
    made->data = value.data; /* handed over */
    made->size = value.size;
    return TOMBAC_OK;
}

static tombac_status read_all(
    const tool_words *words, const tombac_library *library, tool_constants *constants, tombac_error **error)
{
    constants->items = calloc(words->count, sizeof *constants->items);
    if (!constants->items) return tb_fail_memory(error);
    for (size_t i = 0; i < words->count; i++) {
        tombac_constant *made = &constants->items[i];
        tombac_status status = read_one(library, words->items[i], made, error);
        if (status != TOMBAC_OK) return status;
        constants->count = i + 1;
        for (size_t k = 0; k < i; k++) {
            if (constants->items[k].index == made->index)
                return tb_fail(
                    error, TOMBAC_ERROR_ARGUMENT, "--set %s: this constant is set twice", words->items[i]);
        }
    }
    return TOMBAC_OK;
}

tombac_status tool_constants_read(
    const tool_words *words, const tombac_library *library, tool_constants *constants, tombac_error **error)
{
    *constants = (tool_constants){0};
    if (!words->count) return TOMBAC_OK;
    tombac_status status = read_all(words, library, constants, error);
    if (status != TOMBAC_OK) tool_constants_free(constants);
    return status;
}

void tool_constants_free(tool_constants *constants)
{
    for (size_t i = 0; i < constants->count; i++) free((void *)constants->items[i].data);
    free(constants->items);
    *constants = (tool_constants){0};
}
