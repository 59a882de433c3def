/* A device's queue: one worker thread, started with the first item, that runs items in the order in which
 * they came. */
#ifndef RT_QUEUE_H
#define RT_QUEUE_H

#include "base/error.h"

typedef struct rt_queue rt_queue;

/* Embedded in what is queued. `run` is called once, on the worker, without locks; it may free the item. */
typedef struct rt_queue_item {
    struct rt_queue_item *next;
    void (*run)(struct rt_queue_item *item);
} rt_queue_item;

tombac_status rt_queue_create(rt_queue **queue, tombac_error **error);
/* Fails only if no thread can be started. */
tombac_status rt_queue_push(rt_queue *queue, rt_queue_item *item, tombac_error **error);
/* No items may be left but the one that calls this, if it is called from within an item. */
void rt_queue_destroy(rt_queue *queue);

#endif
