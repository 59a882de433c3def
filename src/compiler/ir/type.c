/* Types from clang's debug metadata, walked with LLVM-C's generic node operands.
 *
 * Operand positions are those of LLVM 22, which llvm/IR/DebugInfoMetadata.h fixes: every DIType begins with
 * file, scope, name, size and offset; then come DIDerivedType's base type, DICompositeType's base type and
 * elements, DISubroutineType's types. DISubprogram has its type at 4. Metal's vector and matrix classes are
 * taken by name, because clang leaves out the bodies of classes whose constructors it did not emit. */
#include "compiler/ir/type.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG_ARRAY = 0x01,
    TAG_CLASS = 0x02,
    TAG_ENUM = 0x04,
    TAG_MEMBER = 0x0d,
    TAG_POINTER = 0x0f,
    TAG_REFERENCE = 0x10,
    TAG_STRUCT = 0x13,
    TAG_TYPEDEF = 0x16,
    TAG_UNION = 0x17,
    TAG_INHERITANCE = 0x1c,
    TAG_SUBRANGE = 0x21,
    TAG_BASE = 0x24,
    TAG_CONST = 0x26,
    TAG_VOLATILE = 0x35,
    TAG_RESTRICT = 0x37,
    TAG_RVALUE = 0x42,
    TAG_ATOMIC = 0x47,
    TAG_TEMPLATE_ALIAS = 0x43
};
enum { BASE_TYPE = 5, ELEMENTS = 6, SUBROUTINE_TYPES = 5, SUBPROGRAM_TYPE = 4 };
enum { MAX_DEPTH = 32, FLAG_VECTOR = 1 << 11, FLAG_STATIC_MEMBER = 1 << 12 };

/* The operands of a metadata node; NULL with *count 0 where memory is short or there are none. */
static LLVMMetadataRef *operands(LLVMContextRef context, LLVMMetadataRef node, unsigned *count)
{
    LLVMValueRef value = LLVMMetadataAsValue(context, node);
    *count = LLVMGetMDNodeNumOperands(value);
    if (!*count) return NULL;
    LLVMValueRef *values = calloc(*count, sizeof *values);
    LLVMMetadataRef *nodes = calloc(*count, sizeof *nodes);
    if (values && nodes) {
        LLVMGetMDNodeOperands(value, values);
        for (unsigned i = 0; i < *count; i++) nodes[i] = values[i] ? LLVMValueAsMetadata(values[i]) : NULL;
    }
    free(values);
    if (values && nodes) return nodes;
    free(nodes);
    *count = 0;
    return NULL;
}

static LLVMMetadataRef operand(LLVMContextRef context, LLVMMetadataRef node, unsigned index)
{
    unsigned count;
    LLVMMetadataRef *all = operands(context, node, &count), found = index < count ? all[index] : NULL;
    free(all);
    return found;
}

static unsigned tag_of(LLVMMetadataRef node)
{
    switch (LLVMGetMetadataKind(node)) {
    case LLVMDIBasicTypeMetadataKind:
    case LLVMDIDerivedTypeMetadataKind:
    case LLVMDICompositeTypeMetadataKind:
    case LLVMDISubrangeMetadataKind: return LLVMGetDINodeTag(node);
    default: return 0;
    }
}

static LLVMMetadataRef strip_qualifiers(LLVMContextRef context, LLVMMetadataRef node)
{
    for (int depth = 0; node && depth < MAX_DEPTH; depth++) {
        switch (tag_of(node)) {
        case TAG_CONST:
        case TAG_VOLATILE:
        case TAG_RESTRICT:
        case TAG_ATOMIC:
        case TAG_TYPEDEF:
        case TAG_TEMPLATE_ALIAS: node = operand(context, node, BASE_TYPE); break;
        default: return node;
        }
    }
    return node;
}

void ir_type_free(ir_type *type)
{
    free(type->name);
    for (size_t i = 0; i < type->member_count; i++) {
        free(type->members[i].name);
        ir_type_free(&type->members[i].type);
    }
    free(type->members);
    *type = (ir_type){0};
}

