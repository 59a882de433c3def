/* Whether a typed buffer holds what a kernel's argument expects. */
#include "runtime/launch_element.h"

#include <string.h>

static const rt_member *find(const rt_argument *a, const char *name)
{
    for (size_t i = 0; i < a->member_count; i++)
        if (strcmp(a->members[i].name, name) == 0) return &a->members[i];
    return NULL;
}

/* Structs agree if their members do, by name, place and size; padding has no names. */
static bool check_members(const rt_argument *a, const rt_element *element, tb_text *why)
{
    for (size_t i = 0; i < element->member_count; i++) {
        const tombac_member *m = &element->members[i];
        const rt_member *k = find(a, m->name);
        if (k && k->offset == m->offset && k->size == m->size) continue;
        if (k)
            tb_text_printf(why,
                "its member '%s' has offset %zu and %zu bytes, the kernel's has offset %zu and %zu bytes",
                m->name, m->offset, m->size, k->offset, k->size);
        else
            tb_text_printf(why, "the kernel's '%s' has no member '%s'", a->type_name, m->name);
        return false;
    }
    if (element->member_count == 0 || element->member_count == a->member_count) return true;
    tb_text_printf(why, "it has %zu members, the kernel's '%s' has %zu", element->member_count, a->type_name,
        a->member_count);
    return false;
}

static void print_element(tb_text *text, tombac_type type, uint32_t length, size_t size, const char *name)
{
    if (type == TOMBAC_TYPE_OTHER)
        tb_text_printf(text, "'%s' (%zu bytes)", name ? name : "(struct)", size);
    else if (length > 1)
        tb_text_printf(text, "%s x %u (%zu bytes)", tombac_type_name(type), length, size);
    else
        tb_text_printf(text, "%s", tombac_type_name(type));
}

bool rt_element_matches(const rt_argument *a, const tombac_buffer *buffer, tb_text *why)
{
    const rt_element *element = &buffer->element;
    if (!buffer->typed || a->size == 0) return true;
    bool scalars = element->type != TOMBAC_TYPE_OTHER && a->type != TOMBAC_TYPE_OTHER;
    /* A struct without known members, as an atomic, is taken by its size. */
    bool opaque = a->type == TOMBAC_TYPE_OTHER && a->member_count == 0;
    bool same = element->size == a->size &&
                (scalars ? element->type == a->type && element->vector_length == a->vector_length
                         : opaque || element->type == a->type);
    if (same) return opaque || check_members(a, element, why);
    tb_text_puts(why, "its elements are ");
    print_element(why, element->type, element->vector_length, element->size, element->name);
    tb_text_puts(why, ", the kernel's are ");
    print_element(why, a->type, a->vector_length, a->size, a->type_name);
    tb_text_puts(why, "; a view can give them another type");
    return false;
}
