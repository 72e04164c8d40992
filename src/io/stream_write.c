/* SPDX-License-Identifier: MIT */
/*
 * stream_write.c - from the user to the system: queued, sent together, told one by one.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "stream_write.h"

#include "base/why.h"
#include "shown.h"
#include "sigpipe.h"
#include "stream_file.h"
#include "stream_filter.h"
#include "stream_pass.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEND_PARTS = 64, /* of one call */
    COPY_ROOM = 2048 /* so that small writes share one piece of memory */
};

/* ---- the queue --------------------------------------------------------------------------------------------------- */

static void write_queue(vigil_stream *stream, vigil_write *write)
{
    write->vg_next = NULL;
    if (stream->last != NULL)
        stream->last->vg_next = write;
    else
        stream->first = write;
    stream->last = write;
}

/* One piece of the usual size is kept per loop, so that a small answer costs no allocation. */
static vg_stream_copy *copy_new(vg_io_shared *shared, size_t length)
{
    vg_stream_copy *copy = shared->spare_copy;
    if (copy != NULL && length <= COPY_ROOM) {
        shared->spare_copy = NULL;
        return copy;
    }
    const size_t room = length > COPY_ROOM ? length : COPY_ROOM;
    copy = malloc(sizeof *copy + room);
    if (copy != NULL)
        copy->room = room;
    return copy;
}

static void copy_drop(vg_io_shared *shared, vg_stream_copy *copy)
{
    if (copy->write.vg_passes)
        vg_pass_drop(copy);
    if (shared->spare_copy == NULL && copy->room == COPY_ROOM)
        shared->spare_copy = copy;
    else
        free(copy);
}

/* The first write is over. */
static void write_settle(vigil_stream *stream, int status)
{
    vigil_write *write = stream->first;
    stream->first = write->vg_next;
    if (stream->first == NULL)
        stream->last = NULL;
    if (write->vg_copied) {
        copy_drop(stream->shared, (vg_stream_copy *)(void *)write);
        return;
    }
    write->vg_status = status;
    write->vg_next = NULL;
    if (stream->sent_last != NULL)
        stream->sent_last->vg_next = write;
    else
        stream->sent_first = write;
    stream->sent_last = write;
}

void vg_stream_drop_writes(vigil_stream *stream, int status)
{
    stream->lost += stream->unsent;
    stream->unsent = 0;
    while (stream->first != NULL)
        write_settle(stream, status);
}

