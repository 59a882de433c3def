/* Runs of adjacent elements, one run per lane, by wide accesses and permutes inside registers.
 *
 * Takes where the lanes' runs lie (strides per lane bit, or one address per lane); promises each element as a
 * vector over the lanes, or stores it. Rows are the distinct runs. Sorted by stride they stand in memory
 * order; rows that continue each other are read by one access. Pieces of one register are filled, then
 * log2(run) rounds of even/odd splits separate the elements, and one permutation brings rows into lane order
 * (and copies them where lanes share a row). Stores do the inverse. Only bytes of runs are touched. */
#include "compiler/cpu/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_PIECES = 1024, /* elements of one call: 32 lanes by 32 elements */
    SHORTEST_CONVERSION = 8
};

typedef struct layout {
    int rows;
    int64_t offset[LANES]; /* of each row, in memory order as far as strides tell */
    int row_of_lane[LANES];
    int adjacent; /* rows in one stretch, a power of two */
} layout;

static layout find_layout(const cpu_run *r)
{
    layout l = {.adjacent = 1};
    int bits = __builtin_ctz((unsigned)r->lanes), order[LANE_BITS], count = 0;
    if (r->rows) {
        l.rows = r->lanes;
        for (int i = 0; i < r->lanes; i++) l.row_of_lane[i] = i;
        return l;
    }
    for (int b = 0; b < bits; b++) {
        if (!r->shape->stride[b]) continue;
        int i = count++;
        for (; i > 0 && llabs(r->shape->stride[order[i - 1]]) > llabs(r->shape->stride[b]); i--)
            order[i] = order[i - 1];
        order[i] = b;
    }
    l.rows = 1 << count;
    for (int row = 0; row < l.rows; row++)
        for (int i = 0; i < count; i++)
            if (row >> i & 1) l.offset[row] += r->shape->stride[order[i]];
    for (int lane = 0; lane < r->lanes; lane++)
        for (int i = 0; i < count; i++)
            if (lane >> order[i] & 1) l.row_of_lane[lane] |= 1 << i;
    int64_t bytes = (int64_t)r->run * r->size;
    for (int i = 0; i < count && r->shape->stride[order[i]] == bytes << i; i++) l.adjacent *= 2;
    return l;
}

static LLVMValueRef element_address(cpu_kernel *k, const cpu_run *r, const layout *l, int element)
{
    int row = element / r->run;
    int64_t offset = r->first + l->offset[row] + (int64_t)(element % r->run) * r->size;
    return cpu_at(k, r->rows ? r->rows[row] : r->base, offset);
}

/* Bytes of an element in a register. */
static int register_size(const cpu_run *r)
{
    return r->widen ? 4 : r->size;
}

/* Elements per register for `total` elements in memory order. */
static int piece_length(const cpu_kernel *k, const cpu_run *r, const layout *l, int total)
{
    int length = k->piece_bytes / register_size(r);
    if (r->run > 1 && length > l->rows) length = l->rows;
    return length > total ? total : length;
}

static LLVMValueRef widened(cpu_kernel *k, const cpu_run *r, LLVMValueRef part)
{
    if (!r->widen) return part;
    LLVMTypeRef floats = LLVMVectorType(k->f32, LLVMGetVectorSize(LLVMTypeOf(part)));
    return LLVMBuildFPExt(k->builder, cpu_cast_vector(k, part, LLVMHalfTypeInContext(k->context)), floats, "");
}

static LLVMValueRef load_piece(cpu_kernel *k, const cpu_run *r, const layout *l, int from, int length)
{
    int stretch = r->run * l->adjacent, width = stretch < length ? stretch : length;
    LLVMValueRef parts[64], piece;
    LLVMTypeRef type = width == 1 ? r->element : LLVMVectorType(r->element, (unsigned)width);
    for (int i = 0; i < length / width; i++)
        parts[i] = cpu_load_at(k, type, element_address(k, r, l, from + i * width), r->align);
    if (width >= SHORTEST_CONVERSION) { /* those of memory need no permute */
        for (int i = 0; i < length / width; i++) parts[i] = widened(k, r, parts[i]);
        return cpu_concat(k, parts, length / width, width);
    }
    if (width > 1) return widened(k, r, cpu_concat(k, parts, length / width, width));
    piece = LLVMGetPoison(LLVMVectorType(r->element, (unsigned)length));
    for (int i = 0; i < length; i++)
        piece = LLVMBuildInsertElement(k->builder, piece, parts[i], cpu_int(k->i32, (uint64_t)i), "");
    return widened(k, r, piece);
}

