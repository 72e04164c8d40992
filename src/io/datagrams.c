/* SPDX-License-Identifier: MIT */
/*
 * datagrams.c - sockets of datagrams. The watch is level-triggered, and an event makes one call: what it leaves is
 * reported again, and a busy socket gives way. The user is called as the last step (STREAMS.md, C1).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "shared.h"
#include "shown.h"

#include "base/options.h"
#include "base/why.h"
#include "loop/guard.h"
#include "loop/post.h"
#include "promise/op.h"

#include <vigil/datagram.h>

#include <netinet/in.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    RECEIVE_BATCH = 32,
    RECEIVE_FEW = 4, /* the least that one call has room for */
    SEND_BATCH = 64,
    PACKET_LARGEST = 2048,
    PACKETS_UNSENT = 1048576
};

/* What the system has not taken: its bytes are behind it. */
typedef struct vg_unsent {
    struct vg_unsent *next;
    size_t length;
    bool has_peer;
    vigil_address peer;
    unsigned char bytes[];
} vg_unsent;

struct vigil_datagrams {
    vg_io_shared *shared;
    vg_io_member member;
    int fd;
    bool closed, keeps;
    bool unref; /* receiving does not keep the loop */
    unsigned armed;
    unsigned batch; /* how many packets the next call has room for, if they fit into the buffer */
    vigil_watch watch;
    vigil_post freeing; /* the memory goes in a later turn: a callback may be below us */
    size_t largest, most_unsent, unsent;
    vigil_packets_fn on_packets;
    void *arg;
    vg_op *op; /* a promise that receives, or NULL */
    vg_unsent *first, *last;
    bool has_file; /* of a Unix socket */
    dev_t device;
    ino_t inode;
    struct sockaddr_un file;
};

/* What an operation has. */
typedef struct packet_wait {
    vigil_datagrams *datagrams;
    void *buffer;
    size_t room;
    vigil_address *peer;
} packet_wait;

_Static_assert(sizeof(packet_wait) <= sizeof(((vg_op *)0)->above), "a wait fits into its operation");

static packet_wait *packet_wait_of(vg_op *op)
{
    return (packet_wait *)(void *)op->above;
}

/* ---- watching ---------------------------------------------------------------------------------------------------- */

static bool datagrams_receives(const vigil_datagrams *it)
{
    return it->on_packets != NULL || it->op != NULL;
}

static void datagrams_arm(vigil_datagrams *it, unsigned wanted)
{
    if (wanted != it->armed && vigil_watch_modify(it->shared->loop, it->watch, wanted) == 0)
        it->armed = wanted;
}

/* READ stays until an event finds nobody: one promise after the other costs no change. */
static void datagrams_update(vigil_datagrams *it)
{
    if (it->shared->ended || it->closed)
        return;
    const bool receives = datagrams_receives(it);
    datagrams_arm(it,
                  (receives ? VIGIL_FD_READ : it->armed & VIGIL_FD_READ) | (it->first != NULL ? VIGIL_FD_WRITE : 0U));
    const bool keep = (receives && !it->unref) || it->first != NULL;
    if (keep == it->keeps)
        return;
    it->keeps = keep;
    if (!keep)
        vg_loop_unkeep(it->shared->loop);
    else if (vg_loop_keep(it->shared->loop) != 0)
        it->keeps = false;
}

