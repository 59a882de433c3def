/* Types of kernel arguments: from clang's debug metadata, or from the declared type's text where that says
 * too little. */
#ifndef TB_COMPILER_IR_TYPE_H
#define TB_COMPILER_IR_TYPE_H

#include "compiler/ir/ir.h"

/* Both start from an all-zero type. A type that means nothing to reflection gets its name and size only. */
tombac_status ir_type_from_metadata(
    LLVMContextRef context, LLVMMetadataRef metadata, ir_type *type, tombac_error **error);
/* Of a parameter that is a tensor by value: the element's type (`type`), rank, extents and index type. Its
 * metadata is as msl/__tombac/tensor.h declares the class. */
tombac_status ir_tensor_from_metadata(
    LLVMContextRef context, LLVMMetadataRef metadata, ir_argument *argument, tombac_error **error);
/* Knows scalars, vectors, packed vectors, matrices and atomics by name: "float4", "packed_half3", "vec<float,
 * 4>"; false where the name is none of these. Names of the C++ side ("unsigned int", "_Float16") are
 * understood too. */
bool ir_type_from_name(const char *name, size_t length, ir_type *type);
/* Bytes of a scalar (0 for TOMBAC_TYPE_OTHER) and its name in manifests ("f32", ""). */
size_t ir_scalar_size(tombac_type type);
const char *ir_scalar_name(tombac_type type);
void ir_type_free(ir_type *type);

/* The parameter types of a function's subprogram, the element behind pointer, reference and qualifiers taken;
 * NULL where the function has no debug information. The caller frees the array, not the metadata. */
LLVMMetadataRef *ir_parameter_elements(LLVMContextRef context, LLVMValueRef function, size_t *count);

#endif
