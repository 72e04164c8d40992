/* SPDX-License-Identifier: MIT */
#ifndef VG_IO_STREAM_READ_H
#define VG_IO_STREAM_READ_H

#include "stream.h"

#include <stdbool.h>

/* Read once and call who waits for it, as the last step. The stream may be gone afterwards. */
void vg_stream_read_turn(vigil_stream *stream);
/* Somebody waits to read. */
static inline bool vg_stream_has_reader(const vigil_stream *stream)
{
    return stream->on_data != NULL || stream->read != NULL;
}

#endif
