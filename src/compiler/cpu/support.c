/* Arena, failure, pointer map; see support.h. The map is open addressing with linear probing, at most half
 * full. */
#include "compiler/cpu/support.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct cpu_chunk {
    cpu_chunk *next;
    size_t used, size;
    _Alignas(max_align_t) char data[];
};

void cpu_fail(cpu_job *job, tombac_status status, const char *format, ...)
{
    tb_text message = {0};
    va_list arguments;
    va_start(arguments, format);
    tb_text_vprintf(&message, format, arguments);
    va_end(arguments);
    job->status = tb_fail(job->error, status, "%s", tb_text_string(&message));
    tb_text_free(&message);
    longjmp(job->leave, 1);
}

static _Noreturn void fail_memory(cpu_job *job)
{
    job->status = tb_fail_memory(job->error);
    longjmp(job->leave, 1);
}

void *cpu_alloc(cpu_job *job, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2) fail_memory(job);
    bytes = (bytes + 15) & ~(size_t)15;
    cpu_chunk *chunk = job->chunks;
    if (!chunk || chunk->size - chunk->used < bytes) {
        size_t room = bytes > 1 << 16 ? bytes : 1 << 16;
        chunk = malloc(sizeof *chunk + room);
        if (!chunk) fail_memory(job);
        *chunk = (cpu_chunk){.next = job->chunks, .size = room};
        job->chunks = chunk;
    }
    void *memory = chunk->data + chunk->used;
    chunk->used += bytes;
    return memset(memory, 0, bytes);
}

void cpu_job_free(cpu_job *job)
{
    while (job->chunks) {
        cpu_chunk *next = job->chunks->next;
        free(job->chunks);
        job->chunks = next;
    }
}

static size_t home(const cpu_map *map, const void *key)
{
    uint64_t x = (uintptr_t)key;
    x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
    return (size_t)(x >> 32) & (map->room - 1);
}

static size_t find(const cpu_map *map, const void *key)
{
    size_t i = home(map, key);
    while (map->keys[i] && map->keys[i] != key) i = (i + 1) & (map->room - 1);
    return i;
}

static void grow(cpu_job *job, cpu_map *map)
{
    cpu_map larger = {.room = map->room ? map->room * 2 : 64, .used = map->used};
    larger.keys = cpu_alloc(job, larger.room, sizeof *larger.keys);
    larger.numbers = cpu_alloc(job, larger.room, sizeof *larger.numbers);
    for (size_t i = 0; i < map->room; i++) {
        if (!map->keys[i]) continue;
        size_t to = find(&larger, map->keys[i]);
        larger.keys[to] = map->keys[i];
        larger.numbers[to] = map->numbers[i];
    }
    *map = larger;
}

void cpu_map_put(cpu_job *job, cpu_map *map, const void *key, int number)
{
    if (map->used * 2 >= map->room) grow(job, map);
    size_t i = find(map, key);
    if (!map->keys[i]) map->used++;
    map->keys[i] = key;
    map->numbers[i] = number;
}

int cpu_map_get(const cpu_map *map, const void *key)
{
    if (!map->room) return -1;
    size_t i = find(map, key);
    return map->keys[i] ? map->numbers[i] : -1;
}
