/* Words that every header of the library is written in. Seen by the second phase only (the precompiled
 * header), so none of these macros can meet a name of the user's source. */
#pragma once

/* Library functions vanish into their callers. nodebug: an instruction that comes from here carries the
 * user's line. */
#define __TB_FN inline __attribute__((always_inline, nodebug))
#define __TB_CONST_FN constexpr __TB_FN

/* Address spaces, spelled as the rewriter spells them. `thread` is the default address space, a superset of
 * all others. */
#define __TB_DEVICE __attribute__((opencl_global))
#define __TB_CONSTANT __attribute__((opencl_global_host)) const
#define __TB_THREADGROUP __attribute__((opencl_local))

/* Attributes of operations (docs/operations.md): a pure function of its arguments, one that also depends on
 * which lanes are active, one that synchronises. */
#define __TB_PURE __attribute__((const, nothrow))
#define __TB_CONVERGENT __attribute__((convergent, const, nothrow))
#define __TB_BARRIER __attribute__((convergent, nothrow))

/* X(type) over scalar types. int8_t is char, as in Metal. */
#define __TB_FOR_SIGNED(X) X(char) X(short) X(int) X(long)
#define __TB_FOR_UNSIGNED(X) X(uchar) X(ushort) X(uint) X(ulong)
#define __TB_FOR_INTEGERS(X) __TB_FOR_SIGNED(X) __TB_FOR_UNSIGNED(X)
#define __TB_FOR_FLOATS(X) X(half) X(float)
