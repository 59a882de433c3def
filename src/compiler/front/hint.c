/* What helps with the commonest mistakes: a note after clang's error, chosen by the words of its message. The
 * first row whose words are all in the message gives the hint. Tested by
 * tests/compiler/front/cases/message_*.metal. */
#include "compiler/front/diagnose.h"

static const struct {
    const char *words, *more; /* both are in the message; more may be "" */
    const char *hint;
} hints[] = {
    {"use of undeclared identifier 'std'", "",
        "Metal has no C++ standard library; its own is in namespace metal"},
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

const char *front_hint(const char *message, size_t length)
{
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (memmem(message, length, hints[i].words, strlen(hints[i].words)) &&
            memmem(message, length, hints[i].more, strlen(hints[i].more)))
            return hints[i].hint;
    return NULL;
}
