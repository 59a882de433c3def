/* The compile cache with the fake compiler, whose runs are counted: what hits, what misses, damage, eviction,
 * folders that cannot be used, and many processes and threads at once. */
#include "fake.h"

#include "runtime/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Opens a device, a library and its kernel "k", runs it, and gives what it printed (valid until the next
 * call). */
static tombac_status use(const char *path, const char *source, const tombac_compile_options *options,
    const tombac_constant *constants, size_t constant_count, char printed[256], tombac_error **error)
{
    tombac_device *device = open_device();
    tombac_library *library = NULL;
    tombac_kernel *kernel = NULL;
    tombac_launch *launch = NULL;
    tombac_status status = path ? tombac_library_create_from_file(device, path, options, &library, error)
                                : tombac_library_create_from_source(
                                      device, NULL, source, strlen(source), options, &library, error);
    if (status == TOMBAC_OK)
        status = tombac_kernel_create(library, "k", constants, constant_count, &kernel, error);
    if (status == TOMBAC_OK) status = tombac_launch_create(kernel, &launch, error);
    if (status == TOMBAC_OK)
        status = tombac_launch_set_threads(launch, (tombac_size3){1, 1, 1}, (tombac_size3){1, 1, 1}, error);
    if (status == TOMBAC_OK) status = tombac_launch_submit(launch, error);
    if (status == TOMBAC_OK) status = tombac_launch_wait(launch, error);
    if (status == TOMBAC_OK) snprintf(printed, 256, "%s", tombac_launch_log(launch));
    tombac_launch_release(launch);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    return status;
}

static void expect_prints(const char *path, const char *source, const char *expected)
{
    char printed[256] = "";
    tombac_error *error = NULL;
    if (use(path, source, NULL, NULL, 0, printed, &error) != TOMBAC_OK)
        fail_msg("%s", tombac_error_message(error));
    assert_string_equal(printed, expected);
}

static void expect_runs(const world *w, const char *expected)
{
    assert_string_equal(world_runs(w), expected);
    world_clear_runs(w);
}

static const char plain[] = "kernel k\nconstant size 1 uint u32 1\nobject FAKE show\n";

static void test_hit(void **state)
{
    const world *w = *state;
    for (int i = 0; i < 3; i++) expect_prints(NULL, plain, "FAKE show");
    expect_runs(w, "lc");
    const char *path = world_write(w, "a.metal", "kernel k\nobject FAKE show file\n");
    for (int i = 0; i < 3; i++) expect_prints(path, NULL, "FAKE show file");
    expect_runs(w, "lc");
}

static void test_what_counts(void **state)
{
    const world *w = *state;
    char printed[256];
    static const char *const define[] = {"A"}, *const folder[] = {"/i"};
    const uint32_t one = 1, two = 2;
    const tombac_constant first = {NULL, 1, &one, 4}, second = {NULL, 1, &two, 4},
                          named = {"size", 0, &two, 4};
    const tombac_compile_options options[] = {{.standard = "metal3.0"}, {.math = TOMBAC_MATH_SAFE},
        {.defines = define, .define_count = 1}, {.include_folders = folder, .include_folder_count = 1}};
    for (int repeat = 0; repeat < 2; repeat++) {
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(use(NULL, plain, &options[i], NULL, 0, printed, NULL), TOMBAC_OK);
        assert_int_equal(use(NULL, plain, NULL, &first, 1, printed, NULL), TOMBAC_OK);
        assert_int_equal(use(NULL, plain, NULL, &second, 1, printed, NULL), TOMBAC_OK);
        assert_int_equal(use(NULL, plain, NULL, NULL, 0, printed, NULL), TOMBAC_OK);
        expect_runs(w, repeat ? "" : "lclclclclccc");
    }
    assert_int_equal(
        use(NULL, plain, NULL, &named, 1, printed, NULL), TOMBAC_OK); /* the same constant by name */
    expect_runs(w, "");
    const tombac_compile_options none = {.no_cache = true};
    assert_int_equal(use(NULL, plain, &none, NULL, 0, printed, NULL), TOMBAC_OK);
    expect_runs(w, "lc");
}

