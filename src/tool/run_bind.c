/* From the command line's values to bound arguments; see run.h. */
#include "tool/message.h"
#include "tool/run.h"
#include "tool/suggest.h"

#include <stdlib.h>
#include <string.h>

enum { SET_BYTES_LIMIT = 4096 }; /* as for setBytes in Metal */

/* ---- The kernel's arguments ---- */

static bool is_memory(const run_argument *argument)
{
    return argument->info.kind != TOMBAC_ARGUMENT_THREADGROUP;
}

/* "atomic_uint", "atomic<uint>" and the like hold a plain scalar. */
static tombac_type atomic_type(const char *name)
{
    static const struct {
        const char *name;
        tombac_type type;
    } types[] = {{"uint", TOMBAC_TYPE_U32}, {"int", TOMBAC_TYPE_I32}, {"float", TOMBAC_TYPE_F32},
        {"bool", TOMBAC_TYPE_BOOL}, {"ulong", TOMBAC_TYPE_U64}, {"long", TOMBAC_TYPE_I64}};
    if (strncmp(name, "metal::", 7) == 0) name += 7;
    if (strncmp(name, "atomic", 6) != 0 || (name[6] != '_' && name[6] != '<')) return TOMBAC_TYPE_OTHER;
    size_t length = strcspn(name + 7, ">");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == length && memcmp(name + 7, types[i].name, length) == 0)
            return types[i].type;
    return TOMBAC_TYPE_OTHER;
}

static tombac_status read_arguments(run_state *state, tombac_error **error)
{
    size_t count = tombac_kernel_argument_count(state->kernel);
    const json_t *described = json_object_get(json_object_get(state->reflection, "kernel"), "arguments");
    state->arguments = calloc(count ? count : 1, sizeof *state->arguments);
    if (!state->arguments) return tb_fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        run_argument *a = &state->arguments[i];
        tombac_status status = tombac_kernel_get_argument(state->kernel, i, &a->info, error);
        if (status != TOMBAC_OK) return status;
        state->argument_count = i + 1;
        tb_text what = {0};
        tb_text_printf(&what, "argument '%s'", a->info.name);
        a->what = tb_text_take(&what);
        if (!a->what) return tb_fail_memory(error);
        const json_t *members = json_object_get(json_array_get(described, i), "members");
        a->members = json_array_size(members) ? members : NULL;
        a->type = a->info.type;
        a->vector_length = a->info.vector_length ? a->info.vector_length : 1;
        if (a->type == TOMBAC_TYPE_OTHER && !a->members && a->info.type_name)
            a->type = atomic_type(a->info.type_name);
    }
    return TOMBAC_OK;
}

/* "device float *, buffer 2" */
static void describe(const run_argument *a, tb_text *text)
{
    static const char *const spaces[] = {"device", "constant", "threadgroup"};
    if (a->info.kind == TOMBAC_ARGUMENT_TENSOR) {
        tb_text_printf(text, "tensor of %s with %u dimension%s, buffer %u", a->info.type_name, a->info.rank,
            a->info.rank == 1 ? "" : "s", a->info.index);
        return;
    }
    tb_text_printf(text, "%s %s %s, %s %u", spaces[a->info.kind], a->info.type_name ? a->info.type_name : "?",
        a->info.reference ? "&" : "*", is_memory(a) ? "buffer" : "threadgroup", a->info.index);
}

/* By name, with the nearest one; by index, with all that there are. */
static tombac_status unknown_argument(
    const run_state *state, const char *name, bool threadgroup, tombac_error **error)
{
    bool numbered = name[0] >= '0' && name[0] <= '9';
    tool_suggestion suggestion = {.name = name};
    tb_text text = {0};
    size_t listed = 0;
    if (numbered)
        tb_text_printf(&text, "[[%s(%s)]]", threadgroup ? "threadgroup" : "buffer", name);
    else
        tb_text_printf(&text, "argument '%s'", name);
    for (size_t i = 0; i < state->argument_count && !numbered; i++)
        tool_suggest_consider(&suggestion, state->arguments[i].info.name);
    tool_suggest_append(&suggestion, &text);
    for (size_t i = 0; i < state->argument_count && !suggestion.best; i++) {
        const run_argument *a = &state->arguments[i];
        if (numbered && is_memory(a) == threadgroup) continue;
        tb_text_printf(&text, "%s %s", listed++ ? "," : "; it has", a->info.name);
        if (numbered) tb_text_printf(&text, " (%u)", a->info.index);
    }
    if (!suggestion.best && !listed)
        tb_text_puts(&text, threadgroup ? "; it has no threadgroup arguments" : "; it has none");
    tombac_status status = tb_fail(error, TOMBAC_ERROR_NOT_FOUND, "kernel '%s' has no %s",
        state->options->kernel, tb_text_string(&text));
    tb_text_free(&text);
    return status;
}

