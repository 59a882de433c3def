/* The check engine's driver: one fiber per thread, scheduled so that every run of a kernel takes the same
 * order.
 *
 *   driver.c     rt_driver_check: load, run, unload; the symbols that kernels call
 *   schedule.c   one threadgroup: who runs, who waits, who meets
 *   operations.c what threads that meet compute
 *   access.c     which memory a kernel may touch
 *   race.c       accesses that nothing orders
 *   fresh.c      reads of threadgroup memory that nothing wrote
 *   unset.c      uses of values that nothing set
 *   fiber.c      stacks and switching */
#ifndef RT_CHECK_CHECK_H
#define RT_CHECK_CHECK_H

#include "artifact/check.h"
#include "base/text.h"
#include "runtime/driver/check/fiber.h"
#include "runtime/driver/check/race.h"
#include "runtime/driver/driver.h"
#include "runtime/driver/log_record.h"
#include "runtime/loader/loader.h"

#include <pthread.h>

enum { CHECK_COUNTDOWN = 1 << 16, CHECK_MAX_RANGES = 64 };

typedef struct check_code {
    rt_image *image;
    const rt_manifest *manifest;
    tb_check_entry *entry;
    const tb_check_info *info;
    bool watches_races, watches_unset; /* as the environment was when the kernel was loaded */
    pthread_mutex_t lock;              /* of what is spare: one set is kept for the next run */
    check_stacks spare;
    check_races *spare_races;
} check_code;

typedef enum check_state {
    CHECK_READY,   /* may run: new, released, or its countdown ended */
    CHECK_WAITING, /* at a site that is no threadgroup barrier */
    CHECK_BARRIER, /* at a threadgroup barrier */
    CHECK_ENDED
} check_state;

struct check_thread {
    tb_check_thread shared; /* first: kernel code knows the thread by its address */
    check_run *run;
    check_fiber *fiber;
    check_state state;
    bool yielded; /* gave up its turn in a long loop */
    const tb_check_site *site;
    uint64_t operands[4], result;
};

typedef struct check_range {
    uint64_t begin, size;
    const char *name;
} check_range;

typedef struct check_unset check_unset;

/* One launch. */
struct check_run {
    check_code *code;
    const rt_run *request;
    tb_dispatch dispatch;
    void **arguments;
    char *memory; /* of the threadgroup */
    check_thread *threads;
    uint32_t thread_count; /* of the running threadgroup */
    check_stacks stacks;
    check_fiber scheduler;
    double deadline; /* monotonic seconds, 0: none */
    tb_check_extent *extents; /* of the arguments */
    check_range ranges[CHECK_MAX_RANGES];
    size_t range_count;
    check_unset *unset; /* NULL: the code does not watch such values */
    check_races *races; /* NULL: they are not looked for */
    rt_log_record record;
    struct {
        uint64_t count;
        tb_check_place first;
    } faults[TB_CHECK_FAULT_COUNT]; /* reported at the end */
    uint32_t *written;              /* per byte of threadgroup memory: by which threadgroup (fresh.c) */
    uint32_t ordinal;               /* of the running threadgroup, from 1 */
    tombac_status status; /* of the first failure; the launch ends with it */
    tombac_error **error;
};

/* schedule.c: runs the threadgroup that run->dispatch describes. */
void check_schedule(check_run *run);
bool check_deadline_passed(const check_run *run);

/* access.c */
tombac_status check_ranges_build(check_run *run, tombac_error **error);
/* The range that holds all of [address, address + size), or NULL. */
const check_range *check_ranges_find(const check_run *run, uint64_t address, uint64_t size);
/* The program-scope table (string literals included) that holds `address`, or NULL; *left: bytes to its end.
 */
const char *check_table_find(const check_code *code, uint64_t address, size_t *left);

/* "reads", for an access of this kind. */
const char *check_verb(uint32_t kind);

/* Something that is reported when the launch ends. */
void check_note_fault(check_run *run, uint32_t kind, const tb_check_place *place);

/* fresh.c: room for the launch; an access to threadgroup memory. */
tombac_status check_fresh_begin(check_run *run, tombac_error **error);
void check_fresh_note(check_thread *thread, uint64_t begin, uint64_t size, bool reads, bool writes,
    const tb_check_place *place);

/* unset.c: room for the launch; a threadgroup begins; what the thread stored last is looked at, before anybody else runs. */
tombac_status check_unset_create(check_run *run, tombac_error **error);
void check_unset_destroy(check_run *run);
void check_unset_begin(check_run *run);
void check_unset_settle(check_thread *thread);

/* Ends the launch from inside a kernel's thread: the scheduler goes on and sees the failure. Does not return.
 */
_Noreturn void check_stop(check_thread *thread, tombac_status status, const tb_check_place *place,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* What kernels call (artifact/check.h). */
uint64_t tombac_check_wait(tb_check_thread *, const tb_check_site *, uint64_t, uint64_t, uint64_t, uint64_t);
void tombac_check_tick(tb_check_thread *, const tb_check_place *);
void tombac_check_touch(tb_check_thread *, uint64_t, uint64_t, uint32_t, const tb_check_place *);
void tombac_check_bound(
    tb_check_thread *, uint64_t, uint64_t, uint64_t, uint32_t, uint32_t, const tb_check_place *);
void *tombac_check_shadow(tb_check_thread *, uint64_t, uint64_t, uint32_t, const tb_check_place *);
void tombac_check_shadow_fill(tb_check_thread *, uint64_t, uint64_t, uint32_t);
void tombac_check_shadow_copy(tb_check_thread *, uint64_t, uint64_t, uint64_t, const tb_check_place *);

#endif
