/* Background specialisation: a kernel that is launched again and again with the same bytes for its arguments in constant
 * memory, if it has any, in threadgroups of the same size, is compiled once more with these as constants (compiler/ir/specialise.c).
 *
 * Each kernel has a table of the values that it was launched with, least recently used out first. Once one has been seen
 * often enough, the device's compiling thread makes code for it, at low priority, from the compile cache or by the compiler;
 * launches take that code from then on. No launch ever waits for it, and if anything fails the kernel stays as it is.
 * Not specialised: kernels from bundles, devices whose driver does not want it, and what TOMBAC_SPECIALISE,
 * tombac_device_specialise_after or the library's option rule out. */
#ifndef RT_SPECIALISE_H
#define RT_SPECIALISE_H

#include "runtime/object.h"

/* One set of values, and the code for it; rt_special_table is a kernel's, rt_specialiser a device's thread with its work. */
typedef struct rt_special rt_special;

/* The table of a kernel that can be specialised; NULL if it cannot, or for lack of memory. */
rt_special_table *rt_special_table_create(tombac_kernel *kernel);
/* Stops what is being compiled for it. No operation may still use its code. */
void rt_special_table_free(rt_special_table *table);

/* Counts the launch; the code to run it with, to be released, or NULL: the kernel's own. The table may be NULL. */
rt_special *rt_special_take(rt_special_table *table, const tombac_launch *launch, const rt_run *run);
rt_code *rt_special_code(const rt_special *special);
void rt_special_release(rt_special *special);

/* Ends the thread; no kernel may be left. NULL is allowed. */
void rt_specialiser_free(rt_specialiser *specialiser);

#endif
