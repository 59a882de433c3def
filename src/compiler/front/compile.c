/* Phase 2: the rewritten text through clang -cc1 to bitcode.
 *
 * The text goes in and the bitcode comes out through pipes; nothing is written to disk. Clang is run again
 * where its errors show that a rule was not applied for lack of types: at ternaries whose operands do not
 * unify, and at swizzles that are spelled like a member of some class. */
#include "base/process.h"
#include "compiler/front/c.h"
#include "compiler/front/diagnose.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_ATTEMPTS = 8, MAX_ARGUMENTS = 80, TIME_LIMIT = 200 };
static const size_t memory_limit = (size_t)8 << 30;

typedef struct arguments {
    const char *list[MAX_ARGUMENTS];
    size_t count;
} arguments;

static void push(arguments *a, const char *argument)
{
    if (a->count + 1 < MAX_ARGUMENTS) a->list[a->count++] = argument;
}

/* Must agree with the command that makes the precompiled headers (msl/CMakeLists.txt) in language and -O
 * level. Ends of lifetimes would turn each early return into a number and a switch, which hides that it is one. The
 * layout of packed structures is that of Apple's systems, as of clang 15 everywhere: vectors in them are packed too. */
static const char *const fixed[] = {"-cc1", "-triple", "nvptx64", "-faddress-space-map-mangling=no", "-x",
    "c++", "-std=c++17", "-fsycl-is-device", "-O1", "-funroll-loops", "-relaxed-aliasing",
    "-fno-threadsafe-statics", "-fclang-abi-compat=15", "-fno-finite-loops", "-disable-free", "-disable-llvm-passes", "-disable-lifetime-markers",
    "-discard-value-names",
    "-nostdsysteminc", "-nobuiltininc", "-fno-caret-diagnostics", "-fno-diagnostics-use-presumed-location",
    "-fmessage-length=0", "-fno-elide-type", "-ferror-limit", "200"};

/* Fast math never promises the absence of infinities or NaNs: kernels use -INFINITY as a mask. */
static void push_math(arguments *a, tombac_math math)
{
    if (math == TOMBAC_MATH_SAFE) {
        push(a, "-ffp-contract=on");
        return;
    }
    push(a, "-ffp-contract=fast");
    push(a, "-fno-signed-zeros");
    push(a, "-freciprocal-math");
    push(a, "-fapprox-func");
    if (math == TOMBAC_MATH_FAST) push(a, "-mreassociate");
}

static void push_warnings(arguments *a, bool wanted)
{
    static const char *const on[] = {"-Wunused-variable", "-Wuninitialized", "-Wsometimes-uninitialized",
        "-Wno-unknown-pragmas", "-Wno-unknown-attributes", "-Wno-ignored-attributes", "-Wno-unused-function",
        "-Wno-unused-const-variable", "-Wno-duplicate-decl-specifier", "-Wno-pass-failed",
        "-Wno-c++20-extensions", "-Wno-c99-designator", "-Wno-gnu-designator", "-Wno-c++23-extensions",
        "-Wno-unused-value", "-Wno-pragma-once-outside-header", "-Wno-parentheses-equality",
        "-Wno-inline-namespace-reopened-noninline"};
    if (!wanted) push(a, "-Wno-everything");
    for (size_t i = 0; wanted && i < sizeof on / sizeof *on; i++) push(a, on[i]);
    push(a, "-Werror=vla-cxx-extension");
}

typedef struct attempt {
    rewriter *r;
    bool syntax_only, use_pch;
    bool newer; /* C++20, for template parameters of class types */
    tb_text text;
    uint32_t *offsets;
    tb_process process;
    tb_text
        unsupported; /* reports about declarations that were left out, in case they turn out to be needed */
    front_position unsupported_at;
} attempt;

