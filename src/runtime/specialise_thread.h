/* The compiling thread of background specialisation, and what it shares with the tables; see specialise.h. */
#ifndef RT_SPECIALISE_THREAD_H
#define RT_SPECIALISE_THREAD_H

#include "runtime/launch.h"
#include "runtime/specialise.h"

typedef enum rt_special_state {
    RT_SPECIAL_COUNTING,
    RT_SPECIAL_PENDING, /* in the thread's list or being compiled; stays in its table */
    RT_SPECIAL_READY,
    RT_SPECIAL_FAILED /* for good */
} rt_special_state;

struct rt_special {
    rt_references references; /* the table's, and one for each operation that runs the code */
    tombac_device *device;
    rt_special_state state; /* under the table's mutex */
    uint64_t launches;      /* while counting */
    tombac_kernel made;     /* only manifest, reflection and code; written before READY */
    rt_special_table *table; /* while pending */
    rt_special *next;        /* in the list */
    uint32_t threadgroup[3]; /* all threadgroups are of this size; 0: they differ */
    size_t argument_count;
    rt_bytes *bytes[]; /* one per argument; NULL: not fixed */
};

/* Adds it to the device's list and starts the thread where needed; false if there is none to be had. */
bool rt_specialiser_push(tombac_device *device, rt_special_table *table, rt_special *special);
/* Takes what belongs to the table off the list; stops and awaits what is being compiled for it. */
void rt_specialiser_forget(tombac_device *device, const rt_special_table *table);

tombac_kernel *rt_special_table_kernel(const rt_special_table *table);
/* The thread is done with an entry. */
void rt_special_settle(rt_special_table *table, rt_special *entry, bool good);

/* kernel.c: makes the code for an entry of the kernel; *cancelled true stops it. */
tombac_status rt_kernel_specialise(
    const tombac_kernel *kernel, rt_special *special, const atomic_bool *cancelled, tombac_error **error);

#endif
