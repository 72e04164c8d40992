/* SPDX-License-Identifier: MIT */
/*
 * stream_frame.c - a read that an asynchronous function waits for, without a promise. The read lies in the frame, where
 * its reaction would be: a frame waits for one thing at a time.
 *
 * With a token there is an operation besides (promise/op.h), because an abort may come from another thread. It has no
 * promise, and ends with the read. If it ends first, by an abort, it takes the read away and the frame is resumed in a
 * tick. When the loop ends, the stream tells the frame.
 */
#include "stream_frame.h"

#include "base/container.h"
#include "base/why.h"
#include "loop/post.h"
#include "promise/frame.h"
#include "promise/op.h"
#include "stream_read.h"

#include <stddef.h>

typedef struct frame_read {
    union {
        vigil_read read;
        struct {
            vigil_post post; /* the read was taken away: the frame is resumed in its turn */
        };
        vigil_value value; /* what the frame gets, when the read is over */
    };
    vigil_stream *stream;
    vg_op *op;  /* of a frame with a token, while it waits; or NULL */
    int status; /* with the post */
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

/* The frame no longer waits: nor does its operation, which is not to touch the read. */
static void frame_leaves_op(frame_read *it)
{
    vg_op *op = it->op;
    it->op = NULL;
    if (op != NULL)
        vg_op_finish(op, vigil_value_none());
}

static void framed_read_done(vigil_read *read, int64_t result)
{
    vigil_frame *frame = frame_of_read(read);
    frame_read *it = read_of_frame(frame);
    frame_leaves_op(it);
    it->value = result < 0 ? vigil_value_error((int)result) : vigil_value_int(result);
    vg_frame_resume(frame, result < 0 ? (int)result : 0, &it->value);
}

static void framed_readable(vigil_read *read, int64_t result)
{
    vigil_frame *frame = frame_of_read(read);
    (void)result;
    frame_leaves_op(read_of_frame(frame));
    vg_frame_resume(frame, 0, NULL);
}

static void framed_read_dropped(vigil_post *post)
{
    vigil_frame *frame = frame_of_read(post);
    vg_frame_resume(frame, read_of_frame(frame)->status, NULL);
}

/* The stream does not know the read any more. */
static void tell_frame(frame_read *it, int status)
{
    it->status = status;
    vigil_post_init(&it->post, framed_read_dropped, framed_read_dropped);
    if (vigil_loop_tick(it->stream->shared->loop, &it->post) != 0)
        framed_read_dropped(&it->post); /* the loop ends: there is no later turn */
}

void vg_stream_drop_frame(vigil_stream *stream)
{
    frame_read *it = (frame_read *)(void *)stream->read;
    stream->read = NULL;
    frame_leaves_op(it);
    tell_frame(it, -ECANCELED);
}

/* ---- with a token ------------------------------------------------------------------------------------------------ */

static void framed_op_stop(vg_op *op)
{
    frame_read *it = op->above[0];
    const int status = vigil_cancel_status(op->token);
    if (it->op != op)
        return;
    it->op = NULL;
    if (status == 0 || it->stream->shared->ended)
        return; /* the loop ends, and so does the read */
    vg_stream_take_read_away(it->stream);
    tell_frame(it, status);
}

/* 0, and the frame has an operation; an error. */
static int begin_op(vigil_frame *frame, frame_read *it)
{
    int error;
    vg_realm *realm = vg_realm_of_owner(frame->loop, &error);
    if (realm == NULL)
        return error;
    it->op = vg_op_new_of(realm, VG_SLAB_WAITS, frame->token, NULL, &error);
    if (it->op == NULL)
        return error;
    it->op->above[0] = it;
    return 0;
}

static int arm_op(vigil_frame *frame, frame_read *it)
{
    vigil_promise *none;
    vg_op *op = it->op;
    const int error = vg_op_arm(op, frame->token, VIGIL_FOREVER, &none);
    if (error == 0) {
        op->stop = framed_op_stop;
        return 0;
    }
    it->op = NULL; /* it is discarded */
    (void)vigil_stream_read_cancel(it->stream, &it->read);
    return error;
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

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
    frame_read *it = read_of_frame(frame);
    vg_frame_release(frame);
    it->op = NULL;
    it->stream = stream;
    int rc = frame->token != NULL ? begin_op(frame, it) : 0;
    if (rc != 0)
        return vg_frame_refused(frame, rc);
    rc = read_into_frame(frame, stream, how, buffer, room, delimiter);
    if (rc < 0) {
        if (it->op != NULL)
            vg_op_discard(it->op);
        return rc;
    }
    stream->reader = VG_READER_FRAME;
    rc = it->op != NULL ? arm_op(frame, it) : 0;
    return rc != 0 ? vg_frame_refused(frame, rc) : 2;
}
