/* From C to Metal source: what c_msl.c and c_msl_words.c share. */
#ifndef TB_FRONT_C_MSL_H
#define TB_FRONT_C_MSL_H

#include "compiler/front/c.h"

#define MSL_POSITIONS "tombac_at" /* the parameter that holds a thread's positions */

typedef struct msl_position {
    const char *name; /* C's function and Metal's attribute */
    bool vector, own; /* own: computed from the others, no attribute */
} msl_position;
enum { MSL_POSITION_COUNT = 21 };
extern const msl_position msl_positions[MSL_POSITION_COUNT];

typedef struct msl_writer {
    rewriter r;
    const token_list *list;
    c_functions functions;
    bool *reads_positions; /* per function: it or one that it calls */
    bool used[MSL_POSITION_COUNT];
    unsigned version; /* of Metal */
    bool spaces;      /* pointers have address spaces, as before metal4.1 they must */
    tombac_error **error;
} msl_writer;

/* The position that a call at token i reads, or MSL_POSITION_COUNT. */
size_t msl_position_at(const msl_writer *w, uint32_t i);
/* Address spaces before metal4.1 (c_msl_spaces.c); the last step. */
enum { MSL_OLDEST = 230, MSL_GENERIC_POINTERS = 410, MSL_FENCES = 320, MSL_REQUIRED_THREADS = 400 };
tombac_status msl_write_spaces(msl_writer *w);
/* Spellings that differ between the languages, and what has none in Metal. */
tombac_status msl_write_words(msl_writer *w);
tombac_status msl_refuse(msl_writer *w, uint32_t i, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
