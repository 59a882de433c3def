/* blur: a picture through four kernels, recorded as one sequence; the result is a PNG file.
 *
 *     blur OUT.png [DEVICE [IN.png]]      without IN.png, a picture of its own
 *
 * Every pixel is compared with the same blur computed here, in double. blur.h is made from blur.metal by
 * tombac_add_kernels (CMakeLists.txt). */
#include "blur.h"
#include "picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RADIUS = 6 };

static void check(tombac_status status, tombac_error **error)
{
    if (status == TOMBAC_OK) return;
    fprintf(stderr, "blur: %s: %s\n", tombac_status_name(status), tombac_error_message(*error));
    exit(1);
}

/* Rings, a grid of lines, and a sharp edge. */
static bool draw(picture *p)
{
    if (!picture_make(203, 117, p)) return false;
    for (uint32_t y = 0; y < p->height; y++)
        for (uint32_t x = 0; x < p->width; x++) {
            uint8_t *pixel = &p->pixels[4 * (y * p->width + x)];
            uint32_t dx = x - p->width / 2, dy = y - p->height / 2;
            pixel[0] = (dx * dx + dy * dy) / 64 % 2 ? 255 : 20;
            pixel[1] = x % 16 == 0 || y % 16 == 0 ? 230 : 60;
            pixel[2] = x < p->width / 3 ? 200 : 10;
            pixel[3] = 255;
        }
    return true;
}

static void fill_weights(blur_blur *b)
{
    double total = 0, weights[RADIUS + 1];
    for (int k = 0; k <= RADIUS; k++) {
        weights[k] = exp(-(double)k * k / (2 * (RADIUS / 2.0) * (RADIUS / 2.0)));
        total += k ? 2 * weights[k] : weights[k];
    }
    b->radius = RADIUS;
    for (int k = 0; k <= RADIUS; k++) b->weights[k] = (float)(weights[k] / total);
}

/* ---- The kernels ---- */

typedef struct stages {
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *load, *rows, *columns, *store;
} stages;

static stages open_stages(const char *device)
{
    stages s;
    tombac_error *error = NULL;
    check(tombac_device_open(device, &s.device, &error), &error);
    check(blur_open(s.device, &s.library, &error), &error);
    check(tombac_kernel_create(s.library, "load", NULL, 0, &s.load, &error), &error);
    check(tombac_kernel_create(s.library, "rows", NULL, 0, &s.rows, &error), &error);
    check(tombac_kernel_create(s.library, "columns", NULL, 0, &s.columns, &error), &error);
    check(tombac_kernel_create(s.library, "store", NULL, 0, &s.store, &error), &error);
    return s;
}

static void close_stages(stages *s)
{
    tombac_kernel_release(s->load);
    tombac_kernel_release(s->rows);
    tombac_kernel_release(s->columns);
    tombac_kernel_release(s->store);
    tombac_library_release(s->library);
    tombac_device_release(s->device);
}

/* What the stages read and write orders them. */
static void run(const stages *s, const blur_blur *b, tombac_buffer *bytes, tombac_buffer *first, tombac_buffer *second)
{
    tombac_error *error = NULL;
    tombac_operation *parts[4], *all;
    const uint32_t n = b->width * b->height;
    const tombac_grid line = tombac_for_elements(n, 256), plane = tombac_for_elements_2d(b->width, b->height, 32, 8);
    check(blur_load(s->load, line, bytes, first, &parts[0], &error), &error);
    check(blur_rows(s->rows, plane, first, second, b, &parts[1], &error), &error);
    check(blur_columns(s->columns, plane, second, first, b, &parts[2], &error), &error);
    check(blur_store(s->store, line, first, bytes, &parts[3], &error), &error);
    check(tombac_operation_all(parts, 4, &all, &error), &error);
    check(tombac_operation_wait(all, -1, &error), &error);
    for (int i = 0; i < 4; i++) tombac_operation_release(parts[i]);
    tombac_operation_release(all);
}

static void blur_picture(const stages *s, const blur_blur *b, const picture *in, picture *out)
{
    static const tombac_element pixel = TOMBAC_ELEMENT_VECTOR(TOMBAC_TYPE_U8, uint8_t, 4);
    static const tombac_element colour = TOMBAC_ELEMENT_VECTOR(TOMBAC_TYPE_F32, float, 4);
    const size_t n = (size_t)in->width * in->height;
    tombac_error *error = NULL;
    tombac_buffer *bytes, *first, *second;
    const void *seen;
    check(tombac_buffer_create_elements(s->device, &pixel, n, in->pixels, &bytes, &error), &error);
    check(tombac_buffer_create_elements(s->device, &colour, n, NULL, &first, &error), &error);
    check(tombac_buffer_create_elements(s->device, &colour, n, NULL, &second, &error), &error);
    run(s, b, bytes, first, second);
    check(tombac_buffer_begin_read(bytes, &seen, &error), &error);
    for (size_t i = 0; i < 4 * n; i++) out->pixels[i] = ((const uint8_t *)seen)[i];
    check(tombac_buffer_end_read(bytes, &error), &error);
    tombac_buffer_release(bytes);
    tombac_buffer_release(first);
    tombac_buffer_release(second);
}

/* ---- Is it right? ---- */

static uint32_t clamp(int64_t x, uint32_t size)
{
    return x < 0 ? 0 : x >= size ? size - 1 : (uint32_t)x;
}

static double expected(const picture *in, const blur_blur *b, uint32_t x, uint32_t y, int channel)
{
    double sum = 0;
    for (int dy = -RADIUS; dy <= RADIUS; dy++)
        for (int dx = -RADIUS; dx <= RADIUS; dx++) {
            size_t at = (size_t)clamp((int64_t)y + dy, in->height) * in->width + clamp((int64_t)x + dx, in->width);
            sum += (double)b->weights[abs(dx)] * b->weights[abs(dy)] * in->pixels[4 * at + (size_t)channel];
        }
    return sum;
}

static bool verify(const picture *in, const blur_blur *b, const picture *out)
{
    for (uint32_t y = 0; y < in->height; y++)
        for (uint32_t x = 0; x < in->width; x++)
            for (int c = 0; c < 4; c++) {
                double right = expected(in, b, x, y, c);
                int found = out->pixels[4 * ((size_t)y * in->width + x) + (size_t)c];
                if (fabs(found - right) <= 0.501) continue; /* rounding to a byte, and a little for float */
                fprintf(stderr, "blur: pixel %u, %u, channel %d is %d, not %.3f\n", x, y, c, found, right);
                return false;
            }
    return true;
}

int main(int count, char **arguments)
{
    picture in = {0}, out = {0};
    if (count < 2 || count > 4) {
        fprintf(stderr, "usage: blur OUT.png [DEVICE [IN.png]]\n");
        return 2;
    }
    if (!(count == 4 ? picture_read(arguments[3], &in) : draw(&in))) return 1;
    blur_blur b = {.width = in.width, .height = in.height};
    fill_weights(&b);
    stages s = open_stages(count > 2 ? arguments[2] : NULL);
    bool right = picture_make(in.width, in.height, &out);
    if (right) {
        blur_picture(&s, &b, &in, &out);
        right = verify(&in, &b, &out) && picture_write_checked(arguments[1], &out);
    }
    if (right)
        printf("blur %u x %u, radius %d, on %s: right; see %s\n", in.width, in.height, RADIUS, tombac_device_name(s.device),
            arguments[1]);
    close_stages(&s);
    free(in.pixels);
    free(out.pixels);
    return right ? 0 : 1;
}
