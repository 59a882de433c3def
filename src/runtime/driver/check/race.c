/* See race.h. */
#include "runtime/driver/check/race.h"

#include "runtime/driver/check/check.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { DEVICE, THREADGROUP, MEMORIES }; /* bit `memory` of a barrier's flags says whether it orders that memory */
enum { MAX_SIMDGROUPS = TB_MAX_THREADS_PER_THREADGROUP / TB_SIMD_WIDTH, WORD = 4, KEPT = 64 };
enum { SPARE_BYTES = 16 << 20 }; /* a larger set of shadows is not kept for the next launch */

/* One access. Times are counts of events of the launch: barriers, fences, atomic operations. */
typedef struct mark {
    uint32_t group; /* the threadgroup's number; below the launch's first: nothing */
    uint32_t epoch; /* how many barriers of the threadgroup had ordered this memory; of a read: how many barriers there had been */
    uint32_t turn;  /* the same of the SIMD-group; of a read: how many of its operations */
    uint32_t time;
    int32_t place; /* distance from the code's check_info */
    uint16_t thread;
    uint8_t bytes; /* of the word, a bit each */
    bool atomic;
    bool silent; /* a plain write that left what was there */
} mark;

typedef struct cell {
    mark write, read[2];
} cell;

typedef struct shadow {
    cell *cells;
    size_t bytes; /* of the cells */
    bool used;    /* by this launch */
} shadow;

/* How far a SIMD-group or threadgroup has come in ordering by atomic operations: the times of its last fence, of the fence
 * before its last atomic operation, of that operation, and of the operation before its last fence. */
typedef struct progress {
    uint32_t fence, published, operation, acquired;
} progress;

typedef struct access {
    check_thread *thread;
    uint64_t address, begin, size; /* begin: of the memory */
    cell *cells;
    uint32_t kind;
    bool writes, silent;
    int memory;
    const tb_check_place *place;
} access;

/* A plain write is looked at once it is done: only then is it known whether it changed anything. */
typedef struct pending {
    access access; /* size 0: there is none */
    unsigned char old[KEPT];
} pending;

struct check_races {
    const check_run *run;
    uint32_t time, group;
    uint32_t first, last; /* numbers of the launch's threadgroups; marks of earlier launches have smaller ones */
    uint32_t epoch[MEMORIES + 1], turn[MEMORIES + 1][MAX_SIMDGROUPS]; /* the last one: whatever they order */
    uint32_t last_barrier; /* time of the threadgroup's last barrier, whatever it orders */
    progress whole, simdgroup[MAX_SIMDGROUPS];
    uint32_t *published; /* by threadgroup from the first, as in progress */
    shadow threadgroup, ranges[CHECK_MAX_RANGES];
    bool shared[CHECK_MAX_RANGES]; /* ranges that may be written */
    pending pending;
};

/* ---- Making and ending ---- */

static void shadow_destroy(shadow *s)
{
    if (s->cells) munmap(s->cells, s->bytes);
    *s = (shadow){0};
}

/* Has room for `size` bytes of memory afterwards; what an earlier launch left there may stay. */
static bool shadow_use(shadow *s, uint64_t size)
{
    uint64_t words = size / WORD + 2;
    s->used = true;
    if (words > SIZE_MAX / sizeof(cell)) return false;
    size_t bytes = (size_t)words * sizeof(cell);
    if (s->bytes >= bytes) return true;
    shadow_destroy(s);
    /* only touched pages cost memory */
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    *s = (shadow){memory, bytes, true};
    return true;
}

static bool overlaps(const check_range *a, const check_range *b)
{
    return a->begin < b->begin + b->size && b->begin < a->begin + a->size;
}

/* Ranges are those of the active arguments that are no threadgroup memory, in order (access.c). */
static void find_shared(check_races *races, const check_run *run)
{
    const rt_manifest *manifest = run->code->manifest;
    bool written[CHECK_MAX_RANGES] = {false};
    size_t range = 0;
    for (size_t i = 0; i < manifest->argument_count && range < run->range_count; i++) {
        const rt_argument *argument = &manifest->arguments[i];
        if (argument->kind == TOMBAC_ARGUMENT_THREADGROUP || !argument->active) continue;
        written[range++] = argument->writable || argument->kind != TOMBAC_ARGUMENT_BUFFER || argument->members;
    }
    for (size_t i = range; i < run->range_count; i++) written[i] = true;
    memset(races->shared, 0, sizeof races->shared);
    for (size_t i = 0; i < run->range_count; i++)
        for (size_t k = 0; k < run->range_count && !races->shared[i]; k++)
            races->shared[i] = written[k] && (i == k || overlaps(&run->ranges[i], &run->ranges[k]));
}

