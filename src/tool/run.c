/* tombac run: opens a source, launches one kernel, reports. The steps' parts are named in run.h. */
#include "tool/run.h"

#include "base/file.h"
#include "tool/constants.h"
#include "tool/message.h"
#include "tool/suggest.h"
#include "tool/verbs.h"

#include <stdlib.h>
#include <string.h>

/* ---- Source and kernel ---- */

static tombac_status open_library(run_state *state, tombac_error **error)
{
    const run_options *options = state->options;
    tombac_compile_options compile = tool_compile_options(&options->compile);
    if (strcmp(options->file, "-") != 0)
        return tombac_library_create_from_file(
            state->device, options->file, &compile, &state->library, error);
    tb_text source = {0};
    tombac_status status = tb_file_read("/dev/stdin", 0, &source, error);
    if (status == TOMBAC_OK) {
        status = tombac_library_create_from_source(state->device, "standard input", tb_text_string(&source),
            source.size, &compile, &state->library, error);
    }
    tb_text_free(&source);
    return status;
}

/* A kernel of that name, or an error with the nearest name or, where they are few, all of them. */
static tombac_status check_kernel_name(const run_state *state, tombac_error **error)
{
    size_t count = tombac_library_kernel_count(state->library);
    tool_suggestion suggestion = {.name = state->options->kernel};
    tb_text text = {0};
    for (size_t i = 0; i < count; i++) {
        const char *name = tombac_library_kernel_name(state->library, i);
        if (strcmp(name, state->options->kernel) == 0) return TOMBAC_OK;
        tool_suggest_consider(&suggestion, name);
    }
    tool_suggest_append(&suggestion, &text);
    if (!suggestion.best && count == 0) {
        tb_text_puts(&text, "; it has no kernels");
    } else if (!suggestion.best && count <= 10) {
        tb_text_puts(&text, "; it has");
        for (size_t i = 0; i < count; i++)
            tb_text_printf(&text, "%s %s", i ? "," : "", tombac_library_kernel_name(state->library, i));
    } else if (!suggestion.best) {
        tb_text_printf(&text, "; 'tombac check --list' lists its %zu kernels", count);
    }
    tombac_status status = tb_fail(error, TOMBAC_ERROR_NOT_FOUND, "'%s' has no kernel '%s'%s",
        state->options->file, state->options->kernel, tb_text_string(&text));
    tb_text_free(&text);
    return status;
}

static tombac_status unknown_device(const char *name, tombac_error **error)
{
    tool_suggestion suggestion = {.name = name};
    tb_text text = {0};
    for (size_t i = 0; i < tombac_device_count(); i++)
        tool_suggest_consider(&suggestion, tombac_device_name_at(i));
    tool_suggest_append(&suggestion, &text);
    if (!suggestion.best) {
        tb_text_puts(&text, "; there are");
        for (size_t i = 0; i < tombac_device_count(); i++)
            tb_text_printf(&text, "%s %s", i ? "," : "", tombac_device_name_at(i));
    }
    tombac_status status =
        tb_fail(error, TOMBAC_ERROR_NOT_FOUND, "there is no device '%s'%s", name, tb_text_string(&text));
    tb_text_free(&text);
    return status;
}

static tombac_status open_device(run_state *state, tombac_error **error)
{
    const char *name = state->options->device;
    bool known = !name;
    for (size_t i = 0; name && i < tombac_device_count(); i++)
        known = known || strcmp(tombac_device_name_at(i), name) == 0;
    if (known) return tombac_device_open(name, &state->device, error);
    /* A device that this machine cannot offer says why. */
    tombac_error *reason = NULL;
    tombac_status status = tombac_device_open(name, &state->device, &reason);
    if (status == TOMBAC_ERROR_UNSUPPORTED && error) {
        *error = reason;
        return status;
    }
    tombac_error_release(reason);
    return unknown_device(name, error);
}

static tombac_status open_kernel(run_state *state, tombac_error **error)
{
    const run_options *options = state->options;
    tool_constants constants = {0};
    tombac_status status = open_device(state, error);
    if (status == TOMBAC_OK) status = open_library(state, error);
    if (status == TOMBAC_OK) status = check_kernel_name(state, error);
    if (status == TOMBAC_OK)
        status = tool_constants_read(&options->constants, state->library, &constants, error);
    if (status == TOMBAC_OK) {
        status = tombac_kernel_create(
            state->library, options->kernel, constants.items, constants.count, &state->kernel, error);
    }
    tool_constants_free(&constants);
    if (status != TOMBAC_OK) return status;
    state->reflection = json_loads(tombac_kernel_reflection_json(state->kernel), 0, NULL);
    if (!state->reflection)
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "the kernel's reflection cannot be read");
    return tombac_launch_create(state->kernel, &state->launch, error);
}

