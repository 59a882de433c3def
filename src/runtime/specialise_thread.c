/* The compiling thread; see specialise_thread.h. It holds no references: a kernel that is freed takes its work off the list
 * and waits until the thread has let go of it, for which the compiler is killed. So the last reference to a device is never
 * dropped here. Locks are taken in the order table, specialiser. */
#include "runtime/specialise_thread.h"

#include "runtime/trace.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { NICE = 10 };

struct rt_specialiser {
    tombac_device *device; /* which owns it */
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* the list has grown, or the thread is done with something, or it is to end */
    pthread_t thread;
    rt_special *first, **last;
    const rt_special_table *current; /* what the thread works for, or NULL */
    atomic_bool cancelled;
    bool ends;
};

static void make(rt_specialiser *s, rt_special *special)
{
    rt_special_table *table = special->table;
    const tombac_kernel *kernel = rt_special_table_kernel(table);
    double begin = rt_now();
    bool good = rt_kernel_specialise(kernel, special, &s->cancelled, NULL) == TOMBAC_OK;
    if (s->device->trace)
        rt_trace_specialise(s->device->trace, kernel->manifest.kernel, begin, rt_now(), good);
    rt_special_settle(table, special, good);
}

static void *work(void *argument)
{
    rt_specialiser *s = argument;
    setpriority(PRIO_PROCESS, 0, NICE); /* of this thread, and of the compilers that it starts */
    pthread_mutex_lock(&s->mutex);
    while (!s->ends) {
        rt_special *special = s->first;
        if (!special) {
            pthread_cond_wait(&s->changed, &s->mutex);
            continue;
        }
        s->first = special->next;
        if (!s->first) s->last = &s->first;
        s->current = special->table;
        atomic_store(&s->cancelled, false);
        pthread_mutex_unlock(&s->mutex);
        make(s, special);
        pthread_mutex_lock(&s->mutex);
        s->current = NULL;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

static rt_specialiser *create(tombac_device *device)
{
    rt_specialiser *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->device = device;
    made->last = &made->first;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    sigset_t all, before; /* signals are the program's own threads' matter */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool good = pthread_create(&made->thread, NULL, work, made) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (good) return made;
    pthread_cond_destroy(&made->changed);
    pthread_mutex_destroy(&made->mutex);
    free(made);
    return NULL;
}

bool rt_specialiser_push(tombac_device *device, rt_special_table *table, rt_special *special)
{
    pthread_mutex_lock(&device->specialising);
    if (!device->specialiser) device->specialiser = create(device);
    rt_specialiser *s = device->specialiser;
    pthread_mutex_unlock(&device->specialising);
    if (!s) return false;
    special->table = table;
    special->next = NULL;
    pthread_mutex_lock(&s->mutex);
    *s->last = special;
    s->last = &special->next;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    return true;
}

void rt_specialiser_forget(tombac_device *device, const rt_special_table *table)
{
    pthread_mutex_lock(&device->specialising);
    rt_specialiser *s = device->specialiser;
    pthread_mutex_unlock(&device->specialising);
    if (!s) return;
    pthread_mutex_lock(&s->mutex);
    for (rt_special **at = &s->first; *at;) {
        if ((*at)->table == table) *at = (*at)->next;
        else at = &(*at)->next;
    }
    s->last = &s->first;
    while (*s->last) s->last = &(*s->last)->next;
    while (s->current == table) {
        atomic_store(&s->cancelled, true);
        pthread_cond_wait(&s->changed, &s->mutex);
    }
    pthread_mutex_unlock(&s->mutex);
}

void rt_specialiser_free(rt_specialiser *s)
{
    if (!s) return;
    pthread_mutex_lock(&s->mutex);
    s->ends = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}
