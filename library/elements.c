/* Ready kernels on sequences of elements; see tombac/algorithms.h. */
#include "call.h"

static const tombac_size3 group_of_256 = {256, 1, 1};

static size_t blocks(size_t n, size_t size)
{
    return n / size + (n % size != 0);
}

tombac_status tombac_map_apply(tombac_algorithms *algorithms, tombac_map function, tombac_type type,
    tombac_buffer *in, tombac_buffer *out, size_t n, tombac_operation **operation, tombac_error **error)
{
    static const char *const names[] = {
        "abs", "negate", "square", "sqrt", "reciprocal", "exp", "log", "sin", "cos", "tanh"};
    call c;
    call_begin(&c, algorithms, error);
    const char *element = call_type(&c, __func__, type, "f");
    if ((unsigned)function >= sizeof names / sizeof *names)
        call_fail(&c, TOMBAC_ERROR_ARGUMENT, "%s: there is no function %d", __func__, (int)function);
    call_check_count(&c, __func__, n, 1);
    if (c.status == TOMBAC_OK) call_kernel(&c, "map_%s_%s", names[function], element);
    call_buffer(&c, in);
    call_buffer(&c, out);
    call_uint(&c, n);
    call_threads(&c, n, 1, group_of_256);
    return call_end(&c, operation);
}

tombac_status tombac_map_affine(tombac_algorithms *algorithms, float a, float b, tombac_buffer *in,
    tombac_buffer *out, size_t n, tombac_operation **operation, tombac_error **error)
{
    call c;
    call_begin(&c, algorithms, error);
    call_check_count(&c, __func__, n, 1);
    call_kernel(&c, "map_affine_float");
    call_buffer(&c, in);
    call_buffer(&c, out);
    call_uint(&c, n);
    call_float(&c, a);
    call_float(&c, b);
    call_threads(&c, n, 1, group_of_256);
    return call_end(&c, operation);
}

static void fill(call *c, tombac_buffer *out, const void *value, size_t size, size_t n)
{
    static const struct {
        size_t size;
        const char *name;
    } kernels[] = {{1, "uchar"}, {2, "ushort"}, {4, "uint"}, {8, "ulong"}, {16, "uint4"}};
    const char *name = NULL;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (kernels[i].size == size) name = kernels[i].name;
    if (!value) call_fail(c, TOMBAC_ERROR_ARGUMENT, "tombac_fill: 'value' is NULL");
    call_check_count(c, "tombac_fill", n, 1);
    tombac_buffer *view = call_view(c, out, size, 0, n);
    if (c->status != TOMBAC_OK) return;
    call_kernel(c, "fill_%s", name);
    call_buffer(c, view);
    call_bytes(c, value, size);
    call_uint(c, n);
    call_threads(c, n, 1, group_of_256);
}

tombac_status tombac_fill(tombac_algorithms *algorithms, tombac_buffer *out, const void *value, size_t size,
    size_t n, tombac_operation **operation, tombac_error **error)
{
    call c;
    call_begin(&c, algorithms, error);
    fill(&c, out, value, size, n);
    return call_end(&c, operation);
}

tombac_status call_copy(tombac_algorithms *algorithms, tombac_buffer *to, tombac_buffer *from,
    tombac_operation **operation, tombac_error **error)
{
    call c;
    call_begin(&c, algorithms, error);
    size_t bytes = tombac_buffer_size(from), lines = bytes / 16, rest = bytes % 16;
    call_check_count(&c, "tombac_stream_copy", lines, 1);
    for (int step = 0; step < 2 && c.status == TOMBAC_OK; step++) { /* lines of 16 bytes, and what is left */
        size_t size = step ? 1 : 16, n = step ? rest : lines, offset = step ? lines * 16 : 0;
        if (n == 0) continue;
        tombac_buffer *in = call_view(&c, from, size, offset, n), *out = call_view(&c, to, size, offset, n);
        call_kernel(&c, step ? "fill_copy_bytes" : "fill_copy");
        call_buffer(&c, in);
        call_buffer(&c, out);
        call_uint(&c, n);
        call_threads(&c, n, 1, group_of_256);
    }
    return call_end(&c, operation);
}