/* Lest LLVM permutes halves, which is slower, and converts them then. */
static LLVMValueRef keep(cpu_kernel *k, LLVMValueRef piece)
{
    LLVMTypeRef type = LLVMTypeOf(piece), element = LLVMGetElementType(type);
    if (element != k->f32) return piece;
    return cpu_intrinsic(k, "llvm.arithmetic.fence", &type, 1, &piece, 1);
}

/* Runs as long as a register, in two halves: the inserts that put two lanes' halves side by side take them from memory, and
 * save a round of permutes. */
static void load_halves(cpu_kernel *k, const cpu_run *r, LLVMValueRef *elements)
{
    for (int i = 0; i < 2; i++) {
        cpu_run half = *r;
        half.run = r->run / 2;
        half.first = r->first + (int64_t)i * half.run * r->size;
        cpu_run_load(k, &half, elements + i * half.run);
    }
}

/* Elements of less than four bytes: whole words of them are separated first, since permutations of words are three times as
 * fast as those of halves and bytes; each word's elements then by one. */
static void load_narrow(cpu_kernel *k, const cpu_run *r, LLVMValueRef *elements)
{
    LLVMValueRef words[LANES];
    int per_word = 4 / r->size, index[LANES];
    cpu_run wide = *r;
    wide.element = k->i32;
    wide.size = 4;
    wide.run = r->run / per_word;
    cpu_run_load(k, &wide, words);
    LLVMTypeRef type = LLVMVectorType(r->element, (unsigned)(r->lanes * per_word));
    for (int w = 0; w < wide.run; w++) {
        LLVMValueRef parts = LLVMBuildBitCast(k->builder, words[w], type, "");
        for (int e = 0; e < per_word; e++) {
            for (int i = 0; i < r->lanes; i++) index[i] = i * per_word + e;
            elements[w * per_word + e] = cpu_shuffle(k, parts, NULL, index, r->lanes);
        }
    }
}

/* Every other lane, from `odd` on, of words in place of elements. */
static void load_words(cpu_kernel *k, const cpu_run *r, int odd, LLVMValueRef *words)
{
    LLVMValueRef addresses[LANES / 2];
    cpu_shape shape = r->rows ? (cpu_shape){0} : *r->shape;
    cpu_run w = *r;
    w.element = k->i32, w.size = 4, w.widen = false;
    w.run = r->run * r->size / 4;
    w.lanes = r->lanes / 2;
    if (odd && !r->rows) w.first += shape.stride[0];
    for (int b = 0; b + 1 < LANE_BITS; b++) shape.stride[b] = shape.stride[b + 1];
    w.shape = &shape;
    for (int i = 0; r->rows && i < w.lanes; i++) addresses[i] = r->rows[2 * i + odd];
    if (r->rows) w.rows = addresses;
    cpu_run_load(k, &w, words);
}

/* LLVM must not know that one half of each word is zero: it would make a permutation of 16-bit numbers of the two. */
static LLVMValueRef half_words(cpu_kernel *k, LLVMValueRef a, LLVMValueRef b, int lanes)
{
    if (k->piece_bytes == 64) b = cpu_hide(k, b);
    LLVMTypeRef halves = LLVMVectorType(LLVMHalfTypeInContext(k->context), (unsigned)lanes);
    LLVMValueRef both = LLVMBuildBitCast(k->builder, LLVMBuildOr(k->builder, a, b, ""), halves, "");
    return LLVMBuildFPExt(k->builder, both, LLVMVectorType(k->f32, (unsigned)lanes), "");
}

