/* SPDX-License-Identifier: MIT */
/*
 * listener.c - connections that come.
 *
 * The watch is level-triggered: a callback that raises loses nothing. A listener that may not or cannot accept has no
 * watch; it gets one again when a stream of it closes, or after a pause.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "listener.h"

#include "base/options.h"
#include "base/why.h"
#include "loop/guard.h"
#include "shown.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    ACCEPTS_PER_EVENT = 64,
    ACCEPT_PAUSE_NS = 100000000
};

struct vigil_listener {
    vg_io_shared *shared;
    vg_io_member member;
    int fd;
    bool closed;
    bool watched;
    bool unref; /* it does not keep the loop */
    vigil_watch watch;
    vigil_timer pause;  /* id 0: none */
    vigil_post freeing; /* the memory goes in a later turn: the accept loop may be below us */
    vg_list streams;
    unsigned count;
    vigil_listener_options options;
    vigil_stream_options stream_options;
    vigil_address address;
    dev_t device; /* of a Unix socket's file */
    ino_t inode;
};

static void listener_event(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg);

/* ---- watching or not --------------------------------------------------------------------------------------------- */

static void listener_show(const vigil_listener *listener)
{
    if (listener->member.shown == NULL)
        return;
    vg_cell_set(&listener->member.shown->streams, listener->count);
    vg_shown_wait(&listener->member, listener->watched ? VG_IO_WAITS_ACCEPT : VG_IO_WAITS_ROOM,
                  vigil_loop_now(listener->shared->loop));
}

static void listener_unwatch(vigil_listener *listener)
{
    if (listener->watched && !listener->shared->ended)
        (void)vigil_watch_remove(listener->shared->loop, listener->watch);
    listener->watched = false;
    listener_show(listener);
}

static void listener_pause_over(vigil_loop *loop, vigil_timer timer, void *arg);

static void listener_pause(vigil_listener *listener)
{
    listener_unwatch(listener);
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    options.delay_ns = ACCEPT_PAUSE_NS;
    options.flags = listener->unref ? VIGIL_TIMER_UNREF : 0U;
    if (listener->pause.id == 0)
        (void)vigil_timer_start_with(listener->shared->loop, &options, listener_pause_over, listener, &listener->pause);
}

static void listener_resume(vigil_listener *listener)
{
    if (listener->closed || listener->shared->ended || listener->watched ||
        (listener->options.most != 0 && listener->count >= listener->options.most))
        return;
    if (listener->pause.id != 0)
        (void)vigil_timer_cancel(listener->shared->loop, listener->pause);
    listener->pause.id = 0;
    listener->watched =
        vigil_watch_add(listener->shared->loop, listener->fd, VIGIL_FD_READ, listener->unref ? VIGIL_WATCH_UNREF : 0U,
                        listener_event, NULL, listener, &listener->watch) == 0;
    if (!listener->watched)
        listener_pause(listener); /* no memory or no descriptor: look again later */
    else
        listener_show(listener);
}

static void listener_pause_over(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vigil_listener *listener = arg;
    (void)loop;
    (void)timer;
    listener->pause.id = 0;
    listener_resume(listener);
}

void vg_listener_forget(vigil_stream *stream)
{
    vigil_listener *listener = stream->listener;
    stream->listener = NULL;
    vg_list_remove_init(&stream->in_listener);
    listener->count--;
    listener_show(listener);
    listener_resume(listener);
}

/* ---- accepting --------------------------------------------------------------------------------------------------- */

/* The connection was over before it was accepted, or the network has reported an error of its own: the next one. */
static bool accept_goes_on(int error)
{
    return error == EINTR || error == ECONNABORTED || error == EPROTO || error == ENETDOWN || error == ENOPROTOOPT ||
           error == EHOSTDOWN || error == ENONET || error == EHOSTUNREACH || error == EOPNOTSUPP ||
           error == ENETUNREACH || error == EPERM;
}

static void accept_failed(vigil_listener *listener, int error)
{
    listener_pause(listener);
    if (listener->options.on_error != NULL)
        listener->options.on_error(listener, error, listener->options.user);
}