tombac_status tombac_reduce(tombac_algorithms *algorithms, tombac_reduction what, tombac_type type,
    tombac_buffer *in, tombac_buffer *out, size_t n, tombac_operation **operation, tombac_error **error)
{
    static const char *const names[] = {"sum", "min", "max"};
    call c;
    call_begin(&c, algorithms, error);
    const char *element = call_type(&c, __func__, type, "fiu");
    if ((unsigned)what >= sizeof names / sizeof *names)
        call_fail(&c, TOMBAC_ERROR_ARGUMENT, "%s: there is no reduction %d", __func__, (int)what);
    call_check_count(&c, __func__, n, 1);
    size_t groups = blocks(n, 4096);
    if (groups > 256) groups = 256;
    bool two = groups > 1;
    tombac_buffer *partial = two ? call_temporary(&c, groups, 4) : out;
    for (int pass = 0; pass <= two && c.status == TOMBAC_OK; pass++) {
        bool last = pass == two;
        call_kernel(&c, "reduce_%s_%s", names[what], element);
        call_buffer(&c, pass ? partial : in);
        call_buffer(&c, last ? out : partial);
        call_uint(&c, pass ? groups : n);
        call_groups(&c, last ? 1 : groups, 1, group_of_256);
    }
    return call_end(&c, operation);
}

/* ---- Prefix sums ---- */

enum { SCAN_BLOCK = 4096 }; /* of library/kernels/scan.c and compact.c */

static void spine(call *c, const char *element, tombac_buffer *sums, size_t n)
{
    if (c->status != TOMBAC_OK) return;
    call_kernel(c, "scan_spine_%s", element);
    call_buffer(c, sums);
    call_uint(c, n);
    call_groups(c, 1, 1, (tombac_size3){32, 1, 1});
}

static void scan(
    call *c, const char *element, bool inclusive, tombac_buffer *in, tombac_buffer *out, size_t n)
{
    size_t count = blocks(n, SCAN_BLOCK);
    tombac_buffer *sums = call_temporary(c, count + 1, 4);
    if (c->status != TOMBAC_OK) return;
    call_kernel(c, "scan_sums_%s", element);
    call_buffer(c, in);
    call_buffer(c, sums);
    call_uint(c, n);
    call_groups(c, count, 1, group_of_256);
    spine(c, element, sums, count);
    if (c->status != TOMBAC_OK) return;
    call_kernel(c, "scan_blocks_%s", element);
    call_buffer(c, in);
    call_buffer(c, out);
    call_buffer(c, sums);
    call_uint(c, n);
    call_uint(c, inclusive);
    call_groups(c, count, 1, group_of_256);
}

tombac_status tombac_scan(tombac_algorithms *algorithms, tombac_type type, bool inclusive, tombac_buffer *in,
    tombac_buffer *out, size_t n, tombac_operation **operation, tombac_error **error)
{
    call c;
    call_begin(&c, algorithms, error);
    const char *element = call_type(&c, __func__, type, "fiu");
    call_check_count(&c, __func__, n, 1);
    scan(&c, element, inclusive, in, out, n);
    return call_end(&c, operation);
}

/* ---- Counting, sorting, choosing ---- */

tombac_status tombac_histogram(tombac_algorithms *algorithms, tombac_type type, tombac_buffer *in,
    tombac_buffer *bins, size_t n, size_t bin_count, tombac_operation **operation, tombac_error **error)
{
    call c;
    call_begin(&c, algorithms, error);
    const char *element = call_type(&c, __func__, type, "csu");
    call_check_count(&c, __func__, n, 1);
    if (bin_count > 4096) call_fail(&c, TOMBAC_ERROR_ARGUMENT, "%s: there are more than 4096 bins", __func__);
    static const uint32_t zero = 0;
    fill(&c, bins, &zero, sizeof zero, bin_count);
    size_t groups = blocks(n, 16384);
    if (c.status == TOMBAC_OK) call_kernel(&c, "histogram_%s", element);
    call_buffer(&c, in);
    call_buffer(&c, bins);
    call_uint(&c, n);
    call_uint(&c, bin_count);
    call_groups(&c, groups > 64 ? 64 : groups, 1, group_of_256);
    return call_end(&c, operation);
}

enum { SORT_PART = 1024, SORT_SIMDGROUPS = 8 }; /* of library/kernels/sort.c */

typedef struct sort_pass {
    const char *element;
    tombac_buffer *keys, *to, *values, *values_to, *counts, *sums;
    size_t n;
    uint32_t shift;
} sort_pass;

