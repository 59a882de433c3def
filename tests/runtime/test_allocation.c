/* Every allocation of a whole use of the library fails in turn: nothing may crash or leak, and a call that
 * fails says that memory was short. malloc and its family are replaced for the whole process, jansson and
 * libc included. */
#include "fake.h"

#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* ---- The allocator ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static atomic_long countdown; /* the allocation that fails; 0: none */
static atomic_long live;      /* blocks that are not freed */
static atomic_bool failed;

static bool refuse(void)
{
    if (atomic_load(&countdown) <= 0 || atomic_fetch_sub(&countdown, 1) != 1) return false;
    atomic_store(&failed, true);
    return true;
}

static void *counted(void *block)
{
    if (block) atomic_fetch_add(&live, 1);
    return block;
}

#pragma GCC visibility push(default) /* libraries must find these */

void *malloc(size_t size)
{
    return refuse() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return refuse() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
    if (refuse()) return NULL;
    void *made = __libc_realloc(block, size);
    if (!block && made) atomic_fetch_add(&live, 1);
    return made;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return refuse() ? NULL : counted(__libc_memalign(alignment, size));
}

void free(void *block)
{
    if (block) atomic_fetch_sub(&live, 1);
    __libc_free(block);
}

#pragma GCC visibility pop

/* ---- What is tried ---- */

static const char source[] =
    "kernel k\nconstant size 1 uint u32 1\nargument buffer a 0 float f32 1 4 4 -\nargument buffer b 1 float "
    "f32 1 4 4 -\n"
    "argument buffer out 2 float f32 1 4 4 w\nargument threadgroup t 0 float f32 1 4 4 -\nobject FAKE add\n";

typedef struct objects {
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_buffer *buffer;
    tombac_launch *launch;
} objects;

