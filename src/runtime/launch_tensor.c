/* Tensor arguments: a buffer, and a layout (extents and strides, 64 bits each) that is bound as bytes to the
 * argument that the manifest keeps for it. What is bound lies in the buffer altogether, so that kernels read
 * and write nothing else as long as they stay within the extents. */
#include "runtime/launch.h"

#include <stdlib.h>
#include <string.h>

/* "kernel 'k': argument 'a' [[buffer(0)]] ..." */
static tombac_status fail(const tombac_launch *launch, const rt_argument *a, tombac_error **error,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

static tombac_status fail(
    const tombac_launch *launch, const rt_argument *a, tombac_error **error, const char *format, ...)
{
    const char *kernel = launch->kernel->manifest.kernel;
    tb_text what = {0};
    va_list values;
    va_start(values, format);
    tb_text_vprintf(&what, format, values);
    va_end(values);
    tombac_status status = what.bad ? tb_fail_memory(error)
                                    : tb_fail(error, TOMBAC_ERROR_BINDING, "kernel '%s': argument '%s' [[buffer(%u)]] %s",
                                          kernel, a->name, a->index, what.data);
    tb_text_free(&what);
    tb_error_set_kernel(error, kernel);
    return status;
}

static tombac_status check_shape(
    const tombac_launch *launch, const rt_argument *a, const tombac_tensor *t, tombac_error **error)
{
    if (t->rank != a->rank)
        return fail(launch, a, error, "is a tensor of %u dimensions; the bound one has %u", a->rank, t->rank);
    if (t->type != a->type)
        return fail(launch, a, error, "is a tensor of %s; the bound one is of %s", tombac_type_name(a->type),
            tombac_type_name(t->type));
    for (uint32_t r = 0; r < a->rank; r++) {
        if (a->extents[r] != SIZE_MAX && a->extents[r] != t->extents[r])
            return fail(launch, a, error, "has the extent %zu in dimension %u; the bound tensor has %zu",
                a->extents[r], r, t->extents[r]);
        if (t->extents[r] > a->most)
            return fail(launch, a, error, "counts extents up to %llu; the bound tensor has %zu in dimension %u",
                (unsigned long long)a->most, t->extents[r], r);
    }
    return TOMBAC_OK;
}

/* numbers: extents, then strides. *end: elements from the first to behind the last; SIZE_MAX if that overflows. */
static void lay_out(const tombac_tensor *t, uint64_t *numbers, size_t *end)
{
    size_t packed = 1, last = 0;
    bool overflow = false, empty = false;
    for (uint32_t r = 0; r < t->rank; r++) {
        size_t extent = t->extents[r], stride = t->strides ? t->strides[r] : packed, reach;
        numbers[r] = extent;
        numbers[t->rank + r] = stride;
        empty |= extent == 0;
        overflow |= __builtin_mul_overflow(packed, extent, &packed) && !t->strides;
        overflow |= __builtin_mul_overflow(extent ? extent - 1 : 0, stride, &reach);
        overflow |= __builtin_add_overflow(last, reach, &last);
    }
    overflow |= last == SIZE_MAX;
    *end = empty ? 0 : overflow ? SIZE_MAX : last + 1;
}

static rt_bytes *make_layout(const uint64_t *numbers, size_t size)
{
    rt_bytes *bytes = aligned_alloc(64, (sizeof *bytes + size + 63) / 64 * 64);
    if (!bytes) return NULL;
    atomic_init(&bytes->references, 1);
    bytes->size = size;
    memcpy(bytes->data, numbers, size);
    return bytes;
}

tombac_status tombac_launch_set_tensor(tombac_launch *launch, uint32_t index, tombac_buffer *buffer,
    size_t offset, const tombac_tensor *tensor, tombac_error **error)
{
    tombac_status status = rt_launch_check_changeable(launch, __func__, error);
    if (status != TOMBAC_OK) return status;
    if (!buffer) return rt_missing(__func__, "buffer", error);
    if (!tensor || !tensor->extents) return rt_missing(__func__, "tensor", error);
    if (tensor->rank == 0 || tensor->rank > TOMBAC_MAX_TENSOR_RANK)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s: a tensor has 1 to %d dimensions, not %u", __func__,
            TOMBAC_MAX_TENSOR_RANK, tensor->rank);
    rt_slot slot = {.set = true, .is_tensor = true, .buffer = tombac_buffer_retain(buffer), .offset = offset};
    ptrdiff_t found;
    status = rt_launch_find_bindable(launch, index, &slot, &found, error);
    const rt_argument *a = status == TOMBAC_OK ? &launch->kernel->manifest.arguments[found] : NULL;
    uint64_t numbers[2 * TOMBAC_MAX_TENSOR_RANK];
    size_t end = 0, size = 0;
    if (status == TOMBAC_OK && a->active) status = check_shape(launch, a, tensor, error);
    if (status == TOMBAC_OK) lay_out(tensor, numbers, &end);
    if (status == TOMBAC_OK && a->active &&
        (__builtin_mul_overflow(end, tombac_type_size(tensor->type), &size) || offset > buffer->size ||
            size > buffer->size - offset))
        status = fail(launch, a, error, "does not fit: the tensor ends %zu elements behind offset %zu of a buffer of %zu bytes",
            end, offset, buffer->size);
    rt_slot layout = {.set = true, .size = 16 * (size_t)tensor->rank};
    if (status == TOMBAC_OK && a->active && !(layout.bytes = make_layout(numbers, layout.size)))
        status = tb_fail_memory(error);
    if (status != TOMBAC_OK || !a->active) {
        rt_slot_clear(&slot);
        return status;
    }
    rt_slot_clear(&launch->slots[found]);
    rt_slot_clear(&launch->slots[a->layout]);
    launch->slots[found] = slot;
    launch->slots[a->layout] = layout;
    return TOMBAC_OK;
}
