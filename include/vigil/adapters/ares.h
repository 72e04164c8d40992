/* SPDX-License-Identifier: MIT */
/*
 * vigil/adapters/ares.h - a c-ares channel on a loop.
 *
 *     vigil_ares *ares;
 *     vigil_ares_open(&ares, loop, NULL, 0);
 *     ares_getaddrinfo(vigil_ares_channel(ares), "example.org", "80", &hints, on_found, arg);
 *
 * For programs that have c-ares code, and for records that vigil/dns.h does not know; names to
 * addresses are simpler there. Queries are made with c-ares' own calls, on the loop's thread. Their
 * callbacks run on the loop, or inside the call that makes the query, as c-ares has it. They may
 * make queries and cancel them, and close the vigil_ares; they must not leave by vigil_raise. A
 * query keeps the loop alive; with ARES_FLAG_STAYOPEN a channel that has made one does.
 *
 * The whole adapter is in this header; link with c-ares.
 */
#ifndef VIGIL_ADAPTERS_ARES_H
#define VIGIL_ADAPTERS_ARES_H

#include <ares.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>

#include <vigil/base.h>
#include <vigil/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vg_ares_socket {
    struct vigil_ares *ares;
    ares_socket_t fd;
    vigil_watch watch;
    struct vg_ares_socket *next;
} vg_ares_socket;

typedef struct vigil_ares {
    vigil_loop *loop;
    ares_channel channel;
    vigil_hook hook;
    vg_ares_socket *sockets; /* a handful */
    bool busy;               /* c-ares runs */
    bool closed;             /* and then the memory goes */
} vigil_ares;

static inline void vg_ares_free(vigil_ares *ares)
{
    ares_destroy(ares->channel); /* ends the queries, and its sockets one by one */
    (void)vigil_hook_remove(ares->loop, ares->hook);
    free(ares);
}

static inline void vg_ares_process(vigil_ares *ares, ares_socket_t readable, ares_socket_t writable)
{
    ares->busy = true;
    ares_process_fd(ares->channel, readable, writable);
    ares->busy = false;
    if (ares->closed)
        vg_ares_free(ares);
}

static inline void vg_ares_event(vigil_loop *loop, vigil_watch watch, int fd, unsigned events,
                                 void *arg)
{
    const unsigned over = VIGIL_FD_ERROR | VIGIL_FD_HANGUP | VIGIL_FD_GONE;
    (void)loop;
    (void)watch;
    vg_ares_process(((vg_ares_socket *)arg)->ares,
                    (events & (VIGIL_FD_READ | over)) != 0 ? fd : ARES_SOCKET_BAD,
                    (events & VIGIL_FD_WRITE) != 0 ? fd : ARES_SOCKET_BAD);
}

static inline void vg_ares_socket_wanted(void *arg, ares_socket_t fd, int readable, int writable)
{
    vigil_ares *ares = (vigil_ares *)arg;
    const unsigned wanted =
        (readable ? VIGIL_FD_READ : 0U) | (writable ? (unsigned)VIGIL_FD_WRITE : 0U);
    vg_ares_socket **place = &ares->sockets;
    while (*place != NULL && (*place)->fd != fd)
        place = &(*place)->next;
    vg_ares_socket *it = *place;
    if (wanted == 0) {
        if (it != NULL) {
            (void)vigil_watch_remove(ares->loop, it->watch);
            *place = it->next;
            free(it);
        }
    } else if (it != NULL) {
        (void)vigil_watch_modify(ares->loop, it->watch, wanted);
    } else if ((it = (vg_ares_socket *)calloc(1, sizeof *it)) != NULL) {
        it->ares = ares;
        it->fd = fd;
        if (vigil_watch_add(ares->loop, fd, wanted, 0, vg_ares_event, NULL, it, &it->watch) == 0)
            *place = it;
        else
            free(it); /* without it, the query ends by its time limit */
    }
}

/* How long until c-ares wants to look at its time limits. */
static inline int64_t vg_ares_prepare(vigil_loop *loop, void *arg)
{
    struct timeval left;
    (void)loop;
    if (ares_timeout(((vigil_ares *)arg)->channel, NULL, &left) == NULL)
        return VIGIL_FOREVER;
    return (int64_t)left.tv_sec * 1000000000 + (int64_t)left.tv_usec * 1000;
}

static inline void vg_ares_check(vigil_loop *loop, void *arg)
{
    vigil_ares *ares = (vigil_ares *)arg;
    struct timeval left;
    (void)loop;
    if (ares_timeout(ares->channel, NULL, &left) != NULL && left.tv_sec == 0 && left.tv_usec == 0)
        vg_ares_process(ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

/* Make a channel on the loop, with options and optmask as for ares_init_options; sock_state_cb is
   the adapter's. Call ares_library_init before, as c-ares says. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
static inline int vigil_ares_open(vigil_ares **ares, vigil_loop *loop,
                                  const struct ares_options *options, int optmask)
{
    struct ares_options ours;
    vigil_hook_calls calls = VIGIL_HOOK_CALLS_INIT;
    if (ares == NULL || (options == NULL && optmask != 0))
        return vigil_why_set(-EINVAL, "ares is NULL, or options is NULL and optmask is not 0");
    vigil_ares *it = (vigil_ares *)calloc(1, sizeof *it);
    if (it == NULL)
        return vigil_why_set(-ENOMEM, "no memory for a c-ares channel");
    it->loop = loop;
    calls.prepare = vg_ares_prepare;
    calls.check = vg_ares_check;
    int error = vigil_hook_add(loop, &calls, it, &it->hook);
    if (error == 0) {
        if (options != NULL)
            ours = *options;
        ours.sock_state_cb = vg_ares_socket_wanted;
        ours.sock_state_cb_data = it;
        const int code = ares_init_options(&it->channel, &ours, optmask | ARES_OPT_SOCK_STATE_CB);
        if (code != ARES_SUCCESS) {
            error = vigil_why_set(code == ARES_ENOMEM ? -ENOMEM : -EINVAL, ares_strerror(code));
            (void)vigil_hook_remove(loop, it->hook);
        }
    }
    if (error != 0) {
        free(it);
        return error;
    }
    *ares = it;
    return 0;
}

/* The channel, for queries. It stays the adapter's. Owner; does not block. Returns it. */
static inline ares_channel vigil_ares_channel(const vigil_ares *ares)
{
    return ares->channel;
}

/* Give it back. Queries that run end with ARES_EDESTRUCTION, inside this call, or, if it is called
   inside a callback of c-ares, after it. NULL is allowed. Owner; does not block. */
static inline void vigil_ares_close(vigil_ares *ares)
{
    if (ares == NULL || ares->closed)
        return;
    ares->closed = true;
    if (!ares->busy)
        vg_ares_free(ares);
}

#ifdef __cplusplus
}
#endif
#endif
