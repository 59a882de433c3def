/* Traces; see trace.h and the "Trace Event Format" of the Chromium project (JSON array form).
 *
 * Events are collected in memory and appended to the file in pieces; the file is a whole JSON text after each
 * of them. Several devices and programs may write to one file: a piece is written under a lock on it. */
#include "runtime/trace.h"

#include "runtime/operation.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PIECE = 1 << 18 }; /* bytes that are collected before they are written */
static const char end_mark[] = "\n]\n";
#define END_SIZE (sizeof end_mark - 1)

struct rt_trace {
    pthread_mutex_t mutex;
    int file;
    long process;
    char *device;
    tb_text events; /* each begins with ",\n" */
};

/* The name as part of a JSON string. */
static void print_string(tb_text *text, const char *string)
{
    for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
        if (*c == '"' || *c == '\\')
            tb_text_printf(text, "\\%c", *c);
        else if (*c < 0x20)
            tb_text_printf(text, "\\u%04x", *c);
        else
            tb_text_putc(text, (char)*c);
    }
}

static bool write_all(int file, const char *data, size_t size, off_t offset)
{
    while (size) {
        ssize_t n = pwrite(file, data, size, offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        data += n;
        size -= (size_t)n;
        offset += n;
    }
    return true;
}

/* Where the next event goes, or -1 if the file is no trace. */
static off_t find_end(int file)
{
    struct stat facts;
    char mark[END_SIZE];
    if (fstat(file, &facts)) return -1;
    if (facts.st_size == 0) return 0;
    off_t end = facts.st_size - (off_t)END_SIZE;
    if (end < 1 || pread(file, mark, END_SIZE, end) != (ssize_t)END_SIZE ||
        memcmp(mark, end_mark, END_SIZE) != 0)
        return -1;
    return end;
}

/* With the mutex held. */
static void flush(rt_trace *trace)
{
    tb_text *events = &trace->events;
    if (events->size && !events->bad && flock(trace->file, LOCK_EX) == 0) {
        off_t end = find_end(trace->file);
        if (end == 0) events->data[0] = '['; /* the first event has no comma before it */
        tb_text_puts(events, end_mark);
        if (end >= 0 && !events->bad) write_all(trace->file, events->data, events->size, end);
        flock(trace->file, LOCK_UN);
    }
    tb_text_free(events);
}

static void note(
    rt_trace *trace, const char *name, const char *category, double begin, double end, const char *more)
{
    pthread_mutex_lock(&trace->mutex);
    tb_text *t = &trace->events;
    tb_text_puts(t, ",\n{\"name\":\"");
    print_string(t, name);
    tb_text_printf(t,
        "\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":%ld,\"tid\":%ld,\"args\":{"
        "\"device\":\"%s\"%s}}",
        category, begin * 1e6, (end - begin) * 1e6, trace->process, (long)syscall(SYS_gettid), trace->device,
        more);
    if (t->size > PIECE) flush(trace);
    pthread_mutex_unlock(&trace->mutex);
}

tombac_status rt_trace_open(const char *path, const char *device, rt_trace **trace, tombac_error **error)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return tb_fail_errno(error, "cannot write the trace '%s'", path);
    if (find_end(file) < 0) {
        close(file);
        return tb_fail(error, TOMBAC_ERROR_IO, "'%s' exists and is no trace", path);
    }
    rt_trace *made = calloc(1, sizeof *made);
    if (made) made->device = strdup(device);
    if (!made || !made->device) {
        free(made);
        close(file);
        return tb_fail_memory(error);
    }
    pthread_mutex_init(&made->mutex, NULL);
    made->file = file;
    made->process = (long)getpid();
    *trace = made;
    return TOMBAC_OK;
}

void rt_trace_operation(rt_trace *trace, const tombac_operation *operation)
{
    tb_text more = {0};
    double begun = operation->begun ? operation->begun : operation->ended;
    tb_text_printf(&more, ",\"queue_us\":%.3f,\"run_us\":%.3f,\"status\":\"%s\"",
        (begun - operation->submitted) * 1e6, operation->ran * 1e6, tombac_status_name(operation->status));
    if (operation->kernel) {
        tb_text_puts(&more, ",\"kernel\":\"");
        print_string(&more, operation->kernel);
        tb_text_printf(&more, "\",\"specialised\":%s", operation->specialised ? "true" : "false");
    }
    const char *name = tombac_operation_name(operation);
    if (!more.bad)
        note(trace, *name ? name : "(composed)", operation->type->category ? operation->type->category : "host",
            begun, operation->ended, more.data);
    tb_text_free(&more);
}

void rt_trace_compile(rt_trace *trace, const char *kernel, double begin, double end)
{
    note(trace, kernel, "compile", begin, end, "");
}

void rt_trace_specialise(rt_trace *trace, const char *kernel, double begin, double end, bool good)
{
    note(trace, kernel, "specialise", begin, end, good ? "" : ",\"failed\":true");
}

void rt_trace_close(rt_trace *trace)
{
    if (!trace) return;
    pthread_mutex_lock(&trace->mutex);
    flush(trace);
    pthread_mutex_unlock(&trace->mutex);
    close(trace->file);
    pthread_mutex_destroy(&trace->mutex);
    free(trace->device);
    free(trace);
}
