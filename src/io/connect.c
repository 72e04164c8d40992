/* SPDX-License-Identifier: MIT */
/*
 * connect.c - connections that we make, to the first of several addresses that answers (RFC 8305).
 *
 * The attempts start one after the other: the next when the one before has failed, or after a while without an answer.
 * The first that is connected wins and the others are closed. The operation of the promise ends it all.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "stream.h"

#include "base/options.h"
#include "base/why.h"
#include "loop/guard.h"
#include "promise/op.h"
#include "shown.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_ADDRESSES = 64,
    NEXT_ATTEMPT_NS = 250000000
};

typedef struct connect_attempt {
    struct connect_race *race;
    int fd; /* -1: not started, or over */
    vigil_watch watch;
} connect_attempt;

typedef struct connect_race {
    vg_op *op;
    vigil_loop *loop;
    vg_io_shared *shared; /* for viewers; NULL: the recorder is off */
    vg_io_member member;
    vigil_timer timer; /* until the next attempt; id 0: none */
    int64_t attempt_ns;
    size_t count, started, running;
    int error; /* of the first address that failed */
    bool bound;
    vigil_address source;
    vigil_stream_options stream_options;
    vigil_address *addresses; /* behind the attempts */
    connect_attempt attempts[];
} connect_race;

static connect_race *race_of(vg_op *op)
{
    return op->above[0];
}

static void attempt_stop(connect_attempt *attempt, bool keep_fd)
{
    if (attempt->fd < 0)
        return;
    (void)vigil_watch_remove(attempt->race->loop, attempt->watch);
    if (!keep_fd)
        (void)close(attempt->fd);
    attempt->fd = -1;
    attempt->race->running--;
}

/* The end of the loop stops the operation by itself. */
static void race_loop_ended(vg_io_member *member)
{
    (void)member;
}

static void race_show(connect_race *race)
{
    int error;
    if (!vg_shown_wanted(race->loop))
        return;
    race->member.ended = race_loop_ended;
    race->shared = vg_io_enter(race->loop, &race->member, &error);
    if (race->shared == NULL)
        return; /* no memory: the connection is made all the same, or says so itself */
    vg_shown_open(race->shared, &race->member, VG_IO_CONNECT, &race->addresses[0], NULL);
    vg_shown_wait(&race->member, VG_IO_WAITS_CONNECT, vigil_loop_now(race->loop));
}

static void race_free(connect_race *race)
{
    if (race->shared != NULL)
        vg_io_leave(race->shared, &race->member);
    free(race);
}

/* The operation is over, whichever way. */
static void race_stop(vg_op *op)
{
    connect_race *race = race_of(op);
    for (size_t i = 0; i < race->started; i++)
        attempt_stop(&race->attempts[i], false);
    if (race->timer.id != 0)
        (void)vigil_timer_cancel(race->loop, race->timer);
    race_free(race);
}

/* ---- the winner -------------------------------------------------------------------------------------------------- */

static void close_untaken(void *arg)
{
    (void)vigil_stream_close(arg);
}

/* Nobody has taken the stream out of the promise, whose last reference may go on any thread. */
static void untaken_stream(void *pointer)
{
    vigil_stream *stream = pointer;
    vigil_loop *loop = stream->shared->loop;
    if (vigil_stream_close(stream) == -EPERM)
        (void)vigil_loop_call(loop, close_untaken, close_untaken, stream);
}

static void race_won(connect_race *race, connect_attempt *attempt)
{
    vigil_stream *stream;
    const int on = 1;
    const int fd = attempt->fd;
    const vigil_address *address = &race->addresses[attempt - race->attempts];
    const bool unix_socket = address->any.sa_family == AF_UNIX;
    attempt_stop(attempt, true);
    if (!unix_socket)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const int error = vg_stream_make(&stream, race->loop, fd, VG_STREAM_SOCKET, &race->stream_options);
    if (error != 0)
        (void)close(fd);
    else
        vg_shown_open(stream->shared, &stream->member, unix_socket ? VG_IO_UNIX : VG_IO_TCP, address, NULL);
    vg_op_finish(race->op, error != 0 ? vigil_value_error(error) : vigil_value_pointer(stream, untaken_stream));
}

/* ---- the attempts ------------------------------------------------------------------------------------------------ */

static void race_next(connect_race *race);

static void attempt_event(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    connect_attempt *attempt = arg;
    connect_race *race = attempt->race;
    int error = 0;
    socklen_t length = sizeof error;
    (void)loop;
    (void)watch;
    if ((events & VIGIL_FD_GONE) != 0)
        error = EBADF;
    else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    if (error == 0) {
        race_won(race, attempt);
        return;
    }
    attempt_stop(attempt, false);
    if (race->error == 0)
        race->error = -error;
    race_next(race);
}

/* 1: connected at once; 0: in progress; negative: failed. */
static int attempt_start(connect_race *race, size_t number)
{
    connect_attempt *attempt = &race->attempts[number];
    const vigil_address *address = &race->addresses[number];
    const int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int rc = 1;
    if ((race->bound && bind(fd, &race->source.any, race->source.length) != 0) ||
        connect(fd, &address->any, address->length) != 0)
        rc = errno == EINPROGRESS || errno == EINTR ? 0 : -errno;
    if (rc >= 0) {
        const int error =
            vigil_watch_add(race->loop, fd, VIGIL_FD_WRITE, 0, attempt_event, NULL, attempt, &attempt->watch);
        if (error != 0)
            rc = error;
    }
    if (rc < 0) {
        (void)close(fd);
        return rc;
    }
    attempt->fd = fd;
    race->running++;
    return rc;
}

