/* chain DEVICE: sequences of kernels that hand each other arguments and data, each recorded and run several
 * times, with the host looking in between, against the same steps computed here. What a device may get wrong:
 * the order of launches, arguments by value that an earlier kernel wrote, content that is copied too late,
 * sequences that are run again (as graphs, on GPUs). */
#include "tombac/tombac.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 1000, DATAS = 3, PLANS = 2, STEPS = 12, SEQUENCES = 24, REPEATS = 4 };

static const char source[] =
    "#include <metal_stdlib>\n"
    "struct plan { uint count, step; };\n"
    "kernel void advance(device plan *p [[buffer(0)]], constant uint &by [[buffer(1)]])\n"
    "{ p->count = (p->count * 5 + by) % 1200; p->step = p->step * 3 + by; }\n"
    "kernel void apply(device uint *data [[buffer(0)]], constant plan &p [[buffer(1)]], uint i "
    "[[thread_position_in_grid]])\n"
    "{ if (i < p.count) data[i] += p.step + i; }\n"
    "kernel void rotate(device uint *data [[buffer(0)]], const device uint *from [[buffer(1)]], uint i "
    "[[thread_position_in_grid]])\n"
    "{ data[i] ^= from[(i + 1) % 1000] << 3 | from[i] >> 29; }\n";

typedef struct plan {
    uint32_t count, step;
} plan;

/* The state as it should be. */
static uint32_t model_data[DATAS][LENGTH];
static plan model_plan[PLANS];

static tombac_device *device;
static tombac_kernel *kernels[3];
static tombac_buffer *data[DATAS], *plans[PLANS];
static uint32_t seed = 1;

static uint32_t pick(uint32_t count)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % count;
}

static void demand(tombac_status status, tombac_error *const *error)
{
    if (status == TOMBAC_OK) return;
    fprintf(stderr, "%s\n", tombac_error_message(*error));
    exit(1);
}

/* ---- Steps ---- */

typedef struct step {
    uint32_t kind, data, other, plan, by;
} step;

static void compute(const step *s)
{
    uint32_t *to = model_data[s->data];
    const uint32_t *from = model_data[s->other];
    plan *p = &model_plan[s->plan];
    if (s->kind == 0) {
        p->count = (p->count * 5 + s->by) % 1200;
        p->step = p->step * 3 + s->by;
    }
    for (uint32_t i = 0; i < LENGTH && s->kind == 1; i++)
        if (i < p->count) to[i] += p->step + i;
    for (uint32_t i = 0; i < LENGTH && s->kind == 2; i++)
        to[i] ^= from[(i + 1) % LENGTH] << 3 | from[i] >> 29;
}

static tombac_launch *launch_of(const step *s)
{
    tombac_launch *launch;
    tombac_error *e = NULL;
    demand(tombac_launch_create(kernels[s->kind], &launch, &e), &e);
    demand(tombac_launch_set_buffer(launch, 0, s->kind ? data[s->data] : plans[s->plan], 0, &e), &e);
    if (s->kind == 0)
        demand(tombac_launch_set_bytes(launch, 1, &s->by, sizeof s->by, &e), &e);
    else
        demand(
            tombac_launch_set_buffer(launch, 1, s->kind == 1 ? plans[s->plan] : data[s->other], 0, &e), &e);
    demand(
        tombac_launch_set_grid(launch, tombac_for_elements(s->kind ? LENGTH : 1, s->kind ? 64 : 1), &e), &e);
    return launch;
}

/* As one sequence, or launch by launch without waiting. */
static void run(const step *steps, bool sequence)
{
    tombac_sequence *recording = NULL;
    tombac_operation *operation = NULL;
    tombac_error *e = NULL;
    if (sequence) demand(tombac_sequence_begin(device, &recording, &e), &e);
    for (int i = 0; i < STEPS; i++) {
        tombac_launch *launch = launch_of(&steps[i]);
        demand(sequence ? tombac_sequence_add(recording, launch, &e) : tombac_launch_submit(launch, &e), &e);
        tombac_launch_release(launch);
        compute(&steps[i]);
    }
    if (!sequence) return;
    demand(tombac_sequence_end(recording, &operation, &e), &e);
    demand(tombac_operation_submit(operation, &e), &e);
    tombac_operation_release(operation);
}

static void compare(
    tombac_buffer *buffer, const void *expected, size_t size, const char *what, uint32_t number)
{
    const void *seen;
    tombac_error *e = NULL;
    demand(tombac_buffer_begin_read(buffer, &seen, &e), &e);
    if (memcmp(seen, expected, size) != 0) {
        fprintf(stderr, "%s %u is wrong\n", what, number);
        exit(1);
    }
    demand(tombac_buffer_end_read(buffer, &e), &e);
}

static void write_anew(uint32_t number)
{
    void *to;
    tombac_error *e = NULL;
    for (uint32_t i = 0; i < LENGTH; i++) model_data[number][i] = pick(1u << 24);
    demand(tombac_buffer_begin_write(data[number], &to, &e), &e);
    memcpy(to, model_data[number], sizeof model_data[number]);
    demand(tombac_buffer_end_write(data[number], &e), &e);
}

static void open_all(const char *name)
{
    static const char *const names[] = {"advance", "apply", "rotate"};
    tombac_error *e = NULL;
    tombac_library *library;
    demand(tombac_device_open(name, &device, &e), &e);
    demand(tombac_library_create_from_source(
               device, "chain.metal", source, sizeof source - 1, NULL, &library, &e),
        &e);
    for (int i = 0; i < 3; i++) demand(tombac_kernel_create(library, names[i], NULL, 0, &kernels[i], &e), &e);
    tombac_library_release(library);
    for (int i = 0; i < DATAS; i++)
        demand(tombac_buffer_create(device, sizeof model_data[i], NULL, &data[i], &e), &e);
    for (int i = 0; i < PLANS; i++)
        demand(tombac_buffer_create(device, sizeof(plan), NULL, &plans[i], &e), &e);
}

int main(int count, char **words)
{
    open_all(count > 1 ? words[1] : NULL);
    for (int n = 0; n < SEQUENCES; n++) {
        step steps[STEPS];
        for (int i = 0; i < STEPS; i++) {
            steps[i] = (step){pick(3), pick(DATAS), 0, pick(PLANS), pick(1000)};
            steps[i].other = (steps[i].data + 1 + pick(DATAS - 1)) % DATAS; /* another than it writes */
            if (n % 3 == 0 && steps[i].kind == 1) steps[i].kind = 2; /* some without values from the GPU */
        }
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            run(steps, n % 4 != 3);
            if (pick(2))
                compare(data[n % DATAS], model_data[n % DATAS], sizeof model_data[0], "array",
                    (uint32_t)n % DATAS);
            if (pick(4) == 0) write_anew(pick(DATAS));
        }
    }
    for (uint32_t i = 0; i < DATAS; i++) compare(data[i], model_data[i], sizeof model_data[i], "array", i);
    for (uint32_t i = 0; i < PLANS; i++) compare(plans[i], &model_plan[i], sizeof model_plan[i], "plan", i);
    printf("%d sequences, %d times each, on %s: right\n", SEQUENCES, REPEATS, tombac_device_name(device));
    for (int i = 0; i < DATAS; i++) tombac_buffer_release(data[i]);
    for (int i = 0; i < PLANS; i++) tombac_buffer_release(plans[i]);
    for (int i = 0; i < 3; i++) tombac_kernel_release(kernels[i]);
    tombac_device_release(device);
    return 0;
}
