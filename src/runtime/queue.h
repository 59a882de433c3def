/* A device's queue: items that are ready to run, and the threads that run them. Items start in the order in
 * which they came; as many run at the same time as there are workers. Workers start when they are needed and
 * stay.
 *
 * A worker that finds nothing to do looks again for some microseconds before it sleeps, and who brings an
 * item meanwhile need not wake it: the cost of short launches is mostly that of waking threads. A thread that waits for an
 * item which nobody has taken runs it itself (rt_queue_lend): then no thread is waited for at all. */
#ifndef RT_QUEUE_H
#define RT_QUEUE_H

#include "base/error.h"

typedef struct rt_queue rt_queue;

/* Embedded in what is queued. `run` is called on a worker, without locks; it may free the item. */
typedef struct rt_queue_item {
    struct rt_queue_item *next;
    void (*run)(struct rt_queue_item *item);
} rt_queue_item;

/* At most `workers` threads; 0: as many as there are processors, four at least. */
tombac_status rt_queue_create(size_t workers, rt_queue **queue, tombac_error **error);
/* Makes sure that there is a worker at all; the only step of a submission that can fail for lack of threads.
 */
tombac_status rt_queue_start(rt_queue *queue, tombac_error **error);
/* After rt_queue_start. With `here`, a worker of the queue that calls this runs the item next, itself: for
 * the successor of what it just ran. */
void rt_queue_push(rt_queue *queue, rt_queue_item *item, bool here);
/* For a thread that is no worker and would only wait: if `may` accepts the first item of the list, runs it here, and then what
 * that makes ready, as long as `may` accepts it. `may` is called with the list locked. Does nothing where the thread's stack is
 * much smaller than a worker's. */
typedef bool rt_queue_may(const rt_queue_item *item, const void *context);
void rt_queue_lend(rt_queue *queue, rt_queue_may *may, const void *context);
/* Whether this thread is lent: what calls functions of the user's must go to a worker. */
bool rt_queue_is_lent(void);
/* Whether this thread is a worker of some queue, or lent to one: it runs a kernel, a host function or a callback, and must not wait for others. */
bool rt_queue_on_worker(void);
/* No items may be left but the one that calls this, if it is called from within an item. */
void rt_queue_destroy(rt_queue *queue);

#endif
