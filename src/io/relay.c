/* SPDX-License-Identifier: MIT */
/*
 * relay.c - a copy from stream to stream. It waits until `from` is readable, takes what there is, and gives it to `to`:
 * from a pipe (splice) at once as far as the system takes it, the rest and what is in a buffer as one write. When that
 * is sent it waits again: so `from` is read no faster than `to` takes. A relay that waits has neither pipe nor buffer.
 *
 * The operation may end while a write is in flight. Then the write goes on without it, and frees the relay.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "relay.h"

#include "base/options.h"
#include "base/why.h"
#include "promise/op.h"
#include "stream_read.h"
#include "stream_write.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RELAY_BUFFER = 256 * 1024,
    RELAY_PIPE = 1024 * 1024, /* what an unprivileged process may have */
    RELAY_ROUNDS = 2          /* of one event, so that others have their turn */
};

struct vg_relay {
    vigil_read read;       /* waits for `from` */
    vg_stream_piped piped; /* what is in flight to `to` */
    struct iovec part;
    vigil_stream *from, *to;
    vg_io_shared *shared;
    vg_op *op; /* NULL: it is over, and the write frees it */
    vigil_copy_options options;
    uint64_t taken;
    int pipe[2]; /* -1: none */
    void *buffer;
    bool sends; /* the write is in flight */
};

/* ---- pipes and buffers ------------------------------------------------------------------------------------------- */

