/* Buffers: host memory that kernels use in place, and views of it. Host access is in buffer_view.c. */
#include "runtime/hazard.h"
#include "runtime/operation.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bytes; from here on a mapping of its own: page-aligned, and zeroed by the system only when touched. */
#define LARGE ((size_t)1 << 20)
enum { ALIGNMENT = 64 };
/* x86-64's large page: threads of a grid walk through many places of a buffer at once, more than the processor keeps
 * translations of small pages for, and a prefetcher stops at a page's end. */
#define LARGE_PAGE ((size_t)2 << 20)

/* ---- Storages ---- */

static void *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* A mapping that begins at a large page, where the system backs it by such if it can; NULL: not to be had. */
static void *map_large_pages(size_t size)
{
    char *memory = map(size + LARGE_PAGE);
    if (!memory) return NULL;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), used = (size + page - 1) / page * page;
    size_t before = (LARGE_PAGE - (uintptr_t)memory % LARGE_PAGE) % LARGE_PAGE;
    char *begin = memory + before, *end = memory + size + LARGE_PAGE;
    if (before) munmap(memory, before);
    if (begin + used < end) munmap(begin + used, (size_t)(end - begin) - used);
    madvise(begin, size, MADV_HUGEPAGE); /* advice: small pages do as well */
    return begin;
}

static bool allocate(rt_storage *storage, size_t size, bool zeroed)
{
    if (size >= LARGE) {
        storage->memory.contents = size >= LARGE_PAGE && size <= SIZE_MAX / 2 ? map_large_pages(size) : map(size);
        if (!storage->memory.contents) storage->memory.contents = map(size);
        storage->mapped = storage->memory.contents ? size : 0;
        return storage->memory.contents;
    }
    size_t rounded = size ? (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    storage->memory.contents = aligned_alloc(ALIGNMENT, rounded);
    if (storage->memory.contents && zeroed) memset(storage->memory.contents, 0, rounded);
    return storage->memory.contents != NULL;
}

static rt_storage *new_storage(tombac_device *device, size_t size)
{
    rt_storage *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    atomic_init(&made->references, 1);
    made->device = tombac_device_retain(device);
    made->memory.size = size;
    return made;
}

void rt_storage_release(rt_storage *storage)
{
    if (!storage || !rt_release(&storage->references)) return;
    tombac_operation_release(storage->failure);
    if (storage->memory.mirror) storage->device->driver->drop(storage->device->driver_state, &storage->memory);
    if (storage->memory.foreign) {
        if (storage->free) storage->free(storage->context, storage->memory.contents);
    } else if (storage->mapped) {
        munmap(storage->memory.contents, storage->mapped);
    } else {
        free(storage->memory.contents);
    }
    tombac_device_release(storage->device);
    free(storage);
}

static tombac_status check_size(const tombac_device *device, size_t size, tombac_error **error)
{
    if (size <= device->max_buffer_size) return TOMBAC_OK;
    return tb_fail(error, TOMBAC_ERROR_MEMORY,
        "a buffer of %zu bytes is larger than the device's limit of %zu bytes", size,
        device->max_buffer_size);
}

static tombac_status make_storage(
    tombac_device *device, size_t size, const void *data, rt_storage **storage, tombac_error **error)
{
    tombac_status status = check_size(device, size, error);
    if (status != TOMBAC_OK) return status;
    rt_storage *made = new_storage(device, size);
    if (!made) return tb_fail_memory(error);
    if (!allocate(made, size, !data)) {
        rt_storage_release(made);
        return tb_fail(error, TOMBAC_ERROR_MEMORY, "no memory for a buffer of %zu bytes", size);
    }
    if (data && size) memcpy(made->memory.contents, data, size);
    *storage = made;
    return TOMBAC_OK;
}

/* ---- Elements ---- */

static void free_element(rt_element *element)
{
    for (size_t i = 0; i < element->member_count; i++) free((char *)element->members[i].name);
    free(element->members);
    free(element->name);
}

static tombac_status copy_members(const tombac_element *from, rt_element *to, tombac_error **error)
{
    if (from->member_count == 0) return TOMBAC_OK;
    if (!from->members) return rt_missing("the element", "members", error);
    to->members = calloc(from->member_count, sizeof *to->members);
    if (!to->members) return tb_fail_memory(error);
    for (size_t i = 0; i < from->member_count; i++) {
        const tombac_member *m = &from->members[i];
        if (!m->name || m->offset > from->size || m->size > from->size - m->offset)
            return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
                "member %zu ('%s', offset %zu, %zu bytes) is not inside its element of %zu bytes", i,
                m->name ? m->name : "", m->offset, m->size, from->size);
        to->members[i] = *m;
        to->members[i].name = strdup(m->name);
        to->member_count = i + 1;
        if (!to->members[i].name) return tb_fail_memory(error);
    }
    return TOMBAC_OK;
}

