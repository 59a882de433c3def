/* The compiler process, tombac-cc, for what the library does not offer: checking a whole file, listing,
 * showing IR. It lies next to the command, or where $TOMBAC_CC says. */
#ifndef TB_TOOL_COMPILER_H
#define TB_TOOL_COMPILER_H

#include "base/process.h"
#include "tool/options.h"

/* The compiler's path as a heap string; NULL with an error if memory is short. It need not exist. */
char *tool_compiler_path(tombac_error **error);
/* Runs `tombac-cc VERB [options] [extra...] SOURCE`; SOURCE "-" passes standard input on. On success the
 * caller frees both outputs of `process`. Whatever the compiler refuses is an error whose message is what it
 * said. */
tombac_status tool_compiler_run(const char *verb, const tool_compile *compile, const tool_words *extra,
    const char *source, tb_process *process, tombac_error **error);

#endif
