/* A libcuda.so.1 without a GPU: memory is the host's, kernels are accepted and do nothing.
 *
 * It serves two ends. Tests see what the driver does around a launch: which errors it reports, what it
 * copies. And programs that run on it fill the compile cache with the kernels of a device that this machine
 * does not have.
 *
 * $FAKE_CUDA: "sm_80", "sm_75" a GPU of compute capability 8.0, 7.5 (else 9.0); "none" no GPU; "two" two of them; "memory" allocations fail; "dead" a
 * kernel failed before; "old" the driver knows no such PTX; "fault" the launch fails as for an illegal address; "hang" it never ends; "jit" modules do not load; "fill"
 * a launch writes 0x5a into the first byte of every buffer that it gets by address, "small" the same with room for two
 * buffers; "two" and "slow" write too. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

static int is(const char *mode)
{
    const char *given = getenv("FAKE_CUDA");
    return given && !strcmp(given, mode);
}

/* Copies so far, for tests. */
static _Atomic unsigned uploads, downloads, peer_copies, own_copies;
EXPORT void fake_cuda_device_copies(unsigned *peer, unsigned *own)
{
    *peer = peer_copies;
    *own = own_copies;
}
EXPORT void fake_cuda_copies(unsigned *up, unsigned *down)
{
    *up = uploads;
    *down = downloads;
}

/* What streams were given to do, in order, for tests: a letter and the stream's number. Up, Down, Own copy, Peer copy, Launch, Waiting
 * begins, waiting ends (E). */
enum { MOST_CALLS = 4096 };
static char calls[MOST_CALLS][2];
static _Atomic unsigned call_count;
static void note(char what, const void *stream)
{
    unsigned at = call_count++;
    if (at < MOST_CALLS) calls[at][1] = (char)((uintptr_t)stream & 0x7f), calls[at][0] = what;
}
/* Takes the record so far as "L1 W1 E1 "; it begins anew. */
EXPORT void fake_cuda_calls(char *text, size_t size)
{
    unsigned count = call_count < MOST_CALLS ? call_count : MOST_CALLS;
    text[0] = 0;
    for (unsigned i = 0; i < count && strlen(text) + 8 < size; i++)
        sprintf(text + strlen(text), "%c%d ", calls[i][0], calls[i][1]);
    call_count = 0;
}

/* What a module's first line says of the arguments, for "fill". */
typedef struct module {
    bool sized; /* it is for threadgroups of one size */
    char kinds[256];
} module;

/* Whether the last launch was of a module's second or third entry, and how many threads its blocks had, for tests. */
static _Atomic int second;
static _Atomic bool wide;
static _Atomic int block;
EXPORT int fake_cuda_wide(void)
{
    return wide;
}
EXPORT int fake_cuda_block(void)
{
    return block;
}
EXPORT int fake_cuda_second(void)
{
    return second;
}
/* Whether it was of a module for threadgroups of one size. */
static _Atomic bool sized;
EXPORT int fake_cuda_sized(void)
{
    return sized;
}

EXPORT int cuInit(unsigned flags)
{
    return is("none") ? 100 : 0;
}
EXPORT int cuDriverGetVersion(int *version)
{
    return *version = 12040, 0;
}
EXPORT int cuGetErrorName(int result, const char **name)
{
    *name = result == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                            : "CUDA_ERROR_OTHER";
    return 0;
}
EXPORT int cuGetErrorString(int result, const char **text)
{
    *text = result == 2     ? "out of memory"
            : result == 700 ? "an illegal memory access was encountered"
                            : "other";
    return 0;
}
EXPORT int cuDeviceGetCount(int *count)
{
    return *count = is("two") ? 2 : 1, 0;
}
EXPORT int cuDeviceGet(int *device, int ordinal)
{
    return *device = ordinal, 0;
}
EXPORT int cuDeviceTotalMem_v2(size_t *size, int device)
{
    return *size = (size_t)1 << 30, 0;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    if (is("sm_75")) return *value = attribute == 75 ? 7 : 5, 0;
    *value = attribute == 75 ? (is("sm_80") ? 8 : 9) : attribute == 16 ? 132 : attribute == 39 ? 2048 : 0;
    return 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
    return *context = (void *)(uintptr_t)(0x1000 + device), is("dead") ? 700 : 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    return 0;
}
EXPORT int cuCtxSetCurrent(void *context)
{
    return 0;
}

/* Code of the GPU is the PTX behind a word. */
static const char code_word[] = "cubin";
static _Atomic unsigned compiled, loaded_code;
EXPORT void fake_cuda_modules(unsigned *from_ptx, unsigned *from_code)
{
    *from_ptx = compiled;
    *from_code = loaded_code;
}

