/* A libnccl.so.2 for GPUs whose memory is the host's (fake_cuda.c). Collectives happen when their group ends.
 *
 * $FAKE_NCCL: "init" no communicators can be made; "fail" collectives fail. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { MOST = 64, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4 };

typedef struct comm {
    int rank, count;
} comm;

typedef struct request {
    char kind; /* r, g, b */
    const void *from;
    void *to;
    size_t count;
    int type, detail;
    const comm *comm;
} request;

static request requests[MOST];
static int request_count, depth;
static _Atomic unsigned collectives;

static int is(const char *mode)
{
    const char *given = getenv("FAKE_NCCL");
    return given && !strcmp(given, mode);
}

/* Collectives so far, for tests. */
EXPORT unsigned fake_nccl_collectives(void)
{
    return collectives;
}
EXPORT const char *ncclGetErrorString(int result)
{
    return result == SYSTEM_ERROR ? "a made-up system error" : "a made-up complaint";
}
EXPORT int ncclCommInitAll(comm **comms, int count, const int *devices)
{
    if (is("init")) return SYSTEM_ERROR;
    for (int i = 0; i < count; i++) {
        if (devices[i] != i || !(comms[i] = calloc(1, sizeof **comms))) return INVALID_ARGUMENT;
        *comms[i] = (comm){i, count};
    }
    return 0;
}
EXPORT int ncclCommDestroy(comm *c)
{
    return free(c), 0;
}
EXPORT int ncclCommAbort(comm *c)
{
    return free(c), 0;
}
EXPORT int ncclGroupStart(void)
{
    depth++;
    return request_count = 0;
}

static int add(request made)
{
    if (is("fail")) return SYSTEM_ERROR;
    if (depth != 1 || request_count == MOST || !made.from || !made.to) return INVALID_ARGUMENT;
    requests[request_count++] = made;
    return 0;
}
EXPORT int ncclAllReduce(
    const void *from, void *to, size_t count, int type, int reduction, comm *c, void *stream)
{
    return add((request){'r', from, to, count, type, reduction, c});
}
EXPORT int ncclAllGather(const void *from, void *to, size_t count, int type, comm *c, void *stream)
{
    return add((request){'g', from, to, count, type, 0, c});
}
EXPORT int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, comm *c, void *stream)
{
    return add((request){'b', from, to, count, type, root, c});
}

static float wide(uint16_t brain)
{
    uint32_t bits = (uint32_t)brain << 16;
    float value;
    return memcpy(&value, &bits, 4), value;
}
/* Brain floats, cut where they should be rounded: tests use what needs neither. */
static void reduce_brain(int how, uint16_t *result)
{
    for (size_t i = 0; i < requests[0].count; i++) {
        float all = wide(((const uint16_t *)requests[0].from)[i]);
        for (int k = 1; k < request_count; k++) {
            float one = wide(((const uint16_t *)requests[k].from)[i]);
            all = how == 0 ? all + one : (how == 2 ? one > all : one < all) ? one : all;
        }
        uint32_t bits;
        memcpy(&bits, &all, 4);
        result[i] = (uint16_t)(bits >> 16);
    }
}

#define REDUCE(CODE, TYPE)                                                                                   \
    case CODE:                                                                                               \
        for (size_t i = 0; i < requests[0].count; i++) {                                                     \
            TYPE all = ((const TYPE *)requests[0].from)[i];                                                  \
            for (int k = 1; k < request_count; k++) {                                                        \
                TYPE one = ((const TYPE *)requests[k].from)[i];                                              \
                if (how == 0)                                                                                \
                    all = (TYPE)(all + one);                                                                 \
                else if (how == 2 ? one > all : one < all)                                                   \
                    all = one;                                                                               \
            }                                                                                                \
            ((TYPE *)result)[i] = all;                                                                       \
        }                                                                                                    \
        size = sizeof(TYPE);                                                                                 \
        break;

static int reduce(void)
{
    int how = requests[0].detail;
    size_t size = 0;
    void *result = malloc(8 * requests[0].count);
    switch (requests[0].type) {
        REDUCE(0, int8_t)
        REDUCE(1, uint8_t)
        REDUCE(2, int32_t)
        REDUCE(3, uint32_t)
        REDUCE(4, int64_t)
        REDUCE(5, uint64_t)
        REDUCE(6, _Float16)
        REDUCE(7, float)
    case 9: reduce_brain(how, result), size = 2; break;
    default: break;
    }
    for (int k = 0; k < request_count; k++) memcpy(requests[k].to, result, size * requests[0].count);
    free(result);
    return size ? 0 : INVALID_ARGUMENT;
}

EXPORT int ncclGroupEnd(void)
{
    depth--;
    if (!request_count) return 0;
    const request *first = &requests[0];
    if (request_count != first->comm->count) return INVALID_ARGUMENT;
    for (int i = 0; i < request_count; i++)
        if (requests[i].kind != first->kind || requests[i].count != first->count ||
            requests[i].type != first->type || requests[i].detail != first->detail ||
            requests[i].comm->rank != i)
            return INVALID_ARGUMENT;
    collectives++;
    if (first->kind == 'r') return reduce();
    if (first->type != 1) return INVALID_ARGUMENT; /* bytes */
    for (int i = 0; i < request_count; i++)
        if (first->kind == 'b')
            memmove(requests[i].to, requests[first->detail].from, first->count);
        else
            for (int k = 0; k < request_count; k++)
                memmove((char *)requests[i].to + (size_t)k * first->count, requests[k].from, first->count);
    return 0;
}
