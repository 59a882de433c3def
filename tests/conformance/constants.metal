// Function constants: every type, defaults, derived constants, arguments that appear and vanish.
#include <metal_stdlib>
using namespace metal;

constant bool C_BOOL [[function_constant(0)]];
constant char C_CHAR [[function_constant(1)]];
constant uchar C_UCHAR [[function_constant(2)]];
constant short C_SHORT [[function_constant(3)]];
constant ushort C_USHORT [[function_constant(4)]];
constant int C_INT [[function_constant(5)]];
constant uint C_UINT [[function_constant(6)]];
constant float C_FLOAT [[function_constant(7)]];
constant half C_HALF [[function_constant(8)]];
constant float2 C_FLOAT2 [[function_constant(10 + 0)]];
constant int3 C_INT3 [[function_constant(10 + 1)]];
constant uchar4 C_UCHAR4 [[function_constant(12)]];
constant half4 C_HALF4 [[function_constant(13)]];
constant ushort2 C_USHORT2 [[function_constant(14)]];
constant float4 C_FLOAT4 [[function_constant(15)]];

kernel void scalars(device uint *out [[buffer(0)]])
{
    out[0] = C_BOOL;
    out[1] = uint(int(C_CHAR));
    out[2] = C_UCHAR;
    out[3] = uint(int(C_SHORT));
    out[4] = C_USHORT;
    out[5] = uint(C_INT);
    out[6] = C_UINT;
    out[7] = as_type<uint>(C_FLOAT);
    out[8] = as_type<ushort>(C_HALF);
}

kernel void vectors(device uint *out [[buffer(0)]])
{
    out[0] = as_type<uint>(C_FLOAT2.x);
    out[1] = as_type<uint>(C_FLOAT2.y);
    out[2] = uint(C_INT3.x);
    out[3] = uint(C_INT3.y);
    out[4] = uint(C_INT3.z);
    out[5] = as_type<uint>(C_UCHAR4);
    out[6] = as_type<uint>(C_HALF4.xy);
    out[7] = as_type<uint>(C_HALF4.zw);
    out[8] = as_type<uint>(C_USHORT2);
    for (uint k = 0; k < 4; k++) out[9 + k] = as_type<uint>(C_FLOAT4[k]);
}

// Defaults and constants computed from constants.
constant int OPTIONAL [[function_constant(20)]];
constant bool OPTIONAL_FLAG [[function_constant(21)]];
constant int optional_value = is_function_constant_defined(OPTIONAL) ? OPTIONAL : 7;
constant bool optional_flag = is_function_constant_defined(OPTIONAL_FLAG) ? OPTIONAL_FLAG : true;
constant int twice = optional_value * 2;
constant bool both = optional_flag && twice > 20;
constant float ratio = float(optional_value) / 4;

kernel void defaults(device int *out [[buffer(0)]])
{
    out[0] = optional_value;
    out[1] = optional_flag;
    out[2] = twice;
    out[3] = both;
    out[4] = int(ratio * 100);
    out[5] = is_function_constant_defined(OPTIONAL);
    out[6] = is_function_constant_defined(OPTIONAL_FLAG);
    int product = 1;
    for (int i = 0; i < optional_value; i++) product = product * 3 + i;
    out[7] = product;
    switch (optional_value) {
        case 7: out[8] = 70; break;
        case 11: out[8] = 110; break;
        default: out[8] = -1;
    }
}

// Arguments under a condition; the names inside are those of constants, one of them derived.
constant bool HAS_BIAS [[function_constant(30)]];
constant int MODE [[function_constant(31)]];
constant bool has_scale = MODE == 2;
constant bool no_bias = !HAS_BIAS;

kernel void optional_arguments(device float *out [[buffer(0)]], const device float *in [[buffer(1)]],
    const device float *bias [[buffer(2), function_constant(HAS_BIAS)]],
    constant float &scale [[buffer(3), function_constant(has_scale)]],
    constant float &replacement [[buffer(4), function_constant(no_bias)]], uint i [[thread_position_in_grid]])
{
    float v = in[i];
    if (HAS_BIAS) v += bias[i];
    if (has_scale) v *= scale;
    if (no_bias) v -= replacement;
    out[i] = v;
}

// A derived constant that only an attribute names.
constant bool with_extra = HAS_BIAS && has_scale;
kernel void attribute_only(device float *out [[buffer(0)]], const device float *extra [[buffer(1), function_constant(with_extra)]],
    uint i [[thread_position_in_grid]])
{
    out[i] = HAS_BIAS ? float(MODE) : -1;
}

// One template, chosen by a constant; types of different sizes.
template <typename T>
static void fill(device uint *out, uint i)
{
    out[i] = sizeof(T) * 1000 + uint(T(300));
}
constant ushort KIND [[function_constant(40)]];
kernel void choose(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    if (KIND == 0)
        fill<uchar>(out, i);
    else if (KIND == 1)
        fill<ushort>(out, i);
    else
        fill<float>(out, i);
}

// Derived constants of class types: their constructors run before the kernel is made, as for a workgroup size.
struct tile {
    ushort2 size;
    int rows[2];
};
constant uint3 group_size = uint3(uint(optional_value), 1u, uint(twice));
constant float4 weights = float4(1, float(optional_value), ratio, 3) * 2.0f;
constant uint2 last = group_size.xz - 1u;
constant float2x2 turn = float2x2(0, float(twice), 1, 5);
constant tile the_tile = { ushort2(ushort(optional_value), 3), { twice, int(group_size.z) } };

kernel void derived_classes(device float *out [[buffer(0)]])
{
    threadgroup float room[4];
    room[0] = weights.y;
    out[0] = group_size.x + 100 * group_size.y + 1000 * group_size.z;
    out[1] = room[0] + weights.z;
    out[2] = last.x + 100 * last.y;
    out[3] = turn[0][1] + 100 * turn[1].y;
    out[4] = the_tile.size.x + 100 * the_tile.size.y;
    out[5] = the_tile.rows[0] + 100 * the_tile.rows[1];
}
