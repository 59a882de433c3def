/* Finds kernels, their instantiations and function constants; see declare.h. No types are needed: a kernel is
 * recognised by its word or attribute, its name by the parameter list that follows. */
#include "artifact/abi.h"
#include "compiler/front/declare.h"

#include <stdlib.h>

enum { MAX_HEAD_TOKENS = 2048 };

typedef struct finder {
    front_unit *unit;
    size_t site_room, kernel_room, constant_room;
    uint32_t *by_name; /* indices of kernel definitions, sorted by the function's name */
    size_t by_name_count;
} finder;

static void *grow(void *array, size_t *room, size_t count, size_t size)
{
    if (count < *room) return array;
    size_t wanted = *room ? *room * 2 : 32;
    void *grown = realloc(array, wanted * size);
    if (grown) *room = wanted;
    return grown;
}

/* Facts in the attributes of a kernel; the numbers go to the kernel. */
static void read_function_attribute(
    front_unit *unit, const attribute *a, kernel_site *site, front_kernel *kernel)
{
    if (!a->known || a->kind != ATTRIBUTE_FUNCTION) return;
    int64_t value;
    if (!strcmp(a->known, FRONT_REQUIRES)) {
        char *text = front_join_strings(&unit->list, a->argument, a->argument_end);
        tb_text_puts(&kernel->requirements, text ? text : "");
        tb_text_putc(&kernel->requirements, '\n');
        if (!text) kernel->requirements.bad = true;
        free(text);
    } else if (!strcmp(a->known, "host_name")) {
        site->host_name = a->argument;
        site->host_name_end = a->argument_end;
    } else if (!strcmp(a->known, "max_total_threads_per_threadgroup")) {
        if (!front_evaluate(unit, a->argument, a->argument_end, &value)) {
            site->limit = a->argument;
            site->limit_end = a->argument_end;
        } else if (value > 0 && value <= TB_MAX_THREADS_PER_THREADGROUP) {
            kernel->max_total_threads = (uint32_t)value;
        }
    } else if (!strcmp(a->known, "required_threads_per_threadgroup")) {
        uint32_t first = a->argument, dimension = 0;
        for (int i = 0; i < 3; i++) kernel->required_threads[i] = 1;
        for (uint32_t i = first; i <= a->argument_end && dimension < 3; i++) {
            if (i < a->argument_end && unit->list.tokens[i].code != ',') continue;
            bool known = front_evaluate(unit, first, i, &value) && value > 0 && value <= TB_MAX_THREADS_PER_THREADGROUP;
            kernel->required_threads[dimension++] = known ? (uint32_t)value : 0;
            first = i + 1;
        }
        for (int i = 0; i < 3; i++)
            if (!kernel->required_threads[i])
                memset(kernel->required_threads, 0, sizeof kernel->required_threads);
    }
}

static void read_function_attributes(front_unit *unit, uint32_t open, kernel_site *site, front_kernel *kernel)
{
    attribute_cursor cursor = front_attributes(&unit->list, open);
    for (attribute a; front_next_attribute(&cursor, &a);) read_function_attribute(unit, &a, site, kernel);
}

static bool has_attribute(const token_list *list, uint32_t open, const char *name)
{
    attribute_cursor cursor = front_attributes(list, open);
    for (attribute a; front_next_attribute(&cursor, &a);)
        if (a.known && !strcmp(a.known, name)) return true;
    return false;
}

/* From site->start: attributes, the function's name, its parameter list; returns the token after these. */
static uint32_t read_head(front_unit *unit, kernel_site *site, front_kernel *kernel)
{
    const token_list *list = &unit->list;
    const token *t = list->tokens;
    uint32_t i = site->start, limit = list->count - i > MAX_HEAD_TOKENS ? i + MAX_HEAD_TOKENS : list->count;
    while (i < limit && t[i].code != ';' && t[i].code != '{' && t[i].code != '}') {
        if (front_is_attribute(list, i)) {
            read_function_attributes(unit, i, site, kernel);
            i = t[i].match + 1;
        } else if ((t[i].code == KW_ATTRIBUTE || t[i].code == KW_ALIGNAS || t[i].code == KW_DECLTYPE) &&
                   t[i + 1].code == '(') {
            i = t[i + 1].match + 1;
        } else if (t[i].kind == TOKEN_IDENTIFIER && t[i].code == 0 && t[i + 1].code == '<') {
            uint32_t close = front_angle_match(list, i + 1);
            if (close == NO_TOKEN) return i;
            site->name = i;
            i = close + 1;
            if (t[i].code == '(') break;
        } else if (t[i].kind == TOKEN_IDENTIFIER && t[i].code == 0) {
            site->name = i++;
            if (t[i].code == '(') break;
        } else {
            i++;
        }
    }
    if (site->name == NO_TOKEN || t[i].code != '(') return i;
    site->open = i;
    i = t[i].match + 1;
    for (; front_is_attribute(list, i); i = t[i].match + 1) read_function_attributes(unit, i, site, kernel);
    return i;
}

