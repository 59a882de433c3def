/* vec_add: the whole way from a Metal source to a verified result, with every call written out.
 *
 *     vec_add [DEVICE]      DEVICE is "cpu" or "check"; default: the best there is
 *
 * Prints one line per vector length; exits with 1 at the first mismatch or failure. */
#include <tombac/tombac.h>

#include <stdio.h>
#include <stdlib.h>

/* Every call that can fail comes through here. The error comes by address, since the call and the other
 * argument may be evaluated in any order. */
static void check(tombac_status status, tombac_error **error)
{
    if (status == TOMBAC_OK) return;
    fprintf(stderr, "vec_add: %s\n", tombac_error_message(*error));
    exit(1);
}

static float *new_vector(size_t n)
{
    float *vector = malloc((n ? n : 1) * sizeof *vector);
    if (vector) return vector;
    fprintf(stderr, "vec_add: out of memory\n");
    exit(1);
}

/* Adds two vectors of `n` elements on the device and compares with the host's own sum. */
static void add(tombac_device *device, tombac_kernel *kernel, uint32_t n)
{
    tombac_error *error = NULL;
    float *a = new_vector(n), *b = new_vector(n);
    for (uint32_t i = 0; i < n; i++) {
        a[i] = 0.5f * (float)i;
        b[i] = (float)(n - i);
    }

    /* Device memory: two inputs, one output that starts as zeros. */
    tombac_buffer *buffer_a, *buffer_b, *buffer_c;
    check(tombac_buffer_create(device, n * sizeof *a, a, &buffer_a, &error), &error);
    check(tombac_buffer_create(device, n * sizeof *b, b, &buffer_b, &error), &error);
    check(tombac_buffer_create(device, n * sizeof(float), NULL, &buffer_c, &error), &error);

    /* One launch: arguments by their [[buffer(index)]], and a grid of n threads in threadgroups of 256. */
    tombac_launch *launch;
    check(tombac_launch_create(kernel, &launch, &error), &error);
    check(tombac_launch_set_buffer(launch, 0, buffer_a, 0, &error), &error);
    check(tombac_launch_set_buffer(launch, 1, buffer_b, 0, &error), &error);
    check(tombac_launch_set_buffer(launch, 2, buffer_c, 0, &error), &error);
    check(tombac_launch_set_threads(launch, (tombac_size3){n, 1, 1}, (tombac_size3){256, 1, 1}, &error),
        &error);
    check(tombac_launch_submit(launch, &error), &error);
    check(tombac_launch_wait(launch, &error), &error);

    /* The result is in host memory: look at it. */
    const float *c = tombac_buffer_contents(buffer_c);
    for (uint32_t i = 0; i < n; i++) {
        if (c[i] == a[i] + b[i]) continue;
        fprintf(stderr, "vec_add: n = %u: element %u is %g, not %g\n", n, i, c[i], a[i] + b[i]);
        exit(1);
    }
    printf("vec_add n = %u on %s: right\n", n, tombac_device_name(device));

    tombac_launch_release(launch);
    tombac_buffer_release(buffer_a);
    tombac_buffer_release(buffer_b);
    tombac_buffer_release(buffer_c);
    free(a);
    free(b);
}

int main(int count, char **arguments)
{
    static const uint32_t sizes[] = {0, 1, 255, 256, 257, 1000003};
    tombac_error *error = NULL;
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
    check(tombac_device_open(count > 1 ? arguments[1] : NULL, &device, &error), &error);
    check(tombac_library_create_from_file(device, EXAMPLE_FOLDER "/vec_add.metal", NULL, &library, &error),
        &error);
    check(tombac_kernel_create(library, "vec_add", NULL, 0, &kernel, &error), &error);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) add(device, kernel, sizes[i]);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    return 0;
}