/* By name, or by index among the arguments of that kind where the name is a number. */
static run_argument *look_up(const run_state *state, const char *name, bool threadgroup)
{
    bool numbered = name[0] >= '0' && name[0] <= '9';
    char *end = NULL;
    unsigned long index = numbered ? strtoul(name, &end, 10) : 0;
    if (numbered && *end) return NULL;
    for (size_t i = 0; i < state->argument_count; i++) {
        run_argument *a = &state->arguments[i];
        bool right = numbered ? a->info.index == index && is_memory(a) != threadgroup
                              : strcmp(a->info.name, name) == 0;
        if (right) return a;
    }
    return NULL;
}

tombac_status run_find_argument(
    const run_state *state, const char *name, run_argument **argument, tombac_error **error)
{
    *argument = look_up(state, name, false);
    if (!*argument) return unknown_argument(state, name, false, error);
    if (is_memory(*argument) && (*argument)->info.active) return TOMBAC_OK;
    return tb_fail(error, TOMBAC_ERROR_BINDING, "%s of kernel '%s' %s", (*argument)->what,
        state->options->kernel,
        is_memory(*argument) ? "is removed by a function constant"
                             : "is threadgroup memory, which has no value");
}

/* ---- Which value is whose ---- */

static tombac_status take_name(
    const char *word, const char *equals, char *name, size_t size, tombac_error **error)
{
    size_t length = (size_t)(equals - word);
    if (length >= size)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "the name in '%.40s...' is too long", word);
    memcpy(name, word, length);
    name[length] = 0;
    return TOMBAC_OK;
}

/* The `position`-th buffer of the kernel in the order of buffer indices. */
static run_argument *at_position(const run_state *state, size_t position)
{
    for (size_t i = 0; i < state->argument_count; i++) {
        run_argument *a = &state->arguments[i];
        size_t before = 0;
        if (!is_memory(a) || !a->info.active) continue;
        for (size_t k = 0; k < state->argument_count; k++) {
            const run_argument *b = &state->arguments[k];
            before += is_memory(b) && b->info.active && b->info.index < a->info.index;
        }
        if (before == position) return a;
    }
    return NULL;
}

static tombac_status assign_values(run_state *state, tombac_error **error)
{
    const tool_words *words = &state->options->values;
    size_t position = 0;
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->items[i], *equals = tool_assignment(word);
        run_argument *a;
        if (equals) {
            char name[256];
            tombac_status status = take_name(word, equals, name, sizeof name, error);
            if (status == TOMBAC_OK) status = run_find_argument(state, name, &a, error);
            if (status != TOMBAC_OK) return status;
        } else {
            a = at_position(state, position++);
            if (!a) {
                return tb_fail(error, TOMBAC_ERROR_BINDING,
                    "kernel '%s' takes %zu values by position, so '%s' is too much", state->options->kernel,
                    position - 1, word);
            }
        }
        if (a->text)
            return tb_fail(
                error, TOMBAC_ERROR_BINDING, "%s is given twice, the second time by '%s'", a->what, word);
        a->text = equals ? equals + 1 : word;
    }
    return TOMBAC_OK;
}

