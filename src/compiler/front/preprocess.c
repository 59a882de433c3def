/* Phase 1: clang -E over the user's source with Metal's macros only.
 *
 * Metal's own headers define nothing but macros here (__TOMBAC_MACROS_ONLY__), which are there without an include too, so the
 * output is the user's code alone, with line markers. From these come the table of line positions and the list of files read.
 * Predefined macros of the host are switched off (-undef); those that Metal has are given on the command
 * line. */
#include "artifact/capability.h"
#include "base/file.h"
#include "base/process.h"
#include "compiler/front/c.h"
#include "compiler/front/diagnose.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MAX_ARGUMENTS = 64 };
/* The largest known source is 4 MB after preprocessing; tokens need about 60 bytes of memory for each of text. */
static const size_t memory_limit = (size_t)4 << 30;
static const size_t source_limit = (size_t)64 << 20;
enum { TIME_LIMIT = 60 };

typedef struct command_line {
    const char **arguments; /* NULL-terminated */
    size_t count, room;
} command_line;

static void push(command_line *line, const char *argument)
{
    if (line->count + 1 < line->room) line->arguments[line->count++] = argument;
}

/* Standard macros by language version; what can be had or not is in the table of capabilities. False if memory is short. */
static bool push_macros(command_line *line, const front_standard *standard, tb_text *pool, bool ios)
{
    static const char *const always[] = {"-D__METAL__=1", "-D__METAL_CPP__=1", "-D__TOMBAC__=1",
        "-D__TOMBAC_MACROS_ONLY__=1", "-D__LITTLE_ENDIAN__=1", "-D__CHAR_BIT__=8"};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) push(line, always[i]);
    push(line, ios ? "-D__METAL_IOS__=1" : "-D__METAL_MACOS__=1");
    size_t first = line->count;
    tb_text_printf(pool, "-D__METAL_VERSION__=%u%c", standard->version, 0);
    tb_text_printf(pool, "-D" FRONT_FAMILY_MACRO "=%u%c", (unsigned)FRONT_NEWEST_FAMILY, 0);
    size_t count = 2;
    const tb_capability *c;
    for (size_t i = 0; (c = tb_capability_at(i)); i++) {
        if (!c->macro[0] || c->since > standard->version || !c->values[0]) continue;
        tb_text_printf(pool, "-D%s=1%c", c->macro, 0);
        count++;
    }
    const char *p = tb_text_string(pool);
    for (size_t i = 0; i < count && !pool->bad; i++, p += strlen(p) + 1) push(line, p);
    return !pool->bad && line->count == first + count;
}

static void push_list(command_line *line, const char *option, const char *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        push(line, option);
        push(line, values[i]);
    }
}

static uint32_t file_index(front_unit *unit, const char *path, size_t length)
{
    for (uint32_t i = unit->file_count; i-- > 0;)
        if (strlen(unit->files[i].path) == length && memcmp(unit->files[i].path, path, length) == 0) return i;
    source_file *grown = realloc(unit->files, ((size_t)unit->file_count + 1) * sizeof *grown);
    if (!grown) return NO_TOKEN;
    unit->files = grown;
    char *copy = front_copy(path, length);
    if (!copy) return NO_TOKEN;
    unit->files[unit->file_count] = (source_file){.path = copy};
    return unit->file_count++;
}

/* Flag 1 behind the path: here a file begins. A #line directive leaves a marker without flags. */
static bool is_entry(const char *flags, const char *end)
{
    return end - flags >= 2 && flags[0] == ' ' && flags[1] == '1' && (end - flags == 2 || flags[2] < '0');
}

