/* tombac-bench: Tombac against other ways to compute the same, in one process and one run. A result that
 * differs from the C loop's ends in exit status 1; a peer that is not there is a named blank. */
#include "bench.h"

#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: tombac-bench [options]\n\n"
    "Measures Tombac's cpu device against C loops, PoCL and OpenBLAS, on one thread and on all cores.\n"
    "  --filter TEXT   only kernels whose name contains TEXT\n"
    "  --rounds N      samples of each peer, interleaved; default 15\n"
    "  --quick         3 short rounds: for a look, not for figures\n"
    "  --threads N     cores of the second measurement; default: all; 1: none\n"
    "  --processor-time  processor time instead of wall clock, on one thread: for a machine that is\n"
    "                  not quiet; independent copies are measured all the same\n"
    "  --json FILE     write the results here as well\n"
    "  --list          the kernels' names\n"
    "Exit status: 0 measured and right, 1 a result is wrong or a kernel failed, 2 wrong usage.\n";

static unsigned processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : (unsigned)count;
}

static unsigned number(const char *text, unsigned most)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || value < 1 || value > most) {
        fprintf(stderr, "bench: '%s' is no number from 1 to %u\n", text, most);
        exit(2);
    }
    return (unsigned)value;
}

static void read_options(int count, char **arguments, bench_settings *settings)
{
    static const struct option known[] = {{"filter", required_argument, NULL, 'f'},
        {"rounds", required_argument, NULL, 'r'}, {"quick", no_argument, NULL, 'q'},
        {"threads", required_argument, NULL, 't'}, {"json", required_argument, NULL, 'j'},
        {"processor-time", no_argument, NULL, 'p'}, {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    for (int code; (code = getopt_long(count, arguments, "h", known, NULL)) != -1;) {
        switch (code) {
        case 'f': settings->filter = optarg; break;
        case 'r': settings->rounds = number(optarg, MAX_ROUNDS); break;
        case 't': settings->cores = settings->copies = number(optarg, 1024); break;
        case 'j': settings->json = optarg; break;
        case 'p':
            settings->processor_time = true;
            settings->cores = 1;
            break;
        case 'q':
            settings->rounds = 3;
            settings->sample_seconds = 0.001;
            break;
        case 'l':
            for (size_t i = 0; i < bench_case_count; i++) puts(bench_cases[i].name);
            exit(0);
        case 'h': fputs(help, stdout); exit(0);
        default: fputs(help, stderr); exit(2);
        }
    }
    if (optind < count) {
        fputs(help, stderr);
        exit(2);
    }
}

int main(int count, char **arguments)
{
    bench_settings settings = {.rounds = 15, .cores = processors(), .copies = processors(), .sample_seconds = 0.01};
    read_options(count, arguments, &settings);
    bench_row *rows = calloc(bench_case_count, sizeof *rows);
    size_t measured = 0;
    bool right = rows != NULL;
    bench_print_head(&settings);
    for (size_t i = 0; rows && i < bench_case_count; i++) {
        if (settings.filter && !strstr(bench_cases[i].name, settings.filter)) continue;
        if (!bench_measure(&bench_cases[i], &settings, &rows[measured])) right = false;
        bench_print_row(&rows[measured++]);
    }
    if (!measured) {
        fprintf(stderr, "bench: no kernel's name contains '%s'\n", settings.filter ? settings.filter : "");
        right = false;
    }
    bench_print_summary(rows, measured);
    if (settings.json && !bench_write_json(&settings, rows, measured)) right = false;
    free(rows);
    return right ? 0 : 1;
}
