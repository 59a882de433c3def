/* What the command says to people: errors and colours. */
#ifndef TB_TOOL_MESSAGE_H
#define TB_TOOL_MESSAGE_H

#include "base/error.h"

#include <stdio.h>

/* Exit status of the command. */
enum { TOOL_RIGHT = 0, TOOL_WRONG = 1, TOOL_USAGE = 2, TOOL_SOURCE = 3 };

/* The exit status for an error of that kind. */
int tool_exit_status(tombac_status status);
/* Begins and ends colour where `stream` is a terminal that wants it, else "". */
const char *tool_colour(FILE *stream, const char *code);
#define TOOL_RED "31;1"
#define TOOL_GREEN "32;1"
#define TOOL_BOLD "1"
#define TOOL_DIM "2"
#define TOOL_PLAIN "0"
/* "tombac: error: ..." on standard error. */
void tool_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Shows the error, releases it and returns the exit status. With `json`, an object on standard output
 * instead. `log` is what the kernel said before it failed, or NULL. */
int tool_report_error(tombac_error *error, bool json, const char *log);
/* Flushes standard output; an exit status that tells whether everything was written. */
int tool_finish(int status);

#endif
