/* What compiled kernels call, and how a failing kernel is left. */
#ifndef RT_DRIVER_CPU_HOST_H
#define RT_DRIVER_CPU_HOST_H

#include "runtime/driver/driver.h"
#include "runtime/driver/log_record.h"
#include "runtime/loader/loader.h"

#include <setjmp.h>

/* One thread while it runs kernel code. */
typedef struct cpu_frame {
    jmp_buf leave; /* set before kernel code is entered */
    const rt_image *image, *rest; /* where the program's constants lie; `rest` may be NULL */
    const rt_log *log;
    rt_log_record record;
    double time_limit; /* for the message */
    /* The failure, if kernel code was left by `leave`. */
    tombac_status status;
    char message[512], file[256];
    unsigned line;
} cpu_frame;

/* The frame for host functions called on this thread; NULL: none. Returns the one before. */
cpu_frame *cpu_frame_enter(cpu_frame *frame);

/* Names that object code may refer to. */
extern const rt_symbol cpu_host_symbols[];
extern const size_t cpu_host_symbol_count;

#endif
