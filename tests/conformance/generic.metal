// Generic pointers (metal4.1), and the same type written for metal4.0.
#include <metal_stdlib>
using namespace metal;

#if __METAL_VERSION__ >= 410
struct RowMatrix {
    float3 row0, row1, row2;

    RowMatrix &shear(float by)
    {
        row0 += by * row1;
        row2 -= row0;
        return *this;
    }
    RowMatrix &operator*=(const RowMatrix &other)
    {
        row0 *= other.row0;
        row1 *= other.row1;
        row2 *= other.row2;
        return *this;
    }
    RowMatrix &orthonormalise()
    {
        row0 = normalize(row0);
        row1 -= dot(row0, row1) * row0;
        row1 = normalize(row1);
        row2 -= dot(row0, row2) * row0 + dot(row1, row2) * row1;
        row2 = normalize(row2);
        return *this;
    }
    float trace() const { return row0.x + row1.y + row2.z; }
};
#else
struct RowMatrix {
    float3 row0, row1, row2;

#define MEMBERS(THIS)                                                                                        \
    THIS RowMatrix &shear(float by) THIS                                                                     \
    {                                                                                                        \
        row0 += by * row1;                                                                                   \
        row2 -= row0;                                                                                        \
        return *this;                                                                                        \
    }                                                                                                        \
    THIS RowMatrix &orthonormalise() THIS                                                                   \
    {                                                                                                       \
        row0 = normalize(row0);                                                                             \
        row1 -= dot(row0, row1) * row0;                                                                     \
        row1 = normalize(row1);                                                                             \
        row2 -= dot(row0, row2) * row0 + dot(row1, row2) * row1;                                            \
        row2 = normalize(row2);                                                                             \
        return *this;                                                                                       \
    }                                                                                                       \
    float trace() const THIS { return row0.x + row1.y + row2.z; }
#define PRODUCT(THIS, OTHER)                                                                                 \
    THIS RowMatrix &operator*=(const OTHER RowMatrix &other) THIS                                            \
    {                                                                                                        \
        row0 *= other.row0;                                                                                  \
        row1 *= other.row1;                                                                                  \
        row2 *= other.row2;                                                                                  \
        return *this;                                                                                        \
    }
    MEMBERS(thread)
    MEMBERS(device)
    MEMBERS(threadgroup)
    PRODUCT(thread, thread)
    PRODUCT(thread, device)
    PRODUCT(thread, threadgroup)
    PRODUCT(device, thread)
    PRODUCT(device, device)
    PRODUCT(device, threadgroup)
    PRODUCT(threadgroup, thread)
    PRODUCT(threadgroup, device)
    PRODUCT(threadgroup, threadgroup)
};
#endif

kernel void combine(device RowMatrix *result, device const RowMatrix *factor, device float *traces,
                    threadgroup RowMatrix *shared, uint i [[thread_position_in_grid]],
                    uint t [[thread_index_in_threadgroup]])
{
    RowMatrix scratch = {float3(1, 2, 3), float3(float(i)), float3(2)};
    shared[t] = scratch;
    shared[t] *= factor[i];
    result[i] *= scratch.shear(2);
    scratch *= shared[t].shear(1);
    shared[t] *= scratch;
    result[i] *= shared[t];
    result[i].shear(-1);
    traces[i] = result[i].trace() + scratch.trace() + shared[t].trace();
}

// Gram and Schmidt's way from any three rows to a rotation, in memory of every kind.
kernel void rotations(device RowMatrix *result, device const RowMatrix *start, threadgroup RowMatrix *shared,
                      uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]])
{
    RowMatrix scratch = start[i], ones = {float3(1), float3(1), float3(1)};
    shared[t] = start[i];
    result[3 * i] = start[i];
    result[3 * i].orthonormalise();
    result[3 * i + 1] = scratch.orthonormalise() *= ones;
    result[3 * i + 2] = ones;
    result[3 * i + 2] *= shared[t].orthonormalise();
}