static void note_problem(kernel_site *site, uint32_t where, const char *format)
{
    site->problem = format;
    site->problem_status = TOMBAC_ERROR_SOURCE;
    site->problem_token = where;
}

/* A name in front of the kernel's that is not `void` can only be its type if it comes last. */
static bool returns_void(const token_list *list, const kernel_site *site)
{
    const token *t = list->tokens;
    for (uint32_t i = site->start; i < site->name; i++)
        if (token_is(list, i, "void")) return true;
    uint32_t length;
    for (uint32_t i = site->start; i < site->name; i++) {
        tb_text text = {0};
        front_append_tokens(list, i, i + 1, &text);
        bool value = t[i].kind == TOKEN_IDENTIFIER && !front_is_attribute(list, i) &&
                     front_scalar_type(tb_text_string(&text), &length) != TOMBAC_TYPE_OTHER;
        tb_text_free(&text);
        if (front_is_attribute(list, i)) i = t[i].match;
        if (value) return false;
    }
    return true;
}

static void free_parameters(front_kernel *kernel)
{
    for (size_t i = 0; i < kernel->parameter_count; i++) {
        free(kernel->parameters[i].name);
        free(kernel->parameters[i].type_text);
        free(kernel->parameters[i].position);
        free(kernel->parameters[i].condition);
    }
    free(kernel->parameters);
}

static void free_kernel(front_kernel *kernel)
{
    free_parameters(kernel);
    free(kernel->name);
    free(kernel->function);
    tb_text_free(&kernel->requirements);
}

static bool copy_parameters(front_kernel *to, const front_kernel *from)
{
    to->parameters = calloc(from->parameter_count + 1, sizeof *to->parameters);
    if (!to->parameters) return false;
    for (size_t i = 0; i < from->parameter_count; i++) {
        front_parameter *p = &to->parameters[i];
        *p = from->parameters[i];
        p->name = strdup(p->name);
        p->type_text = strdup(p->type_text);
        p->position = p->position ? strdup(p->position) : NULL;
        p->condition = p->condition ? strdup(p->condition) : NULL;
        to->parameter_count = i + 1;
        if (!p->name || !p->type_text || !p->position != !from->parameters[i].position ||
            !p->condition != !from->parameters[i].condition)
            return false;
    }
    return true;
}

/* Adds the kernel that a site makes. It becomes launchable with a name; templates are kept for their
 * instantiations. */
static bool add_kernel(finder *f, kernel_site *site, front_kernel *kernel)
{
    front_unit *unit = f->unit;
    const token_list *list = &unit->list;
    const token *t = list->tokens;
    kernel->function = front_copy(token_text(list, site->name), t[site->name].length);
    kernel->name = site->host_name == NO_TOKEN
                       ? (kernel->function ? strdup(kernel->function) : NULL)
                       : front_join_strings(list, site->host_name, site->host_name_end);
    kernel->file = front_line_of(unit, t[site->name].line, &kernel->line);
    front_kernel *grown = grow(unit->kernels, &f->kernel_room, unit->kernel_count, sizeof *grown);
    if (grown) unit->kernels = grown;
    if (!grown || !kernel->name || !kernel->function || kernel->requirements.bad) {
        free_kernel(kernel);
        return false;
    }
    site->kernel = (uint32_t)unit->kernel_count;
    unit->kernels[unit->kernel_count++] = *kernel;
    return true;
}

static bool add_site(finder *f, const kernel_site *site)
{
    front_unit *unit = f->unit;
    kernel_site *grown = grow(unit->sites, &f->site_room, unit->site_count, sizeof *grown);
    if (!grown) return false;
    unit->sites = grown;
    unit->sites[unit->site_count++] = *site;
    return true;
}