static void listener_event(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    vigil_listener *listener = arg;
    (void)watch;
    (void)events;
    /* The listener may be closed by the user inside on_stream; its memory stays until a later turn. */
    for (int i = 0; i < ACCEPTS_PER_EVENT && !listener->closed; i++) {
        if (listener->options.most != 0 && listener->count >= listener->options.most) {
            listener_unwatch(listener); /* until one of them is closed */
            return;
        }
        vigil_address peer = {.length = sizeof peer.storage};
        const bool shown = vg_shown_wanted(loop);
        const int accepted =
            accept4(fd, shown ? &peer.any : NULL, shown ? &peer.length : NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted < 0) {
            if (accept_goes_on(errno))
                continue;
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                accept_failed(listener, -errno);
            return;
        }
        vigil_stream *stream;
        const int error = vg_stream_make(&stream, loop, accepted, VG_STREAM_SOCKET, &listener->stream_options);
        if (error != 0) {
            (void)close(accepted);
            accept_failed(listener, error);
            return;
        }
        stream->listener = listener;
        vg_list_push_back(&listener->streams, &stream->in_listener);
        listener->count++;
        vg_shown_open(stream->shared, &stream->member,
                      listener->address.any.sa_family == AF_UNIX ? VG_IO_UNIX : VG_IO_TCP, shown ? &peer : NULL, NULL);
        listener_show(listener);
        listener->options.on_stream(listener, stream, listener->options.user);
    }
}

/* ---- making it --------------------------------------------------------------------------------------------------- */

static void listener_loop_ended(vg_io_member *member)
{
    vigil_listener *listener = vg_container_of(member, vigil_listener, member);
    listener->watched = false;
    listener->pause.id = 0;
    if (listener->fd >= 0)
        (void)close(listener->fd);
    listener->fd = -1;
}

static int listener_socket(vigil_listener *listener, vigil_address *address)
{
    const int on = 1;
    const int off = 0;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)&address->storage;
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 && errno == EAFNOSUPPORT && address->any.sa_family == AF_INET6 &&
        IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr)) { /* "*" on a machine without IPv6 */
        const struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = six->sin6_port};
        memcpy(&address->storage, &four, sizeof four);
        address->length = sizeof four;
        fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    }
    if (fd < 0)
        return -errno;
    if (address->any.sa_family != AF_UNIX) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* accepted sockets inherit it */
    }
    if (address->any.sa_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr) ? &off : &on,
                         sizeof on);
    if ((listener->options.reuse_port && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) ||
        bind(fd, &address->any, address->length) != 0) {
        const int error = -errno;
        (void)close(fd);
        return error;
    }
    return fd;
}

/* The file of a Unix socket is ours as long as it is the one that we have made. */
static const char *listener_path(const vigil_listener *listener)
{
    const struct sockaddr_un *name = (const struct sockaddr_un *)(const void *)&listener->address.storage;
    return listener->address.any.sa_family == AF_UNIX && name->sun_path[0] != 0 ? name->sun_path : NULL;
}

static void listener_remove_file(const vigil_listener *listener)
{
    struct stat now;
    const char *path = listener_path(listener);
    if (path != NULL && lstat(path, &now) == 0 && now.st_dev == listener->device && now.st_ino == listener->inode)
        (void)unlink(path);
}

static int listener_listen(vigil_listener *listener, const vigil_address *address)
{
    char words[VIGIL_ADDRESS_TEXT] = "?";
    vigil_address wanted = *address;
    (void)vigil_address_text(address, words, sizeof words);
    const int fd = listener_socket(listener, &wanted);
    if (fd < 0)
        return vg_why_say(fd, "cannot listen at %s: %s", words, strerror(-fd));
    listener->fd = fd;
    listener->address = wanted;
    struct stat file;
    if (listener_path(listener) != NULL && lstat(listener_path(listener), &file) == 0) {
        listener->device = file.st_dev;
        listener->inode = file.st_ino;
    }
    listener->address.length = sizeof listener->address.storage;
    if (listen(fd, listener->options.backlog > 0 ? listener->options.backlog : SOMAXCONN) != 0 ||
        getsockname(fd, &listener->address.any, &listener->address.length) != 0) {
        const int error = -errno;
        listener_remove_file(listener);
        (void)close(fd);
        return vg_why_say(error, "cannot listen at %s: %s", words, strerror(-error));
    }
    return 0;
}

/* A socket of the caller's, who keeps it if this fails. */
static int listener_take(vigil_listener *listener, int fd)
{
    int type = 0;
    socklen_t length = sizeof type;
    listener->address.length = sizeof listener->address.storage;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 ||
        getsockname(fd, &listener->address.any, &listener->address.length) != 0)
        return vg_why_say(-errno, "fd %d: %s", fd, strerror(errno));
    if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
        return vg_why_say(-EOPNOTSUPP, "fd %d is a socket for datagrams; see vigil_datagrams_open_fd", fd);
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        listen(fd, listener->options.backlog > 0 ? listener->options.backlog : SOMAXCONN) != 0)
        return vg_why_say(-errno, "cannot listen on fd %d: %s", fd, strerror(errno));
    listener->fd = fd;
    return 0;
}

static void listener_free(vigil_listener *listener)
{
    vg_io_leave(listener->shared, &listener->member);
    free(listener);
}

