/* Failures that end all work on a GPU.
 *
 * After an illegal address and its like CUDA refuses every call, and neither resetting the primary context
 * nor destroying it and making another changes that while the process lives (seen with driver 580). CUDA does
 * not say which kernel it was, and all that were at work meet the error. So who meets it first tells it with
 * the names of all of them; later calls are refused with what was told then. */
#include "runtime/driver/cuda/cuda.h"

#include <string.h>

enum { MOST_NAMES = 4 };

/* ---- What runs ---- */

void cuda_running_begin(cuda_gpu *gpu, cuda_running *running)
{
    pthread_mutex_lock(&gpu->mutex);
    running->next = gpu->running;
    running->link = &gpu->running;
    if (running->next) running->next->link = &running->next;
    gpu->running = running;
    pthread_mutex_unlock(&gpu->mutex);
}

void cuda_running_end(cuda_gpu *gpu, cuda_running *running)
{
    pthread_mutex_lock(&gpu->mutex);
    *running->link = running->next;
    if (running->next) running->next->link = running->link;
    pthread_mutex_unlock(&gpu->mutex);
}

/* The different kernels at work, up to MOST_NAMES; how many there are in all at most. With the lock held. */
static size_t collect_names(const cuda_gpu *gpu, const char *names[MOST_NAMES])
{
    size_t count = 0;
    for (const cuda_running *r = gpu->running; r; r = r->next)
        for (size_t i = 0; i < r->count; i++) {
            const char *name = ((const cuda_code *)r->codes[i])->manifest->kernel;
            size_t k = 0;
            while (k < count && k < MOST_NAMES && strcmp(names[k], name) != 0) k++;
            if (k < count && k < MOST_NAMES) continue;
            if (count < MOST_NAMES) names[count] = name;
            count++;
        }
    return count;
}

/* "kernel 'a'", "one of the kernels 'a', 'b'". With the lock held. */
static void describe_running(const cuda_gpu *gpu, tb_text *text)
{
    const char *names[MOST_NAMES];
    size_t count = collect_names(gpu, names);
    if (!count) tb_text_puts(text, "a kernel of another user of CUDA in this process");
    if (count) tb_text_puts(text, count > 1 ? "one of the kernels " : "kernel ");
    for (size_t i = 0; i < count && i < MOST_NAMES; i++)
        tb_text_printf(text, "%s'%s'", i ? ", " : "", names[i]);
    if (count > MOST_NAMES) tb_text_puts(text, " and more");
}

/* ---- The end ---- */

tombac_status cuda_check_alive(cuda_gpu *gpu, tombac_error **error)
{
    pthread_mutex_lock(&gpu->mutex);
    const char *broken = gpu->broken;
    pthread_mutex_unlock(&gpu->mutex);
    return broken ? tb_fail(error, TOMBAC_ERROR_KERNEL,
                        "the GPU does no further work in this process, since %s", broken)
                  : TOMBAC_OK;
}

/* Notes the end; true if it is news. */
static bool break_down(cuda_gpu *gpu, cuda_result result)
{
    const char *name = NULL, *why = NULL;
    if (gpu->api.error_name(result, &name) || !name) name = "unknown error";
    if (gpu->api.error_text(result, &why) || !why) why = "no description";
    tb_text text = {0};
    pthread_mutex_lock(&gpu->mutex);
    bool first = !gpu->broken;
    if (first) {
        describe_running(gpu, &text);
        tb_text_printf(&text, " failed: %s (%s)", why, name);
        gpu->broken = tb_text_take(&text);
    }
    pthread_mutex_unlock(&gpu->mutex);
    tb_text_free(&text);
    return first;
}

tombac_status cuda_check(cuda_gpu *gpu, cuda_result result, const char *doing, tombac_error **error)
{
    if (!cuda_is_final(result)) return cuda_api_check(&gpu->api, result, doing, error);
    if (!break_down(gpu, result)) {
        tombac_status status = cuda_check_alive(gpu, error);
        if (status != TOMBAC_OK) return status;
    }
    return tb_fail(error, TOMBAC_ERROR_KERNEL, "%s: %s; the GPU does no further work in this process", doing,
        gpu->broken ? gpu->broken : "an error that CUDA does not survive");
}