static kernel_site new_site(const token_list *list, uint32_t head, site_kind kind)
{
    kernel_site site = {.kind = kind,
        .head = head,
        .name = NO_TOKEN,
        .open = NO_TOKEN,
        .body = NO_TOKEN,
        .host_name = NO_TOKEN,
        .kernel = NO_TOKEN};
    site.start = front_skip_template_head(list, head);
    site.is_template =
        site.start > head && !(list->tokens[head + 1].code == '<' && list->tokens[head + 2].code == '>');
    return site;
}

/* Reads the rest of a declaration whose head ended at `end`; what the kernel does not take over stays in `kernel`. */
static bool finish_function(finder *f, kernel_site *site, front_kernel *kernel, uint32_t end, uint32_t *at)
{
    front_unit *unit = f->unit;
    const token *t = unit->list.tokens;
    if (site->open == NO_TOKEN) return true; /* not a function: clang will say what is wrong */
    if (t[end].code == '{') {
        site->body = end;
        end = t[end].match;
    } else if (t[end].code != ';') {
        return true;
    }
    site->last = end;
    *at = site->body == NO_TOKEN ? end : site->body;
    if (site->kind == SITE_KERNEL && site->body != NO_TOKEN) {
        if (!front_read_parameters(unit, site, kernel)) return false;
        if (!site->problem && !returns_void(&unit->list, site))
            note_problem(site, site->name, "kernel '%.*s' must return void");
        if (!site->problem && token_is(&unit->list, site->name, "main"))
            note_problem(site, site->name, "a kernel cannot be called '%.*s'");
        bool added = add_kernel(f, site, kernel);
        *kernel = (front_kernel){0};
        if (!added) return false;
    }
    return add_site(f, site);
}

/* A kernel or another stage's function whose declaration begins at `head`; *at becomes its last token. */
static bool read_function(finder *f, uint32_t head, site_kind kind, uint32_t *at)
{
    kernel_site site = new_site(&f->unit->list, head, kind);
    front_kernel kernel = {0};
    uint32_t end = read_head(f->unit, &site, &kernel);
    bool fine = finish_function(f, &site, &kernel, end, at);
    free_kernel(&kernel);
    return fine;
}

/* template [[host_name("x")]] kernel void f<float>(...);  i is the `template`. */
static bool read_instantiation(finder *f, uint32_t i, uint32_t *at)
{
    front_unit *unit = f->unit;
    const token_list *list = &unit->list;
    const token *t = list->tokens;
    uint32_t end = i;
    bool is_kernel = false;
    for (; end < list->count && t[end].code != ';'; end++) {
        if (front_is_attribute(list, end))
            is_kernel |= has_attribute(list, end, "kernel") || has_attribute(list, end, "host_name");
        else if (t[end].code == KW_KERNEL)
            is_kernel = true;
        bool again = end > i && t[end].code == KW_TEMPLATE && t[end - 1].kind != TOKEN_PUNCTUATOR;
        if (t[end].code == '{' || t[end].code == '}' || again) return true;
        if (t[end].match > end && t[end].match != NO_TOKEN) end = t[end].match;
    }
    if (!is_kernel || end == list->count) return true;
    kernel_site site = new_site(list, t[i].head, SITE_INSTANTIATION);
    site.start = i + 1;
    site.is_template = false;
    site.last = *at = end;
    front_kernel kernel = {0};
    read_head(unit, &site, &kernel);
    if (site.name != NO_TOKEN && site.host_name != NO_TOKEN) {
        if (!add_kernel(f, &site, &kernel)) return false;
    } else {
        free_kernel(&kernel);
    }
    return site.name == NO_TOKEN || add_site(f, &site);
}

/* Does a declaration specifier stand at i, not some variable of that name? */
static bool is_specifier(const token_list *list, uint32_t i)
{
    const token *t = list->tokens;
    if (t[i].bracket == '(' || t[i].bracket == '[') return false;
    uint32_t start = front_skip_template_head(list, t[i].head);
    for (uint32_t j = start; j < i; j++) {
        if (front_is_attribute(list, j) || t[j].code == '(')
            j = t[j].match;
        else if (t[j].kind != TOKEN_IDENTIFIER && t[j].kind != TOKEN_STRING)
            return false;
        if (i - start > 64) return false;
    }
    return i >= start && (t[i + 1].kind == TOKEN_IDENTIFIER || t[i + 1].code == '[');
}

