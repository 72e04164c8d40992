/* SPDX-License-Identifier: MIT */
/*
 * stream_frame.c - a read that an asynchronous function waits for, without a promise. The read lies in the frame, where
 * its reaction would be: a frame waits for one thing at a time.
 *
 * With a token the promise does it: an abort may come from another thread.
 */
#include "stream_frame.h"

#include "base/container.h"
#include "base/why.h"
#include "loop/post.h"
#include "promise/frame.h"

#include <stddef.h>

typedef struct frame_read {
    union {
        vigil_read read;
        struct {
            vigil_post post; /* the stream was closed: the frame is told in its turn */
        };
    };
    vigil_value value; /* what the frame gets */
} frame_read;

_Static_assert(sizeof(frame_read) <= sizeof(vigil_reaction), "a read fits into its frame");

static frame_read *read_of_frame(vigil_frame *frame)
{
    return (frame_read *)(void *)&frame->vg_reaction;
}

static vigil_frame *frame_of_read(void *read)
{
    return (vigil_frame *)(void *)((char *)read - offsetof(vigil_frame, vg_reaction));
}

static void framed_read_done(vigil_read *read, int64_t result)
{
    vigil_frame *frame = frame_of_read(read);
    frame_read *it = read_of_frame(frame);
    it->value = result < 0 ? vigil_value_error((int)result) : vigil_value_int(result);
    vg_frame_resume(frame, result < 0 ? (int)result : 0, &it->value);
}

static void framed_readable(vigil_read *read, int64_t result)
{
    (void)result;
    vg_frame_resume(frame_of_read(read), 0, NULL);
}

static void framed_read_dropped(vigil_post *post)
{
    vg_frame_resume(frame_of_read(post), -ECANCELED, NULL);
}

void vg_stream_drop_frame(vigil_stream *stream)
{
    vigil_post *post = (vigil_post *)(void *)stream->read;
    stream->read = NULL;
    vigil_post_init(post, framed_read_dropped, framed_read_dropped);
    if (vigil_loop_tick(stream->shared->loop, post) != 0)
        framed_read_dropped(post); /* the loop ends: there is no later turn */
}

static int read_by_promise(vigil_frame *frame, vigil_stream *stream, vigil_frame_reads how, void *buffer, size_t room,
                           unsigned char delimiter)
{
    vigil_promise **promise = &frame->vg_next;
    switch (how) {
    case VIGIL_FRAME_READ:
        return vigil_promise_read(stream, buffer, room, frame->token, promise);
    case VIGIL_FRAME_READ_EXACTLY:
        return vigil_promise_read_exactly(stream, buffer, room, frame->token, promise);
    case VIGIL_FRAME_READ_UNTIL:
        return vigil_promise_read_until(stream, buffer, room, delimiter, frame->token, promise);
    case VIGIL_FRAME_READABLE:
        return vigil_promise_readable(stream, frame->token, promise);
    }
    return vg_why(-EINVAL, "how is none of VIGIL_FRAME_READ_*");
}

static int read_into_frame(vigil_frame *frame, vigil_stream *stream, vigil_frame_reads how, void *buffer, size_t room,
                           unsigned char delimiter)
{
    vigil_read *read = &read_of_frame(frame)->read;
    read->done = framed_read_done;
    switch (how) {
    case VIGIL_FRAME_READ:
        return vigil_stream_read(stream, read, buffer, room);
    case VIGIL_FRAME_READ_EXACTLY:
        return vigil_stream_read_exactly(stream, read, buffer, room);
    case VIGIL_FRAME_READ_UNTIL:
        return vigil_stream_read_until(stream, read, buffer, room, delimiter);
    case VIGIL_FRAME_READABLE:
        read->done = framed_readable;
        return vigil_stream_readable(stream, read);
    }
    return vg_why(-EINVAL, "how is none of VIGIL_FRAME_READ_*");
}

int vigil_frame_read(vigil_frame *frame, vigil_stream *stream, vigil_frame_reads how, void *buffer, size_t room,
                     unsigned char delimiter)
{
    if (!vigil_frame_may(frame))
        return frame->status;
    if (stream != NULL && stream->shared->loop != frame->loop)
        return vg_why(-EXDEV, "the stream belongs to another loop than the frame");
    if (frame->token != NULL) {
        const int rc = read_by_promise(frame, stream, how, buffer, room, delimiter);
        return rc == 0 ? 1 : vg_frame_refused(frame, rc);
    }
    vg_frame_release(frame);
    const int rc = read_into_frame(frame, stream, how, buffer, room, delimiter);
    if (rc < 0)
        return rc;
    stream->reader = VG_READER_FRAME;
    return 2;
}
