/* Matrix products out of line: one function per layout of the operands, called for each product.
 *
 * A product of two 8x8 matrices in line is hundreds of instructions. Kernels with edges on all sides of a tile, or with
 * several copies of their main loop, have hundreds of products; in line they take minutes to compile. Where a kernel has
 * more products than that is worth, none of its sums is kept as rows (matrix.c); operands and sums lie in memory while
 * a batch is computed, mostly as the lanes have them, and
 *
 *     void product(float *sum, const float *left, const float *right)    sum += left * right
 *
 * does what tile.c does in line, by the same operations in the same order. */
#include "compiler/cpu/matrix.h"

#include <inttypes.h>
#include <stdio.h>

/* Products in line beyond which a call costs less than the code. The general variant runs odd SIMD-groups only. */
enum { MANY = 160, MANY_GENERAL = 24 };

enum { HALF = 8, ROW = 4 * HALF, LINE = 4 * LANES }; /* floats; bytes of a row, of an element of all lanes */

bool cpu_products_are_many(const cpu_kernel *k, int products)
{
    return products > (k->variant == LAYOUT_GENERAL ? MANY_GENERAL : MANY);
}

static void set_attributes(cpu_kernel *k, LLVMValueRef function)
{
    static const char *const names[] = {"noinline", "nounwind"};
    LLVMSetLinkage(function, LLVMInternalLinkage);
    cpu_function_attributes(k, function);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, cpu_attribute(k, names[i], 0));
    LLVMAddAttributeAtIndex(function, 1, cpu_attribute(k, "noalias", 0));
    for (unsigned i = 2; i <= 3; i++) LLVMAddAttributeAtIndex(function, i, cpu_attribute(k, "readonly", 0));
}

static LLVMValueRef load_floats(cpu_kernel *k, LLVMValueRef home, int64_t offset, unsigned count)
{
    return cpu_load_at(k, LLVMVectorType(k->f32, count), cpu_at(k, home, offset), 4);
}

/* The rows of a matrix that lies as the lanes have it. */
static void rows_of_lanes(cpu_kernel *k, LLVMValueRef home, LLVMValueRef *rows)
{
    LLVMValueRef lanes[2] = {load_floats(k, home, 0, LANES), load_floats(k, home, LINE, LANES)}, pieces[4];
    cpu_rows_of_lanes(k, lanes, 1, pieces);
    for (int r = 0; r < 8; r++) rows[r] = cpu_slice(k, pieces[r / 2], r % 2 * HALF, HALF);
}

static void write_body(cpu_kernel *k, LLVMValueRef function, const cpu_matrix *left, const cpu_matrix *right)
{
    LLVMTypeRef type = LLVMVectorType(k->f32, HALF);
    LLVMValueRef at[3], sum[8], row[8], pieces[4], lanes[2];
    for (unsigned i = 0; i < 3; i++) at[i] = LLVMGetParam(function, i);
    rows_of_lanes(k, at[0], sum);
    if (!right->home_row) rows_of_lanes(k, at[2], row);
    for (int r = 0; r < 8 && right->home_row; r++) row[r] = load_floats(k, at[2], r * right->home_row, HALF);
    int height = k->piece_bytes == 64 ? 8 : 4; /* sums that the registers hold */
    for (int from = 0; from < 8; from += height)
        for (int depth = 0; depth < 8; depth++)
            for (int r = from; r < from + height; r++) {
                LLVMValueRef arguments[3] = {cpu_left_element(k, left, at[1], r, depth, HALF), row[depth], sum[r]};
                sum[r] = cpu_intrinsic(k, "llvm.fma", &type, 1, arguments, 3);
            }
    for (int q = 0; q < 4; q++) pieces[q] = cpu_concat(k, (LLVMValueRef[]){sum[2 * q], sum[2 * q + 1]}, 2, HALF);
    cpu_lanes_of_rows(k, pieces, 1, lanes);
    for (int i = 0; i < 2; i++) cpu_store_at(k, lanes[i], cpu_at(k, at[0], LINE * i), 4);
    LLVMBuildRetVoid(k->builder);
}

static LLVMValueRef make_function(
    cpu_kernel *k, const char *name, LLVMTypeRef type, const cpu_matrix *left, const cpu_matrix *right)
{
    LLVMBasicBlockRef back = LLVMGetInsertBlock(k->builder);
    LLVMMetadataRef location = LLVMGetCurrentDebugLocation2(k->builder);
    LLVMValueRef function = LLVMAddFunction(k->module, name, type);
    set_attributes(k, function);
    LLVMSetCurrentDebugLocation2(k->builder, NULL);
    LLVMPositionBuilderAtEnd(k->builder, LLVMAppendBasicBlockInContext(k->context, function, "product"));
    write_body(k, function, left, right);
    LLVMPositionBuilderAtEnd(k->builder, back);
    LLVMSetCurrentDebugLocation2(k->builder, location);
    return function;
}

void cpu_call_product(cpu_kernel *k, const cpu_matrix *left, const cpu_matrix *right, LLVMValueRef sum)
{
    LLVMTypeRef types[3] = {k->ptr, k->ptr, k->ptr};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(k->context), types, 3, 0);
    LLVMValueRef arguments[3] = {sum, left->home, right->home};
    char name[120];
    snprintf(name, sizeof name, "tombac.product.%" PRId64 ".%" PRId64 ".%" PRId64 ".%" PRId64, left->home_row,
        left->home_column[0], left->home_column[1], right->home_row);
    LLVMValueRef function = LLVMGetNamedFunction(k->module, name);
    if (!function) function = make_function(k, name, type, left, right);
    for (int i = 1; i < 3; i++)
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(arguments[i])))
            arguments[i] = LLVMBuildAddrSpaceCast(k->builder, arguments[i], k->ptr, "");
    LLVMBuildCall2(k->builder, type, function, arguments, 3, "");
}