static void record_pass(call *c, const sort_pass *p)
{
    size_t parts = blocks(p->n, SORT_PART), groups = blocks(parts, SORT_SIMDGROUPS);
    if (c->status != TOMBAC_OK) return;
    call_kernel(c, "sort_count_%s", p->element);
    call_buffer(c, p->keys);
    call_buffer(c, p->counts);
    call_uint(c, p->n);
    call_uint(c, parts);
    call_uint(c, p->shift);
    call_groups(c, groups, 1, group_of_256);

    size_t counts = 256 * parts, count = blocks(counts, SCAN_BLOCK);
    call_kernel(c, "scan_sums_uint");
    call_buffer(c, p->counts);
    call_buffer(c, p->sums);
    call_uint(c, counts);
    call_groups(c, count, 1, group_of_256);
    spine(c, "uint", p->sums, count);
    call_kernel(c, "scan_blocks_uint");
    call_buffer(c, p->counts);
    call_buffer(c, p->counts);
    call_buffer(c, p->sums);
    call_uint(c, counts);
    call_uint(c, false);
    call_groups(c, count, 1, group_of_256);

    call_kernel(c, "sort_%s_%s", p->values ? "pairs" : "move", p->element);
    call_buffer(c, p->keys);
    call_buffer(c, p->to);
    call_buffer(c, p->counts);
    if (p->values) {
        call_buffer(c, p->values);
        call_buffer(c, p->values_to);
    }
    call_uint(c, p->n);
    call_uint(c, parts);
    call_uint(c, p->shift);
    call_groups(c, groups, 1, group_of_256);
}

tombac_status tombac_sort(tombac_algorithms *algorithms, tombac_type type, tombac_buffer *keys,
    tombac_buffer *values, size_t n, tombac_operation **operation, tombac_error **error)
{
    call c;
    call_begin(&c, algorithms, error);
    sort_pass p = {.element = call_type(&c, __func__, type, "fiu"), .keys = keys, .values = values, .n = n};
    call_check_count(&c, __func__, n, 1);
    size_t counts = 256 * blocks(n, SORT_PART);
    p.to = call_temporary(&c, n, 4);
    p.counts = call_temporary(&c, counts, 4);
    p.sums = call_temporary(&c, blocks(counts, SCAN_BLOCK) + 1, 4);
    if (values) p.values_to = call_temporary(&c, n, 4);
    for (p.shift = 0; p.shift < 32 && c.status == TOMBAC_OK; p.shift += 8) {
        record_pass(&c, &p);
        p = (sort_pass){p.element, p.to, p.keys, p.values_to, p.values, p.counts, p.sums, n, p.shift};
    }
    return call_end(&c, operation);
}

tombac_status tombac_compact(tombac_algorithms *algorithms, tombac_type type, tombac_buffer *in,
    tombac_buffer *flags, tombac_buffer *out, tombac_buffer *count, size_t n, tombac_operation **operation,
    tombac_error **error)
{
    call c;
    call_begin(&c, algorithms, error);
    const char *element = call_type(&c, __func__, type, "fiu");
    call_check_count(&c, __func__, n, 1);
    call_check_apart(&c, __func__, in, out);
    size_t groups = blocks(n, SCAN_BLOCK);
    tombac_buffer *sums = call_temporary(&c, groups + 1, 4), *total = NULL;
    call_kernel(&c, "compact_count");
    call_buffer(&c, flags);
    call_buffer(&c, sums);
    call_uint(&c, n);
    call_groups(&c, groups, 1, group_of_256);
    spine(&c, "uint", sums, groups);
    if (c.status == TOMBAC_OK) call_kernel(&c, "compact_move_%s", element);
    call_buffer(&c, in);
    call_buffer(&c, flags);
    call_buffer(&c, out);
    call_buffer(&c, sums);
    call_uint(&c, n);
    call_groups(&c, groups, 1, group_of_256);
    /* The total lies behind the sums. */
    if (c.status == TOMBAC_OK) c.status = tombac_buffer_create_view(sums, NULL, groups * 4, 4, &total, error);
    call_kernel(&c, "reduce_sum_uint");
    call_buffer(&c, total);
    call_buffer(&c, count);
    call_uint(&c, 1);
    call_groups(&c, 1, 1, group_of_256);
    tombac_buffer_release(total);
    return call_end(&c, operation);
}
