/* What the runtime's tests share: drivers that interpret the objects of fake_cc, and a folder of their own.
 */
#ifndef TEST_RUNTIME_FAKE_H
#define TEST_RUNTIME_FAKE_H

#include "base/text.h"
#include "runtime/driver/driver.h"
#include "tombac/tombac.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* An object is a text "FAKE COMMAND ...":
 *     add          out[i] = a[i] + b[i] over threads_per_grid[0]; arguments a, b, out
 *     fail         TOMBAC_ERROR_KERNEL at k.metal:7:3
 *     sleep N      milliseconds
 *     count        adds 1 to the first uint of the first argument, not atomically
 *     append C N   waits N milliseconds and appends the letter C to the text in the first argument
 *     fold         second = 31 * second + first + 1, not atomically, on uints
 *     thread       stores the number of the thread that runs it in the first uint of the first argument
 *     show         prints the whole object
 *     geometry     prints the dispatch, the bindings and the threadgroup memory
 * Devices: "fake"; "other" (the same, with line tables and background specialisation); "gpu" (the same as "fake", with the target
 * sm_89); "absent" (not available here). */

/* A folder in /tmp that holds the cache, sources and the compiler's log; sets TOMBAC_CC, TOMBAC_CACHE,
 * FAKE_CC_LOG. */
typedef struct world {
    char folder[64];
} world;

int world_setup(void **state);
int world_teardown(void **state);

/* Writes a file of the world; the path is valid until the next call. */
const char *world_write(const world *w, const char *name, const char *content);
/* The letters of the compiler's runs so far. */
const char *world_runs(const world *w);
void world_clear_runs(const world *w);

tombac_device *open_device(void);
/* Creates or fails the test. */
tombac_library *open_library(tombac_device *device, const char *source);
tombac_kernel *open_kernel(tombac_library *library, const char *name);
/* Checks status and that the message has `part`; releases the error. */
void expect_failure(tombac_status status, tombac_error *error, tombac_status expected, const char *part);

#endif