static tombac_status assign_threadgroup(run_state *state, tombac_error **error)
{
    const tool_words *words = &state->options->threadgroup;
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->items[i], *equals = tool_assignment(word);
        char name[256];
        if (!equals)
            return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "--threadgroup takes INDEX=BYTES, not '%s'", word);
        tombac_status status = take_name(word, equals, name, sizeof name, error);
        if (status != TOMBAC_OK) return status;
        run_argument *a = look_up(state, name, true);
        if (!a) return unknown_argument(state, name, true, error);
        if (is_memory(a))
            return tb_fail(error, TOMBAC_ERROR_BINDING,
                "%s is no threadgroup memory, so --threadgroup cannot size it", a->what);
        status = tool_size_parse("--threadgroup", equals + 1, UINT32_MAX, &a->threadgroup_size, error);
        if (status != TOMBAC_OK) return status;
        a->bound = true;
    }
    return TOMBAC_OK;
}

static tombac_status missing(const run_argument *a, tombac_error **error)
{
    tb_text text = {0};
    const char *name = a->info.name;
    describe(a, &text);
    if (!is_memory(a))
        tb_text_printf(&text, ") has no size; give it, as in --threadgroup %u=1024", a->info.index);
    else if (a->members && a->info.reference)
        tb_text_printf(&text, ") has no value; give it, as in '%s={...}'", name);
    else if (a->info.reference)
        tb_text_printf(&text, ") has no value; give it, as in %s=1", name);
    else if (a->info.kind == TOMBAC_ARGUMENT_TENSOR)
        tb_text_printf(&text, ") has no value; give it, as in %s=%s[%s] or %s=@file.npy", name,
            tool_type_name(a->type), a->info.rank == 1 ? "64" : a->info.rank == 2 ? "64x32" : "4x64x32", name);
    else if (a->members)
        tb_text_printf(&text, ") has no value; give it, as in '%s={{...}, ...}' or %s=u8[1024]", name, name);
    else
        tb_text_printf(&text, ") has no value; give it, as in %s=%s[1000] or %s=@file.npy", name,
            a->type == TOMBAC_TYPE_OTHER ? "u8" : tool_type_name(a->type), name);
    tombac_status status = tb_fail(error, TOMBAC_ERROR_BINDING, "%s (%s", a->what, tb_text_string(&text));
    tb_text_free(&text);
    return status;
}

/* ---- Values ---- */

static tombac_status wrong_type(const run_argument *a, const char *hint, tombac_error **error)
{
    tb_text wanted = {0}, given = {0};
    describe(a, &wanted);
    tool_array_describe(&a->array, &given);
    tombac_status status = tb_fail(error, TOMBAC_ERROR_BINDING, "%s (%s) cannot take %s%s", a->what,
        tb_text_string(&wanted), tb_text_string(&given), hint);
    tb_text_free(&wanted);
    tb_text_free(&given);
    return status;
}

/* Does the value's type suit the argument's? Structs, void and pointers to bytes take everything. */
static tombac_status check_type(run_argument *a, tombac_error **error)
{
    const tool_array *v = &a->array;
    bool bytes = (a->type == TOMBAC_TYPE_I8 || a->type == TOMBAC_TYPE_U8) && a->vector_length == 1 &&
                 !a->info.reference;
    a->stride = tool_type_size(v->type) * v->vector_length;
    if (a->type == TOMBAC_TYPE_OTHER || (bytes && v->type != a->type)) return TOMBAC_OK;
    if (v->type != a->type) return wrong_type(a, "", error);
    if (v->vector_length == a->vector_length) {
        a->stride = tool_vector_stride(v->type, v->vector_length, a->info.packed);
        return TOMBAC_OK;
    }
    if (v->vector_length > 1 && a->vector_length > 1) return wrong_type(a, "", error);
    bool padded = a->vector_length == 3 && !a->info.packed;
    if (padded && !(v->dimension_count && v->shape[v->dimension_count - 1] == 4)) {
        return wrong_type(
            a, ": its vectors take the room of four; write the type with x3, as in f32x3[100]", error);
    }
    return TOMBAC_OK;
}

static tombac_status check_size(const run_argument *a, tombac_error **error)
{
    size_t least = a->info.element_size, size = a->initial.size;
    if (size >= least || (size == 0 && !a->info.reference)) return TOMBAC_OK;
    tb_text wanted = {0};
    describe(a, &wanted);
    tombac_status status = tb_fail(error, TOMBAC_ERROR_BINDING,
        "%s (%s) takes at least %zu bytes; the value has %zu", a->what, tb_text_string(&wanted), least, size);
    tb_text_free(&wanted);
    return status;
}

