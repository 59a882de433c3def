/* Accesses at an index that the host chooses, in every kind of memory: the last element is there, its neighbours are
 * something else's. */
#include <metal_stdlib>
using namespace metal;

#define ARGUMENTS device int *out, device int *in, constant int &at, threadgroup int *scratch

/* Something lies on both sides of every array, so that an overrun finds memory of the same kernel. */
struct Parts {
    int before[4];
    int middle[4];
    int after[4];
};

constant int first_table[4] = {10, 11, 12, 13};
constant int table[4] = {20, 21, 22, 23};
constant int last_table[4] = {30, 31, 32, 33};

static void number(thread int *p, int n, int first)
{
    for (int k = 0; k < n; k++) p[k] = first + k;
}
/* Steps through memory, so that the pointer itself changes. */
static int walk(const thread int *p, int steps)
{
    int value = 0;
    for (int k = 0; k <= steps; k++) value = *p++;
    return value;
}
static int look(const int *p, int k) { return p[k]; }
static void put(int *p, int k, int value) { p[k] = value; }

kernel void private_read(ARGUMENTS)
{
    int before[4], p[4], after[4];
    number(before, 4, 10), number(p, 4, 20), number(after, 4, 30);
    out[0] = p[at];
    out[1] = before[in[0]] + after[in[0]] + p[in[0]];
}
kernel void private_write(ARGUMENTS)
{
    int before[4], p[4], after[4];
    number(before, 4, 10), number(p, 4, 20), number(after, 4, 30);
    p[at] = 7;
    out[0] = p[3];
    out[1] = before[in[0]] + after[in[0]] + p[in[0]];
}
kernel void private_member(ARGUMENTS)
{
    Parts p;
    number(p.before, 4, 10), number(p.middle, 4, 20), number(p.after, 4, 30);
    out[0] = p.middle[at];
    out[1] = p.before[in[0]] + p.after[in[0]] + p.middle[in[0]];
}
kernel void private_row(ARGUMENTS)
{
    int p[3][4];
    for (int k = 0; k < 3; k++) number(p[k], 4, 10 * (k + 1));
    out[0] = p[1][at];
    out[1] = p[0][in[0]] + p[2][in[0]] + p[1][in[0]];
}
kernel void private_callee(ARGUMENTS)
{
    int before[4], p[4], after[4];
    number(before, 4, 10), number(p, 4, 20), number(after, 4, 30);
    out[0] = walk(p, at);
    out[1] = before[in[0]] + after[in[0]] + p[in[0]];
}
kernel void private_element(ARGUMENTS)
{
    Parts p[2];
    for (int k = 0; k < 2; k++) number(p[k].before, 4, 50), number(p[k].middle, 4, 16 + 4 * k), number(p[k].after, 4, 30);
    Parts one = p[at - 2];
    out[0] = one.middle[3];
    out[1] = p[in[0]].before[0] + p[in[0]].after[0] - p[in[0]].middle[0] + 3;
}

#define FILL                                                                                                 \
    threadgroup int before[4], p[4], after[4];                                                               \
    for (int k = 0; k < 4; k++) before[k] = 10 + k, p[k] = 20 + k, after[k] = 30 + k, scratch[k] = 20 + k

kernel void threadgroup_read(ARGUMENTS)
{
    FILL;
    out[0] = p[at];
    out[1] = before[in[0]] + after[in[0]] + p[in[0]];
}
kernel void threadgroup_write(ARGUMENTS)
{
    FILL;
    p[at] = 7;
    out[0] = p[3];
    out[1] = before[in[0]] + after[in[0]] + p[in[0]];
}
kernel void threadgroup_member(ARGUMENTS)
{
    threadgroup Parts p;
    for (int k = 0; k < 4; k++) p.before[k] = 10 + k, p.middle[k] = 20 + k, p.after[k] = 30 + k;
    out[0] = p.middle[at];
    out[1] = p.before[in[0]] + p.after[in[0]] + p.middle[in[0]];
}
kernel void threadgroup_row(ARGUMENTS)
{
    threadgroup int p[3][4];
    for (int k = 0; k < 12; k++) p[k / 4][k % 4] = 10 * (k / 4 + 1) + k % 4;
    out[0] = p[1][at];
    out[1] = p[0][in[0]] + p[2][in[0]] + p[1][in[0]];
}
kernel void threadgroup_argument(ARGUMENTS)
{
    FILL;
    out[0] = scratch[at];
    out[1] = before[in[0]] + after[in[0]] + p[in[0]];
}
kernel void threadgroup_atomic(ARGUMENTS)
{
    threadgroup atomic_int before[4], p[4], after[4];
    for (int k = 0; k < 4; k++) {
        atomic_store_explicit(&before[k], 10 + k, memory_order_relaxed);
        atomic_store_explicit(&p[k], 20 + k, memory_order_relaxed);
        atomic_store_explicit(&after[k], 30 + k, memory_order_relaxed);
    }
    out[0] = atomic_fetch_add_explicit(&p[at], 0, memory_order_relaxed);
    out[1] = 0;
    threadgroup atomic_int *all[3] = {before, p, after};
    for (int k = 0; k < 3; k++) out[1] += atomic_load_explicit(&all[k][in[0]], memory_order_relaxed);
}
kernel void generic_read(ARGUMENTS)
{
    FILL;
    int own[4];
    number(own, 4, 20);
    int *q = in[0] == 1 ? own : in[0] == 2 ? (int *)p : (int *)scratch;
    out[0] = look(q, at);
    out[1] = before[in[0]] + after[in[0]] + p[in[0]];
}
kernel void generic_write(ARGUMENTS)
{
    FILL;
    int own[4];
    number(own, 4, 20);
    int *q = in[0] == 1 ? own : (int *)p;
    put(q, at, 7);
    out[0] = q[3];
    out[1] = before[in[0]] + after[in[0]] + own[in[0]];
}
kernel void table_read(ARGUMENTS)
{
    out[0] = table[at];
    out[1] = first_table[in[0]] + last_table[in[0]] + table[in[0]];
}
kernel void device_read(ARGUMENTS)
{
    out[0] = in[at];
    out[1] = 63;
}
/* Past the end and back again, without an access there. */
kernel void right(ARGUMENTS)
{
    FILL;
    int own[4];
    Parts parts;
    number(own, 4, 20), number(parts.middle, 4, 20);
    thread int *end = own + at + 1;
    threadgroup int *beyond = &p[at + 9];
    thread int *last = &parts.middle[at + 1];
    out[0] = *--end + beyond[-9] + last[-1] - 46;
    out[1] = before[in[0]] + after[in[0]] + p[in[0]];
}
/* Indices that are constants once the callee is inlined; the compiler sees them too. */
static void put_at(thread int *p, int k, int value) { p[k] = value; }
kernel void constant_before(ARGUMENTS)
{
    int p[4];
    number(p, 4, 20);
    if (at == 3) put_at(p, -1, 7);
    out[0] = p[3], out[1] = 63;
}
kernel void constant_beyond(ARGUMENTS)
{
    Parts p;
    number(p.before, 4, 10), number(p.middle, 4, 20), number(p.after, 4, 30);
    out[0] = p.middle[3];
    if (at == 3) out[1] = p.after[6];
    else out[1] = 63;
}
