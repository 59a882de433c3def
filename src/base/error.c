/* tombac_error objects; see error.h and tombac.h. */
#include "base/error.h"

#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tombac_error {
    tombac_status status;
    char *message, *kernel, *operation, *file;
    unsigned line, column;
    bool has_thread;
    uint32_t thread[3], threadgroup[3];
    bool fixed; /* a constant, never written nor freed; by a mark, as program and library each have their own */
};

static const struct tombac_error no_memory = {.status = TOMBAC_ERROR_MEMORY, .message = "out of memory", .fixed = true};

static tombac_status make(tombac_error **error, tombac_status status, tb_text *message)
{
    if (!error) {
        tb_text_free(message);
        return status;
    }
    tombac_error *made = calloc(1, sizeof *made);
    if (made) {
        made->status = status;
        made->message = tb_text_take(message);
    }
    if (!made || !made->message) {
        free(made);
        tb_text_free(message);
        made = (tombac_error *)&no_memory; /* marked, so never written */
    }
    *error = made;
    return status;
}

tombac_status tb_fail(tombac_error **error, tombac_status status, const char *format, ...)
{
    tb_text message = {0};
    va_list arguments;
    va_start(arguments, format);
    tb_text_vprintf(&message, format, arguments);
    va_end(arguments);
    return make(error, status, &message);
}

tombac_status tb_fail_errno(tombac_error **error, const char *format, ...)
{
    int code = errno;
    tb_text message = {0};
    va_list arguments;
    va_start(arguments, format);
    tb_text_vprintf(&message, format, arguments);
    va_end(arguments);
    tb_text_printf(&message, ": %s", strerror(code));
    return make(error, TOMBAC_ERROR_IO, &message);
}

tombac_status tb_fail_memory(tombac_error **error)
{
    if (error) *error = (tombac_error *)&no_memory;
    return TOMBAC_ERROR_MEMORY;
}

tombac_status tombac_error_create(tombac_status status, const char *message, tombac_error **error)
{
    return tb_fail(error, status, "%s", message ? message : "");
}

static void replace(char **slot, const char *value)
{
    char *copy = value ? strdup(value) : NULL;
    if (value && !copy) return;
    free(*slot);
    *slot = copy;
}

void tb_error_set_kernel(tombac_error **error, const char *kernel)
{
    if (error && *error && !(*error)->fixed) replace(&(*error)->kernel, kernel);
}

void tb_error_set_location(tombac_error **error, const char *file, unsigned line, unsigned column)
{
    if (!error || !*error || (*error)->fixed) return;
    replace(&(*error)->file, file);
    (*error)->line = line;
    (*error)->column = column;
}

void tb_error_set_operation(tombac_error **error, const char *name)
{
    if (error && *error && !(*error)->fixed) replace(&(*error)->operation, name);
}

void tb_error_set_thread(tombac_error **error, const uint32_t thread[3], const uint32_t threadgroup[3])
{
    if (!error || !*error || (*error)->fixed) return;
    (*error)->has_thread = true;
    memcpy((*error)->thread, thread, sizeof (*error)->thread);
    memcpy((*error)->threadgroup, threadgroup, sizeof (*error)->threadgroup);
}

void tb_error_copy(const tombac_error *from, tombac_error **to)
{
    if (!from || !to) return;
    tb_fail(to, from->status, "%s", from->message);
    tb_error_set_kernel(to, from->kernel);
    tb_error_set_operation(to, from->operation);
    tb_error_set_location(to, from->file, from->line, from->column);
    if (from->has_thread) tb_error_set_thread(to, from->thread, from->threadgroup);
}

const char *tombac_status_name(tombac_status status)
{
    switch (status) {
    case TOMBAC_OK: return "ok";
    case TOMBAC_ERROR_ARGUMENT: return "argument error";
    case TOMBAC_ERROR_MEMORY: return "out of memory";
    case TOMBAC_ERROR_IO: return "input/output error";
    case TOMBAC_ERROR_NOT_FOUND: return "not found";
    case TOMBAC_ERROR_SOURCE: return "source error";
    case TOMBAC_ERROR_UNSUPPORTED: return "unsupported";
    case TOMBAC_ERROR_COMPILER: return "compiler error";
    case TOMBAC_ERROR_BINDING: return "binding error";
    case TOMBAC_ERROR_GEOMETRY: return "geometry error";
    case TOMBAC_ERROR_KERNEL: return "kernel failure";
    case TOMBAC_ERROR_TIMEOUT: return "time-out";
    case TOMBAC_ERROR_ARTIFACT: return "artifact error";
    case TOMBAC_ERROR_BUSY: return "conflict";
    case TOMBAC_ERROR_DEPENDENCY: return "dependency failed";
    case TOMBAC_ERROR_CONTRACT: return "contract violation";
    }
    return "unknown status";
}

tombac_status tombac_error_status(const tombac_error *error) { return error ? error->status : TOMBAC_OK; }

const char *tombac_error_message(const tombac_error *error) { return error ? error->message : ""; }

const char *tombac_error_kernel(const tombac_error *error) { return error ? error->kernel : NULL; }

const char *tombac_error_operation(const tombac_error *error) { return error ? error->operation : NULL; }

bool tombac_error_thread(const tombac_error *error, uint32_t thread[3], uint32_t threadgroup[3])
{
    if (!error || !error->has_thread) return false;
    if (thread) memcpy(thread, error->thread, sizeof error->thread);
    if (threadgroup) memcpy(threadgroup, error->threadgroup, sizeof error->threadgroup);
    return true;
}

const char *tombac_error_file(const tombac_error *error) { return error ? error->file : NULL; }

unsigned tombac_error_line(const tombac_error *error) { return error ? error->line : 0; }

unsigned tombac_error_column(const tombac_error *error) { return error ? error->column : 0; }

void tombac_error_release(tombac_error *error)
{
    if (!error || error->fixed) return;
    free(error->message);
    free(error->kernel);
    free(error->operation);
    free(error->file);
    free(error);
}
