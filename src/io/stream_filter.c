/* SPDX-License-Identifier: MIT */
/*
 * stream_filter.c - TLS and the like: their calls in place of recv and sendmsg.
 */
#include "stream_filter.h"

#include "base/options.h"
#include "base/why.h"
#include "promise/op.h"

#include <stdlib.h>
#include <string.h>

/* ---- the filter's calls ------------------------------------------------------------------------------------------ */

int64_t vg_filter_receive(vigil_stream *stream, void *buffer, size_t room)
{
    vg_filter *it = stream->filter;
    unsigned wants = VIGIL_FD_READ;
    const int64_t got = it->calls.receive(it->filter, buffer, room, &wants);
    if (got == -EAGAIN && (wants & VIGIL_FD_WRITE) != 0) {
        it->read_wants_write = true; /* until then an event for reading would find the same */
        vg_stream_disarm(stream, VIGIL_FD_READ);
        vg_stream_arm(stream, VIGIL_FD_WRITE);
    }
    return got;
}

/* Let the event come that the sending side waits for. */
static void filter_wait_to_send(vigil_stream *stream, unsigned wants)
{
    stream->filter->send_wants_read = (wants & VIGIL_FD_READ) != 0;
    vg_stream_arm(stream, (wants & VIGIL_FD_READ) != 0 ? VIGIL_FD_READ : VIGIL_FD_WRITE);
}

int64_t vg_filter_send(vigil_stream *stream, const struct iovec *parts, size_t count)
{
    vg_filter *it = stream->filter;
    unsigned wants = VIGIL_FD_WRITE;
    stream->sends++;
    const int64_t sent = it->calls.send(it->filter, parts, count, &wants);
    if (sent == -EAGAIN)
        filter_wait_to_send(stream, wants);
    return sent;
}

