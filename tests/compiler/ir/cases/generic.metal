#include <metal_stdlib>
using namespace metal;

struct Pair {
    uint *first, *second;
};
void accumulate(uint *total, const uint *value) { *total += *value; }
void accumulate(const Pair &pair) { accumulate(pair.first, pair.second); }

// A pointer that is resolved statically costs nothing: neither the question nor a copy of the pointer is left.
// RUN static: emit -std=metal4.1 --kernel resolved --what ir
// CHECK static: define void @tombac.kernel
// NOT static: call
// NOT static: alloca
// NOT static: select
// NOT static: (?<!#dbg_value\()\bphi
// NOT static: br i1
kernel void resolved(device uint *out, device uint *in)
{
    uint local = 3;
    accumulate(out, &local);
    accumulate(Pair{out + 1, in});
    if (is_device_addrspace(in)) accumulate(addrspace_cast<device uint *>((uint *)out), static_cast<device uint *>((uint *)in));
    if (is_thread_addrspace(in)) out[2] = 99;
}

// One that is not carries a number beside it.
// RUN dynamic: emit -std=metal4.1 --kernel unresolved --what ir
// CHECK dynamic: phi i32 \[ 0, %\d+ \], \[ 1, %\d+ \]
// NOT dynamic: call
kernel void unresolved(device uint *out, device uint *in)
{
    uint local = in[0];
    uint *p = in[1] ? &local : (uint *)in;
    out[0] = is_device_addrspace(p) ? *p : 7;
}

// RUN memory FAILS 4: emit -std=metal4.1 --kernel remembered --what ir
// CHECK memory: address space of a generic pointer that lies in thread or threadgroup memory cannot be asked, which is not supported
kernel void remembered(device uint *out, device uint *in)
{
    uint local = 1;
    uint *table[4] = {&local, (uint *)in, &local, (uint *)out};
    out[0] = is_device_addrspace(table[in[0] & 3]);
}

// A pointer in device memory is the host's.
// RUN host: emit -std=metal4.1 --kernel given --what ir
// CHECK host: store i32 7,
struct Table {
    uint *cells;
};
kernel void given(device uint *out, device Table *table) { out[0] = is_device_addrspace(table->cells) ? 7 : 8; }
