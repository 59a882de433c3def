/* The report as text, for eyes, and as JSON, for machines; see report.h.
 *
 * Text: what the kernel is made of, then what costs, worst first, with a hint where a change of the source
 * would help, then every decision in the order of the source. The worth of a place is the decision's cost
 * (CPU_DECISIONS) times 8 for each loop around: an order to look at, not a time. The text shows the first
 * variant, which runs where the threadgroup's rows fit; of the others it gives the numbers. JSON has all of
 * them. */
#include "compiler/cpu/report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORTH_A_LOOK = 12, MAX_SHOWN = 16, LARGE_CONTEXT = 1024, LARGE_STRIDE = 64 };

static const char *const words[] = {
#define X(name, word, text, cost) word,
    CPU_DECISIONS(X)
#undef X
};
static const char *const texts[] = {
#define X(name, word, text, cost) text,
    CPU_DECISIONS(X)
#undef X
};
static const int costs[] = {
#define X(name, word, text, cost) cost,
    CPU_DECISIONS(X)
#undef X
};

typedef struct printer {
    const cpu_report *r;
    const cpu_report_context *c;
    tb_text *out;
} printer;

static bool is_access(cpu_decision d)
{
    return d <= CPU_PRIVATE_CELLS;
}

static bool is_atomic(cpu_decision d)
{
    return d >= CPU_ATOMIC_COMBINED && d <= CPU_ATOMIC_LOCKED;
}

static uint64_t worth(const cpu_report *r, const cpu_note_record *n)
{
    int depth = n->loop < 0 ? 0 : r->loops[n->loop].depth;
    if (n->decision == CPU_LOOP_DIVERGENT || n->decision == CPU_LOOP_UNIFORM) depth++;
    if (depth > 6) depth = 6;
    uint64_t cost = (uint64_t)costs[n->decision] * (uint64_t)n->count;
    if (n->decision == CPU_BARRIER) cost += (n->saved + n->loaded) / 64;
    if (n->decision == CPU_INTERLEAVED && (n->stride > LARGE_STRIDE || n->stride < -LARGE_STRIDE)) cost *= 4;
    return cost << (3 * depth);
}

/* ---- Hints ---- */

static void hint_of_order(const cpu_note_record *n, tb_text *out)
{
    char line[32] = "";
    if (n->reason_line && n->reason_line != n->line)
        snprintf(line, sizeof line, " (line %u)", n->reason_line);
    switch (n->reason) {
    case CPU_REASON_MEMORY:
        tb_text_printf(out,
            "the index comes from memory%s, so neighbouring threads touch unrelated places: sort the "
            "indices, or "
            "copy the table to threadgroup memory first",
            line);
        return;
    case CPU_REASON_STRIDE:
        tb_text_printf(out,
            "the stride is a run-time value%s: make it a function constant or a template parameter, or let "
            "neighbouring threads take neighbouring elements",
            line);
        return;
    case CPU_REASON_DIVISION:
        tb_text_printf(out,
            "the index goes through a division or remainder%s: launch a grid of two or three dimensions "
            "instead of "
            "dividing a position, or divide by a constant power of two",
            line);
        return;
    case CPU_REASON_BITS:
        tb_text_printf(out,
            "the index goes through bit operations%s in which no constant distance between threads can be "
            "seen",
            line);
        return;
    case CPU_REASON_CONTROL:
        tb_text_printf(out,
            "each thread chooses the address by a condition or a loop%s: choose between values, not between "
            "addresses, or count in steps that are the same for all threads",
            line);
        return;
    default: return;
    }
}

static void hint(const cpu_note_record *n, tb_text *out)
{
    switch (n->decision) {
    case CPU_LANES:
        if (n->is_volatile)
            tb_text_puts(out, "the access is volatile; a plain one, or one after a barrier, is done for all "
                              "threads at once");
        else if (n->size < 4 && !n->reason)
            tb_text_puts(out, "elements of less than 32 bits have no gather or masked access here: load 32 "
                              "bits and take them apart");
        else
            hint_of_order(n, out);
        break;
    case CPU_GATHER:
    case CPU_SCATTER:
    case CPU_ROWS: hint_of_order(n, out); break;
    case CPU_INTERLEAVED:
        if (n->stride > LARGE_STRIDE || n->stride < -LARGE_STRIDE)
            tb_text_printf(out,
                "neighbouring threads are %" PRId64
                " bytes apart, each on a cache line of its own: exchange loops or "
                "transpose the data",
                n->stride);
        break;
    case CPU_ATOMIC_LOCKED:
        tb_text_puts(out,
            n->reason ? "count in threadgroup memory, where no lock is needed, and add the sums at the end"
                      : "reduce in the SIMD-group first (simd_sum, simd_max) and let one thread update");
        break;
    case CPU_DIVISION_WIDE: tb_text_puts(out, "divide in 32 bits where the values fit"); break;
    case CPU_LOOP_DIVERGENT:
        tb_text_puts(out, "the SIMD-group runs as long as its slowest thread: give neighbouring threads work "
                          "of equal length");
        break;
    case CPU_BARRIER:
        if (n->saved + n->loaded > LARGE_CONTEXT)
            tb_text_puts(out,
                "fewer values that live across the barrier (private arrays most of all) make it cheaper");
        break;
    default: break;
    }
}