static tombac_status copy_element(const tombac_element *from, rt_element *to, tombac_error **error)
{
    size_t scalar = tombac_type_size(from->type);
    uint32_t length = from->vector_length;
    bool vector_fits =
        length >= 1 && length <= 4 && from->size == scalar * (length == 3 && !from->packed ? 4 : length);
    if (from->size == 0 || (from->type != TOMBAC_TYPE_OTHER && !vector_fits))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "no element is %s x %u and %zu bytes long",
            tombac_type_name(from->type), length, from->size);
    if (from->alignment & (from->alignment - 1) || (from->alignment && from->size % from->alignment))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "an element of %zu bytes cannot be aligned to %zu",
            from->size, from->alignment);
    *to = (rt_element){.type = from->type,
        .vector_length = length,
        .packed = from->packed,
        .size = from->size,
        .alignment = from->alignment ? from->alignment : 1};
    if (from->name && !(to->name = strdup(from->name))) return tb_fail_memory(error);
    return copy_members(from, to, error);
}

/* ---- Buffers ---- */

/* A buffer on `storage`, whose reference it takes over even if it fails. */
static tombac_status make(rt_storage *storage, size_t offset, size_t size, const tombac_element *element,
    tombac_buffer **buffer, tombac_error **error)
{
    tombac_buffer *made = calloc(1, sizeof *made);
    tombac_status status = made ? TOMBAC_OK : tb_fail_memory(error);
    if (status == TOMBAC_OK && element) status = copy_element(element, &made->element, error);
    if (status != TOMBAC_OK) {
        if (made) free_element(&made->element);
        free(made);
        rt_storage_release(storage);
        return status;
    }
    atomic_init(&made->references, 1);
    made->storage = storage;
    made->offset = offset;
    made->size = size;
    made->typed = element != NULL;
    made->count = element ? size / element->size : size;
    *buffer = made;
    return TOMBAC_OK;
}

tombac_status tombac_buffer_create(
    tombac_device *device, size_t size, const void *data, tombac_buffer **buffer, tombac_error **error)
{
    if (!device) return rt_missing(__func__, "device", error);
    if (!buffer) return rt_missing(__func__, "buffer", error);
    rt_storage *storage = NULL;
    tombac_status status = make_storage(device, size, data, &storage, error);
    return status == TOMBAC_OK ? make(storage, 0, size, NULL, buffer, error) : status;
}

static tombac_status size_of(const tombac_element *element, size_t count, size_t *size, tombac_error **error)
{
    if (!__builtin_mul_overflow(element->size, count, size)) return TOMBAC_OK;
    return tb_fail(error, TOMBAC_ERROR_MEMORY, "%zu elements of %zu bytes are more than memory can have",
        count, element->size);
}

