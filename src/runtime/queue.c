/* The device's queue; see queue.h. The last reference to a device may go on a worker itself, when an
 * operation that the user no longer holds ends: a thread cannot join itself, so it is detached then and frees
 * the queue at its end. */
#include "runtime/queue.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { MIN_WORKERS = 4, MAX_WORKERS = 32, SPINS = 1500 };
/* So long a spinning worker leaves a new item to the thread that brought it, which may be about to wait for it. */
enum { GRACE = 16 };
/* What kernels may use of a worker's stack is the system's default of 8 MiB; a lent thread's must come near. */
#define MIN_STACK ((size_t)7 << 20)

typedef struct worker {
    rt_queue *queue;
    rt_queue_item *successor; /* only this thread's */
    pthread_t thread;
    bool lent; /* a thread of the program's, for a while */
} worker;

struct rt_queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    rt_queue_item *first, *last;
    atomic_size_t length; /* of the list; written under the mutex */
    size_t limit, started, sleeping;
    size_t woken; /* signals that no sleeper has answered yet */
    bool spinning, stopped;
    worker workers[MAX_WORKERS];
};

static _Thread_local worker *self; /* what this thread is, if it is a worker */
static _Thread_local uintptr_t stack_begin, stack_end; /* 0: not asked yet */

bool rt_queue_on_worker(void)
{
    return self != NULL;
}

bool rt_queue_is_lent(void)
{
    return self && self->lent;
}

static void queue_free(rt_queue *queue)
{
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* One worker at a time; called and left with the mutex held. */
static void spin(rt_queue *queue)
{
    queue->spinning = true;
    pthread_mutex_unlock(&queue->mutex);
    for (int i = 0, seen = 0; i < SPINS && seen < GRACE; i++) {
        pause_briefly();
        bool some = atomic_load_explicit(&queue->length, memory_order_relaxed) != 0;
        if (seen && !some) i = 0; /* there was work, so more may follow soon */
        seen = some ? seen + 1 : 0;
    }
    pthread_mutex_lock(&queue->mutex);
    queue->spinning = false;
}

/* With the mutex held. */
static rt_queue_item *unlink_first(rt_queue *queue)
{
    rt_queue_item *item = queue->first;
    if (!item) return NULL;
    queue->first = item->next;
    atomic_fetch_sub_explicit(&queue->length, 1, memory_order_relaxed);
    return item;
}

/* The next item, or NULL at the end. */
static rt_queue_item *take(rt_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    if (!queue->first && !queue->stopped && !queue->spinning) spin(queue);
    while (!queue->first && !queue->stopped) {
        queue->sleeping++;
        pthread_cond_wait(&queue->changed, &queue->mutex);
        queue->sleeping--;
        if (queue->woken) queue->woken--;
    }
    rt_queue_item *item = unlink_first(queue);
    pthread_mutex_unlock(&queue->mutex);
    return item;
}

static void *work(void *argument)
{
    self = argument;
    rt_queue *queue = self->queue;
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(0x1f80); /* a thread begins with the rounding of the program's that started it; kernels know none */
#endif
    for (;;) {
        rt_queue_item *item = self->successor;
        self->successor = NULL;
        if (!item) item = take(queue);
        if (!item) break;
        item->run(item);
    }
    if (!self->queue) queue_free(queue); /* it was destroyed on this worker; the others have been joined */
    return NULL;
}

tombac_status rt_queue_create(size_t workers, rt_queue **queue, tombac_error **error)
{
    rt_queue *made = calloc(1, sizeof *made);
    if (!made) return tb_fail_memory(error);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (!workers) workers = processors > MIN_WORKERS ? (size_t)processors : MIN_WORKERS;
    made->limit = workers < MAX_WORKERS ? workers : MAX_WORKERS;
    *queue = made;
    return TOMBAC_OK;
}

/* Signals that the program handles are for its own threads. With the mutex held. */
static bool start_worker(rt_queue *queue)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    worker *made = &queue->workers[queue->started];
    made->queue = queue;
    bool good = pthread_create(&made->thread, NULL, work, made) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    queue->started += good;
    return good;
}

tombac_status rt_queue_start(rt_queue *queue, tombac_error **error)
{
    pthread_mutex_lock(&queue->mutex);
    bool good = queue->started > 0 || start_worker(queue);
    pthread_mutex_unlock(&queue->mutex);
    return good ? TOMBAC_OK : tb_fail(error, TOMBAC_ERROR_MEMORY, "cannot start the device's thread");
}

void rt_queue_push(rt_queue *queue, rt_queue_item *item, bool here)
{
    if (here && self && self->queue == queue && !self->successor) {
        self->successor = item;
        return;
    }
    item->next = NULL;
    pthread_mutex_lock(&queue->mutex);
    if (queue->first)
        queue->last->next = item;
    else
        queue->first = item;
    queue->last = item;
    size_t length = atomic_fetch_add_explicit(&queue->length, 1, memory_order_relaxed) + 1;
    /* Those that are about to look at the list take one item each. */
    size_t expected = (queue->spinning ? 1 : 0) + queue->woken;
    if (length > expected) {
        if (queue->sleeping > queue->woken) {
            queue->woken++;
            pthread_cond_signal(&queue->changed);
        } else if (queue->started < queue->limit) {
            start_worker(queue); /* if not, those that there are will come to it */
        }
    }
    pthread_mutex_unlock(&queue->mutex);
}

/* ---- Lending ---- */

/* False also on a stack that is not the thread's own, as a coroutine's. */
static bool has_stack(void)
{
    if (!stack_end) {
        pthread_attr_t attributes;
        void *begin = NULL;
        size_t size = 0;
        if (pthread_getattr_np(pthread_self(), &attributes)) return false;
        pthread_attr_getstack(&attributes, &begin, &size);
        pthread_attr_destroy(&attributes);
        stack_begin = (uintptr_t)begin;
        stack_end = stack_begin + size;
    }
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here < stack_end && here > stack_begin && here - stack_begin >= MIN_STACK;
}

void rt_queue_lend(rt_queue *queue, rt_queue_may *may, const void *context)
{
    if (self || !has_stack()) return;
    pthread_mutex_lock(&queue->mutex);
    rt_queue_item *item = queue->first && may(queue->first, context) ? unlink_first(queue) : NULL;
    pthread_mutex_unlock(&queue->mutex);
    worker guest = {.queue = queue, .lent = true};
    while (item) {
        self = &guest;
        item->run(item); /* the queue may be gone after this, unless there is a successor */
        self = NULL;
        item = guest.successor;
        guest.successor = NULL;
        if (item && !may(item, context)) {
            rt_queue_push(queue, item, false);
            return;
        }
    }
}

void rt_queue_destroy(rt_queue *queue)
{
    if (!queue) return;
    bool on_worker = self && self->queue == queue && !self->lent;
    pthread_mutex_lock(&queue->mutex);
    queue->stopped = true;
    pthread_cond_broadcast(&queue->changed);
    size_t started = queue->started;
    pthread_mutex_unlock(&queue->mutex);
    for (size_t i = 0; i < started; i++) {
        if (on_worker && &queue->workers[i] == self)
            pthread_detach(self->thread);
        else
            pthread_join(queue->workers[i].thread, NULL);
    }
    if (on_worker)
        self->queue = NULL; /* marks the one that frees it */
    else
        queue_free(queue);
}