/* ---- One note ---- */

static void describe(const printer *p, const cpu_note_record *n, tb_text *out)
{
    static const char *const spaces[] = {"", "device memory", "threadgroup memory", "private memory"};
    if (n->count > 1) tb_text_printf(out, "%d x ", n->count);
    tb_text_puts(out, words[n->decision]);
    if (is_access(n->decision) || is_atomic(n->decision)) {
        if (is_access(n->decision)) tb_text_puts(out, n->store ? " store" : " load");
        const char *name = n->argument < 0 ? NULL : p->c->argument(p->c->data, n->argument);
        tb_text_printf(out, " of %d byte%s %s ", n->size, n->size == 1 ? "" : "s",
            n->store                 ? "to"
            : is_atomic(n->decision) ? "in"
                                     : "from");
        if (name)
            tb_text_printf(out, "'%s'", name);
        else
            tb_text_puts(out, spaces[n->space]);
    }
    if (n->decision == CPU_INTERLEAVED && n->has_stride)
        tb_text_printf(out, ", stride %" PRId64 " bytes", n->stride);
    if (n->operation && n->decision != CPU_LOG) tb_text_printf(out, " %s", n->operation);
    if (n->decision == CPU_BARRIER)
        tb_text_printf(out, ", saves %zu and loads %zu bytes for each SIMD-group", n->saved, n->loaded);
    if (n->decision == CPU_BRANCH_DIVERGENT && n->guarded)
        tb_text_puts(out, ", ways without a thread are skipped");
    if (n->masked && n->decision != CPU_BRANCH_DIVERGENT) tb_text_puts(out, ", under a mask");
    if (n->is_volatile) tb_text_puts(out, ", volatile");
}

static void place_in_loops(const printer *p, const cpu_note_record *n)
{
    if (n->loop < 0) return;
    tb_text_puts(
        p->out, p->r->loops[n->loop].parent < 0 ? ", in the loop at line " : ", in the loops at lines ");
    for (int l = n->loop; l >= 0; l = p->r->loops[l].parent)
        tb_text_printf(p->out, "%s%u", l == n->loop ? "" : ", ", p->r->loops[l].line);
}

static void show_line(const printer *p, const cpu_note_record *n)
{
    tb_text line = {0};
    if (n->file && n->line && p->c->line(p->c->data, n->file, n->line, &line)) {
        const char *text = tb_text_string(&line);
        text += strspn(text, " \t");
        tb_text_printf(p->out, "%7u | %s\n", n->line, text);
    }
    tb_text_free(&line);
}

/* ---- Numbers ---- */

static void count_kind(const cpu_report *r, int variant, int *count)
{
    for (size_t i = 0; i < r->note_count; i++)
        if (r->notes[i].variant == variant) count[r->notes[i].decision] += r->notes[i].count;
}

static void list_counts(tb_text *out, const int *count, cpu_decision from, cpu_decision to)
{
    const char *between = "";
    for (cpu_decision d = from; d <= to; d++) {
        if (!count[d]) continue;
        tb_text_printf(out, "%s%d", between, count[d]);
        if (from != to) tb_text_printf(out, " %s", words[d]);
        between = ", ";
    }
}

static bool has_any(const int *count, cpu_decision from, cpu_decision to)
{
    for (cpu_decision d = from; d <= to; d++)
        if (count[d]) return true;
    return false;
}

