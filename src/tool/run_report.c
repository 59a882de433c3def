/* After the run: print, save and compare; see run.h. */
#include "tool/compare.h"
#include "tool/message.h"
#include "tool/npy.h"
#include "tool/print.h"
#include "tool/run.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_ELEMENTS = 8 };

/* ---- Names, before the launch ---- */

/* The argument in "NAME<separator>REST"; *rest is NULL where there is no separator. */
static tombac_status split(const run_state *state, const char *option, const char *word, char separator,
    run_argument **argument, const char **rest, tombac_error **error)
{
    char name[256];
    const char *at = strchr(word, separator);
    size_t length = at ? (size_t)(at - word) : strlen(word);
    if (length == 0 || length >= sizeof name || (separator == '=' && (!at || !at[1])))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s takes NAME%s, not '%s'", option,
            separator == '=' ? "=FILE.npy" : "[:N]", word);
    memcpy(name, word, length);
    name[length] = 0;
    *rest = at ? at + 1 : NULL;
    tombac_status status = run_find_argument(state, name, argument, error);
    if (status == TOMBAC_OK && !(*argument)->buffer)
        status = tb_fail(error, TOMBAC_ERROR_BINDING, "%s: %s is a constant, which no kernel changes", option,
            (*argument)->what);
    return status;
}

static tombac_status read_print(
    const run_state *state, const char *word, run_argument **argument, size_t *limit, tombac_error **error)
{
    const char *rest;
    tombac_status status = split(state, "--print", word, ':', argument, &rest, error);
    *limit = DEFAULT_ELEMENTS;
    if (status != TOMBAC_OK || !rest) return status;
    if (strcmp(rest, "all") == 0) {
        *limit = SIZE_MAX;
        return TOMBAC_OK;
    }
    return tool_size_parse("--print NAME:N", rest, SIZE_MAX, limit, error);
}

static tombac_status read_expectation(
    const run_state *state, const char *word, run_expectation *expectation, tombac_error **error)
{
    run_argument *a;
    const char *source;
    tombac_status status = split(state, "--expect", word, '=', &a, &source, error);
    if (status != TOMBAC_OK) return status;
    tool_slot slot = {.what = a->what,
        .type_name = tool_type_name(a->array.type),
        .type = a->array.type,
        .vector_length = a->array.vector_length,
        .element_size = a->info.element_size,
        .members = a->array.type == TOMBAC_TYPE_U8 ? a->members : NULL};
    expectation->argument = a;
    expectation->source = source;
    if (tool_value_is_expression(source))
        status = tool_value_parse(&slot, source, &expectation->array, error);
    else
        status = tool_value_read(&slot, source, &expectation->array, error);
    if (status != TOMBAC_OK) return status;
    const tool_array *want = &expectation->array;
    if (tool_type_is_float(want->type) != tool_type_is_float(a->array.type)) {
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s holds %s; '%s' holds %s", a->what,
            tool_type_name(a->array.type), source, tool_type_name(want->type));
    }
    if (tool_array_scalar_count(want) != tool_array_scalar_count(&a->array)) {
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s has %zu numbers; '%s' has %zu", a->what,
            tool_array_scalar_count(&a->array), source, tool_array_scalar_count(want));
    }
    return TOMBAC_OK;
}

tombac_status run_prepare_report(run_state *state, tombac_error **error)
{
    const run_options *options = state->options;
    tombac_status status = TOMBAC_OK;
    run_argument *argument;
    const char *file;
    size_t limit;
    for (size_t i = 0; i < options->prints.count && status == TOMBAC_OK; i++)
        status = read_print(state, options->prints.items[i], &argument, &limit, error);
    for (size_t i = 0; i < options->saves.count && status == TOMBAC_OK; i++)
        status = split(state, "--save", options->saves.items[i], '=', &argument, &file, error);
    if (status != TOMBAC_OK || !options->expects.count) return status;
    state->expectations = calloc(options->expects.count, sizeof *state->expectations);
    if (!state->expectations) return tb_fail_memory(error);
    for (size_t i = 0; i < options->expects.count && status == TOMBAC_OK; i++) {
        state->expectation_count = i + 1; /* a half-read one is freed too */
        status = read_expectation(state, options->expects.items[i], &state->expectations[i], error);
    }
    return status;
}

/* ---- Results ---- */