static void test_headers(void **state)
{
    const world *w = *state;
    char header[128], source[256];
    snprintf(header, sizeof header, "%s", world_write(w, "h.h", " first"));
    snprintf(source, sizeof source, "kernel k\nobject FAKE show\ninclude %s\n", header);
    expect_prints(NULL, source, "FAKE show first");
    expect_runs(w, "lc");
    world_write(w, "h.h", " other"); /* the same size */
    expect_prints(NULL, source, "FAKE show other");
    expect_runs(w, "lc");
    world_write(w, "h.h", " first"); /* changed back: known */
    expect_prints(NULL, source, "FAKE show first");
    expect_runs(w, "");
    for (int i = 0; i < 10; i++) { /* more states than an index remembers */
        char content[16];
        snprintf(content, sizeof content, " state %d", i);
        world_write(w, "h.h", content);
        char expected[32];
        snprintf(expected, sizeof expected, "FAKE show%s", content);
        expect_prints(NULL, source, expected);
    }
    expect_runs(w, "lclclclclclclclclclc");
    world_write(w, "h.h", " first");
    expect_prints(NULL, source, "FAKE show first");
    expect_runs(w, "lc");
    struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, header, old, 0), 0); /* another time, the same content */
    for (int i = 0; i < 2; i++) expect_prints(NULL, source, "FAKE show first");
    expect_runs(w, "");
    world_write(w, "h.h", " changed");
    expect_prints(NULL, source, "FAKE show changed");
    expect_runs(w, "lc");
    assert_int_equal(unlink(header), 0);
    char printed[256];
    assert_int_equal(use(NULL, source, NULL, NULL, 0, printed, NULL), TOMBAC_ERROR_SOURCE);
}

/* A header that appears where the compiler had looked for it in vain. */
static void test_shadow(void **state)
{
    const world *w = *state;
    char source[512], path[128];
    snprintf(path, sizeof path, "%s/near.h", w->folder);
    snprintf(source, sizeof source, "kernel k\nobject FAKE show\nabsent %s\ninclude %s\n", path,
        world_write(w, "h.h", " far"));
    for (int i = 0; i < 2; i++) expect_prints(NULL, source, "FAKE show far");
    expect_runs(w, "lc");
    world_write(w, "near.h", " near");
    for (int i = 0; i < 2; i++) expect_prints(NULL, source, "FAKE show near far");
    expect_runs(w, "lc");
    assert_int_equal(unlink(path), 0);
    for (int i = 0; i < 2; i++) expect_prints(NULL, source, "FAKE show far");
    expect_runs(w, ""); /* as before, so known */
    /* Also for what does not compile. */
    char printed[256];
    snprintf(source, sizeof source, "kernel k\nabsent %s\nfail-compile 3 bad\n", path);
    for (int i = 0; i < 2; i++)
        assert_int_equal(use(NULL, source, NULL, NULL, 0, printed, NULL), TOMBAC_ERROR_SOURCE);
    expect_runs(w, "lc");
    world_write(w, "near.h", " near");
    assert_int_equal(use(NULL, source, NULL, NULL, 0, printed, NULL), TOMBAC_ERROR_SOURCE);
    expect_runs(w, "lc");
}

static void test_changed_source(void **state)
{
    const world *w = *state;
    const char *path = world_write(w, "a.metal", "kernel k\nobject FAKE show one\n");
    expect_prints(path, NULL, "FAKE show one");
    world_write(w, "a.metal", "kernel k\nobject FAKE show two\n");
    expect_prints(path, NULL, "FAKE show two");
    /* A file that changes between library and kernel would give a kernel of another library. */
    tombac_device *device = open_device();
    tombac_library *library = NULL;
    tombac_kernel *kernel = NULL;
    world_write(w, "a.metal", "kernel k\nobject FAKE show three\n");
    assert_int_equal(tombac_library_create_from_file(device, path, NULL, &library, NULL), TOMBAC_OK);
    world_write(w, "a.metal", "kernel k\nobject FAKE show four\n");
    tombac_error *error = NULL;
    tombac_status status = tombac_kernel_create(library, "k", NULL, 0, &kernel, &error);
    expect_failure(status, error, TOMBAC_ERROR_IO, "changed after its library was created");
    tombac_library_release(library);
    tombac_device_release(device);
    expect_prints(path, NULL, "FAKE show four");
}

