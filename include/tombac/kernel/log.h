/* printf and assert: what the front end writes for them. A message is a call that opens it, one per argument,
 * one that closes it (docs/operations.md). */
#ifndef TOMBAC_KERNEL_LOG_H
#define TOMBAC_KERNEL_LOG_H

__attribute__((nothrow)) void __tombac_log_begin(uint, const char *) __asm__("__tombac_log_begin");
__attribute__((nothrow)) void __tombac_c_log_argument(uint, ulong) __asm__("__tombac_log_argument.u64");
__attribute__((nothrow)) void __tombac_log_end(void) __asm__("__tombac_log_end");
__attribute__((nothrow)) void __tombac_assert_fail(const char *, const char *, uint) __asm__("__tombac_assert_fail");

#define __TB_LOG(T, KIND, BITS)                                                                              \
    __TB_FN void printf_argument(T x) { __tombac_c_log_argument(KIND, BITS); }
__TB_LOG(bool, 1, x)
__TB_LOG(char, 0, (ulong)x)
__TB_LOG(signed char, 0, (ulong)x)
__TB_LOG(uchar, 1, x)
__TB_LOG(short, 0, (ulong)x)
__TB_LOG(ushort, 1, x)
__TB_LOG(int, 0, (ulong)x)
__TB_LOG(uint, 1, x)
__TB_LOG(long, 0, (ulong)x)
__TB_LOG(ulong, 1, x)
__TB_LOG(half, 2, __builtin_bit_cast(ulong, (double)x))
__TB_LOG(float, 2, __builtin_bit_cast(ulong, (double)x))
__TB_LOG(const char *, 3, (ulong)x)
__TB_LOG(const volatile void *, 4, (ulong)x)
#undef __TB_LOG
#endif
