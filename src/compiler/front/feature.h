/* The table of features that need a language version (features.def), for the front end, its tests and the
 * documentation. */
#ifndef TB_FRONT_FEATURE_H
#define TB_FRONT_FEATURE_H

#include <stddef.h>

typedef struct front_feature {
    unsigned version; /* __METAL_VERSION__ of the first version that has it */
    const char *name, *example;
} front_feature;

/* NULL past the end. */
const front_feature *front_feature_at(size_t index);

#endif
