/* Where a process spends its time: a list of phases, one after the other, each from its beginning to the next one's. A phase
 * that begins again is added to. Everything takes NULL, which measures nothing. */
#ifndef TB_BASE_TIMES_H
#define TB_BASE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TB_TIMES_PHASES = 24 };

typedef struct tb_instant {
    double wall, own, children; /* seconds: by the clock, of processor time here, and in children that were waited for */
} tb_instant;

typedef struct tb_phase {
    const char *name; /* a literal */
    tb_instant spent;
    uint64_t size; /* of what the phase left behind: instructions or bytes; 0: not told */
} tb_phase;

typedef struct tb_times {
    tb_phase phases[TB_TIMES_PHASES];
    size_t count, current;
    bool running;
    tb_instant begun; /* of the current phase */
} tb_times;

/* Ends the current phase, if there is one, and begins `name`; NULL begins none. What does not fit into the table counts as
 * part of its last phase. */
void tb_times_begin(tb_times *times, const char *name);
/* Adds to the size of what the current phase made. */
void tb_times_size(tb_times *times, uint64_t size);

#endif
