/* SPDX-License-Identifier: MIT */
/* One link: reading, writing, its end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net.h"
#include "turn.h"

#define READS_PER_TURN     8
#define DATAGRAMS_PER_TURN 32

/* ---- the table -------------------------------------------------------------------------------------------------- */

static bool place(vg_net *net, vg_link *link)
{
    unsigned at = net->hint;
    while (at < net->room && net->links[at])
        at++;
    if (at == net->room) {
        unsigned room = net->room ? net->room * 2 : 16;
        vg_link **grown = realloc(net->links, room * sizeof *grown);
        if (!grown)
            return false;
        memset(grown + net->room, 0, (room - net->room) * sizeof *grown);
        net->links = grown;
        net->room = room;
    }
    net->links[at] = link;
    net->hint = at + 1;
    link->id = at;
    return true;
}

static void link_free(vg_link *link)
{
    vg_net *net = link->net;
    net->links[link->id] = NULL;
    if (link->id < net->hint)
        net->hint = link->id;
    free(link->path);
    free(link);
}

vg_link *vg_link_by_id(vg_net *net, double id)
{
    vg_link *link = id >= 0 && id < net->room ? net->links[(unsigned)id] : NULL;
    return link && link->fd >= 0 ? link : NULL;
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

static void tell(vg_link *link, int kind, vg_val value)
{
    vigil_js *js = link->net->js;
    vg_js_dispatch(js, VG_DISPATCH_EVENT, link->net->receive, vg_number(js->engine, 8.0 * link->id + kind), value);
}

static void tell_number(vg_link *link, int kind, double value)
{
    tell(link, kind, vg_number(link->net->js->engine, value));
}

static void free_bytes(void *data, void *arg)
{
    (void)arg;
    free(data);
}

static void give(vg_link *link, size_t length)
{
    vigil_js *js = link->net->js;
    unsigned char *copy = malloc(length);
    vg_val value = NULL;
    if (copy) {
        memcpy(copy, link->net->buffer, length);
        value = vg_bytes(js->engine, copy, length, free_bytes, NULL);
    }
    if (value) {
        tell(link, VG_NET_EVENT_DATA, value);
    } else {
        link->ended = true;
        tell_number(link, VG_NET_EVENT_FAILED, -ENOMEM);
    }
}

/* One datagram for each callback, with its sender. */
static void read_datagrams(vg_link *link)
{
    vigil_js *js = link->net->js;
    link->can_read = false;
    for (int i = 0; i < DATAGRAMS_PER_TURN && link->fd >= 0 && link->reading; i++) {
        struct sockaddr_storage from = {0};
        socklen_t length = sizeof from;
        ssize_t count = recvfrom(link->fd, link->net->buffer, VG_NET_READ, 0, (struct sockaddr *)&from, &length);
        unsigned char *copy;
        vg_val items[4];
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            return;
        copy = count < 0 ? NULL : malloc((size_t)count + 1);
        if (!copy) {
            tell_number(link, VG_NET_EVENT_FAILED, count < 0 ? -errno : -ENOMEM);
            continue;
        }
        memcpy(copy, link->net->buffer, (size_t)count);
        items[0] = vg_bytes(js->engine, copy, (size_t)count, free_bytes, NULL);
        if (items[0] && vg_net_name(js, &from, items + 1))
            tell(link, VG_NET_EVENT_DATA, vg_array(js->engine, 4, items));
    }
}

static void read_some(vg_link *link)
{
    link->can_read = false;
    for (int i = 0; i < READS_PER_TURN && link->fd >= 0 && link->reading && !link->ended; i++) {
        ssize_t count = link->plain ? read(link->fd, link->net->buffer, VG_NET_READ)
                                    : recv(link->fd, link->net->buffer, VG_NET_READ, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            return;
        if (count > 0) {
            give(link, (size_t)count);
            if ((size_t)count < VG_NET_READ)
                return;
            continue;
        }
        link->ended = true;
        if (count == 0 || (link->plain && errno == EIO)) /* EIO: the other side of a terminal has gone */
            tell_number(link, VG_NET_EVENT_ENDED, 0);
        else
            tell_number(link, VG_NET_EVENT_FAILED, -errno);
        return;
    }
}

/* 0, or a negative errno. */
static int flush(vg_link *link)
{
    while (link->out.length > 0) {
        const unsigned char *from = link->out.data + link->out.start;
        ssize_t count = link->plain ? write(link->fd, from, link->out.length)
                                    : send(link->fd, from, link->out.length, MSG_NOSIGNAL);
        if (count >= 0)
            vg_buffer_drop(&link->out, (size_t)count);
        else if (errno == EAGAIN)
            return 0;
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

static void write_some(vg_link *link)
{
    int error = flush(link);
    link->can_write = false;
    if (error < 0)
        vg_buffer_free(&link->out);
    if (link->out.length == 0 && link->tell_sent) {
        link->tell_sent = false;
        tell_number(link, VG_NET_EVENT_SENT, error);
    }
}

static void connected(vg_link *link)
{
    int error = -link->result;
    socklen_t length = sizeof error;
    link->connecting = link->can_write = false;
    if (error == 0 && getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
        error = errno;
    tell_number(link, VG_NET_EVENT_CONNECTED, -error);
}

static void deliver(vigil_js *js, vg_done *done)
{
    vg_link *link = (vg_link *)(void *)((char *)done - offsetof(vg_link, done));
    (void)js;
    /* While this runs JavaScript may close the link; `armed` keeps the memory. */
    if (link->fd >= 0 && link->connecting && link->can_write)
        connected(link);
    if (link->fd >= 0 && link->listening && link->can_read)
        vg_net_accept(link);
    if (link->fd >= 0 && link->can_write && !link->connecting)
        write_some(link);
    if (link->fd >= 0 && link->can_read && link->datagrams)
        read_datagrams(link);
    else if (link->fd >= 0 && link->can_read && !link->listening)
        read_some(link);
    link->armed = false;
    if (link->fd < 0)
        link_free(link);
    else
        vg_link_watch(link);
}

static void dropped(vg_done *done)
{
    vg_link *link = (vg_link *)(void *)((char *)done - offsetof(vg_link, done));
    link->armed = false;
    if (link->fd < 0)
        link_free(link);
}

void vg_link_arm(vg_link *link)
{
    vigil_js *js = link->net->js;
    if (link->armed)
        return;
    link->armed = true;
    link->done.next = NULL;
    *js->ready_end = &link->done;
    js->ready_end = &link->done.next;
    vg_js_sync(js);
}

/* ---- the watch -------------------------------------------------------------------------------------------------- */

static void on_event(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    vg_link *link = arg;
    bool failed = events & (VIGIL_FD_ERROR | VIGIL_FD_GONE | VIGIL_FD_HANGUP);
    (void)loop;
    (void)watch;
    (void)fd;
    /* What has failed is told by the next call on the descriptor. */
    if ((events & VIGIL_FD_READ || failed) && (link->watched & VIGIL_FD_READ))
        link->can_read = true;
    if ((events & VIGIL_FD_WRITE || failed) && (link->watched & VIGIL_FD_WRITE))
        link->can_write = true;
    if (link->can_read || link->can_write)
        vg_link_arm(link);
}

void vg_link_watch(vg_link *link)
{
    vigil_loop *loop = link->net->js->loop;
    unsigned wanted = 0;
    if (link->fd >= 0) {
        if (link->connecting || link->out.length > 0 || (link->datagrams && link->tell_sent))
            wanted |= VIGIL_FD_WRITE;
        if ((link->reading && !link->ended && !link->connecting) || (link->listening && !link->starved))
            wanted |= VIGIL_FD_READ;
    }
    if (wanted == link->watched)
        return;
    if (link->watched && !wanted) {
        vigil_watch_remove(loop, link->watch);
        link->watched = 0;
    } else if (link->watched) {
        if (vigil_watch_modify(loop, link->watch, wanted) == 0)
            link->watched = wanted;
    } else if (vigil_watch_add(loop, link->fd, wanted, link->unref ? VIGIL_WATCH_UNREF : 0, on_event, NULL, link,
                               &link->watch) == 0) {
        link->watched = wanted;
    } else {
        /* No watch can be had, as for a regular file: what is wanted is tried in the next poll phase. */
        link->can_read = wanted & VIGIL_FD_READ;
        link->can_write = wanted & VIGIL_FD_WRITE;
        vg_link_arm(link);
    }
}

int vg_link_unref(vg_link *link, bool unref)
{
    link->unref = unref;
    if (!link->watched)
        return 0;
    return (unref ? vigil_watch_unref : vigil_watch_ref)(link->net->js->loop, link->watch);
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

vg_link *vg_link_new(vg_net *net, int fd)
{
    vg_link *link = calloc(1, sizeof *link);
    if (link && !place(net, link)) {
        free(link);
        link = NULL;
    }
    if (!link) {
        close(fd);
        return NULL;
    }
    link->net = net;
    link->fd = fd;
    link->done.deliver = deliver;
    link->done.drop = dropped;
    return link;
}

double vg_link_write(vg_link *link, const void *bytes, size_t length)
{
    size_t sent = 0;
    if (link->out.length == 0 && !link->connecting) {
        ssize_t count;
        do
            count = link->plain ? write(link->fd, bytes, length) : send(link->fd, bytes, length, MSG_NOSIGNAL);
        while (count < 0 && errno == EINTR);
        if (count < 0 && errno != EAGAIN)
            return -errno;
        sent = count > 0 ? (size_t)count : 0;
    }
    if (sent < length && !vg_buffer_add(&link->out, (const unsigned char *)bytes + sent, length - sent))
        return -ENOMEM;
    if (link->out.length > 0) {
        link->tell_sent = true;
        vg_link_watch(link);
    }
    return (double)link->out.length;
}

void vg_link_close(vg_link *link)
{
    if (link->fd < 0)
        return;
    if (link->watched)
        vigil_watch_remove(link->net->js->loop, link->watch);
    link->watched = 0;
    close(link->fd);
    link->fd = -1;
    vg_buffer_free(&link->out);
    if (link->path)
        unlink(link->path);
    if (!link->armed)
        link_free(link);
}
