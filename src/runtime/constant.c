/* Function constants; see constant.h. */
#include "runtime/constant.h"

#include <stdlib.h>
#include <string.h>

static const rt_constant *find(const rt_listing *listing, const tombac_constant *wanted)
{
    for (size_t i = 0; i < listing->constant_count; i++) {
        const rt_constant *constant = &listing->constants[i];
        if (wanted->name ? strcmp(constant->name, wanted->name) == 0 : constant->index == wanted->index)
            return constant;
    }
    return NULL;
}

static tombac_status not_found(const char *kernel, const tombac_constant *wanted, tombac_error **error)
{
    tombac_status status =
        wanted->name ? tb_fail(error, TOMBAC_ERROR_NOT_FOUND,
                           "kernel '%s': there is no function constant '%s'", kernel, wanted->name)
                     : tb_fail(error, TOMBAC_ERROR_NOT_FOUND,
                           "kernel '%s': there is no function constant of index %u", kernel, wanted->index);
    tb_error_set_kernel(error, kernel);
    return status;
}

/* A vector of three occupies four elements in memory; the fourth does not count and may be left out. */
static bool right_size(const rt_constant *constant, size_t size)
{
    size_t scalar = tombac_type_size(constant->type), length = constant->vector_length;
    if (scalar == 0) return size > 0 && size <= sizeof((rt_value *)0)->bytes;
    return size == scalar * length || (length == 3 && size == scalar * 4);
}

static tombac_status take(const rt_constant *constant, const char *kernel, const tombac_constant *given,
    rt_value *value, tombac_error **error)
{
    if (given->data && right_size(constant, given->size)) {
        size_t scalar = tombac_type_size(constant->type);
        value->index = constant->index;
        value->size = scalar ? scalar * constant->vector_length : given->size;
        memcpy(value->bytes, given->data, value->size);
        return TOMBAC_OK;
    }
    tombac_status status;
    if (!given->data)
        status = tb_fail(error, TOMBAC_ERROR_ARGUMENT, "kernel '%s': function constant '%s' has no data",
            kernel, constant->name);
    else
        status = tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "kernel '%s': function constant '%s' is a %s of %zu bytes, not %zu", kernel, constant->name,
            constant->type_name, tombac_type_size(constant->type) * constant->vector_length, given->size);
    tb_error_set_kernel(error, kernel);
    return status;
}

static int by_index(const void *left, const void *right)
{
    uint32_t a = ((const rt_value *)left)->index, b = ((const rt_value *)right)->index;
    return (a > b) - (a < b);
}

tombac_status rt_constant_values(const rt_listing *listing, const char *kernel,
    const tombac_constant *constants, size_t count, rt_value **values, tombac_error **error)
{
    if (count == 0) return TOMBAC_OK;
    rt_value *made = calloc(count, sizeof *made);
    if (!made) return tb_fail_memory(error);
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < count && status == TOMBAC_OK; i++) {
        const rt_constant *constant = find(listing, &constants[i]);
        status = constant ? take(constant, kernel, &constants[i], &made[i], error)
                          : not_found(kernel, &constants[i], error);
    }
    if (status == TOMBAC_OK) qsort(made, count, sizeof *made, by_index);
    for (size_t i = 1; i < count && status == TOMBAC_OK; i++) {
        if (made[i].index != made[i - 1].index) continue;
        status = tb_fail(error, TOMBAC_ERROR_ARGUMENT, "kernel '%s': function constant %u is given twice",
            kernel, made[i].index);
        tb_error_set_kernel(error, kernel);
    }
    if (status == TOMBAC_OK)
        *values = made;
    else
        free(made);
    return status;
}