static void test_failures(void **state)
{
    const world *w = *state;
    char printed[256];
    for (int i = 0; i < 2; i++) {
        tombac_error *error = NULL;
        tombac_status status =
            use(NULL, "kernel k\nfail-compile 3 a.h:4:9: error: bad", NULL, NULL, 0, printed, &error);
        assert_int_equal(tombac_error_line(error), 4);
        assert_string_equal(tombac_error_kernel(error), "k");
        expect_failure(status, error, TOMBAC_ERROR_SOURCE, "a.h:4:9: error: bad");
        error = NULL;
        status = use(NULL, "kernel k\nfail-compile 4 no textures", NULL, NULL, 0, printed, &error);
        expect_failure(status, error, TOMBAC_ERROR_UNSUPPORTED, "no textures");
    }
    expect_runs(w, "lclc");
    /* What may be different next time is tried again. */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(use(NULL, "kernel k\nfail-compile 5 no clang", NULL, NULL, 0, printed, NULL),
            TOMBAC_ERROR_COMPILER);
        assert_int_equal(
            use(NULL, "fail-list 3 no header", NULL, NULL, 0, printed, NULL), TOMBAC_ERROR_SOURCE);
        assert_int_equal(
            use(NULL, "kernel k\nobject NONSENSE", NULL, NULL, 0, printed, NULL), TOMBAC_ERROR_ARTIFACT);
    }
    expect_runs(w, "lcl"
                   "lc"
                   "cl"
                   "c");
}

/* ---- The folder ---- */

typedef void visitor(const char *path, const struct stat *facts, void *context);

/* Visits every file of the cache. */
static void each_file(visitor *visit, void *context)
{
    const char *root = tombac_cache_folder();
    for (unsigned byte = 0; byte < 256; byte++) {
        char folder[256], path[512];
        snprintf(folder, sizeof folder, "%s/v1/%02x", root, byte);
        DIR *list = opendir(folder);
        for (struct dirent *item; list && (item = readdir(list));) {
            struct stat facts;
            snprintf(path, sizeof path, "%s/%s", folder, item->d_name);
            if (item->d_name[0] != '.' && stat(path, &facts) == 0) visit(path, &facts, context);
        }
        if (list) closedir(list);
    }
}

typedef struct totals {
    size_t files, bytes;
} totals;

static void add_up(const char *path, const struct stat *facts, void *context)
{
    totals *t = context;
    t->files++;
    t->bytes += (size_t)facts->st_size;
}

