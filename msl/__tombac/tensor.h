/* Tensors of Metal 4 (<metal_tensor>): extents, and tensor<Element, Extents, Descriptor, Tags...>.
 *
 * A tensor is an address, the extents and the strides, whatever its descriptor says; the first dimension is
 * the innermost. A kernel's parameter is filled by the entry thunk (src/compiler/ir/thunk.c), which knows
 * this layout: the address, the extents, the strides, 64 bits each. Facts: Metal Shading Language
 * Specification 4, 2.20.
 *
 * All of it lies in namespace metal::__tensors, which <metal_tensor> opens, so that sources of older versions
 * may use these names for their own. */
#pragma once
#include <metal_array>

namespace __tombac
{
/* The rewriter writes x[__tombac::subscript(i, j)] for x[i, j]: several subscripts of a tensor, or the comma
 * operator, which gives the last. */
template <size_t N, typename L> struct subscripts {
    long at[N];
    L last;
    __TB_CONST_FN operator L() const { return last; }
};
template <typename T> __TB_CONST_FN T subscript(T index) { return index; }
template <typename T, typename U, typename... V>
__TB_CONST_FN auto subscript(T first, U second, V... more)
{
    auto last = (second, ..., more);
    return subscripts<sizeof...(V) + 2, decltype(last)>{{long(first), long(second), long(more)...}, last};
}
} // namespace __tombac

namespace metal
{
namespace __tensors
{
constexpr size_t dynamic_extent = size_t(-1);

template <typename I, size_t... E> struct extents {
    static_assert(__is_integral(I) && !__is_same(I, bool), "extents are counted in an integer type");
    typedef I index_type;
    typedef __make_unsigned(I) size_type;
    typedef size_t rank_type;
    index_type __size[sizeof...(E) ? sizeof...(E) : 1];

    static __TB_CONST_FN rank_type rank() { return sizeof...(E); }
    static __TB_CONST_FN rank_type rank_dynamic() { return (size_t(E == dynamic_extent) + ... + 0); }
    static __TB_CONST_FN size_t static_extent(rank_type r)
    {
        size_t i = 0, found = 0;
        ((found = i++ == r ? E : found), ...);
        return found;
    }
    __TB_CONST_FN index_type extent(rank_type r) const
    {
        return static_extent(r) == dynamic_extent ? __size[r] : index_type(static_extent(r));
    }

    /* Static extents hold their value, dynamic ones are zero. */
    __TB_CONST_FN extents() : __size{(E == dynamic_extent ? index_type(0) : index_type(E))...} {}
    /* All of them, or the dynamic ones. */
    template <typename... T,
              enable_if_t<(sizeof...(T) > 0) && (__is_convertible(T, I) && ...) && sizeof...(T) == sizeof...(E),
                          int> = 0>
    __TB_CONST_FN extents(T... sizes) : __size{(E == dynamic_extent ? index_type(sizes) : index_type(E))...}
    {
    }
    template <typename... T,
              enable_if_t<(sizeof...(T) > 0) && (__is_convertible(T, I) && ...) && sizeof...(T) != sizeof...(E) &&
                              sizeof...(T) == (size_t(E == dynamic_extent) + ... + 0),
                          int> = 0>
    __TB_CONST_FN extents(T... sizes) : extents()
    {
        const index_type all[] = {index_type(sizes)...};
        __fill<sizeof...(T)>(all);
    }
    template <typename T, size_t N,
              typename = enable_if_t<N == sizeof...(E) || N == (size_t(E == dynamic_extent) + ... + 0)>>
    __TB_CONST_FN extents(const array<T, N> &sizes) : extents()
    {
        index_type all[N];
        for (size_t i = 0; i < N; i++) all[i] = index_type(sizes[i]);
        __fill<N>(all);
    }
    /* Of other extents of this rank. */
    template <typename J, size_t... F, typename = enable_if_t<sizeof...(F) == sizeof...(E)>>
    __TB_CONST_FN extents(const extents<J, F...> &other) : extents()
    {
        for (size_t i = 0; i < sizeof...(E); i++)
            if (static_extent(i) == dynamic_extent) __size[i] = index_type(other.extent(i));
    }

  private:
    template <size_t N> __TB_CONST_FN void __fill(const index_type *all)
    {
        for (size_t i = 0, next = 0; i < sizeof...(E); i++) {
            bool dynamic = static_extent(i) == dynamic_extent;
            if (dynamic) __size[i] = all[N == sizeof...(E) ? i : next];
            next += dynamic;
        }
    }
};
template <typename I, size_t... E, typename J, size_t... F>
__TB_CONST_FN bool operator==(const extents<I, E...> &a, const extents<J, F...> &b)
{
    bool same = sizeof...(E) == sizeof...(F);
    for (size_t i = 0; same && i < sizeof...(E); i++) same = long(a.extent(i)) == long(b.extent(i));
    return same;
}
template <typename I, size_t... E, typename J, size_t... F>
__TB_CONST_FN bool operator!=(const extents<I, E...> &a, const extents<J, F...> &b)
{
    return !(a == b);
}

/* Step by step, so that messages show it as extents<int, dynamic_extent, dynamic_extent>. */
template <typename I, size_t RANK, size_t... E>
struct __dynamic_extents : __dynamic_extents<I, RANK - 1, E..., dynamic_extent> {
};
template <typename I, size_t... E> struct __dynamic_extents<I, 0, E...> {
    typedef extents<I, E...> type;
};
template <typename I, size_t RANK> using dextents = typename __dynamic_extents<I, RANK>::type;

/* ---- Tensors ---- */

struct tensor_handle {
};
struct tensor_inline {
};
struct tensor_offset {
};
struct int4b_format {
};

template <typename T> constexpr bool __is_tensor_element_v =
    (__is_integral(T) && !__is_same(T, bool)) || __is_same(T, half) || __is_same(T, float) || __is_same(T, bfloat);

template <typename E, typename X, typename D = tensor_handle, typename... TAGS> struct tensor {
    static_assert(__is_void(X), "the second template argument of a tensor is extents or dextents");
};

template <typename E, typename I, size_t... S, typename D, typename... TAGS>
struct tensor<E, extents<I, S...>, D, TAGS...> {
    typedef E element_type;
    typedef __bare_t<E> value_type;
    typedef extents<I, S...> extents_type;
    typedef I index_type;
    typedef typename extents_type::size_type size_type;
    typedef size_t rank_type;
    typedef E &reference;
    typedef E *data_handle_type;
    static constexpr size_t __rank = sizeof...(S);
    static constexpr bool __in_kernel = __is_same(D, tensor_inline);
    /* Dimensions are named one by one, without loops, so that SROA alone makes registers of a tensor. */
    typedef make_index_sequence<__rank> __dimensions;

