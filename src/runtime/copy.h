/* Content between devices by way of the host's memory. */
#ifndef RT_COPY_H
#define RT_COPY_H

#include "runtime/hazard.h"

/* A part of a buffer as drivers take it; `offset` and `size` are in the buffer. */
rt_part rt_part_of(const tombac_buffer *buffer, size_t offset, size_t size);
/* Whether the two have bytes in common. */
bool rt_parts_overlap(const rt_part *a, const rt_part *b);

/* Makes the host's content of the part the newest, unless all of its memory will be `overwritten`. */
tombac_status rt_part_open(
    tombac_device *device, const rt_part *part, bool overwritten, void **bytes, tombac_error **error);
/* The host has written it. */
void rt_part_written(tombac_device *device, const rt_part *part);

/* Copies as many bytes as `from` has, by the driver or by the host. On a thread of a device, in an operation
 * that has both. */
tombac_status rt_copy(tombac_device *from_device, const rt_part *from, tombac_device *to_device,
    const rt_part *to, tombac_error **error);

#endif
