/* SPDX-License-Identifier: MIT */
/*
 * stream_promise.c - a read, and the wait for room, as promises. The read lies in the operation: no allocation besides.
 */
#include "stream_promise.h"

#include "base/why.h"
#include "promise/op.h"
#include "stream_frame.h"
#include "stream_read.h"

/* What an operation has of its stream. */
typedef struct stream_wait {
    vigil_read read; /* first */
    vigil_stream *stream;
} stream_wait;

_Static_assert(sizeof(stream_wait) <= sizeof(((vg_op *)0)->above), "a wait fits into its operation");

static stream_wait *wait_of(vg_op *op)
{
    return (stream_wait *)(void *)op->above;
}

static vg_op *op_of_read(vigil_read *read)
{
    return (vg_op *)(void *)((char *)read - offsetof(vg_op, above));
}

static vg_op *start_wait(vigil_stream *stream, vigil_cancel_token *token, vigil_promise **promise, const void *created,
                         int *error)
{
    *error = vg_stream_guard(stream);
    if (*error == 0 && promise == NULL)
        *error = vg_why(-EINVAL, "promise is NULL: there is nowhere to put the result");
    if (*error != 0)
        return NULL;
    vg_realm *realm = vg_realm_of_owner(stream->shared->loop, error);
    vg_op *op = realm == NULL ? NULL : vg_op_new(realm, token, created, error);
    if (op != NULL)
        wait_of(op)->stream = stream;
    return op;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void promised_read_done(vigil_read *read, int64_t result)
{
    vg_op *op = op_of_read(read);
    vg_op_finish(op, result < 0 ? vigil_value_error((int)result) : vigil_value_int(result));
}

static void promised_readable(vigil_read *read, int64_t result)
{
    vg_op *op = op_of_read(read);
    (void)result;
    vg_op_finish(op, vigil_value_none());
}

/* The operation is over: by the read itself, or because its token was aborted or the loop ends. */
static void promised_read_stop(vg_op *op)
{
    stream_wait *wait = wait_of(op);
    if (wait->stream->read != &wait->read)
        return;
    if (wait->stream->shared->ended) /* the stream refuses calls, and its work is still to come */
        wait->stream->read = NULL;
    else
        vg_stream_take_read_away(wait->stream);
}

enum read_kind {
    READ_NOTHING,
    READ_SOME,
    READ_EXACTLY,
    READ_UNTIL
};

static int promise_read(vigil_stream *stream, void *buffer, size_t room, enum read_kind kind, unsigned char delimiter,
                        vigil_cancel_token *token, vigil_promise **promise, const void *created)
{
    int error;
    vg_op *op = start_wait(stream, token, promise, created, &error);
    if (op == NULL)
        return error;
    vigil_read *read = &wait_of(op)->read;
    read->done = promised_read_done;
    if (kind == READ_NOTHING) {
        read->done = promised_readable;
        error = vigil_stream_readable(stream, read);
    } else if (kind == READ_EXACTLY) {
        error = vigil_stream_read_exactly(stream, read, buffer, room);
    } else if (kind == READ_UNTIL) {
        error = vigil_stream_read_until(stream, read, buffer, room, delimiter);
    } else {
        error = vigil_stream_read(stream, read, buffer, room);
    }
    if (error != 0) {
        vg_op_discard(op);
        return error;
    }
    stream->reader = VG_READER_PROMISE;
    op->stop = promised_read_stop;
    return vg_op_arm(op, token, VIGIL_FOREVER, promise);
}

int vigil_promise_read(vigil_stream *stream, void *buffer, size_t room, vigil_cancel_token *token,
                       vigil_promise **promise)
{
    return promise_read(stream, buffer, room, READ_SOME, 0, token, promise, __builtin_return_address(0));
}

int vigil_promise_readable(vigil_stream *stream, vigil_cancel_token *token, vigil_promise **promise)
{
    return promise_read(stream, NULL, 0, READ_NOTHING, 0, token, promise, __builtin_return_address(0));
}

int vigil_promise_read_exactly(vigil_stream *stream, void *buffer, size_t length, vigil_cancel_token *token,
                               vigil_promise **promise)
{
    return promise_read(stream, buffer, length, READ_EXACTLY, 0, token, promise, __builtin_return_address(0));
}

int vigil_promise_read_until(vigil_stream *stream, void *buffer, size_t room, unsigned char delimiter,
                             vigil_cancel_token *token, vigil_promise **promise)
{
    return promise_read(stream, buffer, room, READ_UNTIL, delimiter, token, promise, __builtin_return_address(0));
}

/* ---- room for more ----------------------------------------------------------------------------------------------- */

static void promised_drained(void *arg)
{
    vg_op *op = arg;
    vigil_stream *stream = wait_of(op)->stream;
    stream->promised_drained = false;
    vg_op_finish(op, stream->write_error != 0 ? vigil_value_error(stream->write_error) : vigil_value_none());
}

static void promised_drained_stop(vg_op *op)
{
    vigil_stream *stream = wait_of(op)->stream;
    if (!stream->promised_drained || stream->drained_arg != op)
        return;
    stream->promised_drained = false;
    if (stream->shared->ended)
        stream->on_drained = NULL; /* as above */
    else
        (void)vigil_stream_on_drained(stream, NULL, NULL);
}

int vigil_promise_drained(vigil_stream *stream, vigil_cancel_token *token, vigil_promise **promise)
{
    int error;
    vg_op *op = start_wait(stream, token, promise, __builtin_return_address(0), &error);
    if (op == NULL)
        return error;
    error = vigil_stream_on_drained(stream, promised_drained, op);
    if (error != 0) {
        vg_op_discard(op);
        return error;
    }
    stream->promised_drained = true;
    op->stop = promised_drained_stop;
    return vg_op_arm(op, token, VIGIL_FOREVER, promise);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

void vg_stream_drop_promises(vigil_stream *stream)
{
    if (stream->reader == VG_READER_FRAME && stream->read != NULL)
        vg_stream_drop_frame(stream);
    if (stream->reader == VG_READER_PROMISE && stream->read != NULL) {
        vigil_read *read = stream->read;
        stream->read = NULL;
        vg_op_finish(op_of_read(read), vigil_value_error(-ECANCELED));
    }
    if (stream->promised_drained) {
        vg_op *op = stream->drained_arg;
        stream->on_drained = NULL;
        stream->promised_drained = false;
        vg_op_finish(op, vigil_value_error(-ECANCELED));
    }
}
