/* SPDX-License-Identifier: MIT */
/* Bytes that wait. */
#include "buffer.h"

#include <stdlib.h>
#include <string.h>

bool vg_buffer_add(vg_buffer *buffer, const void *data, size_t length)
{
    size_t end = buffer->start + buffer->length;
    if (end + length > buffer->room) {
        size_t room = buffer->room ? buffer->room : 128;
        unsigned char *grown;
        if (buffer->start > 0) {
            memmove(buffer->data, buffer->data + buffer->start, buffer->length);
            buffer->start = 0;
            end = buffer->length;
        }
        while (room < end + length)
            room *= 2;
        grown = room > buffer->room ? realloc(buffer->data, room) : buffer->data;
        if (!grown)
            return false;
        buffer->data = grown;
        buffer->room = room;
    }
    if (length > 0)
        memcpy(buffer->data + end, data, length);
    buffer->length += length;
    return true;
}

void vg_buffer_free(vg_buffer *buffer)
{
    free(buffer->data);
    *buffer = (vg_buffer){0};
}

void vg_buffer_drop(vg_buffer *buffer, size_t count)
{
    buffer->start += count;
    buffer->length -= count;
    if (buffer->length == 0)
        vg_buffer_free(buffer);
}