static bool relay_get_pipe(vg_relay *relay)
{
    vg_io_shared *shared = relay->shared;
    if (shared->pipe_count != 0) {
        shared->pipe_count--;
        relay->pipe[0] = shared->pipes[shared->pipe_count][0];
        relay->pipe[1] = shared->pipes[shared->pipe_count][1];
        return true;
    }
    if (pipe2(relay->pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        relay->pipe[0] = relay->pipe[1] = -1;
        return false;
    }
    (void)fcntl(relay->pipe[0], F_SETPIPE_SZ, RELAY_PIPE); /* if it may not, it stays smaller */
    return true;
}

/* left: bytes are still in the pipe. */
static void relay_put_back(vg_relay *relay, bool left)
{
    vg_io_shared *shared = relay->shared;
    if (relay->pipe[0] >= 0) {
        if (!left && shared->pipe_count < VG_IO_PIPES && !shared->ended) {
            shared->pipes[shared->pipe_count][0] = relay->pipe[0];
            shared->pipes[shared->pipe_count][1] = relay->pipe[1];
            shared->pipe_count++;
        } else {
            (void)close(relay->pipe[0]);
            (void)close(relay->pipe[1]);
        }
        relay->pipe[0] = relay->pipe[1] = -1;
    }
    if (relay->buffer != NULL) {
        if (shared->spare_buffer == NULL && !shared->ended)
            shared->spare_buffer = relay->buffer;
        else
            free(relay->buffer);
        relay->buffer = NULL;
    }
}

static bool relay_get_buffer(vg_relay *relay)
{
    relay->buffer = relay->shared->spare_buffer;
    relay->shared->spare_buffer = NULL;
    if (relay->buffer == NULL)
        relay->buffer = malloc(RELAY_BUFFER);
    return relay->buffer != NULL;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* The operation is over, whichever way. */
static void relay_stop(vg_op *op)
{
    vg_relay *relay = op->above[0];
    if (relay->from->read == &relay->read) {
        relay->from->read = NULL;
        relay->from->todo &= ~(uint32_t)VG_TODO_READ;
        vg_stream_keep(relay->from);
    }
    relay->from->out_to = NULL;
    relay->to->in_from = NULL;
    relay->op = NULL;
    if (relay->sends)
        return;
    relay_put_back(relay, false);
    free(relay);
}

static void relay_say(const vg_relay *relay)
{
    if (relay->options.copied != NULL)
        *relay->options.copied = relay->taken;
}

/* Fulfilled with the bytes, or rejected. Last touch, unless a write is in flight. */
static void relay_over(vg_relay *relay, int status)
{
    relay_say(relay);
    vg_op_finish(relay->op, status != 0 ? vigil_value_error(status) : vigil_value_int((int64_t)relay->taken));
}

void vg_relay_stream_closes(vigil_stream *stream)
{
    if (stream->out_to != NULL)
        relay_over(stream->out_to, -ECANCELED);
    if (stream->in_from != NULL)
        relay_over(stream->in_from, -ECANCELED);
}

void vg_relay_target_fails(vg_relay *relay, int error)
{
    if (!relay->sends) /* else the write tells */
        relay_over(relay, error);
}

/* ---- there and back ---------------------------------------------------------------------------------------------- */

static void relay_wait(vg_relay *relay)
{
    const int error = vigil_stream_readable(relay->from, &relay->read);
    if (error != 0)
        relay_over(relay, error);
}

static bool relay_is_complete(const vg_relay *relay)
{
    return relay->options.most != 0 && relay->taken == relay->options.most;
}

static void relay_sent(vigil_write *write, int status)
{
    vg_relay *relay = (vg_relay *)(void *)((char *)write - offsetof(vg_relay, piped));
    const size_t lost = status != 0 ? write->vg_left : 0;
    relay->sends = false;
    relay->taken -= lost;
    relay_put_back(relay, lost != 0);
    if (relay->op == NULL)
        free(relay);
    else if (status != 0 || relay_is_complete(relay))
        relay_over(relay, status);
    else
        relay_wait(relay);
}

/* How much to take, at most. */
static size_t relay_room(const vg_relay *relay, size_t room)
{
    const uint64_t left = relay->options.most - relay->taken;
    return relay->options.most != 0 && left < room ? (size_t)left : room;
}

/* -EINVAL: not with these descriptors, now or ever. */
static int64_t relay_splice(vg_relay *relay)
{
    const vigil_stream *from = relay->from;
    if (relay->options.buffered || from->filter != NULL || from->passed != NULL || from->rest != NULL ||
        relay->to->filter != NULL || !relay_get_pipe(relay))
        return -EINVAL;
    const int64_t got = vg_stream_receive_into_pipe(relay->from, relay->pipe[1], relay_room(relay, RELAY_PIPE));
    if (got <= 0)
        relay_put_back(relay, false);
    if (got == -EINVAL)
        relay->options.buffered = true;
    return got;
}

static int64_t relay_take(vg_relay *relay)
{
    int64_t got = relay_splice(relay);
    if (got != -EINVAL)
        return got;
    if (!relay_get_buffer(relay))
        return vg_why(-ENOMEM, "no memory for the buffer of a copy");
    got = vigil_stream_try_read(relay->from, relay->buffer, relay_room(relay, RELAY_BUFFER));
    if (got <= 0)
        relay_put_back(relay, false);
    return got;
}

static void relay_give(vg_relay *relay, size_t length)
{
    vigil_write *write = &relay->piped.write;
    relay->part = (struct iovec){relay->buffer, length};
    *write = (vigil_write){.done = relay_sent,
                           .vg_parts = &relay->part,
                           .vg_count = 1,
                           .vg_left = length,
                           .vg_piped = relay->pipe[0] >= 0};
    relay->piped.pipe = relay->pipe[0];
    relay->taken += length;
    relay_say(relay);
    relay->sends = true;
    (void)vg_stream_accept_write(relay->to, write, length); /* it counts against no bound: there is only this one */
}

/* From the pipe into `to`, at once. False: the rest is queued. */
static bool relay_pass_on(vg_relay *relay, size_t length)
{
    size_t sent = 0;
    int error = 0;
    if (relay->pipe[0] >= 0) {
        error = vg_stream_send_piped(relay->to, relay->pipe[0], length, &sent);
        relay->taken += sent;
        relay_say(relay);
        if (sent == length) {
            relay_put_back(relay, false);
            return true;
        }
        vg_stream_disarm(relay->from, VIGIL_FD_READ); /* nobody reads before the rest is sent */
    }
    vigil_stream *to = relay->to;
    relay_give(relay, length - sent);
    if (error != 0)
        vg_stream_fail_sending(to, error); /* the write tells the relay */
    else
        vg_stream_keep(to);
    return false;
}

static void relay_readable(vigil_read *read, int64_t result)
{
    vg_relay *relay = (vg_relay *)(void *)((char *)read - offsetof(vg_relay, read));
    (void)result; /* what it is, the system says */
    int64_t got = relay_take(relay);
    for (int i = 1; got > 0; i++) {
        if (!relay_pass_on(relay, (size_t)got))
            return;
        if (relay_is_complete(relay)) {
            relay_over(relay, 0);
            return;
        }
        got = i < RELAY_ROUNDS ? relay_take(relay) : -EAGAIN;
    }
    if (got == -EAGAIN) {
        relay_wait(relay);
    } else {
        if (got == 0 && relay->options.finish)
            (void)vigil_stream_finish(relay->to); /* a pipe has no half to end: it is closed by its owner */
        relay_over(relay, (int)got);
    }
}

/* ---- the public call --------------------------------------------------------------------------------------------- */

static bool is_spliceable(const vigil_stream *stream)
{
    struct stat what;
    return (stream->state & VG_STREAM_SOCKET) != 0 || (fstat(stream->fd, &what) == 0 && S_ISFIFO(what.st_mode));
}

static int check_streams(vigil_stream *from, vigil_stream *to)
{
    int error = vg_stream_guard(from);
    if (error == 0)
        error = vg_stream_guard_write(to, 0);
    if (error != 0)
        return error;
    if (from->shared != to->shared)
        return vg_why(-EXDEV, "from and to are streams of different loops");
    if (vg_stream_has_reader(from) || from->out_to != NULL)
        return vg_why(-EBUSY, "somebody else reads from this stream; one reader at a time");
    if (to->in_from != NULL)
        return vg_why(-EBUSY, "another copy writes to this stream; one at a time");
    return 0;
}

int vigil_promise_copy(vigil_stream *from, vigil_stream *to, const vigil_copy_options *options,
                       vigil_cancel_token *token, vigil_promise **promise)
{
    vigil_copy_options ours = VIGIL_COPY_OPTIONS_INIT;
    int error = check_streams(from, to);
    if (error == 0 && promise == NULL)
        error = vg_why(-EINVAL, "promise is NULL: there is nowhere to put the result");
    if (error == 0 && options != NULL)
        error = vg_options_take(&ours, sizeof ours, options, options->size, sizeof ours, "options");
    if (error != 0)
        return error;
    vg_realm *realm = vg_realm_of_owner(from->shared->loop, &error);
    if (realm == NULL)
        return error;
    vg_relay *relay = calloc(1, sizeof *relay);
    if (relay == NULL)
        return vg_why(-ENOMEM, "no memory for a copy");
    vg_op *op = vg_op_new(realm, token, __builtin_return_address(0), &error);
    if (op == NULL) {
        free(relay);
        return error;
    }
    if (!is_spliceable(from) || !is_spliceable(to))
        ours.buffered = true;
    *relay = (vg_relay){.read = {.done = relay_readable},
                        .from = from,
                        .to = to,
                        .shared = from->shared,
                        .op = op,
                        .options = ours,
                        .pipe = {-1, -1}};
    relay_say(relay);
    op->above[0] = relay;
    op->stop = relay_stop;
    from->out_to = relay;
    to->in_from = relay;
    error = vigil_stream_readable(from, &relay->read);
    if (error != 0) {
        vg_op_discard(op);
        return error;
    }
    return vg_op_arm(op, token, VIGIL_FOREVER, promise);
}
