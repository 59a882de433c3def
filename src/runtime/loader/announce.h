/* Telling debuggers and profilers of code that was loaded.
 *
 *   gdb, lldb   an object with debug information is handed over through gdb's JIT interface (gdb manual, "JIT
 *               Compilation Interface"), with the addresses of its sections filled in
 *   perf        with TOMBAC_PERF=1 in the environment, /tmp/perf-PID.map gets a line for each function
 *
 * Neither can fail the loading: what cannot be told is not told. */
#ifndef RT_LOADER_ANNOUNCE_H
#define RT_LOADER_ANNOUNCE_H

#include "runtime/loader/image.h"

typedef struct rt_announcement rt_announcement;

/* NULL where there was nothing for a debugger. */
rt_announcement *rt_announce(const loading *l);
/* The code is going away. */
void rt_retract(rt_announcement *announcement);

#endif
