/* image_filter [DEVICE [FILE.png]]: blurs images of several sizes, and writes the last one with its blurred
 * half to FILE.png if the program was built with libpng. The kernel is ../image_filter.c. */
#include "program.h"
#include "image_filter.h"

#include <string.h>
#ifdef EXAMPLE_PNG
#include <png.h>
#endif

typedef struct image {
    uint32_t width, height;
    unsigned char *pixels; /* RGBA */
} image;

/* Rings and a fine grid, which a blur wipes out. */
static image draw(uint32_t width, uint32_t height)
{
    image i = {width, height, program_memory((size_t)width * height * 4)};
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            uint32_t dx = x - width / 2, dy = y - height / 2, square = dx * dx + dy * dy;
            unsigned char *p = i.pixels + 4 * ((size_t)y * width + x);
            p[0] = square >> 9 & 1 ? 230 : 30;
            p[1] = (x ^ y) & 1 ? 255 : 0;
            p[2] = (unsigned char)(x * 255 / width);
            p[3] = 255;
        }
    return i;
}

static uint32_t clamp_to(long x, uint32_t size)
{
    return x < 0 ? 0 : x >= (long)size ? size - 1 : (uint32_t)x;
}

/* The same by rows, then by columns, in exact numbers. */
static unsigned char expected(const image *i, uint32_t x, uint32_t y, int channel)
{
    uint32_t sum = 0;
    for (int dy = -1; dy <= 1; dy++) {
        const unsigned char *row =
            i->pixels + 4 * (size_t)clamp_to((long)y + dy, i->height) * i->width + channel;
        uint32_t across = row[4 * (size_t)clamp_to((long)x - 1, i->width)] + 2u * row[4 * (size_t)x] +
                          row[4 * (size_t)clamp_to((long)x + 1, i->width)];
        sum += dy ? across : 2 * across;
    }
    return (unsigned char)((sum + 8) / 16);
}

/* The blurred image takes the place of the right half. */
static void run(tombac_device *device, tombac_kernel *kernel, image *i)
{
    tombac_error *error = NULL;
    tombac_operation *operation = NULL;
    size_t size = (size_t)i->width * i->height * 4;
    tombac_buffer *in = program_buffer(device, size, i->pixels), *out = program_buffer(device, size, NULL);
    example_check(image_filter_blur(kernel, tombac_for_elements_2d(i->width, i->height, 32, 8), in, out,
                      i->width, i->height, &operation, &error),
        &error);
    program_run(operation);
    const unsigned char *got = program_read(out);
    for (uint32_t y = 0; y < i->height; y++)
        for (uint32_t x = 0; x < i->width; x++)
            for (int c = 0; c < 4; c++)
                if (got[4 * ((size_t)y * i->width + x) + (size_t)c] != expected(i, x, y, c))
                    example_fail("image_filter: %u x %u: pixel %u, %u is wrong", i->width, i->height, x, y);
    for (uint32_t y = 0; y < i->height; y++) {
        size_t first = 4 * ((size_t)y * i->width + i->width / 2),
               length = 4 * (size_t)(i->width - i->width / 2);
        memcpy(i->pixels + first, got + first, length);
    }
    program_done(out);
    tombac_buffer_release(in);
}

static void write_png(const char *path, const image *i)
{
#ifdef EXAMPLE_PNG
    png_image png = {
        .version = PNG_IMAGE_VERSION, .width = i->width, .height = i->height, .format = PNG_FORMAT_RGBA};
    if (!png_image_write_to_file(&png, path, 0, i->pixels, 0, NULL))
        example_fail("%s: %s", path, png.message);
#else
    (void)i;
    example_fail("%s is not written: this program was built without libpng", path);
#endif
}

int main(int count, char **arguments)
{
    tombac_device *device = NULL;
    tombac_library *library = program_open(count, arguments, &device, image_filter_open);
    tombac_kernel *kernel = program_kernel(library, "blur");
    for (size_t k = 0; k <= example_size_count; k++) {
        bool last = k == example_size_count;
        image i = draw(last ? 320 : example_sizes[k], last ? 240 : 1);
        run(device, kernel, &i);
        if (last && count > 2) write_png(arguments[2], &i);
        free(i.pixels);
    }
    puts("image_filter: right");
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    return 0;
}