static void listener_free_later(vigil_post *post)
{
    listener_free(vg_container_of(post, vigil_listener, freeing));
}

/* At the address; NULL: on the socket fd. */
static int listener_make(vigil_listener **listener, vigil_loop *loop, const vigil_address *address, int fd,
                         const vigil_listener_options *options)
{
    if (listener == NULL || options == NULL)
        return vg_why(-EINVAL, "listener or options is NULL");
    int error = vg_guard_owner(loop);
    if (error == 0)
        error = vg_guard_open(loop);
    if (error != 0)
        return error;
    vigil_listener *it = calloc(1, sizeof *it);
    if (it == NULL)
        return vg_why(-ENOMEM, "no memory for a listener");
    error = vg_options_take(&it->options, sizeof it->options, options, options->size, sizeof it->options, "options");
    if (error == 0 && it->options.on_stream == NULL)
        error = vg_why(-EINVAL, "options.on_stream is NULL: nobody would take the connections");
    if (error == 0)
        error = vg_stream_options_take(&it->stream_options, it->options.stream);
    it->member.ended = listener_loop_ended;
    if (error == 0)
        it->shared = vg_io_enter(loop, &it->member, &error);
    if (error != 0) {
        free(it);
        return error;
    }
    vg_list_init(&it->streams);
    vigil_post_init(&it->freeing, listener_free_later, listener_free_later);
    error = address != NULL ? listener_listen(it, address) : listener_take(it, fd);
    if (error == 0) {
        error = vigil_watch_add(loop, it->fd, VIGIL_FD_READ, 0, listener_event, NULL, it, &it->watch);
        if (error != 0 && address != NULL) {
            listener_remove_file(it);
            (void)close(it->fd);
        }
    }
    if (error != 0) {
        listener_free(it);
        return error;
    }
    it->watched = true;
    vg_shown_open(it->shared, &it->member, VG_IO_LISTENER, &it->address, NULL);
    listener_show(it);
    *listener = it;
    return 0;
}

int vigil_listener_open(vigil_listener **listener, vigil_loop *loop, const vigil_address *address,
                        const vigil_listener_options *options)
{
    return address == NULL ? VG_WHY_NULL("address") : listener_make(listener, loop, address, -1, options);
}

int vigil_listener_open_fd(vigil_listener **listener, vigil_loop *loop, int fd, const vigil_listener_options *options)
{
    return listener_make(listener, loop, NULL, fd, options);
}

int vigil_listener_close(vigil_listener *listener)
{
    if (listener == NULL)
        return 0;
    const bool child = vg_io_forked(listener->shared);
    if (!child && !listener->shared->ended) {
        const int error = vg_guard_owner(listener->shared->loop);
        if (error != 0)
            return error;
        listener_unwatch(listener);
        if (listener->pause.id != 0)
            (void)vigil_timer_cancel(listener->shared->loop, listener->pause);
    }
    if (listener->closed)
        return vg_why(-EINVAL, "the listener was given back");
    listener->closed = true;
    while (!vg_list_empty(&listener->streams)) /* they go on without it */
        vg_list_entry(vg_list_pop_front(&listener->streams), vigil_stream, in_listener)->listener = NULL;
    if (!child)
        listener_remove_file(listener);
    if (listener->fd >= 0)
        (void)close(listener->fd);
    listener->fd = -1;
    if (child || listener->shared->ended || vigil_loop_post_internal(listener->shared->loop, &listener->freeing) != 0)
        listener_free(listener);
    return 0;
}

int vigil_listener_address(const vigil_listener *listener, vigil_address *address)
{
    if (listener == NULL || address == NULL)
        return vg_why(-EINVAL, "listener or address is NULL");
    *address = listener->address;
    return 0;
}

unsigned vigil_listener_streams(const vigil_listener *listener)
{
    return listener != NULL ? listener->count : 0;
}

static int listener_set_unref(vigil_listener *listener, bool unref)
{
    if (listener == NULL)
        return VG_WHY_NULL("listener");
    const int error = vg_io_guard(listener->shared);
    if (error != 0)
        return error;
    if (listener->closed)
        return vg_why(-EINVAL, "the listener was given back");
    vigil_loop *loop = listener->shared->loop;
    listener->unref = unref;
    if (listener->watched)
        (void)(unref ? vigil_watch_unref(loop, listener->watch) : vigil_watch_ref(loop, listener->watch));
    if (listener->pause.id != 0)
        (void)(unref ? vigil_timer_unref(loop, listener->pause) : vigil_timer_ref(loop, listener->pause));
    return 0;
}

int vigil_listener_ref(vigil_listener *listener)
{
    return listener_set_unref(listener, false);
}

int vigil_listener_unref(vigil_listener *listener)
{
    return listener_set_unref(listener, true);
}
