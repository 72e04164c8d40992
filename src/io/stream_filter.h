/* SPDX-License-Identifier: MIT */
/*
 * stream_filter.h - what stands between a stream and its descriptor (STREAMS.md, "Filters").
 */
#ifndef VG_IO_STREAM_FILTER_H
#define VG_IO_STREAM_FILTER_H

#include "stream.h"

#include <vigil/io_filter.h>

struct vg_filter {
    vigil_filter_calls calls;
    void *filter;
    vigil_filter_fn started; /* to be called, or NULL */
    void *arg;
    bool promised;         /* arg is the operation of a promise */
    bool read_wants_write; /* receive waits until the descriptor takes something */
    bool send_wants_read;  /* send, or finish, waits for something to read */
};

/* The system call of the stream, or the filter's. Results as of the filter: -EAGAIN is armed for. */
int64_t vg_filter_receive(vigil_stream *stream, void *buffer, size_t room);
int64_t vg_filter_send(vigil_stream *stream, const struct iovec *parts, size_t count);
int vg_filter_finish(vigil_stream *stream);
/* One more step of the start. Calls nobody. */
void vg_filter_start(vigil_stream *stream);
/* An event: what waits for the other direction may go on. */
void vg_filter_event(vigil_stream *stream, unsigned events);
/* Notify the waiter for the start, as the last step. False: nobody waits. */
bool vg_filter_say_started(vigil_stream *stream);
/* The stream is given back before the start: no callback runs, a promise is rejected. */
void vg_filter_drop_start(vigil_stream *stream);
void vg_filter_free(vigil_stream *stream);

/* Bytes wait inside the filter. */
static inline bool vg_filter_pending(const vigil_stream *stream)
{
    const vg_filter *it = stream->filter;
    return it != NULL && it->calls.pending != NULL && it->calls.pending(it->filter);
}

#endif
