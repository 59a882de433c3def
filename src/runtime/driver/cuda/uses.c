/* The memory of launches that follow each other on one stream.
 *
 * Each allocation is brought to the GPU once, before the first launch that uses it; the stream's order does
 * the rest. Bytes that are too many to be passed by value get a copy of their own. */
#include "runtime/driver/cuda/cuda.h"

#include <stdlib.h>

tombac_status cuda_uses_open(
    cuda_uses *uses, cuda_gpu *gpu, cuda_stream *stream, size_t most, tombac_error **error)
{
    size_t size = 4;
    while (size < 2 * most) size *= 2;
    *uses = (cuda_uses){.gpu = gpu, .stream = stream, .mask = size - 1};
    uses->list = calloc(most + 1, sizeof *uses->list);
    uses->table = calloc(size, sizeof *uses->table);
    return uses->list && uses->table ? TOMBAC_OK : tb_fail_memory(error);
}

/* Where the table has the memory, or the free place for it. */
static uint32_t *slot_of(const cuda_uses *uses, const rt_memory *memory)
{
    size_t at = (size_t)((uintptr_t)memory / _Alignof(rt_memory) * 0x9E3779B97F4A7C15u >> 20);
    for (;; at++) {
        uint32_t *slot = &uses->table[at & uses->mask];
        if (!*slot || uses->list[*slot - 1].memory == memory) return slot;
    }
}

static tombac_status copy_bytes(
    cuda_uses *uses, const rt_binding *binding, cuda_address *address, tombac_error **error)
{
    cuda_use *made = &uses->list[uses->count];
    *made = (cuda_use){0};
    tombac_status status = cuda_allocate(uses->gpu, binding->buffer_size, &made->address, error);
    if (status != TOMBAC_OK) return status;
    uses->count++;
    *address = made->address + (uint64_t)((char *)binding->address - (char *)binding->buffer);
    cuda_result result =
        uses->gpu->api.upload(made->address, binding->buffer, binding->buffer_size, uses->stream);
    return cuda_check(uses->gpu, result, "copying an argument to the GPU", error);
}

tombac_status cuda_uses_find(
    cuda_uses *uses, const rt_binding *binding, bool writable, cuda_address *address, tombac_error **error)
{
    if (!binding->memory) return copy_bytes(uses, binding, address, error);
    uint32_t *slot = slot_of(uses, binding->memory);
    if (!*slot) {
        cuda_use *made = &uses->list[uses->count];
        *made = (cuda_use){.memory = binding->memory};
        tombac_status status =
            cuda_mirror_use(uses->gpu, binding->memory, false, uses->stream, &made->address, error);
        if (status != TOMBAC_OK) return status;
        *slot = (uint32_t)++uses->count;
    }
    cuda_use *use = &uses->list[*slot - 1];
    use->writable |= writable;
    *address = use->address + (uint64_t)((char *)binding->address - (char *)binding->memory->contents);
    return TOMBAC_OK;
}

const cuda_use *cuda_uses_written(const cuda_uses *uses, const rt_memory *memory)
{
    uint32_t slot = *slot_of(uses, memory);
    return slot && uses->list[slot - 1].writable ? &uses->list[slot - 1] : NULL;
}

tombac_status cuda_uses_close(cuda_uses *uses, bool ran, bool abandoned, tombac_error **error)
{
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < uses->count; i++) {
        const cuda_use *use = &uses->list[i];
        if (use->memory) {
            tombac_status one = cuda_mirror_release(uses->gpu, use->memory, uses->stream,
                ran && use->writable, ran, status == TOMBAC_OK ? error : NULL);
            if (status == TOMBAC_OK) status = one;
        } else if (!abandoned) {
            cuda_free(uses->gpu, use->address);
        }
    }
    free(uses->list);
    free(uses->table);
    return status;
}
