/* Uses every function of the library on every type that Metal lets it take. What is left undefined after
 * inlining must be an operation of docs/operations.md or an LLVM intrinsic (symbols.cmake): no library call,
 * no forgotten definition.
 *
 * Written in the rewritten dialect, compiled against the precompiled header. */
namespace __tombac { constexpr unsigned family = 9; } // as the front end does
using namespace metal;
#define DEVICE __attribute__((opencl_global))
#define GROUP __attribute__((opencl_local))
#define CONSTANT __attribute__((opencl_global_host)) const
#define KERNEL [[clang::sycl_external]]

typedef DEVICE char *Memory;
template <typename T> T get(Memory m) { return *(DEVICE T *)m; }
template <typename T> void put(Memory m, T value) { *(DEVICE T *)m = value; }

/* F(T) for scalars and vectors. */
#define SHAPES(F, T) F(T) F(T##2) F(T##3) F(T##4)
#define FLOATS(F) SHAPES(F, half) SHAPES(F, float)
#define INTEGERS(F)                                                                                          \
    SHAPES(F, char)                                                                                          \
    SHAPES(F, uchar) SHAPES(F, short) SHAPES(F, ushort) SHAPES(F, int) SHAPES(F, uint) SHAPES(F, long)       \
        SHAPES(F, ulong)
#define MOVED(F)                                                                                             \
    SHAPES(F, char)                                                                                          \
    SHAPES(F, uchar) SHAPES(F, short) SHAPES(F, ushort) SHAPES(F, int) SHAPES(F, uint) SHAPES(F, half)       \
        SHAPES(F, float)
#define ONE(NAME, T) put(m, NAME(get<T>(m)));
#define TWO(NAME, T) put(m, NAME(get<T>(m), get<T>(m + 64)));
#define THREE(NAME, T) put(m, NAME(get<T>(m), get<T>(m + 64), get<T>(m + 128)));

/* ---- Mathematics ---- */
#define FUNCTIONS1(X)                                                                                        \
    X(acos)                                                                                                  \
    X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(ceil) X(cos) X(cosh) X(cospi) X(exp) X(exp2) X(exp10)       \
        X(fabs) X(abs) X(floor) X(fract) X(log) X(log2) X(log10) X(rint) X(round) X(rsqrt) X(sin) X(sinh)    \
            X(sinpi) X(sqrt) X(tan) X(tanh) X(tanpi) X(trunc) X(ilogb) X(sign) X(saturate)
#define FUNCTIONS2(X)                                                                                        \
    X(atan2)                                                                                                 \
    X(copysign) X(divide) X(fdim) X(fmax) X(fmin) X(fmod) X(max) X(min) X(pow) X(powr) X(nextafter) X(step)
#define FUNCTIONS3(X)                                                                                        \
    X(fma) X(fmax3) X(fmin3) X(fmedian3) X(max3) X(min3) X(median3) X(clamp) X(mix) X(smoothstep)
