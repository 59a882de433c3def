/* Files that the preprocessor looked for without success.
 *
 * A cached result also depends on files that are not there: a new header in a folder that is searched earlier
 * would be read instead of the one that was, and would change the answer of __has_include. So every #include,
 * #import and __has_include of the files that were read is searched again here, in clang's order (the folder of
 * the file for names in quotes, the folder of a source that came by a pipe, then -I), and what comes before the
 * first hit is noted as an absent dependency. Conditions are not heeded: at worst a file is watched in vain. Where
 * a whole folder is missing, the folder is noted.
 *
 * The name in a computed #include is taken from the files that were read: whatever ends like one of them. */
#include "compiler/front/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_ABSENT = 4096 }; /* real sources have a few hundred at most */

typedef struct search {
    front_unit *unit;
    bool piped;         /* the source is no file; its folder is searched for all names in quotes */
    size_t absent;      /* noted so far */
    bool no_memory;
} search;

static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

/* ---- Notes ---- */

static bool is_noted(const front_unit *unit, const char *path)
{
    for (size_t i = unit->dependency_count; i-- > 0;)
        if (strcmp(unit->dependencies[i].path, path) == 0) return true;
    return false;
}

/* Takes the path; a file that exists comes with its size and hash. */
static void note(search *s, char *path, const front_dependency *facts)
{
    front_unit *unit = s->unit;
    front_dependency *grown = realloc(unit->dependencies, (unit->dependency_count + 1) * sizeof *grown);
    if (!grown) {
        s->no_memory = true;
        free(path);
        return;
    }
    unit->dependencies = grown;
    grown[unit->dependency_count++] = (front_dependency){path, facts->size, facts->hash, facts->absent};
}

/* Cuts the path after the first part that does not exist. */
static void cut_at_missing(char *path)
{
    struct stat facts;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (stat(path, &facts) != 0) return;
        *slash = '/';
    }
}

static void note_absent(search *s, char *path)
{
    cut_at_missing(path);
    if (s->absent >= MAX_ABSENT || is_noted(s->unit, path)) {
        free(path);
        return;
    }
    s->absent++;
    note(s, path, &(front_dependency){.absent = true});
}

/* A file that a condition asked for, without reading it. */
static void note_present(search *s, char *path)
{
    front_dependency facts = {0};
    if (is_noted(s->unit, path) || !front_hash_file(path, &facts.size, &facts.hash))
        free(path);
    else
        note(s, path, &facts);
}

/* ---- Searching ---- */

/* Tries folder/name; true if it is there, which ends the search. */
static bool try(search *s, const char *folder, size_t length, const char *name, size_t name_length, bool asked)
{
    tb_text text = {0};
    if (name[0] != '/') {
        tb_text_append(&text, length ? folder : ".", length ? length : 1);
        tb_text_putc(&text, '/');
    }
    tb_text_append(&text, name, name_length);
    char *path = tb_text_take(&text);
    struct stat facts;
    if (!path) {
        s->no_memory = true;
        return true;
    }
    bool exists = stat(path, &facts) == 0;
    bool found = exists && !S_ISDIR(facts.st_mode);
    if (found && asked)
        note_present(s, path);
    else if (!exists)
        note_absent(s, path);
    else
        free(path); /* read already, or a folder, which clang passes over */
    return found;
}

static void look_for(search *s, const char *file, const char *name, size_t length, bool quoted, bool asked)
{
    const front_options *o = &s->unit->options;
    const char *main = s->unit->main_path;
    if (length == 0 || memchr(name, '\n', length)) return;
    if (quoted && try(s, file, folder_length(file), name, length, asked)) return;
    if (name[0] == '/') return;
    if (quoted && s->piped && strcmp(file, main) != 0 && try(s, main, folder_length(main), name, length, asked)) return;
    for (size_t i = 0; i < o->include_folder_count; i++)
        if (try(s, o->include_folders[i], strlen(o->include_folders[i]), name, length, asked)) return;
}

/* ---- Finding the names ---- */

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t') p++;
    return p;
}

/* "name" or <name> at p; false if there is neither. */
static bool look_at(search *s, const char *file, const char *p, bool asked)
{
    if (*p != '"' && *p != '<') return false;
    char closing = *p == '"' ? '"' : '>';
    const char *end = strchr(p + 1, closing);
    if (end) look_for(s, file, p + 1, (size_t)(end - p - 1), closing == '"', asked);
    return true;
}

/* Whatever a computed name could have been: the ends of the files that were read. */
static void look_for_all(search *s, const char *file)
{
    const front_options *o = &s->unit->options;
    for (uint32_t i = 0; i < s->unit->file_count; i++) {
        const char *path = s->unit->files[i].path;
        for (size_t k = 0; k <= o->include_folder_count; k++) {
            const char *folder = k < o->include_folder_count ? o->include_folders[k] : file;
            size_t length = k < o->include_folder_count ? strlen(folder) : folder_length(file);
            if (strncmp(path, folder, length) == 0 && path[length] == '/')
                look_for(s, file, path + length + 1, strlen(path + length + 1), true, false);
        }
    }
}

static bool is_word(const char *p, const char *word)
{
    size_t length = strlen(word);
    return strncmp(p, word, length) == 0 && (p[length] == ' ' || p[length] == '\t' || p[length] == '"' || p[length] == '<');
}

static void look_at_line(search *s, const char *file, const char *p)
{
    static const char *const words[] = {"include", "import", "include_next"};
    if (*(p = skip_blanks(p)) != '#') return;
    p = skip_blanks(p + 1);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word(p, words[i]) && !look_at(s, file, skip_blanks(p + strlen(words[i])), false)) look_for_all(s, file);
}

static void look_through(search *s, const char *file, const char *text)
{
    static const char asks[] = "__has_include";
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        look_at_line(s, file, line);
    }
    for (const char *p = text; (p = strstr(p, asks));) {
        p += sizeof asks - 1;
        if (strncmp(p, "_next", 5) == 0) p += 5;
        const char *open = skip_blanks(p);
        if (*open == '(') look_at(s, file, skip_blanks(open + 1), true);
    }
}

tombac_status front_note_searched(front_unit *unit, bool piped, tombac_error **error)
{
    search s = {.unit = unit, .piped = piped};
    for (uint32_t i = 0; i < unit->file_count && !s.no_memory; i++)
        if (unit->files[i].text && unit->files[i].entered) look_through(&s, unit->files[i].path, unit->files[i].text);
    return s.no_memory ? tb_fail_memory(error) : TOMBAC_OK;
}
