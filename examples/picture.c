/* PNG files; see picture.h. */
#include "picture.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool picture_make(uint32_t width, uint32_t height, picture *made)
{
    *made = (picture){width, height, calloc((size_t)width * height, 4)};
    if (!made->pixels) fprintf(stderr, "no memory for a picture of %u x %u\n", width, height);
    return made->pixels != NULL;
}

bool picture_write(const char *path, const picture *p)
{
    png_image image = {.version = PNG_IMAGE_VERSION, .width = p->width, .height = p->height, .format = PNG_FORMAT_RGBA};
    if (png_image_write_to_file(&image, path, 0, p->pixels, 0, NULL)) return true;
    fprintf(stderr, "cannot write '%s': %s\n", path, image.message);
    return false;
}

bool picture_read(const char *path, picture *p)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    *p = (picture){0};
    if (!png_image_begin_read_from_file(&image, path)) {
        fprintf(stderr, "cannot read '%s': %s\n", path, image.message);
        return false;
    }
    image.format = PNG_FORMAT_RGBA;
    bool read = picture_make(image.width, image.height, p) && png_image_finish_read(&image, NULL, p->pixels, 0, NULL);
    if (!read) {
        fprintf(stderr, "cannot read '%s': %s\n", path, image.message);
        png_image_free(&image);
        free(p->pixels);
        p->pixels = NULL;
    }
    return read;
}

bool picture_write_checked(const char *path, const picture *p)
{
    picture again;
    if (!picture_write(path, p) || !picture_read(path, &again)) return false;
    bool same = again.width == p->width && again.height == p->height &&
                memcmp(again.pixels, p->pixels, (size_t)p->width * p->height * 4) == 0;
    if (!same) fprintf(stderr, "'%s' does not hold what was written\n", path);
    free(again.pixels);
    return same;
}
