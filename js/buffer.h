/* SPDX-License-Identifier: MIT */
/* Bytes that wait: appended at the end, dropped at the start. */
#ifndef VG_JS_BUFFER_H
#define VG_JS_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct vg_buffer {
    unsigned char *data;
    size_t start, length, room;
} vg_buffer;

/* False: no memory; the buffer is as it was. */
bool vg_buffer_add(vg_buffer *buffer, const void *data, size_t length);
/* Drops bytes at the start. */
void vg_buffer_drop(vg_buffer *buffer, size_t count);
void vg_buffer_free(vg_buffer *buffer);

#endif
