/* vec<T, 8> and vec<T, 16>: elements by subscript, and arithmetic element by element. They have no names for
 * their elements, no swizzles, and the library's functions do not take them. */

template <typename T, int N> struct alignas(sizeof(T) * N) vec {
    static_assert(N == 8 || N == 16, "a vector has 2, 3, 4, 8 or 16 elements");
    typedef T value_type;
    typedef typename __element_arithmetic<T>::type __arithmetic;
    static constexpr int __size = N;
    typedef make_integer_sequence<int, N> __all;
    T __elements[N];

    vec() = default;
    __TB_CONST_FN vec(T value) : vec(value, __all()) {}
    template <typename U, enable_if_t<__spreads_v<U, T>, int> = 0>
    __TB_CONST_FN vec(U value) : vec(T(value), __all())
    {
    }
    template <typename... U, enable_if_t<sizeof...(U) + 2 == N, int> = 0>
    __TB_CONST_FN vec(T first, T second, U... more) : __elements{first, second, T(more)...}
    {
    }
    template <typename U> __TB_CONST_FN explicit vec(const vec<U, N> &other) : vec(other, __all()) {}

    __TB_CONST_FN T &operator[](int i) { return __elements[i]; }
    __TB_CONST_FN const T &operator[](int i) const { return __elements[i]; }

    template <int... I> __TB_CONST_FN vec(T value, integer_sequence<int, I...>) : __elements{(void(I), value)...}
    {
    }
    template <typename U, int... I>
    __TB_CONST_FN vec(const vec<U, N> &other, integer_sequence<int, I...>)
        : __elements{T(other.__elements[I])...}
    {
    }
    template <typename F, int... I> static __TB_CONST_FN vec __make(F each, integer_sequence<int, I...>)
    {
        vec made = vec(T(0));
        ((made.__elements[I] = T(each(I))), ...);
        return made;
    }
#define __TB_BINARY(OP, E)                                                                                   \
    friend __TB_CONST_FN vec operator OP(const vec &a, const vec &b)                                         \
    {                                                                                                        \
        return __make([&](int i) { return (E)a.__elements[i] OP(E) b.__elements[i]; }, __all());             \
    }                                                                                                        \
    friend __TB_CONST_FN vec &operator OP##=(vec &a, const vec &b) { return a = a OP b; }
    __TB_BINARY(+, __arithmetic)
    __TB_BINARY(-, __arithmetic)
    __TB_BINARY(*, __arithmetic)
    __TB_BINARY(/, T)
#undef __TB_BINARY
    friend __TB_CONST_FN vec operator-(const vec &a)
    {
        return __make([&](int i) { return -(__arithmetic)a.__elements[i]; }, __all());
    }
};
