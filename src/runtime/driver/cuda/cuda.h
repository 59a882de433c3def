/* The cuda engine's driver, inside: a loaded kernel and one run of it. */
#ifndef RT_DRIVER_CUDA_CUDA_H
#define RT_DRIVER_CUDA_CUDA_H

#include "artifact/cuda.h"
#include "runtime/driver/cuda/api.h"
#include "runtime/cache.h"
#include "runtime/driver/driver.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct cuda_mirror cuda_mirror;

typedef struct cuda_graph cuda_graph;

/* What one launch needs of the GPU for itself; kept and used again. */
typedef struct cuda_lane {
    struct cuda_lane *next;
    cuda_stream *stream;
    cuda_event *begin, *end;
    cuda_address records; /* a tb_cuda_records with its bytes, or 0: none needed yet */
} cuda_lane;

/* A GPU with its primary context. */
typedef struct cuda_gpu {
    cuda_api api;
    cuda_device device;
    size_t number; /* as CUDA counts GPUs */
    cuda_context *context;
    unsigned capability; /* 80 for 8.0 */
    unsigned multiprocessors;
    size_t size;         /* of its memory, bytes */
    atomic_bool busy;    /* with a launch that was given up: further calls of CUDA could wait for its end */
    pthread_mutex_t mutex; /* guards what follows */
    bool has_mutex;
    cuda_lane *lanes;     /* free ones */
    cuda_mirror *mirrors; /* all, least recently used last */
    pthread_cond_t released; /* a mirror has no users any more */
    cuda_stream *memory;  /* allocates and frees */
    pthread_mutex_t collecting; /* held during a collective operation */
    cuda_graph *graphs; /* last used first */
    struct cuda_running *running; /* the launches at work */
    char *broken; /* why the GPU can no longer be used, once that is so; never changes then */
    int driver_version; /* 13000 for CUDA 13.0 */
    uint64_t peers; /* bit n: GPU n may use this one's memory, as far as that was asked for */
} cuda_gpu;

/* Launches that one call runs, while it runs them. */
typedef struct cuda_running {
    struct cuda_running *next, **link;
    rt_code *const *codes;
    size_t count;
} cuda_running;

typedef struct cuda_literal {
    uint64_t address, size; /* on the GPU */
    char *text;
} cuda_literal;

/* An integer in an argument that is passed by value. */
typedef struct cuda_number {
    uint32_t argument, offset, size;
} cuda_number;

typedef struct cuda_code {
    cuda_gpu *gpu;
    const rt_manifest *manifest;
    cuda_module *module;
    cuda_function *plain, *general, *wide; /* entries (artifact/cuda.h); wide: NULL where there is none */
    uint32_t plain_threads;                /* that a threadgroup of the first may have */
    uint32_t factor;                       /* of the wide entry */
    cuda_number *multiples;
    size_t multiple_count;
    bool records;
    char *kinds; /* of the arguments: p, v, t or - */
    cuda_literal *literals;
    size_t literal_count;
} cuda_code;

/* failure.c: as cuda_api_check, for calls on the GPU. The first failure that no context survives is told with the kernels that ran;
 * after it everything is refused, with that reason. */
tombac_status cuda_check(cuda_gpu *gpu, cuda_result result, const char *doing, tombac_error **error);
/* Fails once the GPU cannot be used any more. */
tombac_status cuda_check_alive(cuda_gpu *gpu, tombac_error **error);
void cuda_running_begin(cuda_gpu *gpu, cuda_running *running);
void cuda_running_end(cuda_gpu *gpu, cuda_running *running);

/* module.c: a module of the PTX in `text`, from the cache if that has the GPU's code for it. */
tombac_status cuda_module_open(
    cuda_code *code, const rt_cache *cache, const char *text, tombac_error **error);

/* gpu.c */
tombac_status cuda_gpu_open(cuda_gpu *gpu, size_t number, tombac_error **error);
void cuda_gpu_close(cuda_gpu *gpu);
/* Makes the context current, unless the GPU is busy. */
tombac_status cuda_gpu_enter(cuda_gpu *gpu, tombac_error **error);

/* To free what is on the GPU: unless that is busy. On a broken one CUDA's calls fail at once. */
bool cuda_gpu_enter_to_free(cuda_gpu *gpu);

/* A lane for one launch, with the context entered; NULL *lane on failure. */
tombac_status cuda_lane_take(cuda_gpu *gpu, cuda_lane **lane, tombac_error **error);
void cuda_lane_return(cuda_gpu *gpu, cuda_lane *lane);
void cuda_lane_free(cuda_gpu *gpu, cuda_lane *lane);
/* Memory of the GPU that any stream may use; what is idle is moved out for it where the GPU is full. */
tombac_status cuda_allocate(cuda_gpu *gpu, size_t size, cuda_address *address, tombac_error **error);
void cuda_free(cuda_gpu *gpu, cuda_address address);

