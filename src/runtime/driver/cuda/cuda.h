/* The cuda engine's driver, inside: a loaded kernel and one run of it. */
#ifndef RT_DRIVER_CUDA_CUDA_H
#define RT_DRIVER_CUDA_CUDA_H

#include "artifact/cuda.h"
#include "runtime/driver/cuda/api.h"
#include "runtime/driver/driver.h"

#include <stdatomic.h>

/* A GPU with its primary context. */
typedef struct cuda_gpu {
    cuda_api api;
    cuda_device device;
    cuda_context *context;
    unsigned capability; /* 80 for 8.0 */
    atomic_bool busy;    /* with a launch that was given up: further calls of CUDA could wait for its end */
} cuda_gpu;

typedef struct cuda_literal {
    uint64_t address, size; /* on the GPU */
    char *text;
} cuda_literal;

typedef struct cuda_code {
    cuda_gpu *gpu;
    const rt_manifest *manifest;
    cuda_module *module;
    cuda_function *function;
    bool records;
    char *kinds; /* of the arguments: p, v, t or - */
    cuda_literal *literals;
    size_t literal_count;
} cuda_code;

/* gpu.c */
tombac_status cuda_gpu_open(cuda_gpu *gpu, tombac_error **error);
void cuda_gpu_close(cuda_gpu *gpu);
/* Makes the context current, unless the GPU is busy. */
tombac_status cuda_gpu_enter(cuda_gpu *gpu, tombac_error **error);

/* launch.c */
tombac_status cuda_run(cuda_code *code, const rt_run *run, tombac_error **error);

/* record.c: prints log records in the order of threadgroups and threads, and turns the first failed assertion
 * into an error. `bytes` is what follows the tb_cuda_records. */
tombac_status cuda_records_report(const cuda_code *code, const tb_cuda_records *records, const void *bytes,
    const rt_log *log, tombac_error **error);

#endif