static tombac_status build(LLVMContextRef, LLVMMetadataRef, int, ir_type *, tombac_error **);

/* Number of elements of an array type: the product of its subranges, whose count is operand 0, a constant. */
static uint64_t array_count(LLVMContextRef context, LLVMMetadataRef array)
{
    LLVMMetadataRef elements = operand(context, array, ELEMENTS);
    unsigned dimensions;
    LLVMMetadataRef *ranges = elements ? operands(context, elements, &dimensions) : NULL;
    uint64_t count = ranges ? 1 : 0;
    for (unsigned i = 0; ranges && i < dimensions; i++) {
        LLVMMetadataRef length = operand(context, ranges[i], 0);
        LLVMValueRef value = length ? LLVMMetadataAsValue(context, length) : NULL;
        LLVMValueRef constant = value && LLVMIsAMDNode(value) == NULL ? LLVMIsAConstantInt(value) : NULL;
        if (!constant && value && LLVMGetMetadataKind(length) == LLVMConstantAsMetadataMetadataKind) {
            LLVMValueRef inner[1];
            LLVMGetMDNodeOperands(value, inner);
            constant = inner[0] ? LLVMIsAConstantInt(inner[0]) : NULL;
        }
        count *= constant ? LLVMConstIntGetZExtValue(constant) : 0;
    }
    free(ranges);
    return count;
}

/* An array, not one of clang's vector types (C's float4), which metadata describes as arrays with a flag. */
static bool is_array(LLVMMetadataRef node)
{
    return node && tag_of(node) == TAG_ARRAY && !(LLVMDITypeGetFlags(node) & FLAG_VECTOR);
}

/* "float" and 4 -> float4; false if it is no vector of scalars that Metal has. */
static bool build_vector(LLVMContextRef context, LLVMMetadataRef node, ir_type *type)
{
    if (tag_of(node) != TAG_ARRAY || is_array(node)) return false;
    LLVMMetadataRef element = strip_qualifiers(context, operand(context, node, BASE_TYPE));
    size_t length = 0;
    const char *name = element ? LLVMDITypeGetName(element, &length) : NULL;
    tb_text text = {0};
    tb_text_printf(&text, "%.*s%u", (int)length, name ? name : "", (unsigned)array_count(context, node));
    bool known = !text.bad && ir_type_from_name(text.data, text.size, type);
    tb_text_free(&text);
    return known;
}

static tombac_status add_member(LLVMContextRef context, LLVMMetadataRef node, unsigned tag, int depth,
    ir_type *type, tombac_error **error)
{
    ir_member *grown = realloc(type->members, (type->member_count + 1) * sizeof *grown);
    if (!grown) return tb_fail_memory(error);
    type->members = grown;
    ir_member *member = &grown[type->member_count++];
    *member = (ir_member){.offset = LLVMDITypeGetOffsetInBits(node) / 8, .count = 1};
    size_t length = 0;
    const char *name = tag == TAG_MEMBER ? LLVMDITypeGetName(node, &length) : NULL;
    member->name = strndup(name ? name : "", length);
    if (!member->name) return tb_fail_memory(error);
    LLVMMetadataRef element = strip_qualifiers(context, operand(context, node, BASE_TYPE));
    if (is_array(element)) {
        member->count = array_count(context, element);
        element = strip_qualifiers(context, operand(context, element, BASE_TYPE));
    }
    return build(context, element, depth + 1, &member->type, error);
}

/* Members, and the alignment: clang records it only where it was asked for, else it is the members' largest.
 */