/* What a buffer holds now, in the type and shape of its value. */
static tombac_status take_result(const run_argument *a, tool_array *array, tombac_error **error)
{
    const void *data;
    tombac_status status = tombac_buffer_begin_read(a->buffer, &data, error);
    if (status != TOMBAC_OK) return status;
    status = tool_array_from_layout(data, tombac_buffer_size(a->buffer), a->stride, &a->array, array, error);
    tombac_status ended = tombac_buffer_end_read(a->buffer, status == TOMBAC_OK ? error : NULL);
    return status == TOMBAC_OK ? ended : status;
}

static tombac_status show(const run_argument *a, size_t limit, json_t *json, tombac_error **error)
{
    tool_array array;
    tombac_status status = take_result(a, &array, error);
    if (status != TOMBAC_OK) return status;
    bool structs = a->members && a->array.type == TOMBAC_TYPE_U8 && a->info.element_size;
    if (json) {
        json_t *object = tool_json_array(&array, limit);
        json_object_set_new(object, "name", json_string(a->info.name));
        json_object_set_new(object, "index", json_integer(a->info.index));
        json_array_append_new(json, object);
    } else if (structs) {
        tool_print_structs(
            stdout, a->info.name, a->info.type_name, a->members, a->info.element_size, &array, limit);
    } else {
        tool_print_array(stdout, a->info.name, &array, limit);
    }
    tool_array_free(&array);
    return TOMBAC_OK;
}

static tombac_status show_all(const run_state *state, json_t *json, tombac_error **error)
{
    const tool_words *prints = &state->options->prints;
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < prints->count && status == TOMBAC_OK; i++) {
        run_argument *a;
        size_t limit;
        status = read_print(state, prints->items[i], &a, &limit, error);
        if (status == TOMBAC_OK) status = show(a, limit, json, error);
    }
    for (size_t i = 0; !prints->count && i < state->argument_count && status == TOMBAC_OK; i++) {
        const run_argument *a = &state->arguments[i];
        if (a->buffer && a->info.writable) status = show(a, DEFAULT_ELEMENTS, json, error);
    }
    return status;
}

static tombac_status save_all(const run_state *state, tombac_error **error)
{
    const tool_words *saves = &state->options->saves;
    for (size_t i = 0; i < saves->count; i++) {
        run_argument *a;
        const char *file;
        tool_array array;
        tombac_status status = split(state, "--save", saves->items[i], '=', &a, &file, error);
        if (status == TOMBAC_OK) status = take_result(a, &array, error);
        if (status != TOMBAC_OK) return status;
        status = tool_npy_write(file, &array, error);
        tool_array_free(&array);
        if (status != TOMBAC_OK) return status;
    }
    return TOMBAC_OK;
}

/* ---- Verdicts ---- */

static void print_verdict(const run_expectation *e, const tool_array *found, const tool_difference *d)
{
    const char *name = e->argument->info.name;
    size_t count = tool_array_scalar_count(found);
    tb_text where = {0};
    if (!d->count) {
        printf("%s%s is as expected%s: %zu numbers", tool_colour(stdout, TOOL_GREEN), name,
            tool_colour(stdout, TOOL_PLAIN), count);
        if (d->largest > 0) {
            tool_index_text(found, d->largest_at, &where);
            printf(", largest difference %.3g at %s", d->largest, tb_text_string(&where));
        }
    } else {
        char got[TOOL_SCALAR_TEXT], want[TOOL_SCALAR_TEXT];
        tool_index_text(found, d->first, &where);
        printf("%s%s is wrong%s: %zu of %zu numbers differ from %s; the first at %s: found %s, expected %s",
            tool_colour(stdout, TOOL_RED), name, tool_colour(stdout, TOOL_PLAIN), d->count, count, e->source,
            tb_text_string(&where), tool_scalar_format(found->type, tool_array_at(found, d->first), got),
            tool_scalar_format(e->array.type, tool_array_at(&e->array, d->first), want));
    }
    putchar('\n');
    tb_text_free(&where);
}

static json_t *verdict_json(const run_expectation *e, const tool_array *found, const tool_difference *d)
{
    json_t *object = json_pack("{s:s, s:s, s:b, s:I, s:I, s:f}", "name", e->argument->info.name, "expected",
        e->source, "right", d->count == 0, "numbers", (json_int_t)tool_array_scalar_count(found), "different",
        (json_int_t)d->count, "largest_difference", d->largest > 1e300 ? 1e300 : d->largest);
    if (object && d->count) {
        json_object_set_new(object, "first", json_integer((json_int_t)d->first));
        json_object_set_new(
            object, "found_value", tool_json_scalar(found->type, tool_array_at(found, d->first)));
        json_object_set_new(
            object, "expected_value", tool_json_scalar(e->array.type, tool_array_at(&e->array, d->first)));
    }
    return object;
}