static void datagrams_drop_unsent(vigil_datagrams *it)
{
    while (it->first != NULL) {
        vg_unsent *next = it->first->next;
        free(it->first);
        it->first = next;
    }
    it->last = NULL;
    it->unsent = 0;
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

static void datagrams_fail(vigil_datagrams *it, int error)
{
    vg_op *op = it->op;
    it->op = NULL;
    datagrams_update(it);
    if (op != NULL)
        vg_op_finish(op, vigil_value_error(error));
    else if (it->on_packets != NULL)
        it->on_packets(it, NULL, error, it->arg);
}

static void receive_one(vigil_datagrams *it)
{
    const packet_wait *wait = packet_wait_of(it->op);
    vigil_address from;
    ssize_t got;
    do {
        from.length = sizeof from.storage;
        got = recvfrom(it->fd, wait->buffer, wait->room, 0, &from.any, &from.length);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            datagrams_fail(it, -errno);
        return;
    }
    if (wait->peer != NULL)
        *wait->peer = from;
    vg_op *op = it->op;
    it->op = NULL;
    datagrams_update(it);
    vg_op_finish(op, vigil_value_int(got));
}

/* Room for a packet costs time even if none comes: make less while few come, and all of it when it was used up. */
static void adapt_batch(vigil_datagrams *it, unsigned room, unsigned got)
{
    if (got == room)
        it->batch = RECEIVE_BATCH;
    else if (got <= room / 4 && it->batch > RECEIVE_FEW)
        it->batch /= 2;
}

static void receive_batch(vigil_datagrams *it)
{
    struct mmsghdr messages[RECEIVE_BATCH];
    struct iovec parts[RECEIVE_BATCH];
    vigil_address peers[RECEIVE_BATCH];
    vigil_packet packets[RECEIVE_BATCH];
    unsigned char *buffer = it->shared->buffer;
    const size_t fit = VG_IO_BUFFER / it->largest;
    const unsigned most = fit < it->batch ? (unsigned)fit : it->batch;
    for (unsigned i = 0; i < most; i++) {
        parts[i] = (struct iovec){buffer + i * it->largest, it->largest};
        messages[i].msg_hdr = (struct msghdr){.msg_name = &peers[i].storage,
                                              .msg_namelen = sizeof peers[i].storage,
                                              .msg_iov = &parts[i],
                                              .msg_iovlen = 1};
    }
    int got;
    do
        got = recvmmsg(it->fd, messages, most, MSG_DONTWAIT, NULL);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            datagrams_fail(it, -errno);
        return;
    }
    adapt_batch(it, most, (unsigned)got);
    for (int i = 0; i < got; i++) {
        peers[i].length = messages[i].msg_hdr.msg_namelen;
        packets[i] = (vigil_packet){.data = parts[i].iov_base,
                                    .length = messages[i].msg_len,
                                    .peer = &peers[i],
                                    .cut = (messages[i].msg_hdr.msg_flags & MSG_TRUNC) != 0};
    }
    it->on_packets(it, packets, got, it->arg);
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static void fill_message(struct mmsghdr *message, struct iovec *part, void *data, size_t length,
                         const vigil_address *peer)
{
    *part = (struct iovec){data, length};
    message->msg_hdr = (struct msghdr){.msg_iov = part, .msg_iovlen = 1};
    if (peer != NULL) {
        message->msg_hdr.msg_name = (void *)(uintptr_t)&peer->storage;
        message->msg_hdr.msg_namelen = peer->length;
    }
}

/* How many the system took; a negative errno if none. */
static int send_messages(int fd, struct mmsghdr *messages, unsigned count)
{
    int sent;
    do
        sent = sendmmsg(fd, messages, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

static void send_unsent(vigil_datagrams *it)
{
    struct mmsghdr messages[SEND_BATCH];
    struct iovec parts[SEND_BATCH];
    unsigned count = 0;
    for (vg_unsent *one = it->first; one != NULL && count < SEND_BATCH; one = one->next, count++)
        fill_message(&messages[count], &parts[count], one->bytes, one->length, one->has_peer ? &one->peer : NULL);
    int sent = send_messages(it->fd, messages, count);
    if (sent == -EAGAIN)
        return;
    if (sent < 0)
        sent = 1; /* that one is lost, as on the way */
    while (sent-- > 0) {
        vg_unsent *one = it->first;
        it->first = one->next;
        it->unsent -= one->length;
        free(one);
    }
    if (it->first == NULL)
        it->last = NULL;
    datagrams_update(it);
}

static int keep_unsent(vigil_datagrams *it, const vigil_packet *packet)
{
    if (packet->length > it->most_unsent - it->unsent)
        return vg_why_say(-ENOBUFS, "%zu bytes wait to be sent, and %zu more would exceed options.most_unsent",
                          it->unsent, packet->length);
    vg_unsent *one = malloc(sizeof *one + packet->length);
    if (one == NULL)
        return vg_why(-ENOMEM, "no memory for a datagram that waits");
    one->next = NULL;
    one->length = packet->length;
    one->has_peer = packet->peer != NULL;
    if (one->has_peer)
        one->peer = *packet->peer;
    if (packet->length != 0)
        memcpy(one->bytes, packet->data, packet->length);
    if (it->last != NULL)
        it->last->next = one;
    else
        it->first = one;
    it->last = one;
    it->unsent += packet->length;
    return 0;
}

static void datagrams_event(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    vigil_datagrams *it = arg;
    (void)loop;
    (void)watch;
    (void)fd;
    if ((events & VIGIL_FD_GONE) != 0) {
        it->fd = -1; /* the number may be somebody else's by now */
        datagrams_fail(it, -EBADF);
        return;
    }
    if ((events & VIGIL_FD_WRITE) != 0 && it->first != NULL)
        send_unsent(it);
    if ((events & ~(unsigned)VIGIL_FD_WRITE) == 0)
        return;
    if (it->op != NULL)
        receive_one(it);
    else if (it->on_packets != NULL)
        receive_batch(it);
    else if ((events & VIGIL_FD_ERROR) != 0) { /* it would be reported for as long as nobody takes it */
        int error = 0;
        socklen_t length = sizeof error;
        (void)getsockopt(it->fd, SOL_SOCKET, SO_ERROR, &error, &length);
    } else {
        datagrams_arm(it, it->armed & VIGIL_FD_WRITE);
    }
}

/* ---- making it --------------------------------------------------------------------------------------------------- */

static void datagrams_remove_file(const vigil_datagrams *it)
{
    struct stat now;
    if (it->has_file && lstat(it->file.sun_path, &now) == 0 && now.st_dev == it->device && now.st_ino == it->inode)
        (void)unlink(it->file.sun_path);
}

static void datagrams_loop_ended(vg_io_member *member)
{
    vigil_datagrams *it = vg_container_of(member, vigil_datagrams, member);
    datagrams_drop_unsent(it);
    if (it->fd >= 0)
        (void)close(it->fd);
    it->fd = -1;
}

static void note_file(vigil_datagrams *it, const vigil_address *local)
{
    const struct sockaddr_un *name = (const struct sockaddr_un *)(const void *)&local->storage;
    struct stat file;
    if (local->any.sa_family != AF_UNIX || name->sun_path[0] == 0 || lstat(name->sun_path, &file) != 0)
        return;
    it->has_file = true;
    it->file = *name;
    it->device = file.st_dev;
    it->inode = file.st_ino;
}

static int datagrams_socket(vigil_datagrams *it, const vigil_datagrams_options *options)
{
    const int on = 1;
    const int off = 0;
    const vigil_address *first = options->local != NULL ? options->local : options->remote;
    const int family = first->any.sa_family;
    it->fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (it->fd < 0)
        return -errno;
    if (family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)&first->storage;
        (void)setsockopt(it->fd, IPPROTO_IPV6, IPV6_V6ONLY, IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr) ? &off : &on,
                         sizeof on);
    }
    if ((options->reuse_port && setsockopt(it->fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) ||
        (options->broadcast && setsockopt(it->fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on) != 0))
        return -errno;
    if (options->local != NULL) {
        if (bind(it->fd, &options->local->any, options->local->length) != 0)
            return -errno;
        note_file(it, options->local);
    }
    if (options->remote != NULL && connect(it->fd, &options->remote->any, options->remote->length) != 0)
        return -errno;
    return 0;
}

static int take_datagrams_options(vigil_datagrams_options *ours, const vigil_datagrams_options *given)
{
    if (given == NULL)
        return VG_WHY_NULL("options");
    const int error = vg_options_take(ours, sizeof *ours, given, given->size, sizeof *ours, "options");
    if (error != 0)
        return error;
    if (ours->largest > VG_IO_BUFFER)
        return vg_why_say(-EINVAL, "options.largest is %zu; the most is %d", ours->largest, VG_IO_BUFFER);
    return 0;
}

static void datagrams_free(vigil_datagrams *it)
{
    vg_io_leave(it->shared, &it->member);
    free(it);
}

static void datagrams_free_later(vigil_post *post)
{
    datagrams_free(vg_container_of(post, vigil_datagrams, freeing));
}

static int datagrams_take(vigil_datagrams *it, int fd)
{
    int type = 0;
    socklen_t length = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0)
        return -errno;
    if (type != SOCK_DGRAM)
        return -EOPNOTSUPP;
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return -errno;
    it->fd = fd;
    return 0;
}

/* With a socket of our own; fd not -1: with the caller's, who keeps it if this fails. */
static int datagrams_make(vigil_datagrams **datagrams, vigil_loop *loop, int fd, const vigil_datagrams_options *ours)
{
    int error = 0;
    vigil_datagrams *it = calloc(1, sizeof *it);
    if (it == NULL)
        return vg_why(-ENOMEM, "no memory for a socket");
    it->fd = -1;
    it->member.ended = datagrams_loop_ended;
    it->shared = vg_io_enter(loop, &it->member, &error);
    if (it->shared == NULL) {
        free(it);
        return error;
    }
    it->batch = RECEIVE_BATCH;
    it->largest = ours->largest != 0 ? ours->largest : PACKET_LARGEST;
    it->most_unsent = ours->most_unsent != 0 ? ours->most_unsent : PACKETS_UNSENT;
    vigil_post_init(&it->freeing, datagrams_free_later, datagrams_free_later);
    error = fd < 0 ? datagrams_socket(it, ours) : datagrams_take(it, fd);
    if (error != 0)
        (void)vg_why_say(error, "cannot open the socket: %s", strerror(-error));
    else
        error = vigil_watch_add(loop, it->fd, 0, VIGIL_WATCH_UNREF, datagrams_event, NULL, it, &it->watch);
    if (error != 0) {
        datagrams_remove_file(it);
        if (it->fd >= 0 && fd < 0)
            (void)close(it->fd);
        datagrams_free(it);
        return error;
    }
    if (vg_shown_wanted(loop)) {
        vigil_address own = {.length = sizeof own.storage};
        const bool known = getsockname(it->fd, &own.any, &own.length) == 0;
        vg_shown_open(it->shared, &it->member, VG_IO_DATAGRAMS, known ? &own : NULL, NULL);
    }
    *datagrams = it;
    return 0;
}

static int datagrams_guard_make(vigil_datagrams **datagrams, vigil_loop *loop)
{
    if (datagrams == NULL)
        return VG_WHY_NULL("datagrams");
    const int error = vg_guard_owner(loop);
    return error != 0 ? error : vg_guard_open(loop);
}

int vigil_datagrams_open(vigil_datagrams **datagrams, vigil_loop *loop, const vigil_datagrams_options *options)
{
    vigil_datagrams_options ours;
    int error = datagrams_guard_make(datagrams, loop);
    if (error == 0)
        error = take_datagrams_options(&ours, options);
    if (error == 0 && ours.local == NULL && ours.remote == NULL)
        error = vg_why(-EINVAL, "options.local and options.remote are NULL; one must be set");
    return error != 0 ? error : datagrams_make(datagrams, loop, -1, &ours);
}

int vigil_datagrams_open_fd(vigil_datagrams **datagrams, vigil_loop *loop, int fd,
                            const vigil_datagrams_options *options)
{
    const vigil_datagrams_options plain = VIGIL_DATAGRAMS_OPTIONS_INIT;
    vigil_datagrams_options ours;
    int error = datagrams_guard_make(datagrams, loop);
    if (error == 0)
        error = take_datagrams_options(&ours, options != NULL ? options : &plain);
    if (error == 0 && (ours.local != NULL || ours.remote != NULL || ours.reuse_port || ours.broadcast))
        error = vg_why(-EINVAL, "options.local, remote, reuse_port and broadcast are for a socket that is made here");
    if (error == 0 && fd < 0)
        error = vg_why_say(-EBADF, "fd is %d", fd);
    return error != 0 ? error : datagrams_make(datagrams, loop, fd, &ours);
}

int vigil_datagrams_close(vigil_datagrams *datagrams)
{
    if (datagrams == NULL)
        return 0;
    vg_io_shared *shared = datagrams->shared;
    const bool child = vg_io_forked(shared);
    if (!child && !shared->ended) {
        const int error = vg_guard_owner(shared->loop);
        if (error != 0)
            return error;
    }
    if (datagrams->closed)
        return vg_why(-EINVAL, "the socket was given back");
    datagrams_drop_unsent(datagrams);
    datagrams->on_packets = NULL;
    vg_op *op = datagrams->op;
    datagrams->op = NULL;
    if (!child && !shared->ended) {
        datagrams_update(datagrams);
        (void)vigil_watch_remove(shared->loop, datagrams->watch);
    }
    datagrams->closed = true;
    if (!child)
        datagrams_remove_file(datagrams);
    if (datagrams->fd >= 0)
        (void)close(datagrams->fd);
    datagrams->fd = -1;
    if (op != NULL && !child)
        vg_op_finish(op, vigil_value_error(-ECANCELED));
    if (child || shared->ended || vigil_loop_post_internal(shared->loop, &datagrams->freeing) != 0)
        datagrams_free(datagrams);
    return 0;
}

/* ---- the public calls -------------------------------------------------------------------------------------------- */

static int datagrams_guard(const vigil_datagrams *it)
{
    if (it == NULL)
        return VG_WHY_NULL("datagrams");
    if (it->closed)
        return vg_why(-EINVAL, "the socket was given back");
    return vg_io_guard(it->shared);
}

int vigil_datagrams_on_packets(vigil_datagrams *datagrams, vigil_packets_fn fn, void *arg)
{
    const int error = datagrams_guard(datagrams);
    if (error != 0)
        return error;
    if (datagrams->op != NULL)
        return vg_why(-EBUSY, "a promise waits for a datagram of this socket");
    datagrams->on_packets = fn;
    datagrams->arg = arg;
    datagrams_update(datagrams);
    return 0;
}

/* Copies, from the first that the system did not take. How many were kept. */
static size_t keep_rest(vigil_datagrams *it, const vigil_packet *packets, size_t count, int *error)
{
    size_t kept = 0;
    while (kept < count && (*error = keep_unsent(it, &packets[kept])) == 0)
        kept++;
    datagrams_update(it);
    return kept;
}

int64_t vigil_datagrams_send(vigil_datagrams *datagrams, const vigil_packet *packets, size_t count)
{
    struct mmsghdr messages[SEND_BATCH];
    struct iovec parts[SEND_BATCH];
    size_t done = 0;
    int error = datagrams_guard(datagrams);
    if (error != 0)
        return error;
    if (packets == NULL && count != 0)
        return VG_WHY_NULL("packets");
    while (done < count && error == 0 && datagrams->first == NULL) {
        const size_t left = count - done;
        const unsigned batch = left < SEND_BATCH ? (unsigned)left : SEND_BATCH;
        for (unsigned i = 0; i < batch; i++)
            fill_message(&messages[i], &parts[i], packets[done + i].data, packets[done + i].length,
                         packets[done + i].peer);
        const int sent = send_messages(datagrams->fd, messages, batch);
        if (sent > 0)
            done += (size_t)sent;
        else if (sent == -EAGAIN)
            break;
        else
            error = sent;
    }
    if (done < count && error == 0)
        done += keep_rest(datagrams, packets + done, count - done, &error);
    return done != 0 || error == 0 ? (int64_t)done : error;
}

static void promised_packet_stop(vg_op *op)
{
    vigil_datagrams *datagrams = packet_wait_of(op)->datagrams;
    if (datagrams->op != op)
        return;
    datagrams->op = NULL;
    datagrams_update(datagrams);
}

int vigil_promise_packet(vigil_datagrams *datagrams, void *buffer, size_t room, vigil_address *peer,
                         vigil_cancel_token *token, vigil_promise **promise)
{
    int error = datagrams_guard(datagrams);
    if (error == 0 && (promise == NULL || (buffer == NULL && room != 0)))
        error = vg_why(-EINVAL, "promise or buffer is NULL");
    if (error == 0 && (datagrams->op != NULL || datagrams->on_packets != NULL))
        error = vg_why(-EBUSY, "somebody else receives from this socket; one at a time");
    if (error != 0)
        return error;
    vg_realm *realm = vg_realm_of_owner(datagrams->shared->loop, &error);
    vg_op *op = realm == NULL ? NULL : vg_op_new(realm, token, __builtin_return_address(0), &error);
    if (op == NULL)
        return error;
    *packet_wait_of(op) = (packet_wait){.datagrams = datagrams, .buffer = buffer, .room = room, .peer = peer};
    op->stop = promised_packet_stop;
    datagrams->op = op;
    datagrams_update(datagrams);
    return vg_op_arm(op, token, VIGIL_FOREVER, promise);
}

static int datagrams_set_unref(vigil_datagrams *datagrams, bool unref)
{
    const int error = datagrams_guard(datagrams);
    if (error != 0)
        return error;
    datagrams->unref = unref;
    datagrams_update(datagrams);
    return 0;
}

int vigil_datagrams_ref(vigil_datagrams *datagrams)
{
    return datagrams_set_unref(datagrams, false);
}

int vigil_datagrams_unref(vigil_datagrams *datagrams)
{
    return datagrams_set_unref(datagrams, true);
}

int vigil_datagrams_address(const vigil_datagrams *datagrams, vigil_address *address)
{
    if (datagrams == NULL || address == NULL)
        return vg_why(-EINVAL, "datagrams or address is NULL");
    address->length = sizeof address->storage;
    return getsockname(datagrams->fd, &address->any, &address->length) == 0 ? 0 : -errno;
}

int vigil_datagrams_fd(const vigil_datagrams *datagrams)
{
    if (datagrams == NULL)
        return VG_WHY_NULL("datagrams");
    return datagrams->fd >= 0 ? datagrams->fd : vg_why(-EBADF, "the socket is closed");
}

size_t vigil_datagrams_unsent(const vigil_datagrams *datagrams)
{
    return datagrams != NULL ? datagrams->unsent : 0;
}
