/* SPDX-License-Identifier: MIT */
/*
 * stream_read.c - from the system to who waits for it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "stream_read.h"

#include "base/why.h"
#include "shown.h"
#include "stream_filter.h"
#include "stream_pass.h"
#include "loop/guard.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one system call --------------------------------------------------------------------------------------------- */

static ssize_t receive_filtered(vigil_stream *stream, void *buffer, size_t room)
{
    const int64_t got = (stream->state & VG_STREAM_STARTING) != 0 ? -EAGAIN : vg_filter_receive(stream, buffer, room);
    if (got >= 0)
        return (ssize_t)got;
    errno = (int)-got;
    return -1;
}

/* Into the buffer, or into the pipe if it is not -1. Bytes; 0: the end; -EAGAIN; an error. */
static int64_t receive_once(vigil_stream *stream, void *buffer, size_t room, int pipe)
{
    ssize_t got;
    if ((stream->state & VG_STREAM_READ_END) != 0)
        return 0;
    if (stream->error != 0)
        return stream->error;
    do {
        stream->reads++;
        if (pipe >= 0)
            got = splice(stream->fd, NULL, pipe, NULL, room, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        else if (stream->filter != NULL)
            got = receive_filtered(stream, buffer, room);
        else if (stream->passed != NULL)
            got = vg_pass_receive(stream, buffer, room);
        else
            got = (stream->state & VG_STREAM_SOCKET) != 0 ? recv(stream->fd, buffer, room, 0)
                                                          : read(stream->fd, buffer, room);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        if (pipe >= 0 && errno == EINVAL)
            return -EINVAL;
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (stream->write_error == 0 || stream->write_error == -EPIPE)
                return -EAGAIN;
            vg_stream_fail(stream, stream->write_error); /* the peer may wait for what could not be sent */
            return stream->error;
        }
        if (errno == EIO && (stream->state & (VG_STREAM_SOCKET | VG_STREAM_HUNG_UP)) == VG_STREAM_HUNG_UP) {
            got = 0; /* a terminal whose other side was closed */
        } else {
            const int error = -errno;
            vg_stream_fail(stream, error);
            return error;
        }
    }
    if (got == 0) {
        stream->state |= VG_STREAM_READ_END;
        return 0;
    }
    stream->bytes_read += (uint64_t)got;
    stream->quiet = vigil_loop_now(stream->shared->loop);
    vg_shown_read(stream->shared, &stream->member, (uint64_t)got, stream->quiet);
    return got;
}

static int64_t stream_receive(vigil_stream *stream, void *buffer, size_t room)
{
    return receive_once(stream, buffer, room, -1);
}

