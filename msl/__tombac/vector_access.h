/* Element access shared by vec and packed_vec; included inside the class.
 *
 * The rewriter turns p.zyx into p.template swz<2, 1, 0>(), and an assigned swizzle into p.template swzl<2, 1,
 * 0>(). operator[] yields a reference in the default address space; in constant expressions it selects by
 * name, because pointer arithmetic over members is none. */
__TB_CONST_FN const T &operator[](int index) const
{
    if (__builtin_is_constant_evaluated()) return __element(*this, index);
    return (&x)[index];
}
__TB_CONST_FN T &operator[](int index)
{
    if (__builtin_is_constant_evaluated()) return __element(*this, index);
    return (&x)[index];
}
template <typename S> static __TB_CONST_FN auto &__element(S &self, int index)
{
#if __TB_N == 2
    return index == 0 ? self.x : self.y;
#elif __TB_N == 3
    return index == 0 ? self.x : index == 1 ? self.y : self.z;
#else
    return index == 0 ? self.x : index == 1 ? self.y : index == 2 ? self.z : self.w;
#endif
}
template <int I> __TB_CONST_FN T __get() const
{
    static_assert(I < __TB_N, "a vector has no such component");
    if constexpr (I == 0)
        return x;
    else if constexpr (I == 1)
        return y;
#if __TB_N > 2
    else if constexpr (I == 2)
        return z;
#endif
#if __TB_N > 3
    else
        return w;
#endif
}
template <int I> __TB_CONST_FN void __set(T value)
{
    static_assert(I < __TB_N, "a vector has no such component");
    if constexpr (I == 0)
        x = value;
    else if constexpr (I == 1)
        y = value;
#if __TB_N > 2
    else if constexpr (I == 2)
        z = value;
#endif
#if __TB_N > 3
    else
        w = value;
#endif
}
template <int... I> __TB_CONST_FN vec<T, sizeof...(I)> swz() const
{
    return vec<T, sizeof...(I)>(this->template __get<I>()...);
}
template <int... I> __TB_CONST_FN auto swzl()
{
    return __swizzle<__remove_reference_t(decltype(*this)), T, I...>{*this};
}
