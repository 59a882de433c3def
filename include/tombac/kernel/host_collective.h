/* The names of what threads do together, on the host: macros, because C has no overloads. Each use is a place
 * of its own in the text (host_threads.h), and evaluates its arguments once. */
#ifndef TOMBAC_KERNEL_HOST_COLLECTIVE_H
#define TOMBAC_KERNEL_HOST_COLLECTIVE_H

/* The kind of a value's elements and how many there are, as kind * 8 + number. */
#define TOMBAC_HOST_KIND(x)                                                                                  \
    _Generic((x),                                                                                            \
        signed char: 1,                                                                                      \
        char: 1,                                                                                             \
        char2: 2,                                                                                            \
        char3: 3,                                                                                            \
        char4: 4,                                                                                            \
        uchar: 9,                                                                                            \
        uchar2: 10,                                                                                          \
        uchar3: 11,                                                                                          \
        uchar4: 12,                                                                                          \
        short: 17,                                                                                           \
        short2: 18,                                                                                          \
        short3: 19,                                                                                          \
        short4: 20,                                                                                          \
        ushort: 25,                                                                                          \
        ushort2: 26,                                                                                         \
        ushort3: 27,                                                                                         \
        ushort4: 28,                                                                                         \
        int: 33,                                                                                             \
        int2: 34,                                                                                            \
        int3: 35,                                                                                            \
        int4: 36,                                                                                            \
        uint: 41,                                                                                            \
        uint2: 42,                                                                                           \
        uint3: 43,                                                                                           \
        uint4: 44,                                                                                           \
        long: 49,                                                                                            \
        long2: 50,                                                                                           \
        long3: 51,                                                                                           \
        long4: 52,                                                                                           \
        ulong: 57,                                                                                           \
        ulong2: 58,                                                                                          \
        ulong3: 59,                                                                                          \
        ulong4: 60,                                                                                          \
        half: 65,                                                                                            \
        half2: 66,                                                                                           \
        half3: 67,                                                                                           \
        half4: 68,                                                                                           \
        float: 73,                                                                                           \
        float2: 74,                                                                                          \
        float3: 75,                                                                                          \
        float4: 76)

#define TOMBAC_HOST_SITE(NAME, N)                                                                            \
    static const tombac_host_site tombac_site##N = {__FILE__, __func__, NAME, __LINE__, N}
#define TOMBAC_HOST_CALLER __builtin_return_address(0)

/* ---- Barriers and fences ---- */
enum { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4 };
enum {
    thread_scope_thread = 0,
    thread_scope_threadgroup = 1,
    thread_scope_device = 2,
    thread_scope_simdgroup = 4
};
#define threadgroup_barrier(flags)                                                                           \
    TOMBAC_HOST_WAIT("threadgroup_barrier", flags, TOMBAC_HOST_BARRIER, __COUNTER__)
