/* zoom: pictures of the Mandelbrot set, each nearer than the one before, with progress.
 *
 *     zoom FOLDER [DEVICE]      writes FOLDER/zoom-0.png and on
 *
 * All frames are submitted at once. A host function behind each compares it with plain C, and writes its file,
 * while the device draws the next ones; a callback tells how far it is. zoom.h is made from zoom.metal by
 * tombac_add_kernels (CMakeLists.txt). */
#include "picture.h"
#include "zoom.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 6, WIDTH = 240, HEIGHT = 160, LIMIT = 300 };

typedef struct frame {
    zoom_view view;
    tombac_buffer *buffer;
    tombac_operation *operation; /* drawn, checked and written */
    char path[512];
} frame;

static atomic_int frames_done;

static void check(tombac_status status, tombac_error **error)
{
    if (status == TOMBAC_OK) return;
    fprintf(stderr, "zoom: %s: %s\n", tombac_status_name(status), tombac_error_message(*error));
    exit(1);
}

/* ---- One frame ---- */

static uint32_t escape(float cx, float cy)
{
    float x = 0, y = 0;
    uint32_t n = 0;
    for (; n < LIMIT && x * x + y * y <= 4; n++) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
    }
    return n;
}

/* Where the kernel rounds in another way (it fuses multiplications and additions), that decides at the border of the set, the
 * more so the nearer one looks: one pixel in fifty may differ. */
static size_t count_different(const zoom_view *v, const uint8_t *pixels)
{
    size_t different = 0;
    for (uint32_t j = 0; j < HEIGHT; j++)
        for (uint32_t i = 0; i < WIDTH; i++) {
            uint32_t n = escape(v->x + ((float)i - 0.5f * WIDTH) * v->step, v->y + ((float)j - 0.5f * HEIGHT) * v->step);
            const uint8_t *found = &pixels[4 * (j * WIDTH + i)];
            const uint8_t colour[3] = {(uint8_t)(n * 7), (uint8_t)(n * 3), (uint8_t)(255 - (n * 5 & 255))};
            for (int c = 0; c < 3; c++)
                if (found[c] != (n == LIMIT ? 0 : colour[c])) {
                    different++;
                    break;
                }
        }
    return different;
}

/* Runs behind the kernel; what it returns is the operation's result. */
static tombac_status finish(void *context, tombac_error **error)
{
    const frame *f = context;
    char message[640];
    const picture p = {WIDTH, HEIGHT, tombac_buffer_contents(f->buffer)};
    size_t different = count_different(&f->view, p.pixels);
    if (different > WIDTH * HEIGHT / 50)
        snprintf(message, sizeof message, "%zu pixels of %s are wrong", different, f->path);
    else if (!picture_write_checked(f->path, &p))
        snprintf(message, sizeof message, "'%s' was not written", f->path);
    else
        return TOMBAC_OK;
    return tombac_error_create(TOMBAC_ERROR_IO, message, error);
}

static void tell(void *context, tombac_operation *operation, tombac_status status)
{
    int done = atomic_fetch_add(&frames_done, 1) + 1;
    printf("%3d %%  %s\n", 100 * done / FRAMES, status == TOMBAC_OK ? ((const frame *)context)->path : "failed");
}

static void start(tombac_device *device, tombac_kernel *kernel, const char *folder, int number, frame *f)
{
    static const tombac_element pixel = TOMBAC_ELEMENT_VECTOR(TOMBAC_TYPE_U8, uint8_t, 4);
    tombac_error *error = NULL;
    tombac_operation *draw;
    f->view = (zoom_view){-0.7436f, 0.1318f, 0.0125f, WIDTH, HEIGHT, LIMIT};
    for (int i = 0; i < number; i++) f->view.step /= 2;
    snprintf(f->path, sizeof f->path, "%s/zoom-%d.png", folder, number);
    check(tombac_buffer_create_elements(device, &pixel, WIDTH * HEIGHT, NULL, &f->buffer, &error), &error);
    check(zoom_draw(kernel, tombac_for_elements_2d(WIDTH, HEIGHT, 32, 8), f->buffer, &f->view, &draw, &error), &error);
    check(tombac_operation_map(draw, finish, f, NULL, &f->operation, &error), &error);
    check(tombac_operation_on_end(f->operation, tell, f, &error), &error);
    check(tombac_operation_submit(f->operation, &error), &error);
    tombac_operation_release(draw);
}

int main(int count, char **arguments)
{
    static frame frames[FRAMES];
    tombac_error *error = NULL;
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
    if (count < 2 || count > 3) {
        fprintf(stderr, "usage: zoom FOLDER [DEVICE]\n");
        return 2;
    }
    check(tombac_device_open(count > 2 ? arguments[2] : NULL, &device, &error), &error);
    check(zoom_open(device, &library, &error), &error);
    check(tombac_kernel_create(library, "draw", NULL, 0, &kernel, &error), &error);
    for (int i = 0; i < FRAMES; i++) start(device, kernel, arguments[1], i, &frames[i]);
    for (int i = 0; i < FRAMES; i++) {
        check(tombac_operation_wait(frames[i].operation, 300, &error), &error);
        tombac_operation_release(frames[i].operation);
        tombac_buffer_release(frames[i].buffer);
    }
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    printf("zoom: %d frames: right\n", FRAMES);
    return 0;
}
