/* Shared by matrix.c, which plans the matrix products of a kernel, and tile.c and product.c, which emit them. */
#ifndef TB_COMPILER_CPU_MATRIX_H
#define TB_COMPILER_CPU_MATRIX_H

#include "compiler/cpu/memory.h"

enum { MAX_TILE = 4 }; /* matrices side by side */

/* An operand: two values, the two elements of each lane. Where these are loads of nothing but products, the loads are
 * left out and the products read the memory themselves. */
typedef struct cpu_matrix {
    LLVMValueRef element[2];
    int uses;           /* as operand of products; all are in one block */
    bool left, right;   /* as which operand */
    int last;           /* value: the last product */
    bool direct;        /* read from memory: */
    LLVMTypeRef type;   /* float, half, or i16 for bfloat */
    LLVMValueRef place; /* pointer of the kernel; lane 0 has row 0, column 0 */
    int64_t row, column;
    unsigned align;
    struct cpu_matrix *next;
    /* While its batch is emitted */
    const struct cpu_batch *batch;   /* for which `home` is valid */
    LLVMValueRef home;               /* float elements in memory */
    int64_t home_row, home_column[2]; /* bytes from row to row; to the next even column, from even to odd */
    const struct cpu_batch *rows_batch;
    struct cpu_matrix *partner; /* beside which it lies in `rows` */
    LLVMValueRef *rows;
} cpu_matrix;

typedef struct cpu_product {
    cpu_value *value;
    cpu_matrix *left, *right;
    LLVMValueRef start[2]; /* what is added to */
    cpu_value *result[2];  /* extracts; NULL: absent */
    bool whole;            /* there are other users of the product */
    bool pending;
    struct cpu_product *previous, *next; /* the chain: next adds to the sum of this one */
    struct cpu_product *following;       /* in program order */
} cpu_product;

/* Values of `count` matrices that are kept row by row: row r of all, then row r + 1. Member 2 j + e is element e of
 * matrix j for its users; what it holds is the 32 floats from number 32 (2 j + e) on. */
struct cpu_bundle {
    int count;
    cpu_value *member[2 * MAX_TILE];
    LLVMBasicBlockRef own_block, edge_block; /* for which the following are valid */
    LLVMValueRef own[2 * MAX_TILE];          /* in the lanes' layout */
    LLVMValueRef edge[2 * MAX_TILE];         /* what an edge brings */
};

typedef struct cpu_tile {
    int count;
    cpu_product *chain[MAX_TILE]; /* first products; all chains have the same left operands */
    cpu_bundle *result;           /* NULL: results are kept in the lanes' layout */
    struct cpu_tile *next;
} cpu_tile;

struct cpu_batch {
    cpu_tile *tiles, *last;
};

/* tile.c: element [row][column] of a left operand that lies at `home`, in all lanes of a vector. */
LLVMValueRef cpu_left_element(
    cpu_kernel *k, const cpu_matrix *m, LLVMValueRef home, int row, int column, unsigned width);

/* product.c: are the products of the kernel so many that each becomes a call? */
bool cpu_products_are_many(const cpu_kernel *k, int products);
/* The call. The operands have their homes; the sum lies as the lanes have it. */
void cpu_call_product(cpu_kernel *k, const cpu_matrix *left, const cpu_matrix *right, LLVMValueRef sum);

/* Lane that holds columns `column` and `column` + 1 of `row` (column is even); the inverse. */
int cpu_matrix_lane(int row, int column);
int cpu_matrix_row(int lane);
int cpu_matrix_column(int lane);

/* layout.c: between the lanes' layout and rows. Rows come in pieces: 4 per matrix, of 16 floats. */
void cpu_rows_of_lanes(cpu_kernel *k, const LLVMValueRef *lanes, int count, LLVMValueRef *pieces);
void cpu_lanes_of_rows(cpu_kernel *k, const LLVMValueRef *pieces, int count, LLVMValueRef *lanes);
/* Pieces of the matrices whose values are `elements`, 2 per matrix. */
void cpu_pieces_of(cpu_kernel *k, const LLVMValueRef *elements, int count, LLVMValueRef *pieces);

#endif
