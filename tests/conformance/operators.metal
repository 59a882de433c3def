/* How operators on tensors are written for machine-learning frameworks: functors with overloads that types choose, registered for each type
 * by macros; complex numbers as vectors; flags and pairs of scalars as small vectors in constant memory; strided elements; errors
 * reported through a buffer. */
#include <metal_stdlib>
using namespace metal;

template <typename T>
constant constexpr bool is_complex = is_same_v<T, float2> || is_same_v<T, half2>;
template <typename T>
constant constexpr bool is_real = is_same_v<T, float> || is_same_v<T, half> || is_same_v<T, bfloat>;

template <typename T> struct op_math { using type = T; };
template <> struct op_math<half> { using type = float; };
template <> struct op_math<bfloat> { using type = float; };
template <> struct op_math<half2> { using type = float2; };
template <typename T> using op_math_t = typename op_math<T>::type;

/* x * x + 1: in T, of integers in float, of complex numbers by their rule. */
struct square_plus_one {
    template <typename T, enable_if_t<is_real<T>, bool> = true> T operator()(T x) { return T(op_math_t<T>(x) * x + 1); }
    template <typename T, enable_if_t<is_integral_v<T>, bool> = true> float operator()(T x) { return float(x) * float(x) + 1; }
    template <typename T, enable_if_t<is_complex<T>, bool> = true> T operator()(T x)
    {
        op_math_t<T> v = op_math_t<T>(x);
        return T(v.x * v.x - v.y * v.y + 1, 2 * v.x * v.y);
    }
};

struct largest {
    template <typename T> T operator()(const T a, const T b) { return a > b ? a : b; }
};
struct scaled_sum {
    template <typename T> T operator()(const T a, const T b, const T alpha) { return T(op_math_t<T>(a) + op_math_t<T>(alpha) * op_math_t<T>(b)); }
};

template <typename OUT, typename IN, typename F>
[[kernel]] void unary_dense(device OUT *out [[buffer(0)]], constant IN *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    F f;
    out[i] = f(in[i]);
}

/* An element's place in a tensor of up to 16 dimensions, in bytes. */
template <typename T> T at(constant void *data, long offset) { return *reinterpret_cast<constant T *>(static_cast<constant char *>(data) + offset); }
template <typename OUT, typename IN, typename F>
[[kernel]] void unary_strided(device void *out [[buffer(0)]], constant void *in [[buffer(1)]], constant long *sizes [[buffer(2)]],
    constant long *in_strides [[buffer(3)]], constant long *out_strides [[buffer(4)]], constant uint &dimensions [[buffer(5)]],
    uint i [[thread_position_in_grid]])
{
    long from = 0, to = 0, rest = i;
    for (uint d = 0; d < dimensions; d++) {
        long place = rest % sizes[d];
        rest /= sizes[d];
        from += place * in_strides[d];
        to += place * out_strides[d];
    }
    F f;
    *reinterpret_cast<device OUT *>(static_cast<device char *>(out) + to) = f(at<IN>(in, from));
}

