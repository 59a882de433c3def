/* As much of Apple's <simd/simd.h>, metal-cpp and ccv's helpers as the generators of metal-flash-attention use: a device that
 * compiles nothing, so that they can be asked for the source. clang's vectors have the operations of simd's. */
#pragma once
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace simd {
typedef unsigned short ushort2 __attribute__((ext_vector_type(2)));
typedef unsigned short ushort3 __attribute__((ext_vector_type(3)));
typedef unsigned char uchar3 __attribute__((ext_vector_type(3)));
typedef unsigned int uint3 __attribute__((ext_vector_type(3)));
} // namespace simd

#define nil nullptr
namespace NS {
template <typename T> struct SharedPtr {
    T *pointer = nullptr;
};
template <typename T> SharedPtr<T> TransferPtr(T *pointer) { return {pointer}; }
enum { UTF8StringEncoding };
struct Error;
struct String {
    static String *string(const char *, int) { return nullptr; }
};
} // namespace NS
namespace MTL {
struct Library;
struct Device {
    Library *newLibrary(NS::String *, std::nullptr_t, NS::Error **) { return nullptr; }
};
} // namespace MTL

#define CCV_NNC_MFA_CHECK_ERROR(error) ((void)(error))
#define CCV_NNC_MFA_PRECONDITION(condition) ((condition) ? (void)0 : std::abort())
