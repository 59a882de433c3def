/* NVIDIA's driver, found at run time: the few calls of libcuda.so.1 that this driver makes, declared here
 * because no CUDA toolkit is needed to build. Names and values are those of NVIDIA's cuda.h. */
#ifndef RT_DRIVER_CUDA_API_H
#define RT_DRIVER_CUDA_API_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef int cuda_result; /* 0: done */
typedef int cuda_device;
typedef struct cuda_context cuda_context;
typedef struct cuda_module cuda_module;
typedef struct cuda_function cuda_function;
typedef struct cuda_stream cuda_stream;
typedef struct cuda_event cuda_event;
typedef struct cuda_pool cuda_pool;
typedef struct cuda_link cuda_link;
typedef struct cuda_graph_plan cuda_graph_plan; /* CUgraph */
typedef struct cuda_graph_exec cuda_graph_exec;
typedef uint64_t cuda_address;

enum {
    CUDA_ERROR_MEMORY = 2,
    CUDA_ERROR_PTX_VERSION = 222,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600
};
/* CUmemAccessDesc: who may use a pool's memory, and how. */
typedef struct cuda_access {
    int location_type, location, flags;
} cuda_access;
enum { CUDA_LOCATION_DEVICE = 1, CUDA_ACCESS_READ_WRITE = 3 };

enum { CUDA_HOST_MAPPED = 2 };    /* registered memory: kernels may use it in place */
enum { CUDA_POOL_THRESHOLD = 4 }; /* bytes that a pool keeps when they are free, uint64_t */
enum { CUDA_FUNCTION_MAX_THREADS = 0, CUDA_FUNCTION_LOCAL_SIZE = 3, CUDA_FUNCTION_REGISTERS = 4 };
enum { CUDA_ATTRIBUTE_MULTIPROCESSORS = 16, CUDA_ATTRIBUTE_MULTIPROCESSOR_THREADS = 39 };
enum { CUDA_ATTRIBUTE_MAJOR = 75, CUDA_ATTRIBUTE_MINOR = 76 };
enum { CUDA_JIT_ERROR_LOG = 5, CUDA_JIT_ERROR_LOG_SIZE = 6 };
enum { CUDA_LINK_PTX = 1 };

