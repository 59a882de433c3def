/* The command's verbs. Each takes its own argument vector ([0] is the verb) and returns the exit status. */
#ifndef TB_TOOL_VERBS_H
#define TB_TOOL_VERBS_H

int tool_run(int count, char **arguments);
int tool_check(int count, char **arguments);
int tool_inspect(int count, char **arguments);
int tool_info(int count, char **arguments);
int tool_build(int count, char **arguments);
int tool_bench(int count, char **arguments);
int tool_doctor(int count, char **arguments);

#endif