static void flip(const char *path, const struct stat *facts, void *context)
{
    int fd = open(path, O_RDWR);
    char byte;
    off_t at = facts->st_size * *(int *)context / 100;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void cut(const char *path, const struct stat *facts, void *context)
{
    assert_int_equal(truncate(path, facts->st_size * *(int *)context / 100), 0);
}

static void test_damage(void **state)
{
    const world *w = *state;
    for (int percent = 0; percent < 100; percent += 7) {
        expect_prints(NULL, plain, "FAKE show");
        world_clear_runs(w);
        each_file(percent % 2 ? flip : cut, &percent);
        expect_prints(NULL, plain, "FAKE show");
        expect_runs(w, "lc");
        expect_prints(NULL, plain, "FAKE show"); /* it was written anew */
        expect_runs(w, "");
    }
}

/* An entry that is sound, but whose artifact the driver does not take any more, is compiled anew. */
static void test_stale(void **state)
{
    const world *w = *state;
    rt_source source;
    rt_cache cache;
    rt_compiler compiler;
    rt_key key;
    expect_prints(NULL, plain, "FAKE show");
    assert_int_equal(rt_source_open("source", plain, strlen(plain), NULL, &source, NULL), TOMBAC_OK);
    assert_int_equal(rt_cache_open(&cache, NULL), TOMBAC_OK);
    assert_int_equal(rt_compiler_find(&compiler, NULL), TOMBAC_OK);
    const rt_request request = {.source = &source};
    assert_int_equal(rt_cache_key(&request, &key, NULL), TOMBAC_OK);
    rt_response bad = {.exit_status = 0};
    tb_text_puts(&bad.output, "{\"kernels\": 1}");
    rt_cache_put(&cache, &key, compiler.identity, NULL, 0, &bad);
    world_clear_runs(w);
    expect_prints(NULL, plain, "FAKE show");
    expect_runs(w, "l");
    rt_response_free(&bad);
    rt_compiler_free(&compiler);
    rt_cache_close(&cache);
    rt_source_close(&source);
}

/* The math library and the precompiled headers lie beside the compiler; a change of either makes kernels stale. */
static void test_data_identity(void **state)
{
    const world *w = *state;
    static const char *const files[] = {"lib/tombac/math.bc", "lib/tombac/metal.pch", "lib/tombac/metal20.pch"};
    char command[512], program[128];
    snprintf(program, sizeof program, "%s/bin/tombac-cc", w->folder);
    snprintf(command, sizeof command, "mkdir -p '%s/bin' '%s/lib/tombac' && cp '%s' '%s'", w->folder, w->folder,
        getenv("TOMBAC_CC"), program);
    assert_int_equal(system(command), 0);
    setenv("TOMBAC_CC", program, 1);
    for (int i = 0; i < 3; i++) world_write(w, files[i], "one");
    expect_prints(NULL, plain, "FAKE show");
    expect_runs(w, "lc");
    expect_prints(NULL, plain, "FAKE show");
    expect_runs(w, "");
    for (int i = 0; i < 3; i++) {
        world_write(w, files[i], "two"); /* of the same size */
        expect_prints(NULL, plain, "FAKE show");
        expect_runs(w, "lc");
        expect_prints(NULL, plain, "FAKE show");
        expect_runs(w, "");
    }
    char own[128];
    snprintf(own, sizeof own, "%s", world_write(w, "math.bc", "another"));
    setenv("TOMBAC_MATH", own, 1);
    expect_prints(NULL, plain, "FAKE show");
    expect_runs(w, "lc");
    unsetenv("TOMBAC_MATH");
    expect_prints(NULL, plain, "FAKE show");
    expect_runs(w, "");
}

static void test_compiler_identity(void **state)
{
    const world *w = *state;
    char copy[128], printed[256], command[512];
    snprintf(copy, sizeof copy, "%s/tombac-cc", w->folder);
    snprintf(command, sizeof command, "cp '%s' '%s'", getenv("TOMBAC_CC"), copy);
    expect_prints(NULL, plain, "FAKE show");
    expect_runs(w, "lc");
    assert_int_equal(system(command), 0);
    setenv("TOMBAC_CC", copy, 1);
    expect_prints(NULL, plain, "FAKE show");
    expect_runs(w, "lc");
    char clang[128];
    snprintf(clang, sizeof clang, "%s", world_write(w, "clang", "another"));
    setenv("TOMBAC_CLANG", clang, 1);
    expect_prints(NULL, plain, "FAKE show");
    expect_runs(w, "lc");
    unsetenv("TOMBAC_CLANG");
    expect_prints(NULL, plain, "FAKE show");
    expect_runs(w, "");
    setenv("TOMBAC_MSL", w->folder, 1); /* headers that somebody works on */
    for (int i = 0; i < 2; i++) expect_prints(NULL, plain, "FAKE show");
    expect_runs(w, "lclc");
    unsetenv("TOMBAC_MSL");
    setenv("TOMBAC_CC", "/nonexistent/tombac-cc", 1); /* what is current runs without a compiler */
    expect_prints(NULL, plain, "FAKE show");
    assert_int_equal(use(NULL, "kernel k\n", NULL, NULL, 0, printed, NULL), TOMBAC_ERROR_COMPILER);
}

static void test_eviction(void **state)
{
    const world *w = *state;
    char source[128], expected[32];
    expect_prints(NULL, "kernel k\nobject FAKE show 1000\n", "FAKE show 1000");
    totals one = {0};
    each_file(add_up, &one);
    assert_int_equal(one.files, 4); /* index and data, of the list and of the kernel */
    char limit[32];
    snprintf(limit, sizeof limit, "%zu", one.bytes * 5);
    setenv("TOMBAC_CACHE_SIZE", limit, 1);
    for (int i = 1001; i < 1020; i++) {
        snprintf(source, sizeof source, "kernel k\nobject FAKE show %d\n", i);
        snprintf(expected, sizeof expected, "FAKE show %d", i);
        expect_prints(NULL, source, expected);
        expect_prints(NULL, "kernel k\nobject FAKE show 1000\n", "FAKE show 1000"); /* keeps being used */
        totals all = {0};
        each_file(add_up, &all);
        assert_true(all.bytes <= one.bytes * 5);
    }
    world_clear_runs(w);
    expect_prints(NULL, "kernel k\nobject FAKE show 1000\n", "FAKE show 1000");
    expect_prints(NULL, source, expected);
    expect_runs(w, "");
    expect_prints(NULL, "kernel k\nobject FAKE show 1001\n", "FAKE show 1001");
    expect_runs(w, "lc");
    setenv("TOMBAC_CACHE_SIZE", "0", 1); /* off */
    for (int i = 0; i < 2; i++) expect_prints(NULL, source, expected);
    expect_runs(w, "lclc");
}

static void test_stale_temporary_files(void **state)
{
    char folder[256], fresh[300], old[300];
    expect_prints(NULL, plain, "FAKE show");
    snprintf(folder, sizeof folder, "%s/v1/00", tombac_cache_folder());
    mkdir(folder, 0700);
    snprintf(fresh, sizeof fresh, "%s/x.data.fresh1", folder);
    snprintf(old, sizeof old, "%s/x.data.old111", folder);
    close(open(fresh, O_CREAT | O_WRONLY, 0600));
    close(open(old, O_CREAT | O_WRONLY, 0600));
    struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, old, long_ago, 0), 0);
    expect_prints(NULL, "kernel k\nobject FAKE show 2\n", "FAKE show 2");
    assert_int_equal(access(fresh, F_OK), 0);
    assert_int_not_equal(access(old, F_OK), 0);
}

