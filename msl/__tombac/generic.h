/* Generic pointers (metal4.1): which memory a pointer refers to, and casts to a named address space. The
 * default address space is both `thread` and generic, so that casts between the two are nothing.
 *
 * ir/ answers the questions (docs/operations.md), mostly with a constant. The rewriter turns
 * static_cast<device T *>(x) into __tombac_static_cast<device T *>(x, file, line), which ends the launch
 * where the pointer refers to other memory. */
#pragma once
#include <__tombac/operations.h>

namespace __tombac
{
/* Number of the address space that a pointer type names; 0: thread, or none. */
template <typename P> constexpr int space_of = -1;
template <typename T> constexpr int space_of<T *> = 0;
template <typename T> constexpr int space_of<__TB_DEVICE T *> = 1;
template <typename T> constexpr int space_of<__attribute__((opencl_global_host)) T *> = 2;
template <typename T> constexpr int space_of<__TB_THREADGROUP T *> = 3;

template <int SPACE> __TB_FN bool refers_to(const volatile void *pointer)
{
    if constexpr (SPACE == 1)
        return is_device(pointer);
    else if constexpr (SPACE == 3)
        return is_threadgroup(pointer);
    else
        return is_thread(pointer);
}
} // namespace __tombac

__TB_FN bool is_thread_addrspace(const volatile void *pointer) { return __tombac::is_thread(pointer); }
__TB_FN bool is_device_addrspace(const volatile void *pointer) { return __tombac::is_device(pointer); }
__TB_FN bool is_threadgroup_addrspace(const volatile void *pointer)
{
    return __tombac::is_threadgroup(pointer);
}

template <typename P, typename T> __TB_FN P addrspace_cast(T *pointer)
{
    static_assert(__tombac::space_of<P> >= 0, "addrspace_cast makes a pointer");
    static_assert(__tombac::space_of<P> != 2 && __tombac::space_of<T *> != 2,
                  "addrspace_cast does not know constant memory");
    return __tombac::refers_to<__tombac::space_of<P>>(pointer) ? (P)pointer : nullptr;
}

template <typename P, typename T>
__TB_FN P __tombac_static_cast(T *pointer, const char *what, const char *file, uint line)
{
    if constexpr (__tombac::space_of<T *> == 0 && __tombac::space_of<P> != 2)
        if (!__tombac::refers_to<__tombac::space_of<P>>(pointer) && pointer)
            __tombac_assert_fail(what, file, line);
    return (P)pointer;
}
template <typename P>
__TB_FN P __tombac_static_cast(decltype(nullptr), const char *what, const char *file, uint line)
{
    return nullptr;
}

namespace metal
{
using ::addrspace_cast;
using ::is_device_addrspace;
using ::is_thread_addrspace;
using ::is_threadgroup_addrspace;
} // namespace metal
