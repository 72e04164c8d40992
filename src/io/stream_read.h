/* SPDX-License-Identifier: MIT */
#ifndef VG_IO_STREAM_READ_H
#define VG_IO_STREAM_READ_H

#include "stream.h"

#include <stdbool.h>

/* Read once and call who waits for it, as the last step. The stream may be gone afterwards. */
void vg_stream_read_turn(vigil_stream *stream);
/* Move what there is into a pipe, which has room, at most `room` bytes. Bytes; 0: the end; -EAGAIN; -EINVAL this
   descriptor cannot; an error, and the stream has failed. */
int64_t vg_stream_receive_into_pipe(vigil_stream *stream, int pipe, size_t room);
/* The read that waits is over before its end; what it has read is kept for the next. Its function is not called. */
void vg_stream_take_read_away(vigil_stream *stream);
/* Somebody waits to read. */
static inline bool vg_stream_has_reader(const vigil_stream *stream)
{
    return stream->on_data != NULL || stream->read != NULL;
}

#endif
