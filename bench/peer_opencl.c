/* The case in OpenCL C, kernels/FILE.cl, on PoCL: its own processor device, or a part of it with one unit for
 * one thread. Built with -cl-fast-relaxed-math, the counterpart of Metal's default mode. */
#include "bench.h"

#ifdef BENCH_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct state {
    const bench_case *c;
    cl_device_id device, part; /* part: NULL if the whole device is used */
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem buffers[MAX_BUFFERS];
} state;

static cl_device_id find_device(void)
{
    cl_platform_id platforms[16];
    cl_uint count = 0;
    if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) return NULL;
    for (cl_uint i = 0; i < count && i < 16; i++) {
        char name[256] = "";
        cl_device_id device;
        clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL);
        if (strstr(name, "Portable Computing Language") &&
            clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL) == CL_SUCCESS)
            return device;
    }
    return NULL;
}

static bool choose_threads(state *s, unsigned threads)
{
    cl_uint units = 0;
    clGetDeviceInfo(s->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    if (units == threads) return true;
    const cl_device_partition_property by_count[] = {CL_DEVICE_PARTITION_BY_COUNTS,
        (cl_device_partition_property)threads, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    cl_uint parts = 0;
    return clCreateSubDevices(s->device, by_count, 1, &s->part, &parts) == CL_SUCCESS && parts == 1;
}

static char *read_source(const char *file)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.cl", BENCH_KERNELS, file);
    FILE *f = fopen(path, "rb");
    char *text = f ? calloc(1, 65536) : NULL;
    if (text && fread(text, 1, 65535, f) == 0) {
        free(text);
        text = NULL;
    }
    if (f) fclose(f);
    return text;
}

static bool build(state *s, cl_device_id device)
{
    cl_int status;
    char *source = read_source(s->c->file);
    if (!source) return false;
    s->program = clCreateProgramWithSource(s->context, 1, (const char *[]){source}, NULL, &status);
    free(source);
    if (!s->program) return false;
    if (clBuildProgram(s->program, 1, &device, "-cl-fast-relaxed-math", NULL, NULL) != CL_SUCCESS)
        return false;
    s->kernel = clCreateKernel(s->program, s->c->kernel, &status);
    return s->kernel != NULL;
}

static bool bind(state *s)
{
    cl_int status;
    for (unsigned i = 0; i < s->c->buffer_count; i++) {
        s->buffers[i] = clCreateBuffer(
            s->context, CL_MEM_READ_WRITE, bench_buffer_size(&s->c->buffers[i]), NULL, &status);
        if (!s->buffers[i] || clSetKernelArg(s->kernel, i, sizeof(cl_mem), &s->buffers[i]) != CL_SUCCESS)
            return false;
    }
    for (unsigned i = 0; i < s->c->scalar_count; i++)
        if (clSetKernelArg(s->kernel, s->c->buffer_count + i, 4, &s->c->scalars[i]) != CL_SUCCESS)
            return false;
    return true;
}

static void close_opencl(void *opaque)
{
    state *s = opaque;
    for (unsigned i = 0; i < MAX_BUFFERS; i++)
        if (s->buffers[i]) clReleaseMemObject(s->buffers[i]);
    if (s->kernel) clReleaseKernel(s->kernel);
    if (s->program) clReleaseProgram(s->program);
    if (s->queue) clReleaseCommandQueue(s->queue);
    if (s->context) clReleaseContext(s->context);
    if (s->part) clReleaseDevice(s->part);
    free(s);
}

static void *open_opencl(const bench_case *c, unsigned threads, const char **why)
{
    *why = "no OpenCL form";
    if (!c->opencl) return NULL;
    cl_device_id device = find_device();
    *why = "no PoCL";
    state *s = device ? calloc(1, sizeof *s) : NULL;
    if (!s) return NULL;
    s->c = c;
    s->device = device;
    *why = "failed";
    if (choose_threads(s, threads)) {
        cl_device_id used = s->part ? s->part : device;
        cl_int status;
        s->context = clCreateContext(NULL, 1, &used, NULL, NULL, &status);
        if (s->context) s->queue = clCreateCommandQueue(s->context, used, 0, &status);
        if (s->queue && build(s, used) && bind(s)) return s;
    }
    close_opencl(s);
    return NULL;
}

static bool run_opencl(void *opaque)
{
    state *s = opaque;
    size_t threads[3], group[3];
    for (unsigned i = 0; i < 3; i++) {
        threads[i] = s->c->threads[i];
        group[i] = s->c->group[i];
    }
    return clEnqueueNDRangeKernel(s->queue, s->kernel, 3, NULL, threads, group, 0, NULL, NULL) ==
               CL_SUCCESS &&
           clFinish(s->queue) == CL_SUCCESS;
}

static bool write_opencl(void *opaque, unsigned index, const void *data, size_t size)
{
    state *s = opaque;
    return clEnqueueWriteBuffer(s->queue, s->buffers[index], CL_TRUE, 0, size, data, 0, NULL, NULL) ==
           CL_SUCCESS;
}

static bool read_opencl(void *opaque, unsigned index, void *data, size_t size)
{
    state *s = opaque;
    return clEnqueueReadBuffer(s->queue, s->buffers[index], CL_TRUE, 0, size, data, 0, NULL, NULL) ==
           CL_SUCCESS;
}

const bench_peer bench_peer_opencl = {
    "PoCL", true, open_opencl, run_opencl, write_opencl, read_opencl, close_opencl};

#else

static void *open_nothing(const bench_case *c, unsigned threads, const char **why)
{
    *why = "built without OpenCL";
    return NULL;
}

const bench_peer bench_peer_opencl = {"PoCL", true, open_nothing, NULL, NULL, NULL, NULL};

#endif
