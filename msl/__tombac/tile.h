/* How a matrix tile lies in the threads of SIMD-groups: the layouts of the cooperative tensors that matmul2d
 * makes.
 *
 * A tile is cut into fragments of 16 x 16, of which a thread holds 8 elements: in rows r and r + 8, four
 * each, with r and the group of columns g the thread's row and half column in an 8x8 SIMD-group matrix
 * (docs/operations.md). In a single SIMD-group these are columns 4g to 4g + 3, the layout that kernels
 * which read their elements by number rely on (MLX, PyTorch); in several they are 2g, 2g + 1, 2g + 8,
 * 2g + 9, so that a fragment is four 8x8 matrices as they are. Several SIMD-groups share the fragments as
 * rectangles. */
#pragma once
#include <__tombac/cooperative.h>

namespace __tombac
{
using metal::__tensors::extents;

/* What a layout is of; of two kinds only equal ones belong together, and results with their tiles. */
enum layout_kind { TILE, ONE_THREAD, ROW_RESULT, COLUMN_RESULT };

/* Into how many rows of SIMD-groups `groups` are arranged, for the fewest fragments in each, and the squarest
 * rectangles. */
constexpr int rows_of_groups(int rows, int columns, int groups)
{
    int best = 1, best_cost = -1;
    for (int r = 1; r <= groups; r++) {
        int c = groups / r;
        if (r * c != groups) continue;
        int height = (rows + r - 1) / r, width = (columns + c - 1) / c;
        int cost = height * width * 1024 + height + width;
        if (best_cost >= 0 && cost >= best_cost) continue;
        best = r;
        best_cost = cost;
    }
    return best;
}

/* ROWS x COLUMNS elements in GROUPS SIMD-groups; TURNED: the fragments are numbered column by column. A
 * coordinate is (column, row). */
template <int ROWS, int COLUMNS, int GROUPS, bool TURNED = false> struct tile_layout {
    static constexpr layout_kind kind = TILE;
    static constexpr int rows = ROWS, columns = COLUMNS, groups = GROUPS;
    static constexpr int high = (ROWS + 15) / 16, wide = (COLUMNS + 15) / 16; /* fragments of the tile */
    static constexpr int down = rows_of_groups(high, wide, GROUPS), across = GROUPS / down;
    static constexpr int height = (high + down - 1) / down, width = (wide + across - 1) / across;
    static constexpr ushort capacity = ushort(8 * height * width);

    /* The first row and column of a fragment of this SIMD-group. */
    static __TB_FN uint first_row(uint i)
    {
        if constexpr (GROUPS == 1)
            return 16 * i;
        else
            return 16 * (simdgroup() / uint(across) * uint(height) + i);
    }
    static __TB_FN uint first_column(uint j)
    {
        if constexpr (GROUPS == 1)
            return 16 * j;
        else
            return 16 * (simdgroup() % uint(across) * uint(width) + j);
    }
    /* Of element e within its fragment. */
    static __TB_FN uint inner_row(uint e) { return matrix_row() + 8 * (e >> 2); }
    static __TB_FN uint inner_column(uint e)
    {
        if constexpr (GROUPS == 1)
            return 2 * matrix_column() + (e & 3);
        else
            return matrix_column() + 8 * ((e >> 1) & 1) + (e & 1);
    }
    static __TB_FN uint row(uint i)
    {
        uint f = i / 8;
        return first_row(TURNED ? f % uint(height) : f / uint(width)) + inner_row(i % 8);
    }
    static __TB_FN uint column(uint i)
    {
        uint f = i / 8;
        return first_column(TURNED ? f / uint(height) : f % uint(width)) + inner_column(i % 8);
    }
    static __TB_FN uint coordinate(uint i, size_t r) { return r == 0 ? column(i) : row(i); }
    static __TB_FN bool valid(uint i)
    {
        constexpr bool whole = ROWS % 16 == 0 && COLUMNS % 16 == 0 && high == down * height &&
                               wide == across * width;
        if constexpr (whole) return i < capacity;
        return i < capacity && row(i) < uint(ROWS) && column(i) < uint(COLUMNS);
    }
    static __TB_FN bool owns(uint i) { return valid(i); }

    template <typename FROM>
    static constexpr bool maps_from = FROM::kind == TILE && FROM::rows == ROWS && FROM::columns == COLUMNS &&
                                      FROM::groups == GROUPS;
    template <typename FROM> static __TB_FN ushort map(ushort i) { return i; }
};

/* One thread alone: row by row. */
template <int ROWS, int COLUMNS> struct thread_layout {
    static constexpr layout_kind kind = ONE_THREAD;
    static constexpr int rows = ROWS, columns = COLUMNS, groups = 0;
    static constexpr ushort capacity = ushort(ROWS * COLUMNS);
    static __TB_FN uint coordinate(uint i, size_t r) { return r == 0 ? i % uint(COLUMNS) : i / uint(COLUMNS); }
    static __TB_FN bool valid(uint i) { return i < capacity; }
    static __TB_FN bool owns(uint i) { return valid(i); }
    template <typename FROM>
    static constexpr bool maps_from = FROM::kind == ONE_THREAD && FROM::rows == ROWS && FROM::columns == COLUMNS;
    template <typename FROM> static __TB_FN ushort map(ushort i) { return i; }
};

/* One element for each row, or column, of a tile in one SIMD-group; every thread has those of its own
 * elements. */
template <int ROWS, int COLUMNS, bool OF_ROWS> struct reduction_layout {
    static constexpr layout_kind kind = OF_ROWS ? ROW_RESULT : COLUMN_RESULT;
    static constexpr int rows = ROWS, columns = COLUMNS, groups = 1;
    static constexpr int high = (ROWS + 15) / 16, wide = (COLUMNS + 15) / 16;
    static constexpr ushort capacity = ushort(OF_ROWS ? 2 * high : 4 * wide);
    static __TB_FN uint coordinate(uint i, size_t)
    {
        return OF_ROWS ? 16 * (i / 2) + 8 * (i % 2) + matrix_row() : 16 * (i / 4) + 2 * matrix_column() + i % 4;
    }
    static __TB_FN bool valid(uint i)
    {
        return i < capacity && coordinate(i, 0) < uint(OF_ROWS ? ROWS : COLUMNS);
    }
    static __TB_FN bool owns(uint i) { return valid(i) && (OF_ROWS ? matrix_column() : matrix_row()) == 0; }

    /* Tiles of as many rows (columns), and results like this. */
    template <typename FROM>
    static constexpr bool maps_from = (FROM::kind == TILE || FROM::kind == kind) && FROM::groups == 1 &&
                                      (OF_ROWS ? FROM::rows == ROWS : FROM::columns == COLUMNS);
    template <typename FROM> static __TB_FN ushort map(ushort i)
    {
        if constexpr (FROM::kind == kind)
            return i;
        else if constexpr (OF_ROWS)
            return ushort(i / 8 / FROM::width * 2 + (i >> 2) % 2);
        else
            return ushort(i / 8 % FROM::width * 4 + i % 4);
    }
};
} // namespace __tombac
