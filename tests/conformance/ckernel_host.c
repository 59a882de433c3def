/* Kernels of ckernel/ as functions of this program: those of language.c are the independent computation of
 * their results; those of together.c and numbers.c are compared with the models like a device. */
#include <string.h>

#include "ckernel.h" /* first: <tombac/kernel.h> makes a macro of `kernel` */
/* What is `kernel` in it. */
static const char *kernel_name(const cf_call *call)
{
    return call->kernel;
}

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "ckernel/language.c"
#include "ckernel/numbers.c"
#include "ckernel/together.c"

enum { GROUP = 32 };

void ck_host_integers(const uint32_t *in, int *out, uint32_t n)
{
    tombac_for_each_thread(n, 1, 1, GROUP, 1, 1) integers(in, out, n);
}

void ck_host_structures(const void *scale, const void *in, void *out, uint32_t n, bool negate)
{
    item s;
    memcpy(&s, scale, sizeof s);
    tombac_for_each_thread(n, 1, 1, GROUP, 1, 1) structures(s, in, out, n, negate);
}

void ck_host_rows(const int *in, int *out, uint32_t n)
{
    tombac_for_each_thread(n, 1, 1, GROUP, 1, 1)
        rows((const int (*)[4])(const void *)in, (int (*)[4])(void *)out, n);
}

void ck_host_floats(const float *in, float *out, uint16_t *halves, uint32_t n)
{
    tombac_for_each_thread(n, 1, 1, GROUP, 1, 1) floats(in, out, (half *)(void *)halves, n);
}

/* Its helpers' names are those of other files. */
#define swap swap_pointers
#include "ckernel/pointers.c"

void ck_host_pointers(const int *in, int *out, uint32_t n, uint32_t group, int *shared, int a, int b)
{
    pair by_value = {a, b};
    tombac_run_threads(n, 1, 1, group, 1, 1, pointers, in, out, shared, by_value);
}

void ck_host_scale(int type, const void *factor, const void *in, void *out, uint32_t n)
{
    tombac_for_each_thread(n, 1, 1, GROUP, 1, 1) switch (type)
    {
    case 0: scale_char(*(const char *)factor, in, out, n); break;
    case 1: scale_uchar(*(const uchar *)factor, in, out, n); break;
    case 2: scale_short(*(const short *)factor, in, out, n); break;
    case 3: scale_ushort(*(const ushort *)factor, in, out, n); break;
    case 4: scale_int(*(const int *)factor, in, out, n); break;
    case 5: scale_uint(*(const uint *)factor, in, out, n); break;
    case 6: scale_long(*(const long *)factor, in, out, n); break;
    case 7: scale_ulong(*(const ulong *)factor, in, out, n); break;
    default: scale_float(*(const float *)factor, in, out, n); break;
    }
}

/* ---- Kernels whose threads work together ---- */

/* What is bound to number `index`, of threadgroup memory or of the rest. */
static void *bound(const cf_call *c, cf_binding_kind memory, uint32_t index)
{
    for (size_t i = 0; i < c->binding_count; i++)
        if ((c->bindings[i].kind == CF_THREADGROUP) == (memory == CF_THREADGROUP) &&
            c->bindings[i].index == index)
            return memory == CF_THREADGROUP ? calloc(1, c->bindings[i].size) : c->bindings[i].data;
    abort();
}
#define AT(n) bound(c, CF_BUFFER, n)
#define RUN(...)                                                                                             \
    tombac_run_threads(c->grid.x, c->grid.y, c->grid.z, c->group.x, c->group.y, c->group.z, __VA_ARGS__)

static void run_reverse(const cf_call *c)
{
    int *shared = bound(c, CF_THREADGROUP, 0);
    RUN(reverse, (const int *)AT(0), (int *)AT(1), shared);
    free(shared);
}

/* The arguments of every other kernel are the buffers 0, 1, ...; `void *` becomes what the kernel takes. */
#define ONE_OF(NAME, ...)                                                                                    \
    static void run_##NAME(const cf_call *c)                                                                 \
    {                                                                                                        \
        RUN(NAME, __VA_ARGS__);                                                                              \
    }
ONE_OF(positions, AT(0))
ONE_OF(votes, AT(0), AT(1))
ONE_OF(last_arrives, AT(0), AT(1), AT(2), AT(3))
ONE_OF(multiply_float, AT(0), AT(1), AT(2), AT(3))
ONE_OF(multiply_half, AT(0), AT(1), AT(2), AT(3))
ONE_OF(functions, AT(0), AT(1), AT(2))
#define OF_EVERY(T) ONE_OF(reduce_##T, AT(0), AT(1))
#define OF_INTEGERS(T) ONE_OF(bits_##T, AT(0), AT(1)) ONE_OF(integer_##T, AT(0), AT(1), AT(2))
#define OF_MOVED(T) ONE_OF(move_##T, AT(0), AT(1), AT(2))
#define OF_WORDS(T) ONE_OF(counters_##T, AT(0), AT(1), AT(2))
#define OF_BITS(T) ONE_OF(counter_bits_##T, AT(0), AT(1))
for_each_type(OF_EVERY, char, uchar, short, ushort, int, uint, long, ulong, half, float)
    for_each_type(OF_INTEGERS, char, uchar, short, ushort, int, uint, long, ulong)
        for_each_type(OF_MOVED, char, uchar, short, ushort, int, uint, half, float)
            for_each_type(OF_WORDS, int, uint, long, ulong, float)
                for_each_type(OF_BITS, int, uint, long, ulong)

                    static const struct {
    const char *name;
    void (*run)(const cf_call *);
} table_of_kernels[] = {
#undef ONE_OF
#define ONE_OF(NAME, ...) {#NAME, run_##NAME},
    {"reverse", run_reverse},
    ONE_OF(positions, 0) ONE_OF(votes, 0) ONE_OF(last_arrives, 0) ONE_OF(multiply_float, 0)
        ONE_OF(multiply_half, 0) ONE_OF(functions, 0)
            for_each_type(OF_EVERY, char, uchar, short, ushort, int, uint, long, ulong, half, float)
                for_each_type(OF_INTEGERS, char, uchar, short, ushort, int, uint, long, ulong)
                    for_each_type(OF_MOVED, char, uchar, short, ushort, int, uint, half, float)
                        for_each_type(OF_WORDS, int, uint, long, ulong, float)
                            for_each_type(OF_BITS, int, uint, long, ulong)};

bool ck_host_run(const cf_call *call)
{
    for (size_t i = 0; i < sizeof table_of_kernels / sizeof *table_of_kernels; i++) {
        if (strcmp(kernel_name(call), table_of_kernels[i].name) != 0) continue;
        table_of_kernels[i].run(call);
        return true;
    }
    return false;
}
