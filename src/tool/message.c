/* Errors and colours; see message.h. */
#include "tool/message.h"

#include "base/text.h"
#include "tool/excerpt.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int tool_exit_status(tombac_status status)
{
    switch (status) {
    case TOMBAC_OK: return TOOL_RIGHT;
    case TOMBAC_ERROR_KERNEL:
    case TOMBAC_ERROR_TIMEOUT: return TOOL_WRONG;
    case TOMBAC_ERROR_SOURCE:
    case TOMBAC_ERROR_UNSUPPORTED: return TOOL_SOURCE;
    default: return TOOL_USAGE;
    }
}

static bool wants_colour(FILE *stream)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if ((no && *no) || !terminal || strcmp(terminal, "dumb") == 0) return false;
    return isatty(fileno(stream));
}

const char *tool_colour(FILE *stream, const char *code)
{
    static const char *const sequences[][2] = {{TOOL_RED, "\033[31;1m"}, {TOOL_GREEN, "\033[32;1m"},
        {TOOL_BOLD, "\033[1m"}, {TOOL_DIM, "\033[2m"}, {TOOL_PLAIN, "\033[0m"}};
    if (!wants_colour(stream)) return "";
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++)
        if (strcmp(sequences[i][0], code) == 0) return sequences[i][1];
    return "";
}

static void print_prefix(void)
{
    fprintf(stderr, "tombac: %serror:%s ", tool_colour(stderr, TOOL_RED), tool_colour(stderr, TOOL_PLAIN));
}

void tool_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    print_prefix();
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static void put_text(json_t *object, const char *key, const char *text)
{
    if (!text) return;
    json_t *string = json_string(text);
    if (!string) string = json_string("(text that is not UTF-8)");
    json_object_set_new(object, key, string);
}

static void print_json(const tombac_error *error, const char *log)
{
    json_t *object = json_object(), *root = json_object();
    put_text(object, "status", tombac_status_name(tombac_error_status(error)));
    put_text(object, "message", tombac_error_message(error));
    put_text(object, "kernel", tombac_error_kernel(error));
    put_text(object, "file", tombac_error_file(error));
    if (tombac_error_line(error)) {
        json_object_set_new(object, "line", json_integer(tombac_error_line(error)));
        if (tombac_error_column(error))
            json_object_set_new(object, "column", json_integer(tombac_error_column(error)));
    }
    json_object_set_new(root, "error", object);
    put_text(root, "log", log);
    json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
}

/* Where and in which kernel it happened, unless the message says so itself. */
static void print_place(const tombac_error *error)
{
    const char *message = tombac_error_message(error), *file = tombac_error_file(error);
    const char *kernel = tombac_error_kernel(error);
    unsigned line = tombac_error_line(error), column = tombac_error_column(error);
    tb_text place = {0};
    if (file && line)
        tb_text_printf(&place, "%s:%u:", file, line);
    else if (file)
        tb_text_puts(&place, file);
    bool said = strstr(message, tb_text_string(&place)) != NULL;
    tb_text_free(&place);
    if (file && !said) {
        fprintf(stderr, "%s", file);
        if (line) fprintf(stderr, ":%u", line);
        if (line && column) fprintf(stderr, ":%u", column);
        fputs(": ", stderr);
    }
    tb_text named = {0};
    tb_text_printf(&named, "'%s'", kernel ? kernel : "");
    if (kernel && !strstr(message, tb_text_string(&named))) fprintf(stderr, "kernel '%s': ", kernel);
    tb_text_free(&named);
}

/* FILE:LINE:COLUMN: error: ..., with the source line below. */
static bool is_diagnostic(tombac_status kind, const char *message)
{
    const char *newline = strchr(message, '\n'), *word = strstr(message, ": error: ");
    return newline && (kind == TOMBAC_ERROR_SOURCE || (kind == TOMBAC_ERROR_UNSUPPORTED && word && word < newline));
}

int tool_report_error(tombac_error *error, bool json, const char *log)
{
    const char *message = tombac_error_message(error);
    tombac_status kind = tombac_error_status(error);
    int status = error ? tool_exit_status(kind) : TOOL_USAGE;
    if (log && !json) fputs(log, stdout);
    fflush(stdout);
    if (json) {
        print_json(error, log);
    } else if (is_diagnostic(kind, message)) {
        fputs(message, stderr); /* the compiler's own diagnostics */
        if (message[strlen(message) - 1] != '\n') fputc('\n', stderr);
    } else {
        size_t length = strlen(message);
        while (length && message[length - 1] == '\n') length--;
        print_prefix();
        print_place(error);
        fprintf(stderr, "%.*s\n", (int)length, message);
        if (kind == TOMBAC_ERROR_KERNEL || kind == TOMBAC_ERROR_TIMEOUT) excerpt_print(stderr, error);
    }
    tombac_error_release(error);
    return status;
}

int tool_finish(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    tool_complain("cannot write to standard output");
    return status ? status : TOOL_USAGE;
}
