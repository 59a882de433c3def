/* Cooperative tensors of Metal 4 (<metal_cooperative_tensor>), and the scopes that they are made for: tensors
 * whose elements lie in the threads of some SIMD-groups.
 *
 * A layout says which: LAYOUT::capacity elements in each thread, coordinate(i) of the i-th in this thread
 * (innermost first), valid(i), and owns(i): whether this thread is the one to store it where several hold
 * copies. Elements start as zero. Facts: Metal Shading Language Specification 4, 2.20.3. */
#pragma once
#include <__tombac/operations.h>
#include <__tombac/tensor.h>

#define __TB_UNROLL _Pragma("clang loop unroll(full)")

namespace metal
{
namespace __tensors
{
template <size_t N> struct execution_threads {
    static_assert(N == 1, "only execution_threads<1> exists");
    static constexpr size_t static_size = N;
    __TB_CONST_FN uint size() const { return N; }
};
template <size_t N> struct execution_simdgroups {
    static_assert(N >= 1 && N <= 32, "execution_simdgroups takes 1 to 32 SIMD-groups");
    static constexpr size_t static_size = N;
    __TB_CONST_FN uint size() const { return N; }
};
typedef execution_threads<1> execution_thread;
typedef execution_simdgroups<1> execution_simdgroup;
template <typename T> constexpr bool is_execution_thread_v = false;
template <size_t N> constexpr bool is_execution_thread_v<execution_threads<N>> = true;
template <typename T> constexpr bool is_execution_simdgroups_v = false;
template <size_t N> constexpr bool is_execution_simdgroups_v<execution_simdgroups<N>> = true;

/* Walks over the elements of one thread. */
template <typename C, typename E> struct __cooperative_iterator {
    C *__of;
    ushort __index;

    __TB_FN E &operator*() const { return __of->__elements[__index]; }
    __TB_FN E *operator->() const { return &__of->__elements[__index]; }
    __TB_FN __cooperative_iterator &operator++()
    {
        __index++;
        return *this;
    }
    __TB_FN __cooperative_iterator operator++(int)
    {
        __cooperative_iterator before = *this;
        __index++;
        return before;
    }
    __TB_FN bool operator==(__cooperative_iterator other) const { return __index == other.__index; }
    __TB_FN bool operator!=(__cooperative_iterator other) const { return __index != other.__index; }
    __TB_FN bool is_valid_element() const { return __of->is_valid_element(__index); }
    __TB_FN auto get_multidimensional_index() const { return __of->get_multidimensional_index(__index); }
};

template <typename E, typename X, typename LAYOUT> struct cooperative_tensor {
    static_assert(__is_tensor_element_v<E>, "a cooperative tensor holds half, bfloat, float or integers");
    typedef E element_type;
    typedef E value_type;
    typedef X extents_type;
    typedef LAYOUT layout;
    typedef typename X::index_type index_type;
    typedef typename X::size_type size_type;
    typedef typename X::rank_type rank_type;
    typedef ushort thread_index_type;
    typedef ushort thread_size_type;
    typedef E &reference;
    typedef const E &const_reference;
    typedef __cooperative_iterator<cooperative_tensor, E> iterator;
    typedef __cooperative_iterator<const cooperative_tensor, const E> const_iterator;
    static constexpr size_t __rank = X::rank();

    E __elements[LAYOUT::capacity] = {};

    static __TB_CONST_FN rank_type get_rank() { return __rank; }
    static __TB_CONST_FN size_t get_static_extent(rank_type r) { return X::static_extent(r); }
    static __TB_CONST_FN index_type get_extent(rank_type r) { return index_type(X::static_extent(r)); }
    __TB_CONST_FN thread_size_type get_capacity() const { return LAYOUT::capacity; }
    __TB_FN reference operator[](thread_index_type i) { return __elements[i]; }
    __TB_FN const_reference operator[](thread_index_type i) const { return __elements[i]; }

    __TB_FN bool is_valid_element(thread_index_type i) const { return LAYOUT::valid(i); }
    __TB_FN bool is_valid_element(const_iterator i) const { return LAYOUT::valid(i.__index); }
    __TB_FN bool is_valid_element(iterator i) const { return LAYOUT::valid(i.__index); }
    __TB_FN bool get_mask(thread_index_type i) const { return LAYOUT::valid(i); }
    __TB_FN array<index_type, __rank> get_multidimensional_index(thread_index_type i) const
    {
        array<index_type, __rank> index;
        for (size_t r = 0; r < __rank; r++) index[r] = index_type(LAYOUT::coordinate(i, r));
        return index;
    }
    __TB_FN auto get_multidimensional_index(const_iterator i) const
    {
        return get_multidimensional_index(i.__index);
    }
    __TB_FN auto get_multidimensional_index(iterator i) const
    {
        return get_multidimensional_index(i.__index);
    }
    /* Zero, or nothing, where the element is not valid. */
    __TB_FN value_type get(thread_index_type i) const { return LAYOUT::valid(i) ? __elements[i] : E(0); }
    __TB_FN void set(thread_index_type i, value_type value)
    {
        if (LAYOUT::valid(i)) __elements[i] = value;
    }

    __TB_FN iterator get_iterator(thread_index_type i) { return {this, i}; }
    __TB_FN const_iterator get_iterator(thread_index_type i) const { return {this, i}; }
    __TB_FN iterator begin() { return {this, 0}; }
    __TB_FN const_iterator begin() const { return {this, 0}; }
    __TB_FN iterator end() { return {this, LAYOUT::capacity}; }
    __TB_FN const_iterator end() const { return {this, LAYOUT::capacity}; }

    /* From an element of another tensor to the one of this that belongs to it: the same element, or that of
     * its row or column in the result of a reduction. Where there is none, reaching this ends the launch. */
    template <typename C, typename F> __TB_FN iterator map_iterator(__cooperative_iterator<C, F> other)
    {
        return {this, __map<typename C::layout>(other.__index)};
    }
    template <typename C, typename F>
    __TB_FN const_iterator map_iterator(__cooperative_iterator<C, F> other) const
    {
        return {this, __map<typename C::layout>(other.__index)};
    }
    template <typename FROM> static __TB_FN ushort __map(ushort i)
    {
        if constexpr (LAYOUT::template maps_from<FROM>) {
            return LAYOUT::template map<FROM>(i);
        } else {
            __tombac::unsupported("map_iterator between cooperative tensors that do not belong together "
                                  "(is_iterator_compatible says so)");
            return 0;
        }
    }

    /* A dimension of one element is spread over all of the tensor's, or of the memory's. What is spread over elements that the
     * memory does not have may have been changed by their owner: such a read is marked as one that no race is looked for in. */
    template <typename T> __TB_FN void load(const T &from)
    {
        static_assert(__is_tensor_v<T>, "load takes a tensor");
        static_assert(T::__rank == __rank, "load takes a tensor of the same rank");
        static_assert(__is_same(typename T::value_type, E), "load takes a tensor of the same element type");
        __TB_UNROLL
        for (ushort i = 0; i < LAYOUT::capacity; i++) {
            long at[__rank];
            bool inside = LAYOUT::valid(i), spread = false;
            for (size_t r = 0; r < __rank; r++) {
                long own = long(LAYOUT::coordinate(i, r));
                at[r] = from.__size(r) == 1 ? 0 : own;
                inside &= at[r] < from.__size(r);
                spread |= at[r] != own;
            }
            E value = E(0);
            if (inside && spread)
                value = __load_spread(from.__at(at));
            else if (inside)
                value = E(*from.__at(at));
            __elements[i] = value;
        }
    }
    template <typename P> static __TB_FN E __load_spread(P from)
    {
        E value;
        if constexpr (__is_same(E, bfloat))
            value.__bits = __builtin_nontemporal_load(&from->__bits);
        else
            value = __builtin_nontemporal_load(from);
        return value;
    }
    template <typename T> __TB_FN void store(const T &to) const
    {
        static_assert(__is_tensor_v<T>, "store takes a tensor");
        static_assert(T::__rank == __rank, "store takes a tensor of the same rank");
        static_assert(__is_same(typename T::value_type, E), "store takes a tensor of the same element type");
        static_assert(!__is_const(typename T::element_type), "store takes a tensor that is not const");
        __TB_UNROLL
        for (ushort i = 0; i < LAYOUT::capacity; i++) {
            long at[__rank];
            bool inside = LAYOUT::owns(i);
            for (size_t r = 0; r < __rank; r++) {
                at[r] = long(LAYOUT::coordinate(i, r));
                inside &= at[r] < to.__size(r);
            }
            if (inside) __spread<__rank>(to, at, __elements[i]);
        }
    }
    template <size_t R, typename T> static __TB_FN void __spread(const T &to, long (&at)[__rank], E value)
    {
        if constexpr (R == 0) {
            *to.__at(at) = value;
        } else if constexpr (X::static_extent(R - 1) == 1) {
            for (at[R - 1] = 0; at[R - 1] < to.__size(R - 1); at[R - 1]++) __spread<R - 1>(to, at, value);
            at[R - 1] = 0;
        } else {
            __spread<R - 1>(to, at, value);
        }
    }
};

template <typename T> constexpr bool __is_cooperative_v = false;
template <typename E, typename X, typename L>
constexpr bool __is_cooperative_v<cooperative_tensor<E, X, L>> = true;
} // namespace __tensors
} // namespace metal
