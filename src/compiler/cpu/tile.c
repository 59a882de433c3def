/* Matrix products as vector code: tiles of sums that stay in registers.
 *
 * Takes a batch of matrix.c; emits, for every tile, row r of its sums += left[r][k] * row k of the right operands, for
 * all products of its chains in order and k = 0...7: what docs/operations.md demands, by fma, element for element. The
 * left element is broadcast from memory, the row is a load of up to 16 adjacent floats, so that the multiplications
 * need no permute (the form of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008).
 * A left operand that is not in memory as float is put there as it is; rows of a right operand that is not are made
 * once per batch. Where a kernel has very many products, each is a call (product.c). */
#include "compiler/cpu/matrix.h"

enum { PIECE = 16, HALF = 8, MATRIX = 64 };

typedef struct emission {
    cpu_kernel *k;
    const struct cpu_batch *batch;
    int scratch; /* homes used */
} emission;

/* ---- Memory ---- */

/* The same address, but nobody knows: else the loads of single elements would be taken from wider loads and stores of
 * the same memory, by permutes. */
static LLVMValueRef hide(cpu_kernel *k, LLVMValueRef address)
{
    LLVMTypeRef types[2] = {k->ptr, k->i32}, type = LLVMFunctionType(k->ptr, types, 2, 0);
    static const char constraints[] = "=r,0,i";
    LLVMValueRef code = LLVMGetInlineAsm(
        type, "", 0, constraints, sizeof constraints - 1, 0, 0, LLVMInlineAsmDialectATT, 0);
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(address)))
        address = LLVMBuildAddrSpaceCast(k->builder, address, k->ptr, "");
    LLVMValueRef arguments[2] = {address, cpu_int(k->i32, (uint64_t)k->hidden++)}; /* no two are the same */
    LLVMValueRef call = LLVMBuildCall2(k->builder, type, code, arguments, 2, "");
    static const char *const attributes[] = {"nounwind", "memory", "willreturn"};
    for (int i = 0; i < 3; i++)
        LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, cpu_attribute(k, attributes[i], 0));
    return call;
}

static LLVMValueRef place_of(cpu_kernel *k, const cpu_matrix *m)
{
    return cpu_scalar(k, m->place, 0, 1);
}

/* Elements from memory as floats. */
static LLVMValueRef widen(cpu_kernel *k, const cpu_matrix *m, LLVMValueRef vector)
{
    unsigned count = LLVMGetVectorSize(LLVMTypeOf(vector));
    LLVMTypeRef floats = LLVMVectorType(k->f32, count);
    switch (LLVMGetTypeKind(m->type)) {
    case LLVMHalfTypeKind: return LLVMBuildFPExt(k->builder, vector, floats, "");
    case LLVMIntegerTypeKind: break;
    default: return vector;
    }
    LLVMValueRef sixteen[PIECE];
    for (unsigned i = 0; i < count; i++) sixteen[i] = cpu_int(k->i32, 16);
    LLVMValueRef bits = LLVMBuildZExt(k->builder, vector, LLVMVectorType(k->i32, count), "");
    bits = LLVMBuildShl(k->builder, bits, LLVMConstVector(sixteen, count), "");
    return LLVMBuildBitCast(k->builder, bits, floats, "");
}

static LLVMValueRef load_line(
    cpu_kernel *k, const cpu_matrix *m, LLVMValueRef place, int64_t offset, unsigned count)
{
    return cpu_load_at(k, LLVMVectorType(m->type, count), cpu_at(k, place, offset), m->align);
}

/* Two lines of 8 elements, `stride` bytes apart. */
static LLVMValueRef load_lines(cpu_kernel *k, const cpu_matrix *m, LLVMValueRef place, int64_t from, int64_t stride)
{
    LLVMValueRef parts[2];
    if (stride == HALF * (int64_t)LLVMABISizeOfType(k->layout, m->type))
        return widen(k, m, load_line(k, m, place, from, PIECE));
    for (int i = 0; i < 2; i++) parts[i] = load_line(k, m, place, from + i * stride, HALF);
    return widen(k, m, cpu_concat(k, parts, 2, HALF));
}

/* ---- Left operands ---- */

static LLVMValueRef scratch(emission *e)
{
    cpu_kernel *k = e->k;
    if (e->scratch == k->scratch_count) {
        LLVMValueRef *all = cpu_alloc(&k->job, (size_t)k->scratch_count + 1, sizeof *all);
        for (int i = 0; i < k->scratch_count; i++) all[i] = k->scratch[i];
        all[k->scratch_count++] = cpu_alloca(k, LLVMVectorType(k->f32, MATRIX), "left");
        k->scratch = all;
    }
    return k->scratch[e->scratch++];
}

