/* Function constants; see constants.h. */
#include "tool/constants.h"

#include "tool/suggest.h"
#include "tool/value.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* The declared constant of that name, or of that index where the name begins with a digit. */
static const json_t *find(const json_t *declared, const char *name)
{
    size_t i;
    const json_t *constant;
    bool numbered = name[0] >= '0' && name[0] <= '9';
    char *end = NULL;
    unsigned long index = numbered ? strtoul(name, &end, 10) : 0;
    if (numbered && *end) return NULL;
    json_array_foreach(declared, i, constant) {
        if (numbered ? json_integer_value(json_object_get(constant, "index")) == (json_int_t)index
                     : strcmp(string_of(constant, "name"), name) == 0) {
            return constant;
        }
    }
    return NULL;
}

static tombac_status unknown(const json_t *declared, const char *name, tombac_error **error)
{
    size_t i;
    const json_t *constant;
    tool_suggestion suggestion = {.name = name};
    tb_text text = {0};
    json_array_foreach(declared, i, constant) tool_suggest_consider(&suggestion, string_of(constant, "name"));
    tool_suggest_append(&suggestion, &text);
    if (!suggestion.best && json_array_size(declared) && json_array_size(declared) <= 20) {
        tb_text_puts(&text, "; it has");
        json_array_foreach(declared, i, constant) {
            tb_text_printf(&text, "%s %s (index %lld)", i ? "," : "", string_of(constant, "name"),
                (long long)json_integer_value(json_object_get(constant, "index")));
        }
    }
    tombac_status status = tb_fail(error, TOMBAC_ERROR_NOT_FOUND, "the source has no function constant '%s'%s", name,
        json_array_size(declared) ? tb_text_string(&text) : "; it has none at all");
    tb_text_free(&text);
    return status;
}

/* One NAME=VALUE. */
static tombac_status read_one(const json_t *declared, const char *word, tombac_constant *made, tombac_error **error)
{
    const char *equals = tool_assignment(word);
    if (!equals) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--set takes CONSTANT=VALUE, not '%s'", word);
    char name[256], what[300];
    size_t length = (size_t)(equals - word);
    if (length >= sizeof name) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--set: the name in '%s' is too long", word);
    memcpy(name, word, length);
    name[length] = 0;
    const json_t *constant = find(declared, name);
    if (!constant) return unknown(declared, name, error);
    snprintf(what, sizeof what, "constant '%s'", string_of(constant, "name"));
    const char *scalar = string_of(constant, "scalar");
    tool_slot slot = {.what = what, .type_name = string_of(constant, "type"),
        .type = tool_type_from_name(scalar, strlen(scalar)),
        .vector_length = (uint32_t)json_integer_value(json_object_get(constant, "vector_length"))};
    if (slot.vector_length == 0) slot.vector_length = 1;
    tool_array value;
    tombac_status status = tool_value_parse(&slot, equals + 1, &value, error);
    if (status != TOMBAC_OK) return status;
    if (value.type != slot.type || value.count != 1 || value.vector_length != slot.vector_length) {
        status = tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s is a %s; '%s' is not", what, slot.type_name, equals + 1);
        tool_array_free(&value);
        return status;
    }
    made->index = (uint32_t)json_integer_value(json_object_get(constant, "index"));
    made->data = value.data; /* handed over */
    made->size = value.size;
    return TOMBAC_OK;
}

static tombac_status read_all(const tool_words *words, const json_t *declared, tool_constants *constants,
    tombac_error **error)
{
    constants->items = calloc(words->count, sizeof *constants->items);
    if (!constants->items) return tb_fail_memory(error);
    for (size_t i = 0; i < words->count; i++) {
        tombac_constant *made = &constants->items[i];
        tombac_status status = read_one(declared, words->items[i], made, error);
        if (status != TOMBAC_OK) return status;
        constants->count = i + 1;
        for (size_t k = 0; k < i; k++) {
            if (constants->items[k].index == made->index)
                return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--set %s: this constant is set twice", words->items[i]);
        }
    }
    return TOMBAC_OK;
}

tombac_status tool_constants_read(const tool_words *words, const tool_compile *compile, const char *source,
    tool_constants *constants, tombac_error **error)
{
    *constants = (tool_constants){0};
    if (!words->count) return TOMBAC_OK;
    tb_process process;
    tombac_status status = tool_compiler_run("list", compile, NULL, source, &process, error);
    if (status != TOMBAC_OK) return status;
    json_t *root = json_loads(tb_text_string(&process.output), 0, NULL), *declared = json_object_get(root, "constants");
    if (!json_is_array(declared)) status = tb_fail(error, TOMBAC_ERROR_COMPILER, "the compiler's list cannot be read");
    else status = read_all(words, declared, constants, error);
    if (status != TOMBAC_OK) tool_constants_free(constants);
    json_decref(root);
    tb_text_free(&process.output);
    tb_text_free(&process.errors);
    return status;
}

void tool_constants_free(tool_constants *constants)
{
    for (size_t i = 0; i < constants->count; i++) free((void *)constants->items[i].data);
    free(constants->items);
    *constants = (tool_constants){0};
}