static void summarise(const printer *p, int variant, const char *indent)
{
    static const struct {
        const char *what;
        cpu_decision from, to;
    } kinds[] = {{"memory accesses", CPU_UNIFORM, CPU_PRIVATE_CELLS},
        {"atomic updates", CPU_ATOMIC_COMBINED, CPU_ATOMIC_LOCKED},
        {"divisions", CPU_DIVISION_WIDE, CPU_DIVISION}, {"calls thread by thread", CPU_CALL_LANES, CPU_LOG},
        {"collectives", CPU_COLLECTIVE, CPU_COLLECTIVE}, {"branches", CPU_BRANCH_UNIFORM, CPU_BRANCH_FORCED},
        {"loops", CPU_LOOP_UNIFORM, CPU_LOOP_DIVERGENT}, {"barriers", CPU_BARRIER, CPU_BARRIER}};
    int count[CPU_DECISION_COUNT] = {0};
    count_kind(p->r, variant, count);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!has_any(count, kinds[i].from, kinds[i].to)) continue;
        tb_text_printf(p->out, "%s%s: ", indent, kinds[i].what);
        list_counts(p->out, count, kinds[i].from, kinds[i].to);
        tb_text_putc(p->out, '\n');
    }
    if (p->r->variants[variant].context)
        tb_text_printf(
            p->out, "%scontext: %zu bytes for each SIMD-group\n", indent, p->r->variants[variant].context);
}

/* ---- Orders ---- */

typedef struct ranked {
    const cpu_note_record *note;
    uint64_t worth;
    size_t number;
} ranked;

static int by_worth(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->worth != y->worth) return x->worth < y->worth ? 1 : -1;
    return x->number < y->number ? -1 : 1;
}