static tombac_status launch(objects *o, tombac_error **error)
{
    const float two = 2;
    tombac_status status = tombac_launch_create(o->kernel, &o->launch, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_bytes(o->launch, 0, &two, sizeof two, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_bytes(o->launch, 1, &two, sizeof two, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_buffer(o->launch, 2, o->buffer, 0, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_threadgroup_memory(o->launch, 0, 64, error);
    if (status == TOMBAC_OK)
        status =
            tombac_launch_set_threads(o->launch, (tombac_size3){1, 1, 1}, (tombac_size3){1, 1, 1}, error);
    if (status == TOMBAC_OK) status = tombac_launch_submit(o->launch, error);
    if (status == TOMBAC_OK) status = tombac_launch_wait(o->launch, error);
    return status;
}

static tombac_status whole_use(float *result, tombac_error **error)
{
    objects o = {0};
    const uint32_t five = 5;
    const tombac_constant constant = {"size", 0, &five, sizeof five};
    tombac_status status = tombac_device_open("fake", &o.device, error);
    if (status == TOMBAC_OK)
        status = tombac_library_create_from_source(
            o.device, "s", source, sizeof source - 1, NULL, &o.library, error);
    if (status == TOMBAC_OK) status = tombac_kernel_create(o.library, "k", &constant, 1, &o.kernel, error);
    if (status == TOMBAC_OK) status = tombac_buffer_create(o.device, 4, NULL, &o.buffer, error);
    if (status == TOMBAC_OK) status = launch(&o, error);
    if (status == TOMBAC_OK) *result = *(float *)tombac_buffer_contents(o.buffer);
    tombac_launch_release(o.launch);
    tombac_buffer_release(o.buffer);
    tombac_kernel_release(o.kernel);
    tombac_library_release(o.library);
    tombac_device_release(o.device);
    return status;
}

/* Whether as many blocks live as at the start, at once or within two seconds: a device's thread may be the last to let go
 * of some. */
static bool live_again(long expected)
{
    for (int i = 0; i < 2000 && atomic_load(&live) != expected; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return atomic_load(&live) == expected;
}

/* Waits until nothing has changed for a tenth of a second. */
static long settled_live(void)
{
    long before = atomic_load(&live);
    for (int same = 0; same < 100;) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        long after = atomic_load(&live);
        same = after == before ? same + 1 : 0;
        before = after;
    }
    return before;
}

/* Makes allocation 1, 2, 3, ... fail until the use needs fewer; gives their number. */
static long sweep(tombac_status (*use)(float *result, tombac_error **error), void (*before)(const world *w), const world *w)
{
    float result = 0;
    for (int i = 0; i < 2; i++) { /* what libraries allocate once is there after this */
        if (before) before(w);
        assert_int_equal(use(&result, NULL), TOMBAC_OK);
        assert_true(result == 4);
    }
    long live_before = settled_live();
    int lost = 0; /* times in a row that this n seemed to leak */
    for (long n = 1;; n += lost ? 0 : 1) {
        if (before) before(w);
        tombac_error *error = NULL;
        result = 0;
        atomic_store(&failed, false);
        atomic_store(&countdown, n);
        tombac_status status = use(&result, &error);
        atomic_store(&countdown, 0);
        if (!atomic_load(&failed)) {
            assert_int_equal(status, TOMBAC_OK);
            return n - 1;
        }
        /* jansson 2.14 takes a lack of memory in its lexer for an error in the text, or loses a character. */
        bool is_json =
            status == TOMBAC_ERROR_ARTIFACT && (strstr(tombac_error_message(error), "the list of kernels:") ||
                                                   strstr(tombac_error_message(error), "manifest:"));
        /* An operation that could not be submitted stops the others, which say why. */
        bool is_stop =
            status == TOMBAC_ERROR_DEPENDENCY && strstr(tombac_error_message(error), "out of memory");
        bool correct = status == TOMBAC_OK ? result == 4 && !error
                                           : (status == TOMBAC_ERROR_MEMORY || is_json || is_stop) && error;
        if (!correct)
            fail_msg("allocation %ld: %s: %s", n, tombac_status_name(status), tombac_error_message(error));
        tombac_error_release(error);
        /* A leak leaks every time. What the C library keeps for one more thread (stacks and their thread-local storage, when
         * an old thread has not quite ended as a new one starts) comes once. */
        lost = live_again(live_before) ? 0 : lost + 1;
        if (lost == 4) fail_msg("allocation %ld: %ld blocks leaked", n, atomic_load(&live) - live_before);
        if (lost) live_before = settled_live();
    }
}

static void test_cached(void **state)
{
    assert_true(sweep(whole_use, NULL, *state) > 50);
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    return remove(path);
}

static void clear_cache(const world *w)
{
    char folder[128];
    snprintf(folder, sizeof folder, "%s/cache", w->folder);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void test_compiled(void **state)
{
    assert_true(sweep(whole_use, clear_cache, *state) > 100);
}

/* Failures make error objects, whose memory may be short too. */
static void test_errors(void **state)
{
    tombac_device *device = open_device();
    static const char bad[] = "kernel k\nfail-compile 3 a.metal:3:4: error: bad\n";
    tombac_library *library = open_library(device, bad);
    tombac_kernel *kernel = NULL;
    assert_int_equal(tombac_kernel_create(library, "k", NULL, 0, &kernel, NULL), TOMBAC_ERROR_SOURCE);
    bool more = true;
    for (long n = 1; more; n++) {
        tombac_error *error = NULL;
        long live_before = atomic_load(&live);
        atomic_store(&failed, false);
        atomic_store(&countdown, n);
        tombac_status status = tombac_kernel_create(library, "k", NULL, 0, &kernel, &error);
        atomic_store(&countdown, 0);
        more = atomic_load(&failed);
        assert_true(status == TOMBAC_ERROR_SOURCE || (more && status == TOMBAC_ERROR_MEMORY));
        assert_non_null(error);
        assert_non_null(tombac_error_message(error));
        tombac_error_release(error);
        assert_null(kernel);
        if (atomic_load(&live) != live_before) fail_msg("allocation %ld leaked", n);
    }
    tombac_library_release(library);
    tombac_device_release(device);
}

/* ---- Operations, sequences, typed buffers, views ---- */

typedef struct graph_objects {
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_buffer *a, *view;
    tombac_launch *launch;
    tombac_sequence *sequence;
    tombac_operation *first, *second, *mapped, *continued, *recorded, *all;
    bool context_taken;
    atomic_int released;
} graph_objects;

static tombac_status no_work(void *context, tombac_error **error)
{
    return TOMBAC_OK;
}

static tombac_status no_next(void *context, tombac_operation **next, tombac_error **error)
{
    return TOMBAC_OK;
}

static void count_release(void *context)
{
    atomic_fetch_add(&((graph_objects *)context)->released, 1);
}

static void heard(void *context, tombac_operation *operation, tombac_status status)
{
}

static tombac_status make_buffers(graph_objects *o, tombac_error **error)
{
    static const tombac_member members[] = {{"x", 0, 4}};
    const tombac_element uints = TOMBAC_ELEMENT(TOMBAC_TYPE_U32, uint32_t);
    const tombac_element structs = {TOMBAC_TYPE_OTHER, 0, false, 8, 4, "pair", members, 1};
    tombac_buffer *pairs = NULL;
    tombac_status status = tombac_buffer_create_elements(o->device, &structs, 4, NULL, &pairs, error);
    if (status == TOMBAC_OK) status = tombac_buffer_create_view(pairs, &uints, 0, 8, &o->a, error);
    if (status == TOMBAC_OK) status = tombac_buffer_create_view(o->a, NULL, 8, 1, &o->view, error);
    tombac_buffer_release(pairs);
    return status;
}

static tombac_status record(graph_objects *o, tombac_error **error)
{
    tombac_status status = tombac_sequence_begin(o->device, &o->sequence, error);
    for (int i = 0; i < 20 && status == TOMBAC_OK; i++) status = tombac_sequence_add(o->sequence, o->launch, error);
    if (status != TOMBAC_OK) return status;
    tombac_sequence *sequence = o->sequence;
    o->sequence = NULL;
    return tombac_sequence_end(sequence, &o->recorded, error);
}

static tombac_status compose(graph_objects *o, tombac_error **error)
{
    tombac_status status = tombac_launch_operation(o->launch, &o->first, error);
    if (status == TOMBAC_OK) status = tombac_launch_operation(o->launch, &o->second, error);
    if (status == TOMBAC_OK) status = tombac_operation_then(o->first, o->second, error);
    if (status == TOMBAC_OK) status = tombac_operation_on_end(o->second, heard, NULL, error);
    if (status == TOMBAC_OK) {
        status = tombac_operation_map(o->second, no_work, o, count_release, &o->mapped, error);
        o->context_taken = status == TOMBAC_OK;
    }
    if (status == TOMBAC_OK) status = tombac_operation_continue(o->mapped, no_next, NULL, NULL, &o->continued, error);
    if (status == TOMBAC_OK) status = record(o, error);
    tombac_operation *parts[] = {o->continued, o->recorded};
    if (status == TOMBAC_OK) status = tombac_operation_all(parts, 2, &o->all, error);
    return status == TOMBAC_OK ? tombac_operation_wait(o->all, -1, error) : status;
}

static tombac_status use_graph(float *result, tombac_error **error)
{
    static const char counter[] = "kernel k\nargument buffer a 0 uint u32 1 4 4 w\nrequires len(a) == 1\nobject FAKE count\n";
    graph_objects o = {0};
    tombac_status status = tombac_device_open("fake", &o.device, error);
    if (status == TOMBAC_OK)
        status = tombac_library_create_from_source(o.device, "s", counter, sizeof counter - 1, NULL, &o.library, error);
    if (status == TOMBAC_OK) status = tombac_kernel_create(o.library, "k", NULL, 0, &o.kernel, error);
    if (status == TOMBAC_OK) status = make_buffers(&o, error);
    if (status == TOMBAC_OK) status = tombac_launch_create(o.kernel, &o.launch, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_name(o.launch, "step", error);
    if (status == TOMBAC_OK) status = tombac_launch_set_buffer(o.launch, 0, o.view, 0, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_grid(o.launch, tombac_for_elements(1, 1), error);
    if (status == TOMBAC_OK) status = compose(&o, error);
    if (status == TOMBAC_OK) *result = (float)*(uint32_t *)tombac_buffer_contents(o.view) / 5.5f; /* 22 runs */
    tombac_sequence_release(o.sequence);
    tombac_operation *operations[] = {o.all, o.recorded, o.continued, o.mapped, o.second, o.first};
    for (int i = 0; i < 6; i++) tombac_operation_release(operations[i]);
    tombac_launch_release(o.launch);
    tombac_buffer_release(o.a);
    tombac_buffer_release(o.view);
    tombac_kernel_release(o.kernel);
    tombac_library_release(o.library);
    tombac_device_release(o.device);
    /* The device's thread releases the context after the callback. */
    for (int i = 0; i < 20000 && atomic_load(&o.released) != o.context_taken; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(o.released, o.context_taken); /* once, if the operation took it */
    return status;
}

static void *wait_a_moment(void *argument)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    return NULL;
}

static void test_operations(void **state)
{
    /* libc keeps the stacks of ended threads, each with a block of its own; how many workers run varies. */
    pthread_t threads[5];
    for (int i = 0; i < 5; i++) assert_int_equal(pthread_create(&threads[i], NULL, wait_a_moment, NULL), 0);
    for (int i = 0; i < 5; i++) pthread_join(threads[i], NULL);
    assert_true(sweep(use_graph, NULL, *state) > 100);
}

/* ---- Kernels in the background ---- */

static void told(void *context, const char *kernel, size_t ended, size_t total, tombac_status status)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

static tombac_status use_prewarm(float *result, tombac_error **error)
{
    static const char kernels[] = "kernel k\nkernel l\nconstant size 1 uint u32 1\nobject FAKE show\n";
    const uint32_t five = 5;
    const tombac_constant constant = {"size", 0, &five, sizeof five};
    const tombac_variant variants[] = {{"k", &constant, 1}, {"l", NULL, 0}, {"k", &constant, 1}};
    tombac_device *device = NULL;
    tombac_library *library = NULL;
    tombac_operation *all = NULL, *one = NULL;
    tombac_kernel *kernel = NULL, *same = NULL;
    atomic_int calls = 0;
    tombac_status status = tombac_device_open("fake", &device, error);
    if (status == TOMBAC_OK)
        status = tombac_library_create_from_source(device, "s", kernels, sizeof kernels - 1, NULL, &library, error);
    if (status == TOMBAC_OK)
        status = tombac_library_prewarm(library, variants, 3, told, &calls, &all, error);
    if (status == TOMBAC_OK) status = tombac_operation_wait(all, -1, error);
    if (status == TOMBAC_OK) status = tombac_kernel_prepare(library, "k", &constant, 1, &one, error);
    if (status == TOMBAC_OK) status = tombac_operation_wait(one, -1, error);
    if (status == TOMBAC_OK) status = tombac_operation_get_kernel(one, &kernel, error);
    if (status == TOMBAC_OK) status = tombac_kernel_create(library, "k", &constant, 1, &same, error);
    if (status == TOMBAC_OK && same == kernel) *result = (float)calls + 1;
    tombac_kernel_release(same);
    tombac_kernel_release(kernel);
    tombac_operation_release(one);
    tombac_operation_release(all);
    tombac_library_release(library);
    tombac_device_release(device);
    return status;
}

static void test_prewarm(void **state)
{
    assert_true(sweep(use_prewarm, NULL, *state) > 100);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {TEST(test_cached), TEST(test_compiled), TEST(test_errors), TEST(test_operations),
        TEST(test_prewarm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
