/* Which memory a kernel may touch: the bound buffers, the threadgroup's memory and the program's own
 * constants. */
#include "runtime/driver/check/check.h"

#include <inttypes.h>
#include <stdio.h>

enum { CHECK_FRAMES = 4096 };

static bool holds(uint64_t begin, uint64_t length, uint64_t address, uint64_t size)
{
    return address - begin <= length && size <= length - (address - begin);
}

tombac_status check_ranges_build(check_run *run, tombac_error **error)
{
    const rt_manifest *manifest = run->code->manifest;
    for (size_t i = 0; i < manifest->argument_count; i++) {
        const rt_binding *binding = &run->request->bindings[i];
        bool inside = binding->buffer && manifest->arguments[i].kind != TOMBAC_ARGUMENT_THREADGROUP;
        run->extents[i].size = inside ? binding->buffer_size : binding->size;
        if (inside)
            run->extents[i].before = (uint64_t)((const char *)binding->address - (const char *)binding->buffer);
        if (manifest->arguments[i].kind == TOMBAC_ARGUMENT_THREADGROUP || !manifest->arguments[i].active)
            continue;
        if (run->range_count == CHECK_MAX_RANGES) {
            return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "more than %d buffers", CHECK_MAX_RANGES);
        }
        bool whole = binding->buffer != NULL;
        run->ranges[run->range_count++] =
            (check_range){(uint64_t)(uintptr_t)(whole ? binding->buffer : binding->address),
                whole ? binding->buffer_size : binding->size, manifest->arguments[i].name};
    }
    return TOMBAC_OK;
}

const check_range *check_ranges_find(const check_run *run, uint64_t address, uint64_t size)
{
    for (size_t i = 0; i < run->range_count; i++) {
        if (holds(run->ranges[i].begin, run->ranges[i].size, address, size)) return &run->ranges[i];
    }
    return NULL;
}

const char *check_table_find(const check_code *code, uint64_t address, size_t *left)
{
    for (uint64_t i = 0; i < code->info->table_count; i++) {
        const tb_check_table *table = &code->info->tables[i];
        uint64_t begin = (uint64_t)(uintptr_t)table->address;
        if (!holds(begin, table->size, address, 1)) continue;
        *left = (size_t)(table->size - (address - begin));
        return (const char *)table->address + (address - begin);
    }
    return NULL;
}

/* "12 bytes past the end of buffer 'out' (4000 bytes)": the nearest range at or before the address. */
static void describe(const check_run *run, uint64_t address, tb_text *text)
{
    const check_range *near = NULL;
    for (size_t i = 0; i < run->range_count; i++) {
        const check_range *range = &run->ranges[i];
        if (range->begin <= address && (!near || range->begin > near->begin)) near = range;
    }
    if (address < 65536) {
        tb_text_printf(
            text, "address %" PRIu64 ", near a null pointer (an argument that is not there?)", address);
    } else if (near && address - near->begin < UINT64_C(1) << 40) {
        tb_text_printf(text, "offset %" PRIu64 " of '%s', which has %" PRIu64 " bytes", address - near->begin,
            near->name, near->size);
    } else {
        tb_text_printf(text, "address 0x%" PRIx64 ", which is in no buffer", address);
    }
}

const char *check_verb(uint32_t kind)
{
    return kind == TB_CHECK_LOAD    ? "reads"
           : kind == TB_CHECK_STORE ? "writes"
                                    : "does an atomic operation on";
}

/* A generic pointer may also refer to threadgroup memory and to the thread's own variables, which are in the frames above the
 * caller's: info->stack_size bytes, and what the driver's calls need. */
static bool touches_private(const check_thread *thread, const tb_check_thread *shared, uint64_t address, uint64_t size)
{
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    return holds(shared->memory_begin, shared->memory_size, address, size) ||
           holds(frame, (uint64_t)thread->run->code->info->stack_size + CHECK_FRAMES, address, size);
}

void tombac_check_touch(
    tb_check_thread *shared, uint64_t address, uint64_t size, uint32_t how, const tb_check_place *place)
{
    check_thread *thread = (check_thread *)shared;
    uint32_t kind = how & 0xff, space = how >> 8;
    if (!size) return;
    if (space == TB_CHECK_GENERIC && touches_private(thread, shared, address, size)) return;
    bool beside = shared->memory_size && address - shared->memory_begin < shared->memory_size + CHECK_FRAMES;
    if (space == TB_CHECK_THREADGROUP ||
        (space == TB_CHECK_GENERIC && beside && !check_ranges_find(thread->run, address, size))) {
        int64_t offset = (int64_t)(address - shared->memory_begin);
        check_stop(thread, TOMBAC_ERROR_KERNEL, place,
            "the kernel %s %" PRIu64 " bytes at offset %" PRId64 " of threadgroup memory, which has %" PRIu64
            " bytes",
            check_verb(kind), size, offset, shared->memory_size);
    }
    const check_range *range = check_ranges_find(thread->run, address, size);
    if (range) {
        shared->range_begin = range->begin;
        shared->range_size = range->size;
        return;
    }
    size_t left;
    if (check_table_find(thread->run->code, address, &left) && size <= left && kind == TB_CHECK_LOAD) return;
    tb_text text = {0};
    describe(thread->run, address, &text);
    char message[256];
    size_t length = text.size < sizeof message - 1 ? text.size : sizeof message - 1;
    for (size_t i = 0; i < length; i++) message[i] = text.data[i];
    message[length] = 0;
    tb_text_free(&text);
    check_stop(thread, TOMBAC_ERROR_KERNEL, place, "the kernel %s %" PRIu64 " bytes at %s", check_verb(kind), size,
        message);
}

/* What an access is outside of: "'tile', which has 128 bytes". */
static void describe_object(const check_run *run, uint32_t number, uint64_t limit, tb_text *text)
{
    const tb_check_info *info = run->code->info;
    uint32_t index = number & ~TB_CHECK_INNER;
    const tb_check_object *object = index - 1 < info->object_count ? &info->objects[index - 1] : NULL;
    const char *name = object ? object->name : NULL;
    if (object && object->kind == TB_CHECK_OBJECT_ARGUMENT && object->argument < run->code->manifest->argument_count)
        name = run->code->manifest->arguments[object->argument].name;
    if (number & TB_CHECK_INNER) tb_text_printf(text, "an array of %" PRIu64 " bytes in ", limit);
    if (name)
        tb_text_printf(text, "'%s'", name);
    else
        tb_text_puts(text, "a variable of the thread");
    if (!(number & TB_CHECK_INNER)) tb_text_printf(text, ", which has %" PRIu64 " bytes", limit);
}

void tombac_check_bound(tb_check_thread *shared, uint64_t offset, uint64_t size, uint64_t limit, uint32_t how,
    uint32_t object, const tb_check_place *place)
{
    check_thread *thread = (check_thread *)shared;
    const tb_check_info *info = thread->run->code->info;
    uint32_t index = object & ~TB_CHECK_INNER;
    if (!size) return;
    if (index - 1 < info->object_count && info->objects[index - 1].kind == TB_CHECK_OBJECT_NULL) {
        tombac_check_touch(shared, offset, size, how | TB_CHECK_DEVICE << 8, place);
        return;
    }
    tb_text text = {0};
    describe_object(thread->run, object, limit, &text);
    char what[256];
    snprintf(what, sizeof what, "%s", tb_text_string(&text));
    tb_text_free(&text);
    check_stop(thread, TOMBAC_ERROR_KERNEL, place, "the kernel %s %" PRIu64 " bytes at offset %" PRId64 " of %s",
        check_verb(how), size, (int64_t)offset, what);
}