template <typename T, typename F>
[[kernel]] void binary_dense(device T *out [[buffer(0)]], constant T *a [[buffer(1)]], constant T *b [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    F f;
    out[i] = f(a[i], b[i]);
}
template <typename T, typename F>
[[kernel]] void binary_alpha(device T *out [[buffer(0)]], constant T *a [[buffer(1)]], constant T *b [[buffer(2)]],
    constant T &alpha [[buffer(3)]], uint i [[thread_position_in_grid]])
{
    F f;
    out[i] = f(a[i], b[i], alpha);
}

#define REGISTER_UNARY(NAME, IN, OUT)                                                                        \
    static_assert(is_same_v<OUT, decltype(NAME{}(IN{}))>, "the output's type");                              \
    template [[host_name(#NAME "_dense_" #IN)]] kernel void unary_dense<OUT, IN, NAME>(                      \
        device OUT *, constant IN *, uint);                                                                  \
    template [[host_name(#NAME "_strided_" #IN)]] kernel void unary_strided<OUT, IN, NAME>(                  \
        device void *, constant void *, constant long *, constant long *, constant long *, constant uint &, uint)
#define REGISTER_BINARY(NAME, T)                                                                             \
    template [[host_name(#NAME "_dense_" #T)]] kernel void binary_dense<T, NAME>(                            \
        device T *, constant T *, constant T *, uint)
#define REGISTER_ALPHA(NAME, T)                                                                              \
    template [[host_name(#NAME "_alpha_" #T)]] kernel void binary_alpha<T, NAME>(                            \
        device T *, constant T *, constant T *, constant T &, uint)

REGISTER_UNARY(square_plus_one, float, float);
REGISTER_UNARY(square_plus_one, half, half);
REGISTER_UNARY(square_plus_one, bfloat, bfloat);
REGISTER_UNARY(square_plus_one, long, float);
REGISTER_UNARY(square_plus_one, int, float);
REGISTER_UNARY(square_plus_one, short, float);
REGISTER_UNARY(square_plus_one, uchar, float);
REGISTER_UNARY(square_plus_one, char, float);
REGISTER_UNARY(square_plus_one, float2, float2);
REGISTER_UNARY(square_plus_one, half2, half2);
REGISTER_BINARY(largest, float);
REGISTER_BINARY(largest, half);
REGISTER_BINARY(largest, bfloat);
REGISTER_BINARY(largest, long);
REGISTER_BINARY(largest, int);
REGISTER_BINARY(largest, short);
REGISTER_BINARY(largest, char);
REGISTER_BINARY(largest, uchar);
REGISTER_BINARY(largest, bool);
REGISTER_ALPHA(scaled_sum, float);
REGISTER_ALPHA(scaled_sum, half);
REGISTER_ALPHA(scaled_sum, bfloat);
REGISTER_ALPHA(scaled_sum, int);

/* Flags and sizes side by side in small vectors; in structures flags come last. */
struct options {
    long length;
    float scale;
    bool reverse, negate;
};
static_assert(sizeof(options) == 16 && sizeof(bool2) == 2 && sizeof(bool3) == 4 && sizeof(bool4) == 4, "as the host has them");

kernel void with_options(device float *out [[buffer(0)]], constant bool2 &flags [[buffer(1)]], constant bool3 &more [[buffer(2)]],
    constant long2 &sizes [[buffer(3)]], constant long3 &steps [[buffer(4)]], constant int2 &ends [[buffer(5)]],
    constant options &o [[buffer(6)]], uint i [[thread_position_in_grid]])
{
    float x = i * 2.0 + 1.0; // literals without a suffix are floats
    if (flags.x) x += sizes.x;
    if (flags.y) x += 1000;
    if (more.z) x += steps.z;
    if (more.x || more.y) x += 5000;
    if (any(int2(int(i)) == ends)) x += sizes.y;
    if (o.negate) x = -x;
    out[o.reverse ? o.length - 1 - i : i] = x * o.scale;
}

/* Messages in a buffer: a place is taken by an atomic addition, what does not fit is counted and dropped. */
constant constexpr uint MESSAGES = 4, TEXT = 40;
struct message {
    uint who;
    char text[TEXT];
};
struct messages {
    atomic_uint count;
    message list[MESSAGES];
};

inline device char *put(device char *at, constant char *text)
{
    while (*text) *at++ = *text++;
    return at;
}
inline device char *put(device char *at, long value)
{
    if (value < 0) *at++ = '-';
    ulong rest = value < 0 ? -ulong(value) : ulong(value), unit = 1;
    while (rest / unit >= 10) unit *= 10;
    for (; unit; unit /= 10) *at++ = char('0' + rest / unit % 10);
    return at;
}
template <typename... PARTS> void report(device messages *m, uint who, PARTS... parts)
{
    uint place = atomic_fetch_add_explicit(&m->count, 1u, memory_order_relaxed);
    if (place >= MESSAGES) return;
    m->list[place].who = who;
    device char *end = m->list[place].text;
    ((end = put(end, parts)), ...);
    *end = 0;
}

kernel void gather(device float *out [[buffer(0)]], constant float *values [[buffer(1)]], constant long *indices [[buffer(2)]],
    constant uint &length [[buffer(3)]], device messages *m [[buffer(4)]], uint i [[thread_position_in_grid]])
{
    long index = indices[i];
    if (index < -long(length) || index >= long(length)) {
        report(m, i, "index ", index, " of ", long(length));
        return;
    }
    out[i] = values[index < 0 ? index + length : index];
}