static LLVMValueRef words(LLVMTypeRef type, uint64_t x)
{
    LLVMValueRef element[LANES];
    unsigned count = LLVMGetVectorSize(type);
    for (unsigned i = 0; i < count; i++) element[i] = cpu_int(LLVMGetElementType(type), x);
    return LLVMConstVector(element, count);
}

/* Long runs of halves: words are put in order first, those of even lanes and of odd lanes apart; then a shift and a blend make
 * a vector of halves in the lanes' order. Fewer permutes than if floats were put in order. */
static void load_pairs(cpu_kernel *k, const cpu_run *r, LLVMValueRef *elements)
{
    LLVMValueRef even[LANES], odd[LANES];
    LLVMBuilderRef b = k->builder;
    load_words(k, r, 0, even);
    load_words(k, r, 1, odd);
    LLVMTypeRef type = LLVMTypeOf(even[0]);
    LLVMValueRef low = words(type, 0xffff), high = words(type, 0xffff0000), sixteen = words(type, 16);
    for (int i = 0; i < r->run / 2; i++) {
        elements[2 * i] = half_words(k, LLVMBuildAnd(b, even[i], low, ""), LLVMBuildShl(b, odd[i], sixteen, ""), r->lanes);
        elements[2 * i + 1] = half_words(k, LLVMBuildAnd(b, odd[i], high, ""), LLVMBuildLShr(b, even[i], sixteen, ""), r->lanes);
    }
}

/* Are the upper half of the lanes a stretch of memory of its own, of a register or more for each element? */
static bool lanes_divide(const cpu_kernel *k, const cpu_run *r)
{
    int bits = __builtin_ctz((unsigned)r->lanes);
    if (r->lanes * register_size(r) <= k->piece_bytes || r->run == 1) return false;
    if (r->rows) return true;
    for (int b = 0; b < bits; b++)
        if (!r->shape->stride[b] || llabs(r->shape->stride[b]) > llabs(r->shape->stride[bits - 1])) return false;
    return true;
}

/* One half of the lanes after the other, so that as few registers as possible are in use at a time. */
static void load_lanes_apart(cpu_kernel *k, const cpu_run *r, LLVMValueRef *elements)
{
    LLVMValueRef parts[2][64];
    int lanes = r->lanes / 2;
    for (int i = 0; i < 2; i++) {
        cpu_run half = *r;
        half.lanes = lanes;
        if (i && r->rows) half.rows = r->rows + lanes;
        if (i && !r->rows) half.first += r->shape->stride[__builtin_ctz((unsigned)lanes)];
        cpu_run_load(k, &half, parts[i]);
    }
    for (int e = 0; e < r->run; e++) {
        LLVMValueRef both[2] = {parts[0][e], parts[1][e]};
        elements[e] = cpu_concat(k, both, 2, lanes);
    }
}