/* A line marker: # 12 "path" flags. Returns false only if memory is short. */
static bool read_marker(front_unit *unit, const directive *d, uint32_t *room)
{
    const char *text = unit->list.text + d->offset, *end = text + d->length;
    char *after;
    unsigned long presumed = strtoul(text + 1, &after, 10);
    if (after == text + 1 || after >= end || after[0] != ' ' || after[1] != '"') return true;
    tb_text path = {0};
    const char *p = after + 2;
    for (; p < end && *p != '"'; p++) {
        if (*p == '\\' && p + 1 < end) p++;
        tb_text_putc(&path, *p);
    }
    uint32_t file = path.bad ? NO_TOKEN : file_index(unit, tb_text_string(&path), path.size);
    tb_text_free(&path);
    if (file == NO_TOKEN) return false;
    if (p < end && is_entry(p + 1, end)) unit->files[file].entered = true;
    if (unit->mark_count == *room) {
        *room = *room ? *room * 2 : 64;
        line_mark *grown = realloc(unit->marks, (size_t)*room * sizeof *grown);
        if (!grown) return false;
        unit->marks = grown;
    }
    unit->marks[unit->mark_count++] = (line_mark){d->line + 1, (uint32_t)presumed, file};
    return true;
}

static bool is_own(const front_unit *unit, const char *path)
{
    size_t length = strlen(unit->paths.msl);
    return path[0] == '<' || (strncmp(path, unit->paths.msl, length) == 0 && path[length] == '/');
}

/* Clang takes a NUL byte for white space; here it means that this is no source. */
static tombac_status refuse_nul(const front_unit *unit, const source_file *file, tombac_error **error)
{
    const char *nul = memchr(file->text, 0, file->size);
    if (!nul) return TOMBAC_OK;
    front_position at = {file->path, 1, 1};
    for (const char *p = file->text; p < nul; p++) {
        at.column = *p == '\n' ? 1 : at.column + 1;
        at.line += *p == '\n';
    }
    tb_text report = {0};
    front_report(unit, at, "error", "the source contains a NUL byte", &report);
    tombac_status status = tb_fail(error, TOMBAC_ERROR_SOURCE, "%s", tb_text_string(&report));
    tb_error_set_location(error, at.file, at.line, at.column);
    tb_text_free(&report);
    return status;
}

