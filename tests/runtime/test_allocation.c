/* Every allocation of a whole use of the library fails in turn: nothing may crash or leak, and a call that
 * fails says that memory was short. malloc and its family are replaced for the whole process, jansson and
 * libc included. */
#include "fake.h"

#include <ftw.h>
#include <stdatomic.h>

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

/* Makes allocation 1, 2, 3, ... fail until the use needs fewer; gives their number. */
static long sweep(void (*before)(const world *w), const world *w)
{
    float result = 0;
    for (int i = 0; i < 2; i++) { /* what libraries allocate once is there after this */
        if (before) before(w);
        assert_int_equal(whole_use(&result, NULL), TOMBAC_OK);
        assert_true(result == 4);
    }
    for (long n = 1;; n++) {
        if (before) before(w);
        tombac_error *error = NULL;
        result = 0;
        long live_before = atomic_load(&live);
        atomic_store(&failed, false);
        atomic_store(&countdown, n);
        tombac_status status = whole_use(&result, &error);
        atomic_store(&countdown, 0);
        if (!atomic_load(&failed)) {
            assert_int_equal(status, TOMBAC_OK);
            return n - 1;
        }
        /* jansson 2.14 takes a lack of memory in its lexer for an error in the text, or loses a character. */
        bool is_json =
            status == TOMBAC_ERROR_ARTIFACT && (strstr(tombac_error_message(error), "the list of kernels:") ||
                                                   strstr(tombac_error_message(error), "manifest:"));
        bool correct =
            status == TOMBAC_OK ? result == 4 && !error : (status == TOMBAC_ERROR_MEMORY || is_json) && error;
        if (!correct)
            fail_msg("allocation %ld: %s: %s", n, tombac_status_name(status), tombac_error_message(error));
        tombac_error_release(error);
        if (atomic_load(&live) != live_before)
            fail_msg("allocation %ld: %ld blocks leaked", n, atomic_load(&live) - live_before);
    }
}

static void test_cached(void **state)
{
    assert_true(sweep(NULL, *state) > 50);
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
    assert_true(sweep(clear_cache, *state) > 100);
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

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {TEST(test_cached), TEST(test_compiled), TEST(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
