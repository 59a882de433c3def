/* Operations: nodes of a graph that grows by submission. A node runs once all edges into it have fired; edges
 * come from its children (the operations that it was made of) and from buffer hazards (hazard.h).
 *
 * States: NEW -> SUBMITTED (linked, waiting or running) -> ENDED. A failed node stops every node that it has
 * a "carrying" edge to; a stopped node does not run and names the one that failed first, its cause. Each node
 * has its own lock, held for a few instructions and never together with another's, so graphs may span
 * devices. */
#ifndef RT_OPERATION_H
#define RT_OPERATION_H

#include "runtime/object.h"

typedef struct rt_edge {
    struct rt_edge *next;
    tombac_operation *to;
    bool carries; /* failures */
} rt_edge;

typedef enum rt_operation_state {
    RT_OPERATION_NEW,
    RT_OPERATION_SUBMITTED,
    RT_OPERATION_ENDED
} rt_operation_state;

typedef struct rt_callback {
    struct rt_callback *next;
    void (*function)(void *context, tombac_operation *operation, tombac_status status);
    void *context;
} rt_callback;

typedef struct rt_operation_type {
    bool children_carry; /* a failed child stops the operation */
    bool sequence;       /* children are registered together, in order */
    bool compiles;       /* runs on the device's threads for compilation */
    bool anywhere;       /* calls no function of the user's: may run on a thread that waits for it, if the driver agrees */
    const char *category; /* in traces; NULL: "host" */
    /* Does the work, on a worker. False: not ended yet, call again once the edges that it added have fired.
     */
    bool (*run)(tombac_operation *operation, tombac_status *status, tombac_error **error);
    /* Called when the operation has been submitted. NULL: nothing. */
    void (*submitted)(tombac_operation *operation);
    /* Lets go of what the operation kept alive: at its end, or when it is dropped. Called once. */
    void (*release)(tombac_operation *operation);
    /* Frees what lives as long as the operation, but not the operation. NULL: nothing. */
    void (*destroy)(tombac_operation *operation);
} rt_operation_type;

struct tombac_operation {
    rt_queue_item item; /* first: the queue's pointer is the operation's */
    rt_references references;
    const rt_operation_type *type;
    tombac_device *device;
    char *name;             /* given by the user, or NULL */
    double compile_seconds; /* of its kernel */
    const char *kernel;     /* lives as long as the operation, or NULL */
    bool specialised;       /* it runs code for the values of its arguments (specialise.h) */
    atomic_bool used;       /* part of another operation, so nothing may be put before it any more */

    tombac_operation **children;
    size_t child_count;
    rt_access *accesses;
    size_t access_count;
    rt_edge *edges; /* into this one */
    size_t edge_count;
    atomic_size_t waiting;            /* for so many edges, and for the end of linking */
    _Atomic(tombac_operation *) stop; /* the failure that keeps it from running */

    /* While it is being submitted. */
    tombac_operation *parent; /* the stack of operations whose children are submitted */
    size_t child_at;
    const tombac_operation *root; /* whose submission brought this one; only to be compared, it may be gone */

    atomic_int state;               /* rt_operation_state; ENDED is stored under the mutex */
    atomic_bool observed;           /* somebody was told of the failure */
    double submitted, begun, ended; /* monotonic seconds */
    double ran;                     /* seconds in `run` */
    double kernel_seconds;          /* of these in the kernel alone, by the driver's own clock; not above 0: not known */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t waiters;
    rt_edge *dependents;
    rt_callback *callbacks;
    int event; /* eventfd, or -1 */
    tombac_status status;
    tombac_error *error;
    tombac_operation *cause; /* of TOMBAC_ERROR_DEPENDENCY */
};

/* Initialises the common part of a zeroed operation, which has one reference then. Takes `children` (a heap
 * array whose members it retains) only on success. */
tombac_status rt_operation_init(tombac_operation *operation, const rt_operation_type *type,
    tombac_device *device, const char *name, tombac_operation *const *children, size_t child_count,
    tombac_error **error);
/* An edge while `to` is held back by `waiting`: it is being linked, or it runs. */
void rt_operation_link(tombac_operation *from, rt_edge *edge, tombac_operation *to, bool carries);
/* The operation must not run because of `cause`. The first call counts. */
void rt_operation_stop(tombac_operation *operation, tombac_operation *cause);
/* Blocks until the end without counting as having been told; for host views. Refused on the device's own threads, where it could
 * last for ever. */
tombac_status rt_operation_wait_quietly(tombac_operation *operation, tombac_error **error);
/* Has ended; its failure or cause, or NULL if it went well. */
tombac_operation *rt_operation_failure(tombac_operation *operation);
/* The result of a part that has ended as that of the whole: the same error, the same cause. */
tombac_status rt_operation_adopt(tombac_operation *whole, tombac_operation *part, tombac_error **error);
/* "operation 'NAME' (kernel 'k')": what messages call it. */
void rt_operation_describe(const tombac_operation *operation, tb_text *text);
/* Waits and reports as tombac_operation_wait does, without submitting. */
tombac_status rt_operation_result(tombac_operation *operation, double seconds, tombac_error **error);
double rt_now(void);

#endif
