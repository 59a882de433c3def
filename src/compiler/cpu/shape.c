/* The lattice of lane shapes; see cpu_shape in kernel.h. One stride per lane bit describes what 2D positions,
 * quantised blocks and matrix tiles need: (l / 8) * 256 + (l % 8) * 4 has the strides 4, 8, 16, 256, 512. */
#include "compiler/cpu/kernel.h"

#include <string.h>

cpu_shape cpu_shape_varying(void)
{
    return (cpu_shape){0};
}

cpu_shape cpu_shape_uniform(int align)
{
    return (cpu_shape){.bits = LANE_BITS, .align = (int8_t)align};
}

cpu_shape cpu_shape_linear(int64_t stride, int align)
{
    cpu_shape s = cpu_shape_uniform(align);
    for (int b = 0; b < LANE_BITS; b++) s.stride[b] = stride * (1 << b);
    return s;
}

cpu_shape cpu_shape_cut(cpu_shape s, int bits)
{
    if (bits <= 0) return cpu_shape_varying();
    for (int b = bits; b < LANE_BITS; b++) { /* the bases of the smaller blocks contain the strides that go */
        if (s.stride[b])
            s.align = (int8_t)(s.align < __builtin_ctzll((uint64_t)s.stride[b])
                                   ? s.align
                                   : __builtin_ctzll((uint64_t)s.stride[b]));
        s.stride[b] = 0;
    }
    if (bits < s.bits) s.bits = (int8_t)bits;
    return s;
}

cpu_shape cpu_shape_meet(cpu_shape a, cpu_shape b)
{
    if (a.top) return b;
    if (b.top) return a;
    int bits = a.bits < b.bits ? a.bits : b.bits, same = 0;
    while (same < bits && a.stride[same] == b.stride[same]) same++;
    a = cpu_shape_cut(a, same);
    b = cpu_shape_cut(b, same);
    if (b.align < a.align) a.align = b.align;
    return a;
}

cpu_shape cpu_shape_equal_lanes(cpu_shape s)
{
    int equal = 0;
    while (equal < s.bits && !s.stride[equal]) equal++;
    return cpu_shape_cut(s, equal);
}

bool cpu_shape_equals(const cpu_shape *a, const cpu_shape *b)
{
    return a->bits == b->bits && a->align == b->align && a->top == b->top &&
           !memcmp(a->stride, b->stride, sizeof a->stride);
}

bool cpu_shape_has_stride(const cpu_shape *s)
{
    for (int b = 0; b < s->bits; b++)
        if (s->stride[b]) return true;
    return false;
}

bool cpu_shape_is_uniform(const cpu_shape *s)
{
    return s->top || (s->bits == LANE_BITS && !cpu_shape_has_stride(s));
}

bool cpu_shape_rises(const cpu_shape *s)
{
    for (int b = 0; b < s->bits; b++)
        if (s->stride[b] < 0) return false;
    return s->bits == LANE_BITS;
}

bool cpu_shape_is_linear(const cpu_shape *s, int64_t stride)
{
    for (int b = 0; b < s->bits; b++)
        if (s->stride[b] != stride * (1 << b)) return false;
    return s->bits == LANE_BITS;
}

int64_t cpu_shape_offset(const cpu_shape *s, int lane)
{
    int64_t offset = 0;
    for (int b = 0; b < s->bits; b++)
        if (lane >> b & 1) offset += s->stride[b];
    return offset;
}

int cpu_shape_copies(const cpu_shape *s)
{
    if (s->top) return 1;
    return s->bits >= 3 ? LANES >> s->bits : 0;
}

cpu_shape cpu_shape_of(const cpu_kernel *k, LLVMValueRef ir)
{
    const cpu_value *value = cpu_value_of(k, ir);
    if (value) return value->shape;
    if (LLVMIsAConstantInt(ir) && LLVMGetIntTypeWidth(LLVMTypeOf(ir)) <= 64)
        return cpu_shape_uniform(cpu_trailing_zeros(LLVMConstIntGetZExtValue(ir)));
    return cpu_shape_uniform(0);
}