static tombac_status run(attempt *a, tombac_error **error)
{
    const front_unit *unit = a->r->unit;
    const char *pch = !a->use_pch ? NULL : a->newer ? unit->paths.newer_pch : unit->paths.pch;
    arguments line = {0};
    tb_text umbrella = {0};
    tb_text_printf(&umbrella, "%s/" FRONT_UMBRELLA, unit->paths.msl);
    if (umbrella.bad) return tb_fail_memory(error);
    push(&line, unit->paths.clang);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        push(&line, a->newer && !strcmp(fixed[i], "-std=c++17") ? "-std=c++20" : fixed[i]);
    push_math(&line, a->r->safe_base ? TOMBAC_MATH_SAFE : unit->options.math);
    push_warnings(&line, unit->options.warnings);
    push(&line, "-internal-isystem");
    push(&line, unit->paths.msl);
    push(&line, pch ? "-include-pch" : "-include");
    push(&line, pch ? pch : tb_text_string(&umbrella));
    if (a->syntax_only) {
        push(&line, "-fsyntax-only");
    } else {
        push(&line, "-debug-info-kind=standalone");
        push(&line, "-dwarf-version=4");
        push(&line, "-emit-llvm-bc");
        push(&line, "-o");
        push(&line, "-");
    }
    push(&line, "-");
    a->process = (tb_process){.arguments = line.list,
        .input = tb_text_string(&a->text),
        .input_size = a->text.size,
        .time_limit = TIME_LIMIT,
        .memory_limit = memory_limit};
    tombac_status status = tb_process_run(&a->process, error);
    a->process.arguments = NULL;
    tb_text_free(&umbrella);
    if (status == TOMBAC_ERROR_NOT_FOUND || status == TOMBAC_ERROR_TIMEOUT) {
        if (error) tombac_error_release(*error);
        status =
            status == TOMBAC_ERROR_TIMEOUT
                ? tb_fail(
                      error, TOMBAC_ERROR_COMPILER, "clang ran longer than %d s and was stopped", TIME_LIMIT)
                : tb_fail(error, TOMBAC_ERROR_COMPILER,
                      "cannot run '%s'; clang 22 is needed, TOMBAC_CLANG can name it", unit->paths.clang);
    }
    return status;
}

static void forget(attempt *a)
{
    tb_text_free(&a->text);
    tb_text_free(&a->process.output);
    tb_text_free(&a->process.errors);
}

static bool begins(const diagnostic *d, const char *words)
{
    size_t length = strlen(words);
    return d->length >= length && memcmp(d->message, words, length) == 0;
}

/* The declaration at program scope around a token: first and last token. */
static bool outermost(const rewriter *r, uint32_t at, uint32_t *first, uint32_t *last)
{
    const token *t = r->list->tokens;
    while (t[at].brace != NO_TOKEN && t[t[at].brace].scope != SCOPE_NAMESPACE) at = t[at].brace;
    if (t[at].bracket != 0 && t[at].bracket != '{') {
        uint32_t i = at; /* inside the parentheses of a function's head: back to its first token */
        while (i > 0 && t[i].bracket != 0 && t[i].bracket != '{') i--;
        at = i;
    }
    *first = t[at].head;
    for (uint32_t i = at; i < r->list->count; i++) {
        *last = i;
        if (t[i].code == ';') return true;
        if (t[i].code == '{') {
            *last = t[i].match;
            if (t[*last + 1].code == ';') ++*last;
            return true;
        }
        if (t[i].code == '(' || t[i].code == '[') i = t[i].match;
    }
    return false;
}

/* A selected kernel need not suffer from textures in a function that it does not call: leaves out such
 * declarations. */
static bool leave_out(attempt *a, const diagnostic_list *list)
{
    rewriter *r = a->r;
    bool changed = false;
    for (size_t i = 0; r->selected && i < list->count; i++) {
        if (list->items[i].kind != DIAGNOSTIC_ERROR ||
            !front_diagnostic_says(&list->items[i], "not supported"))
            continue;
        uint32_t at = front_diagnostic_token(list, i), first, last;
        if (at >= r->list->count || r->edits.edits[at].blank || !outermost(r, at, &first, &last)) continue;
        for (size_t k = 0; k < r->unit->site_count; k++) { /* never the kernel itself */
            const kernel_site *site = &r->unit->sites[k];
            if (site->head == first && site->kernel != NO_TOKEN &&
                &r->unit->kernels[site->kernel] == r->selected)
                return changed;
        }
        diagnostic_list one = {&list->items[i], 1};
        while (i + one.count < list->count && list->items[i + one.count].kind == DIAGNOSTIC_NOTE) one.count++;
        front_show_diagnostics(r, &one, &a->unsupported, &a->unsupported_at);
        front_edit_blank(&r->edits, first, last);
        changed = true;
    }
    return changed;
}