static void race_timer(vigil_loop *loop, vigil_timer timer, void *arg)
{
    connect_race *race = arg;
    (void)loop;
    (void)timer;
    race->timer.id = 0;
    race_next(race);
}

/* Start the next attempt that can be started; finish if none is left. */
static void race_next(connect_race *race)
{
    while (race->started < race->count) {
        const size_t number = race->started++;
        const int rc = attempt_start(race, number);
        if (rc < 0) {
            if (race->error == 0)
                race->error = rc;
            continue;
        }
        vg_shown_address(&race->member, &race->addresses[number]);
        /* Connected at once (a Unix socket): the event says so, in the next turn, as for the others. */
        if (race->started < race->count) {
            if (race->timer.id != 0)
                (void)vigil_timer_cancel(race->loop, race->timer);
            race->timer.id = 0;
            (void)vigil_timer_start(race->loop, race->attempt_ns, race_timer, race, &race->timer);
        }
        return;
    }
    if (race->running == 0)
        vg_op_finish(race->op, vigil_value_error(race->error));
}

/* ---- the public call --------------------------------------------------------------------------------------------- */

/* RFC 8305, 4: the families by turns, beginning with that of the first address. */
static void interleave(vigil_address *to, const vigil_address *from, size_t count)
{
    const sa_family_t first = from[0].any.sa_family;
    size_t one = 0;
    size_t other = 0;
    for (size_t i = 0; i < count; i++) {
        while (one < count && from[one].any.sa_family != first)
            one++;
        while (other < count && from[other].any.sa_family == first)
            other++;
        if ((i % 2 == 0 && one < count) || other >= count)
            to[i] = from[one++];
        else
            to[i] = from[other++];
    }
}

static int take_connect_options(vigil_connect_options *ours, const vigil_connect_options *given)
{
    const vigil_connect_options plain = VIGIL_CONNECT_OPTIONS_INIT;
    *ours = plain;
    if (given == NULL)
        return 0;
    const int error = vg_options_take(ours, sizeof *ours, given, given->size, sizeof *ours, "options");
    if (error == 0 && ours->attempt_ns < 0)
        return vg_why(-EINVAL, "options.attempt_ns is negative; 0 is the default of 250 ms");
    return error;
}

static int make_race(connect_race **made, vigil_loop *loop, const vigil_address *addresses, size_t count,
                     const vigil_connect_options *options)
{
    vigil_stream_options stream_options;
    int error = vg_stream_options_take(&stream_options, options->stream);
    if (error != 0)
        return error;
    connect_race *race = calloc(1, sizeof *race + count * (sizeof *race->attempts + sizeof *addresses) + 16);
    if (race == NULL) {
        (void)vg_why(-ENOMEM, "no memory for a connection");
        return -ENOMEM;
    }
    race->loop = loop;
    race->count = count;
    race->attempt_ns = options->attempt_ns != 0 ? options->attempt_ns : NEXT_ATTEMPT_NS;
    race->stream_options = stream_options;
    race->bound = options->source != NULL;
    if (options->source != NULL)
        race->source = *options->source;
    race->addresses = (vigil_address *)(void *)(((uintptr_t)&race->attempts[count] + 15) & ~(uintptr_t)15);
    interleave(race->addresses, addresses, count);
    for (size_t i = 0; i < count; i++) {
        race->attempts[i].race = race;
        race->attempts[i].fd = -1;
    }
    *made = race;
    return 0;
}

int vigil_promise_connect(vigil_loop *loop, const vigil_address *addresses, size_t count,
                          const vigil_connect_options *options, vigil_cancel_token *token, vigil_promise **promise)
{
    vigil_connect_options ours;
    connect_race *race = NULL;
    int error;
    vg_realm *realm = vg_realm_of_owner(loop, &error);
    if (realm == NULL)
        return error;
    if (addresses == NULL || count == 0 || count > MOST_ADDRESSES)
        return vg_why_say(-EINVAL, "%zu addresses; there must be 1 to %d", addresses == NULL ? 0 : count,
                          MOST_ADDRESSES);
    if (promise == NULL)
        return vg_why(-EINVAL, "promise is NULL: there is nowhere to put the result");
    error = take_connect_options(&ours, options);
    if (error == 0)
        error = make_race(&race, loop, addresses, count, &ours);
    if (error != 0)
        return error;
    vg_op *op = vg_op_new(realm, token, __builtin_return_address(0), &error);
    if (op == NULL) {
        race_free(race);
        return error;
    }
    op->above[0] = race;
    op->stop = race_stop;
    race->op = op;
    race_show(race);
    error = vigil_timer_start(loop, 0, race_timer, race, &race->timer); /* the first attempt: not inside this call */
    if (error != 0) {
        vg_op_discard(op);
        return error;
    }
    return vg_op_arm(op, token, ours.timeout_ns, promise);
}