#define simdgroup_barrier(flags) TOMBAC_HOST_WAIT("simdgroup_barrier", flags, TOMBAC_HOST_MEETS, __COUNTER__)
#define TOMBAC_HOST_WAIT(NAME, flags, STATE, N) TOMBAC_HOST_WAIT_(NAME, flags, STATE, N)
#define TOMBAC_HOST_WAIT_(NAME, flags, STATE, N)                                                             \
    __extension__({                                                                                          \
        TOMBAC_HOST_SITE(NAME, N);                                                                           \
        tombac_host_operation tombac_o##N = {.code = TOMBAC_HOST_SIMDGROUP_BARRIER, .amount = (flags)};      \
        (void)tombac_host_wait(&tombac_site##N, TOMBAC_HOST_CALLER, STATE, &tombac_o##N);                    \
    })
#define memory_fence(flags, order, scope) ((void)(flags), (void)(scope), atomic_thread_fence(order))

/* ---- Values in, a value of the same type out ---- */
#define TOMBAC_HOST_VALUE(CODE, WIDTH, NAME, x, f, n, m, N)                                                  \
    TOMBAC_HOST_VALUE_(CODE, WIDTH, NAME, x, f, n, m, N)
#define TOMBAC_HOST_VALUE_(CODE, WIDTH, NAME, x, f, n, m, N)                                                 \
    __extension__({                                                                                          \
        TOMBAC_HOST_SITE(NAME, N);                                                                           \
        __auto_type tombac_x##N = (x);                                                                       \
        __typeof__(tombac_x##N) tombac_f##N = (f);                                                           \
        tombac_host_operation tombac_o##N = {.code = CODE,                                                   \
            .width = WIDTH,                                                                                  \
            .kind = TOMBAC_HOST_KIND(tombac_x##N) / 8,                                                       \
            .count = TOMBAC_HOST_KIND(tombac_x##N) % 8,                                                      \
            .amount = (ushort)(n),                                                                           \
            .modulo = (ushort)(m)};                                                                          \
        memcpy(tombac_o##N.value, &tombac_x##N, sizeof tombac_x##N);                                         \
        memcpy(tombac_o##N.filling, &tombac_f##N, sizeof tombac_f##N);                                       \
        memcpy(&tombac_x##N,                                                                                 \
            tombac_host_wait(&tombac_site##N, TOMBAC_HOST_CALLER, TOMBAC_HOST_MEETS, &tombac_o##N)->value,   \
            sizeof tombac_x##N);                                                                             \
        tombac_x##N;                                                                                         \
    })
#define TOMBAC_HOST_ONE(CODE, WIDTH, NAME, x)                                                                \
    TOMBAC_HOST_VALUE(TOMBAC_HOST_##CODE, WIDTH, NAME, x, tombac_x_none(x), 0, 0, __COUNTER__)
#define TOMBAC_HOST_TWO(CODE, WIDTH, NAME, x, n)                                                             \
    TOMBAC_HOST_VALUE(TOMBAC_HOST_##CODE, WIDTH, NAME, x, tombac_x_none(x), n, 0, __COUNTER__)
#define TOMBAC_HOST_FOUR(CODE, WIDTH, NAME, x, f, n, m)                                                      \
    TOMBAC_HOST_VALUE(TOMBAC_HOST_##CODE, WIDTH, NAME, x, f, n, m, __COUNTER__)
#define tombac_x_none(x) (__typeof__(x)){0}

/* ---- Votes ---- */
#define TOMBAC_HOST_VOTE(CODE, WIDTH, NAME, x)                                                               \
    TOMBAC_HOST_VOTE_(TOMBAC_HOST_##CODE, WIDTH, NAME, x, __COUNTER__)
#define TOMBAC_HOST_VOTE_(CODE, WIDTH, NAME, x, N) TOMBAC_HOST_VOTE__(CODE, WIDTH, NAME, x, N)
#define TOMBAC_HOST_VOTE__(CODE, WIDTH, NAME, x, N)                                                          \
    __extension__({                                                                                          \
        TOMBAC_HOST_SITE(NAME, N);                                                                           \
        tombac_host_operation tombac_o##N = {.code = CODE, .width = WIDTH, .value = {(x) ? 1 : 0}};          \
        ulong tombac_a##N;                                                                                   \
        memcpy(&tombac_a##N,                                                                                 \
            tombac_host_wait(&tombac_site##N, TOMBAC_HOST_CALLER, TOMBAC_HOST_MEETS, &tombac_o##N)->value,   \
            sizeof tombac_a##N);                                                                             \
        tombac_a##N;                                                                                         \
    })

/* ---- Names ---- */
#define simd_sum(...) TOMBAC_HOST_ONE(SUM, 32, "simd_sum", (__VA_ARGS__))
#define simd_product(...) TOMBAC_HOST_ONE(PRODUCT, 32, "simd_product", (__VA_ARGS__))
#define simd_min(...) TOMBAC_HOST_ONE(MIN, 32, "simd_min", (__VA_ARGS__))
#define simd_max(...) TOMBAC_HOST_ONE(MAX, 32, "simd_max", (__VA_ARGS__))
#define simd_and(...) TOMBAC_HOST_ONE(AND, 32, "simd_and", (__VA_ARGS__))
#define simd_or(...) TOMBAC_HOST_ONE(OR, 32, "simd_or", (__VA_ARGS__))
#define simd_xor(...) TOMBAC_HOST_ONE(XOR, 32, "simd_xor", (__VA_ARGS__))
#define simd_prefix_inclusive_sum(...)                                                                       \
    TOMBAC_HOST_ONE(PREFIX_INCLUSIVE_SUM, 32, "simd_prefix_inclusive_sum", (__VA_ARGS__))
#define simd_prefix_inclusive_product(...)                                                                   \
    TOMBAC_HOST_ONE(PREFIX_INCLUSIVE_PRODUCT, 32, "simd_prefix_inclusive_product", (__VA_ARGS__))
#define simd_prefix_exclusive_sum(...)                                                                       \
    TOMBAC_HOST_ONE(PREFIX_EXCLUSIVE_SUM, 32, "simd_prefix_exclusive_sum", (__VA_ARGS__))
#define simd_prefix_exclusive_product(...)                                                                   \
    TOMBAC_HOST_ONE(PREFIX_EXCLUSIVE_PRODUCT, 32, "simd_prefix_exclusive_product", (__VA_ARGS__))
#define simd_broadcast_first(...) TOMBAC_HOST_ONE(FIRST, 32, "simd_broadcast_first", (__VA_ARGS__))
#define simd_broadcast(x, lane) TOMBAC_HOST_TWO(SHUFFLE, 32, "simd_broadcast", x, lane)
#define simd_shuffle(x, n) TOMBAC_HOST_TWO(SHUFFLE, 32, "simd_shuffle", x, n)
#define simd_shuffle_up(x, n) TOMBAC_HOST_TWO(SHUFFLE_UP, 32, "simd_shuffle_up", x, n)
#define simd_shuffle_down(x, n) TOMBAC_HOST_TWO(SHUFFLE_DOWN, 32, "simd_shuffle_down", x, n)
#define simd_shuffle_xor(x, n) TOMBAC_HOST_TWO(SHUFFLE_XOR, 32, "simd_shuffle_xor", x, n)
#define simd_shuffle_rotate_up(x, n) TOMBAC_HOST_TWO(SHUFFLE_ROTATE_UP, 32, "simd_shuffle_rotate_up", x, n)
#define simd_shuffle_rotate_down(x, n)                                                                       \
    TOMBAC_HOST_TWO(SHUFFLE_ROTATE_DOWN, 32, "simd_shuffle_rotate_down", x, n)
#define simd_shuffle_and_fill_up(x, f, n, m)                                                                 \
    TOMBAC_HOST_FOUR(FILL_UP, 32, "simd_shuffle_and_fill_up", x, f, n, m)
#define simd_shuffle_and_fill_down(x, f, n, m)                                                               \
    TOMBAC_HOST_FOUR(FILL_DOWN, 32, "simd_shuffle_and_fill_down", x, f, n, m)
#define simd_ballot(x) TOMBAC_HOST_VOTE(BALLOT, 32, "simd_ballot", x)
#define simd_active_threads_mask() TOMBAC_HOST_VOTE(ACTIVE, 32, "simd_active_threads_mask", true)
#define simd_all(x) ((bool)TOMBAC_HOST_VOTE(ALL, 32, "simd_all", x))
#define simd_any(x) ((bool)TOMBAC_HOST_VOTE(ANY, 32, "simd_any", x))
#define simd_is_first() ((bool)TOMBAC_HOST_VOTE(IS_FIRST, 32, "simd_is_first", true))
#define quad_sum(...) TOMBAC_HOST_ONE(SUM, 4, "quad_sum", (__VA_ARGS__))
#define quad_product(...) TOMBAC_HOST_ONE(PRODUCT, 4, "quad_product", (__VA_ARGS__))
#define quad_min(...) TOMBAC_HOST_ONE(MIN, 4, "quad_min", (__VA_ARGS__))
#define quad_max(...) TOMBAC_HOST_ONE(MAX, 4, "quad_max", (__VA_ARGS__))
#define quad_and(...) TOMBAC_HOST_ONE(AND, 4, "quad_and", (__VA_ARGS__))
#define quad_or(...) TOMBAC_HOST_ONE(OR, 4, "quad_or", (__VA_ARGS__))
#define quad_xor(...) TOMBAC_HOST_ONE(XOR, 4, "quad_xor", (__VA_ARGS__))
#define quad_prefix_inclusive_sum(...)                                                                       \
    TOMBAC_HOST_ONE(PREFIX_INCLUSIVE_SUM, 4, "quad_prefix_inclusive_sum", (__VA_ARGS__))
#define quad_prefix_inclusive_product(...)                                                                   \
    TOMBAC_HOST_ONE(PREFIX_INCLUSIVE_PRODUCT, 4, "quad_prefix_inclusive_product", (__VA_ARGS__))
#define quad_prefix_exclusive_sum(...)                                                                       \
    TOMBAC_HOST_ONE(PREFIX_EXCLUSIVE_SUM, 4, "quad_prefix_exclusive_sum", (__VA_ARGS__))
#define quad_prefix_exclusive_product(...)                                                                   \
    TOMBAC_HOST_ONE(PREFIX_EXCLUSIVE_PRODUCT, 4, "quad_prefix_exclusive_product", (__VA_ARGS__))
#define quad_broadcast_first(...) TOMBAC_HOST_ONE(FIRST, 4, "quad_broadcast_first", (__VA_ARGS__))
#define quad_broadcast(x, lane) TOMBAC_HOST_TWO(SHUFFLE, 4, "quad_broadcast", x, lane)
#define quad_shuffle(x, n) TOMBAC_HOST_TWO(SHUFFLE, 4, "quad_shuffle", x, n)
#define quad_shuffle_up(x, n) TOMBAC_HOST_TWO(SHUFFLE_UP, 4, "quad_shuffle_up", x, n)
#define quad_shuffle_down(x, n) TOMBAC_HOST_TWO(SHUFFLE_DOWN, 4, "quad_shuffle_down", x, n)
#define quad_shuffle_xor(x, n) TOMBAC_HOST_TWO(SHUFFLE_XOR, 4, "quad_shuffle_xor", x, n)
#define quad_shuffle_rotate_up(x, n) TOMBAC_HOST_TWO(SHUFFLE_ROTATE_UP, 4, "quad_shuffle_rotate_up", x, n)
#define quad_shuffle_rotate_down(x, n)                                                                       \
    TOMBAC_HOST_TWO(SHUFFLE_ROTATE_DOWN, 4, "quad_shuffle_rotate_down", x, n)
#define quad_shuffle_and_fill_up(x, f, n, m)                                                                 \
    TOMBAC_HOST_FOUR(FILL_UP, 4, "quad_shuffle_and_fill_up", x, f, n, m)
#define quad_shuffle_and_fill_down(x, f, n, m)                                                               \
    TOMBAC_HOST_FOUR(FILL_DOWN, 4, "quad_shuffle_and_fill_down", x, f, n, m)
#define quad_ballot(x) TOMBAC_HOST_VOTE(BALLOT, 4, "quad_ballot", x)
#define quad_active_threads_mask() TOMBAC_HOST_VOTE(ACTIVE, 4, "quad_active_threads_mask", true)
#define quad_all(x) ((bool)TOMBAC_HOST_VOTE(ALL, 4, "quad_all", x))
#define quad_any(x) ((bool)TOMBAC_HOST_VOTE(ANY, 4, "quad_any", x))
#define quad_is_first() ((bool)TOMBAC_HOST_VOTE(IS_FIRST, 4, "quad_is_first", true))

/* ---- Matrices, in the devices' layout: two elements of a row in each lane ---- */
#define TOMBAC_HOST_MATRIX_OF(T)                                                                             \
    typedef struct simdgroup_##T##8x8                                                                        \
    {                                                                                                        \
        T##2 elements;                                                                                       \
    }                                                                                                        \
    simdgroup_##T##8x8;                                                                                      \
    TOMBAC_HOST_FN void tombac_host_load_##T(                                                                \
        simdgroup_##T##8x8 * m, const T *p, ulong stride, bool transpose)                                    \
    {                                                                                                        \
        ulong lane = thread_index_in_simdgroup(), row = tombac_host_row((uint)lane),                         \
              column = tombac_host_column((uint)lane);                                                       \
        m->elements.x = p[transpose ? column * stride + row : row * stride + column];                        \
        m->elements.y = p[transpose ? (column + 1) * stride + row : row * stride + column + 1];              \
    }                                                                                                        \
    TOMBAC_HOST_FN void tombac_host_store_##T(simdgroup_##T##8x8 m, T *p, ulong stride, bool transpose)      \
    {                                                                                                        \
        ulong lane = thread_index_in_simdgroup(), row = tombac_host_row((uint)lane),                         \
              column = tombac_host_column((uint)lane);                                                       \
        p[transpose ? column * stride + row : row * stride + column] = m.elements.x;                         \
        p[transpose ? (column + 1) * stride + row : row * stride + column + 1] = m.elements.y;               \
    }                                                                                                        \
    TOMBAC_HOST_FN simdgroup_##T##8x8 simdgroup_filled_##T##8x8(T value)                                     \
    {                                                                                                        \
        return (simdgroup_##T##8x8){{value, value}};                                                         \
    }                                                                                                        \
    TOMBAC_HOST_FN simdgroup_##T##8x8 simdgroup_diagonal_##T##8x8(T value)                                   \
    {                                                                                                        \
        uint lane = thread_index_in_simdgroup(), row = tombac_host_row(lane),                                \
             column = tombac_host_column(lane);                                                              \
        return (simdgroup_##T##8x8){{row == column ? value : (T)0, row == column + 1 ? value : (T)0}};       \
    }
TOMBAC_HOST_MATRIX_OF(float)
TOMBAC_HOST_MATRIX_OF(half)
#undef TOMBAC_HOST_MATRIX_OF

#define simdgroup_load(m, ...) TOMBAC_HOST_STRIDED(TOMBAC_HOST_LOAD, m, __VA_ARGS__, false, 0)
#define simdgroup_store(m, ...) TOMBAC_HOST_STRIDED(TOMBAC_HOST_STORE, m, __VA_ARGS__, false, 0)
#define TOMBAC_HOST_STRIDED(TO, m, p, stride, transpose, ...) TO(m, p, stride, transpose)
#define TOMBAC_HOST_LOAD(m, p, stride, transpose)                                                            \
    _Generic((m), simdgroup_float8x8 *: tombac_host_load_float, simdgroup_half8x8 *: tombac_host_load_half)( \
        m, p, stride, transpose)
#define TOMBAC_HOST_STORE(m, p, stride, transpose)                                                           \
    _Generic((m), simdgroup_float8x8: tombac_host_store_float, simdgroup_half8x8: tombac_host_store_half)(   \
        m, p, stride, transpose)

/* *d = a x b + c, and *d = a x b: computed in float, rounded once. */
#define simdgroup_multiply_accumulate(d, a, b, c)                                                            \
    TOMBAC_HOST_MULTIPLY(                                                                                    \
        "simdgroup_multiply_accumulate", d, a, b, (c).elements.x, (c).elements.y, __COUNTER__)
#define simdgroup_multiply(d, a, b) TOMBAC_HOST_MULTIPLY("simdgroup_multiply", d, a, b, 0, 0, __COUNTER__)
#define TOMBAC_HOST_MULTIPLY(NAME, d, a, b, c0, c1, N) TOMBAC_HOST_MULTIPLY_(NAME, d, a, b, c0, c1, N)
#define TOMBAC_HOST_MULTIPLY_(NAME, d, a, b, c0, c1, N)                                                      \
    __extension__({                                                                                          \
        TOMBAC_HOST_SITE(NAME, N);                                                                           \
        __auto_type tombac_a##N = (a).elements;                                                              \
        __auto_type tombac_b##N = (b).elements;                                                              \
        __auto_type tombac_d##N = (d);                                                                       \
        float tombac_v##N[6] = {(float)tombac_a##N.x, (float)tombac_a##N.y, (float)tombac_b##N.x,            \
            (float)tombac_b##N.y, (float)(c0), (float)(c1)};                                                 \
        tombac_host_operation tombac_o##N = {.code = TOMBAC_HOST_MATRIX, .width = 32};                       \
        memcpy(tombac_o##N.value, tombac_v##N, sizeof tombac_v##N);                                          \
        memcpy(tombac_v##N,                                                                                  \
            tombac_host_wait(&tombac_site##N, TOMBAC_HOST_CALLER, TOMBAC_HOST_MEETS, &tombac_o##N)->value,   \
            2 * sizeof(float));                                                                              \
        tombac_d##N->elements.x = (__typeof__(tombac_d##N->elements.x))tombac_v##N[0];                       \
        tombac_d##N->elements.y = (__typeof__(tombac_d##N->elements.y))tombac_v##N[1];                       \
    })
#endif