static tombac_status build_composite(
    LLVMContextRef context, LLVMMetadataRef node, int depth, ir_type *type, tombac_error **error)
{
    type->size = LLVMDITypeGetSizeInBits(node) / 8;
    type->alignment = LLVMDITypeGetAlignInBits(node) / 8;
    LLVMMetadataRef elements = operand(context, node, ELEMENTS);
    unsigned count = 0;
    LLVMMetadataRef *nodes = elements ? operands(context, elements, &count) : NULL;
    tombac_status status = TOMBAC_OK;
    for (unsigned i = 0; i < count && status == TOMBAC_OK; i++) {
        unsigned tag = nodes[i] ? tag_of(nodes[i]) : 0;
        bool is_static = tag == TAG_MEMBER && (LLVMDITypeGetFlags(nodes[i]) & FLAG_STATIC_MEMBER);
        if ((tag != TAG_MEMBER && tag != TAG_INHERITANCE) || is_static) continue;
        status = add_member(context, nodes[i], tag, depth, type, error);
    }
    free(nodes);
    for (size_t i = 0; i < type->member_count; i++) {
        if (type->members[i].type.alignment > type->alignment)
            type->alignment = type->members[i].type.alignment;
    }
    return status;
}

static tombac_status build(
    LLVMContextRef context, LLVMMetadataRef node, int depth, ir_type *type, tombac_error **error)
{
    size_t length = 0;
    const char *name = node ? LLVMDITypeGetName(node, &length) : "void";
    if (!node) length = 4;
    unsigned tag = node ? tag_of(node) : 0;
    bool pointer = tag == TAG_POINTER || tag == TAG_REFERENCE || tag == TAG_RVALUE;
    if (name && !pointer && ir_type_from_name(name, length, type)) return TOMBAC_OK;
    if (node && build_vector(context, node, type)) return TOMBAC_OK;
    type->name = pointer ? strdup("pointer") : strndup(name ? name : "", length);
    if (!type->name) return tb_fail_memory(error);
    if (!node || depth > MAX_DEPTH) return TOMBAC_OK;
    if (strncmp(type->name, "tensor<", 7) == 0 && strstr(type->name, "metal::__tensors::"))
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
            "tensors in memory that the host fills (behind pointers and in structs) are not supported");
    if (pointer) {
        type->size = type->alignment = 8;
        return TOMBAC_OK;
    }
    if (tag == TAG_ENUM) {
        LLVMMetadataRef base = strip_qualifiers(context, operand(context, node, BASE_TYPE));
        if (!base) return TOMBAC_OK;
        ir_type inner = {0};
        tombac_status status = build(context, base, depth + 1, &inner, error);
        free(inner.name);
        inner.name = type->name;
        *type = inner;
        return status;
    }
    if (tag == TAG_STRUCT || tag == TAG_CLASS || tag == TAG_UNION) {
        return build_composite(context, node, depth, type, error);
    }
    if (tag == TAG_BASE) type->size = type->alignment = LLVMDITypeGetSizeInBits(node) / 8;
    return TOMBAC_OK;
}

/* "float[4]": an array counts as one element of the whole size. */
static tombac_status make_array(ir_type *type, uint64_t count, tombac_error **error)
{
    tb_text name = {0};
    tb_text_printf(&name, "%s[%llu]", type->name, (unsigned long long)count);
    free(type->name);
    type->name = tb_text_take(&name);
    type->size *= count;
    type->scalar = TOMBAC_TYPE_OTHER;
    type->vector_length = 0;
    type->packed = false;
    return type->name ? TOMBAC_OK : tb_fail_memory(error);
}

tombac_status ir_type_from_metadata(
    LLVMContextRef context, LLVMMetadataRef metadata, ir_type *type, tombac_error **error)
{
    metadata = strip_qualifiers(context, metadata);
    uint64_t count = 1;
    if (is_array(metadata)) { /* a reference to an array: one element of the whole size */
        count = array_count(context, metadata);
        metadata = strip_qualifiers(context, operand(context, metadata, BASE_TYPE));
    }
    tombac_status status = build(context, metadata, 0, type, error);
    if (status == TOMBAC_OK && count > 1) status = make_array(type, count, error);
    if (status != TOMBAC_OK) ir_type_free(type);
    return status;
}

/* ---- Tensors ---- */

