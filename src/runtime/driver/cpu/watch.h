/* Deadlines of running launches.
 *
 * A launch with a time limit sets an alarm; the watch's thread sets the alarm's word when the time has come, and kernel
 * code, which looks at the word (TB_CPU_STOP), leaves. A watch belongs to the pool of threads; its own thread starts
 * with the first alarm. */
#ifndef RT_DRIVER_CPU_WATCH_H
#define RT_DRIVER_CPU_WATCH_H

#include "base/error.h"

#include <stdatomic.h>
#include <stdint.h>

typedef struct cpu_watch cpu_watch;

typedef struct cpu_alarm {
    double deadline;       /* monotonic seconds */
    _Atomic uint32_t word; /* 0 until then, 1 from then on */
    struct cpu_alarm *next;
} cpu_alarm;

/* NULL if memory is short. */
cpu_watch *cpu_watch_create(void);
/* No alarm must be left. */
void cpu_watch_destroy(cpu_watch *watch);

/* Monotonic seconds. */
double cpu_watch_now(void);
/* Sets an alarm, which the caller keeps in place until cpu_watch_clear; false if the thread cannot be started. */
bool cpu_watch_set(cpu_watch *watch, cpu_alarm *alarm, double deadline);
void cpu_watch_clear(cpu_watch *watch, cpu_alarm *alarm);

#endif