/* X(member, symbol, parameters) */
#define CUDA_CALLS(X)                                                                                        \
    X(init, cuInit, (unsigned flags))                                                                        \
    X(driver_version, cuDriverGetVersion, (int *version))                                                    \
    X(error_name, cuGetErrorName, (cuda_result result, const char **name))                                   \
    X(error_text, cuGetErrorString, (cuda_result result, const char **text))                                 \
    X(device_count, cuDeviceGetCount, (int *count))                                                          \
    X(device_get, cuDeviceGet, (cuda_device * device, int ordinal))                                          \
    X(device_memory, cuDeviceTotalMem_v2, (size_t * size, cuda_device device))                               \
    X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, cuda_device device))               \
    X(context_retain, cuDevicePrimaryCtxRetain, (cuda_context * *context, cuda_device device))               \
    X(context_release, cuDevicePrimaryCtxRelease_v2, (cuda_device device))                                   \
    X(context_set, cuCtxSetCurrent, (cuda_context * context))                                                \
    X(module_load, cuModuleLoadDataEx,                                                                       \
        (cuda_module * *module, const void *image, unsigned count, int *options, void **values))             \
    X(link_create, cuLinkCreate_v2, (unsigned count, int *options, void **values, cuda_link **link))         \
    X(link_add, cuLinkAddData_v2,                                                                            \
        (cuda_link * link, int type, void *data, size_t size, const char *name, unsigned count, int *options, \
            void **values))                                                                                  \
    X(link_complete, cuLinkComplete, (cuda_link * link, void **image, size_t *size))                         \
    X(link_destroy, cuLinkDestroy, (cuda_link * link))                                                       \
    X(module_unload, cuModuleUnload, (cuda_module * module))                                                 \
    X(module_function, cuModuleGetFunction,                                                                  \
        (cuda_function * *function, cuda_module * module, const char *name))                                 \
    X(function_attribute, cuFuncGetAttribute, (int *value, int attribute, cuda_function *function))           \
    X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                \
        (int *blocks, cuda_function *function, int threads, size_t shared))                                  \
    X(module_global, cuModuleGetGlobal_v2,                                                                   \
        (cuda_address * address, size_t *size, cuda_module *module, const char *name))                       \
    X(allocate, cuMemAllocAsync, (cuda_address * address, size_t size, cuda_stream *stream))                 \
    X(free, cuMemFreeAsync, (cuda_address address, cuda_stream * stream))                                    \
    X(pool, cuDeviceGetDefaultMemPool, (cuda_pool * *pool, cuda_device device))                              \
    X(pool_set, cuMemPoolSetAttribute, (cuda_pool * pool, int attribute, void *value))                       \
    X(host_register, cuMemHostRegister_v2, (void *memory, size_t size, unsigned flags))                      \
    X(host_unregister, cuMemHostUnregister, (void *memory))                                                  \
    X(host_address, cuMemHostGetDevicePointer_v2, (cuda_address * address, void *memory, unsigned flags))    \
    X(upload, cuMemcpyHtoDAsync_v2, (cuda_address to, const void *from, size_t size, cuda_stream *stream))   \
    X(download, cuMemcpyDtoHAsync_v2, (void *to, cuda_address from, size_t size, cuda_stream *stream))       \
    X(copy, cuMemcpyDtoDAsync_v2, (cuda_address to, cuda_address from, size_t size, cuda_stream * stream))   \
    X(copy_peer, cuMemcpyPeerAsync,                                                                          \
        (cuda_address to, cuda_context * to_context, cuda_address from, cuda_context * from_context,         \
            size_t size, cuda_stream *stream))                                                               \
    X(can_access_peer, cuDeviceCanAccessPeer, (int *can, cuda_device device, cuda_device peer))              \
    X(pool_access, cuMemPoolSetAccess, (cuda_pool * pool, const cuda_access *list, size_t count))            \
    X(stream_create, cuStreamCreate, (cuda_stream * *stream, unsigned flags))                                \
    X(stream_destroy, cuStreamDestroy_v2, (cuda_stream * stream))                                            \
    X(stream_query, cuStreamQuery, (cuda_stream * stream))                                                   \
    X(stream_wait, cuStreamSynchronize, (cuda_stream * stream))                                              \
    X(capture_begin, cuStreamBeginCapture_v2, (cuda_stream * stream, int mode))                              \
    X(capture_end, cuStreamEndCapture, (cuda_stream * stream, cuda_graph_plan **plan))                       \
    X(graph_instantiate, cuGraphInstantiateWithFlags,                                                        \
        (cuda_graph_exec * *exec, cuda_graph_plan * plan, unsigned long long flags))                         \
    X(graph_launch, cuGraphLaunch, (cuda_graph_exec * exec, cuda_stream * stream))                           \
    X(graph_destroy, cuGraphDestroy, (cuda_graph_plan * plan))                                               \
    X(graph_exec_destroy, cuGraphExecDestroy, (cuda_graph_exec * exec))                                      \
    X(event_create, cuEventCreate, (cuda_event * *event, unsigned flags))                                    \
    X(event_destroy, cuEventDestroy_v2, (cuda_event * event))                                                \
    X(event_record, cuEventRecord, (cuda_event * event, cuda_stream * stream))                               \
    X(event_elapsed, cuEventElapsedTime, (float *milliseconds, cuda_event *begin, cuda_event *end))          \
    X(launch, cuLaunchKernel,                                                                                \
        (cuda_function * function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,      \
            unsigned block_y, unsigned block_z, unsigned shared, cuda_stream *stream, void **parameters,     \
            void **extra))

typedef struct cuda_api {
    void *library;
#define CUDA_MEMBER(member, symbol, parameters) cuda_result(*member) parameters;
    CUDA_CALLS(CUDA_MEMBER)
#undef CUDA_MEMBER
} cuda_api;

/* A function of a library that is opened at run time, and where its address goes. */
typedef struct cuda_symbol {
    const char *name;
    size_t offset; /* in a table of calls */
} cuda_symbol;
/* Fills the table; the first name that the library does not have, or NULL. */
const char *cuda_symbols_resolve(void *library, const cuda_symbol *symbols, size_t count, void *table);

/* Opens the library, resolves the calls, initialises. Without a driver or a GPU: TOMBAC_ERROR_UNSUPPORTED,
 * "no cuda device: ..." */
tombac_status cuda_api_open(cuda_api *api, tombac_error **error);
void cuda_api_close(cuda_api *api);
/* Failures after which CUDA refuses all further work on the GPU for as long as the process lives: not even a new context helps. */
bool cuda_is_final(cuda_result result);
/* TOMBAC_OK for 0; else an error that names the call, the driver's name of the failure and its text. */
tombac_status cuda_api_check(
    const cuda_api *api, cuda_result result, const char *doing, tombac_error **error);

#endif
