/* The functions of a SIMD-group or quad-group; included in namespace metal with __TB_P(NAME) giving simd_NAME
 * or quad_NAME and
 * __TB_SIZE the number of lanes. */

/* ---- Reductions and scans: every arithmetic type ---- */
#define __TB_REDUCE_ONE(T, NAME)                                                                             \
    __TB_FN T __TB_P(NAME)(T data) { return __tombac::__TB_P(NAME)(data); }
#define __TB_REDUCE(NAME)                                                                                    \
    __TB_REDUCE_ONE(char, NAME)                                                                              \
    __TB_REDUCE_ONE(uchar, NAME)                                                                             \
    __TB_REDUCE_ONE(short, NAME) __TB_REDUCE_ONE(ushort, NAME) __TB_REDUCE_ONE(int, NAME)                    \
        __TB_REDUCE_ONE(uint, NAME) __TB_REDUCE_ONE(long, NAME) __TB_REDUCE_ONE(ulong, NAME)                 \
            __TB_REDUCE_ONE(half, NAME)                                                                      \
                __TB_REDUCE_ONE(float, NAME) template <typename A, typename V = __vector_t<A>>               \
                __TB_FN V __TB_P(NAME)(A a)                                                                  \
    {                                                                                                        \
        V x(a);                                                                                              \
        __TB_MAP1(V, __TB_P(NAME));                                                                          \
    }
__TB_REDUCTIONS(__TB_REDUCE)
#undef __TB_REDUCE
#undef __TB_REDUCE_ONE

/* ---- Bitwise reductions: integers ---- */
#define __TB_BITWISE_ONE(T, U, NAME)                                                                         \
    __TB_FN T __TB_P(NAME)(T data) { return T(__tombac::__TB_P(NAME)(U(data))); }
#define __TB_BITWISE_ALL(NAME)                                                                               \
    __TB_BITWISE_ONE(char, uchar, NAME)                                                                      \
    __TB_BITWISE_ONE(uchar, uchar, NAME)                                                                     \
    __TB_BITWISE_ONE(short, ushort, NAME) __TB_BITWISE_ONE(ushort, ushort, NAME)                             \
        __TB_BITWISE_ONE(int, uint, NAME) __TB_BITWISE_ONE(uint, uint, NAME)                                 \
            __TB_BITWISE_ONE(long, ulong, NAME) __TB_BITWISE_ONE(                                            \
                ulong, ulong, NAME) template <typename A, typename V = __integer_vector_t<__vector_t<A>>>    \
            __TB_FN V __TB_P(NAME)(A a)                                                                      \
    {                                                                                                        \
        V x(a);                                                                                              \
        __TB_MAP1(V, __TB_P(NAME));                                                                          \
    }
__TB_BITWISE(__TB_BITWISE_ALL)
#undef __TB_BITWISE_ALL
#undef __TB_BITWISE_ONE

/* ---- Moving data: types of up to 32 bits, as in Metal (64-bit and bool forms are users' own) ---- */
#define __TB_FOR_MOVED(X)                                                                                    \
    X(char, uchar)                                                                                           \
    X(uchar, uchar)                                                                                          \
    X(short, ushort) X(ushort, ushort) X(int, uint) X(uint, uint) X(half, ushort) X(float, uint)
