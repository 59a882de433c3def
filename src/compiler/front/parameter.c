/* Parameters of a kernel: what each is bound to. See declare.h; Metal's rule for implicit indices: arguments
 * without
 * [[buffer(n)]] take the lowest indices, in order, that no explicit attribute uses. */
#include "artifact/abi.h"
#include "compiler/front/declare.h"

#include <stdlib.h>

enum { MAX_BUFFERS = TB_MAX_BUFFERS, NO_INDEX = UINT32_MAX };

/* Types whose objects are no memory: refused by name. */
static const char *const opaque_types[] = {"texture", "depth", "sampler", "acceleration_structure",
    "instance_acceleration", "primitive_acceleration", "visible_function_table",
    "intersection_function_table", "imageblock", "tensor", "command_buffer", "render_pipeline_state",
    "compute_pipeline_state", "mesh_grid_properties", "mesh"};

typedef struct reading {
    front_unit *unit;
    kernel_site *site;
    front_parameter *out;
    uint32_t first, end; /* tokens of this parameter */
    uint32_t name;
    bool pointer, no_memory;
} reading;

static void problem(reading *r, uint32_t at, tombac_status status, const char *format)
{
    kernel_site *site = r->site;
    if (site->problem) return;
    site->problem = format;
    site->problem_status = status;
    site->problem_token = at;
}

static void read_index(reading *r, const attribute *a)
{
    int64_t value;
    if (a->argument == a->argument_end || !front_evaluate(r->unit, a->argument, a->argument_end, &value)) {
        problem(r, a->first, TOMBAC_ERROR_SOURCE, "the index of attribute '%.*s' is not an integer constant");
    } else if (value < 0 || value >= MAX_BUFFERS) {
        problem(r, a->first, TOMBAC_ERROR_SOURCE, "the index of attribute '%.*s' must be between 0 and 30");
    } else {
        r->out->index = (uint32_t)value;
    }
}

static bool is_standard_attribute(const token_list *list, const attribute *a)
{
    return list->tokens[a->first + 1].code == PUNCT2(':', ':') || token_is(list, a->first, "maybe_unused") ||
           token_is(list, a->first, "deprecated");
}

static void read_attribute(reading *r, const attribute *a)
{
    const token_list *list = &r->unit->list;
    if (a->kind == ATTRIBUTE_POSITION) {
        r->out->binding = FRONT_POSITION;
        free(r->out->position); /* there may be two */
        r->out->position = strdup(a->known);
        r->no_memory |= !r->out->position;
    } else if (a->kind == ATTRIBUTE_UNSUPPORTED) {
        problem(r, a->first, TOMBAC_ERROR_UNSUPPORTED,
            "kernel parameters with attribute '%.*s' are not supported");
    } else if (a->kind == ATTRIBUTE_BINDING && !strcmp(a->known, "function_constant")) {
        tb_text text = {0};
        front_append_tokens(list, a->argument, a->argument_end, &text);
        free(r->out->condition);
        r->out->condition = tb_text_take(&text);
        r->no_memory |= !r->out->condition;
    } else if (a->kind == ATTRIBUTE_BINDING) {
        r->out->binding = !strcmp(a->known, "threadgroup") ? FRONT_THREADGROUP : FRONT_BUFFER;
        read_index(r, a);
    }
}

/* The declared name: the last word of the declarator outside array bounds; inside parentheses for (&name)[n].
 */
static uint32_t find_name(const reading *r)
{
    const token *t = r->unit->list.tokens;
    uint32_t name = NO_TOKEN;
    for (uint32_t i = r->first; i < r->end && t[i].code != '='; i++) {
        if (t[i].code == '<') {
            uint32_t close = front_angle_match(&r->unit->list, i);
            if (close != NO_TOKEN && close < r->end) i = close;
        } else if (t[i].code == '[') {
            i = t[i].match;
        } else if (t[i].code == '(' && t[i - 1].code == KW_ATTRIBUTE) {
            i = t[i].match;
        } else if (t[i].kind == TOKEN_IDENTIFIER && t[i].code == 0 && t[i + 1].code != PUNCT2(':', ':')) {
            name = i;
        }
    }
    /* `uint3` alone is a type: a name has another word, a bracket or a sign before it */
    uint32_t before = name == NO_TOKEN || name == r->first ? 0 : t[name - 1].code;
    if (name == r->first || before == PUNCT2(':', ':')) return NO_TOKEN;
    bool only_words = true;
    for (uint32_t i = r->first; name != NO_TOKEN && i < name; i++)
        only_words &= code_is_space(t[i].code) || t[i].code == KW_CONST || t[i].code == KW_VOLATILE;
    return only_words ? NO_TOKEN : name;
}