static int compile(unsigned count, const int *options, void **values)
{
    compiled++;
    if (is("old")) return 222;
    if (!is("jit")) return 0;
    for (unsigned i = 0; i < count; i++)
        if (options[i] == 5) strcpy(values[i], "ptxas: a made-up complaint");
    return 218;
}

typedef struct link {
    unsigned count;
    int options[4];
    void *values[4];
    char *image;
} link_state;

EXPORT int cuLinkCreate_v2(unsigned count, const int *options, void **values, link_state **out)
{
    link_state *made = calloc(1, sizeof *made);
    if (!made || count > 4) return 1;
    made->count = count;
    memcpy(made->options, options, count * sizeof *options);
    memcpy(made->values, values, count * sizeof *values);
    return *out = made, 0;
}
EXPORT int cuLinkAddData_v2(link_state *link, int type, const char *data, size_t size, const char *name, unsigned count,
    const int *options, void **values)
{
    if (type != 1 || data[size - 1]) return 1;
    link->image = malloc(size + sizeof code_word);
    if (!link->image) return 2;
    strcat(strcpy(link->image, code_word), data);
    return compile(link->count, link->options, link->values);
}
EXPORT int cuLinkComplete(link_state *link, void **image, size_t *size)
{
    *image = link->image;
    return *size = strlen(link->image) + 1, 0;
}
EXPORT int cuLinkDestroy(link_state *link)
{
    free(link->image);
    return free(link), 0;
}

EXPORT int cuModuleLoadDataEx(
    void **out, const char *image, unsigned count, const int *options, void **values)
{
    bool code = !strncmp(image, code_word, sizeof code_word - 1);
    int result = code ? 0 : compile(count, options, values);
    if (result) return result;
    if (code) image += sizeof code_word - 1, loaded_code++;
    module *made = calloc(1, sizeof *made);
    if (!made) return 2;
    const char *at = image;
    for (int words = 0; words < 5 && *at; at++) words += *at == ' ';
    for (size_t n = 0; *at && *at != '\n' && at[-1] != ';' && n + 1 < sizeof made->kinds; at += 2)
        made->kinds[n++] = *at;
    made->sized = strstr(image, ".reqntid") != NULL;
    *out = made;
    return 0;
}
EXPORT int cuModuleUnload(void *loaded)
{
    return free(loaded), 0;
}
EXPORT int cuModuleGetFunction(void **function, void *loaded, const char *name)
{
    int other = strstr(name, "_general") ? 1 : strstr(name, "_wide") ? 2 : 0;
    return *function = (char *)loaded + other, 0; /* modules lie at multiples of 16 */
}
/* The first entry takes threadgroups of up to 512. */
EXPORT int cuFuncGetAttribute(int *value, int attribute, const void *function)
{
    int general = (uintptr_t)function & 1;
    *value = attribute == 0 ? (general ? 1024 : 512) : attribute == 3 ? 24 : attribute == 4 ? (general ? 48 : 40) : 0;
    return 0;
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared)
{
    return *blocks = (int)(65536 / (40 * (size_t)threads)), 0; /* as if registers alone counted */
}
EXPORT int cuModuleGetGlobal_v2(uint64_t *address, size_t *size, void *loaded, const char *name)
{
    return 500;
}

/* "small": a GPU that has room for two allocations. */
static _Atomic unsigned allocations;
EXPORT int cuMemAllocAsync(uint64_t *address, size_t size, void *stream)
{
    void *memory = is("memory") || (is("small") && allocations >= 2) ? NULL : malloc(size);
    *address = (uint64_t)(uintptr_t)memory;
    allocations += memory != NULL;
    return memory ? 0 : 2;
}
EXPORT int cuMemFreeAsync(uint64_t address, void *stream)
{
    allocations--;
    return free((void *)(uintptr_t)address), 0;
}
EXPORT int cuDeviceGetDefaultMemPool(void **pool, int device)
{
    return *pool = (void *)(uintptr_t)0x4000, 0;
}
EXPORT int cuMemPoolSetAttribute(void *pool, int attribute, void *value)
{
    return 0;
}
EXPORT int cuMemHostRegister_v2(void *memory, size_t size, unsigned flags)
{
    return 0;
}
EXPORT int cuMemHostUnregister(void *memory)
{
    return 0;
}
EXPORT int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags)
{
    return *address = (uint64_t)(uintptr_t)memory, 0;
}
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream)
{
    uploads++;
    note('U', stream);
    return memcpy((void *)(uintptr_t)to, from, size), 0;
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream)
{
    downloads++;
    note('D', stream);
    return memcpy(to, (const void *)(uintptr_t)from, size), 0;
}

EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream)
{
    own_copies++;
    note('O', stream);
    return memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size), 0;
}
EXPORT int cuMemcpyPeerAsync(
    uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size, void *stream)
{
    peer_copies++;
    note('P', stream);
    if (to_context == from_context) return 1;
    return memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size), 0;
}
EXPORT int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    return *can = 1, device == peer ? 101 : 0;
}
EXPORT int cuMemPoolSetAccess(void *pool, const void *list, size_t count)
{
    return 0;
}

