/* The bindable arguments of a kernel: front end's facts plus the types that debug metadata knows. */
#include "compiler/ir/steps.h"

#include "compiler/ir/type.h"

#include <stdlib.h>
#include <string.h>

void ir_arguments_free(ir_argument *arguments, size_t count)
{
    for (size_t i = 0; arguments && i < count; i++) ir_type_free(&arguments[i].type);
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

tombac_status ir_arguments_reflect(LLVMContextRef context, LLVMValueRef function, const front_kernel *kernel,
    ir_argument **arguments, size_t *count, tombac_error **error)
{
    size_t type_count;
    LLVMMetadataRef *types = ir_parameter_elements(context, function, &type_count);
    ir_argument *made = calloc(kernel->parameter_count + 1, sizeof *made);
    size_t n = 0;
    tombac_status status = made ? TOMBAC_OK : tb_fail_memory(error);
    for (size_t i = 0; i < kernel->parameter_count && status == TOMBAC_OK; i++) {
        const front_parameter *parameter = &kernel->parameters[i];
        if (parameter->binding == FRONT_POSITION) continue;
        ir_argument *argument = &made[n++];
        argument->parameter = parameter;
        argument->active = true;
        bool known = type_count == kernel->parameter_count;
        status = reflect_type(context, parameter, known, known ? types[i] : NULL, &argument->type, error);
    }
    free(types);
    if (status != TOMBAC_OK) {
        ir_arguments_free(made, n);
        return status;
    }
    *arguments = made;
    *count = n;
    return TOMBAC_OK;
}
