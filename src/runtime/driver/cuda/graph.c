/* Scripts, the launches of a sequence as bytes, and CUDA graphs of scripts that come again.
 *
 * A launch by itself costs the driver 2.8 us, one in a graph that was launched before 0.55 us; making the
 * graph and launching it for the first time takes as long as the launches would (on an H200, driver 580). So
 * a script that was seen once before becomes a graph, and the same bytes, addresses and arguments included,
 * launch it from then on. A graph is known by its whole script; the least recently used ones go, and all do
 * when a kernel is unloaded, as its address may come to mean another. */
#include "runtime/driver/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Launches, bytes: shorter scripts gain little, and longer ones would cost more memory than they are worth.
 */
enum { LEAST = 4, MOST = 16384, MOST_BYTES = 4 << 20, MOST_GRAPHS = 16, CAPTURE_THREAD = 1 };

struct cuda_graph {
    cuda_graph *next;
    uint64_t hash;
    tb_text script;
    cuda_graph_exec *exec; /* NULL: seen once */
    bool busy;             /* being launched */
    bool useless;          /* it cannot be made */
};

/* ---- Scripts ---- */

/* Followed by the parameters' bytes, each with its size before it. */
typedef struct step {
    cuda_start start;
    size_t parameter_count;
} step;

void cuda_script_add(
    cuda_script *script, const cuda_start *start, void *const *parameters, const size_t *sizes, size_t count)
{
    step made;
    memset(&made, 0, sizeof made); /* padding is compared */
    made.start.function = start->function;
    memcpy(made.start.grid, start->grid, sizeof made.start.grid);
    made.start.block = start->block;
    made.start.shared = start->shared;
    made.parameter_count = count;
    tb_text_append(&script->bytes, &made, sizeof made);
    for (size_t i = 0; i < count; i++) {
        tb_text_append(&script->bytes, &sizes[i], sizeof sizes[i]);
        tb_text_append(&script->bytes, parameters[i], sizes[i]);
    }
    script->count++;
    if (count > script->most_parameters) script->most_parameters = count;
}

void cuda_script_free(cuda_script *script)
{
    tb_text_free(&script->bytes);
}

/* Without a graph. `parameters` has room. */
static cuda_result launch_each(
    const cuda_gpu *gpu, const cuda_script *script, cuda_stream *stream, void **parameters)
{
    cuda_result result = 0;
    char *at = script->bytes.data;
    for (size_t i = 0; i < script->count && !result; i++) {
        step s;
        memcpy(&s, at, sizeof s);
        at += sizeof s;
        for (size_t k = 0; k < s.parameter_count; k++) {
            size_t size;
            memcpy(&size, at, sizeof size);
            parameters[k] = at + sizeof size;
            at += sizeof size + size;
        }
        result = gpu->api.launch(s.start.function, s.start.grid[0], s.start.grid[1], s.start.grid[2],
            s.start.block, 1, 1, s.start.shared, stream, parameters, NULL);
    }
    return result;
}

/* ---- Graphs ---- */

static void free_graph(cuda_gpu *gpu, cuda_graph *graph)
{
    if (graph->exec) gpu->api.graph_exec_destroy(graph->exec);
    tb_text_free(&graph->script);
    free(graph);
}

/* All but the first `kept` and those at work; nobody who runs one unloads its kernels. With the lock held. */
static void drop_idle(cuda_gpu *gpu, size_t kept)
{
    size_t at = 0;
    for (cuda_graph **link = &gpu->graphs; *link; at++) {
        cuda_graph *graph = *link;
        if (at < kept || graph->busy) {
            link = &graph->next;
        } else {
            *link = graph->next;
            free_graph(gpu, graph);
        }
    }
}

void cuda_graphs_drop(cuda_gpu *gpu)
{
    pthread_mutex_lock(&gpu->mutex);
    drop_idle(gpu, 0);
    pthread_mutex_unlock(&gpu->mutex);
}

/* The script's graph, made busy and first of the list; NULL: it was not seen before, or is at work. It is
 * known from now on. */
static cuda_graph *find(cuda_gpu *gpu, const cuda_script *script)
{
    uint64_t hash = XXH3_64bits(script->bytes.data, script->bytes.size);
    pthread_mutex_lock(&gpu->mutex);
    cuda_graph **link = &gpu->graphs, *found;
    while ((found = *link) && !(found->hash == hash && found->script.size == script->bytes.size &&
                                  !memcmp(found->script.data, script->bytes.data, script->bytes.size)))
        link = &found->next;
    bool known = found != NULL;
    if (known) {
        *link = found->next;
    } else if ((found = calloc(1, sizeof *found))) {
        found->hash = hash;
        tb_text_append(&found->script, script->bytes.data, script->bytes.size);
        found->useless = found->script.bad;
    }
    if (found) {
        found->next = gpu->graphs;
        gpu->graphs = found;
        drop_idle(gpu, MOST_GRAPHS);
    }
    bool usable = known && !found->busy && !found->useless;
    if (usable) found->busy = true;
    pthread_mutex_unlock(&gpu->mutex);
    return usable ? found : NULL;
}

/* Makes the graph; where that fails, it is not tried again. */
static void make(
    cuda_gpu *gpu, cuda_graph *graph, const cuda_script *script, cuda_stream *stream, void **parameters)
{
    cuda_graph_plan *plan = NULL;
    cuda_result result = gpu->api.capture_begin(stream, CAPTURE_THREAD);
    if (!result) {
        result = launch_each(gpu, script, stream, parameters);
        cuda_result ended = gpu->api.capture_end(stream, &plan);
        if (!result) result = ended;
    }
    if (!result) result = gpu->api.graph_instantiate(&graph->exec, plan, 0);
    if (plan) gpu->api.graph_destroy(plan);
    if (result) graph->exec = NULL, graph->useless = true;
}

static cuda_result run_graph(
    cuda_gpu *gpu, cuda_graph *graph, const cuda_script *script, cuda_stream *stream, void **parameters)
{
    if (!graph->exec) make(gpu, graph, script, stream, parameters);
    return graph->exec ? gpu->api.graph_launch(graph->exec, stream)
                       : launch_each(gpu, script, stream, parameters);
}

tombac_status cuda_script_run(
    cuda_gpu *gpu, const cuda_script *script, cuda_stream *stream, cuda_graph **used, tombac_error **error)
{
    *used = NULL;
    if (script->bytes.bad) return tb_fail_memory(error);
    void **parameters = calloc(script->most_parameters + 1, sizeof *parameters);
    if (!parameters) return tb_fail_memory(error);
    bool fits = script->count >= LEAST && script->count <= MOST && script->bytes.size <= MOST_BYTES;
    *used = fits ? find(gpu, script) : NULL;
    cuda_result result = *used ? run_graph(gpu, *used, script, stream, parameters)
                               : launch_each(gpu, script, stream, parameters);
    free(parameters);
    return cuda_check(gpu, result, "starting the kernels", error);
}

void cuda_graph_return(cuda_gpu *gpu, cuda_graph *graph)
{
    if (!graph) return;
    pthread_mutex_lock(&gpu->mutex);
    graph->busy = false;
    pthread_mutex_unlock(&gpu->mutex);
}
