/* Log records of kernels, formatted the same way by every driver. */
#ifndef RT_DRIVER_LOG_RECORD_H
#define RT_DRIVER_LOG_RECORD_H

#include "runtime/driver/driver.h"

enum { RT_LOG_ARGUMENTS = 64 };

typedef struct rt_log_record {
    const char *format;
    uint32_t level, count;
    uint32_t kinds[RT_LOG_ARGUMENTS]; /* docs/operations.md "Logging" */
    uint64_t bits[RT_LOG_ARGUMENTS];
} rt_log_record;

/* The constant of the program that holds `address`, or NULL; *left: bytes to its end. */
typedef const char *rt_find_literal(const void *code, uint64_t address, size_t *left);

/* One argument more; what does not fit is dropped and prints as missing. */
void rt_log_record_add(rt_log_record *record, uint32_t kind, uint64_t bits);
/* Formats the record and hands the line to `log`. */
void rt_log_record_write(
    const rt_log_record *record, rt_find_literal *find, const void *code, const rt_log *log);

#endif