static tombac_status compare_all(const run_state *state, json_t *json, bool *missed, tombac_error **error)
{
    for (size_t i = 0; i < state->expectation_count; i++) {
        const run_expectation *e = &state->expectations[i];
        tool_array found;
        tool_difference difference;
        tombac_status status = take_result(e->argument, &found, error);
        if (status != TOMBAC_OK) return status;
        tool_compare(&found, &e->array, state->options->tolerance, &difference);
        if (difference.count) *missed = true;
        if (json)
            json_array_append_new(json, verdict_json(e, &found, &difference));
        else
            print_verdict(e, &found, &difference);
        tool_array_free(&found);
    }
    return TOMBAC_OK;
}

/* ---- The whole ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Minimum and median; sorts the times. */
static void summarise(run_state *state, double *minimum, double *median)
{
    size_t n = state->run_count;
    qsort(state->seconds, n, sizeof *state->seconds, by_value);
    *minimum = state->seconds[0];
    *median = (state->seconds[(n - 1) / 2] + state->seconds[n / 2]) / 2;
}

static void print_size(tombac_size3 size)
{
    if (size.z > 1)
        printf("%u x %u x %u", size.x, size.y, size.z);
    else if (size.y > 1)
        printf("%u x %u", size.x, size.y);
    else
        printf("%u", size.x);
}

static tombac_status report_text(run_state *state, bool *missed, tombac_error **error)
{
    const run_options *options = state->options;
    fputs(tombac_launch_log(state->launch), stdout);
    printf("%s%s%s: ", tool_colour(stdout, TOOL_BOLD), options->kernel, tool_colour(stdout, TOOL_PLAIN));
    print_size(options->grid);
    printf(options->has_grid ? " threads in threadgroups of " : " threadgroups of ");
    print_size(state->group);
    printf(" on %s\n", tombac_device_name(state->device));
    tombac_status status = show_all(state, NULL, error);
    if (status == TOMBAC_OK) status = compare_all(state, NULL, missed, error);
    if (status != TOMBAC_OK || !options->repeats) return status;
    double minimum, median;
    summarise(state, &minimum, &median);
    printf(
        "time: minimum %.6g ms, median %.6g ms of %zu runs\n", 1e3 * minimum, 1e3 * median, state->run_count);
    return TOMBAC_OK;
}

static tombac_status report_json(run_state *state, bool *missed, tombac_error **error)
{
    const run_options *options = state->options;
    tombac_size3 grid = options->grid, group = state->group;
    json_t *buffers = json_array(), *verdicts = json_array();
    tombac_status status = show_all(state, buffers, error);
    if (status == TOMBAC_OK) status = compare_all(state, verdicts, missed, error);
    if (status != TOMBAC_OK) {
        json_decref(buffers);
        json_decref(verdicts);
        return status;
    }
    json_t *root = json_pack("{s:s, s:s, s:[I,I,I], s:[I,I,I], s:s, s:o, s:o}", "kernel", options->kernel,
        "device", tombac_device_name(state->device), options->has_grid ? "threads" : "threadgroups",
        (json_int_t)grid.x, (json_int_t)grid.y, (json_int_t)grid.z, "threads_per_threadgroup",
        (json_int_t)group.x, (json_int_t)group.y, (json_int_t)group.z, "log",
        tombac_launch_log(state->launch), "buffers", buffers, "expectations", verdicts);
    if (!root)
        return tb_fail(
            error, TOMBAC_ERROR_ARGUMENT, "the kernel's log or name is not UTF-8, so JSON cannot hold it");
    if (options->repeats) {
        double minimum, median;
        summarise(state, &minimum, &median);
        json_object_set_new(root, "seconds",
            json_pack("{s:f, s:f, s:I}", "minimum", minimum, "median", median, "runs",
                (json_int_t)state->run_count));
    }
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(root);
    return TOMBAC_OK;
}

tombac_status run_report(run_state *state, bool *missed, tombac_error **error)
{
    tombac_status status = save_all(state, error);
    if (status != TOMBAC_OK) return status;
    return state->options->json ? report_json(state, missed, error) : report_text(state, missed, error);
}