static bool add_constant(finder *f, uint32_t open, const attribute *a)
{
    front_unit *unit = f->unit;
    const token_list *list = &unit->list;
    const token *t = list->tokens;
    front_constant *grown = grow(unit->constants, &f->constant_room, unit->constant_count, sizeof *grown);
    if (!grown) return false;
    unit->constants = grown;
    uint32_t name = open - 1;
    tb_text type = {0};
    int64_t index = 0;
    if (open == 0 || t[name].kind != TOKEN_IDENTIFIER || open - t[open].head > 64) return true;
    for (uint32_t i = t[open].head; i < name; i++) {
        uint32_t code = t[i].code;
        if (front_is_attribute(list, i)) {
            i = t[i].match;
        } else if (code != KW_CONSTANT && code != KW_CONST && code != KW_STATIC && code != KW_CONSTEXPR) {
            if (type.size && t[i - 1].kind == TOKEN_IDENTIFIER && t[i].kind == TOKEN_IDENTIFIER)
                tb_text_putc(&type, ' ');
            tb_text_append(&type, token_text(list, i), t[i].length);
        }
    }
    front_constant *c = &unit->constants[unit->constant_count];
    *c = (front_constant){.name = front_copy(token_text(list, name), t[name].length)};
    c->type_text = type.size ? tb_text_take(&type) : strdup("");
    unit->constant_count++;
    if (!c->name || !c->type_text) return false;
    c->type = front_scalar_type(c->type_text, &c->vector_length);
    /* An index that is no constant is reported by the rewriter; the limit itself is never a valid one. */
    bool known = front_evaluate(unit, a->argument, a->argument_end, &index) && index >= 0 &&
                 index < TB_MAX_FUNCTION_CONSTANTS;
    c->index = known ? (uint32_t)index : TB_MAX_FUNCTION_CONSTANTS;
    return true;
}

static bool find_constants(finder *f, uint32_t open)
{
    attribute_cursor cursor = front_attributes(&f->unit->list, open);
    bool fine = true;
    for (attribute a; fine && front_next_attribute(&cursor, &a);)
        if (a.known && !strcmp(a.known, "function_constant")) fine = add_constant(f, open, &a);
    return fine;
}

static bool find_sites(finder *f)
{
    const token_list *list = &f->unit->list;
    const token *t = list->tokens;
    bool fine = true;
    for (uint32_t i = 0; fine && i < list->count; i++) {
        uint32_t code = t[i].code, before = i > 0 ? t[i - 1].code : 0;
        bool stage = code == KW_VERTEX || code == KW_FRAGMENT;
        if (code == KW_TEMPLATE && t[i + 1].code != '<' && before != '.' && before != PUNCT2('-', '>') &&
            before != PUNCT2(':', ':')) {
            fine = read_instantiation(f, i, &i);
        } else if ((code == KW_KERNEL || stage) && is_specifier(list, i)) {
            fine = read_function(f, t[i].head, stage ? SITE_STAGE : SITE_KERNEL, &i);
        } else if (code == '[' && front_is_attribute(list, i)) {
            bool kernel = has_attribute(list, i, "kernel");
            bool other = has_attribute(list, i, "vertex") || has_attribute(list, i, "fragment") ||
                         has_attribute(list, i, "mesh") || has_attribute(list, i, "object");
            uint32_t end = t[i].match;
            if (t[i].bracket != '(' && !kernel && !other) fine = find_constants(f, i);
            if (kernel || other) fine = read_function(f, t[i].head, kernel ? SITE_KERNEL : SITE_STAGE, &i);
            if (i < end) i = end;
        }
    }
    return fine;
}

static int compare_names(const void *a, const void *b, void *context)
{
    const front_unit *unit = context;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    int order =
        strcmp(unit->kernels[unit->sites[i].kernel].function, unit->kernels[unit->sites[j].kernel].function);
    return order ? order : i < j ? -1 : i > j;
}

/* The template definition that an instantiation means. */
static const kernel_site *find_template(const finder *f, const char *function, const kernel_site *instantiation)
{
    const front_unit *unit = f->unit;
    size_t low = 0, high = f->by_name_count, count = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(unit->kernels[unit->sites[f->by_name[middle]].kernel].function, function) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (low + count < f->by_name_count &&
           !strcmp(unit->kernels[unit->sites[f->by_name[low + count]].kernel].function, function))
        count++;
    return count ? front_choose_template(unit, f->by_name + low, count, instantiation) : NULL;
}

