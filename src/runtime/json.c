/* Typed access to JSON; see json.h. */
#include "runtime/json.h"

#include <stdlib.h>
#include <string.h>

json_t *rt_json_parse(rt_json *json, const void *text, size_t size)
{
    if (json->status != TOMBAC_OK) return NULL;
    json_error_t why;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (root && json_is_object(root)) return root;
    /* Where an allocation failed, jansson mostly gives no reason at all. */
    bool no_memory = !root && (!why.text[0] || json_error_code(&why) == json_error_out_of_memory);
    if (no_memory)
        json->status = tb_fail_memory(json->error);
    else
        json->status = tb_fail(json->error, TOMBAC_ERROR_ARTIFACT, "%s: not a JSON object: %s", json->name,
            root ? "another type" : why.text);
    json_decref(root);
    return NULL;
}

void rt_json_fail(rt_json *json, const char *key, const char *problem)
{
    if (json->status != TOMBAC_OK) return;
    json->status = tb_fail(json->error, TOMBAC_ERROR_ARTIFACT, "%s: field '%s' %s", json->name, key, problem);
}

static void fail_memory(rt_json *json)
{
    if (json->status == TOMBAC_OK) json->status = tb_fail_memory(json->error);
}

char *rt_json_string(rt_json *json, const json_t *object, const char *key)
{
    const char *string = json_string_value(json_object_get(object, key));
    if (!string) {
        rt_json_fail(json, key, "is not a string");
        return NULL;
    }
    if (json->status != TOMBAC_OK) return NULL;
    char *copy = strdup(string);
    if (!copy) fail_memory(json);
    return copy;
}

static uint64_t to_unsigned(rt_json *json, const json_t *value, const char *key, uint64_t max)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0) {
        rt_json_fail(json, key, "is not a non-negative integer");
        return 0;
    }
    uint64_t number = (uint64_t)json_integer_value(value);
    if (number <= max) return number;
    rt_json_fail(json, key, "is out of range");
    return 0;
}

uint64_t rt_json_unsigned(rt_json *json, const json_t *object, const char *key, uint64_t max)
{
    return to_unsigned(json, json_object_get(object, key), key, max);
}

uint64_t rt_json_unsigned_or_0(rt_json *json, const json_t *object, const char *key, uint64_t max)
{
    const json_t *value = json_object_get(object, key);
    return !value || json_is_null(value) ? 0 : to_unsigned(json, value, key, max);
}

bool rt_json_bool(rt_json *json, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_boolean(value)) rt_json_fail(json, key, "is not true or false");
    return json_is_true(value);
}

uint64_t rt_json_hash(rt_json *json, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) {
        rt_json_fail(json, key, "is not a hash of 16 hexadecimal digits");
        return 0;
    }
    return strtoull(text, NULL, 16);
}

const json_t *rt_json_array(rt_json *json, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value)) return NULL;
    if (json_is_array(value)) return value;
    rt_json_fail(json, key, "is not an array");
    return NULL;
}

void *rt_json_elements(
    rt_json *json, const json_t *array, const char *key, size_t element_size, size_t *count)
{
    *count = 0;
    size_t size = array ? json_array_size(array) : 0;
    if (size == 0 || json->status != TOMBAC_OK) return NULL;
    for (size_t i = 0; i < size; i++) {
        if (json_is_object(json_array_get(array, i))) continue;
        rt_json_fail(json, key, "has an element that is not an object");
        return NULL;
    }
    void *elements = calloc(size, element_size);
    if (elements)
        *count = size;
    else
        fail_memory(json);
    return elements;
}