/* The value's last dimension, whose elements lie side by side, is the tensor's first. */
static tombac_status bind_tensor(run_state *state, run_argument *a, tombac_error **error)
{
    const tool_array *v = &a->array;
    size_t extents[TOMBAC_MAX_TENSOR_RANK];
    if (v->dimension_count != a->info.rank || v->vector_length != 1) return wrong_type(a, "", error);
    for (uint32_t r = 0; r < a->info.rank; r++) extents[r] = v->shape[a->info.rank - 1 - r];
    tombac_tensor tensor = {.type = v->type, .rank = a->info.rank, .extents = extents};
    return tombac_launch_set_tensor(state->launch, a->info.index, a->buffer, 0, &tensor, error);
}

static tombac_status bind_value(run_state *state, run_argument *a, tombac_error **error)
{
    tool_slot slot = {.what = a->what,
        .type_name = a->info.type_name,
        .type = a->type,
        .vector_length = a->vector_length,
        .packed = a->info.packed,
        .element_size = a->info.element_size,
        .members = a->members};
    tombac_status status = tool_value_parse(&slot, a->text, &a->array, error);
    if (status == TOMBAC_OK) status = check_type(a, error);
    if (status != TOMBAC_OK) return status;
    tool_array_to_layout(&a->array, a->stride, &a->initial);
    if (a->initial.bad) return tb_fail_memory(error);
    status = check_size(a, error);
    if (status != TOMBAC_OK) return status;
    a->bound = true;
    free(a->array.data); /* type and shape are all that is needed from here on */
    a->array.data = NULL;
    if (a->info.kind == TOMBAC_ARGUMENT_CONSTANT && a->info.reference && a->initial.size <= SET_BYTES_LIMIT)
        return tombac_launch_set_bytes(state->launch, a->info.index, a->initial.data, a->initial.size, error);
    status = tombac_buffer_create(
        state->device, a->initial.size, a->initial.size ? a->initial.data : NULL, &a->buffer, error);
    if (status != TOMBAC_OK) return status;
    if (state->options->repeats < 2) tb_text_free(&a->initial); /* nothing will be restored */
    if (a->info.kind == TOMBAC_ARGUMENT_TENSOR) return bind_tensor(state, a, error);
    return tombac_launch_set_buffer(state->launch, a->info.index, a->buffer, 0, error);
}

/* What the runtime gives itself: a fresh seed for random numbers. */
static bool may_be_left_out(const run_argument *a)
{
    return a->info.kind == TOMBAC_ARGUMENT_CONSTANT && a->info.reference && a->info.type == TOMBAC_TYPE_U64 &&
           a->info.vector_length == 1 && strcmp(a->info.name, "random_seed") == 0;
}

tombac_status run_bind(run_state *state, tombac_error **error)
{
    tombac_status status = read_arguments(state, error);
    if (status == TOMBAC_OK) status = assign_values(state, error);
    if (status == TOMBAC_OK) status = assign_threadgroup(state, error);
    for (size_t i = 0; i < state->argument_count && status == TOMBAC_OK; i++) {
        const run_argument *a = &state->arguments[i];
        if (a->info.active && !(is_memory(a) ? a->text != NULL : a->bound) && !may_be_left_out(a))
            status = missing(a, error);
    }
    for (size_t i = 0; i < state->argument_count && status == TOMBAC_OK; i++) {
        run_argument *a = &state->arguments[i];
        if (!a->info.active || (!a->text && may_be_left_out(a))) continue;
        if (is_memory(a))
            status = bind_value(state, a, error);
        else
            status = tombac_launch_set_threadgroup_memory(
                state->launch, a->info.index, a->threadgroup_size, error);
    }
    return status;
}

void run_unbind(run_state *state)
{
    for (size_t i = 0; i < state->argument_count; i++) {
        run_argument *a = &state->arguments[i];
        tombac_buffer_release(a->buffer);
        tool_array_free(&a->array);
        tb_text_free(&a->initial);
        free(a->what);
    }
    free(state->arguments);
    state->arguments = NULL;
    state->argument_count = 0;
}
