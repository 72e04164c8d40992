/* SPDX-License-Identifier: MIT */
/*
 * stream_file.c - from a file to the system without a copy of ours, in its place among the writes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "stream_file.h"

#include "base/why.h"
#include "promise/op.h"
#include "sigpipe.h"
#include "stream_write.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FILE_PIECE = 16 * 1024 /* through memory: one record of TLS */
};

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static ssize_t send_directly(vigil_stream *stream, const vigil_write *write, size_t length)
{
    vg_sigpipe signal;
    ssize_t sent;
    vg_sigpipe_block(&signal);
    do {
        off_t offset = (off_t)write->vg_offset;
        stream->sends++;
        sent = sendfile(stream->fd, write->vg_file, &offset, length);
    } while (sent < 0 && errno == EINTR);
    vg_sigpipe_restore(&signal, sent < 0 && errno == EPIPE);
    return sent;
}

/* vg_skip: as many bytes were offered to a filter that has refused them for now. It holds them, and takes no fewer. */
static ssize_t send_through_memory(vigil_stream *stream, vigil_write *write, size_t length)
{
    unsigned char piece[FILE_PIECE];
    ssize_t got;
    do
        got = pread(write->vg_file, piece, length < sizeof piece ? length : sizeof piece, (off_t)write->vg_offset);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -1;
    if (got == 0 || (size_t)got < write->vg_skip)
        return 0; /* the file was cut */
    struct iovec part = {piece, (size_t)got};
    const ssize_t sent = vg_stream_send_parts(stream, &part, 1);
    write->vg_skip = sent < 0 && stream->filter != NULL ? (size_t)got : 0;
    return sent;
}

ssize_t vg_stream_send_from_file(vigil_stream *stream)
{
    vigil_write *write = stream->first;
    const size_t length = write->vg_left < VG_STREAM_FILE_TURN ? write->vg_left : VG_STREAM_FILE_TURN;
    ssize_t sent = -1;
    if (stream->filter != NULL)
        write->vg_slow = true;
    if (!write->vg_slow) {
        sent = send_directly(stream, write, length);
        /* some descriptors and file systems lack it */
        write->vg_slow = sent < 0 && (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP);
    }
    if (write->vg_slow)
        sent = send_through_memory(stream, write, length);
    if (sent == 0) {
        errno = ENODATA;
        return -1;
    }
    return sent;
}

/* ---- the public calls -------------------------------------------------------------------------------------------- */

/* *length: what there is to send. */
static int check_file(int fd, int64_t offset, uint64_t *length)
{
    struct stat what;
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &what) != 0)
        return vg_why_say(-errno, "fd %d: %s", fd, strerror(errno));
    if ((flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH) != 0)
        return vg_why_say(-EBADF, "fd %d is not open for reading", fd);
    if (!S_ISREG(what.st_mode) && !S_ISBLK(what.st_mode))
        return vg_why_say(-EOPNOTSUPP, "fd %d is neither a regular file nor a block device; see vigil_promise_copy",
                          fd);
    if (offset < 0)
        return vg_why_say(-EINVAL, "offset is %lld; it must not be negative", (long long)offset);
    if (*length == 0 && S_ISBLK(what.st_mode))
        return vg_why_say(-EINVAL, "length is 0, and the end of the block device fd %d is not known", fd);
    if (S_ISREG(what.st_mode) && offset > what.st_size)
        return vg_why_say(-ENODATA, "the file has %lld bytes and ends before offset %lld", (long long)what.st_size,
                          (long long)offset);
    if (*length == 0)
        *length = (uint64_t)(what.st_size - offset);
    if (*length > (uint64_t)(INT64_MAX - offset))
        return vg_why_say(-EINVAL, "length %llu is more than any file has", (unsigned long long)*length);
    return 0;
}