static void test_unusable_folder(void **state)
{
    const world *w = *state;
    const char *file = world_write(w, "file", "");
    setenv("TOMBAC_CACHE", file, 1);
    for (int i = 0; i < 2; i++) expect_prints(NULL, plain, "FAKE show");
    expect_runs(w, "lclc");
    char open_to_all[128];
    snprintf(open_to_all, sizeof open_to_all, "%s/open", w->folder);
    assert_int_equal(mkdir(open_to_all, 0700), 0);
    assert_int_equal(chmod(open_to_all, 0777), 0);
    setenv("TOMBAC_CACHE", open_to_all, 1); /* anybody could put code there */
    for (int i = 0; i < 2; i++) expect_prints(NULL, plain, "FAKE show");
    expect_runs(w, "lclc");
}

static void test_folder_names(void **state)
{
    setenv("TOMBAC_CACHE", "/own", 1);
    assert_string_equal(tombac_cache_folder(), "/own");
    unsetenv("TOMBAC_CACHE");
    char *home = strdup(getenv("HOME") ? getenv("HOME") : "/"), *xdg = getenv("XDG_CACHE_HOME");
    xdg = xdg ? strdup(xdg) : NULL;
    setenv("HOME", "/home/me", 1);
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    assert_string_equal(tombac_cache_folder(), "/xdg/tombac");
    setenv("XDG_CACHE_HOME", "relative", 1); /* the specification says to ignore it */
    assert_string_equal(tombac_cache_folder(), "/home/me/.cache/tombac");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_string_equal(tombac_cache_folder(), "");
    setenv("HOME", home, 1);
    if (xdg) setenv("XDG_CACHE_HOME", xdg, 1);
    free(home);
    free(xdg);
}

/* ---- Many at once ---- */

enum { PROCESSES = 8, THREADS = 3, ROUNDS = 12 };

static void *use_many(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    for (int i = 0; i < ROUNDS; i++) {
        char source[64], expected[32], printed[256] = "";
        seed = seed * 1103515245 + 12345;
        unsigned which = seed >> 16 & 3;
        snprintf(source, sizeof source, "kernel k\nobject FAKE show %u\n", which);
        snprintf(expected, sizeof expected, "FAKE show %u", which);
        if (use(NULL, source, NULL, NULL, 0, printed, NULL) != TOMBAC_OK || strcmp(printed, expected) != 0)
            return "wrong";
    }
    return NULL;
}

static int many_threads(unsigned seed)
{
    pthread_t threads[THREADS];
    int wrong = 0;
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, use_many, (void *)(uintptr_t)(seed * THREADS + i))) return 1;
    for (int i = 0; i < THREADS; i++) {
        void *problem;
        pthread_join(threads[i], &problem);
        wrong |= problem != NULL;
    }
    return wrong;
}

/* A limit that holds only some of the entries makes processes evict what others read. */
static void test_concurrency(void **state)
{
    setenv("TOMBAC_CACHE_SIZE", "3K", 1);
    pid_t children[PROCESSES];
    for (unsigned i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(many_threads(i));
        assert_true(children[i] > 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int how;
        assert_int_equal(waitpid(children[i], &how, 0), children[i]);
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
    totals all = {0};
    each_file(add_up, &all);
    assert_true(all.files > 0);
}

/* A cached kernel starts in under 10 ms, processes not counted because there are none. */
static void test_speed(void **state)
{
    const world *w = *state;
    expect_prints(NULL, plain, "FAKE show");
    world_clear_runs(w);
    double best = 1;
    for (int i = 0; i < 20; i++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        expect_prints(NULL, plain, "FAKE show");
        clock_gettime(CLOCK_MONOTONIC, &end);
        double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
        if (seconds < best) best = seconds;
    }
    expect_runs(w, "");
    print_message("device, library, kernel and launch from the cache: %.3f ms\n", 1e3 * best);
    assert_true(best < 0.010);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {TEST(test_hit), TEST(test_what_counts), TEST(test_headers), TEST(test_shadow),
        TEST(test_changed_source), TEST(test_failures), TEST(test_damage), TEST(test_stale),
        TEST(test_compiler_identity), TEST(test_data_identity), TEST(test_eviction), TEST(test_stale_temporary_files),
        TEST(test_unusable_folder), TEST(test_folder_names), TEST(test_concurrency), TEST(test_speed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
