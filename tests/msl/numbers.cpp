/* Constant values of the integer, common and limit functions, from hand computation. Checked by compiling. */
using namespace metal;
#define IS(A, B) static_assert((A) == (B), #A " is " #B)

IS(min(3, -4), -4); IS(max(3u, 4u), 4u); IS(clamp(-9, -3, 7), -3); IS(clamp(9, -3, 7), 7); IS(min3(3, 1, 2), 1); IS(median3(9, 1, 5), 5);
IS(abs(-5), 5); IS(abs(int(-2147483647 - 1)), int(-2147483647 - 1)); IS(abs(char(-128)), char(-128));
IS(absdiff(-2147483647 - 1, 2147483647), 4294967295u); IS(absdiff(char(-128), char(127)), uchar(255)); IS(absdiff(3u, 5u), 2u);
IS(addsat(char(100), char(100)), char(127)); IS(addsat(uchar(200), uchar(100)), uchar(255)); IS(subsat(uchar(1), uchar(2)), uchar(0));
IS(subsat(short(-30000), short(30000)), short(-32768)); IS(addsat(2147483647, 1), 2147483647); IS(subsat(0u, 1u), 0u);
IS(addsat(9223372036854775807l, 5l), 9223372036854775807l); IS(subsat(-9223372036854775807l, 5l), -9223372036854775807l - 1);
IS(hadd(2147483647, 2147483645), 2147483646); IS(hadd(-3, -4), -4); IS(rhadd(-3, -4), -3); IS(rhadd(255, 254), 255);
IS(hadd(uchar(255), uchar(254)), uchar(254)); IS(rhadd(uchar(255), uchar(254)), uchar(255)); IS(hadd(char(-128), char(-127)), char(-128));
IS(mulhi(char(-128), char(-128)), char(64)); IS(mulhi(uchar(255), uchar(255)), uchar(254)); IS(mulhi(short(-32768), short(2)), short(-1));
IS(mulhi(ushort(65535), ushort(65535)), ushort(65534)); IS(mulhi(-1, 1), -1); IS(mulhi(4294967295u, 4294967295u), 4294967294u);
IS(mulhi(18446744073709551615ul, 18446744073709551615ul), 18446744073709551614ul); IS(mulhi(-1l, 1l), -1l); IS(mulhi(-1l, -1l), 0l);
IS(mulhi(0x123456789abcdef0ul, 0x0fedcba987654321ul), 0x0121fa00ad77d742ul);
IS(madhi(4294967295u, 4294967295u, 3u), 1u); IS(madsat(100000, 100000, 0), 2147483647); IS(madsat(-100000, 100000, 0), -2147483647 - 1);
IS(madsat(char(11), char(11), char(7)), char(127)); IS(madsat(char(-11), char(11), char(-7)), char(-128)); IS(madsat(uchar(15), uchar(17), uchar(0)), uchar(255));
IS(madsat(46341, 46341, -2147483647), 4634); IS(madsat(4294967295u, 4294967295u, 1u), 4294967295u); IS(madsat(3000000000l, 3000000000l, 1l), 9000000000000000001l);
IS(madsat(4000000000l, 4000000000l, 1l), 9223372036854775807l); IS(madsat(-4000000000l, 4000000000l, 1l), -9223372036854775807l - 1);
IS(madsat(3037000500l, 3037000500l, -9223372036854775807l), 145474193l);
IS(madsat(18446744073709551615ul, 1ul, 1ul), 18446744073709551615ul); IS(madsat(2ul, 3ul, 4ul), 10ul);
IS(rotate(uchar(0x81), uchar(1)), uchar(0x03)); IS(rotate(0x80000001u, 36u), 0x00000018u); IS(rotate(ushort(0x8001), ushort(17)), ushort(3));
IS(rotate(1, -1), int(0x80000000)); IS(rotate(1ul, 65ul), 2ul);
IS(reverse_bits(uchar(1)), uchar(0x80)); IS(reverse_bits(ushort(1)), ushort(0x8000)); IS(reverse_bits(0x1u), 0x80000000u); IS(reverse_bits(3l), long(0xc000000000000000ul));
IS(popcount(char(-1)), char(8)); IS(popcount(ushort(0xf0f0)), ushort(8)); IS(popcount(-1), 32); IS(popcount(~0ul), 64ul);
IS(clz(0u), 32u); IS(clz(uchar(0)), uchar(8)); IS(clz(ushort(1)), ushort(15)); IS(clz(-1), 0); IS(clz(0l), 64l);
IS(ctz(0), 32); IS(ctz(char(0)), char(8)); IS(ctz(ushort(0)), ushort(16)); IS(ctz(8ul), 3ul); IS(ctz(char(-128)), char(7));
IS(extract_bits(0xabcdu, 4, 8), 0xbcu); IS(extract_bits(0xabcd, 4, 8), int(0xffffffbc)); IS(extract_bits(0xabcdu, 0, 32), 0xabcdu);
IS(extract_bits(0xabcdu, 4, 0), 0u); IS(extract_bits(-1, 31, 1), -1); IS(extract_bits(uchar(0x5a), 4, 4), uchar(5)); IS(extract_bits(char(0x5a), 3, 2), char(-1));
IS(extract_bits(0x5555u, 32, 4), 0u); IS(extract_bits(~0ul, 60, 8), 15ul);
IS(insert_bits(0u, 0xffu, 4, 8), 0xff0u); IS(insert_bits(~0u, 0u, 0, 32), 0u); IS(insert_bits(~0u, 0u, 31, 1), 0x7fffffffu); IS(insert_bits(5, 7, 3, 0), 5);
IS(insert_bits(uchar(0xff), uchar(0), 2, 3), uchar(0xe3)); IS(insert_bits(0ul, ~0ul, 63, 1), 0x8000000000000000ul); IS(insert_bits(1u, 9u, 32, 4), 1u);
IS(mul24(0x1000003, 5), 15); IS(mul24(-1, 3), -3); IS(mul24(0xff000003u, 5u), 15u); IS(mad24(0x800000, 1, 0), -8388608); IS(mad24(4u, 5u, 6u), 26u);