/* ---- Geometry ---- */

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* What the kernel requires, else 256 threads in the grid's shape, within the kernel's limit and the grid. */
static tombac_size3 default_group(const run_state *state)
{
    const run_options *options = state->options;
    tombac_size3 grid = options->grid;
    const json_t *required =
        json_object_get(json_object_get(state->reflection, "kernel"), "required_threads_per_threadgroup");
    if (json_array_size(required) == 3) {
        return (tombac_size3){(uint32_t)json_integer_value(json_array_get(required, 0)),
            (uint32_t)json_integer_value(json_array_get(required, 1)),
            (uint32_t)json_integer_value(json_array_get(required, 2))};
    }
    tombac_size3 group = grid.z > 1   ? (tombac_size3){32, 4, 2}
                         : grid.y > 1 ? (tombac_size3){32, 8, 1}
                                      : (tombac_size3){256, 1, 1};
    uint32_t most = tombac_kernel_max_threads_per_threadgroup(state->kernel);
    while (group.x * group.y * group.z > most && group.x * group.y * group.z > 1) {
        if (group.z > 1)
            group.z /= 2;
        else if (group.y > 1)
            group.y /= 2;
        else
            group.x /= 2;
    }
    if (!options->has_grid) return group;
    if (grid.x) group.x = smaller(group.x, grid.x);
    if (grid.y) group.y = smaller(group.y, grid.y);
    if (grid.z) group.z = smaller(group.z, grid.z);
    return group;
}

static tombac_status set_geometry(run_state *state, tombac_error **error)
{
    const run_options *options = state->options;
    state->group = options->has_group ? options->group : default_group(state);
    if (options->has_grid)
        return tombac_launch_set_threads(state->launch, options->grid, state->group, error);
    return tombac_launch_set_threadgroups(state->launch, options->grid, state->group, error);
}

/* ---- Launch ---- */

/* Every run starts from the same bytes. */
static tombac_status restore_buffers(run_state *state, tombac_error **error)
{
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < state->argument_count && status == TOMBAC_OK; i++) {
        run_argument *a = &state->arguments[i];
        void *data;
        if (!a->buffer || !a->initial.size) continue;
        status = tombac_buffer_begin_write(a->buffer, &data, error);
        if (status != TOMBAC_OK) break;
        memcpy(data, a->initial.data, a->initial.size);
        status = tombac_buffer_end_write(a->buffer, error);
    }
    return status;
}

static tombac_status launch(run_state *state, tombac_error **error)
{
    size_t runs = state->options->repeats ? state->options->repeats : 1;
    state->seconds = calloc(runs, sizeof *state->seconds);
    if (!state->seconds) return tb_fail_memory(error);
    for (size_t i = 0; i < runs; i++) {
        tombac_status status = i ? restore_buffers(state, error) : TOMBAC_OK;
        if (status != TOMBAC_OK) return status;
        state->started++;
        status = tombac_launch_submit(state->launch, error);
        if (status == TOMBAC_OK) status = tombac_launch_wait(state->launch, error);
        if (status != TOMBAC_OK) return status;
        state->seconds[state->run_count++] = tombac_launch_seconds(state->launch);
    }
    return TOMBAC_OK;
}

static void close_all(run_state *state)
{
    for (size_t i = 0; i < state->expectation_count; i++) tool_array_free(&state->expectations[i].array);
    free(state->expectations);
    free(state->seconds);
    tombac_launch_release(state->launch);
    run_unbind(state);
    json_decref(state->reflection);
    tombac_kernel_release(state->kernel);
    tombac_library_release(state->library);
    tombac_device_release(state->device);
}

/* `log` receives what the kernel logged if the run failed. */
static tombac_status run(const run_options *options, bool *missed, tb_text *log, tombac_error **error)
{
    run_state state = {.options = options};
    tombac_status status = open_kernel(&state, error);
    if (status == TOMBAC_OK) status = run_bind(&state, error);
    if (status == TOMBAC_OK) status = set_geometry(&state, error);
    if (status == TOMBAC_OK) status = run_prepare_report(&state, error);
    if (status == TOMBAC_OK) status = launch(&state, error);
    if (status == TOMBAC_OK)
        status = run_report(&state, missed, error);
    else if (state.run_count < state.started)
        tb_text_puts(log, tombac_launch_log(state.launch));
    close_all(&state);
    return status;
}

int tool_run(int count, char **arguments)
{
    run_options options = {0};
    tombac_error *error = NULL;
    tb_text log = {0};
    bool missed = false;
    tombac_status status = run_options_read(count, arguments, &options, &error);
    if (status == TOMBAC_OK && !options.help) status = run(&options, &missed, &log, &error);
    int result = missed ? TOOL_WRONG : TOOL_RIGHT;
    if (status != TOMBAC_OK) result = tool_report_error(error, options.json, log.data);
    tb_text_free(&log);
    run_options_free(&options);
    return result;
}