EXPORT int cuStreamCreate(void **stream, unsigned flags)
{
    static _Atomic unsigned count;
    return *stream = (void *)(uintptr_t)(0x2000 + ++count % 0x80), 0;
}
EXPORT int cuStreamDestroy_v2(void *stream)
{
    return 0;
}
EXPORT int cuStreamQuery(void *stream)
{
    return !stream ? 0 : is("hang") ? 600 : is("fault") ? 700 : 0;
}
/* "slow": what was launched takes a tenth of a second, on each stream by itself. */
static _Atomic bool launched[0x80];
EXPORT int cuStreamSynchronize(void *stream)
{
    _Atomic bool *at_work = &launched[(uintptr_t)stream & 0x7f];
    note('W', stream);
    if (is("slow") && *at_work) nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    *at_work = false;
    note('E', stream);
    return is("fault") ? 700 : 0;
}
EXPORT int cuEventCreate(void **event, unsigned flags)
{
    return *event = (void *)(uintptr_t)0x3000, 0;
}
EXPORT int cuEventDestroy_v2(void *event)
{
    return 0;
}
EXPORT int cuEventRecord(void *event, void *stream)
{
    return 0;
}
EXPORT int cuEventElapsedTime(float *milliseconds, void *begin, void *end)
{
    return *milliseconds = 1.5f, 0;
}

/* ---- Graphs: launches that were captured, and happen later ---- */

typedef struct captured {
    struct captured *next;
    uint64_t addresses[32];
    int count;
} captured;
typedef struct graph {
    captured *first, **last;
} graph;
static graph *capturing; /* by the one thread that does */
static void *captured_stream;
static _Atomic int live_graphs;

/* Graphs that were made and not destroyed, for tests. */
EXPORT int fake_cuda_graphs(void)
{
    return live_graphs;
}
EXPORT int cuStreamBeginCapture_v2(void *stream, int mode)
{
    if (is("no graphs")) return 801;
    capturing = calloc(1, sizeof *capturing);
    capturing->last = &capturing->first;
    captured_stream = stream;
    return 0;
}
EXPORT int cuStreamEndCapture(void *stream, graph **made)
{
    *made = capturing;
    capturing = NULL;
    return 0;
}
/* Takes over what the plan has. */
EXPORT int cuGraphInstantiateWithFlags(graph **exec, graph *plan, unsigned long long flags)
{
    live_graphs++;
    *exec = calloc(1, sizeof **exec);
    **exec = *plan;
    plan->first = NULL;
    return 0;
}
EXPORT int cuGraphDestroy(graph *plan)
{
    return free(plan), 0;
}
EXPORT int cuGraphExecDestroy(graph *exec)
{
    live_graphs--;
    for (captured *at; (at = exec->first);) {
        exec->first = at->next;
        free(at);
    }
    return free(exec), 0;
}
EXPORT int cuGraphLaunch(graph *exec, void *stream)
{
    note('G', stream);
    launched[(uintptr_t)stream & 0x7f] = true;
    for (const captured *at = exec->first; at; at = at->next)
        for (int i = 0; i < at->count; i++)
            *(unsigned char *)(uintptr_t)at->addresses[i] = 0x5a;
    return 0;
}

/* The first byte of the last launch's first argument by value, for tests. */
static _Atomic int by_value;
EXPORT int fake_cuda_by_value(void)
{
    return by_value;
}

EXPORT int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by,
    unsigned bz, unsigned shared, void *stream, void **parameters, void **extra)
{
    second = (uintptr_t)function & 1;
    wide = (uintptr_t)function & 2;
    block = (int)bx;
    captured *later = capturing && stream == captured_stream ? calloc(1, sizeof *later) : NULL;
    if (later) {
        *capturing->last = later;
        capturing->last = &later->next;
    } else {
        launched[(uintptr_t)stream & 0x7f] = true;
        note('L', stream);
    }
    const module *loaded = (const module *)((uintptr_t)function & ~(uintptr_t)3);
    sized = loaded->sized;
    if (!x || !y || !z || y > 65535 || z > 65535 || !bx || bx * by * bz > 1024) return 1;
    int next = 1;
    for (const char *kind = loaded->kinds; *kind; kind++) {
        if (*kind == '-') continue;
        if (*kind == 'v') by_value = *(unsigned char *)parameters[next];
        if (*kind == 'p' && later)
            later->addresses[later->count++] = *(uint64_t *)parameters[next];
        else if (*kind == 'p' && (is("fill") || is("small") || is("two") || is("slow"))) *(unsigned char *)(uintptr_t)*(uint64_t *)parameters[next] = 0x5a;
        next++;
    }
    return 0;
}