/* Qualifiers, references and the type's text. */
static void read_type(reading *r)
{
    const token_list *list = &r->unit->list;
    const token *t = list->tokens;
    front_parameter *out = r->out;
    tb_text text = {0};
    bool dimension = false;
    for (uint32_t i = r->first; i < r->end && t[i].code != '='; i++) {
        uint32_t code = t[i].code;
        if (front_is_attribute(list, i)) {
            i = t[i].match;
        } else if (code == KW_ATTRIBUTE || code == KW_ALIGNAS || code == KW_COHERENT) {
            if (t[i + 1].code == '(') i = t[i + 1].match;
        } else if (code == KW_DEVICE || code == KW_CONSTANT || code == KW_THREADGROUP || code == KW_THREAD) {
            out->space = code == KW_DEVICE        ? FRONT_DEVICE
                         : code == KW_CONSTANT    ? FRONT_CONSTANT
                         : code == KW_THREADGROUP ? FRONT_THREADGROUP_SPACE
                                                  : FRONT_THREAD;
            out->is_const |= code == KW_CONSTANT;
        } else if (code == KW_CONST) {
            if (!r->pointer) out->is_const = true;
        } else if (code == '*' || code == '&' || code == PUNCT2('&', '&')) {
            r->pointer = true;
            if (code != '*') out->is_reference = true;
        } else if (code == '[') {
            dimension = true;
            if (out->is_reference) front_append_tokens(list, i, t[i].match + 1, &text);
            i = t[i].match;
        } else if (code == '<') {
            uint32_t close = front_angle_match(list, i);
            if (close == NO_TOKEN || close >= r->end) close = i;
            front_append_tokens(list, i, close + 1, &text);
            i = close;
        } else if (i != r->name && code != '(' && code != ')' && code != KW_VOLATILE && code != KW_RESTRICT &&
                   code != KW_RESTRICT2 && code != KW_RESTRICT3 && code != KW_STRUCT && code != KW_TYPENAME) {
            if (text.size && t[i].kind == TOKEN_IDENTIFIER && t[i - 1].kind == TOKEN_IDENTIFIER)
                tb_text_putc(&text, ' ');
            tb_text_append(&text, token_text(list, i), t[i].length);
        }
    }
    r->pointer |= dimension;
    out->type_text = text.size ? tb_text_take(&text) : strdup("");
    r->no_memory |= !out->type_text;
}

static void check_opaque(reading *r)
{
    const token_list *list = &r->unit->list;
    for (uint32_t i = r->first; i < r->end; i++) {
        const token *t = &list->tokens[i];
        if (front_is_attribute(list, i)) i = t->match;
        if (t->kind != TOKEN_IDENTIFIER || i == r->name) continue;
        for (size_t k = 0; k < sizeof opaque_types / sizeof *opaque_types; k++) {
            size_t length = strlen(opaque_types[k]);
            if (t->length < length || memcmp(token_text(list, i), opaque_types[k], length) != 0) continue;
            char after = t->length > length ? token_text(list, i)[length] : 0;
            if (after == 0 || after == '_' || (after >= '0' && after <= '9'))
                problem(r, i, TOMBAC_ERROR_UNSUPPORTED, "kernel parameters of type '%.*s' are not supported");
        }
    }
}

/* ---- Tensors ---- */

/* The '<' after the word `tensor` at or after i (metal::tensor too), else NO_TOKEN. */
static uint32_t tensor_bracket(const token_list *list, uint32_t i)
{
    if (token_is(list, i, "metal") && list->tokens[i + 1].code == PUNCT2(':', ':')) i += 2;
    return token_is(list, i, "tensor") && list->tokens[i + 1].code == '<' ? i + 1 : NO_TOKEN;
}

/* A name that a type is given: `using NAME = type`, or of a tensor `typedef type NAME`. */
struct tensor_alias {
    uint32_t at, name; /* tokens: the declaration's first, the name */
    uint32_t open;     /* the tensor's '<'; NO_TOKEN: it is no tensor */
};

static bool add_alias(front_unit *unit, uint32_t at, uint32_t name, uint32_t open)
{
    uint32_t count = unit->alias_count;
    if (!(count & (count - 1))) { /* room doubles at powers of two */
        struct tensor_alias *grown = realloc(unit->aliases, (count ? (size_t)count * 2 : 1) * sizeof *grown);
        if (!grown) return false;
        unit->aliases = grown;
    }
    unit->aliases[unit->alias_count++] = (struct tensor_alias){at, name, open};
    return true;
}