    static_assert(!__is_same(value_type, int4b_format), "tensors of int4b_format are not supported");
    static_assert(__is_tensor_element_v<value_type> || __is_same(value_type, int4b_format),
                  "a tensor holds half, bfloat, float or integers");
    static_assert(__rank >= 1 && __rank <= 16, "a tensor has 1 to 16 dimensions");
    static_assert(__in_kernel || __is_same(D, tensor_handle),
                  "the descriptor of a tensor is tensor_handle or tensor_inline");
    static_assert((__is_same(TAGS, tensor_offset) && ...) && (sizeof...(TAGS) == 0 || !__in_kernel),
                  "the only tag of a tensor is tensor_offset, for a tensor_handle");

    E *__data;
    long __extent[__rank], __stride[__rank];

    tensor() = default;
    template <typename T, typename = enable_if_t<__is_convertible(T, E *) && __in_kernel>>
    __TB_FN tensor(T data, const extents_type &sizes) : __data(data)
    {
        __pack(sizes, __dimensions());
    }
    template <typename T, typename J, typename = enable_if_t<__is_convertible(T, E *) && __in_kernel>>
    __TB_FN tensor(T data, const extents_type &sizes, const array<J, __rank> &strides) : __data(data)
    {
        __take(sizes, strides, __dimensions());
    }
    /* A static extent becomes dynamic, a handle gets an origin. */
    template <typename F, typename Y, typename... MORE,
              typename = enable_if_t<__is_convertible(F *, E *) && (Y::rank() == __rank) &&
                                     (sizeof...(MORE) <= sizeof...(TAGS)) &&
                                     (((S == dynamic_extent) || ...) || __is_same(Y, extents_type))>>
    __TB_FN tensor(const tensor<F, Y, D, MORE...> &other) : __data(other.__data)
    {
        __copy(other, __dimensions());
    }
    template <size_t... R> __TB_FN void __pack(const extents_type &sizes, index_sequence<R...>)
    {
        long stride = 1;
        ((__extent[R] = long(sizes.extent(R)), __stride[R] = stride, stride *= __extent[R]), ...);
    }
    template <typename T, size_t... R>
    __TB_FN void __take(const extents_type &sizes, const T &strides, index_sequence<R...>)
    {
        ((__extent[R] = long(sizes.extent(R)), __stride[R] = long(strides[R])), ...);
    }
    template <typename T, size_t... R> __TB_FN void __copy(const T &other, index_sequence<R...>)
    {
        ((__extent[R] = other.__size(R), __stride[R] = other.__stride[R]), ...);
    }

    static __TB_CONST_FN size_t get_rank() { return __rank; }
    static __TB_CONST_FN size_t get_static_extent(rank_type r) { return extents_type::static_extent(r); }
    __TB_FN index_type get_extent(rank_type r) const { return index_type(__size(r)); }
    __TB_FN index_type get_stride(rank_type r) const { return index_type(__stride[r]); }

    __TB_FN long __size(rank_type r) const
    {
        return get_static_extent(r) == dynamic_extent ? __extent[r] : long(get_static_extent(r));
    }
    template <typename J> __TB_FN E *__at(const J &index) const { return __data + __offset(index, __dimensions()); }
    template <typename J> __TB_FN bool __holds(const J &index) const { return __inside(index, __dimensions()); }
    template <typename J, size_t... R> __TB_FN long __offset(const J &index, index_sequence<R...>) const
    {
        return (0L + ... + (long(index[R]) * __stride[R]));
    }
    template <typename J, size_t... R> __TB_FN bool __inside(const J &index, index_sequence<R...>) const
    {
        return (true & ... & (ulong(long(index[R])) < ulong(__size(R))));
    }