int64_t vg_stream_receive_into_pipe(vigil_stream *stream, int pipe, size_t room)
{
    return receive_once(stream, NULL, room, pipe);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

/* Keep bytes for the next read, in front of those that wait already. */
static int rest_put_back(vigil_stream *stream, const unsigned char *data, size_t length)
{
    if (length == 0)
        return 0;
    const vg_stream_rest *before = stream->rest;
    vg_stream_rest *all = malloc(sizeof *all + length + vg_stream_unread(stream));
    if (all == NULL)
        return -ENOMEM;
    all->at = 0;
    all->length = length + vg_stream_unread(stream);
    memcpy(all->bytes, data, length);
    if (before != NULL)
        memcpy(all->bytes + length, before->bytes + before->at, before->length);
    free(stream->rest);
    stream->rest = all;
    return 0;
}

/* Copy the first `length` bytes out. */
static void rest_take(vigil_stream *stream, void *to, size_t length)
{
    vg_stream_rest *rest = stream->rest;
    memcpy(to, rest->bytes + rest->at, length);
    rest->at += length;
    rest->length -= length;
    if (rest->length == 0) {
        free(rest);
        stream->rest = NULL;
    }
}

/* ---- one read ---------------------------------------------------------------------------------------------------- */

/* How many of the bytes at data the read takes, and whether it is complete then. */
static size_t read_wants(const vigil_read *read, const unsigned char *data, size_t length, bool *complete)
{
    const size_t room = read->vg_room - read->vg_filled;
    size_t taken = length < room ? length : room;
    *complete = !read->vg_exact && read->vg_delimiter < 0;
    if (read->vg_delimiter >= 0) {
        const unsigned char *found = memchr(data, read->vg_delimiter, taken);
        if (found != NULL) {
            taken = (size_t)(found - data) + 1;
            *complete = true;
        }
    }
    if (taken == room)
        *complete = true;
    return taken;
}

/* What a complete read has to say. */
static int64_t read_result(const vigil_read *read)
{
    if (read->vg_delimiter >= 0 && read->vg_filled == read->vg_room &&
        read->vg_buffer[read->vg_filled - 1] != read->vg_delimiter)
        return -EMSGSIZE;
    return (int64_t)read->vg_filled;
}

/* The peer has ended, or the connection has failed, before the read was complete. */
static int64_t read_cut_short(const vigil_read *read, int64_t got)
{
    if (got < 0 || read->vg_filled == 0)
        return got;
    return read->vg_exact ? -ENODATA : (int64_t)read->vg_filled;
}

/* True: *result says how it ended. */
static bool read_from_rest(vigil_stream *stream, vigil_read *read, int64_t *result)
{
    bool complete;
    const vg_stream_rest *rest = stream->rest;
    if (rest == NULL)
        return false;
    const size_t taken = read_wants(read, rest->bytes + rest->at, rest->length, &complete);
    rest_take(stream, read->vg_buffer + read->vg_filled, taken);
    read->vg_filled += taken;
    if (complete)
        *result = read_result(read);
    return complete;
}

/* One call. What it does not find, a later event brings. */
static bool read_from_system(vigil_stream *stream, vigil_read *read, int64_t *result)
{
    unsigned char *place = read->vg_buffer + read->vg_filled;
    const bool direct = read->vg_delimiter < 0; /* all of it is wanted: no copy */
    unsigned char *buffer = direct ? place : stream->shared->buffer;
    const int64_t got = stream_receive(stream, buffer, direct ? read->vg_room - read->vg_filled : VG_IO_BUFFER);
    bool complete;
    if (got == -EAGAIN)
        return false;
    if (got <= 0) {
        *result = read_cut_short(read, got);
        return true;
    }
    const size_t taken = read_wants(read, buffer, (size_t)got, &complete);
    if (!direct) {
        memcpy(place, buffer, taken);
        if (rest_put_back(stream, buffer + taken, (size_t)got - taken) != 0) {
            vg_stream_fail(stream, -ENOMEM); /* bytes are lost: the stream is over */
            *result = -ENOMEM;
            return true;
        }
    }
    read->vg_filled += taken;
    if (complete)
        *result = read_result(read);
    return complete;
}

/* The next event goes on; inside a filter there may be more without one. */
static void reader_waits(vigil_stream *stream)
{
    if (stream->filter == NULL) {
        vg_stream_arm(stream, VIGIL_FD_READ);
    } else if ((stream->state & VG_STREAM_STARTING) == 0) {
        if (!stream->filter->read_wants_write)
            vg_stream_arm(stream, VIGIL_FD_READ);
        if (vg_filter_pending(stream))
            vg_stream_want(stream, VG_TODO_READ);
    }
}

static void read_turn_of_one(vigil_stream *stream)
{
    vigil_read *read = stream->read;
    int64_t result = 1;
    if (read->vg_room != 0 && !read_from_rest(stream, read, &result) && !read_from_system(stream, read, &result)) {
        reader_waits(stream);
        return;
    }
    stream->read = NULL;
    stream->todo &= ~(uint32_t)VG_TODO_READ;
    vg_stream_reader_changed(stream);
    read->done(read, result);
}

/* ---- everything that comes --------------------------------------------------------------------------------------- */

static void read_turn_of_data(vigil_stream *stream)
{
    vigil_data_fn fn = stream->on_data;
    void *arg = stream->data_arg;
    unsigned char *buffer = stream->shared->buffer;
    int64_t got;
    const size_t unread = vg_stream_unread(stream);
    if (unread != 0) { /* at most as much as the buffer holds: what a read has left */
        got = (int64_t)(unread < VG_IO_BUFFER ? unread : VG_IO_BUFFER);
        rest_take(stream, buffer, (size_t)got);
        vg_stream_want(stream, VG_TODO_READ);
    } else {
        got = stream_receive(stream, buffer, VG_IO_BUFFER);
        if (got == -EAGAIN) {
            reader_waits(stream);
            return;
        }
    }
    if (got <= 0) { /* said once */
        stream->on_data = NULL;
        vg_stream_keep(stream);
    } else if (vg_filter_pending(stream) ||
               (stream->state & VG_STREAM_UNWATCHED) != 0) { /* no event says what follows */
        vg_stream_want(stream, VG_TODO_READ);
    }
    fn(stream, got > 0 ? buffer : NULL, got, arg);
}

void vg_stream_read_turn(vigil_stream *stream)
{
    if (stream->read != NULL)
        read_turn_of_one(stream);
    else if (stream->on_data != NULL)
        read_turn_of_data(stream);
}

/* ---- the public calls -------------------------------------------------------------------------------------------- */

/* Somebody waits now. What the system has comes as an event. */
static void reader_came(vigil_stream *stream)
{
    if (stream->rest != NULL || stream->error != 0 || (stream->state & (VG_STREAM_UNWATCHED | VG_STREAM_READ_END)) != 0)
        vg_stream_want(stream, VG_TODO_READ);
    else if (vg_stream_has_reader(stream))
        reader_waits(stream);
    vg_stream_reader_changed(stream);
}

int vigil_stream_on_data(vigil_stream *stream, vigil_data_fn fn, void *arg)
{
    const int error = vg_stream_guard(stream);
    if (error != 0)
        return error;
    if (stream->read != NULL)
        return vg_why(-EBUSY, "a vigil_read waits on this stream");
    stream->on_data = fn;
    stream->data_arg = arg;
    if (fn == NULL)
        stream->todo &= ~(uint32_t)VG_TODO_READ;
    reader_came(stream);
    return 0;
}

static int start_read(vigil_stream *stream, vigil_read *read, void *buffer, size_t room, bool exact, int delimiter)
{
    const int error = vg_stream_guard(stream);
    if (error != 0)
        return error;
    if (read == NULL || read->done == NULL)
        return vg_why(-EINVAL, "read or read->done is NULL");
    if (stream->read != NULL || stream->on_data != NULL)
        return vg_why(-EBUSY, "somebody else reads from this stream; one reader at a time");
    read->vg_buffer = buffer;
    read->vg_room = room;
    read->vg_filled = 0;
    read->vg_exact = exact;
    read->vg_delimiter = delimiter;
    stream->read = read;
    stream->reader = VG_READER_PLAIN; /* the caller knows if it is more */
    reader_came(stream);
    return 0;
}

/* For what there is room for. */
static int start_read_into(vigil_stream *stream, vigil_read *read, void *buffer, size_t room, bool exact, int delimiter)
{
    if (stream != NULL && read != NULL && (buffer == NULL || room == 0))
        return vg_why(-EINVAL, "there is no room to read into");
    return start_read(stream, read, buffer, room, exact, delimiter);
}

/* A read without room reports that it could be made. */
int vigil_stream_readable(vigil_stream *stream, vigil_read *read)
{
    return start_read(stream, read, NULL, 0, false, -1);
}

int vigil_stream_read(vigil_stream *stream, vigil_read *read, void *buffer, size_t room)
{
    return start_read_into(stream, read, buffer, room, false, -1);
}

int vigil_stream_read_exactly(vigil_stream *stream, vigil_read *read, void *buffer, size_t length)
{
    return start_read_into(stream, read, buffer, length, true, -1);
}

int vigil_stream_read_until(vigil_stream *stream, vigil_read *read, void *buffer, size_t room, unsigned char delimiter)
{
    return start_read_into(stream, read, buffer, room, false, delimiter);
}

int vigil_stream_read_cancel(vigil_stream *stream, vigil_read *read)
{
    const int error = vg_stream_guard(stream);
    if (error != 0)
        return error;
    if (read == NULL || stream->read != read)
        return -ESTALE;
    if (rest_put_back(stream, read->vg_buffer, read->vg_filled) != 0)
        return vg_why(-ENOMEM, "no memory to keep what the read has read");
    stream->read = NULL;
    stream->todo &= ~(uint32_t)VG_TODO_READ;
    vg_stream_keep(stream);
    return 0;
}

void vg_stream_take_read_away(vigil_stream *stream)
{
    if (vigil_stream_read_cancel(stream, stream->read) != -ENOMEM)
        return;
    stream->read = NULL;
    vg_stream_fail(stream, -ENOMEM); /* what was read cannot be kept */
}

int64_t vigil_stream_try_read(vigil_stream *stream, void *buffer, size_t room)
{
    const int error = vg_stream_guard(stream);
    if (error != 0)
        return error;
    if (buffer == NULL || room == 0)
        return vg_why(-EINVAL, "there is no room to read into");
    if (stream->read != NULL)
        return vg_why(-EBUSY, "a vigil_read waits on this stream");
    const size_t unread = vg_stream_unread(stream);
    if (unread == 0)
        return stream_receive(stream, buffer, room);
    const size_t taken = unread < room ? unread : room;
    rest_take(stream, buffer, taken);
    return (int64_t)taken;
}