/* One look at the source for all parameters of all kernels. */
static bool find_aliases(front_unit *unit)
{
    const token_list *list = &unit->list;
    const token *t = list->tokens;
    bool fine = true;
    for (uint32_t i = 0; fine && i + 3 < list->count; i++) {
        if (t[i].code == KW_USING && t[i + 2].code == '=') {
            fine = add_alias(unit, i, i + 1, tensor_bracket(list, i + 3));
        } else if (t[i].code == KW_TYPEDEF) {
            uint32_t open = tensor_bracket(list, i + 1);
            uint32_t close = open == NO_TOKEN ? NO_TOKEN : front_angle_match(list, open);
            if (close != NO_TOKEN) fine = add_alias(unit, i, close + 1, open);
        }
    }
    unit->aliases_found = true;
    return fine;
}

/* The '<' of the tensor that the parameter's type is, by itself or by a name that stands for one. */
static uint32_t find_tensor(reading *r)
{
    const token_list *list = &r->unit->list;
    const token *t = list->tokens;
    uint32_t type = r->first;
    while (type < r->end && (t[type].code == KW_CONST || t[type].code == KW_THREAD)) type++;
    uint32_t open = tensor_bracket(list, type);
    if (open != NO_TOKEN || t[type].kind != TOKEN_IDENTIFIER || t[type].code != 0) return open;
    if (!r->unit->aliases_found && !find_aliases(r->unit)) r->no_memory = true;
    for (uint32_t i = 0; i < r->unit->alias_count; i++) {
        const struct tensor_alias *a = &r->unit->aliases[i];
        if (a->at + 3 >= r->site->open) break;
        if (tokens_equal(list, a->name, type)) return a->open;
    }
    return NO_TOKEN;
}

/* Where the elements lie and whether they may be written; what is no argument is refused. */
static void read_tensor(reading *r, uint32_t open)
{
    const token_list *list = &r->unit->list;
    const token *t = list->tokens;
    uint32_t close = front_angle_match(list, open), where = r->name == NO_TOKEN ? r->first : r->name;
    bool element = true;
    r->out->is_tensor = true;
    r->out->space = FRONT_THREAD;
    r->out->is_const = false;
    for (uint32_t i = open + 1; close != NO_TOKEN && i < close; i++) {
        element &= t[i].code != ',';
        if (element && (t[i].code == KW_DEVICE || t[i].code == KW_CONSTANT))
            r->out->space = t[i].code == KW_DEVICE ? FRONT_DEVICE : FRONT_CONSTANT;
        if (element && (t[i].code == KW_CONST || t[i].code == KW_CONSTANT)) r->out->is_const = true;
        if (token_is(list, i, "tensor_inline") || token_is(list, i, "tensor_offset"))
            problem(r, i, TOMBAC_ERROR_SOURCE,
                "a tensor with '%.*s' is made in a kernel; a kernel's parameter is a tensor_handle");
    }
    if (r->out->space == FRONT_THREAD)
        problem(r, where, TOMBAC_ERROR_SOURCE,
            "the elements of tensor '%.*s', a kernel's parameter, must be in device or constant memory");
}

/* Names of types that are not known here (of templates, typedefs) are judged where the kernel is built. */
static bool position_type(const char *type_text)
{
    uint32_t length;
    tombac_type type = front_scalar_type(type_text, &length);
    if (type == TOMBAC_TYPE_BOOL || type == TOMBAC_TYPE_F16 || type == TOMBAC_TYPE_BF16 || type == TOMBAC_TYPE_F32)
        return false;
    return length <= 3;
}

static void read_one(reading *r)
{
    const token_list *list = &r->unit->list;
    const token *t = list->tokens;
    front_parameter *out = r->out;
    *out = (front_parameter){.binding = FRONT_BUFFER, .index = NO_INDEX};
    r->pointer = false;
    r->name = find_name(r);
    bool attributed = false;
    for (uint32_t i = r->first; i < r->end; i++) {
        if (!front_is_attribute(list, i)) continue;
        attribute_cursor cursor = front_attributes(list, i);
        for (attribute a; front_next_attribute(&cursor, &a);) {
            attributed |= a.kind == ATTRIBUTE_POSITION || a.kind == ATTRIBUTE_BINDING;
            if (a.kind == ATTRIBUTE_OTHER && !is_standard_attribute(list, &a))
                problem(r, a.first, TOMBAC_ERROR_SOURCE, "unknown attribute '%.*s'");
            read_attribute(r, &a);
        }
        i = t[i].match;
    }
    out->name = r->name == NO_TOKEN ? strdup("") : front_copy(token_text(list, r->name), t[r->name].length);
    r->no_memory |= !out->name;
    read_type(r);
    uint32_t tensor = r->pointer ? NO_TOKEN : find_tensor(r);
    if (tensor != NO_TOKEN)
        read_tensor(r, tensor);
    else
        check_opaque(r);
    if (out->binding != FRONT_POSITION && out->space == FRONT_THREADGROUP_SPACE)
        out->binding = FRONT_THREADGROUP;
    bool memory = r->pointer && (out->space == FRONT_DEVICE || out->space == FRONT_CONSTANT ||
                                    out->space == FRONT_THREADGROUP_SPACE);
    uint32_t where = r->name == NO_TOKEN ? r->first : r->name;
    if (out->binding != FRONT_POSITION && !memory && !out->is_tensor)
        problem(r, where, TOMBAC_ERROR_SOURCE,
            attributed || r->pointer ? "kernel parameter '%.*s' must be a pointer or reference in device, "
                                       "constant or threadgroup memory"
                                     : "kernel parameter '%.*s' has no attribute that says what it receives; a value "
                                       "from the host is a reference, as constant int &n");
    if (out->binding == FRONT_POSITION && r->pointer)
        problem(r, where, TOMBAC_ERROR_SOURCE,
            "kernel parameter '%.*s' receives a position and cannot be a pointer");
    if (out->binding == FRONT_POSITION && !position_type(out->type_text))
        problem(r, where, TOMBAC_ERROR_SOURCE,
            "kernel parameter '%.*s' receives a position: its type must be ushort or uint, or a vector of two or "
            "three of them");
    unsigned line;
    front_line_of(r->unit, t[where].line, &line);
    out->line = line;
}

