/* Shadows of memory for code that watches values that nothing set (compiler/check/unset.c): a bit for each
 * bit of a thread's variables and of threadgroup memory, 1 where it comes from a variable that nothing set.
 *
 * What lies elsewhere counts as set. A store there decides a result, so it is looked at once it is done: it
 * is reported if its shadow is not clean. A copy of an object may have parts that nothing set; those have the
 * value 0, in which this engine starts all variables, so a bit of a copy that is 1 without having been set
 * was computed from what nothing set. */
#include "runtime/driver/check/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct check_unset {
    char *threadgroup; /* the shadow of its memory */
    unsigned char clean[TB_CHECK_MAX_SHADOW], store[TB_CHECK_MAX_SHADOW];
    uint64_t address, size; /* of the last store elsewhere; size 0: there is none to be looked at */
    bool copy;
    const tb_check_place *place;
};

tombac_status check_unset_create(check_run *run, tombac_error **error)
{
    if (!run->code->info->watches_unset) return TOMBAC_OK;
    run->unset = calloc(1, sizeof *run->unset);
    if (run->unset) run->unset->threadgroup = calloc(1, run->request->threadgroup_memory + 1);
    if (!run->unset || !run->unset->threadgroup) return tb_fail_memory(error);
    return TOMBAC_OK;
}

void check_unset_destroy(check_run *run)
{
    if (run->unset) free(run->unset->threadgroup);
    free(run->unset);
}

void check_unset_begin(check_run *run)
{
    if (run->unset) memset(run->unset->threadgroup, 0, run->request->threadgroup_memory);
}

/* The shadow of [address, address + size), or NULL where it has none. */
static unsigned char *find(const check_thread *thread, uint64_t address, uint64_t size)
{
    const check_run *run = thread->run;
    const check_fiber *fiber = thread->fiber;
    if (!run->code->watches_unset) return NULL;
    uint64_t offset = address - (uint64_t)(uintptr_t)fiber->stack;
    if (offset < fiber->stack_size && size <= fiber->stack_size - offset)
        return (unsigned char *)fiber->shadow + offset;
    offset = address - thread->shared.memory_begin;
    uint64_t room = thread->shared.memory_size;
    if (offset < room && size <= room - offset) return (unsigned char *)run->unset->threadgroup + offset;
    return NULL;
}

static void look_at(check_run *run, const unsigned char *shadow, uint64_t address, uint64_t size, bool copy,
    const tb_check_place *place)
{
    const unsigned char *value = (const unsigned char *)(uintptr_t)address;
    for (uint64_t i = 0; i < size; i++) {
        if (!(copy ? shadow[i] & value[i] : shadow[i])) continue;
        check_note_fault(run, TB_CHECK_UNSET_USE, place);
        return;
    }
}

void check_unset_settle(check_thread *thread)
{
    check_unset *unset = thread->run->unset;
    if (!unset || !unset->size) return;
    look_at(thread->run, unset->store, unset->address, unset->size, unset->copy, unset->place);
    unset->size = 0;
}

void *tombac_check_shadow(
    tb_check_thread *shared, uint64_t address, uint64_t size, uint32_t how, const tb_check_place *place)
{
    check_thread *thread = (check_thread *)shared;
    check_unset *unset = thread->run->unset;
    bool load = (how & 0xff) == TB_CHECK_LOAD;
    unsigned char *shadow = find(thread, address, size);
    if (shadow) return shadow;
    if (load) return unset->clean;
    if (!thread->run->code->watches_unset) return unset->store;
    check_unset_settle(thread);
    unset->address = address;
    unset->size = size;
    unset->copy = how & TB_CHECK_COPY;
    unset->place = place;
    return unset->store;
}

void tombac_check_shadow_fill(tb_check_thread *shared, uint64_t address, uint64_t size, uint32_t byte)
{
    check_thread *thread = (check_thread *)shared;
    unsigned char *shadow = find(thread, address, size);
    if (shadow) memset(shadow, (int)byte, (size_t)size);
}

void tombac_check_shadow_copy(
    tb_check_thread *shared, uint64_t to, uint64_t from, uint64_t size, const tb_check_place *place)
{
    check_thread *thread = (check_thread *)shared;
    const unsigned char *source = find(thread, from, size);
    unsigned char *target = find(thread, to, size);
    if (target && source)
        memmove(target, source, (size_t)size);
    else if (target)
        memset(target, 0, (size_t)size);
    else if (source)
        look_at(thread->run, source, to, size, true, place);
}