/* ---- The same through vectors ---- */
IS(mulhi(int2(-1, 2147483647), int2(1, 4)).x, -1); IS(mulhi(int2(-1, 2147483647), 4).y, 1); IS(clamp(short3(-9, 0, 9), short(-3), short(3)).z, short(3));
IS(max(uint4(1, 2, 3, 4), 3u).x, 3u); IS(extract_bits(uint2(0xab, 0xcd), 4, 4).y, 0xcu); IS(select(int2(1, 2), int2(3, 4), bool2(false, true)).y, 4);
IS(absdiff(char2(-128, 3), char2(127, 5)).x, uchar(255)); IS(all(bool3(true, true, false)), false); IS(any(bool3(false, false, true)), true);

/* ---- Floating point without rounding ---- */
constexpr float nan = __builtin_nanf(""), inf = __builtin_inff();
IS(fmin(nan, 1.0f), 1.0f); IS(fmin(1.0f, nan), 1.0f); IS(fmax(nan, -1.0f), -1.0f); IS(max(1.0f, nan), 1.0f); IS(min(half(2), half(3)), half(2));
IS(isnan(fmin(nan, nan)), true); IS(clamp(nan, 1.0f, 2.0f), 1.0f); IS(saturate(nan), 0.0f); IS(saturate(half(2)), half(1)); IS(saturate(-inf), 0.0f);
IS(fmedian3(3.0f, 1.0f, 2.0f), 2.0f); IS(fmedian3(1.0f, 3.0f, 2.0f), 2.0f); IS(fmin3(3.0f, nan, 2.0f), 2.0f); IS(max3(half(1), half(5), half(2)), half(5));
IS(sign(-3.0f), -1.0f); IS(sign(half(7)), half(1)); IS(sign(nan), 0.0f); IS(signbit(sign(-0.0f)), true); IS(signbit(sign(0.0f)), false);
IS(step(2.0f, 1.0f), 0.0f); IS(step(2.0f, 2.0f), 1.0f); IS(smoothstep(0.0f, 1.0f, 0.5f), 0.5f); IS(smoothstep(0.0f, 4.0f, 1.0f), 0.15625f); IS(smoothstep(1.0f, 2.0f, 0.0f), 0.0f);
IS(mix(1.0f, 3.0f, 0.25f), 1.5f); IS(mix(float2(1, 2), float2(3, 6), 0.5f).y, 4.0f); IS(fdim(3.0f, 1.0f), 2.0f); IS(fdim(1.0f, 3.0f), 0.0f);
IS(isnan(nan), true); IS(isnan(inf), false); IS(isinf(-inf), true); IS(isfinite(3.4e38f), true); IS(isfinite(inf), false); IS(isnormal(1e-39f), false); IS(isnormal(1e-37f), true);
IS(isnormal(0.0f), false); IS(isnormal(inf), false); IS(isnan(half(nan)), true); IS(isinf(half(70000.0f)), true); IS(isnormal(half(3e-5f)), false); IS(isordered(nan, 1.0f), false); IS(isunordered(nan, 1.0f), true);
IS(signbit(-0.0f), true); IS(signbit(half(-0.0f)), true); IS(dot(float4(1, 2, 3, 4), float4(5, 6, 7, 8)), 70.0f); IS(dot(int3(1, 2, 3), int3(4, 5, 6)), 32);
IS(dot(half2(1, 2), half2(3, 4)), half(11)); IS(cross(float3(1, 0, 0), float3(0, 1, 0)).z, 1.0f); IS(cross(float3(1, 2, 3), float3(4, 5, 6)).x, -3.0f);
IS(reflect(float2(1, -1), float2(0, 1)).y, 1.0f); IS(faceforward(float2(0, 1), float2(0, 1), float2(0, 1)).y, -1.0f); IS(length_squared(float3(1, 2, 2)), 9.0f);
IS(distance_squared(float2(4, 6), float2(1, 2)), 25.0f);

