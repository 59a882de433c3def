/* Pointers into all memories through the same helpers. The host compiler runs this file too, and gives the expected values. */
#include <tombac/kernel.h>

typedef struct pair {
    int a, b;
} pair;

static const int weights[5] = {2, -3, 5, 7, 11};

static int sum(const int *x, uint n); /* defined behind its first use */

static int *later(int *p, uint steps)
{
    return p + steps;
}

static const int *larger(const int *p, const int *q)
{
    return *p > *q ? p : q;
}

static void swap(int **a, int **b)
{
    int *c = *a;
    *a = *b;
    *b = c;
}

static void store_bytes(void *to, const void *from, uint size)
{
    uchar *t = to;
    const uchar *f = (const uchar *)from;
    while (size--) *t++ = *f++;
}

static int row_sum(const int (*rows)[4], uint n, int weight[])
{
    int s = 0;
    for (uint r = 0; r < n; r++)
        for (uint c = 0; c < 4; c++) s += rows[r][c] * *weight;
    return s;
}

static uint find(const pair *list, uint n, int a)
{
    const pair *p;
    for (p = list; p < list + n; p++)
        if (p->a == a) break;
    return (uint)(p - list);
}

static int at_most(int most, const int *x, uint n)
{
    int best = -1000000, *to = &best;
    const int *from = 0;
    from = x;
    for (const int *p = from, *end = from + n; p < end; ++p)
        if (*p <= most && *p > *to) *to = *p;
    return best;
}

kernel void pointers(const int *in, int *out, threadgroup_memory(int) sized, pair by_value)
{
    threadgroup int fixed[32], square[4][4];
    threadgroup pair pairs[8];
    uint t = thread_index_in_threadgroup(), i = thread_position_in_grid().x;
    int own[4] = {in[i], (int)t, in[i] * 3, 7}, *first = own, *second = own + 1;
    *later(fixed, t) = in[i];
    sized[t] = -in[i];
    if (t < 16) square[t / 4][t % 4] = (int)t - in[i];
    if (t < 8) pairs[t] = (pair){in[i], (int)t};
    threadgroup_barrier(mem_threadgroup);
    int *o = out + i * 14;
    *o++ = sum(in, 32) + sum(fixed, 32) + sum(sized, 32) * 2 + sum(own, 4) + sum(weights, 5);
    *o++ = *larger(in + i, in) + *larger(&fixed[t], fixed) + *larger(own, own + 2);
    swap(&first, &second);
    *o++ = *first * 1000 + *second;
    store_bytes(o++, &in[i], 4);
    store_bytes(own + 3, sized + t, 2);
    *o++ = own[3];
    *o++ = row_sum(square, 4, own + 1);
    *o++ = row_sum((const int (*)[4])in, 2, (int[1]){3});
    *o++ = (int)find(pairs, 8, in[i - t + 3]);
    *o++ = at_most(40, in, 32) + at_most(-10, sized, 32) + at_most(5, own, 3);
    *o++ = ((const uchar *)(in + i))[0] + ((uchar *)&own[0])[1] + *(ushort *)&fixed[t];
    const int *chosen;
    if (i % 2)
        chosen = in + 2;
    else
        chosen = &in[i];
    *o++ = *chosen;
    int a = 3, *p = &a, b = 4, *q = &b;
    *p += *q;
    *q = *p * 2;
    *o++ = a * 100 + b;
    const pair *given = &by_value;
    *o++ = given->a + (*given).b;
    ulong *wide = (ulong *)(void *)&own[2];
    *wide = 5;
    *o++ = own[2];
}

static int sum(const int *x, uint n)
{
    int s = 0;
    for (const int *p = x; p < x + n; p++) s += *p;
    return s;
}
