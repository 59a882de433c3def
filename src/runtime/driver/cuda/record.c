/* Records that a kernel left in device memory (artifact/cuda.h), read back after its end.
 *
 * Threads write them in any order. They are reported by threadgroup, thread, and within a thread in the order
 * of writing. */
#include "runtime/driver/cuda/cuda.h"
#include "runtime/driver/log_record.h"

#include <stdlib.h>
#include <string.h>

static const char *find_literal(const void *context, uint64_t address, size_t *left)
{
    const cuda_code *code = context;
    for (size_t i = 0; i < code->literal_count; i++) {
        const cuda_literal *literal = &code->literals[i];
        if (address < literal->address || address - literal->address >= literal->size) continue;
        *left = (size_t)(literal->size - (address - literal->address));
        return literal->text + (address - literal->address);
    }
    return NULL;
}

static const char *string_at(const cuda_code *code, uint64_t address)
{
    size_t left;
    const char *text = find_literal(code, address, &left);
    return text && memchr(text, 0, left) ? text : NULL;
}

static int compare(const void *a, const void *b)
{
    const tb_cuda_record *const *x = a, *const *y = b;
    if ((*x)->group != (*y)->group) return (*x)->group < (*y)->group ? -1 : 1;
    if ((*x)->thread != (*y)->thread) return (*x)->thread < (*y)->thread ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

static void print(const cuda_code *code, const tb_cuda_record *record, const rt_log *log)
{
    rt_log_record line = {.format = (const char *)(uintptr_t)record->text[0], .level = record->number};
    const tb_cuda_value *values = (const tb_cuda_value *)(record + 1);
    uint32_t room = (record->size - (uint32_t)sizeof *record) / (uint32_t)sizeof *values;
    for (uint32_t i = 0; i < record->count && i < room; i++)
        rt_log_record_add(&line, (uint32_t)values[i].kind, values[i].bits);
    rt_log_record_write(&line, find_literal, code, log);
}

static tombac_status fail(const cuda_code *code, const tb_cuda_record *record, tombac_error **error)
{
    const char *first = string_at(code, record->text[0]);
    if (record->kind == TB_CUDA_UNSUPPORTED)
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "the kernel reached %s, which is not supported",
            first ? first : "something");
    tombac_status status =
        tb_fail(error, TOMBAC_ERROR_KERNEL, "assertion failed: %s", first ? first : "(unknown)");
    tb_error_set_location(error, string_at(code, record->text[1]), record->number, 0);
    return status;
}

/* The records as pointers, damaged ones left out. */
static size_t collect(const tb_cuda_records *records, const char *bytes, const tb_cuda_record **list)
{
    size_t count = 0, end = records->used < TB_CUDA_RECORD_BYTES ? records->used : TB_CUDA_RECORD_BYTES;
    for (size_t at = 0; at + sizeof(tb_cuda_record) <= end;) {
        const tb_cuda_record *record = (const tb_cuda_record *)(bytes + at);
        if (record->size < sizeof *record || record->size > end - at) break;
        list[count++] = record;
        at += record->size;
    }
    return count;
}

tombac_status cuda_records_report(const cuda_code *code, const tb_cuda_records *records, const void *bytes,
    const rt_log *log, tombac_error **error)
{
    const tb_cuda_record **list = calloc(TB_CUDA_RECORD_BYTES / sizeof(tb_cuda_record) + 1, sizeof *list);
    if (!list) return tb_fail_memory(error);
    size_t count = collect(records, bytes, list);
    qsort(list, count, sizeof *list, compare);
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < count; i++) {
        if (list[i]->kind == TB_CUDA_LOG)
            print(code, list[i], log);
        else if (status == TOMBAC_OK)
            status = fail(code, list[i], error);
    }
    static const char lost[] = "(more was printed, but the GPU's buffer was full)\n";
    if (records->full && log->write) log->write(log->context, lost, sizeof lost - 1);
    free(list);
    return status;
}