/* Marks the literals of a call, or of what initialises a variable; false where there is none that is not marked yet. */
static bool ask_for_strings(rewriter *r, uint32_t first)
{
    const token *t = r->list->tokens;
    while (token_is(r->list, first, "::") || (t[first].kind == TOKEN_IDENTIFIER && token_is(r->list, first + 1, "::"))) first++;
    uint32_t last = first;
    if (t[first].kind == TOKEN_IDENTIFIER && t[first + 1].code == '(') last = t[first + 1].match;
    if (t[first].kind == TOKEN_IDENTIFIER && t[first + 1].code == '=') last = first + 2;
    bool found = false;
    for (uint32_t at = first; at <= last; at++) {
        bool part = at > 0 && t[at].kind == TOKEN_STRING && t[at - 1].kind == TOKEN_STRING;
        if (part || r->asked[at] || !front_is_string(r, at)) continue;
        r->asked[at] = true;
        found = true;
    }
    return found;
}

/* A string literal is in constant memory (Metal's specification, 4.2), to clang in the default space: where an error shows that a
 * pointer to constant memory is wanted, the literal is cast. The i-th diagnostic is about the literal itself, a
 * variable that it initialises, a call with literals among its arguments, or a call in a template that was instantiated for
 * literals. */
static bool cast_strings(rewriter *r, const diagnostic_list *list, size_t i)
{
    const diagnostic *d = &list->items[i];
    bool constant = front_diagnostic_says(d, "'const char[") && front_diagnostic_says(d, "global_host"), generic = false;
    bool found = false;
    for (size_t k = i + 1; k < list->count && list->items[k].kind == DIAGNOSTIC_NOTE; k++) {
        const diagnostic *note = &list->items[k];
        if (!front_diagnostic_says(note, "global_host")) continue;
        constant |= front_diagnostic_says(note, "from 'const char[");
        generic |= front_diagnostic_says(note, "generic address space") || front_diagnostic_says(note, "from 'const char *'");
    }
    if (constant && d->token != NO_TOKEN) found = ask_for_strings(r, d->token);
    for (size_t k = i + 1; generic && k < list->count && list->items[k].kind == DIAGNOSTIC_NOTE; k++) {
        const diagnostic *note = &list->items[k];
        bool literals = front_diagnostic_says(note, "in instantiation of") && front_diagnostic_says(note, "const char *");
        if (literals && note->token != NO_TOKEN && note->token < r->list->count) found |= ask_for_strings(r, note->token);
    }
    return found;
}

/* Applies what the errors ask for; *changed is false if there is nothing. */
static tombac_status repair(attempt *a, const diagnostic_list *list, bool *changed)
{
    rewriter *r = a->r;
    bool swizzles = false; /* or literals */
    *changed = leave_out(a, list);
    for (size_t i = 0; i < list->count; i++) {
        const diagnostic *d = &list->items[i];
        if (d->kind != DIAGNOSTIC_ERROR || d->token == NO_TOKEN || d->token >= r->list->count) continue;
        if (cast_strings(r, list, i)) {
            swizzles = true;
        } else if (r->list->tokens[d->token].code == '?' &&
            (begins(d, "incompatible operand types") || begins(d, "conditional expression is ambiguous"))) {
            *changed |= front_wrap_ternary(r, d->token);
        } else if (begins(d, "no member named '") && front_is_free(r, d->token) &&
                   front_is_swizzle(r, d->token)) {
            swizzles |= !r->asked[d->token];
            r->asked[d->token] = true;
        }
    }
    *changed |= swizzles;
    return swizzles ? front_rewrite_again(r) : TOMBAC_OK;
}

/* The precompiled headers were made by another clang or with other options. */
static bool pch_rejected(const attempt *a)
{
    static const char *const signs[] = {"precompiled file", "PCH file", "AST file", "precompiled header"};
    bool found = false;
    for (size_t i = 0; a->use_pch && i < sizeof signs / sizeof *signs; i++)
        found |= a->process.exit_status != 0 && strstr(tb_text_string(&a->process.errors), signs[i]);
    return found;
}

static tombac_status fail(attempt *a, const diagnostic_list *list, tombac_error **error)
{
    tb_text report = {0};
    front_position first = {0};
    tombac_status status = front_show_diagnostics(a->r, list, &report, &first);
    if (report.bad) {
        status = tb_fail_memory(error);
    } else if (a->unsupported.size) {
        status = tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "%s", a->unsupported.data);
        first = a->unsupported_at;
        if (first.file) tb_error_set_location(error, first.file, first.line, first.column);
    } else if (a->process.exit_status != 1) {
        status = tb_fail(error, TOMBAC_ERROR_COMPILER, "clang crashed (status %d) while compiling %s%s\n%s",
            a->process.exit_status, a->r->selected ? "kernel " : a->r->unit->main_path,
            a->r->selected ? a->r->selected->name : "", tb_text_string(&report));
    } else if (report.size == 0) {
        status =
            tb_fail(error, TOMBAC_ERROR_COMPILER, "clang failed:\n%s", tb_text_string(&a->process.errors));
    } else {
        status = tb_fail(error, status, "%s", report.data);
        if (first.file) tb_error_set_location(error, first.file, first.line, first.column);
    }
    tb_text_free(&report);
    return status;
}

