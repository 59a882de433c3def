/* Typed, checked access to JSON objects. The first thing that is wrong sticks in the reader as an error that
 * names the text and the field; later calls then return zero values, so that a whole struct is read and
 * checked once at the end. */
#ifndef RT_JSON_H
#define RT_JSON_H

#include "base/error.h"

#include <jansson.h>
#include <stdint.h>

typedef struct rt_json {
    const char *name; /* of the text, for messages */
    tombac_status status;
    tombac_error **error;
} rt_json;

/* Parses a text whose root is an object; the caller json_decref()s it. NULL on failure. */
json_t *rt_json_parse(rt_json *json, const void *text, size_t size);
/* Records TOMBAC_ERROR_ARTIFACT: "NAME: field 'KEY' PROBLEM". */
void rt_json_fail(rt_json *json, const char *key, const char *problem);

/* The value must be there and of the type. */
char *rt_json_string(
    rt_json *json, const json_t *object, const char *key); /* a heap copy, or NULL after a failure */
uint64_t rt_json_unsigned(rt_json *json, const json_t *object, const char *key, uint64_t max);
bool rt_json_bool(rt_json *json, const json_t *object, const char *key);
/* 16 hexadecimal digits in a string. */
uint64_t rt_json_hash(rt_json *json, const json_t *object, const char *key);

/* Absent or null means 0 (NULL). */
uint64_t rt_json_unsigned_or_0(rt_json *json, const json_t *object, const char *key, uint64_t max);
const json_t *rt_json_array(rt_json *json, const json_t *object, const char *key);

/* Allocates zeroed memory for the elements of an array (which may be NULL), all of which must be objects. */
void *rt_json_elements(
    rt_json *json, const json_t *array, const char *key, size_t element_size, size_t *count);

#endif