/* A buffer that several arguments name has one shadow. */
static bool use_shadows(check_races *races, const check_run *run)
{
    bool good = shadow_use(&races->threadgroup, run->request->threadgroup_memory);
    for (size_t i = 0; i < CHECK_MAX_RANGES; i++) races->ranges[i].used = false;
    for (size_t i = 0; i < run->range_count && good; i++) {
        bool first = true;
        for (size_t k = 0; k < i; k++)
            if (run->ranges[k].begin == run->ranges[i].begin && run->ranges[k].size == run->ranges[i].size) first = false;
        if (races->shared[i] && first) good = shadow_use(&races->ranges[i], run->ranges[i].size);
    }
    return good;
}

static size_t shadow_bytes(const check_races *races)
{
    size_t bytes = races->threadgroup.bytes;
    for (size_t i = 0; i < CHECK_MAX_RANGES; i++) bytes += races->ranges[i].bytes;
    return bytes;
}

void check_races_destroy(check_races *races)
{
    if (!races) return;
    shadow_destroy(&races->threadgroup);
    for (size_t i = 0; i < CHECK_MAX_RANGES; i++) shadow_destroy(&races->ranges[i]);
    free(races->published);
    free(races);
}

/* The set that the last launch of the kernel left, with all counts at their start, or a new one. */
static check_races *take_spare(check_code *code, uint64_t threadgroups)
{
    pthread_mutex_lock(&code->lock);
    check_races *spare = code->spare_races;
    code->spare_races = NULL;
    pthread_mutex_unlock(&code->lock);
    if (spare && threadgroups >= UINT32_MAX - spare->last) {
        check_races_destroy(spare);
        spare = NULL;
    }
    check_races *races = spare ? spare : calloc(1, sizeof *races);
    if (!races) return NULL;
    uint32_t last = races->last;
    free(races->published);
    memset(races, 0, offsetof(check_races, threadgroup)); /* the shadows stay */
    races->pending.access.size = 0;
    races->first = last + 1;
    races->last = last + (uint32_t)threadgroups;
    return races;
}

tombac_status check_races_open(check_run *run, tombac_error **error)
{
    const uint32_t *groups = run->dispatch.threadgroups_per_grid;
    uint64_t count = (uint64_t)groups[0] * groups[1] * groups[2];
    if (!run->code->watches_races) return TOMBAC_OK;
    check_races *races = count < UINT32_MAX ? take_spare(run->code, count) : NULL;
    if (!races) return tb_fail_memory(error);
    races->run = run;
    races->time = 1;
    races->published = calloc((size_t)count + 1, sizeof *races->published);
    find_shared(races, run);
    if (!races->published || !use_shadows(races, run)) {
        check_races_destroy(races);
        return tb_fail(error, TOMBAC_ERROR_MEMORY,
            "no memory to look for data races in buffers of this size; TOMBAC_RACES=0 turns that off");
    }
    run->races = races;
    return TOMBAC_OK;
}

void check_races_close(check_run *run)
{
    check_code *code = run->code;
    check_races *races = run->races;
    if (!races) return;
    if (shadow_bytes(races) <= SPARE_BYTES) {
        pthread_mutex_lock(&code->lock);
        if (!code->spare_races) {
            code->spare_races = races;
            races = NULL;
        }
        pthread_mutex_unlock(&code->lock);
    }
    check_races_destroy(races);
    run->races = NULL;
}

/* ---- Events ---- */

void check_races_begin(check_races *races, const check_run *run)
{
    const uint32_t *at = run->dispatch.threadgroup_position_in_grid, *groups = run->dispatch.threadgroups_per_grid;
    races->group = races->first + at[0] + groups[0] * (at[1] + groups[1] * at[2]);
    races->last_barrier = 0;
    races->whole = (progress){0};
    memset(races->simdgroup, 0, sizeof races->simdgroup);
}

static void pass_fence(progress *p, uint32_t time)
{
    p->fence = time;
    p->acquired = p->operation;
}

void check_races_barrier(check_races *races, uint32_t flags)
{
    if (!races) return;
    races->last_barrier = ++races->time;
    races->epoch[MEMORIES]++;
    for (int memory = 0; memory < MEMORIES; memory++) {
        if (!(flags >> memory & 1)) continue;
        races->epoch[memory]++;
        pass_fence(&races->whole, races->time);
        for (int s = 0; s < MAX_SIMDGROUPS; s++) pass_fence(&races->simdgroup[s], races->time);
    }
}

void check_races_meeting(check_races *races, uint32_t simdgroup, uint32_t flags)
{
    if (!races) return;
    ++races->time;
    races->turn[MEMORIES][simdgroup]++;
    for (int memory = 0; memory < MEMORIES; memory++) {
        if (!(flags >> memory & 1)) continue;
        races->turn[memory][simdgroup]++;
        pass_fence(&races->whole, races->time);
        pass_fence(&races->simdgroup[simdgroup], races->time);
    }
}

