/* Layouts of 8x8 matrices in registers.
 *
 * The lanes' layout is Apple's (docs/operations.md): two vectors of 32, the two elements of each lane. Products work on
 * rows: piece after piece of 16 floats, in which row r of all matrices of a bundle precedes row r + 1. From one to
 * the other are two rounds of two-register permutes; of constants nothing is left.
 *
 * A bundle's values are kept as rows wherever they live, in slots and across barriers. cpu_vector gives the
 * lanes' layout of such a value to whoever asks. */
#include "compiler/cpu/matrix.h"

int cpu_matrix_row(int lane)
{
    return (lane / 4 & 4) + lane / 2 % 4;
}

int cpu_matrix_column(int lane)
{
    return (lane / 4 & 2) * 2 + lane % 2 * 2;
}

int cpu_matrix_lane(int row, int column)
{
    return (row & 4) * 4 + (row & 3) * 2 + (column & 4) * 2 + column / 2 % 2;
}

/* ---- Pieces ---- */

enum { PIECE = 16, HALF = 8 };

/* Rows 2 q and 2 q + 1 of one matrix. */
static LLVMValueRef two_rows(cpu_kernel *k, const LLVMValueRef *lanes, int q)
{
    int index[PIECE], first = q / 2 * PIECE; /* rows 0 to 3 are in lanes 0 to 15 */
    for (int i = 0; i < PIECE; i++)
        index[i] = cpu_matrix_lane(2 * q + i / 8, i & 6) - first + (i & 1) * PIECE;
    return cpu_shuffle(
        k, cpu_slice(k, lanes[0], first, PIECE), cpu_slice(k, lanes[1], first, PIECE), index, PIECE);
}

/* The lower or upper halves of both. */
static LLVMValueRef halves(cpu_kernel *k, LLVMValueRef a, LLVMValueRef b, int half)
{
    int index[PIECE];
    for (int i = 0; i < PIECE; i++) index[i] = i % HALF + half * HALF + i / HALF * PIECE;
    return cpu_shuffle(k, a, b, index, PIECE);
}

void cpu_rows_of_lanes(cpu_kernel *k, const LLVMValueRef *lanes, int count, LLVMValueRef *pieces)
{
    for (int q = 0; q < 4; q++)
        for (int j = 0; j < count; j += 2) {
            LLVMValueRef a = two_rows(k, lanes + 2 * j, q);
            if (count == 1) {
                pieces[q] = a;
                continue;
            }
            LLVMValueRef b = two_rows(k, lanes + 2 * j + 2, q);
            for (int half = 0; half < 2; half++)
                pieces[(2 * q + half) * (count / 2) + j / 2] = halves(k, a, b, half);
        }
}

/* The lanes' elements e of rows 4 h to 4 h + 3, of two pieces that are these rows of one matrix. */
static LLVMValueRef half_lanes(cpu_kernel *k, LLVMValueRef a, LLVMValueRef b, int e)
{
    int index[PIECE];
    for (int lane = 0; lane < PIECE; lane++) {
        int row = cpu_matrix_row(lane);
        index[lane] = row / 2 * PIECE + row % 2 * HALF + cpu_matrix_column(lane) + e;
    }
    return cpu_shuffle(k, a, b, index, PIECE);
}

void cpu_lanes_of_rows(cpu_kernel *k, const LLVMValueRef *pieces, int count, LLVMValueRef *lanes)
{
    for (int j = 0; j < count; j++) {
        LLVMValueRef own[4];
        for (int q = 0; q < 4; q++) {
            if (count == 1)
                own[q] = pieces[q];
            else
                own[q] = halves(k, pieces[2 * q * (count / 2) + j / 2], pieces[(2 * q + 1) * (count / 2) + j / 2],
                    j % 2);
        }
        for (int e = 0; e < 2; e++) {
            LLVMValueRef parts[2] = {half_lanes(k, own[0], own[1], e), half_lanes(k, own[2], own[3], e)};
            lanes[2 * j + e] = cpu_concat(k, parts, 2, PIECE);
        }
    }
}

/* ---- Bundles ---- */

/* The bundle whose members are exactly these values; NULL: none. */
static cpu_bundle *bundle_of(const cpu_kernel *k, const LLVMValueRef *elements, int count)
{
    const cpu_value *first = cpu_value_of(k, elements[0]);
    cpu_bundle *bundle = first ? first->bundle : NULL;
    if (!bundle || bundle->count != count) return NULL;
    for (int i = 0; i < 2 * count; i++)
        if (bundle->member[i]->ir != elements[i]) return NULL;
    return bundle;
}

static void split_rows(cpu_kernel *k, const cpu_bundle *bundle, LLVMValueRef *pieces)
{
    for (int i = 0; i < 2 * bundle->count; i++) {
        LLVMValueRef held = cpu_held(k, bundle->member[i]);
        for (int half = 0; half < 2; half++) pieces[2 * i + half] = cpu_slice(k, held, half * PIECE, PIECE);
    }
}

void cpu_pieces_of(cpu_kernel *k, const LLVMValueRef *elements, int count, LLVMValueRef *pieces)
{
    cpu_bundle *bundle = bundle_of(k, elements, count);
    LLVMValueRef lanes[2 * MAX_TILE];
    if (bundle) {
        split_rows(k, bundle, pieces);
        return;
    }
    for (int i = 0; i < 2 * count; i++) lanes[i] = cpu_vector(k, elements[i]);
    cpu_rows_of_lanes(k, lanes, count, pieces);
}

LLVMValueRef cpu_bundle_vector(cpu_kernel *k, cpu_value *value)
{
    cpu_bundle *bundle = value->bundle;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(k->builder);
    if (bundle->own_block != here) {
        LLVMValueRef pieces[4 * MAX_TILE];
        split_rows(k, bundle, pieces);
        cpu_lanes_of_rows(k, pieces, bundle->count, bundle->own);
        bundle->own_block = here;
    }
    return bundle->own[value->place];
}

LLVMValueRef cpu_bundle_incoming(cpu_kernel *k, cpu_value *phi, cpu_incoming *incoming, int from)
{
    cpu_bundle *bundle = phi->bundle;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(k->builder);
    if (bundle->edge_block != here) {
        LLVMValueRef elements[2 * MAX_TILE], pieces[4 * MAX_TILE];
        for (int i = 0; i < 2 * bundle->count; i++) elements[i] = incoming(k, bundle->member[i]->ir, from);
        const cpu_bundle *same = bundle_of(k, elements, bundle->count);
        if (!same) cpu_pieces_of(k, elements, bundle->count, pieces);
        for (int i = 0; i < 2 * bundle->count; i++)
            bundle->edge[i] = same ? cpu_held(k, same->member[i]) : cpu_concat(k, pieces + 2 * i, 2, PIECE);
        bundle->edge_block = here;
    }
    return bundle->edge[phi->place];
}
