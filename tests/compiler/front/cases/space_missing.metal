//@ check
//@ std metal4.0
//? source error
//: 16:5: error: reference type must have an explicit address space below metal4.1
//: 16:5: note: write device, constant, threadgroup or thread before the type, or compile with -std=metal4.1, where it is generic
//: 17:19: error: reference type must have an explicit address space below metal4.1
//: 20:5: error: pointer type must have an explicit address space below metal4.1
//: 22:11: error: pointer type must have an explicit address space below metal4.1
//: 22:21: error: reference type must have an explicit address space below metal4.1
//: 23:15: error: pointer type must have an explicit address space below metal4.1
//: 26:5: error: pointer type must have an explicit address space below metal4.1
//: 27:5: error: reference type must have an explicit address space below metal4.1
#include <metal_stdlib>
struct Rows {
    float row[3];
    Rows &first() { return *this; }
    void multiply(const Rows &other) {}
};
struct Data {
    const float *values;
};
float sum(float *p, const metal::float4 &q) { return *p + q.x; }
static inline float *inner(device float *p, thread Rows &r) { return nullptr; }
float local(float x)
{
    float *q = &x;
    const Rows &r = *(thread Rows *)q;
    return *q * r.row[0];
}