void cpu_run_load(cpu_kernel *k, const cpu_run *r, LLVMValueRef *elements)
{
    if (r->size < 4 && r->run > 4 / r->size && !r->widen) {
        load_narrow(k, r, elements);
        return;
    }
    if (r->widen && r->run * r->size >= 32 && r->lanes > 1) {
        load_pairs(k, r, elements);
        return;
    }
    if (!r->widen && r->lanes > 1 && r->run * r->size >= k->piece_bytes) {
        load_halves(k, r, elements);
        return;
    }
    if (lanes_divide(k, r)) {
        load_lanes_apart(k, r, elements);
        return;
    }
    layout l = find_layout(r);
    int total = l.rows * r->run, length = piece_length(k, r, &l, total), pieces = total / length;
    LLVMValueRef *current = cpu_alloc(&k->job, MAX_PIECES, sizeof *current);
    LLVMValueRef *next = cpu_alloc(&k->job, MAX_PIECES, sizeof *next);
    int even[64], odd[64], element_of[LANES] = {0}, streams = 1;
    for (int i = 0; i < pieces; i++) current[i] = keep(k, load_piece(k, r, &l, i * length, length));
    for (int i = 0; i < length; i++) even[i] = 2 * i, odd[i] = 2 * i + 1;
    for (int step = 1; step < r->run; step *= 2) { /* every stream splits into its even and odd elements */
        int half = pieces / 2, of[LANES];
        for (int s = 0; s < streams; s++) {
            for (int i = 0; i < half; i++) {
                LLVMValueRef *pair = current + s * pieces + 2 * i;
                next[2 * s * half + i] = cpu_shuffle(k, pair[0], pair[1], even, length);
                next[(2 * s + 1) * half + i] = cpu_shuffle(k, pair[0], pair[1], odd, length);
            }
            of[2 * s] = element_of[s];
            of[2 * s + 1] = element_of[s] + step;
        }
        streams *= 2;
        pieces = half;
        memcpy(element_of, of, sizeof(int) * (size_t)streams);
        LLVMValueRef *swap = current;
        current = next, next = swap;
    }
    bool in_order = l.rows == r->lanes;
    for (int i = 0; i < r->lanes; i++) in_order &= l.row_of_lane[i] == i;
    for (int s = 0; s < streams; s++) {
        LLVMValueRef vector = cpu_concat(k, current + s * pieces, pieces, length);
        elements[element_of[s]] = in_order ? vector : cpu_shuffle(k, vector, NULL, l.row_of_lane, r->lanes);
    }
}

static void store_piece(
    cpu_kernel *k, const cpu_run *r, const layout *l, int from, int length, LLVMValueRef piece)
{
    int stretch = r->run * l->adjacent, width = stretch < length ? stretch : length;
    for (int i = 0; i < length; i += width) {
        LLVMValueRef part = piece;
        if (width == 1)
            part = LLVMBuildExtractElement(k->builder, piece, cpu_int(k->i32, (uint64_t)i), "");
        else if (width < length)
            part = cpu_slice(k, piece, i, width);
        cpu_store_at(k, part, element_address(k, r, l, from + i), r->align);
    }
}

/* Lanes must not share a row. */
void cpu_run_store(cpu_kernel *k, const cpu_run *r, const LLVMValueRef *elements)
{
    layout l = find_layout(r);
    int length = k->piece_bytes / r->size, lane_of_row[LANES] = {0}, low[64], high[64], streams = r->run;
    if (length > l.rows) length = l.rows;
    int pieces = l.rows / length;
    LLVMValueRef *current = cpu_alloc(&k->job, MAX_PIECES, sizeof *current);
    LLVMValueRef *next = cpu_alloc(&k->job, MAX_PIECES, sizeof *next);
    bool in_order = true;
    for (int i = 0; i < r->lanes; i++) lane_of_row[l.row_of_lane[i]] = i;
    for (int i = 0; i < l.rows; i++) in_order &= lane_of_row[i] == i;
    for (int e = 0; e < r->run; e++) {
        LLVMValueRef vector = in_order ? elements[e] : cpu_shuffle(k, elements[e], NULL, lane_of_row, l.rows);
        for (int i = 0; i < pieces; i++) current[e * pieces + i] = cpu_slice(k, vector, i * length, length);
    }
    for (int i = 0; i < length; i++) {
        low[i] = (i & 1) * length + i / 2;
        high[i] = low[i] + length / 2;
    }
    for (; streams > 1;
        streams /= 2, pieces *= 2) { /* zip stream s with stream s + half: the splits backwards */
        int half = streams / 2;
        for (int s = 0; s < half; s++)
            for (int i = 0; i < pieces; i++) {
                LLVMValueRef a = current[s * pieces + i], b = current[(s + half) * pieces + i];
                LLVMValueRef *to = next + 2 * (s * pieces + i);
                to[0] = cpu_shuffle(k, a, b, low, length);
                to[1] = cpu_shuffle(k, a, b, high, length);
            }
        LLVMValueRef *swap = current;
        current = next, next = swap;
    }
    for (int i = 0; i < l.rows * r->run / length; i++) store_piece(k, r, &l, i * length, length, current[i]);
}
