/* The kernels of ckernel/language.c as functions of this program: the independent computation of their
 * results. */
#include "ckernel.h" /* first: <tombac/kernel.h> makes a macro of `kernel` */

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "ckernel/language.c"

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