vigil_write *vg_stream_next_sent(vigil_stream *stream)
{
    vigil_write *it = stream->sent_first;
    stream->sent_first = it->vg_next;
    if (stream->sent_first == NULL)
        stream->sent_last = NULL;
    return it;
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static size_t gather_parts(const vigil_stream *stream, struct iovec *parts)
{
    size_t count = 0;
    for (const vigil_write *it = stream->first; it != NULL && count < SEND_PARTS; it = it->vg_next) {
        if ((it->vg_passes || it->vg_piped || it->vg_filed) && it != stream->first)
            break; /* its descriptors go with its own first byte; its bytes are not in memory */
        size_t skip = it->vg_skip;
        for (size_t i = 0; i < it->vg_count && count < SEND_PARTS; i++) {
            const struct iovec *part = &it->vg_parts[i];
            if (part->iov_len == 0)
                continue;
            parts[count].iov_base = (char *)part->iov_base + skip;
            parts[count].iov_len = part->iov_len - skip;
            count++;
            skip = 0;
        }
    }
    return count;
}

/* parts NULL: splice `count` bytes from the pipe. */
static ssize_t write_without_signal(int fd, const struct iovec *parts, size_t count, int from)
{
    vg_sigpipe signal;
    vg_sigpipe_block(&signal);
    const ssize_t sent = parts != NULL ? writev(fd, parts, (int)count)
                                       : splice(from, NULL, fd, NULL, count, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    vg_sigpipe_restore(&signal, sent < 0 && errno == EPIPE);
    return sent;
}

static ssize_t send_message(vigil_stream *stream, struct iovec *parts, size_t count)
{
    struct msghdr message = {.msg_iov = parts};
    message.msg_iovlen = (__typeof__(message.msg_iovlen))count; /* an int in musl */
    return stream->first->vg_passes ? vg_pass_send(stream, &message) : sendmsg(stream->fd, &message, MSG_NOSIGNAL);
}

ssize_t vg_stream_send_parts(vigil_stream *stream, struct iovec *parts, size_t count)
{
    ssize_t sent;
    if (stream->filter != NULL) {
        const int64_t taken = vg_filter_send(stream, parts, count);
        errno = taken < 0 ? (int)-taken : 0;
        return taken < 0 ? -1 : (ssize_t)taken;
    }
    do {
        stream->sends++;
        if ((stream->state & VG_STREAM_SOCKET) == 0)
            sent = write_without_signal(stream->fd, parts, count, -1);
        else if (count == 1 && !stream->first->vg_passes)
            sent = send(stream->fd, parts->iov_base, parts->iov_len, MSG_NOSIGNAL); /* cheaper than sendmsg */
        else
            sent = send_message(stream, parts, count);
    } while (sent < 0 && errno == EINTR);
    return sent;
}

static ssize_t send_from_pipe(vigil_stream *stream, int pipe, size_t length)
{
    ssize_t sent;
    do {
        stream->sends++;
        sent = write_without_signal(stream->fd, NULL, length, pipe);
    } while (sent < 0 && errno == EINTR);
    return sent;
}

static ssize_t send_piped(vigil_stream *stream)
{
    const vg_stream_piped *first = (const vg_stream_piped *)(const void *)stream->first;
    return send_from_pipe(stream, first->pipe, first->write.vg_left);
}

static void count_sent(vigil_stream *stream, size_t sent)
{
    stream->bytes_sent += sent;
    stream->quiet = vigil_loop_now(stream->shared->loop);
    vg_shown_sent(stream->shared, &stream->member, sent, stream->quiet);
}

int vg_stream_send_piped(vigil_stream *stream, int pipe, size_t length, size_t *sent)
{
    *sent = 0;
    if (stream->first != NULL || stream->write_error != 0 || (stream->state & VG_STREAM_BLOCKED) != 0)
        return 0;
    while (*sent < length) {
        const ssize_t taken = send_from_pipe(stream, pipe, length - *sent);
        if (taken > 0) {
            *sent += (size_t)taken;
            count_sent(stream, (size_t)taken);
        } else if (taken < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            stream->state |= VG_STREAM_BLOCKED;
            vg_stream_arm(stream, VIGIL_FD_WRITE);
            return 0;
        } else {
            return taken < 0 ? -errno : 0;
        }
    }
    return 0;
}

/* So many bytes of the write are sent, and some are left. The parts that are sent are not gone through again: any
   number of them costs one walk in all. */
static void write_advance(vigil_write *write, size_t sent)
{
    write->vg_left -= sent;
    if (write->vg_filed) {
        write->vg_offset += (int64_t)sent;
        return;
    }
    write->vg_skip += sent;
    while (write->vg_skip >= write->vg_parts->iov_len) {
        write->vg_skip -= write->vg_parts->iov_len;
        write->vg_parts++;
        write->vg_count--;
    }
}

/* The system has taken so many bytes of the queue. */
static void account_sent(vigil_stream *stream, size_t sent)
{
    stream->unsent -= sent;
    count_sent(stream, sent);
    while (stream->first != NULL && stream->first->vg_left <= sent) {
        sent -= stream->first->vg_left;
        write_settle(stream, 0);
    }
    if (stream->first != NULL)
        write_advance(stream->first, sent);
}

/* What was promised to the peer: its end. With a filter also before the close. */
bool vg_stream_must_finish(const vigil_stream *stream)
{
    const uint32_t ends = VG_STREAM_FINISH | (stream->filter != NULL ? VG_STREAM_CLOSING : 0U);
    const uint32_t never = VG_STREAM_FINISHED | VG_STREAM_CLOSED | VG_STREAM_STARTING | VG_STREAM_ABRUPT;
    return stream->write_error == 0 && (stream->state & never) == 0 && (stream->state & ends) != 0;
}

static void finish_sending(vigil_stream *stream)
{
    int rc = 0;
    if (stream->filter != NULL && stream->filter->calls.finish != NULL)
        rc = vg_filter_finish(stream);
    else
        (void)shutdown(stream->fd, SHUT_WR); /* fails only if the peer has gone, which a read tells */
    if (rc == -EAGAIN)
        return; /* an event brings us here again */
    stream->state |= VG_STREAM_FINISHED;
    if (stream->filter != NULL && !stream->filter->read_wants_write)
        vg_stream_disarm(stream, VIGIL_FD_WRITE);
    if (rc < 0 && (stream->state & VG_STREAM_CLOSING) == 0) /* at the close everything was sent: nothing is lost */
        vg_stream_fail_sending(stream, rc);
}

static void after_flush(vigil_stream *stream)
{
    uint32_t todo = stream->sent_first != NULL ? VG_TODO_SENT : 0;
    if (stream->on_drained != NULL && stream->unsent <= stream->limits->high_water / 4)
        todo |= VG_TODO_DRAINED;
    if (todo != 0)
        vg_stream_want(stream, todo);
    if (stream->first == NULL && vg_stream_must_finish(stream))
        finish_sending(stream);
    vg_stream_keep(stream);
    if (stream->first == NULL && !vg_stream_must_finish(stream) &&
        (stream->state & (VG_STREAM_CLOSING | VG_STREAM_CLOSED)) == VG_STREAM_CLOSING)
        vg_stream_emptied(stream);
}

/* One call of the system for the first writes. Returns the bytes; -1 and errno. */
static ssize_t send_some(vigil_stream *stream)
{
    struct iovec parts[SEND_PARTS];
    if (stream->first->vg_left == 0)
        return 0;
    if (stream->first->vg_piped)
        return send_piped(stream);
    if (stream->first->vg_filed)
        return vg_stream_send_from_file(stream);
    return vg_stream_send_parts(stream, parts, gather_parts(stream, parts));
}

void vg_stream_flush(vigil_stream *stream)
{
    size_t from_files = 0;
    if ((stream->state & VG_STREAM_STARTING) != 0)
        return; /* the filter's start brings us here */
    while (stream->first != NULL && (stream->state & VG_STREAM_BLOCKED) == 0) {
        const bool filed = stream->first->vg_filed;
        if (filed && from_files >= VG_STREAM_FILE_TURN) { /* others have their turn; the event comes at once */
            stream->state |= VG_STREAM_BLOCKED;
            vg_stream_arm(stream, VIGIL_FD_WRITE);
            break;
        }
        const ssize_t sent = send_some(stream);
        if (sent >= 0) {
            from_files += filed ? (size_t)sent : 0;
            account_sent(stream, (size_t)sent);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            stream->state |= VG_STREAM_BLOCKED;
            if (stream->filter == NULL) /* which has said what it waits for */
                vg_stream_arm(stream, VIGIL_FD_WRITE);
        } else {
            vg_stream_fail_sending(stream, -errno);
            return;
        }
    }
    if (stream->first == NULL && (stream->armed & VIGIL_FD_WRITE) != 0 &&
        (stream->filter == NULL || !stream->filter->read_wants_write))
        vg_stream_disarm(stream, VIGIL_FD_WRITE);
    after_flush(stream);
}

/* ---- the public calls -------------------------------------------------------------------------------------------- */

/* Bytes of files and pipes take no memory of ours: only when they might be the cause are they counted apart. */
static bool exceeds_bound(const vigil_stream *stream, size_t length)
{
    const size_t most = stream->limits->most_unsent;
    if (most == 0 || (stream->unsent <= most && length <= most - stream->unsent))
        return false;
    size_t in_memory = 0;
    for (const vigil_write *it = stream->first; it != NULL; it = it->vg_next)
        in_memory += it->vg_piped || it->vg_filed ? 0 : it->vg_left;
    return length > most || in_memory > most - length;
}

int vg_stream_guard_write(vigil_stream *stream, size_t length)
{
    int error = vg_stream_guard(stream);
    if (error != 0)
        return error;
    if (stream->write_error != 0)
        return vg_why_say(stream->write_error, "the connection has failed before: %s", strerror(-stream->write_error));
    if ((stream->state & VG_STREAM_FINISH) != 0)
        return vg_why(-EPIPE, "vigil_stream_finish was called on this stream");
    if (exceeds_bound(stream, length))
        return vg_why_say(-ENOBUFS, "%zu bytes are unsent, and %zu more would exceed options.most_unsent",
                          stream->unsent, length);
    return 0;
}

int vg_stream_accept_write(vigil_stream *stream, vigil_write *write, size_t length)
{
    if (write != NULL)
        write_queue(stream, write);
    stream->unsent += length;
    if (stream->member.shown != NULL)
        vg_cell_set(&stream->member.shown->unsent, stream->unsent);
    if ((stream->state & VG_STREAM_BLOCKED) == 0)
        vg_stream_want(stream, VG_TODO_FLUSH); /* it comes before the loop ends, and looks what keeps the loop */
    return stream->unsent > stream->limits->high_water ? 1 : 0;
}

int vigil_stream_write(vigil_stream *stream, const void *data, size_t length)
{
    const int error = vg_stream_guard_write(stream, length);
    if (error != 0)
        return error;
    if (data == NULL && length != 0)
        return VG_WHY_NULL("data");
    if (length == 0)
        return stream->unsent > stream->limits->high_water ? 1 : 0;
    vg_stream_copy *copy = (vg_stream_copy *)(void *)stream->last;
    if (copy == NULL || !copy->write.vg_copied || copy->write.vg_passes || copy->room - copy->part.iov_len < length) {
        copy = copy_new(stream->shared, length);
        if (copy == NULL)
            return vg_why_say(-ENOMEM, "no memory for a copy of %zu bytes", length);
        copy->part.iov_base = copy->bytes;
        copy->part.iov_len = 0;
        copy->write = (vigil_write){.vg_parts = &copy->part, .vg_count = 1, .vg_copied = true};
        write_queue(stream, &copy->write);
    }
    memcpy(copy->bytes + copy->part.iov_len, data, length);
    copy->part.iov_len += length;
    copy->write.vg_left += length;
    return vg_stream_accept_write(stream, NULL, length);
}

int vigil_stream_submit(vigil_stream *stream, vigil_write *write, const struct iovec *parts, size_t count)
{
    size_t length = 0;
    if (write == NULL || write->done == NULL)
        return vg_why(-EINVAL, "write or write->done is NULL");
    if (parts == NULL || count == 0)
        return vg_why(-EINVAL, "there are no parts; there must be one at least");
    for (size_t i = 0; i < count; i++)
        if (__builtin_add_overflow(length, parts[i].iov_len, &length))
            return vg_why(-EINVAL, "the parts are longer than memory");
    const int error = vg_stream_guard_write(stream, length);
    if (error != 0)
        return error;
    *write = (vigil_write){.done = write->done, .vg_parts = parts, .vg_count = count, .vg_left = length};
    return vg_stream_accept_write(stream, write, length);
}

int vigil_stream_on_drained(vigil_stream *stream, vigil_call_fn fn, void *arg)
{
    const int error = vg_stream_guard(stream);
    if (error != 0)
        return error;
    if (fn != NULL && stream->on_drained != NULL)
        return vg_why(-EBUSY, "somebody waits for this stream to drain already");
    stream->on_drained = fn;
    stream->drained_arg = arg;
    stream->todo &= ~(uint32_t)VG_TODO_DRAINED;
    if (fn != NULL && (stream->unsent <= stream->limits->high_water / 4 || stream->write_error != 0))
        vg_stream_want(stream, VG_TODO_DRAINED);
    vg_stream_keep(stream);
    return 0;
}

int vigil_stream_finish(vigil_stream *stream)
{
    const int error = vg_stream_guard_write(stream, 0);
    if (error != 0)
        return error == -EPIPE && (stream->state & VG_STREAM_FINISH) != 0 ? -EALREADY : error;
    if ((stream->state & VG_STREAM_SOCKET) == 0)
        return vg_why(-EOPNOTSUPP, "only a socket has two sides that end apart; close the stream instead");
    stream->state |= VG_STREAM_FINISH;
    vg_stream_want(stream, VG_TODO_FLUSH);
    return 0;
}
