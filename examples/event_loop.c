/* event_loop: a program that waits for several things at once, kernels among them, in poll(2).
 *
 *     event_loop [DEVICE]      DEVICE is "cpu" or "check"; default: the best there is
 *
 * Launches several independent operations, and a timer beside them; handles each when its descriptor becomes
 * readable. */
#include "pipeline.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { OPERATIONS = 4, COUNT = 100000 };

static void check(tombac_status status, tombac_error **error)
{
    if (status == TOMBAC_OK) return;
    fprintf(stderr, "event_loop: %s\n", tombac_error_message(*error));
    exit(1);
}

/* An operation of its own pair of buffers; `out` is what it writes. */
static tombac_operation *start(tombac_device *device, tombac_kernel *finish, float scale, tombac_buffer **out)
{
    static const tombac_element floats = TOMBAC_ELEMENT(TOMBAC_TYPE_F32, float);
    tombac_error *error = NULL;
    tombac_buffer *in;
    tombac_operation *operation;
    const pipeline_affine a = {scale, 1, COUNT};
    check(tombac_buffer_create_elements(device, &floats, COUNT, NULL, &in, &error), &error);
    check(tombac_buffer_create_elements(device, &floats, COUNT, NULL, out, &error), &error);
    void *fill;
    check(tombac_buffer_begin_write(in, &fill, &error), &error);
    for (int i = 0; i < COUNT; i++) ((float *)fill)[i] = (float)i;
    check(tombac_buffer_end_write(in, &error), &error);
    check(pipeline_finish(finish, tombac_for_elements(COUNT, 256), in, *out, &a, &operation, &error), &error);
    check(tombac_operation_submit(operation, &error), &error);
    tombac_buffer_release(in); /* the operation keeps it */
    return operation;
}

/* The operation has ended: is its result right? */
static void finish_one(tombac_operation *operation, tombac_buffer *out, float scale)
{
    tombac_error *error = NULL;
    bool ended;
    check(tombac_operation_poll(operation, &ended, &error), &error);
    const float *result = tombac_buffer_contents(out);
    for (int i = 0; i < COUNT; i++) {
        if (ended && result[i] == (float)i * scale + 1) continue;
        fprintf(stderr, "event_loop: element %d is %g\n", i, result[i]);
        exit(1);
    }
    printf("event_loop: operation with scale %g: right\n", scale);
}

int main(int count, char **arguments)
{
    tombac_error *error = NULL;
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
    check(tombac_device_open(count > 1 ? arguments[1] : NULL, &device, &error), &error);
    check(pipeline_open(device, &library, &error), &error);
    check(tombac_kernel_create(library, "finish", NULL, 0, &kernel, &error), &error);

    tombac_operation *operations[OPERATIONS];
    tombac_buffer *outs[OPERATIONS];
    struct pollfd waiting[OPERATIONS + 1];
    for (int i = 0; i < OPERATIONS; i++) {
        operations[i] = start(device, kernel, (float)(i + 1), &outs[i]);
        waiting[i].events = POLLIN;
        check(tombac_operation_event(operations[i], &waiting[i].fd, &error), &error);
    }
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    const struct itimerspec after = {.it_value = {.tv_nsec = 1000000}};
    timerfd_settime(timer, 0, &after, NULL);
    waiting[OPERATIONS] = (struct pollfd){.fd = timer, .events = POLLIN};

    for (int left = OPERATIONS + 1; left > 0;) {
        if (poll(waiting, OPERATIONS + 1, 60000) <= 0) {
            fprintf(stderr, "event_loop: nothing happened for a minute\n");
            return 1;
        }
        for (int i = 0; i <= OPERATIONS; i++) {
            if (!(waiting[i].revents & POLLIN)) continue;
            if (i < OPERATIONS)
                finish_one(operations[i], outs[i], (float)(i + 1));
            else
                printf("event_loop: the timer\n");
            waiting[i].fd = -1; /* poll leaves it out from now on */
            left--;
        }
    }
    close(timer);
    for (int i = 0; i < OPERATIONS; i++) {
        tombac_operation_release(operations[i]);
        tombac_buffer_release(outs[i]);
    }
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    return 0;
}