/* A device or a pipe: it has no size, and reading it may never end. */
static bool is_special(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

/* Reads the files that the markers name: for the lines that messages show, and those that the compiler read as well
 * as dependencies. */
static tombac_status read_files(front_unit *unit, const char *source, size_t size, tombac_error **error)
{
    unit->dependencies = calloc((size_t)unit->file_count + 1, sizeof *unit->dependencies);
    if (!unit->dependencies) return tb_fail_memory(error);
    for (uint32_t i = 0; i < unit->file_count; i++) {
        source_file *file = &unit->files[i];
        bool main = strcmp(file->path, unit->main_path) == 0;
        file->entered |= main;
        if (!main && is_own(unit, file->path)) continue;
        tb_text text = {0};
        if (main && source)
            tb_text_append(&text, source, size);
        else if (file->entered && is_special(file->path))
            return tb_fail(error, TOMBAC_ERROR_SOURCE, "%s: error: '%s' is included, and is no file", unit->main_path, file->path);
        else if (tb_file_read(file->path, source_limit, &text, NULL) != TOMBAC_OK) {
            tb_text_free(&text);
            continue; /* a #line directive of the user may name anything */
        }
        uint64_t hash = XXH3_64bits(tb_text_string(&text), text.size);
        file->size = text.size;
        file->text = tb_text_take(&text);
        if (!file->text) return tb_fail_memory(error);
        if (!file->entered) continue;
        front_dependency *d = &unit->dependencies[unit->dependency_count++];
        *d = (front_dependency){strdup(file->path), file->size, hash, false};
        if (!d->path) return tb_fail_memory(error);
        tombac_status status = refuse_nul(unit, file, error);
        if (status != TOMBAC_OK) return status;
    }
    return TOMBAC_OK;
}

bool front_hash_file(const char *path, uint64_t *size, uint64_t *hash)
{
    tb_text text = {0};
    bool read = tb_file_read(path, source_limit, &text, NULL) == TOMBAC_OK;
    if (read) *size = text.size, *hash = XXH3_64bits(tb_text_string(&text), text.size);
    tb_text_free(&text);
    return read;
}

static tombac_status scan(front_unit *unit, const char *source, size_t size, tombac_error **error)
{
    lex_problem problem;
    tombac_status status = front_lex(unit->preprocessed.data ? unit->preprocessed.data : "",
        unit->preprocessed.size, &unit->list, &problem, error);
    uint32_t room = 0;
    for (uint32_t i = 0; i < unit->list.directive_count; i++)
        if (!read_marker(unit, &unit->list.directives[i], &room)) {
            if (status != TOMBAC_OK && error) tombac_error_release(*error);
            return tb_fail_memory(error);
        }
    tombac_status files = read_files(unit, source, size, status == TOMBAC_OK ? error : NULL);
    if (status == TOMBAC_OK) status = files;
    if (status == TOMBAC_OK) status = front_note_searched(unit, source != NULL, error);
    if (status == TOMBAC_OK) status = front_structure(&unit->list, &problem, error);
    if (status == TOMBAC_ERROR_SOURCE && problem.message) {
        if (error) tombac_error_release(*error);
        tb_text report = {0};
        front_position at = front_locate(unit, problem.offset, problem.line);
        front_report(unit, at, "error", problem.message, &report);
        status = tb_fail(error, TOMBAC_ERROR_SOURCE, "%s", tb_text_string(&report));
        tb_error_set_location(error, at.file, at.line, at.column);
        tb_text_free(&report);
    }
    return status;
}

/* Length of the diagnostics before clang's last line, "1 error generated." */
static size_t without_count(const tb_text *errors)
{
    static const char end[] = " generated.\n";
    const char *text = tb_text_string(errors);
    size_t size = errors->size, length = sizeof end - 1;
    if (size < length || memcmp(text + size - length, end, length) != 0) return size;
    const char *last = memrchr(text, '\n', size - length);
    return last ? (size_t)(last + 1 - text) : size;
}

/* A note behind clang's errors where a header is missing that C++ has and Metal has not. */
static void advise(const char *errors, tb_text *note)
{
    const char *words = strstr(errors, ": fatal error: "), *line = words;
    const char *hint = words ? front_hint(words, strcspn(words, "\n")) : NULL;
    if (!hint) return;
    while (line > errors && line[-1] != '\n') line--;
    tb_text_printf(note, "%.*s: note: %s\n", (int)(words - line), line, hint);
}

static tombac_status run_clang(
    front_unit *unit, const char **arguments, const tb_text *input, tombac_error **error)
{
    tb_process process = {.arguments = arguments,
        .input = input->data,
        .input_size = input->size,
        .time_limit = TIME_LIMIT,
        .memory_limit = memory_limit,
        .output_limit = source_limit};
    tombac_status status = tb_process_run(&process, error);
    if (status == TOMBAC_ERROR_NOT_FOUND) {
        if (error) tombac_error_release(*error);
        status = tb_fail(error, TOMBAC_ERROR_COMPILER,
            "cannot run '%s'; clang 22 is needed, TOMBAC_CLANG can name it", unit->paths.clang);
    } else if (status == TOMBAC_ERROR_TIMEOUT) {
        if (error) tombac_error_release(*error);
        status =
            tb_fail(error, TOMBAC_ERROR_COMPILER, "the preprocessor ran longer than %d s and was stopped", TIME_LIMIT);
    } else if (process.wrote_too_much) {
        if (error) tombac_error_release(*error);
        status = tb_fail(error, TOMBAC_ERROR_SOURCE, "the source has more than %zu MB after preprocessing",
            source_limit >> 20);
    } else if (status == TOMBAC_OK && process.exit_status >= 128) {
        status = tb_fail(error, TOMBAC_ERROR_COMPILER,
            "the preprocessor crashed or ran out of its %zu GB of memory (status %d); do macros expand without end?",
            memory_limit >> 30, process.exit_status);
    } else if (status == TOMBAC_OK && process.exit_status > 1) {
        status = tb_fail(
            error, TOMBAC_ERROR_COMPILER, "the preprocessor failed with status %d", process.exit_status);
    } else if (status == TOMBAC_OK && process.exit_status) {
        /* A header of ours may say (#error) that what it would declare is not supported. */
        bool unsupported = strstr(tb_text_string(&process.errors), "is not supported by Tombac") != NULL;
        tb_text note = {0};
        if (unit->options.language != FRONT_C) advise(tb_text_string(&process.errors), &note);
        status = tb_fail(error, unsupported ? TOMBAC_ERROR_UNSUPPORTED : TOMBAC_ERROR_SOURCE, "%.*s%s",
            (int)without_count(&process.errors), tb_text_string(&process.errors), tb_text_string(&note));
        tb_text_free(&note);
    }
    tb_text_free(&process.errors);
    unit->preprocessed = process.output;
    return status;
}

tombac_status front_preprocess(front_unit *unit, const char *source, size_t size, tombac_error **error)
{
    const front_options *o = &unit->options;
    if (!source && access(unit->main_path, R_OK) != 0)
        return tb_fail_errno(error, "cannot read '%s'", unit->main_path);
    if (!source && is_special(unit->main_path))
        return tb_fail(error, TOMBAC_ERROR_SOURCE, "'%s' is no file; a source may come by standard input", unit->main_path);
    command_line line = {.room = MAX_ARGUMENTS + 2 * (o->define_count + o->include_folder_count)};
    line.arguments = calloc(line.room, sizeof *line.arguments);
    tb_text input = {0}, folder = {0}, headers = {0};
    if (!line.arguments) return tb_fail_memory(error);
    static const char *const fixed[] = {"-cc1", "-E", "-triple", "nvptx64", "-undef", "-nostdsysteminc",
        "-nobuiltininc", "-Wno-everything", "-fmessage-length=0", "-x"};
    tb_text macros = {0};
    push(&line, unit->paths.clang);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) push(&line, fixed[i]);
    if (o->language == FRONT_C) {
        push(&line, "c");
        push(&line, "-std=c23");
        push(&line, "-D__TOMBAC__=1");
        push(&line, "-D__TOMBAC_MACROS_ONLY__=1");
    } else {
        push(&line, "c++");
        push(&line, unit->standard.version >= 400 ? "-std=c++17" : "-std=c++14");
        if (!push_macros(&line, &unit->standard, &macros, o->standard && !strncmp(o->standard, "ios-", 4)))
            macros.bad = true;
    }
    push_list(&line, "-D", o->defines, o->define_count);
    push_list(&line, "-I", o->include_folders, o->include_folder_count);
    push(&line, "-internal-isystem");
    push(&line, unit->paths.msl);
    if (o->language == FRONT_C) {
        tb_text_printf(&headers, "%s/" FRONT_C_STANDARD_HEADERS, unit->paths.msl);
        push(&line, "-internal-isystem");
        push(&line, tb_text_string(&headers));
    } else {
        tb_text_printf(&headers, "%s/__tombac/implicit.h", unit->paths.msl);
        push(&line, "-imacros");
        push(&line, tb_text_string(&headers));
    }
    const char *slash = strrchr(unit->main_path, '/');
    if (source) { /* the text comes by the pipe; its name and folder are the user's */
        tb_text_append(&folder, unit->main_path, slash ? (size_t)(slash - unit->main_path) + 1 : 0);
        tb_text_puts(&folder, slash ? "" : ".");
        push(&line, "-iquote");
        push(&line, tb_text_string(&folder));
        tb_text_puts(&input, "# 1 \"");
        for (const char *p = unit->main_path; *p; p++)
            tb_text_printf(&input, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
        tb_text_puts(&input, "\"\n");
        tb_text_append(&input, source, size);
        push(&line, "-");
    } else {
        push(&line, unit->main_path);
    }
    tombac_status status = input.bad || folder.bad || headers.bad || macros.bad ? tb_fail_memory(error) : TOMBAC_OK;
    const tb_text none = {0};
    if (status == TOMBAC_OK) status = run_clang(unit, line.arguments, source ? &input : &none, error);
    free(line.arguments);
    tb_text_free(&input);
    tb_text_free(&folder);
    tb_text_free(&headers);
    tb_text_free(&macros);
    if (status == TOMBAC_OK) status = scan(unit, source, size, error);
    return status;
}
