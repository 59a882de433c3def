/* See excerpt.h. The form is clang's: number, bar, line, and a caret below. */
#include "tool/excerpt.h"

#include "tool/message.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = 4, WIDTH = 512 };

typedef struct places {
    unsigned long lines[PLACES];
    unsigned count;
} places;

/* Keeps the numbers in order, each once. */
static void add_place(places *p, unsigned long line)
{
    unsigned at = 0;
    while (at < p->count && p->lines[at] < line) at++;
    if (!line || p->count == PLACES || (at < p->count && p->lines[at] == line)) return;
    memmove(p->lines + at + 1, p->lines + at, (p->count - at) * sizeof *p->lines);
    p->lines[at] = line;
    p->count++;
}

/* NAME:LINE where NAME is the file's, with its folder or without. */
static void find_places(places *p, const char *message, const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    size_t length = strlen(name);
    for (const char *at = message; length && (at = strstr(at, name)); at += length)
        if ((at == message || at[-1] == ' ' || at[-1] == '/') && at[length] == ':') add_place(p, strtoul(at + length + 1, NULL, 10));
}

/* Tabs stay tabs below, so that the caret stands where the column is. */
static void print_caret(FILE *out, const char *line, unsigned column)
{
    fputs("      | ", out);
    for (unsigned i = 0; i + 1 < column; i++) fputc(line[i] == '\t' ? '\t' : ' ', out);
    fprintf(out, "%s^%s\n", tool_colour(out, TOOL_GREEN), tool_colour(out, TOOL_PLAIN));
}

static void print_line(FILE *out, unsigned long number, const char *line, unsigned column)
{
    size_t length = strcspn(line, "\r\n");
    fprintf(out, "%5lu | %.*s\n", number, (int)length, line);
    if (column && column <= length) print_caret(out, line, column);
}

void excerpt_print(FILE *out, const tombac_error *error)
{
    const char *file = tombac_error_file(error);
    unsigned first = tombac_error_line(error);
    FILE *source = file && first ? fopen(file, "re") : NULL;
    if (!source) return;
    places wanted = {0};
    add_place(&wanted, first);
    find_places(&wanted, tombac_error_message(error), file);
    char line[WIDTH];
    unsigned long number = 1;
    for (unsigned next = 0; next < wanted.count && fgets(line, sizeof line, source);) {
        bool whole = strchr(line, '\n') || feof(source);
        if (number == wanted.lines[next]) {
            print_line(out, number, line, number == first ? tombac_error_column(error) : 0);
            next++;
        }
        for (int c = 0; !whole && (c = getc(source)) != EOF && c != '\n';) {}
        number++;
    }
    fclose(source);
}
