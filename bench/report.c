/* The table for a person and the same as JSON. Ratios are other time / Tombac's time: above 1, Tombac is
 * faster. */
#include "bench.h"

#include "tombac/tombac.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOMBAC, LOOP, LOOP_FAST, OPENCL, BLAS, IN_C };

const char *bench_processor(void)
{
    static char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    const char *name = "unknown";
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        line[strcspn(line, "\n")] = 0;
        name = colon + 2;
        break;
    }
    if (f) fclose(f);
    return name;
}

void bench_print_head(const bench_settings *settings)
{
    char date[32];
    time_t now = time(NULL);
    double load = 0;
    struct tm local;
    getloadavg(&load, 1);
    strftime(date, sizeof date, "%Y-%m-%d", localtime_r(&now, &local));
    printf("Tombac %s on %s, %u cores, %s, load %.1f, %u rounds\n", tombac_version(), bench_processor(),
        settings->cores, date, load, settings->rounds);
    printf(
        "Times are the fastest sample in milliseconds%s; x: times as long as Tombac on as many threads.\n\n",
        settings->processor_time ? " of processor time" : "");
    printf("%-22s|%9s%7s |%9s%6s |%9s%6s |%9s%7s |%9s%6s |%9s%6s ||%9s%6s%6s |%7s |%7s\n", "kernel", "tombac 1",
        "spread", "C", "x", "C fast", "x", "PoCL 1", "x", "OpenBLAS", "x",
        "in C", "x", "tombac N", "1/N", "apart", "PoCL N",
        "BLAS N");
}

static bool present(const bench_row *row, unsigned peer, unsigned form)
{
    return !row->results[peer][form].missing && row->results[peer][form].minimum > 0;
}

static double ratio(const bench_row *row, unsigned peer, unsigned form)
{
    return row->results[peer][form].minimum / row->results[TOMBAC][form].minimum;
}

static void print_peer(const bench_row *row, unsigned peer, int width)
{
    if (present(row, peer, 0))
        printf(" |%9.3f%*.2f", row->results[peer][0].minimum * 1e3, width,
            present(row, TOMBAC, 0) ? ratio(row, peer, 0) : NAN);
    else
        printf(" |%*s", 9 + width, row->results[peer][0].missing);
}

static void print_ratio(const bench_row *row, unsigned peer)
{
    if (present(row, peer, 1) && present(row, TOMBAC, 1))
        printf(" |%7.2f", ratio(row, peer, 1));
    else
        printf(" |%7s", "-");
}

void bench_print_row(const bench_row *row)
{
    const bench_result *one = &row->results[TOMBAC][0], *all = &row->results[TOMBAC][1];
    printf("%-22s|", row->c->name);
    if (present(row, TOMBAC, 0))
        printf("%9.3f%6.0f%%", one->minimum * 1e3, (one->median / one->minimum - 1) * 100);
    else
        printf("%16s", one->missing);
    for (unsigned peer = LOOP; peer < PEER_COUNT; peer++) print_peer(row, peer, peer == OPENCL ? 7 : 6);
    if (present(row, TOMBAC, 0) && present(row, TOMBAC, 1))
        printf(" ||%9.3f%6.2f", all->minimum * 1e3, one->minimum / all->minimum);
    else
        printf(" ||%15s", all->missing);
    if (row->copies > 0)
        printf("%6.2f", row->copies);
    else
        printf("%6s", "-");
    print_ratio(row, OPENCL);
    print_ratio(row, BLAS);
    putchar('\n');
    fflush(stdout);
}

void bench_print_summary(const bench_row *rows, size_t count)
{
    putchar('\n');
    for (unsigned peer = LOOP; peer < PEER_COUNT; peer++) {
        double sum = 0, least = INFINITY;
        unsigned number = 0, lost = 0;
        const char *where = "";
        for (size_t i = 0; i < count; i++) {
            if (!present(&rows[i], peer, 0) || !present(&rows[i], TOMBAC, 0)) continue;
            double r = ratio(&rows[i], peer, 0);
            sum += log(r);
            number++;
            if (r < 1) lost++;
            if (r < least) {
                least = r;
                where = rows[i].c->name;
            }
        }
        if (number) {
            printf("%-11s takes %5.2f times Tombac's time (geometric mean of %u kernels, one thread), is "
                   "faster on %u; least: %.2f, %s\n",
                bench_peers[peer]->name, exp(sum / number), number, lost, least, where);
        }
    }
}

static json_t *result_json(const bench_result *r)
{
    if (r->missing) return json_pack("{s:s}", "missing", r->missing);
    return json_pack("{s:f, s:f}", "minimum", r->minimum, "median", r->median);
}

static json_t *row_json(const bench_row *row)
{
    json_t *object = json_pack("{s:s, s:f, s:f, s:f}", "kernel", row->c->name, "operations", row->c->operations, "bytes",
        row->c->bytes, "gain of copies", row->copies);
    for (unsigned peer = 0; peer < PEER_COUNT; peer++) {
        json_object_set_new(object, bench_peers[peer]->name,
            json_pack("{s:o, s:o}", "one thread", result_json(&row->results[peer][0]), "all cores",
                result_json(&row->results[peer][1])));
    }
    return object;
}

bool bench_write_json(const bench_settings *settings, const bench_row *rows, size_t count)
{
    char date[32];
    time_t now = time(NULL);
    double load = 0;
    struct tm utc;
    getloadavg(&load, 1);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(list, row_json(&rows[i]));
    json_t *root = json_pack("{s:s, s:s, s:s, s:i, s:f, s:s, s:i, s:o}", "tombac", tombac_version(),
        "processor", bench_processor(), "date", date, "cores", (int)settings->cores, "load", load, "clock",
        settings->processor_time ? "processor" : "wall", "rounds", (int)settings->rounds, "kernels", list);
    bool written = root && json_dump_file(root, settings->json, JSON_INDENT(1)) == 0;
    json_decref(root);
    if (!written) fprintf(stderr, "bench: cannot write '%s'\n", settings->json);
    return written;
}
