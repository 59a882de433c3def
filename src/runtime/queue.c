/* The device's queue; see queue.h. The last reference to a device may go on the worker itself, when a launch
 * that the user no longer holds ends: a thread cannot join itself, so it is detached then and frees the queue
 * at its end. */
#include "runtime/queue.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct rt_queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    rt_queue_item *first, *last;
    bool started, stopped, orphaned;
    pthread_t worker;
};

static void queue_free(rt_queue *queue)
{
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

static void *work(void *argument)
{
    rt_queue *queue = argument;
    pthread_mutex_lock(&queue->mutex);
    for (;;) {
        while (!queue->first && !queue->stopped) pthread_cond_wait(&queue->changed, &queue->mutex);
        if (!queue->first) break;
        rt_queue_item *item = queue->first;
        queue->first = item->next;
        pthread_mutex_unlock(&queue->mutex);
        item->run(item);
        pthread_mutex_lock(&queue->mutex);
    }
    bool orphaned = queue->orphaned;
    pthread_mutex_unlock(&queue->mutex);
    if (orphaned) queue_free(queue);
    return NULL;
}

tombac_status rt_queue_create(rt_queue **queue, tombac_error **error)
{
    rt_queue *made = calloc(1, sizeof *made);
    if (!made) return tb_fail_memory(error);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    *queue = made;
    return TOMBAC_OK;
}

/* Signals that the program handles are for its own threads. */
static int start(rt_queue *queue)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&queue->worker, NULL, work, queue);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    queue->started = failed == 0;
    return failed;
}

tombac_status rt_queue_push(rt_queue *queue, rt_queue_item *item, tombac_error **error)
{
    item->next = NULL;
    pthread_mutex_lock(&queue->mutex);
    int failed = queue->started ? 0 : start(queue);
    if (!failed) {
        if (queue->first)
            queue->last->next = item;
        else
            queue->first = item;
        queue->last = item;
        pthread_cond_signal(&queue->changed);
    }
    pthread_mutex_unlock(&queue->mutex);
    if (failed) return tb_fail(error, TOMBAC_ERROR_MEMORY, "cannot start the device's thread");
    return TOMBAC_OK;
}

void rt_queue_destroy(rt_queue *queue)
{
    if (!queue) return;
    pthread_mutex_lock(&queue->mutex);
    bool started = queue->started;
    bool on_worker = started && pthread_equal(pthread_self(), queue->worker);
    queue->stopped = true;
    queue->orphaned = on_worker;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
    if (on_worker) {
        pthread_detach(queue->worker);
        return;
    }
    if (started) pthread_join(queue->worker, NULL);
    queue_free(queue);
}