    template <typename T> __TB_FN reference operator[](T index) const
    {
        static_assert(__rank == 1, "a tensor takes one index for each of its dimensions, as in t[i, j]");
        return __data[long(index) * __stride[0]];
    }
    template <size_t N, typename L>
    __TB_FN reference operator[](const __tombac::subscripts<N, L> &index) const
    {
        static_assert(N == __rank, "a tensor takes one index for each of its dimensions, as in t[i, j]");
        return *__at(index.at);
    }
    template <typename J, size_t N> __TB_FN reference operator[](const array<J, N> &index) const
    {
        static_assert(N == __rank, "a tensor takes one index for each of its dimensions");
        return *__at(index);
    }

    /* Zero outside of the extents; stores there are dropped. */
    template <typename... T,
              typename = enable_if_t<sizeof...(T) == __rank && (__is_convertible(T, I) && ...)>>
    __TB_FN value_type load(T... index) const
    {
        const long at[__rank] = {long(I(index))...};
        return __holds(at) ? value_type(*__at(at)) : value_type(0);
    }
    template <typename J> __TB_FN value_type load(const array<J, __rank> &index) const
    {
        return __holds(index) ? value_type(*__at(index)) : value_type(0);
    }
    template <typename... T,
              typename = enable_if_t<sizeof...(T) == __rank && (__is_convertible(T, I) && ...)>>
    __TB_FN void store(value_type value, T... index) const
    {
        const long at[__rank] = {long(I(index))...};
        if (__holds(at)) *__at(at) = value;
    }
    template <typename J> __TB_FN void store(value_type value, const array<J, __rank> &index) const
    {
        if (__holds(index)) *__at(index) = value;
    }

    /* The part from an origin on, of the given extents or of what remains. */
    template <size_t... X, typename... T> __TB_FN auto slice(T... origin) const
    {
        static_assert(sizeof...(T) == __rank, "slice takes one index for each dimension of the tensor");
        static_assert((__is_convertible(T, I) && ...), "slice takes integers");
        if constexpr (sizeof...(X) == 0) {
            return __slice<dextents<I, __rank>>(origin...);
        } else {
            static_assert(sizeof...(X) == __rank, "slice takes one extent for each dimension of the tensor");
            return __slice<extents<I, X...>>(origin...);
        }
    }
    template <typename X, typename... T> __TB_FN auto __slice(T... origin) const
    {
        typedef conditional_t<__in_kernel, tensor<E, X, D>, tensor<E, X, D, tensor_offset>> part;
        const long at[__rank] = {long(I(origin))...};
        part made;
        made.__data = __at(at);
        made.template __cut<X>(*this, at, __dimensions());
        return made;
    }
    template <typename X, typename T, size_t... R>
    __TB_FN void __cut(const T &from, const long (&at)[__rank], index_sequence<R...>)
    {
        ((__extent[R] = X::static_extent(R) != dynamic_extent ? long(X::static_extent(R))
                        : from.__size(R) > at[R]              ? from.__size(R) - at[R]
                                                              : 0,
          __stride[R] = from.__stride[R]),
         ...);
    }
};
template <typename T, typename I, size_t... E>
tensor(T *, extents<I, E...>) -> tensor<T, extents<I, E...>, tensor_inline>;
template <typename T, typename I, size_t... E, typename J, size_t N>
tensor(T *, extents<I, E...>, array<J, N>) -> tensor<T, extents<I, E...>, tensor_inline>;

/* ---- Questions ---- */

template <typename T> constexpr bool __is_tensor_v = false;
template <typename E, typename X, typename D, typename... TAGS>
constexpr bool __is_tensor_v<tensor<E, X, D, TAGS...>> = true;
template <typename T> constexpr bool is_tensor_handle_v = false;
template <typename E, typename X, typename... TAGS>
constexpr bool is_tensor_handle_v<tensor<E, X, tensor_handle, TAGS...>> = true;
template <typename T> constexpr bool is_tensor_inline_v = false;
template <typename E, typename X, typename... TAGS>
constexpr bool is_tensor_inline_v<tensor<E, X, tensor_inline, TAGS...>> = true;
template <typename T> constexpr bool has_tensor_offset_v = false;
template <typename E, typename X, typename D, typename... TAGS>
constexpr bool has_tensor_offset_v<tensor<E, X, D, TAGS...>> = (sizeof...(TAGS) > 0);
template <typename T> struct is_tensor_handle : bool_constant<is_tensor_handle_v<T>> {
};
template <typename T> struct is_tensor_inline : bool_constant<is_tensor_inline_v<T>> {
};
template <typename T> struct has_tensor_offset : bool_constant<has_tensor_offset_v<T>> {
};
} // namespace __tensors
} // namespace metal