int vg_filter_finish(vigil_stream *stream)
{
    vg_filter *it = stream->filter;
    unsigned wants = VIGIL_FD_WRITE;
    const int rc = it->calls.finish(it->filter, &wants);
    if (rc == -EAGAIN)
        filter_wait_to_send(stream, wants);
    return rc;
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

void vg_filter_start(vigil_stream *stream)
{
    vg_filter *it = stream->filter;
    unsigned wants = VIGIL_FD_READ;
    const int rc = it->calls.start != NULL ? it->calls.start(it->filter, &wants) : 0;
    if (rc == -EAGAIN) {
        vg_stream_disarm(stream, VIGIL_FD_READ | VIGIL_FD_WRITE);
        vg_stream_arm(stream, (wants & VIGIL_FD_WRITE) != 0 ? VIGIL_FD_WRITE : VIGIL_FD_READ);
        return;
    }
    if (rc < 0) {
        vg_stream_fail(stream, rc); /* and tells who waits */
        return;
    }
    stream->state &= ~(uint32_t)VG_STREAM_STARTING;
    stream->quiet = vigil_loop_now(stream->shared->loop);
    vg_stream_disarm(stream, VIGIL_FD_WRITE);
    vg_stream_arm(stream, VIGIL_FD_READ);
    vg_stream_keep(stream);
    vg_stream_want(stream, VG_TODO_STARTED | VG_TODO_FLUSH | VG_TODO_READ);
}

void vg_filter_event(vigil_stream *stream, unsigned events)
{
    vg_filter *it = stream->filter;
    const unsigned broken = VIGIL_FD_HANGUP | VIGIL_FD_ERROR;
    if (it->read_wants_write && (events & (VIGIL_FD_WRITE | broken)) != 0) {
        it->read_wants_write = false;
        vg_stream_arm(stream, VIGIL_FD_READ);
        vg_stream_want(stream, VG_TODO_READ);
    }
    if (it->send_wants_read && (events & (VIGIL_FD_READ | VIGIL_FD_RDHUP | broken)) != 0) {
        it->send_wants_read = false;
        stream->state &= ~(uint32_t)VG_STREAM_BLOCKED;
        vg_stream_want(stream, VG_TODO_FLUSH);
    }
}

bool vg_filter_say_started(vigil_stream *stream)
{
    vg_filter *it = stream->filter;
    vigil_filter_fn started = it->started;
    it->started = NULL;
    it->promised = false;
    if (started == NULL)
        return false;
    started(stream, stream->error, it->arg);
    return true;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

void vg_filter_drop_start(vigil_stream *stream)
{
    vg_filter *it = stream->filter;
    it->started = NULL;
    if (!it->promised)
        return;
    it->promised = false;
    vg_op_finish(it->arg, vigil_value_error(-ECANCELED));
}

void vg_filter_free(vigil_stream *stream)
{
    vg_filter *it = stream->filter;
    stream->filter = NULL;
    if (it->calls.destroy != NULL)
        it->calls.destroy(it->filter);
    free(it);
}

/* ---- the public calls -------------------------------------------------------------------------------------------- */

static int filter_guard(const vigil_stream *stream, const vigil_filter_calls *calls)
{
    const int error = vg_stream_guard(stream);
    if (error != 0)
        return error;
    if (calls == NULL || calls->receive == NULL || calls->send == NULL)
        return vg_why(-EINVAL, "calls, calls->receive or calls->send is NULL");
    if (stream->error != 0 || stream->write_error != 0)
        return vg_why_say(stream->error != 0 ? stream->error : stream->write_error,
                          "the connection has failed before: %s",
                          strerror(-(stream->error != 0 ? stream->error : stream->write_error)));
    if (stream->filter != NULL)
        return vg_why(-EBUSY, "the stream has a filter already");
    if (stream->first != NULL || (stream->state & (VG_STREAM_FINISH | VG_STREAM_READ_END)) != 0)
        return vg_why(-EBUSY, "the stream has something to send, or one of its sides has ended");
    if (stream->rest != NULL) /* what came in the clear must not count as what the filter has given */
        return vg_why_say(-EBUSY, "%zu bytes were read before the filter and are not taken", stream->rest->length);
    if (stream->read != NULL || stream->on_data != NULL)
        return vg_why(-EBUSY, "somebody reads from the stream");
    return 0;
}

int vigil_stream_filter(vigil_stream *stream, const vigil_filter_calls *calls, void *filter, vigil_filter_fn started,
                        void *arg)
{
    int error = filter_guard(stream, calls);
    if (error != 0)
        return error;
    vg_filter *it = calloc(1, sizeof *it);
    if (it == NULL)
        return vg_why(-ENOMEM, "no memory for a filter");
    error = vg_options_take(&it->calls, sizeof it->calls, calls, calls->size, sizeof it->calls, "calls");
    if (error != 0) {
        free(it);
        return error;
    }
    it->filter = filter;
    it->started = started;
    it->arg = arg;
    stream->filter = it;
    stream->state |= VG_STREAM_STARTING;
    vg_stream_keep(stream);
    vg_stream_want(stream, VG_TODO_START);
    return 0;
}

void *vigil_stream_filter_of(const vigil_stream *stream, vigil_filter_receive_fn receive)
{
    return stream != NULL && stream->filter != NULL && stream->filter->calls.receive == receive ? stream->filter->filter
                                                                                                : NULL;
}

static void promised_start(vigil_stream *stream, int status, void *arg)
{
    (void)stream;
    vg_op_finish(arg, status != 0 ? vigil_value_error(status) : vigil_value_none());
}

/* The operation is over. If the start is not, the token was aborted or the loop ends: half a start is of no use. */
static void promised_start_stop(vg_op *op)
{
    vigil_stream *stream = op->above[0];
    if (stream->filter == NULL || !stream->filter->promised || stream->filter->arg != op)
        return;
    stream->filter->started = NULL;
    stream->filter->promised = false;
    const int status = vigil_cancel_status(op->token);
    vg_stream_fail(stream, op->realm->ending ? -ESHUTDOWN : status != 0 ? status : -ECANCELED);
}

int vigil_promise_filter(vigil_stream *stream, const vigil_filter_calls *calls, void *filter, vigil_cancel_token *token,
                         vigil_promise **promise)
{
    int error = filter_guard(stream, calls);
    if (error == 0 && promise == NULL)
        error = VG_WHY_NULL("promise");
    if (error != 0)
        return error;
    vg_realm *realm = vg_realm_of_owner(stream->shared->loop, &error);
    vg_op *op = realm == NULL ? NULL : vg_op_new(realm, token, __builtin_return_address(0), &error);
    if (op == NULL)
        return error;
    op->above[0] = stream;
    vigil_promise *made;
    error = vg_op_arm(op, token, VIGIL_FOREVER, &made);
    if (error != 0)
        return error;
    error = vigil_stream_filter(stream, calls, filter, promised_start, op);
    if (error != 0) {
        vg_op_discard(op);
        return error;
    }
    stream->filter->promised = true;
    op->stop = promised_start_stop;
    *promise = made;
    return 0;
}