static void store_lines(cpu_kernel *k, const cpu_matrix *m, LLVMValueRef home, int64_t stride)
{
    LLVMValueRef place = place_of(k, m);
    for (int q = 0; q < 4; q++)
        cpu_store_at(k, load_lines(k, m, place, 2 * q * stride, stride), cpu_at(k, home, 4 * PIECE * q), MATRIX);
}

/* Sees to it that the elements of a left operand, or of any where products are calls, are in memory as floats. */
static void find_home(emission *e, cpu_matrix *m)
{
    cpu_kernel *k = e->k;
    if (m->batch == e->batch) return;
    m->batch = e->batch;
    bool is_float = m->direct && LLVMGetTypeKind(m->type) == LLVMFloatTypeKind;
    m->home = is_float ? place_of(k, m) : scratch(e);
    if (is_float) {
        m->home_row = m->row;
        m->home_column[0] = 2 * m->column;
        m->home_column[1] = m->column;
    } else if (m->direct && m->column < 4) { /* bytes of an element: rows are lines */
        store_lines(k, m, m->home, m->row);
        m->home_row = 4 * HALF;
        m->home_column[0] = 8;
        m->home_column[1] = 4;
    } else if (m->direct) {
        store_lines(k, m, m->home, m->column);
        m->home_row = 4;
        m->home_column[0] = 8 * HALF;
        m->home_column[1] = 4 * HALF;
    } else { /* as the lanes have them: home_row is 0 */
        for (int i = 0; i < 2; i++)
            cpu_store_at(k, cpu_vector(k, m->element[i]), cpu_at(k, m->home, 4 * LANES * i), MATRIX);
    }
}

static int64_t left_offset(const cpu_matrix *m, int row, int column)
{
    if (!m->home_row) return 4 * (LANES * (column & 1) + cpu_matrix_lane(row, column & 6));
    return row * m->home_row + column / 2 * m->home_column[0] + column % 2 * m->home_column[1];
}

LLVMValueRef cpu_left_element(
    cpu_kernel *k, const cpu_matrix *m, LLVMValueRef home, int row, int column, unsigned width)
{
    static const int zeros[PIECE];
    LLVMValueRef element = cpu_load_at(k, k->f32, cpu_at(k, home, left_offset(m, row, column)), 4);
    LLVMTypeRef type = LLVMVectorType(k->f32, width);
    element = LLVMBuildInsertElement(k->builder, LLVMGetPoison(type), element, cpu_int(k->i32, 0), "");
    return cpu_shuffle(k, element, NULL, zeros, (int)width);
}

/* ---- Right operands ---- */

/* Do the rows of b go on where those of a end? */
static bool go_on(const cpu_kernel *k, const cpu_matrix *a, const cpu_matrix *b)
{
    cpu_canonical x = cpu_canonical_address(k, a->place), y = cpu_canonical_address(k, b->place);
    return a->type == b->type && a->row == b->row && cpu_canonical_matches(&x, &y) &&
           y.constant - x.constant == HALF * a->column;
}

static LLVMValueRef load_row(cpu_kernel *k, cpu_matrix *const *pair, const LLVMValueRef *place, int row)
{
    LLVMValueRef parts[2];
    if (!pair[1]) return widen(k, pair[0], load_line(k, pair[0], place[0], row * pair[0]->row, HALF));
    if (go_on(k, pair[0], pair[1]))
        return widen(k, pair[0], load_line(k, pair[0], place[0], row * pair[0]->row, PIECE));
    for (int i = 0; i < 2; i++) parts[i] = load_line(k, pair[i], place[i], row * pair[i]->row, HALF);
    if (pair[0]->type == pair[1]->type) return widen(k, pair[0], cpu_concat(k, parts, 2, HALF));
    for (int i = 0; i < 2; i++) parts[i] = widen(k, pair[i], parts[i]);
    return cpu_concat(k, parts, 2, HALF);
}

