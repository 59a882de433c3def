/* slice(T): a pointer with its number of elements. slice_const(T) only reads. As a kernel's parameter it binds
 * a buffer and, behind it, the number of elements (size_t). at() and own_element() are macros (each.h). */
#ifndef TOMBAC_KERNEL_SLICE_H
#define TOMBAC_KERNEL_SLICE_H

#define slice(T) struct tombac_slice_##T
#define slice_const(T) struct tombac_slice_const_##T
/* For any other type that has a name of one word: declare_slice(particle); */
#define declare_slice(T)                                                                                     \
    struct tombac_slice_##T {                                                                                \
        T *pointer;                                                                                          \
        size_t count;                                                                                        \
    };                                                                                                       \
    struct tombac_slice_const_##T {                                                                          \
        const T *pointer;                                                                                    \
        size_t count;                                                                                        \
    }
#define __TB_SLICES(T, U)                                                                                    \
    declare_slice(T);                                                                                        \
    declare_slice(T##2);                                                                                     \
    declare_slice(T##3);                                                                                     \
    declare_slice(T##4);
__TB_FOR_SCALARS(__TB_SLICES)
#undef __TB_SLICES
declare_slice(int8_t);
declare_slice(uint8_t);
declare_slice(int16_t);
declare_slice(uint16_t);
declare_slice(int32_t);
declare_slice(uint32_t);
declare_slice(int64_t);
declare_slice(uint64_t);

/* A negative index is a huge one. */
static inline __attribute__((always_inline, unused)) size_t tombac_checked_index(
    size_t index, size_t count, const char *condition, const char *file, uint line)
{
    if (index >= count) __tombac_assert_fail(condition, file, line);
    return index;
}
#endif