/* mirror.c: the GPU's copies of the host's allocations. */

/* Holds the memory's copy for a launch; copies to it on `stream` what is newer on the host, unless all of it will be
 * `overwritten`. Each must be given back by cuda_mirror_release. */
tombac_status cuda_mirror_use(cuda_gpu *gpu, rt_memory *memory, bool overwritten, cuda_stream *stream,
    cuda_address *address, tombac_error **error);
/* After the launch. `written`: the kernel may have changed it; `arrived`: what cuda_mirror_use copied is there. */
tombac_status cuda_mirror_release(cuda_gpu *gpu, rt_memory *memory, cuda_stream *stream, bool written,
    bool arrived, tombac_error **error);
/* Whether the GPU's own memory has the newest content. The runtime's order of operations keeps the answer true for who may use
 * the memory. */
bool cuda_mirror_is_there(cuda_gpu *gpu, rt_memory *memory);
/* Frees the copies of memory that no launch uses at the moment; true if there were any. */
bool cuda_mirror_evict(cuda_gpu *gpu);
tombac_status cuda_mirror_to_host(void *gpu, rt_memory *memory, tombac_error **error);
void cuda_mirror_host_wrote(void *gpu, rt_memory *memory);
void cuda_mirror_drop(void *gpu, rt_memory *memory);

/* uses.c: the memory that launches on one stream use, each allocation held once until all of them have ended. */
typedef struct cuda_use {
    rt_memory *memory; /* or NULL: a copy for one launch */
    cuda_address address;
    bool writable;
} cuda_use;

typedef struct cuda_uses {
    cuda_gpu *gpu;
    cuda_stream *stream;
    cuda_use *list;
    size_t count;
    uint32_t *table; /* of 1 + indices into the list, by the memory's address */
    size_t mask;
} cuda_uses;

/* Room for `most` allocations and copies. */
tombac_status cuda_uses_open(
    cuda_uses *uses, cuda_gpu *gpu, cuda_stream *stream, size_t most, tombac_error **error);
/* The address on the GPU of what `binding` names. Arguments in one allocation share its copy. */
tombac_status cuda_uses_find(
    cuda_uses *uses, const rt_binding *binding, bool writable, cuda_address *address, tombac_error **error);
/* The use of memory that a launch on the stream writes, or NULL. */
const cuda_use *cuda_uses_written(const cuda_uses *uses, const rt_memory *memory);
/* `ran`: everything on the stream has ended well. `abandoned`: the GPU may be at work still, so nothing is freed. The
 * results of shared memory arrive. */
tombac_status cuda_uses_close(cuda_uses *uses, bool ran, bool abandoned, tombac_error **error);

/* graph.c: launches one behind the other, as bytes. */
typedef struct cuda_start {
    cuda_function *function;
    unsigned grid[3], block, shared;
} cuda_start;

typedef struct cuda_script {
    tb_text bytes;
    size_t count, most_parameters;
} cuda_script;

void cuda_script_add(
    cuda_script *script, const cuda_start *start, void *const *parameters, const size_t *sizes, size_t count);
void cuda_script_free(cuda_script *script);
/* Starts all of them; *used is a graph to be returned when they have ended, or NULL. */
tombac_status cuda_script_run(
    cuda_gpu *gpu, const cuda_script *script, cuda_stream *stream, cuda_graph **used, tombac_error **error);
void cuda_graph_return(cuda_gpu *gpu, cuda_graph *graph);
/* Forgets all graphs: a kernel is unloaded, or the GPU closed. */
void cuda_graphs_drop(cuda_gpu *gpu);

/* launch.c: launches one behind the other on one stream; as rt_driver.run_all. */
tombac_status cuda_run_all(cuda_gpu *gpu, rt_code *const *codes, const rt_run *const *runs, size_t count,
    size_t *failed, tombac_error **error);

/* copy.c; as rt_driver.copy. */
tombac_status cuda_copy(
    void *from_state, const rt_part *from, void *to_state, const rt_part *to, bool *done, tombac_error **error);

/* nccl.c: groups of GPUs; as in rt_driver. */
tombac_status cuda_group_open(void *const *states, size_t count, void **group, tombac_error **error);
void cuda_group_close(void *group);
tombac_status cuda_collect(void *group, const rt_collective *what, bool *done, tombac_error **error);

/* record.c: prints log records in the order of threadgroups and threads, and turns the first failed assertion
 * into an error. `bytes` is what follows the tb_cuda_records. */
tombac_status cuda_records_report(const cuda_code *code, const tb_cuda_records *records, const void *bytes,
    const rt_log *log, tombac_error **error);

#endif