/* The row of each by itself, side by side. */
static LLVMValueRef mixed_row(cpu_kernel *k, cpu_matrix *const *pair, int row)
{
    LLVMValueRef parts[2];
    for (int i = 0; i < 2 && pair[i]; i++) {
        const cpu_matrix *m = pair[i];
        if (m->direct) {
            parts[i] = widen(k, m, load_line(k, m, place_of(k, m), row * m->row, HALF));
            continue;
        }
        LLVMValueRef lanes[2] = {cpu_vector(k, m->element[0]), cpu_vector(k, m->element[1])}, pieces[4];
        cpu_rows_of_lanes(k, lanes, 1, pieces);
        parts[i] = cpu_slice(k, pieces[row / 2], row % 2 * HALF, HALF);
    }
    return pair[1] ? cpu_concat(k, parts, 2, HALF) : parts[0];
}

/* Rows of one or two matrices side by side, made once per batch. */
static const LLVMValueRef *made_rows(emission *e, cpu_matrix *const *pair)
{
    cpu_kernel *k = e->k;
    cpu_matrix *m = pair[0];
    if (m->rows_batch == e->batch && m->partner == pair[1]) return m->rows;
    m->rows_batch = e->batch;
    m->partner = pair[1];
    m->rows = cpu_alloc(&k->job, 8, sizeof *m->rows); /* those of another partner may be in use */
    if (m->direct && (!pair[1] || pair[1]->direct)) {
        LLVMValueRef place[2];
        for (int i = 0; i < 2 && pair[i]; i++) place[i] = place_of(k, pair[i]);
        for (int row = 0; row < 8; row++) m->rows[row] = load_row(k, pair, place, row);
        return m->rows;
    }
    LLVMValueRef lanes[4], pieces[8];
    bool two = pair[1] && !m->direct && !pair[1]->direct;
    if (two) {
        for (int i = 0; i < 4; i++) lanes[i] = cpu_vector(k, pair[i / 2]->element[i % 2]);
        cpu_rows_of_lanes(k, lanes, 2, pieces);
    }
    for (int row = 0; row < 8; row++) m->rows[row] = two ? pieces[row] : mixed_row(k, pair, row);
    return m->rows;
}

/* ---- Tiles ---- */

typedef struct sums {
    int width, across; /* floats of a piece, pieces of a row */
    LLVMValueRef row[8][MAX_TILE / 2];
} sums;

static void begin(cpu_kernel *k, const cpu_tile *tile, sums *s)
{
    LLVMValueRef start[2 * MAX_TILE], pieces[4 * MAX_TILE];
    for (int i = 0; i < 2 * tile->count; i++) start[i] = tile->chain[i / 2]->start[i % 2];
    cpu_pieces_of(k, start, tile->count, pieces);
    s->width = tile->count == 1 ? HALF : PIECE;
    s->across = tile->count == 1 ? 1 : tile->count / 2;
    for (int r = 0; r < 8; r++)
        for (int i = 0; i < s->across; i++)
            s->row[r][i] =
                tile->count == 1 ? cpu_slice(k, pieces[r / 2], r % 2 * HALF, HALF) : pieces[r * s->across + i];
}

/* Row `row` of the right operands, in pieces. */
typedef struct right_rows {
    cpu_matrix *pair[2];
    LLVMValueRef place[2];
    const LLVMValueRef *made; /* NULL: loaded each time */
} right_rows;

static bool is_loaded(const cpu_matrix *m)
{
    return !m || (m->direct && LLVMGetTypeKind(m->type) == LLVMFloatTypeKind);
}

static void find_right(emission *e, const cpu_tile *tile, cpu_product *const *at, int piece, right_rows *rows)
{
    *rows = (right_rows){.pair = {at[2 * piece]->right, tile->count > 1 ? at[2 * piece + 1]->right : NULL}};
    if (is_loaded(rows->pair[0]) && is_loaded(rows->pair[1])) {
        for (int i = 0; i < 2 && rows->pair[i]; i++) rows->place[i] = hide(e->k, place_of(e->k, rows->pair[i]));
    } else {
        rows->made = made_rows(e, rows->pair);
    }
}

