/* Host functions of kernels. They find the running launch by a thread-local pointer: kernels know nothing of
 * it, which keeps every call in kernel code cheap. A failure leaves the kernel's frames by longjmp; they hold
 * nothing that needs an end. */
#include "runtime/driver/cpu/host.h"

#include "artifact/abi.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local cpu_frame *current;

cpu_frame *cpu_frame_enter(cpu_frame *frame)
{
    cpu_frame *before = current;
    current = frame;
    return before;
}

static const char *find_literal(const void *frame_, uint64_t address, size_t *left)
{
    const cpu_frame *frame = frame_;
    bool found = rt_image_holds_data(frame->image, address, left) ||
                 (frame->rest && rt_image_holds_data(frame->rest, address, left));
    return found ? (const char *)(uintptr_t)address : NULL;
}

/* A string of the program, or `otherwise`. */
static const char *literal(const char *string, const char *otherwise)
{
    size_t left;
    const char *found = find_literal(current, (uint64_t)(uintptr_t)string, &left);
    return found && memchr(found, 0, left) ? found : otherwise;
}

static _Noreturn __attribute__((format(printf, 2, 3))) void stop(
    tombac_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(current->message, sizeof current->message, format, arguments);
    va_end(arguments);
    current->status = status;
    longjmp(current->leave, 1);
}

static void log_begin(uint32_t level, const char *format)
{
    current->record.format = format;
    current->record.level = level;
    current->record.count = 0;
}

static void log_argument(uint32_t kind, uint64_t bits)
{
    rt_log_record_add(&current->record, kind, bits);
}

static void log_end(void)
{
    rt_log_record_write(&current->record, find_literal, current, current->log);
}

static void assert_fail(const char *condition, const char *file, uint32_t line)
{
    snprintf(current->file, sizeof current->file, "%s", literal(file, ""));
    current->line = line;
    stop(TOMBAC_ERROR_KERNEL, "assertion failed: %s", literal(condition, "(unknown)"));
}

static void unsupported(const char *what)
{
    stop(TOMBAC_ERROR_UNSUPPORTED, "the kernel reached %s, which is not supported",
        literal(what, "something"));
}

static void divergent_barrier(void)
{
    stop(TOMBAC_ERROR_KERNEL, "threads of a threadgroup wait at different threadgroup barriers; "
                              "run the kernel on the device 'check' to see which");
}

static void stop_in_loop(const char *file, uint32_t line)
{
    snprintf(current->file, sizeof current->file, "%s", literal(file, ""));
    current->line = current->file[0] ? line : 0;
    stop(TOMBAC_ERROR_TIMEOUT, "the kernel was stopped in a loop after %g s", current->time_limit);
}

#define SYMBOL(NAME, FUNCTION) {NAME, (void *)(uintptr_t)&(FUNCTION)}
const rt_symbol cpu_host_symbols[] = {
    SYMBOL("__tombac_log_begin", log_begin),
    SYMBOL("__tombac_log_argument.u64", log_argument),
    SYMBOL("__tombac_log_end", log_end),
    SYMBOL("__tombac_assert_fail", assert_fail),
    SYMBOL("__tombac_unsupported", unsupported),
    SYMBOL(TB_CPU_DIVERGENT_BARRIER, divergent_barrier),
    SYMBOL(TB_CPU_STOP, stop_in_loop),
    /* what LLVM's code generator calls by itself */
    SYMBOL("memcpy", memcpy),
    SYMBOL("memmove", memmove),
    SYMBOL("memset", memset),
    SYMBOL("fmodf", fmodf),
    SYMBOL("fminf", fminf), /* of uniform halves */
    SYMBOL("fmaxf", fmaxf),
    SYMBOL("fmaf", fmaf),
    SYMBOL("ldexpf", ldexpf),
};
const size_t cpu_host_symbol_count = sizeof cpu_host_symbols / sizeof *cpu_host_symbols;
