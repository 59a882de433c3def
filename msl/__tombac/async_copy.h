/* Asynchronous copies of a SIMD-group, which sources declare themselves under the labels of Apple's compiler
 * (`__asm("air.simdgroup_async_copy_2d.p3i8.p1i8")`). They are copies: done when the call returns, by the active
 * threads of the SIMD-group in turns. The rewriter puts definitions behind the declarations (rewrite_alias.c).
 *
 * Sizes and strides are in elements of `size` bytes; a tile is (columns, rows). Elements of the destination's
 * tile that lie outside the source's are zero, or the nearest one of it if `clamp` is not 0. */
#pragma once
#include <metal_simdgroup>

namespace __tombac
{
struct turns {
    uint first, step;
};
__TB_FN turns take_turns()
{
    ulong active = simd_active_threads_mask();
    return {uint(__builtin_popcountll(active & ((1ul << lane()) - 1))), uint(__builtin_popcountll(active))};
}

/* D and S: char in their address spaces. */
template <typename D, typename S> __TB_FN void copy_element(D *to, S *from, ulong size)
{
    for (ulong k = 0; k < size; k++) to[k] = from[k];
}
template <typename D, typename S>
__TB_FN void *async_copy_1d(ulong size, D *destination, S *source, ulong count)
{
    turns t = take_turns();
    for (ulong k = t.first; k < count; k += t.step)
        copy_element(destination + k * size, source + k * size, size);
    return nullptr;
}
template <typename D, typename S>
__TB_FN void *async_copy_2d(ulong size, D *destination, ulong to_stride, metal::vec<ulong, 2> to_tile, S *source,
                            ulong from_stride, metal::vec<ulong, 2> from_tile, metal::vec<long, 2> offset,
                            int clamp)
{
    turns t = take_turns();
    for (ulong k = t.first; k < to_tile.x * to_tile.y; k += t.step) {
        ulong column = k % to_tile.x, row = k / to_tile.x;
        long x = long(column) + offset.x, y = long(row) + offset.y;
        long right = long(from_tile.x) - 1, bottom = long(from_tile.y) - 1;
        bool inside = x >= 0 && x <= right && y >= 0 && y <= bottom;
        D *to = destination + (row * to_stride + column) * size;
        if (inside || (clamp && right >= 0 && bottom >= 0)) {
            x = x < 0 ? 0 : x > right ? right : x;
            y = y < 0 ? 0 : y > bottom ? bottom : y;
            copy_element(to, source + (ulong(y) * from_stride + ulong(x)) * size, size);
        } else {
            for (ulong b = 0; b < size; b++) to[b] = 0;
        }
    }
    return nullptr;
}
/* What the copies wrote is seen by the SIMD-group after it. */
__TB_FN void wait_events() { simdgroup_barrier(3); }
} // namespace __tombac
