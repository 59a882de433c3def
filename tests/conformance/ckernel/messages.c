/* printf, assert and slices, whose failure is the launch's. */
#include <assert.h>
#include <stdio.h>
#include <tombac/kernel.h>

kernel void prints(int a, uint b, float c, ulong d)
{
    printf("int %d uint %u float %g long %lu text %s char %c\n", a, b, c, d, "word", 'x');
    printf("no arguments\n");
}

kernel void asserts(const int *x)
{
    uint i = thread_position_in_grid().x;
    assert(x[i] < 100 && "too large");
}

kernel void slices(slice(int) x, uint index)
{
    at(x, index) += 1;
}

typedef struct particle {
    float mass;
    int id;
} particle;
declare_slice(particle);

kernel void particles(slice(particle) p)
{
    particle *own = own_element(p);
    if (own) own->id += (int)at(p, 0).mass;
}
