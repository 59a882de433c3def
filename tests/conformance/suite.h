/* What the harness and the runner share; families use conformance.h alone. */
#ifndef CONFORMANCE_SUITE_H
#define CONFORMANCE_SUITE_H

#include "conformance.h"

typedef struct cf_block {
    struct cf_block *next;
    _Alignas(16) char data[];
} cf_block;

typedef struct cf_library {
    struct cf_library *next;
    const char *file, *standard;
    tombac_math math;
    tombac_library *library;
} cf_library;

typedef struct cf_cache {
    const char *folder; /* of the .metal files */
    bool specialise;    /* run every kernel specialised for the values that it is called with */
    cf_library *libraries;
} cf_cache;

struct cf_test {
    tombac_device *device;
    cf_cache *cache;
    cf_block *blocks;
    bool failed;
    char message[2048];
};

typedef struct cf_entry {
    char name[96];
    cf_function *function;
    cf_parameters p;
} cf_entry;

struct cf_suite {
    cf_entry *entries;
    size_t count, capacity;
};

void cf_free_all(cf_test *test);

#endif