/* Rows `from` to `to` - 1 of the sums, through one product of each chain. */
static void add_products(
    emission *e, const cpu_tile *tile, cpu_product *const *at, int from, int to, sums *s)
{
    cpu_kernel *k = e->k;
    const cpu_matrix *left = at[0]->left;
    LLVMValueRef home = hide(k, left->home), row[MAX_TILE / 2];
    LLVMTypeRef type = LLVMVectorType(k->f32, (unsigned)s->width);
    right_rows rights[MAX_TILE / 2];
    for (int i = 0; i < s->across; i++) find_right(e, tile, at, i, &rights[i]);
    for (int depth = 0; depth < 8; depth++) {
        for (int i = 0; i < s->across; i++)
            row[i] = rights[i].made ? rights[i].made[depth]
                                    : load_row(k, rights[i].pair, rights[i].place, depth);
        for (int r = from; r < to; r++) {
            LLVMValueRef element = cpu_left_element(k, left, home, r, depth, (unsigned)s->width);
            for (int i = 0; i < s->across; i++) {
                LLVMValueRef arguments[3] = {element, row[i], s->row[r][i]};
                s->row[r][i] = cpu_intrinsic(k, "llvm.fma", &type, 1, arguments, 3);
            }
        }
    }
}

static void define_in_lanes(cpu_kernel *k, const cpu_product *end, const LLVMValueRef *lanes)
{
    for (int e = 0; e < 2; e++)
        if (end->result[e]) cpu_define(k, end->result[e], 0, lanes[e]);
    if (!end->whole) return;
    LLVMValueRef both = LLVMGetPoison(cpu_vector_type(k, LLVMTypeOf(end->value->ir)));
    for (unsigned e = 0; e < 2; e++) both = LLVMBuildInsertValue(k->builder, both, lanes[e], e, "");
    cpu_define(k, end->value, 0, both);
}

static void end(cpu_kernel *k, const cpu_tile *tile, cpu_product *const *last, const sums *s)
{
    LLVMValueRef pieces[4 * MAX_TILE], lanes[2 * MAX_TILE];
    for (int r = 0; r < 8; r++)
        for (int i = 0; i < s->across && s->width == PIECE; i++) pieces[r * s->across + i] = s->row[r][i];
    for (int q = 0; q < 4 && s->width == HALF; q++) {
        LLVMValueRef rows[2] = {s->row[2 * q][0], s->row[2 * q + 1][0]};
        pieces[q] = cpu_concat(k, rows, 2, HALF);
    }
    if (!tile->result) {
        cpu_lanes_of_rows(k, pieces, tile->count, lanes);
        for (int j = 0; j < tile->count; j++) define_in_lanes(k, last[j], lanes + 2 * j);
        return;
    }
    for (int i = 0; i < 2 * tile->count; i++)
        cpu_define(k, tile->result->member[i], 0, cpu_concat(k, pieces + 2 * i, 2, PIECE));
}

static void emit_tile(emission *e, const cpu_tile *tile)
{
    cpu_kernel *k = e->k;
    cpu_product *at[MAX_TILE], *last[MAX_TILE] = {NULL};
    int height = k->piece_bytes == 64 ? 8 : 4; /* rows whose sums the registers hold */
    sums s;
    begin(k, tile, &s);
    for (cpu_product *p = tile->chain[0]; p; p = p->next) find_home(e, p->left);
    for (int from = 0; from < 8; from += height) {
        for (int j = 0; j < tile->count; j++) at[j] = tile->chain[j];
        while (at[0]) {
            add_products(e, tile, at, from, from + height, &s);
            for (int j = 0; j < tile->count; j++) {
                last[j] = at[j];
                at[j] = at[j]->next;
            }
        }
    }
    end(k, tile, last, &s);
}

/* Each product of the tile is a call. */
static void call_products(emission *e, const cpu_tile *tile)
{
    cpu_kernel *k = e->k;
    for (int j = 0; j < tile->count; j++) {
        const cpu_product *last = tile->chain[j];
        LLVMTypeRef type = LLVMVectorType(k->f32, LANES);
        LLVMValueRef sum = scratch(e), lanes[2];
        for (int i = 0; i < 2; i++)
            cpu_store_at(k, cpu_vector(k, last->start[i]), cpu_at(k, sum, 4 * LANES * i), MATRIX);
        for (const cpu_product *p = last; p; p = p->next) {
            find_home(e, p->left);
            find_home(e, p->right);
            cpu_call_product(k, p->left, p->right, sum);
            last = p;
        }
        for (int i = 0; i < 2; i++) lanes[i] = cpu_load_at(k, type, cpu_at(k, sum, 4 * LANES * i), MATRIX);
        define_in_lanes(k, last, lanes);
    }
}

void cpu_emit_batch(cpu_kernel *k, const struct cpu_batch *batch)
{
    emission e = {.k = k, .batch = batch};
    for (const cpu_tile *tile = batch->tiles; tile; tile = tile->next) {
        if (k->products_called)
            call_products(&e, tile);
        else
            emit_tile(&e, tile);
    }
}