int vigil_stream_send_file(vigil_stream *stream, vigil_write *write, int fd, int64_t offset, uint64_t length)
{
    if (write == NULL || write->done == NULL)
        return vg_why(-EINVAL, "write or write->done is NULL");
    int error = vg_stream_guard_write(stream, 0);
    if (error == 0)
        error = check_file(fd, offset, &length);
    if (error == 0 && length > SIZE_MAX - stream->unsent)
        error = vg_why(-EINVAL, "more bytes are unsent than a size_t counts");
    if (error != 0)
        return error;
    *write = (vigil_write){
        .done = write->done, .vg_left = (size_t)length, .vg_filed = true, .vg_file = fd, .vg_offset = offset};
    return vg_stream_accept_write(stream, write, (size_t)length);
}

/* ---- as a promise ------------------------------------------------------------------------------------------------ */

typedef struct file_sending {
    vigil_write write; /* first */
    vigil_stream *stream;
    vg_op *op; /* NULL: it is over, and the write frees this */
    int64_t offset;
    size_t length;
    bool told; /* the write is over */
} file_sending;

static void promised_file_sent(vigil_write *write, int status)
{
    file_sending *it = (file_sending *)(void *)write;
    it->told = true;
    if (it->op == NULL)
        free(it);
    else
        vg_op_finish(it->op, status != 0 ? vigil_value_error(status) : vigil_value_int((int64_t)it->length));
}

typedef enum file_withdrawn {
    WITHDRAWN,
    SENT_SOME, /* or a filter has some */
    SENT_ALL   /* or the sending side has failed: the report is on its way */
} file_withdrawn;

/* Take the write out of the queue if nothing of it was sent. */
static file_withdrawn withdraw_file(file_sending *it)
{
    vigil_stream *stream = it->stream;
    vigil_write **link = &stream->first, *before = NULL;
    for (; *link != NULL && *link != &it->write; link = &(*link)->vg_next)
        before = *link;
    if (*link == NULL)
        return SENT_ALL;
    /* A filter that has refused bytes may hold them all the same. */
    if (it->write.vg_offset != it->offset || (stream->filter != NULL && it->write.vg_slow))
        return SENT_SOME;
    *link = it->write.vg_next;
    if (stream->last == &it->write)
        stream->last = before;
    stream->unsent -= it->write.vg_left;
    stream->state &= ~(uint32_t)VG_STREAM_BLOCKED; /* the next write finds out; else it waits for an event in vain */
    vg_stream_want(stream, VG_TODO_FLUSH);
    return WITHDRAWN;
}

/* The operation is over: the write is, or the token was aborted, or the loop ends. The file is not read any more. */
static void promised_file_stop(vg_op *op)
{
    file_sending *it = op->above[0];
    it->op = NULL;
    if (it->told) {
        free(it);
        return;
    }
    if (it->stream->shared->ended)
        return;
    const int status = op->realm->ending ? -ESHUTDOWN : vigil_cancel_status(op->token);
    const file_withdrawn how = withdraw_file(it);
    if (how == WITHDRAWN)
        free(it);
    else if (how == SENT_SOME)
        vg_stream_fail_sending(it->stream, status != 0 ? status : -ECANCELED);
}

int vigil_promise_send_file(vigil_stream *stream, int fd, int64_t offset, uint64_t length, vigil_cancel_token *token,
                            vigil_promise **promise)
{
    int error = vg_stream_guard(stream);
    if (error == 0 && promise == NULL)
        error = VG_WHY_NULL("promise");
    if (error != 0)
        return error;
    vg_realm *realm = vg_realm_of_owner(stream->shared->loop, &error);
    if (realm == NULL)
        return error;
    file_sending *it = calloc(1, sizeof *it);
    if (it == NULL)
        return vg_why(-ENOMEM, "no memory to send a file");
    vg_op *op = vg_op_new(realm, token, __builtin_return_address(0), &error);
    if (op != NULL) {
        it->write.done = promised_file_sent;
        error = vigil_stream_send_file(stream, &it->write, fd, offset, length);
        if (error < 0)
            vg_op_discard(op);
    }
    if (op == NULL || error < 0) {
        free(it);
        return error;
    }
    it->stream = stream;
    it->op = op;
    it->offset = offset;
    it->length = it->write.vg_left;
    op->above[0] = it;
    op->stop = promised_file_stop;
    return vg_op_arm(op, token, VIGIL_FOREVER, promise);
}