static int by_line(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    const char *f = x->note->file ? x->note->file : "", *g = y->note->file ? y->note->file : "";
    int files = strcmp(f, g);
    if (files) return files;
    if (x->note->line != y->note->line) return x->note->line < y->note->line ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* Does a worse one of this line say the same? Loops are peeled and unrolled. */
static bool is_repeated(const ranked *list, size_t i)
{
    const cpu_note_record *n = list[i].note;
    for (size_t j = 0; j < i; j++)
        if (list[j].note->decision == n->decision && list[j].note->line == n->line &&
            list[j].note->file == n->file)
            return true;
    return false;
}

static void print_worst(const printer *p, const ranked *list, size_t count)
{
    size_t shown = 0;
    for (size_t i = 0; i < count && shown < MAX_SHOWN; i++) {
        const cpu_note_record *n = list[i].note;
        if (is_repeated(list, i)) continue;
        tb_text words_of = {0};
        hint(n, &words_of);
        bool large = n->decision == CPU_BARRIER && n->saved + n->loaded > LARGE_CONTEXT;
        if (costs[n->decision] >= WORTH_A_LOOK || large || words_of.size) {
            tb_text_puts(p->out, shown++ ? "" : "\nLook at first\n");
            tb_text_printf(p->out, "%s:%u: ", n->file ? n->file : "?", n->line);
            describe(p, n, p->out);
            place_in_loops(p, n);
            tb_text_putc(p->out, '\n');
            show_line(p, n);
            tb_text_printf(p->out, "        = %s\n", texts[n->decision]);
            if (words_of.size) tb_text_printf(p->out, "        hint: %s\n", words_of.data);
        }
        tb_text_free(&words_of);
    }
}

static void print_all(const printer *p, const ranked *list, size_t count)
{
    const char *file = NULL;
    unsigned line = 0;
    tb_text_puts(p->out, "\nAll decisions, by line\n");
    for (size_t i = 0; i < count; i++) {
        const cpu_note_record *n = list[i].note;
        if (i == 0 || n->file != file)
            tb_text_printf(p->out, "%s\n", n->file ? n->file : "(no source position)");
        if (i == 0 || n->file != file || n->line != line) show_line(p, n);
        file = n->file;
        line = n->line;
        tb_text_puts(p->out, "        - ");
        describe(p, n, p->out);
        tb_text_putc(p->out, '\n');
    }
}

static bool print_text(const printer *p)
{
    const cpu_report *r = p->r;
    ranked *list = calloc(r->note_count + 1, sizeof *list);
    size_t count = 0;
    if (!list) return false;
    for (size_t i = 0; i < r->note_count; i++)
        if (r->notes[i].variant == 0) list[count++] = (ranked){&r->notes[i], worth(r, &r->notes[i]), i};
    tb_text_printf(p->out, "kernel '%s' of %s, engine cpu, %s\n", p->c->kernel, p->c->file, p->c->target);
    tb_text_printf(
        p->out, "\nThreadgroups with %s%s\n", r->variant_count > 1 ? "" : "of ", r->variants[0].name);
    summarise(p, 0, "  ");
    for (int v = 1; v < r->variant_count; v++) {
        tb_text_printf(p->out, "%s %s\n", v + 1 < r->variant_count ? "Threadgroups with" : "Threadgroups of",
            r->variants[v].name);
        summarise(p, v, "  ");
    }
    qsort(list, count, sizeof *list, by_worth);
    print_worst(p, list, count);
    qsort(list, count, sizeof *list, by_line);
    print_all(p, list, count);
    free(list);
    return !p->out->bad;
}

/* ---- JSON ---- */

static void set(json_t *object, const char *key, json_t *value, bool *good)
{
    *good &= json_object_set_new(object, key, value) == 0;
}

static json_t *note_json(const printer *p, const cpu_note_record *n, bool *good)
{
    json_t *o = json_object();
    tb_text text = {0}, advice = {0}, line = {0};
    describe(p, n, &text);
    hint(n, &advice);
    set(o, "variant", json_string(p->r->variants[n->variant].name), good);
    set(o, "decision", json_string(words[n->decision]), good);
    set(o, "text", json_string(tb_text_string(&text)), good);
    set(o, "file", n->file ? json_string(n->file) : json_null(), good);
    set(o, "line", json_integer(n->line), good);
    if (n->file && n->line && p->c->line(p->c->data, n->file, n->line, &line))
        set(o, "source", json_string(tb_text_string(&line)), good);
    set(o, "count", json_integer(n->count), good);
    set(o, "worth", json_integer((json_int_t)worth(p->r, n)), good);
    set(o, "masked", json_boolean(n->masked), good);
    set(o, "guarded", json_boolean(n->guarded), good);
    json_t *loops = json_array();
    for (int l = n->loop; l >= 0; l = p->r->loops[l].parent)
        *good &= json_array_append_new(loops, json_integer(p->r->loops[l].line)) == 0;
    set(o, "loops", loops, good);
    if (is_access(n->decision) || is_atomic(n->decision)) {
        const char *name = n->argument < 0 ? NULL : p->c->argument(p->c->data, n->argument);
        set(o, "access", json_string(is_atomic(n->decision) ? "atomic" : n->store ? "store" : "load"), good);
        set(o, "argument", name ? json_string(name) : json_null(), good);
        set(o, "size", json_integer(n->size), good);
        set(o, "stride", n->has_stride ? json_integer(n->stride) : json_null(), good);
    }
    if (n->operation) set(o, "operation", json_string(n->operation), good);
    if (n->decision == CPU_BARRIER) {
        set(o, "saved", json_integer((json_int_t)n->saved), good);
        set(o, "loaded", json_integer((json_int_t)n->loaded), good);
    }
    if (advice.size) set(o, "hint", json_string(tb_text_string(&advice)), good);
    *good &= !text.bad && !advice.bad && !line.bad;
    tb_text_free(&text);
    tb_text_free(&advice);
    tb_text_free(&line);
    return o;
}

static json_t *variants_json(const printer *p, bool *good)
{
    json_t *variants = json_array();
    for (int v = 0; v < p->r->variant_count; v++) {
        int count[CPU_DECISION_COUNT] = {0};
        json_t *numbers = json_object(), *o = json_object();
        count_kind(p->r, v, count);
        for (int d = 0; d < CPU_DECISION_COUNT; d++)
            if (count[d]) set(numbers, words[d], json_integer(count[d]), good);
        set(o, "name", json_string(p->r->variants[v].name), good);
        set(o, "context", json_integer((json_int_t)p->r->variants[v].context), good);
        set(o, "counts", numbers, good);
        *good &= json_array_append_new(variants, o) == 0;
    }
    return variants;
}

static bool print_json(const printer *p)
{
    bool good = true;
    json_t *root = json_object(), *notes = json_array();
    set(root, "kernel", json_string(p->c->kernel), &good);
    set(root, "file", json_string(p->c->file), &good);
    set(root, "engine", json_string("cpu"), &good);
    set(root, "target", json_string(p->c->target), &good);
    set(root, "variants", variants_json(p, &good), &good);
    for (size_t i = 0; i < p->r->note_count; i++)
        good &= json_array_append_new(notes, note_json(p, &p->r->notes[i], &good)) == 0;
    set(root, "decisions", notes, &good);
    char *text = good ? json_dumps(root, JSON_INDENT(1)) : NULL;
    if (text) tb_text_printf(p->out, "%s\n", text);
    free(text);
    json_decref(root);
    return text && !p->out->bad;
}

tombac_status cpu_report_print(const cpu_report *report, const cpu_report_context *context, bool json,
    tb_text *out, tombac_error **error)
{
    printer p = {report, context, out};
    if (report->bad || !report->variant_count) return tb_fail_memory(error);
    return (json ? print_json(&p) : print_text(&p)) ? TOMBAC_OK : tb_fail_memory(error);
}
