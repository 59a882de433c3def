/* What helps with the commonest mistakes: a note after clang's error, chosen by the words of its message. The
 * first row whose words are all in the message gives the hint. Tested by
 * tests/compiler/front/cases/message_*.metal. */
#include "compiler/front/diagnose.h"

#include <stdio.h>

static const struct {
    const char *words, *more; /* both are in the message; more may be "" */
    const char *hint;
} hints[] = {
    {"use of undeclared identifier 'std'", "",
        "Metal has no C++ standard library; its own is in namespace metal"},
    {"call to '", "' is ambiguous",
        "the arguments have different types, of which none is preferred; convert them to one, as max(x, 0.0f) or max(i, 1u)"},
    {"use of undeclared identifier 'atomic_", "",
        "atomic operations name their order, as atomic_fetch_add_explicit(p, 1, memory_order_relaxed)"},
    {"use of undeclared identifier 'threadIdx'", "",
        "a kernel gets positions as parameters, as uint i [[thread_position_in_threadgroup]]"},
    {"use of undeclared identifier 'block", "",
        "a kernel gets positions as parameters, as uint g [[threadgroup_position_in_grid]]"},
    {"use of undeclared identifier 'gridDim'", "",
        "a kernel gets sizes as parameters, as uint n [[threadgroups_per_grid]]"},
    {"use of undeclared identifier 'get_", "_id'",
        "a kernel gets positions as parameters, as uint i [[thread_position_in_grid]]"},
    {"use of undeclared identifier '__sh", "",
        "what threads of a SIMD-group exchange goes through simd_shuffle and its kin; memory of a threadgroup is 'threadgroup'"},
    {"unknown type name '__shared__'", "", "memory that a threadgroup shares is declared with 'threadgroup'"},
    {"unknown type name '__global__'", "", "this is CUDA; in Metal a kernel is declared with 'kernel'"},
    {"unknown type name '__kernel'", "",
        "this is OpenCL C; in Metal it is 'kernel', and 'device' or 'threadgroup' for __global and __local"},
    {"use of undeclared identifier 'CLK_", "", "the flags of a barrier are mem_flags::mem_threadgroup and mem_flags::mem_device"},
    {"use of undeclared identifier 'barrier'", "",
        "threads of a threadgroup wait with threadgroup_barrier(mem_flags::mem_threadgroup)"},
    {"use of undeclared identifier 'M_", "", "Metal's constants have the type at the end, as M_PI_F and M_PI_H"},
    {"use of undeclared identifier 'rand'", "",
        "Metal has no random numbers; compute them, or take a state from a buffer"},
    {"unknown type name 'bfloat16_t'", "", "Metal's type is bfloat, from metal3.1 on"},
    {"unknown type name '__half'", "", "Metal's type is half"},
    {"unknown type name 'float16_t'", "", "Metal's type is half"},
    {"no viable overloaded operator[] for type", " *'",
        "an index is one integer: take a component of a position, as i.x, or declare it as uint"},
    {"use of undeclared identifier 'printf'", "",
        "kernels log with os_log_default.log(\"...\") of <metal_logging>, from metal3.2 on"},
    {"is not contextually convertible to 'bool'", "bool",
        "make one bool of a vector's with all(...) or any(...)"},
    {"invalid operands to binary expression ('device float' and", "float",
        "the remainder of floats is fmod(x, y)"},
    {"invalid operands to binary expression", "int",
        "vectors of different types do not mix; convert one, as float4(v)"},
    {"no viable overloaded '='", "",
        "the two sides have different types; convert explicitly, as float4(v, 0) or float4(i)"},
    {"no viable conversion from", "",
        "vectors of different types or lengths do not convert by themselves; write the type, as float4(v, "
        "0)"},
    {"no matching constructor for initialization of", "vec<",
        "a vector is made of one value, or of exactly as many components as it has"},
    {"no matching function for call to 'atomic_", "",
        "the first argument must point to an atomic type in device or threadgroup memory, as device "
        "atomic_uint *"},
    {"no matching function for call to 'threadgroup_barrier'", "",
        "say which memory it orders, as threadgroup_barrier(mem_flags::mem_threadgroup)"},
    {"read-only variable is not assignable", "", "memory behind const or constant cannot be written"},
    {"cannot assign to variable", "constant", "memory behind const or constant cannot be written"},
    {"cannot pass pointer to address space", "",
        "a function takes the address spaces that its parameters name; add an overload for this one"},
    {"needs an explicit size or an initializer", "",
        "threadgroup memory whose size the host gives is an argument, as threadgroup float *p "
        "[[threadgroup(0)]]"},
    {"the size of an array must be a constant", "",
        "give it a constant size, or a function constant's largest value"},
};

/* Names of C's library that Metal lacks: functions of float, which end in f, and headers. */
static const char *of_c(const char *message, size_t length)
{
    static const char *const functions[] = {"acos", "asin", "atan", "atan2", "ceil", "copysign", "cos", "cosh", "exp",
        "exp2", "fabs", "floor", "fma", "fmax", "fmin", "fmod", "log", "log10", "log2", "pow", "rint", "round",
        "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"};
    static const char *const headers[] = {"algorithm", "array", "assert", "cmath", "cstdio", "cstdlib", "cuda.h", "iostream",
        "limits", "math.h", "stdio.h", "stdlib.h", "string", "string.h", "type_traits", "utility", "vector"};
    char name[64];
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        snprintf(name, sizeof name, "identifier '%sf'", functions[i]);
        if (memmem(message, length, name, strlen(name)))
            return "Metal's functions have one name for all types, without C's suffix: exp, sqrt, fmax";
    }
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        snprintf(name, sizeof name, "'%s' file not found", headers[i]);
        if (memmem(message, length, name, strlen(name)))
            return "Metal has no C++ standard library; its own is <metal_stdlib>";
    }
    return NULL;
}

const char *front_hint(const char *message, size_t length)
{
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (memmem(message, length, hints[i].words, strlen(hints[i].words)) &&
            memmem(message, length, hints[i].more, strlen(hints[i].more)))
            return hints[i].hint;
    return of_c(message, length);
}
