/* Pictures of 8-bit RGBA, written to and read from PNG files by libpng. */
#ifndef EXAMPLE_PICTURE_H
#define EXAMPLE_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct picture {
    uint32_t width, height;
    uint8_t *pixels; /* 4 bytes each, rows from the top; free() */
} picture;

/* All of these say on standard error what went wrong. */
bool picture_make(uint32_t width, uint32_t height, picture *made);
bool picture_write(const char *path, const picture *p);
bool picture_read(const char *path, picture *p);
/* Writes a picture and reads it again: the file must hold the same pixels. */
bool picture_write_checked(const char *path, const picture *p);

#endif
