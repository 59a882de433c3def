/* The bindable arguments of a kernel: front end's facts plus the types that debug metadata knows. */
#include "compiler/ir/steps.h"

#include "compiler/ir/type.h"

#include <stdlib.h>
#include <string.h>

void ir_arguments_free(ir_argument *arguments, size_t count)
{
    for (size_t i = 0; arguments && i < count; i++) {
        ir_type_free(&arguments[i].type);
        if (arguments[i].is_layout) free((front_parameter *)arguments[i].parameter);
    }
    free(arguments);
}

/* The type as written says most where it is a scalar or vector; templates and structs need the metadata. */
static tombac_status reflect_type(LLVMContextRef context, const front_parameter *parameter, bool known,
    LLVMMetadataRef metadata, ir_type *type, tombac_error **error)
{
    const char *text = parameter->type_text ? parameter->type_text : "";
    if (known) {
        tombac_status status = ir_type_from_metadata(context, metadata, type, error);
        if (status != TOMBAC_OK || type->name[0]) return status;
        free(type->name); /* an unnamed struct */
        type->name = strdup(text);
        return type->name ? TOMBAC_OK : tb_fail_memory(error);
    }
    if (ir_type_from_name(text, strlen(text), type)) return TOMBAC_OK;
    free(type->name);
    *type = (ir_type){.name = strdup(text)};
    return type->name ? TOMBAC_OK : tb_fail_memory(error);
}

static tombac_status reflect(LLVMContextRef context, const front_parameter *parameter, bool known,
    LLVMMetadataRef metadata, ir_argument *argument, tombac_error **error)
{
    *argument = (ir_argument){.parameter = parameter, .active = true};
    if (!parameter->is_tensor) return reflect_type(context, parameter, known, metadata, &argument->type, error);
    if (known) return ir_tensor_from_metadata(context, metadata, argument, error);
    return tb_fail(error, TOMBAC_ERROR_COMPILER, "the type of tensor '%s' is not known", parameter->name);
}

/* Extents and strides of a tensor, 64 bits each: one reference to constant memory more. */
static tombac_status add_layout(ir_argument *arguments, size_t of, size_t *count, tombac_error **error)
{
    front_parameter *parameter = malloc(sizeof *parameter);
    if (!parameter) return tb_fail_memory(error);
    *parameter = *arguments[of].parameter; /* its strings stay the source's */
    parameter->space = FRONT_CONSTANT;
    parameter->is_const = parameter->is_reference = true;
    parameter->is_tensor = false;
    arguments[of].layout = *count;
    ir_argument *layout = &arguments[(*count)++];
    *layout = (ir_argument){.parameter = parameter, .active = true, .is_layout = true};
    layout->type = (ir_type){.name = strdup("layout"), .size = 16 * (uint64_t)arguments[of].rank, .alignment = 8};
    return layout->type.name ? TOMBAC_OK : tb_fail_memory(error);
}

tombac_status ir_arguments_reflect(LLVMContextRef context, LLVMValueRef function, const front_kernel *kernel,
    ir_argument **arguments, size_t *count, tombac_error **error)
{
    size_t type_count;
    LLVMMetadataRef *types = ir_parameter_elements(context, function, &type_count);
    ir_argument *made = calloc(2 * kernel->parameter_count + 1, sizeof *made);
    size_t n = 0;
    tombac_status status = made ? TOMBAC_OK : tb_fail_memory(error);
    for (size_t i = 0; i < kernel->parameter_count && status == TOMBAC_OK; i++) {
        if (kernel->parameters[i].binding == FRONT_POSITION) continue;
        bool known = type_count == kernel->parameter_count;
        status = reflect(context, &kernel->parameters[i], known, known ? types[i] : NULL, &made[n++], error);
    }
    free(types);
    for (size_t i = 0, own = n; i < own && status == TOMBAC_OK; i++)
        if (made[i].rank) status = add_layout(made, i, &n, error);
    if (status != TOMBAC_OK) {
        ir_arguments_free(made, n);
        return status;
    }
    *arguments = made;
    *count = n;
    return TOMBAC_OK;
}
