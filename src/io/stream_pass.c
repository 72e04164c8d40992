/* SPDX-License-Identifier: MIT */
/*
 * stream_pass.c - descriptors that go through Unix sockets. A write that passes some is sent by itself: the system ties
 * them to the first byte of the call, and ends a read there.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "stream_pass.h"

#include "base/why.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PASSED_MOST = 64,
    SYSTEM_MOST = 253 /* SCM_MAX_FD */
};

/* A ring of those that nobody has taken. */
struct vg_passed {
    unsigned first, count;
    int fds[PASSED_MOST];
};

int vg_pass_begin(vigil_stream *stream)
{
    stream->passed = calloc(1, sizeof *stream->passed);
    return stream->passed != NULL ? 0 : vg_why(-ENOMEM, "no memory for descriptors of the peer");
}

static int pass_next(vg_passed *it)
{
    const int fd = it->fds[it->first];
    it->first = (it->first + 1) % PASSED_MOST;
    it->count--;
    return fd;
}

void vg_pass_free(vigil_stream *stream)
{
    vg_passed *it = stream->passed;
    while (it != NULL && it->count != 0)
        (void)close(pass_next(it));
    free(it);
    stream->passed = NULL;
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

/* False: there were too many. */
static bool keep_passed(vg_passed *it, const struct cmsghdr *control)
{
    const size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    bool fit = true;
    for (size_t i = 0; i < count; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
        if (it->count < PASSED_MOST) {
            it->fds[(it->first + it->count++) % PASSED_MOST] = fd;
        } else {
            (void)close(fd);
            fit = false;
        }
    }
    return fit;
}

static struct cmsghdr *next_control(struct msghdr *message, struct cmsghdr *it)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion" /* inside musl's macro */
    return CMSG_NXTHDR(message, it);
#pragma GCC diagnostic pop
}

ssize_t vg_pass_receive(vigil_stream *stream, void *buffer, size_t room)
{
    _Alignas(struct cmsghdr) unsigned char space[CMSG_SPACE(SYSTEM_MOST * sizeof(int))];
    struct iovec part = {buffer, room};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    const ssize_t got = recvmsg(stream->fd, &message, MSG_CMSG_CLOEXEC);
    bool fit = true;
    if (got < 0)
        return got;
    for (struct cmsghdr *it = CMSG_FIRSTHDR(&message); it != NULL; it = next_control(&message, it))
        if (it->cmsg_level == SOL_SOCKET && it->cmsg_type == SCM_RIGHTS)
            fit = keep_passed(stream->passed, it) && fit;
    if (!fit || (message.msg_flags & MSG_CTRUNC) != 0) { /* some are lost: what follows cannot be understood */
        errno = ENOBUFS;
        return -1;
    }
    return got;
}

int vigil_stream_take_fd(vigil_stream *stream)
{
    if (stream == NULL)
        return VG_WHY_NULL("stream");
    return stream->passed != NULL && stream->passed->count != 0 ? pass_next(stream->passed) : -EAGAIN;
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

void vg_pass_drop(vg_stream_copy *copy)
{
    while (copy->fd_count != 0)
        (void)close(copy->fds[--copy->fd_count]);
}

ssize_t vg_pass_send(vigil_stream *stream, struct msghdr *message)
{
    _Alignas(struct cmsghdr) unsigned char space[CMSG_SPACE(PASSED_MOST * sizeof(int))];
    vg_stream_copy *copy = (vg_stream_copy *)(void *)stream->first;
    if (copy->fd_count != 0) {
        const size_t size = copy->fd_count * sizeof(int);
        memset(space, 0, sizeof space);
        message->msg_control = space;
        message->msg_controllen = (__typeof__(message->msg_controllen))CMSG_SPACE(size); /* a socklen_t in musl */
        struct cmsghdr *control = CMSG_FIRSTHDR(message);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = (__typeof__(control->cmsg_len))CMSG_LEN(size);
        memcpy(CMSG_DATA(control), copy->fds, size);
    }
    const ssize_t sent = sendmsg(stream->fd, message, MSG_NOSIGNAL);
    if (sent > 0)
        vg_pass_drop(copy); /* the peer has them: once is enough */
    return sent;
}

static bool is_unix_socket(int fd)
{
    int domain = 0;
    socklen_t length = sizeof domain;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX;
}

/* Copies, so that the caller may close its own. */
static int copy_fds(vg_stream_copy *copy, const int *fds, size_t count)
{
    for (; copy->fd_count < count; copy->fd_count++) {
        const int fd = fcntl(fds[copy->fd_count], F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            return vg_why_say(-errno, "fd %d: %s", fds[copy->fd_count], strerror(errno));
        copy->fds[copy->fd_count] = fd;
    }
    return 0;
}

int vigil_stream_pass_fds(vigil_stream *stream, const void *data, size_t length, const int *fds, size_t count)
{
    if (data == NULL || length == 0)
        return vg_why(-EINVAL, "data is NULL or empty: descriptors go with a byte");
    if (fds == NULL || count == 0 || count > PASSED_MOST)
        return vg_why_say(-EINVAL, "%zu descriptors in fds; there must be 1 to %d", fds == NULL ? 0 : count,
                          PASSED_MOST);
    int error = vg_stream_guard_write(stream, length);
    if (error != 0)
        return error;
    if (stream->filter != NULL || !is_unix_socket(stream->fd))
        return vg_why(-EOPNOTSUPP, "descriptors go through Unix sockets without a filter");
    const size_t before = (length + sizeof(int) - 1) / sizeof(int) * sizeof(int);
    vg_stream_copy *copy = malloc(sizeof *copy + before + count * sizeof(int));
    if (copy == NULL)
        return vg_why_say(-ENOMEM, "no memory for a copy of %zu bytes", length);
    copy->part = (struct iovec){copy->bytes, length};
    copy->room = length;
    copy->fds = (int *)(void *)(copy->bytes + before);
    copy->fd_count = 0;
    copy->write =
        (vigil_write){.vg_parts = &copy->part, .vg_count = 1, .vg_left = length, .vg_copied = true, .vg_passes = true};
    memcpy(copy->bytes, data, length);
    error = copy_fds(copy, fds, count);
    if (error != 0) {
        vg_pass_drop(copy);
        free(copy);
        return error;
    }
    return vg_stream_accept_write(stream, &copy->write, length);
}

int vigil_stream_credentials(const vigil_stream *stream, vigil_credentials *credentials)
{
    struct ucred found;
    socklen_t length = sizeof found;
    const int fd = vigil_stream_fd(stream);
    if (fd < 0)
        return fd;
    if (credentials == NULL)
        return VG_WHY_NULL("credentials");
    if (!is_unix_socket(fd))
        return vg_why(-EOPNOTSUPP, "only the peer of a Unix socket is known");
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &found, &length) != 0)
        return -errno;
    *credentials = (vigil_credentials){.pid = found.pid, .uid = found.uid, .gid = found.gid};
    return 0;
}