#define __TB_BITS(T, U, VALUE) __builtin_bit_cast(U, VALUE)
#define __TB_MOVE(NAME)                                                                                      \
    __TB_FOR_MOVED(__TB_MOVE_##NAME)                                                                         \
    template <typename A, typename V = __vector_t<A>> __TB_FN V __TB_P(NAME)(A a, ushort lane)               \
    {                                                                                                        \
        V x(a);                                                                                              \
        if constexpr (V::__size == 2)                                                                        \
            return V(__TB_P(NAME)(x.x, lane), __TB_P(NAME)(x.y, lane));                                      \
        else if constexpr (V::__size == 3)                                                                   \
            return V(__TB_P(NAME)(x.x, lane), __TB_P(NAME)(x.y, lane), __TB_P(NAME)(x.z, lane));             \
        else                                                                                                 \
            return V(__TB_P(NAME)(x.x, lane), __TB_P(NAME)(x.y, lane), __TB_P(NAME)(x.z, lane),              \
                     __TB_P(NAME)(x.w, lane));                                                               \
    }
#define __TB_MOVE_ONE(T, U, NAME)                                                                            \
    __TB_FN T __TB_P(NAME)(T data, ushort lane)                                                              \
    {                                                                                                        \
        return __builtin_bit_cast(T, __tombac::__TB_P(NAME)(__builtin_bit_cast(U, data), lane));             \
    }
#define __TB_MOVE_broadcast(T, U) __TB_MOVE_ONE(T, U, broadcast)
#define __TB_MOVE_shuffle(T, U) __TB_MOVE_ONE(T, U, shuffle)
#define __TB_MOVE_shuffle_up(T, U) __TB_MOVE_ONE(T, U, shuffle_up)
#define __TB_MOVE_shuffle_down(T, U) __TB_MOVE_ONE(T, U, shuffle_down)
#define __TB_MOVE_shuffle_xor(T, U) __TB_MOVE_ONE(T, U, shuffle_xor)
#define __TB_MOVE_shuffle_rotate_up(T, U) __TB_MOVE_ONE(T, U, shuffle_rotate_up)
#define __TB_MOVE_shuffle_rotate_down(T, U) __TB_MOVE_ONE(T, U, shuffle_rotate_down)
__TB_SHUFFLES(__TB_MOVE)
#undef __TB_MOVE_broadcast
#undef __TB_MOVE_shuffle
#undef __TB_MOVE_shuffle_up
#undef __TB_MOVE_shuffle_down
#undef __TB_MOVE_shuffle_xor
#undef __TB_MOVE_shuffle_rotate_up
#undef __TB_MOVE_shuffle_rotate_down
#undef __TB_MOVE_ONE
#undef __TB_MOVE

#define __TB_FIRST(T, U)                                                                                     \
    __TB_FN T __TB_P(broadcast_first)(T data)                                                                \
    {                                                                                                        \
        return __builtin_bit_cast(T, __tombac::__TB_P(broadcast_first)(__builtin_bit_cast(U, data)));        \
    }
__TB_FOR_MOVED(__TB_FIRST)
#undef __TB_FIRST
template <typename A, typename V = __vector_t<A>> __TB_FN V __TB_P(broadcast_first)(A a)
{
    V x(a);
    __TB_MAP1(V, __TB_P(broadcast_first));
}

#define __TB_FILL_ONE(T, U, NAME)                                                                            \
    __TB_FN T __TB_P(NAME)(T data, T filling, ushort delta, ushort modulo = __TB_SIZE)                       \
    {                                                                                                        \
        return __builtin_bit_cast(T, __tombac::__TB_P(NAME)(__builtin_bit_cast(U, data),                     \
                                                            __builtin_bit_cast(U, filling), delta, modulo)); \
    }
#define __TB_FILL(NAME)                                                                                      \
    __TB_FOR_MOVED(__TB_FILL_##NAME)                                                                         \
    template <typename A, typename B, typename V = __vector_t<A, B>>                                         \
    __TB_FN V __TB_P(NAME)(A a, B b, ushort delta, ushort modulo = __TB_SIZE)                                \
    {                                                                                                        \
        V x(a), y(b), result;                                                                                \
        result.x = __TB_P(NAME)(x.x, y.x, delta, modulo);                                                    \
        result.y = __TB_P(NAME)(x.y, y.y, delta, modulo);                                                    \
        if constexpr (V::__size > 2) result.z = __TB_P(NAME)(x.z, y.z, delta, modulo);                       \
        if constexpr (V::__size > 3) result.w = __TB_P(NAME)(x.w, y.w, delta, modulo);                       \
        return result;                                                                                       \
    }
#define __TB_FILL_shuffle_and_fill_up(T, U) __TB_FILL_ONE(T, U, shuffle_and_fill_up)
#define __TB_FILL_shuffle_and_fill_down(T, U) __TB_FILL_ONE(T, U, shuffle_and_fill_down)
__TB_FILL(shuffle_and_fill_up)
__TB_FILL(shuffle_and_fill_down)
#undef __TB_FILL_shuffle_and_fill_up
#undef __TB_FILL_shuffle_and_fill_down
#undef __TB_FILL
#undef __TB_FILL_ONE
#undef __TB_FOR_MOVED
#undef __TB_BITS

/* ---- Votes: one bit per lane ---- */
struct __TB_P(vote) {
    typedef ulong vote_t;
    vote_t __bits;
    __TB_P(vote)() = default;
    __TB_CONST_FN explicit __TB_P(vote)(vote_t bits) : __bits(bits) {}
    __TB_CONST_FN explicit operator vote_t() const { return __bits; }
    __TB_CONST_FN bool all() const { return (__bits & __all_lanes) == __all_lanes; }
    __TB_CONST_FN bool any() const { return (__bits & __all_lanes) != 0; }
    static constexpr vote_t __all_lanes = (vote_t(1) << __TB_SIZE) - 1;
};
__TB_FN __TB_P(vote) __TB_P(ballot)(bool condition)
{
    return __TB_P(vote)(__tombac::__TB_P(ballot)(condition));
}
__TB_FN __TB_P(vote) __TB_P(active_threads_mask)()
{
    return __TB_P(vote)(__tombac::__TB_P(active_threads_mask)());
}
__TB_FN bool __TB_P(all)(bool condition) { return __tombac::__TB_P(all)(condition); }
__TB_FN bool __TB_P(any)(bool condition) { return __tombac::__TB_P(any)(condition); }
__TB_FN bool __TB_P(is_first)() { return __tombac::__TB_P(is_first)(); }
/* Helper threads exist in fragment functions only. */
__TB_CONST_FN bool __TB_P(is_helper_thread)() { return false; }
