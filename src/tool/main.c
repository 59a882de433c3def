/* The command `tombac`: finds the verb. */
#include "tool/message.h"
#include "tool/suggest.h"
#include "tool/verbs.h"

#include <string.h>

static const struct {
    const char *name, *purpose;
    int (*run)(int count, char **arguments);
} verbs[] = {
    {"run", "run a kernel on data from the command line or from .npy files", tool_run},
    {"check", "compile only; list kernels, print reflection", tool_check},
    {"inspect", "show a kernel's rewritten source, IR or reflection", tool_inspect},
    {"build", "make an artifact and a C header of a source", tool_build},
    {"bench", "measure launches, starting, compiling and copying on this machine", tool_bench},
    {"doctor", "try everything, and say what installs what is missing", tool_doctor},
    {"info", "show version, devices, limits and the compile cache", tool_info},
};
enum { VERB_COUNT = sizeof verbs / sizeof *verbs };

static void print_help(void)
{
    puts("Tombac runs Apple Metal compute kernels on machines that are not Macs.\n\n"
         "Usage: tombac VERB [options]\n");
    for (size_t i = 0; i < VERB_COUNT; i++) printf("  %-8s  %s\n", verbs[i].name, verbs[i].purpose);
    puts("\nExample: tombac run vec_add.metal vec_add 'a=f32[1000]:iota' 'b=f32[1000]:fill(1)' 'c=f32[1000]' "
         "--grid 1000\n\n"
         "'tombac VERB --help' explains a verb. Exit status: 0 right, 1 the kernel failed or an\n"
         "expectation was missed, 2 wrong usage or input, 3 the source does not compile.");
}

int main(int count, char **arguments)
{
    if (count < 2) {
        print_help();
        return tool_finish(TOOL_USAGE);
    }
    const char *verb = arguments[1];
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0 || strcmp(verb, "help") == 0) {
        print_help();
        return tool_finish(TOOL_RIGHT);
    }
    if (strcmp(verb, "--version") == 0 || strcmp(verb, "-V") == 0) {
        printf("tombac %s\n", tombac_version());
        return tool_finish(TOOL_RIGHT);
    }
    tool_suggestion suggestion = {.name = verb};
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (strcmp(verbs[i].name, verb) == 0) return tool_finish(verbs[i].run(count - 1, arguments + 1));
        tool_suggest_consider(&suggestion, verbs[i].name);
    }
    const char *kind = verb[0] == '-' ? "option" : "verb";
    if (suggestion.best)
        tool_complain("unknown %s '%s'; did you mean '%s'?", kind, verb, suggestion.best);
    else
        tool_complain("unknown %s '%s'; the verbs are run, check, inspect, build, bench, doctor and info", kind, verb);
    return TOOL_USAGE;
}
