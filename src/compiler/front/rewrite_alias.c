/* Functions that a source declares by the label of a function of Apple's compiler:
 *
 *     void wait(int, thread event **) __asm("air.wait_simdgroup_events");
 *
 * Behind the declaration comes a definition of that label in terms of <__tombac/async_copy.h>; parameters
 * have the types that the declarations of all known sources agree on. Other labels stay undefined, and a
 * kernel that calls one is refused by name (ir/). */
#include "compiler/front/rewrite.h"

#define DEVICE "__attribute__((opencl_global)) "
#define SHARED "__attribute__((opencl_local)) "
#define COPY_1D(LABEL, TO, FROM)                                                                             \
    {"air.simdgroup_async_copy_1d." LABEL, "void *",                                                         \
        "(ulong size, ulong, " TO "void *to, " FROM "const void *from, ulong count)",                        \
        "{ return __tombac::async_copy_1d(size, (" TO "char *)to, (" FROM "const char *)from, count); }"}
#define COPY_2D(LABEL, TO, FROM)                                                                             \
    {"air.simdgroup_async_copy_2d." LABEL, "void *",                                                         \
        "(ulong size, ulong, " TO "void *to, ulong to_stride, ulong, ulong2 to_tile, " FROM                  \
        "const void *from, ulong from_stride, ulong, ulong2 from_tile, long2 offset, int clamp)",            \
        "{ return __tombac::async_copy_2d(size, (" TO "char *)to, to_stride, to_tile, (" FROM                \
        "const char *)from, from_stride, from_tile, offset, clamp); }"}

static const struct {
    const char *label, *result, *parameters, *body;
} aliases[] = {
    COPY_1D("p3i8.p1i8", SHARED, DEVICE),
    COPY_1D("p1i8.p3i8", DEVICE, SHARED),
    COPY_2D("p3i8.p1i8", SHARED, DEVICE),
    COPY_2D("p1i8.p3i8", DEVICE, SHARED),
    {"air.wait_simdgroup_events", "void ", "(int, void **)", "{ __tombac::wait_events(); }"},
};
enum { ALIASES = sizeof aliases / sizeof *aliases };

/* The `;` of the declaration that ends with __asm("LABEL"), or NO_TOKEN; at is the string. */
static uint32_t end_of_declaration(const token_list *list, uint32_t at)
{
    const token *t = list->tokens;
    if (at < 2 || t[at - 1].code != '(' || t[at + 1].code != ')' || t[at + 2].code != ';') return NO_TOKEN;
    bool label =
        token_is(list, at - 2, "__asm") || token_is(list, at - 2, "__asm__") || token_is(list, at - 2, "asm");
    return label && t[at].scope == SCOPE_NAMESPACE ? at + 2 : NO_TOKEN;
}

void front_rewrite_aliases(rewriter *r)
{
    const token_list *list = r->list;
    bool defined[ALIASES] = {false};
    for (uint32_t i = 0; i < list->count; i++) {
        const token *t = &list->tokens[i];
        if (t->kind != TOKEN_STRING || t->length < 6 || memcmp(token_text(list, i), "\"air.", 5) != 0)
            continue;
        uint32_t end = end_of_declaration(list, i);
        for (unsigned k = 0; end != NO_TOKEN && k < ALIASES; k++) {
            size_t length = strlen(aliases[k].label);
            if (defined[k] || t->length != length + 2 ||
                memcmp(token_text(list, i) + 1, aliases[k].label, length))
                continue;
            defined[k] = true;
            tb_text text = {0};
            tb_text_printf(&text,
                " [[clang::sycl_external]] %s__tombac_air_%u%s __asm(\"%s\"); %s__tombac_air_%u%s %s",
                aliases[k].result, k, aliases[k].parameters, aliases[k].label, aliases[k].result, k,
                aliases[k].parameters, aliases[k].body);
            front_edit_after(&r->edits, end, tb_text_string(&text));
            r->edits.pool.bad |= text.bad;
            tb_text_free(&text);
        }
    }
}