tombac_status tombac_buffer_create_elements(tombac_device *device, const tombac_element *element,
    size_t count, const void *data, tombac_buffer **buffer, tombac_error **error)
{
    if (!device) return rt_missing(__func__, "device", error);
    if (!element) return rt_missing(__func__, "element", error);
    if (!buffer) return rt_missing(__func__, "buffer", error);
    size_t size = 0;
    rt_storage *storage = NULL;
    tombac_status status = size_of(element, count, &size, error);
    if (status == TOMBAC_OK) status = make_storage(device, size, data, &storage, error);
    return status == TOMBAC_OK ? make(storage, 0, size, element, buffer, error) : status;
}

tombac_status tombac_buffer_create_no_copy(tombac_device *device, const tombac_element *element, void *memory,
    size_t size, void (*release)(void *context, void *memory), void *context, tombac_buffer **buffer,
    tombac_error **error)
{
    if (!device) return rt_missing(__func__, "device", error);
    if (!memory) return rt_missing(__func__, "memory", error);
    if (!buffer) return rt_missing(__func__, "buffer", error);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if ((uintptr_t)memory % page || size % page || size == 0)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "memory at %p of %zu bytes cannot be used without a copy: address and size must be multiples of "
            "the page size, %zu",
            memory, size, page);
    tombac_status status = check_size(device, size, error);
    if (status != TOMBAC_OK) return status;
    rt_storage *storage = new_storage(device, size);
    if (!storage) return tb_fail_memory(error);
    storage->memory.foreign = true;
    storage->memory.contents = memory;
    status = make(storage, 0, size, element, buffer, error);
    if (status != TOMBAC_OK) return status;
    storage->free = release; /* only now: the memory stays the caller's on failure */
    storage->context = context;
    return TOMBAC_OK;
}

tombac_status tombac_buffer_create_view(tombac_buffer *parent, const tombac_element *element, size_t offset,
    size_t count, tombac_buffer **view, tombac_error **error)
{
    if (!parent) return rt_missing(__func__, "parent", error);
    if (!view) return rt_missing(__func__, "view", error);
    const tombac_element same = {parent->element.type, parent->element.vector_length, parent->element.packed,
        parent->element.size, parent->element.alignment, parent->element.name, parent->element.members,
        parent->element.member_count};
    const tombac_element *chosen = element ? element : parent->typed ? &same : NULL;
    size_t size = count;
    tombac_status status = chosen ? size_of(chosen, count, &size, error) : TOMBAC_OK;
    if (status != TOMBAC_OK) return status;
    if (offset > parent->size || size > parent->size - offset)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "a view of %zu bytes at offset %zu does not fit into a buffer of %zu bytes", size, offset,
            parent->size);
    if (chosen && chosen->alignment > 1 && (parent->offset + offset) % chosen->alignment)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "a view at offset %zu is not aligned to %zu bytes, as its elements must be",
            parent->offset + offset, chosen->alignment);
    rt_retain(&parent->storage->references);
    return make(parent->storage, parent->offset + offset, size, chosen, view, error);
}

tombac_buffer *tombac_buffer_retain(tombac_buffer *buffer)
{
    if (buffer) rt_retain(&buffer->references);
    return buffer;
}

void tombac_buffer_release(tombac_buffer *buffer)
{
    if (!buffer || !rt_release(&buffer->references)) return;
    rt_storage_release(buffer->storage);
    free_element(&buffer->element);
    free(buffer);
}

size_t tombac_buffer_size(const tombac_buffer *buffer)
{
    return buffer ? buffer->size : 0;
}

size_t tombac_buffer_count(const tombac_buffer *buffer)
{
    return buffer ? buffer->count : 0;
}

tombac_device *tombac_buffer_device(const tombac_buffer *buffer)
{
    return buffer ? buffer->storage->device : NULL;
}

void *tombac_buffer_contents(tombac_buffer *buffer)
{
    if (!buffer) return NULL;
    rt_storage *storage = buffer->storage;
    const rt_driver *driver = storage->device->driver;
    atomic_store(&storage->memory.shared, true);
    if (driver->to_host && driver->to_host(storage->device->driver_state, &storage->memory, NULL) != TOMBAC_OK)
        return NULL;
    return (char *)storage->memory.contents + buffer->offset;
}