static int compare_sites(const void *a, const void *b, void *context)
{
    const front_unit *unit = context;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    int order = strcmp(unit->kernels[unit->sites[i].kernel].name, unit->kernels[unit->sites[j].kernel].name);
    return order ? order : i < j ? -1 : i > j;
}

/* The host asks for kernels by name: the second of one name is an error. */
static bool find_equal_names(front_unit *unit)
{
    uint32_t *order = malloc((unit->site_count + 1) * sizeof *order);
    size_t count = 0;
    if (!order) return false;
    for (uint32_t i = 0; i < unit->site_count; i++)
        if (unit->sites[i].kernel != NO_TOKEN) order[count++] = i;
    qsort_r(order, count, sizeof *order, compare_sites, unit);
    for (size_t i = 1; i < count; i++) {
        kernel_site *site = &unit->sites[order[i]];
        const char *name = unit->kernels[site->kernel].name;
        if (site->problem || strcmp(name, unit->kernels[unit->sites[order[i - 1]].kernel].name) != 0) continue;
        note_problem(site, site->host_name == NO_TOKEN ? site->name : site->host_name,
            "there is another kernel of the name %.*s");
    }
    free(order);
    return true;
}

/* Gives instantiations the parameters of their templates. */
static bool resolve_instantiations(finder *f)
{
    front_unit *unit = f->unit;
    f->by_name = malloc((unit->site_count + 1) * sizeof *f->by_name);
    if (!f->by_name) return false;
    for (uint32_t i = 0; i < unit->site_count; i++)
        if (unit->sites[i].kind == SITE_KERNEL && unit->sites[i].is_template &&
            unit->sites[i].kernel != NO_TOKEN)
            f->by_name[f->by_name_count++] = i;
    qsort_r(f->by_name, f->by_name_count, sizeof *f->by_name, compare_names, unit);
    for (size_t i = 0; i < unit->site_count; i++) {
        kernel_site *site = &unit->sites[i];
        if (site->kind != SITE_INSTANTIATION || site->kernel == NO_TOKEN) continue;
        front_kernel *kernel = &unit->kernels[site->kernel];
        const kernel_site *definition = find_template(f, kernel->function, site);
        if (!definition) {
            site->problem = "there is no kernel template named '%.*s'";
            site->problem_status = TOMBAC_ERROR_SOURCE;
            site->problem_token = site->name;
            continue;
        }
        const front_kernel *from = &unit->kernels[definition->kernel];
        if (!copy_parameters(kernel, from)) return false;
        if (!kernel->max_total_threads) kernel->max_total_threads = from->max_total_threads;
        if (!kernel->required_threads[0])
            memcpy(kernel->required_threads, from->required_threads, sizeof kernel->required_threads);
        if (!kernel->requirements.size) {
            tb_text_append(&kernel->requirements, from->requirements.data, from->requirements.size);
            if (kernel->requirements.bad) return false;
        }
        site->open = definition->open;
        site->problem = definition->problem;
        site->problem_status = definition->problem_status;
        site->problem_token = definition->problem_token;
    }
    return true;
}

/* Templates cannot be launched: takes them out of the list. */
static void drop_templates(front_unit *unit)
{
    size_t kept = 0;
    for (size_t i = 0; i < unit->site_count; i++) {
        kernel_site *site = &unit->sites[i];
        if (site->kernel == NO_TOKEN) continue;
        front_kernel *kernel = &unit->kernels[site->kernel];
        if (site->is_template) {
            free_kernel(kernel);
            site->kernel = NO_TOKEN;
        } else {
            unit->kernels[kept] = *kernel; /* sites and kernels have the same order */
            site->kernel = (uint32_t)kept++;
        }
    }
    unit->kernel_count = kept;
}

tombac_status front_declare(front_unit *unit, tombac_error **error)
{
    finder f = {.unit = unit};
    bool fine = find_sites(&f) && resolve_instantiations(&f);
    free(f.by_name);
    if (!fine) return tb_fail_memory(error);
    drop_templates(unit);
    return find_equal_names(unit) ? TOMBAC_OK : tb_fail_memory(error);
}

void front_declarations_free(front_unit *unit)
{
    for (size_t i = 0; i < unit->kernel_count; i++) free_kernel(&unit->kernels[i]);
    for (size_t i = 0; i < unit->constant_count; i++) {
        free(unit->constants[i].name);
        free(unit->constants[i].type_text);
    }
    free(unit->kernels);
    free(unit->constants);
    free(unit->sites);
    free(unit->aliases);
    front_enumerators_free(unit);
}