/* ---- numeric_limits ---- */
IS(numeric_limits<char>::min(), -128); IS(numeric_limits<uchar>::max(), 255); IS(numeric_limits<short>::lowest(), -32768); IS(numeric_limits<ushort>::digits, 16);
IS(numeric_limits<int>::min(), -2147483647 - 1); IS(numeric_limits<uint>::max(), 4294967295u); IS(numeric_limits<long>::max(), 9223372036854775807l); IS(numeric_limits<ulong>::max(), 18446744073709551615ul);
IS(numeric_limits<bool>::max(), true); IS(numeric_limits<int>::is_signed, true); IS(numeric_limits<uint>::is_signed, false); IS(numeric_limits<ulong>::is_integer, true);
IS(numeric_limits<float>::max(), 3.40282346638528859812e+38f); IS(numeric_limits<float>::min(), 1.17549435082228750797e-38f); IS(numeric_limits<float>::epsilon(), 1.1920928955078125e-07f);
IS(numeric_limits<float>::lowest(), -3.40282346638528859812e+38f); IS(numeric_limits<float>::infinity(), inf); IS(isnan(numeric_limits<float>::quiet_NaN()), true); IS(numeric_limits<float>::denorm_min(), 0x1p-149f);
IS(numeric_limits<half>::max(), half(65504.0f)); IS(numeric_limits<half>::min(), half(0x1p-14f)); IS(numeric_limits<half>::epsilon(), half(0x1p-10f)); IS(numeric_limits<half>::denorm_min(), half(0x1p-24f));
IS(isinf(numeric_limits<half>::infinity()), true); IS(isnan(numeric_limits<half>::quiet_NaN()), true); IS(numeric_limits<half>::digits10, 3);
IS(float(numeric_limits<bfloat>::max()), 3.38953138925153547590e+38f); IS(float(numeric_limits<bfloat>::min()), 0x1p-126f); IS(float(numeric_limits<bfloat>::epsilon()), 0x1p-7f); IS(float(numeric_limits<bfloat>::infinity()), inf);
IS(numeric_limits<const float>::digits, 24); IS(numeric_limits<bfloat>::digits, 8); IS(numeric_limits<float4>::is_specialized, false);
struct own { int v; };
namespace metal
{
template <> struct _numeric_limits_impl<own> { static constexpr own max() { return {7}; } };
} // namespace metal
IS(numeric_limits<own>::max().v, 7);
