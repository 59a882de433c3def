/* Child processes; see process.h. posix_spawn cannot set limits, so this forks; between fork and exec the child calls
 * async-signal-safe functions only, because other threads of the caller may hold locks. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { IN, OUT, ERR, EXEC, PIPES };

typedef struct pipes {
    int read[PIPES], write[PIPES]; /* -1 where closed */
} pipes;

static void pipes_close(pipes *p)
{
    for (int i = 0; i < PIPES; i++) {
        if (p->read[i] >= 0) close(p->read[i]);
        if (p->write[i] >= 0) close(p->write[i]);
        p->read[i] = p->write[i] = -1;
    }
}

static bool pipes_open(pipes *p)
{
    for (int i = 0; i < PIPES; i++) p->read[i] = p->write[i] = -1;
    for (int i = 0; i < PIPES; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) {
            pipes_close(p);
            return false;
        }
        p->read[i] = ends[0];
        p->write[i] = ends[1];
    }
    return true;
}

static const rlim_t deep_stack = (rlim_t)256 << 20;

static _Noreturn void child(const tb_process *process, const pipes *p, pid_t parent)
{
    setpgid(0, 0);
    dup2(p->read[IN], 0);
    dup2(p->write[OUT], 1);
    dup2(p->write[ERR], 2);
    if (process->memory_limit) {
        struct rlimit limit = {process->memory_limit, process->memory_limit};
        setrlimit(RLIMIT_AS, &limit);
    }
    /* Compilers recurse over what they read; the stack is only taken as far as it is used. */
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < deep_stack) {
        stack.rlim_cur = stack.rlim_max < deep_stack ? stack.rlim_max : deep_stack;
        setrlimit(RLIMIT_STACK, &stack);
    }
    /* A parent that is interrupted or killed takes its children along, and theirs; each has a group of its own. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    execvp(process->arguments[0], (char *const *)process->arguments);
    int code = errno;
    ssize_t ignored = write(p->write[EXEC], &code, sizeof code);
    (void)ignored;
    _exit(127);
}

static void close_end(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* Reads what is there into `text`; closes the end of a finished stream. */
static void drain(int *fd, tb_text *text)
{
    char block[1 << 14];
    ssize_t got = read(*fd, block, sizeof block);
    if (got > 0) tb_text_append(text, block, (size_t)got);
    else if (got == 0 || (errno != EINTR && errno != EAGAIN)) close_end(fd);
}

enum { CANCEL_MILLISECONDS = 5 }; /* between looks */

/* Feeds and drains the pipes until the child closed both outputs, or the time is over, it is cancelled or it wrote too much
 * (false). */
static bool pump(tb_process *process, pipes *p, double deadline)
{
    size_t fed = 0;
    if (!process->input) close_end(&p->write[IN]);
    else fcntl(p->write[IN], F_SETFL, O_NONBLOCK);
    while (p->read[OUT] >= 0 || p->read[ERR] >= 0) {
        struct pollfd polled[3] = {
            {p->read[OUT], POLLIN, 0}, {p->read[ERR], POLLIN, 0}, {p->write[IN], POLLOUT, 0}};
        int wait = -1;
        if (deadline > 0) {
            double left = deadline - now();
            if (left <= 0) return false;
            wait = left > 60 ? 60000 : (int)(left * 1000) + 1;
        }
        if (process->cancelled) {
            process->was_cancelled = atomic_load(process->cancelled);
            if (process->was_cancelled) return false;
            if (wait < 0 || wait > CANCEL_MILLISECONDS) wait = CANCEL_MILLISECONDS;
        }
        if (poll(polled, 3, wait) < 0 && errno != EINTR) return true;
        if (polled[0].revents) drain(&p->read[OUT], &process->output);
        process->wrote_too_much = process->output_limit && process->output.size > process->output_limit;
        if (process->wrote_too_much) return false;
        if (polled[1].revents) drain(&p->read[ERR], &process->errors);
        if (p->write[IN] >= 0 && polled[2].revents) {
            ssize_t put = write(p->write[IN], (const char *)process->input + fed, process->input_size - fed);
            if (put > 0) fed += (size_t)put;
            if (fed == process->input_size || (put < 0 && errno != EAGAIN && errno != EINTR)) close_end(&p->write[IN]);
        }
    }
    return true;
}

tombac_status tb_process_run(tb_process *process, tombac_error **error)
{
    pipes p;
    process->output = process->errors = (tb_text){0};
    process->timed_out = process->wrote_too_much = process->was_cancelled = false;
    if (!pipes_open(&p)) return tb_fail_errno(error, "cannot create a pipe");
    /* A child that exits early must not kill the caller by SIGPIPE: block it in this thread, and eat it. */
    sigset_t pipe_signal, before;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        child(process, &p, parent);
    }
    tombac_status status = TOMBAC_OK;
    if (pid < 0) {
        status = tb_fail_errno(error, "cannot start a process");
        goto done;
    }
    close_end(&p.read[IN]), close_end(&p.write[OUT]), close_end(&p.write[ERR]), close_end(&p.write[EXEC]);
    int exec_error = 0;
    ssize_t failed;
    do failed = read(p.read[EXEC], &exec_error, sizeof exec_error);
    while (failed < 0 && errno == EINTR);
    double deadline = process->time_limit > 0 ? now() + process->time_limit : 0;
    if (failed <= 0 && !pump(process, &p, deadline)) {
        process->timed_out = !process->wrote_too_much && !process->was_cancelled;
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
    }
    int state = 0;
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) continue;
    process->exit_status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    if (failed > 0) {
        errno = exec_error;
        status = tb_fail(error, TOMBAC_ERROR_NOT_FOUND, "cannot run '%s': %s", process->arguments[0], strerror(exec_error));
    } else if (process->timed_out) {
        status = tb_fail(error, TOMBAC_ERROR_TIMEOUT, "'%s' ran longer than %g s and was stopped", process->arguments[0],
            process->time_limit);
    } else if (process->was_cancelled) {
        status = tb_fail(error, TOMBAC_ERROR_COMPILER, "'%s' was stopped", process->arguments[0]);
    } else if (process->wrote_too_much) {
        status = tb_fail(error, TOMBAC_ERROR_IO, "'%s' wrote more than %zu bytes and was stopped", process->arguments[0],
            process->output_limit);
    } else if (process->output.bad || process->errors.bad) {
        status = tb_fail_memory(error);
    }
done:
    pipes_close(&p);
    sigtimedwait(&pipe_signal, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}