/* Template parameters of class types came with C++20, and kernels use them with tensor operations. Everything
 * else stays C++17. */
static bool needs_newer(attempt *a, const diagnostic_list *list)
{
    bool found = false;
    for (size_t i = 0; !a->newer && i < list->count; i++)
        found |= list->items[i].kind == DIAGNOSTIC_ERROR &&
                 begins(&list->items[i], "a non-type template parameter cannot have type") &&
                 front_diagnostic_says(&list->items[i], "before C++20");
    a->newer |= found;
    return found;
}

/* The tensor operations themselves are such templates. */
static bool uses_operations(const front_unit *unit)
{
    static const char *const names[] = {"matmul2d", "matmul2d_descriptor", "convolution2d", "convolution2d_descriptor"};
    for (uint32_t i = 0; i < unit->list.count; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (token_is(&unit->list, i, names[k])) return true;
    return false;
}

/* Runs clang until it is content or nothing can be repaired. */
static tombac_status compile(attempt *a, front_result *result, tombac_error **error)
{
    tombac_status status = TOMBAC_OK;
    for (int n = 0; n < MAX_ATTEMPTS; n++) {
        diagnostic_list list = {0};
        front_edit_emit(&a->r->edits, a->offsets, &a->text);
        if (a->text.bad || a->r->edits.pool.bad) return tb_fail_memory(error);
        if (a->r->edits.too_large)
            return tb_fail(error, TOMBAC_ERROR_SOURCE, "the source is too deeply nested");
        status = run(a, error);
        if (status != TOMBAC_OK) return status;
        bool again = pch_rejected(a);
        if (again)
            a->use_pch = false;
        else if (!front_parse_diagnostics(a->r, &a->process.errors, &a->text, a->offsets, &list))
            return tb_fail_memory(error);
        bool done = !again && a->process.exit_status == 0;
        if (!again && !done && n + 1 < MAX_ATTEMPTS) again = needs_newer(a, &list);
        if (!again && !done && n + 1 < MAX_ATTEMPTS) status = repair(a, &list, &again);
        if (status == TOMBAC_OK && !again && !done && a->r->pruned) {
            a->r->whole = again = true;
            status = front_rewrite_again(a->r);
            n = -1; /* from the start */
        }
        if (status != TOMBAC_OK)
            again = false;
        else if (done)
            front_warn_unannotated(a->r, &result->diagnostics);
        if (done) front_warn(a->r, &result->diagnostics);
        if (done)
            front_show_diagnostics(a->r, &list, &result->diagnostics, NULL);
        else if (!again && status == TOMBAC_OK)
            status = fail(a, &list, error);
        free(list.items);
        if (done) {
            result->bitcode = a->process.output;
            a->process.output = (tb_text){0};
        }
        if (!again) break;
        forget(a);
    }
    return status;
}

/* What is refused before clang sees it: the selected kernel's parameters, or, for a whole file, every problem
 * there is. */
static tombac_status refuse(const rewriter *r, tombac_error **error)
{
    const front_unit *unit = r->unit;
    for (size_t i = 0; i < unit->site_count; i++) {
        const kernel_site *site = &unit->sites[i];
        const token *t = &unit->list.tokens[site->kind == SITE_STAGE ? site->name : site->problem_token];
        if (site->kind == SITE_STAGE && !r->selected)
            return front_fail_at(unit, site->name, TOMBAC_ERROR_UNSUPPORTED, error,
                "'%.*s' is a function of another pipeline stage; only kernels are supported", (int)t->length,
                unit->list.text + t->offset);
        bool selected =
            site->kernel != NO_TOKEN && (!r->selected || &unit->kernels[site->kernel] == r->selected);
        if (!selected || !site->problem) continue;
        const char *nearest = strncmp(site->problem, "unknown attribute", 17)
                                  ? NULL
                                  : front_nearest_attribute(&unit->list, site->problem_token);
        if (nearest)
            return front_fail_at(unit, site->problem_token, site->problem_status, error,
                "unknown attribute '%.*s'; did you mean '%s'?", (int)t->length, unit->list.text + t->offset,
                nearest);
        return front_fail_at(unit, site->problem_token, site->problem_status, error, site->problem,
            (int)t->length, unit->list.text + t->offset);
    }
    return TOMBAC_OK;
}

/* A variable of function scope that must be initialised by running code has a guard variable, whose name
 * begins like this (Itanium C++ ABI). The code would run once, not once per threadgroup. Names stand as they
 * are in bitcode. */
static tombac_status refuse_guards(
    const front_unit *unit, const front_kernel *kernel, const front_result *result, tombac_error **error)
{
    static const char guard[] = "_ZGVZ";
    if (!result->bitcode.size || !memmem(result->bitcode.data, result->bitcode.size, guard, sizeof guard - 1))
        return TOMBAC_OK;
    for (size_t i = 0; kernel && i < unit->site_count; i++)
        if (unit->sites[i].kernel != NO_TOKEN && &unit->kernels[unit->sites[i].kernel] == kernel)
            return front_fail_at(unit, unit->sites[i].name, TOMBAC_ERROR_UNSUPPORTED, error,
                "kernel '%s' uses a threadgroup or static variable that needs a constructor to run, which is "
                "not supported",
                kernel->name);
    return tb_fail(
        error, TOMBAC_ERROR_UNSUPPORTED, "a threadgroup or static variable needs a constructor to run");
}

/* The version of Apple's intermediate language that goes with a language version, times 100. */
static unsigned air_version(unsigned version)
{
    static const unsigned versions[][2] = {{410, 290}, {400, 280}, {320, 270}, {310, 260}, {300, 250}};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (version >= versions[i][0]) return versions[i][1];
    return version < 200 ? 180 : version; /* 2.0 to 2.4 are the same in both */
}

/* Tells the headers, which are compiled once for all versions, the version: in place of the first line, a
 * line marker that another one repeats before the first token. */
static void define_language(rewriter *r)
{
    tb_text text = {0};
    unsigned version = r->unit->standard.version, family = r->unit->family;
    tb_text_printf(&text,
        "namespace __tombac { constexpr unsigned language = %u, family = %u; } namespace tombac { constexpr unsigned "
        "metal_version() { return %u; } constexpr unsigned air_version() { return %u; } constexpr unsigned apple_family() "
        "{ return %u; } }",
        version, family, version, air_version(version), family);
    if (r->list->directive_count && r->list->directives[0].line == 1)
        front_edit_directive(&r->edits, 0, tb_text_string(&text));
    else if (r->list->count)
        front_edit_before(&r->edits, 0, tb_text_string(&text));
    r->edits.pool.bad |= text.bad;
    tb_text_free(&text);
}

tombac_status front_compile(front_unit *unit, const front_kernel *kernel, bool syntax_only,
    front_result *result, tombac_error **error)
{
    rewriter r;
    *result = (front_result){0};
    if (unit->options.language == FRONT_C) return front_c_compile(unit, kernel, syntax_only, result, error);
    tombac_status status = front_rewrite_start(&r, unit, kernel, error);
    if (status == TOMBAC_OK) status = refuse(&r, error);
    if (status == TOMBAC_OK) status = front_check_features(&r, error);
    if (status == TOMBAC_OK) status = front_check_spaces(&r, error);
    if (status == TOMBAC_OK) define_language(&r);
    attempt a = {.r = &r, .syntax_only = syntax_only, .use_pch = true, .newer = uses_operations(unit)};
    a.offsets = malloc(((size_t)unit->list.count + 1) * sizeof *a.offsets);
    if (status == TOMBAC_OK && !a.offsets) status = tb_fail_memory(error);
    if (status == TOMBAC_OK) status = front_check_words(&r, error);
    if (status == TOMBAC_OK) status = compile(&a, result, error);
    if (status == TOMBAC_OK) status = front_check_variables(&r, error);
    if (status == TOMBAC_OK) status = refuse_guards(unit, kernel, result, error);
    if (status != TOMBAC_OK) {
        if (kernel) tb_error_set_kernel(error, kernel->name);
        front_result_free(result);
    }
    free(a.offsets);
    tb_text_free(&a.unsupported);
    forget(&a);
    front_rewrite_free(&r);
    return status;
}

void front_result_free(front_result *result)
{
    tb_text_free(&result->bitcode);
    tb_text_free(&result->diagnostics);
}