template <typename T, typename I> void with_second(Memory m)
{
    T cosine, whole;
    I exponent;
    put(m, sincos(get<T>(m), cosine));
    put(m, cosine);
    put(m, modf(get<T>(m), whole));
    put(m, whole);
    put(m, frexp(get<T>(m), exponent));
    put(m, exponent);
    put(m, ldexp(get<T>(m), get<I>(m)));
}
#define IN_NAMESPACE(NS)                                                                                     \
    namespace test_##NS                                                                                      \
    {                                                                                                        \
        using namespace NS;                                                                                  \
        template <typename T> void one(Memory m) { FUNCTIONS1(ONE_##NS) }                                    \
        template <typename T> void two(Memory m) { FUNCTIONS2(TWO_##NS) }                                    \
        template <typename T> void three(Memory m){FUNCTIONS3(THREE_##NS)} KERNEL void run(Memory m)         \
        {                                                                                                    \
            FLOATS(ALL_OF)                                                                                   \
        }                                                                                                    \
    }
#define ALL_OF(T) one<T>(m), two<T>(m), three<T>(m);
#define ONE_metal(N) put(m, metal::N(get<T>(m)));
#define TWO_metal(N) put(m, metal::N(get<T>(m), get<T>(m + 64)));
#define THREE_metal(N) put(m, metal::N(get<T>(m), get<T>(m + 64), get<T>(m + 128)));
#define ONE_fast(N) put(m, metal::fast::N(get<T>(m)));
#define TWO_fast(N) put(m, metal::fast::N(get<T>(m), get<T>(m + 64)));
#define THREE_fast(N) put(m, metal::fast::N(get<T>(m), get<T>(m + 64), get<T>(m + 128)));
#define ONE_precise(N) put(m, metal::precise::N(get<T>(m)));
#define TWO_precise(N) put(m, metal::precise::N(get<T>(m), get<T>(m + 64)));
#define THREE_precise(N) put(m, metal::precise::N(get<T>(m), get<T>(m + 64), get<T>(m + 128)));
IN_NAMESPACE(metal)
IN_NAMESPACE(fast)
IN_NAMESPACE(precise)
KERNEL void second_results(Memory m)
{
    with_second<half, int>(m), with_second<half2, int2>(m), with_second<half3, int3>(m),
        with_second<half4, int4>(m);
    with_second<float, int>(m), with_second<float2, int2>(m), with_second<float3, int3>(m),
        with_second<float4, int4>(m);
    put(m, ldexp(get<float4>(m), 3));
    float c;
    put(m, fast::sincos(get<float>(m), c)), put(m, precise::sincos(get<float>(m), c)), put(m, c);
}

/* ---- Vector and scalar mixed ---- */
template <typename V> void mixed(Memory m)
{
    typedef typename V::value_type T;
    V v = get<V>(m);
    T s = get<T>(m);
    put(m, max(v, s)), put(m, min(s, v)), put(m, clamp(v, s, s)), put(m, clamp(v, T(0), s)),
        put(m, fma(v, s, v));
    put(m, pow(v, s)), put(m, mix(v, v, s)), put(m, step(s, v)), put(m, smoothstep(s, s, v)),
        put(m, fmod(v, s));
    put(m, v * s + v / s - s * v), put(m, v < s), put(m, s >= v), put(m, !(v == v)), put(m, -v);
}
KERNEL void mixtures(Memory m)
{
    mixed<half2>(m), mixed<half3>(m), mixed<half4>(m), mixed<float2>(m), mixed<float3>(m), mixed<float4>(m);
    put(m, dot(get<packed_float3>(m), get<float3>(m)));
    put(m, length(get<packed_half4>(m)));
    put(m, max(get<packed_float3>(m), get<packed_float3>(m + 64)));
    put(m, max(get<int4>(m), 3)), put(m, clamp(get<ushort2>(m), 1, ushort(9)));
}

/* ---- Integers ---- */
#define INTEGER_FUNCTIONS1(X) X(abs) X(clz) X(ctz) X(popcount) X(reverse_bits)
#define INTEGER_FUNCTIONS2(X) X(absdiff) X(addsat) X(subsat) X(hadd) X(rhadd) X(max) X(min) X(mulhi) X(rotate)
#define INTEGER_FUNCTIONS3(X) X(clamp) X(madhi) X(madsat) X(max3) X(median3) X(min3)
template <typename T> void integer_functions(Memory m)
{
    INTEGER_FUNCTIONS1(ONE_metal)
    INTEGER_FUNCTIONS2(TWO_metal)
    INTEGER_FUNCTIONS3(THREE_metal)
    put(m, extract_bits(get<T>(m), get<uint>(m + 64), get<uint>(m + 68)));
    put(m, insert_bits(get<T>(m), get<T>(m + 32), get<uint>(m + 64), get<uint>(m + 68)));
    T a = get<T>(m), b = get<T>(m + 64);
    put(m, a + b), put(m, a - b), put(m, a * b), put(m, a / b), put(m, a % b), put(m, a & b), put(m, a | b);
    put(m, a ^ b), put(m, a << b), put(m, a >> b), put(m, ~a), put(m, -a), put(m, a == b), put(m, a && b);
    a += b, a -= b, a *= b, a <<= b, ++a, a--;
    put(m, a);
}
#define OF_INTEGERS(T) integer_functions<T>(m);
KERNEL void integers(Memory m) { INTEGERS(OF_INTEGERS) }
template <typename T>
void multiply24(Memory m){TWO(mul24, T) THREE(mad24, T)}
#define OF_24(T) multiply24<T>(m);
KERNEL void multiplications24(Memory m){SHAPES(OF_24, int) SHAPES(OF_24, uint)}

/* ---- Relations, geometry, matrices ---- */
#define CLASSES(X) X(isfinite) X(isinf) X(isnan) X(isnormal) X(signbit)
template <typename T>
void classes(Memory m)
{
    CLASSES(ONE_metal)
    TWO(isordered, T) TWO(isunordered, T) put(m, any(isnan(get<T>(m)))), put(m, all(isinf(get<T>(m))));
}
#define OF_CLASSES(T) classes<T>(m);
KERNEL void relations(Memory m) { FLOATS(OF_CLASSES) }
template <typename T, typename B> void selections(Memory m)
{
    put(m, select(get<T>(m), get<T>(m + 64), get<B>(m + 128)));
}
#define SELECTIONS(T)                                                                                        \
    selections<T, bool>(m), selections<T##2, bool2>(m), selections<T##3, bool3>(m),                          \
        selections<T##4, bool4>(m);
KERNEL void all_selections(Memory m)
{
    SELECTIONS(char)
    SELECTIONS(uchar) SELECTIONS(short) SELECTIONS(ushort) SELECTIONS(int) SELECTIONS(uint) SELECTIONS(long)
        SELECTIONS(ulong) SELECTIONS(half) SELECTIONS(float) SELECTIONS(bfloat) SELECTIONS(bool)
}
template <typename V> void geometry_of(Memory m)
{
    V a = get<V>(m), b = get<V>(m + 64), c = get<V>(m + 128);
    put(m, dot(a, b)), put(m, length(a)), put(m, length_squared(a)), put(m, distance(a, b));
    put(m, distance_squared(a, b)), put(m, normalize(a)), put(m, reflect(a, b)), put(m, refract(a, b, a.x));
    put(m, faceforward(a, b, c)), put(m, fast::normalize(a)), put(m, precise::length(b)),
        put(m, fast::distance(a, b));
}
KERNEL void geometry(Memory m)
{
    geometry_of<half2>(m), geometry_of<half3>(m), geometry_of<half4>(m);
    geometry_of<float2>(m), geometry_of<float3>(m), geometry_of<float4>(m);
    put(m, cross(get<half3>(m), get<half3>(m + 64))), put(m, cross(get<float3>(m), get<float3>(m + 64)));
}
template <typename T, int C, int R> void matrix_of(Memory m)
{
    typedef matrix<T, C, R> M;
    M a = get<M>(m), b = get<M>(m + 128);
    put(m, a + b), put(m, a - b), put(m, -a), put(m, a * T(2)), put(m, T(3) * a), put(m, a / T(2)),
        put(m, transpose(a));
    put(m, a * get<vec<T, C>>(m)), put(m, get<vec<T, R>>(m) * a), put(m, a * transpose(b)), put(m, a == b);
    put(m, a[get<uint>(m)][get<uint>(m)]);
    if constexpr (C == R) put(m, determinant(a));
}
template <typename T> void matrices_of(Memory m)
{
    matrix_of<T, 2, 2>(m), matrix_of<T, 2, 3>(m), matrix_of<T, 2, 4>(m), matrix_of<T, 3, 2>(m),
        matrix_of<T, 3, 3>(m);
    matrix_of<T, 3, 4>(m), matrix_of<T, 4, 2>(m), matrix_of<T, 4, 3>(m), matrix_of<T, 4, 4>(m);
}
KERNEL void matrices(Memory m) { matrices_of<half>(m), matrices_of<float>(m); }

/* ---- Conversions ---- */
template <typename T, typename U> void convert(Memory m)
{
    put(m, T(get<U>(m))), put(m, vec<T, 2>(get<vec<U, 2>>(m))), put(m, vec<T, 3>(get<vec<U, 3>>(m)));
    put(m, vec<T, 4>(get<vec<U, 4>>(m)));
}
template <typename T> void convert_to(Memory m)
{
    convert<T, bool>(m), convert<T, char>(m), convert<T, uchar>(m), convert<T, short>(m),
        convert<T, ushort>(m);
    convert<T, int>(m), convert<T, uint>(m), convert<T, long>(m), convert<T, ulong>(m), convert<T, half>(m);
    convert<T, float>(m), convert<T, bfloat>(m);
}
KERNEL void conversions(Memory m)
{
    convert_to<bool>(m), convert_to<char>(m), convert_to<uchar>(m), convert_to<short>(m),
        convert_to<ushort>(m);
    convert_to<int>(m), convert_to<uint>(m), convert_to<long>(m), convert_to<ulong>(m), convert_to<half>(m);
    convert_to<float>(m), convert_to<bfloat>(m);
    bfloat a = get<bfloat>(m), b = get<bfloat>(m + 2);
    put(m, a + b), put(m, a * 2), put(m, a / 3.0f), put(m, -a), put(m, a < b), put(m, a++), put(m, a == 1.0f);
    put(m, get<bfloat4>(m) * a + get<bfloat4>(m + 8));
}
KERNEL void packing(Memory m)
{
    float4 f = get<float4>(m);
    half4 h = get<half4>(m);
    put(m, pack_float_to_unorm4x8(f)), put(m, pack_float_to_snorm4x8(f)),
        put(m, pack_float_to_srgb_unorm4x8(f));
    put(m, pack_float_to_unorm2x16(get<float2>(m))), put(m, pack_float_to_snorm2x16(get<float2>(m)));
    put(m, pack_float_to_unorm10a2(f)), put(m, pack_float_to_unorm565(get<float3>(m)));
    put(m, pack_half_to_unorm4x8(h)), put(m, pack_half_to_snorm4x8(h)), put(m, pack_half_to_srgb_unorm4x8(h));
    put(m, pack_half_to_unorm2x16(get<half2>(m))), put(m, pack_half_to_snorm2x16(get<half2>(m)));
    put(m, pack_half_to_unorm10a2(h)), put(m, pack_half_to_unorm565(get<half3>(m)));
    uint u = get<uint>(m);
    put(m, unpack_unorm4x8_to_float(u)), put(m, unpack_snorm4x8_to_float(u)),
        put(m, unpack_unorm4x8_srgb_to_float(u));
    put(m, unpack_unorm2x16_to_float(u)), put(m, unpack_snorm2x16_to_float(u)),
        put(m, unpack_unorm10a2_to_float(u));
    put(m, unpack_unorm565_to_float(get<ushort>(m)));
    put(m, unpack_unorm4x8_to_half(u)), put(m, unpack_snorm4x8_to_half(u)),
        put(m, unpack_unorm4x8_srgb_to_half(u));
    put(m, unpack_unorm2x16_to_half(u)), put(m, unpack_snorm2x16_to_half(u)),
        put(m, unpack_unorm10a2_to_half(u));
    put(m, unpack_unorm565_to_half(get<ushort>(m)));
}

/* ---- Groups ---- */
#define REDUCTIONS(X, P)                                                                                     \
    X(P##_sum)                                                                                               \
    X(P##_product) X(P##_min) X(P##_max) X(P##_prefix_inclusive_sum) X(P##_prefix_exclusive_sum)             \
        X(P##_prefix_inclusive_product) X(P##_prefix_exclusive_product)
#define MOVES(X, P)                                                                                          \
    X(P##_broadcast)                                                                                         \
    X(P##_shuffle) X(P##_shuffle_up) X(P##_shuffle_down) X(P##_shuffle_xor) X(P##_shuffle_rotate_up)         \
        X(P##_shuffle_rotate_down)
#define MOVE(N) put(m, N(get<T>(m), get<ushort>(m)));
#define FILL(N)                                                                                              \
    put(m, N(get<T>(m), get<T>(m + 64), get<ushort>(m)));                                                    \
    put(m, N(get<T>(m), get<T>(m + 64), get<ushort>(m), ushort(8)));
template <typename T> void reduce(Memory m) { REDUCTIONS(ONE_metal, simd) REDUCTIONS(ONE_metal, quad) }
template <typename T> void reduce_bits(Memory m)
{
    ONE(simd_and, T) ONE(simd_or, T) ONE(simd_xor, T) ONE(quad_and, T) ONE(quad_or, T) ONE(quad_xor, T)
}
template <typename T>
void move(Memory m){MOVES(MOVE, simd) MOVES(MOVE, quad) ONE(simd_broadcast_first, T)
                        ONE(quad_broadcast_first, T) FILL(simd_shuffle_and_fill_up)
                            FILL(simd_shuffle_and_fill_down) FILL(quad_shuffle_and_fill_up)
                                FILL(quad_shuffle_and_fill_down)}
#define OF_REDUCE(T) reduce<T>(m);
#define OF_BITS(T) reduce_bits<T>(m);
#define OF_MOVE(T) move<T>(m);
KERNEL void groups(Memory m){INTEGERS(OF_REDUCE) FLOATS(OF_REDUCE) INTEGERS(OF_BITS) MOVED(OF_MOVE)} KERNEL
    void votes(Memory m)
{
    bool b = get<bool>(m);
    put(m, simd_all(b)), put(m, simd_any(b)), put(m, simd_is_first()), put(m, quad_all(b)),
        put(m, quad_any(b));
    put(m, quad_is_first()), put(m, ulong(simd_ballot(b))),
        put(m, (simd_vote::vote_t)simd_active_threads_mask());
    put(m, ulong(quad_ballot(b))), put(m, quad_active_threads_mask().any()), put(m, simd_ballot(b).all());
}

/* ---- SIMD-group matrices ---- */
template <typename T> void tiles(Memory m, GROUP char *g, CONSTANT char *c)
{
    simdgroup_matrix<T, 8, 8> a, b(T(2)), d = make_filled_simdgroup_matrix<T, 8>(T(1));
    simdgroup_load(a, (DEVICE T *)m, 16, ulong2(8, 0), true);
    simdgroup_load(b, (GROUP const T *)g, 8);
    simdgroup_load(b, (CONSTANT T *)c);
    T own[64];
    own[get<uint>(m)] = T(1);
    simdgroup_load(d, own);
    simdgroup_multiply(d, a, b);
    simdgroup_multiply_accumulate(d, a, b, d);
    d.thread_elements()[0] += T(1);
    simdgroup_matrix<float, 8, 8> f(0.0f);
    simdgroup_multiply_accumulate(f, a, b, f);
    simdgroup_store(f, (DEVICE float *)m);
    simdgroup_store(a * b, (GROUP T *)g, 8, ulong2(0, 0), true);
    simdgroup_store(d, own);
    put(m, own[get<uint>(m)]);
}
KERNEL void all_tiles(Memory m, GROUP char *g, CONSTANT char *c)
{
    tiles<half>(m, g, c), tiles<float>(m, g, c), tiles<bfloat>(m, g, c);
}

/* ---- Atomics: type x space x operation x order ---- */
template <typename P, typename T>
void access_atomic(Memory m, P p, memory_order load, memory_order store, memory_order both)
{
    T v = get<T>(m), e = get<T>(m + 8);
    atomic_store_explicit(p, v, store);
    put(m, atomic_load_explicit(p, load)), put(m, atomic_exchange_explicit(p, v, both));
    put(m, atomic_compare_exchange_weak_explicit(p, &e, v, both, load)), put(m, e);
    if constexpr (!is_same_v<T, bool>) {
        put(m, atomic_fetch_add_explicit(p, v, both)), put(m, atomic_fetch_sub_explicit(p, v, both));
        if constexpr (!is_same_v<T, float>) {
            put(m, atomic_fetch_min_explicit(p, v, both)), put(m, atomic_fetch_max_explicit(p, v, both));
            put(m, atomic_fetch_and_explicit(p, v, both)), put(m, atomic_fetch_or_explicit(p, v, both));
            put(m, atomic_fetch_xor_explicit(p, v, both));
        }
        if constexpr (is_same_v<T, ulong>) atomic_min_explicit(p, v, both), atomic_max_explicit(p, v, both);
    }
}
template <typename T> void atomics_of(Memory m, GROUP char *g)
{
#define ORDERS(P)                                                                                            \
    access_atomic<decltype(P), T>(m, P, memory_order_relaxed, memory_order_relaxed, memory_order_relaxed);   \
    access_atomic<decltype(P), T>(m, P, memory_order_acquire, memory_order_release, memory_order_acq_rel);   \
    access_atomic<decltype(P), T>(m, P, memory_order_seq_cst, memory_order_seq_cst, memory_order_seq_cst);   \
    access_atomic<decltype(P), T>(m, P, memory_order_acquire, memory_order_release, memory_order_acquire);   \
    access_atomic<decltype(P), T>(m, P, memory_order_acquire, memory_order_release, memory_order_release);
    ORDERS((DEVICE atomic<T> *)m)
    ORDERS((GROUP atomic<T> *)g)
    ORDERS((volatile atomic<T> *)(DEVICE atomic<T> *)m)
}
KERNEL void atomics(Memory m, GROUP char *g)
{
    atomics_of<int>(m, g), atomics_of<uint>(m, g), atomics_of<float>(m, g), atomics_of<bool>(m, g);
    atomics_of<long>(m, g), atomics_of<ulong>(m, g);
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup),
        simdgroup_barrier(mem_flags::mem_none);
    threadgroup_barrier(mem_flags::mem_device, thread_scope_device),
        simdgroup_barrier(mem_flags::mem_device, thread_scope_simdgroup);
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
}

/* ---- The rest ---- */
KERNEL void others(Memory m)
{
    array<float4, 4> a = get<array<float4, 4>>(m);
    a[get<uint>(m)] = float4(1);
    put(m, a), put(m, a.size());
    uniform<int> u = make_uniform(get<int>(m));
    put(m, int(u * u + make_uniform(2)));
    put(m, as_type<float2>(get<ulong>(m))), put(m, as_type<bfloat>(get<ushort>(m))),
        put(m, as_type<uchar4>(get<float>(m)));
    os_log_default.log("%d %f %s %p", get<int>(m), get<half>(m), "text", (void *)m);
    os_log_default.log_error("%u %lu %f", get<uint>(m), get<ulong>(m), get<bfloat>(m));
    __tombac_assert_fail("condition", "file", 1);
    float4 v = get<float4>(m);
    v.template swzl<3, 0>() = v.template swz<1, 2>();
    v.template swzl<0, 1, 2>() *= 2.0f;
    put(m, v);
    float *generic = &v.x;
    put(m, is_thread_addrspace(generic)), put(m, is_device_addrspace(generic)), put(m, is_threadgroup_addrspace(generic));
    put(m, addrspace_cast<float *>(generic) == nullptr), put(m, addrspace_cast<Memory>((char *)generic) == nullptr);
}
#define PRIVATE1(X)                                                                                          \
    X(acos)                                                                                                  \
    X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(ceil) X(cos) X(cosh) X(cospi) X(exp) X(exp2) X(exp10)       \
        X(fabs) X(floor) X(fract) X(log) X(log2) X(log10) X(rint) X(round) X(rsqrt) X(sin) X(sinh) X(sinpi)  \
            X(sqrt) X(tan) X(tanh) X(tanpi) X(trunc)
#define OF_PRIVATE1(N) put(m, __metal_##N(x, 0)), put(m, __metal_##N(x, 1)), put(m, __metal_##N(x, 2));
KERNEL void private_functions(Memory m)
{
    float x = get<float>(m);
    int k;
    PRIVATE1(OF_PRIVATE1)
    put(m, __metal_atan2(x, x, 2)), put(m, __metal_divide(x, x, 2)), put(m, __metal_fmod(x, x, 2));
    put(m, __metal_pow(x, x, 2)), put(m, __metal_powr(x, x, 2)), put(m, __metal_nextafter(x, x));
    put(m, __metal_ldexp(x, 3, 2)), put(m, __metal_frexp(x, &k)), put(m, k), put(m, __metal_fma(x, x, x));
    put(m, __metal_fmin(x, x, 2)), put(m, __metal_fmax(x, x, 2)), put(m, __metal_fmin3(x, x, x, 2));
    put(m, __metal_fmax3(x, x, x, 2)), put(m, __metal_fmedian3(x, x, x, 2));
    put(m, __metal_simd_sum(x)), put(m, __metal_simd_shuffle_up(ushort(1), ushort(2)));
    put(m, __metal_simd_xor(get<uint>(m))), put(m, __metal_simd_xor(x)),
        put(m, __metal_get_simdgroup_size(ushort()));
    put(m, __metal_simd_shuffle_and_fill_down(get<uint>(m), 0u, ushort(1),
                                              __metal_get_simdgroup_size(ushort())));
    put(m, __metal_get_thread_index_in_simdgroup(ushort())), put(m, __metal_simd_broadcast(x, ushort(3)));
}