static void fence(check_races *races, const tb_check_thread *shared)
{
    ++races->time;
    pass_fence(&races->whole, races->time);
    pass_fence(&races->simdgroup[shared->simdgroup], races->time);
}

void tombac_check_fence(tb_check_thread *shared)
{
    check_thread *thread = (check_thread *)shared;
    check_races_settle(thread);
    if (thread->run->races) fence(thread->run->races, shared);
}

static void operate(check_races *races, const tb_check_thread *shared, bool ordered)
{
    progress *both[2] = {&races->whole, &races->simdgroup[shared->simdgroup]};
    if (ordered) fence(races, shared);
    races->time++;
    for (int i = 0; i < 2; i++) {
        both[i]->published = both[i]->fence;
        both[i]->operation = races->time;
    }
    races->published[races->group - races->first] = races->whole.published;
    if (ordered) fence(races, shared);
}

/* ---- Reports ---- */

static void thread_position(const check_run *run, uint32_t group, uint32_t thread, uint32_t p[3], uint32_t g[3])
{
    const tb_dispatch *d = &run->dispatch;
    for (int i = 0; i < 3; i++) {
        uint32_t groups = d->threadgroups_per_grid[i], size = d->dispatch_threads_per_threadgroup[i];
        g[i] = i < 2 ? group % groups : group;
        group /= groups;
        uint64_t left = d->threads_per_grid[i] - (uint64_t)g[i] * size;
        uint32_t width = left < size ? (uint32_t)left : size;
        p[i] = i < 2 ? thread % width : thread;
        thread /= width;
    }
}

static const char *file_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "?";
}

/* Why nothing orders the two, as far as that can be told. */
static const char *reason(const check_races *races, const mark *m, uint32_t thread, int memory)
{
    static const char *const kept[MEMORIES] = {"the barrier in between does not have mem_flags::mem_device",
        "the barrier in between does not have mem_flags::mem_threadgroup"};
    if (m->group != races->group) return "nothing orders these threadgroups";
    if (races->last_barrier > m->time) return kept[memory];
    return m->thread / TB_SIMD_WIDTH == thread / TB_SIMD_WIDTH
               ? "no barrier is in between, and threads of a SIMD-group need one too"
               : "no barrier is in between";
}

static void describe_target(const check_races *races, uint64_t address, int memory, char *text, size_t size)
{
    const check_run *run = races->run;
    const check_range *range = memory == DEVICE ? check_ranges_find(run, address, 1) : NULL;
    if (range)
        snprintf(text, size, "offset %" PRIu64 " of '%s'", address - range->begin, range->name);
    else
        snprintf(text, size, "offset %" PRIu64 " of threadgroup memory", address - (uint64_t)(uintptr_t)run->memory);
}

static void report(const access *a, const mark *m, bool earlier_wrote)
{
    check_thread *thread = a->thread;
    const check_races *races = thread->run->races;
    char target[200], group[80] = "";
    uint32_t p[3], g[3];
    const tb_check_place *other =
        (const tb_check_place *)(const void *)((const char *)(const void *)thread->run->code->info + m->place);
    describe_target(races, a->address, a->memory, target, sizeof target);
    thread_position(thread->run, m->group - races->first, m->thread, p, g);
    if (m->group != races->group) snprintf(group, sizeof group, " of threadgroup %u,%u,%u", g[0], g[1], g[2]);
    check_stop(thread, TOMBAC_ERROR_KERNEL, a->place,
        "data race: the kernel %s %" PRIu64 " bytes at %s, which thread %u,%u,%u%s %s at %s:%u; %s", check_verb(a->kind),
        a->size, target, p[0], p[1], p[2], group,
        m->atomic ? "changed by an atomic operation" : earlier_wrote ? "wrote" : "read", file_name(other->file),
        other->line, reason(races, m, thread->shared.index, a->memory));
}

/* ---- Accesses ---- */

static bool is_ordered(const check_races *races, const mark *m, bool read, const tb_check_thread *now, int memory)
{
    int by = read ? MEMORIES : memory;
    if (m->group != races->group) {
        if (memory == THREADGROUP) return true; /* another threadgroup's memory */
        return races->published[m->group - races->first] > m->time && races->whole.acquired;
    }
    uint32_t simdgroup = m->thread / TB_SIMD_WIDTH;
    if (m->thread == now->index || m->epoch != races->epoch[by]) return true;
    if (simdgroup == now->simdgroup && m->turn != races->turn[by][simdgroup]) return true;
    return races->simdgroup[simdgroup].published > m->time && races->simdgroup[now->simdgroup].acquired > m->time;
}

static bool races_with(const check_races *races, const mark *m, bool read, const mark *now, const access *a)
{
    return m->group >= races->first && (m->bytes & now->bytes) && !(m->atomic && now->atomic) &&
           !is_ordered(races, m, read, &a->thread->shared, a->memory);
}

