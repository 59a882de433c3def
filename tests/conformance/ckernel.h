/* Kernels in C: what the files of the family share. Every test runs from the C file and from the Metal
 * sources that were made of it, with generic pointers and with address spaces; what threads do together runs on the host's compiler too. */
#ifndef CONFORMANCE_CKERNEL_H
#define CONFORMANCE_CKERNEL_H

#include "conformance.h"

typedef enum ck_form { CK_C, CK_MSL, CK_OLDER, CK_HOST } ck_form; /* older: Metal with address spaces */

/* A call of `kernel` in ckernel/FILE.c, in that form, with `n` threads in threadgroups of `group`; safe math.
 */
cf_call ck_call(
    cf_test *test, ck_form form, const char *file, const char *kernel, uint32_t n, uint32_t group);
/* cf_run, or for CK_HOST the kernel as a function of this program. */
bool ck_run(cf_test *test, ck_form form, cf_call *call);
/* Adds FILE.c's test in the forms of devices; p[0] is the form, `a`, `b` are p[1], p[2]. */
void ck_add(cf_suite *suite, cf_function *function, int a, int b, const char *name);
/* Without the older form: what the file uses is younger. */
void ck_add_newer(cf_suite *suite, cf_function *function, int a, int b, const char *name);
/* In the host's form too. */
void ck_add_everywhere(cf_suite *suite, cf_function *function, int a, int b, const char *name);

typedef struct ck_type {
    const char *name;
    tombac_type type;
} ck_type;
enum { CK_TYPES = 10 }; /* char uchar short ushort int uint long ulong half float */
extern const ck_type ck_types[CK_TYPES];
/* Stores a value that the type holds exactly, at element i. */
void ck_store(tombac_type type, void *array, size_t i, double value);

void ck_together(cf_suite *suite);
void ck_numbers(cf_suite *suite);
void ck_random(cf_suite *suite);

/* ckernel_host.c: the kernels of together.c and numbers.c run by the host's compiler; false where there is none of
 * that name. */
bool ck_host_run(const cf_call *call);
/* pointers.c. */
void ck_host_pointers(const int *in, int *out, uint32_t n, uint32_t group, int *shared, int a, int b);
/* Those of language.c; arguments are the kernel's. */
void ck_host_integers(const uint32_t *in, int *out, uint32_t n);
void ck_host_structures(const void *scale, const void *in, void *out, uint32_t n, bool negate);
void ck_host_rows(const int *in, int *out, uint32_t n);
void ck_host_floats(const float *in, float *out, uint16_t *halves, uint32_t n);
/* The instance for a type of ck_types but half. */
void ck_host_scale(int type, const void *factor, const void *in, void *out, uint32_t n);

#endif
