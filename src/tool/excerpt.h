/* The lines of source that an error of a running kernel speaks of. */
#ifndef TB_TOOL_EXCERPT_H
#define TB_TOOL_EXCERPT_H

#include "tombac/tombac.h"

#include <stdio.h>

/* Prints below a message the line of the error's place, with a caret if the column is known, and the lines of that file which the
 * message names as NAME:LINE, in the order of the file. Prints nothing where the file cannot be read or has no such line. */
void excerpt_print(FILE *out, const tombac_error *error);

#endif