/* "tensor<const __global _Float16, metal::__tensors::extents<int, 64UL, 18446744073709551615UL>, ...>" */
static bool read_extents(const char *name, size_t length, ir_argument *argument)
{
    static const char word[] = "extents<";
    const char *end = name + length, *p = memmem(name, length, word, sizeof word - 1);
    if (!p) return false;
    p += sizeof word - 1;
    const char *comma = memchr(p, ',', (size_t)(end - p));
    ir_type index = {0};
    if (!comma || !ir_type_from_name(p, (size_t)(comma - p), &index)) return false;
    argument->index_type = index.scalar;
    ir_type_free(&index);
    for (p = comma; argument->rank < IR_MAX_RANK && p < end && *p == ',';) {
        uint64_t extent = 0;
        for (p++; p < end && *p == ' '; p++) {}
        if (p == end || *p < '0' || *p > '9') return false;
        for (; p < end && *p >= '0' && *p <= '9'; p++) extent = extent * 10 + (uint64_t)(*p - '0');
        while (p < end && (*p == 'U' || *p == 'L')) p++;
        argument->extents[argument->rank++] = extent;
    }
    return p < end && *p == '>';
}

/* The member of that name. */
static LLVMMetadataRef find_member(LLVMContextRef context, LLVMMetadataRef class, const char *wanted)
{
    LLVMMetadataRef elements = operand(context, class, ELEMENTS), found = NULL;
    unsigned count = 0;
    LLVMMetadataRef *nodes = elements ? operands(context, elements, &count) : NULL;
    for (unsigned i = 0; i < count && !found; i++) {
        size_t length = 0;
        const char *name = nodes[i] && tag_of(nodes[i]) == TAG_MEMBER ? LLVMDITypeGetName(nodes[i], &length) : NULL;
        if (name && length == strlen(wanted) && !memcmp(name, wanted, length)) found = nodes[i];
    }
    free(nodes);
    return found;
}

tombac_status ir_tensor_from_metadata(
    LLVMContextRef context, LLVMMetadataRef metadata, ir_argument *argument, tombac_error **error)
{
    metadata = strip_qualifiers(context, metadata);
    size_t length = 0;
    const char *name = metadata && tag_of(metadata) == TAG_STRUCT ? LLVMDITypeGetName(metadata, &length) : NULL;
    LLVMMetadataRef data = name ? find_member(context, metadata, "__data") : NULL;
    LLVMMetadataRef pointer = data ? strip_qualifiers(context, operand(context, data, BASE_TYPE)) : NULL;
    if (!pointer || tag_of(pointer) != TAG_POINTER || !read_extents(name, length, argument))
        return tb_fail(error, TOMBAC_ERROR_SOURCE,
            "kernel parameter '%s' is neither a pointer, a reference nor a tensor", argument->parameter->name);
    return ir_type_from_metadata(context, operand(context, pointer, BASE_TYPE), &argument->type, error);
}

LLVMMetadataRef *ir_parameter_elements(LLVMContextRef context, LLVMValueRef function, size_t *count)
{
    *count = 0;
    LLVMMetadataRef subprogram = LLVMGetSubprogram(function);
    LLVMMetadataRef type = subprogram ? operand(context, subprogram, SUBPROGRAM_TYPE) : NULL;
    LLVMMetadataRef list = type ? operand(context, type, SUBROUTINE_TYPES) : NULL;
    unsigned n = 0;
    LLVMMetadataRef *types = list ? operands(context, list, &n) : NULL;
    if (n < 2) { /* the return type alone */
        free(types);
        return NULL;
    }
    for (unsigned i = 1; i < n; i++) {
        LLVMMetadataRef node = strip_qualifiers(context, types[i]);
        unsigned tag = node ? tag_of(node) : 0;
        bool pointer = tag == TAG_POINTER || tag == TAG_REFERENCE || tag == TAG_RVALUE;
        types[i - 1] = pointer ? operand(context, node, BASE_TYPE) : node;
    }
    *count = n - 1;
    return types;
}