/* Numbers what has no index; explicit indices must differ, unless function constants choose between the
 * arguments. */
static void number(reading *r, front_kernel *kernel, front_binding binding)
{
    uint64_t used = 0;
    for (size_t i = 0; i < kernel->parameter_count; i++) {
        front_parameter *p = &kernel->parameters[i];
        if (p->binding != binding || p->index == NO_INDEX) continue;
        used |= (uint64_t)1 << p->index;
    }
    uint32_t next = 0;
    for (size_t i = 0; i < kernel->parameter_count; i++) {
        front_parameter *p = &kernel->parameters[i];
        if (p->binding != binding || p->index != NO_INDEX) continue;
        while (next < MAX_BUFFERS && used >> next & 1) next++;
        if (next == MAX_BUFFERS)
            problem(r, r->site->name, TOMBAC_ERROR_SOURCE, "kernel '%.*s' has more than 31 buffer arguments");
        p->index = next;
        if (next < MAX_BUFFERS) next++;
    }
}

/* One index twice is an error where both arguments exist for sure; with conditions the manifest decides. */
static void check_indices(reading *r, const front_kernel *kernel)
{
    const token_list *list = &r->unit->list;
    for (size_t i = 0; i < kernel->parameter_count; i++) {
        const front_parameter *p = &kernel->parameters[i];
        for (size_t k = 0; p->binding != FRONT_POSITION && !p->condition && k < i; k++) {
            const front_parameter *other = &kernel->parameters[k];
            if (other->binding != p->binding || other->index != p->index || other->condition) continue;
            for (uint32_t at = r->site->open; at < list->tokens[r->site->open].match; at++)
                if (token_is(list, at, p->name))
                    problem(r, at, TOMBAC_ERROR_SOURCE,
                        "kernel parameter '%.*s' has the index of another one");
        }
    }
}

static uint32_t parameter_end(const token_list *list, uint32_t i, uint32_t close)
{
    const token *t = list->tokens;
    for (; i < close && t[i].code != ','; i++) {
        if (t[i].code == '(' || t[i].code == '[' || t[i].code == '{') {
            i = t[i].match;
        } else if (t[i].code == '<') {
            uint32_t angle = front_angle_match(list, i);
            if (angle != NO_TOKEN && angle < close) i = angle;
        }
    }
    return i;
}

bool front_read_parameters(front_unit *unit, kernel_site *site, front_kernel *kernel)
{
    const token_list *list = &unit->list;
    uint32_t close = list->tokens[site->open].match;
    reading r = {.unit = unit, .site = site};
    size_t room = 0;
    for (uint32_t i = site->open + 1; i < close;) {
        uint32_t end = parameter_end(list, i, close);
        if (end == i + 1 && token_is(list, i, "void")) break;
        if (kernel->parameter_count == room) {
            room = room ? room * 2 : 8;
            front_parameter *grown = realloc(kernel->parameters, room * sizeof *grown);
            if (!grown) return false;
            kernel->parameters = grown;
        }
        r.first = i;
        r.end = end;
        r.out = &kernel->parameters[kernel->parameter_count];
        *r.out = (front_parameter){0};
        kernel->parameter_count++;
        if (end == i) problem(&r, i, TOMBAC_ERROR_SOURCE, "expected a parameter before '%.*s'");
        read_one(&r);
        if (r.no_memory) return false;
        i = end + 1;
    }
    number(&r, kernel, FRONT_BUFFER);
    number(&r, kernel, FRONT_THREADGROUP);
    check_indices(&r, kernel);
    return true;
}