static void note_read(const check_races *races, cell *c, const mark *now, const tb_check_thread *thread, int memory)
{
    for (int i = 0; i < 2; i++) {
        mark *m = &c->read[i];
        bool own = m->group == now->group && m->thread == now->thread && (m->bytes & ~now->bytes) == 0;
        if (m->group < races->first || own || (is_ordered(races, m, true, thread, memory) && (m->bytes & ~now->bytes) == 0)) {
            *m = *now;
            m->epoch = races->epoch[MEMORIES];
            m->turn = races->turn[MEMORIES][thread->simdgroup];
            return;
        }
    }
}

static void note_write(cell *c, const mark *now)
{
    c->write = *now;
    for (int i = 0; i < 2; i++)
        if ((c->read[i].bytes & ~now->bytes) == 0) c->read[i].group = 0;
}

static void visit_word(const access *a, cell *c, mark *now)
{
    const check_races *races = a->thread->run->races;
    const tb_check_thread *thread = &a->thread->shared;
    bool meets = races_with(races, &c->write, false, now, a);
    now->silent = a->silent;
    if (meets && a->silent) {
        now->silent = c->write.silent; /* others that read it read what was written before */
    } else if (meets && (a->writes || !c->write.silent)) {
        report(a, &c->write, true);
    }
    for (int i = 0; i < 2 && a->writes && !a->silent; i++)
        if (races_with(races, &c->read[i], true, now, a)) report(a, &c->read[i], false);
    if (a->writes)
        note_write(c, now);
    else
        note_read(races, c, now, thread, a->memory);
}

static void visit_words(const access *a)
{
    const check_races *races = a->thread->run->races;
    const tb_check_thread *thread = &a->thread->shared;
    const check_run *run = races->run;
    mark now = {.group = races->group,
        .epoch = races->epoch[a->memory],
        .turn = races->turn[a->memory][thread->simdgroup],
        .time = races->time,
        .place = (int32_t)((const char *)a->place - (const char *)run->code->info),
        .thread = (uint16_t)thread->index,
        .atomic = a->kind == TB_CHECK_ATOMIC};
    for (uint64_t at = a->address - a->begin, end = at + a->size; at < end; at = (at / WORD + 1) * WORD) {
        uint64_t first = at % WORD, last = end - at / WORD * WORD;
        now.bytes = (uint8_t)((15u << first & 15) & (last < WORD ? (1u << last) - 1 : 15));
        visit_word(a, &a->cells[at / WORD], &now);
    }
}

/* Where the address lies; false: in memory in which there can be no race. */
static bool find_cells(const check_races *races, const tb_check_thread *thread, access *a)
{
    const check_run *run = races->run;
    if (a->address - thread->memory_begin < thread->memory_size) {
        a->begin = thread->memory_begin;
        a->memory = THREADGROUP;
        a->cells = races->threadgroup.cells;
        return true;
    }
    for (size_t i = 0; i < run->range_count; i++) {
        if (a->address - run->ranges[i].begin >= run->ranges[i].size) continue;
        a->begin = run->ranges[i].begin;
        a->cells = races->ranges[i].used ? races->ranges[i].cells : NULL;
        if (a->cells || !races->shared[i]) return a->cells;
    }
    return false;
}

void check_races_settle(check_thread *thread)
{
    check_races *races = thread->run->races;
    if (!races || !races->pending.access.size) return;
    access a = races->pending.access;
    races->pending.access.size = 0;
    a.silent = !memcmp(races->pending.old, (const void *)(uintptr_t)a.address, (size_t)a.size);
    visit_words(&a);
}

void tombac_check_race(tb_check_thread *shared, uint64_t address, uint64_t size, uint32_t how, const tb_check_place *place)
{
    check_thread *thread = (check_thread *)shared;
    check_races *races = thread->run->races;
    uint32_t kind = how & 0xff;
    access a = {.thread = thread, .address = address, .size = size, .kind = kind, .place = place};
    a.writes = kind != TB_CHECK_LOAD && !(how & TB_CHECK_ONLY_READS);
    check_races_settle(thread);
    if (!size || !find_cells(races, shared, &a)) return;
    if (a.memory == THREADGROUP) {
        bool reads = kind == TB_CHECK_LOAD || how & TB_CHECK_ONLY_READS;
        check_fresh_note(thread, address - a.begin, size, reads, a.writes, place);
    }
    if (kind == TB_CHECK_ATOMIC) operate(races, shared, how & TB_CHECK_ORDERED);
    if (kind == TB_CHECK_STORE && size <= KEPT) {
        races->pending.access = a;
        memcpy(races->pending.old, (const void *)(uintptr_t)address, (size_t)size);
        return;
    }
    visit_words(&a);
}
