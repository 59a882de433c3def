/* tombac-conformance [--device NAME] [--specialise] [--folder KERNELS] [--timeout SECONDS] [--list] [FILTER...]
 *
 * Runs the tests whose name contains one of the filters (all without a filter) on one device (default:
 * "check"), prints one line per test and `N passed, N failed`, and exits with 0 if all passed, 1 if not, 2
 * for wrong usage. With --specialise every launch runs code for its own argument values (device cpu).
 *
 * Tests run in a worker process that reports each result through a pipe; when the worker dies or a test takes
 * too long, that test has failed and a new worker goes on behind it. */
#include "suite.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct cf_options {
    const char *device, *folder;
    int timeout;
    bool list, specialise;
    char **filters;
    int filter_count;
} cf_options;

/* One result as it travels through the pipe. */
typedef struct cf_result {
    bool failed;
    char message[2048];
} cf_result;

void cf_add(cf_suite *suite, cf_function *function, cf_parameters p, const char *name_format, ...)
{
    if (suite->count == suite->capacity) {
        suite->capacity = suite->capacity ? 2 * suite->capacity : 256;
        suite->entries = realloc(suite->entries, suite->capacity * sizeof *suite->entries);
        if (!suite->entries) exit(2);
    }
    cf_entry *entry = &suite->entries[suite->count++];
    entry->function = function;
    entry->p = p;
    va_list arguments;
    va_start(arguments, name_format);
    vsnprintf(entry->name, sizeof entry->name, name_format, arguments);
    va_end(arguments);
}

static bool selected(const cf_options *options, const char *name)
{
    for (int i = 0; i < options->filter_count; i++)
        if (strstr(name, options->filters[i])) return true;
    return options->filter_count == 0;
}

static bool write_all(int file, const void *data, size_t size)
{
    for (const char *p = data; size;) {
        ssize_t n = write(file, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

/* In the worker: runs the tests from `first` on. */
static int work(const cf_suite *suite, const cf_options *options, size_t first, int out)
{
    cf_cache cache = {.folder = options->folder, .specialise = options->specialise};
    tombac_device *device = NULL;
    tombac_error *error = NULL;
    if (tombac_device_open(options->device, &device, &error) != TOMBAC_OK) {
        fprintf(stderr, "tombac-conformance: %s\n", tombac_error_message(error));
        return 2;
    }
    if (options->specialise) tombac_device_specialise_after(device, 1, NULL);
    for (size_t i = first; i < suite->count; i++) {
        cf_test test = {.device = device, .cache = &cache};
        suite->entries[i].function(&test, suite->entries[i].p.v);
        cf_result result = {.failed = test.failed};
        memcpy(result.message, test.message, sizeof result.message);
        cf_free_all(&test);
        if (!write_all(out, &result, sizeof result)) return 2;
    }
    return 0;
}

/* Reads one result; false where the worker died or took too long (its message then says which). */
static bool read_result(int in, int timeout, cf_result *result)
{
    for (size_t have = 0; have < sizeof *result;) {
        struct pollfd poller = {.fd = in, .events = POLLIN};
        int ready = poll(&poller, 1, timeout * 1000);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            snprintf(result->message, sizeof result->message, "took more than %d seconds", timeout);
            return false;
        }
        ssize_t n = read(in, (char *)result + have, sizeof *result - have);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            result->message[0] = '\0';
            return false;
        }
        have += (size_t)n;
    }
    return true;
}

static pid_t start_worker(const cf_suite *suite, const cf_options *options, size_t first, int *in)
{
    int ends[2];
    if (pipe(ends) != 0) return -1;
    fflush(stdout);
    pid_t worker = fork();
    if (worker == 0) {
        close(ends[0]);
        _exit(work(suite, options, first, ends[1]));
    }
    close(ends[1]);
    *in = ends[0];
    return worker;
}

static void print_result(const char *name, bool failed, const char *message)
{
    if (!failed) {
        printf("ok    %s\n", name);
        fflush(stdout);
        return;
    }
    printf("FAIL  %s: ", name);
    for (const char *c = message; *c; c++) {
        putchar(*c);
        if (*c == '\n' && c[1]) fputs("        ", stdout);
    }
    if (!*message || message[strlen(message) - 1] != '\n') putchar('\n');
    fflush(stdout);
}

static int run_all(const cf_suite *suite, const cf_options *options)
{
    size_t passed = 0, failed = 0;
    for (size_t i = 0; i < suite->count;) {
        int in = -1;
        pid_t worker = start_worker(suite, options, i, &in);
        if (worker < 0) {
            perror("tombac-conformance");
            return 2;
        }
        cf_result result = {0};
        bool alive = true;
        for (; i < suite->count && alive; i++) {
            alive = read_result(in, options->timeout, &result);
            if (!alive) break;
            print_result(suite->entries[i].name, result.failed, result.message);
            *(result.failed ? &failed : &passed) += 1;
        }
        if (!alive && result.message[0]) kill(worker, SIGKILL);
        close(in);
        int status = 0;
        while (waitpid(worker, &status, 0) < 0 && errno == EINTR) {
        }
        if (alive) continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 2) return 2;
        if (!result.message[0])
            snprintf(result.message, sizeof result.message, "the process ended: %s",
                WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit");
        print_result(suite->entries[i].name, true, result.message);
        failed += 1;
        i += 1;
    }
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed ? 1 : 0;
}

static bool parse(int count, char **words, cf_options *options)
{
    int i = 1;
    for (; i < count && words[i][0] == '-'; i++) {
        bool more = i + 1 < count;
        if (strcmp(words[i], "--list") == 0) {
            options->list = true;
        } else if (strcmp(words[i], "--specialise") == 0) {
            options->specialise = true;
        } else if (strcmp(words[i], "--device") == 0 && more) {
            options->device = words[++i];
        } else if (strcmp(words[i], "--folder") == 0 && more) {
            options->folder = words[++i];
        } else if (strcmp(words[i], "--timeout") == 0 && more) {
            options->timeout = atoi(words[++i]);
        } else {
            return false;
        }
    }
    options->filters = words + i;
    options->filter_count = count - i;
    return options->timeout > 0;
}

int main(int count, char **words)
{
    cf_options options = {.device = "check", .folder = CF_KERNEL_FOLDER, .timeout = 120};
    if (!parse(count, words, &options)) {
        fputs("usage: tombac-conformance [--device NAME] [--specialise] [--folder KERNELS] [--timeout SECONDS] [--list] "
              "[FILTER...]\n",
            stderr);
        return 2;
    }
    cf_suite suite = {0};
#define CF_ADD(name) cf_family_##name(&suite);
    CF_FAMILIES(CF_ADD)
    size_t kept = 0;
    for (size_t i = 0; i < suite.count; i++)
        if (selected(&options, suite.entries[i].name)) suite.entries[kept++] = suite.entries[i];
    suite.count = kept;
    int status = 0;
    if (options.list)
        for (size_t i = 0; i < kept; i++) puts(suite.entries[i].name);
    else
        status = run_all(&suite, &options);
    free(suite.entries);
    return status;
}
