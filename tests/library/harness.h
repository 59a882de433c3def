/* What the tests of the library share: a device, buffers, comparisons. A failure is printed and counted. */
#ifndef LIBRARY_HARNESS_H
#define LIBRARY_HARNESS_H

#include "tombac/algorithms.h"

extern tombac_device *device;
extern tombac_algorithms *ready;
extern unsigned failures;
extern bool large; /* is the device fast enough for large sizes? */

void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Counts a failure and releases the error; true if the call succeeded. */
bool succeeded(tombac_status status, tombac_error **error, const char *what);
/* The call must fail in that way. */
void refused(tombac_status status, tombac_error **error, tombac_status expected, const char *what);

void *allocate(size_t size);
tombac_buffer *buffer_of(const void *data, size_t size);
/* Waits, copies and releases. */
void take(tombac_buffer *buffer, void *data, size_t size);
void equal(const char *what, size_t n, const void *expected, const void *got, size_t size, size_t element);
/* |got - expected| <= tolerance everywhere */
void close_to(
    const char *what, size_t n, const double *expected, const float *got, size_t count, double tolerance);
/* SplitMix64 */
uint64_t next_random(void);
float next_unit(void); /* from -1 to 1 */

void test_grids(void);

#endif
