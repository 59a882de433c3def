/* Opening a source; the accessors of front.h. */
#include "compiler/front/c.h"

#include <stdlib.h>

/* A NULL-terminated copy, or NULL. */
static const char *const *copy_list(const char *const *list, size_t count)
{
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(list[i]);
        if (copy[i]) continue;
        while (i) free(copy[--i]);
        free(copy);
        return NULL;
    }
    return (const char *const *)copy;
}

static void free_list(const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++) free((void *)list[i]);
    free((void *)list);
}

static bool copy_options(front_unit *unit, const front_options *options)
{
    front_options *o = &unit->options;
    *o = *options;
    o->standard = options->standard ? strdup(options->standard) : NULL;
    o->defines = copy_list(options->defines, options->define_count);
    o->include_folders = copy_list(options->include_folders, options->include_folder_count);
    return o->defines && o->include_folders && !o->standard == !options->standard;
}

static front_language language_of(const char *path, front_language wanted)
{
    size_t length = strlen(path);
    if (wanted != FRONT_BY_NAME) return wanted;
    return length > 2 && !strcmp(path + length - 2, ".c") ? FRONT_C : FRONT_METAL;
}

static tombac_status scan_metal(front_unit *unit, const char *source, size_t size, tombac_error **error)
{
    tombac_status status = front_standard_find(unit->options.standard, &unit->standard, error);
    if (status == TOMBAC_OK) status = front_family_find(&unit->options, &unit->family, error);
    if (status == TOMBAC_OK) status = front_paths_find(&unit->paths, error);
    if (status == TOMBAC_OK) status = front_preprocess(unit, source, size, error);
    return status == TOMBAC_OK ? front_declare(unit, error) : status;
}

tombac_status front_open(const char *path, const char *source, size_t size, const front_options *options,
    front_unit **out, tombac_error **error)
{
    const front_options none = {0};
    front_unit *unit = calloc(1, sizeof *unit);
    if (!unit) return tb_fail_memory(error);
    tb_text name = {0}; /* a leading '-' would look like an option */
    tb_text_printf(&name, "%s%s", path[0] == '-' ? "./" : "", path);
    unit->main_path = tb_text_take(&name);
    tombac_status status = TOMBAC_OK;
    if (!copy_options(unit, options ? options : &none) || !unit->main_path) status = tb_fail_memory(error);
    unit->options.language = language_of(path, unit->options.language);
    if (status == TOMBAC_OK)
        status = unit->options.language == FRONT_C ? front_c_scan(unit, source, size, error)
                                                   : scan_metal(unit, source, size, error);
    if (status == TOMBAC_OK)
        *out = unit;
    else
        front_close(unit);
    return status;
}

void front_close(front_unit *unit)
{
    if (!unit) return;
    front_declarations_free(unit);
    front_lex_free(&unit->list);
    tb_text_free(&unit->preprocessed);
    for (uint32_t i = 0; i < unit->file_count; i++) {
        free(unit->files[i].path);
        free(unit->files[i].text);
    }
    for (size_t i = 0; i < unit->dependency_count; i++) free(unit->dependencies[i].path);
    free(unit->dependencies);
    free(unit->files);
    free(unit->marks);
    free(unit->main_path);
    free_list(unit->options.defines);
    free_list(unit->options.include_folders);
    free((char *)unit->options.standard);
    front_paths_free(&unit->paths);
    free(unit);
}

front_language front_language_of(const front_unit *unit)
{
    return unit->options.language;
}

size_t front_kernel_count(const front_unit *unit)
{
    return unit->kernel_count;
}

const front_kernel *front_kernel_at(const front_unit *unit, size_t index)
{
    return index < unit->kernel_count ? &unit->kernels[index] : NULL;
}

/* Columns cost an alignment of lines each, so a kernel gets them when it is looked up by name. */
static void locate(const front_unit *unit, const kernel_site *site, front_kernel *kernel)
{
    const token_list *list = &unit->list;
    kernel->column = front_locate_token(unit, site->name).column;
    size_t next = 0;
    for (uint32_t i = site->open; i != NO_TOKEN && i < list->tokens[site->open].match; i++) {
        while (next < kernel->parameter_count && kernel->parameters[next].column) next++; /* C's have theirs */
        if (next < kernel->parameter_count && token_is(list, i, kernel->parameters[next].name) &&
            list->tokens[i].bracket == '(')
            kernel->parameters[next++].column = front_locate_token(unit, i).column;
    }
}

const front_kernel *front_kernel_find(const front_unit *unit, const char *name)
{
    for (size_t i = 0; i < unit->kernel_count; i++) {
        front_kernel *kernel = &unit->kernels[i];
        if (strcmp(kernel->name, name) != 0) continue;
        for (size_t k = 0; !kernel->column && k < unit->site_count; k++)
            if (unit->sites[k].kernel == i) locate(unit, &unit->sites[k], kernel);
        return kernel;
    }
    return NULL;
}

size_t front_constant_count(const front_unit *unit)
{
    return unit->constant_count;
}

const front_constant *front_constant_at(const front_unit *unit, size_t index)
{
    return index < unit->constant_count ? &unit->constants[index] : NULL;
}

size_t front_dependency_count(const front_unit *unit)
{
    return unit->dependency_count;
}

const front_dependency *front_dependency_at(const front_unit *unit, size_t index)
{
    return index < unit->dependency_count ? &unit->dependencies[index] : NULL;
}