#if __METAL_VERSION__ >= 410
struct Cells {
    uint *values;
    uint count;
};

uint sum(const uint *values, uint count)
{
    uint total = 0;
    for (uint k = 0; k < count; k++) total += values[k];
    return total;
}
uint sum(const Cells &cells) { return sum(cells.values, cells.count); }
void accumulate(uint *total, const uint *value) { *total += *value; }

uint space(const uint *p)
{
    return is_device_addrspace(p) + 2 * is_threadgroup_addrspace(p) + 4 * is_thread_addrspace(p);
}

// One function for every space, and what it was given last.
kernel void spaces(device uint *out, threadgroup uint *shared, uint i [[thread_position_in_grid]],
                   uint t [[thread_index_in_threadgroup]])
{
    device uint *row = out + 16 * i;
    uint local[4] = {1, 2, 3, i};
    for (uint k = 0; k < 4; k++) shared[4 * t + k] = 10 * k + i;
    Cells cells[3] = {{local, 4}, {shared + 4 * t, 4}, {row + 12, 4}};
    row[0] = space(local);
    row[1] = space(shared);
    row[2] = space(out);
    row[3] = sum(cells[0]);
    row[4] = sum(cells[1]);
    row[5] = sum(cells[2]);
    accumulate(&row[6], &local[1]);
    accumulate(&local[1], &shared[4 * t]);
    accumulate(&shared[4 * t + 1], &local[1]);
    row[7] = local[1];
    row[8] = shared[4 * t + 1];
}

// Which memory is known at run time only.
kernel void choice(device uint *out, threadgroup uint *shared, uint i [[thread_position_in_grid]],
                   uint t [[thread_index_in_threadgroup]])
{
    device uint *row = out + 8 * i;
    uint local = 5 + i;
    shared[t] = 100 + i;
    uint *p = i % 3 == 0 ? (uint *)&row[7] : i % 3 == 1 ? (uint *)&shared[t] : &local;
    for (uint k = 0; k < i % 5; k++) p = p == &local ? (uint *)&shared[t] : p;
    row[0] = space(p);
    device uint *d = addrspace_cast<device uint *>(p);
    threadgroup uint *s = addrspace_cast<threadgroup uint *>(p);
    thread uint *l = addrspace_cast<thread uint *>(p);
    row[1] = (d != nullptr) + 2 * (s != nullptr) + 4 * (l != nullptr);
    if (is_thread_addrspace(p)) row[2] = *static_cast<thread uint *>(p);
    if (is_device_addrspace(p)) row[2] = *static_cast<device uint *>(p);
    if (is_threadgroup_addrspace(p)) row[2] = *static_cast<threadgroup uint *>(p);
    *p += 1;
    row[3] = local;
    row[4] = shared[t];
    row[5] = *p;
}

// Past the end of memory that is chosen when the kernel runs.
uint read(const uint *p, uint n) { return p[n]; }
void write(uint *p, uint n, uint value) { p[n] = value; }
kernel void overrun(device uint *out, device uint *in, constant uint2 &what, threadgroup uint *shared,
                    uint t [[thread_index_in_threadgroup]])
{
    uint local[4] = {1, 2, 3, 4}, which = what.x & 3, n = what.y;
    shared[t] = t;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint *p = which == 0 ? (uint *)in : which == 1 ? (uint *)shared : local;
    for (uint k = 0; k < out[0]; k++) p = p == local ? (uint *)in : p;
    if (what.x & 4)
        write(p, n, 7);
    else
        out[1 + t] = read(p, n) + local[t & 3];
}

kernel void wrong_cast(device uint *out, uint i [[thread_position_in_grid]])
{
    uint local = i;
    uint *p = i == 5 ? &local : (uint *)&out[i];
    device uint *d = static_cast<device uint *>(p);
    if (i != 5) *d = 1;
}
#endif
