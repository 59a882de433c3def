/* Fill: out[i] = value, for elements of 1, 2, 4, 8 and 16 bytes. */
#include <tombac/kernel.h>

#define FILL(T)                                                                                              \
    kernel requires(len(out) >= n) void fill_##T(T *out, T value, uint n)                                    \
    {                                                                                                        \
        uint i = thread_position_in_grid().x;                                                                \
        if (i < n) out[i] = value;                                                                           \
    }
for_each_type(FILL, uchar, ushort, uint, ulong, uint4)

    /* out[to + i] = in[from + i], byte by byte in lines of 16 where both allow it. */
    kernel requires(len(out) >= n, len(in) >= n) void fill_copy(const uint4 *in, uint4 *out, uint n)
{
    uint i = thread_position_in_grid().x;
    if (i < n) out[i] = in[i];
}
kernel requires(len(out) >= n, len(in) >= n) void fill_copy_bytes(const uchar *in, uchar *out, uint n)
{
    uint i = thread_position_in_grid().x;
    if (i < n) out[i] = in[i];
}
