/* Kernels in C as ordinary functions: positions of all shapes of a grid, arguments by value, slices, atomics. */
#include <tombac/kernel.h>

kernel requires(len(x) == len(y)) void saxpy(float a, const float *x, float *y, uint n)
{
    uint i = thread_position_in_grid().x;
    if (i < n) y[i] += a * x[i];
}

kernel void count(uint *visits, uint *wrong)
{
    uint3 p = thread_position_in_grid(), size = threads_per_grid();
    uint3 inside = thread_position_in_threadgroup(), group = threadgroup_position_in_grid();
    uint3 launched = dispatch_threads_per_threadgroup(), own = threads_per_threadgroup();
    visits[(p.z * size.y + p.y) * size.x + p.x]++;
    bool right = p.x == group.x * launched.x + inside.x && inside.x < own.x && inside.y < own.y && inside.z < own.z;
    right &= thread_index_in_grid() == (p.z * size.y + p.y) * size.x + p.x;
    right &= thread_index_in_threadgroup() == (inside.z * own.y + inside.y) * own.x + inside.x;
    if (!right) ++*wrong;
}

kernel void twice(slice(float) x, size_t shift)
{
    float *own = own_element(x);
    if (own) *own *= 2;
    at(x, shift) += 0.0f;
}

kernel void largest(const int *in, atomic_int *most, uint n)
{
    uint i = thread_position_in_grid().x;
    if (i < n) atomic_fetch_max_explicit(most, in[i], memory_order_relaxed);
}

static int failures;
static void expect(bool right, const char *what)
{
    if (right) return;
    printf("wrong: %s\n", what);
    failures++;
}

static void test_shapes(void)
{
    static const uint shapes[][6] = {{1, 1, 1, 1, 1, 1}, {10, 1, 1, 4, 1, 1}, {7, 5, 3, 2, 2, 2}, {3, 4, 5, 8, 8, 8}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const uint *g = shapes[s];
        static uint visits[1000];
        uint wrong = 0, n = g[0] * g[1] * g[2];
        memset(visits, 0, sizeof visits);
        tombac_for_each_thread(g[0], g[1], g[2], g[3], g[4], g[5]) count(visits, &wrong);
        for (uint i = 0; i < 1000; i++) expect(visits[i] == (i < n), "each thread runs once");
        expect(wrong == 0, "positions agree");
    }
    uint none = 0;
    tombac_for_each_thread(0, 1, 1, 4, 1, 1) none++;
    expect(none == 0, "an empty grid runs nothing");
}

int main(int argument_count, char **arguments)
{
    float x[9], y[9];
    (void)arguments;
    for (int i = 0; i < 9; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    if (argument_count > 1) {
        tombac_for_each_thread(1, 1, 1, 1, 1, 1) twice((slice(float)){x, 9}, 9);
        return 0;
    }
    tombac_for_each_thread(8, 1, 1, 3, 1, 1) saxpy(3, x, y, 8);
    for (int i = 0; i < 9; i++) expect(y[i] == (i < 8 ? 3 * (float)i + 1 : 1), "saxpy");
    tombac_for_each_thread(16, 1, 1, 4, 1, 1) twice((slice(float)){x, 5}, 4);
    for (int i = 0; i < 9; i++) expect(x[i] == (i < 5 ? 2 : 1) * (float)i, "own elements");
    int values[6] = {3, -7, 12, 5, 11, -20};
    atomic_int most = -100;
    tombac_for_each_thread(6, 1, 1, 2, 1, 1) largest(values, &most, 6);
    expect(most == 12, "atomic maximum");
    test_shapes();
    return failures != 0;
}
