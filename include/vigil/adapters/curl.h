/* SPDX-License-Identifier: MIT */
/*
 * vigil/adapters/curl.h - libcurl's transfers on a loop, any number at a time.
 *
 *     struct fetch {
 *         vigil_curl_transfer transfer; // first; .easy and .done are yours to set
 *         ...
 *     };
 *     vigil_curl *curl;
 *     vigil_curl_open(&curl, loop);
 *     vigil_curl_start(curl, &fetch->transfer);
 *
 * Easy handles are made and configured with libcurl's own calls, except CURLOPT_PRIVATE, which the
 * adapter takes; what all share (connection limits, HTTP/2) is set on vigil_curl_multi. Time limits
 * are libcurl's own. libcurl's callbacks and `done` run on the loop and must not leave by
 * vigil_raise. Every call is the owner's (vigil/loop.h), and none blocks. Running transfers keep
 * the loop alive; kept connections do not. Close it before the loop is destroyed.
 *
 * The whole adapter is in this header; link with libcurl.
 */
#ifndef VIGIL_ADAPTERS_CURL_H
#define VIGIL_ADAPTERS_CURL_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdlib.h>

#include <vigil/base.h>
#include <vigil/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vigil_curl vigil_curl;
typedef struct vigil_curl_transfer vigil_curl_transfer;

/* One transfer, in your own struct. The vg_ fields are the adapter's. */
struct vigil_curl_transfer {
    CURL *easy; /* stays yours */
    /* The transfer is over; the adapter's last touch of it. It may start others, this one again,
       cancel others, close the vigil_curl, and clean up the easy handle. */
    void (*done)(vigil_curl_transfer *transfer, CURLcode result);
    vigil_curl *vg_curl; /* NULL: it does not run */
    vigil_curl_transfer *vg_next;
    vigil_curl_transfer **vg_link;
};

struct vigil_curl {
    vigil_loop *loop;
    CURLM *multi;
    vigil_timer timer;
    vigil_curl_transfer *running;
    struct vg_curl_socket *sockets;
    int depth;   /* calls of ours that will touch it again */
    bool closed; /* the last of them frees it */
    bool broken; /* a socket could not be watched: libcurl has given up */
};

typedef struct vg_curl_socket {
    vigil_curl *curl;
    curl_socket_t fd;
    vigil_watch watch;
    struct vg_curl_socket *next;
    struct vg_curl_socket **link;
} vg_curl_socket;

static inline void vg_curl_forget(vg_curl_socket *it)
{
    (void)vigil_watch_remove(it->curl->loop, it->watch);
    *it->link = it->next;
    if (it->next != NULL)
        it->next->link = it->link;
    free(it);
}

static inline void vg_curl_unlink(vigil_curl_transfer *transfer)
{
    *transfer->vg_link = transfer->vg_next;
    if (transfer->vg_next != NULL)
        transfer->vg_next->vg_link = transfer->vg_link;
    transfer->vg_curl = NULL;
}

/* ---- what is over ---------------------------------------------------------------------------- */

static inline void vg_curl_end(vigil_curl *curl, vigil_curl_transfer *transfer, CURLcode result)
{
    (void)curl_multi_remove_handle(curl->multi, transfer->easy);
    vg_curl_unlink(transfer);
    transfer->done(transfer, result);
}

/* Tell the transfers that are over; then the memory may go. */
static inline void vg_curl_leave(vigil_curl *curl)
{
    CURLMsg *message;
    int left;
    while (curl->depth == 1 && !curl->closed && !curl->broken &&
           (message = curl_multi_info_read(curl->multi, &left)) != NULL) {
        char *place = NULL;
        const CURLcode result = message->data.result; /* the message goes with the handle */
        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &place);
        vg_curl_end(curl, (vigil_curl_transfer *)(void *)place, result);
    }
    while (curl->depth == 1 && !curl->closed && curl->broken && curl->running != NULL)
        vg_curl_end(curl, curl->running, CURLE_OUT_OF_MEMORY);
    if (--curl->depth == 0 && curl->closed) {
        (void)curl_multi_cleanup(curl->multi);
        while (curl->sockets != NULL) /* of which libcurl has said nothing */
            vg_curl_forget(curl->sockets);
        free(curl);
    }
}

static inline void vg_curl_act(vigil_curl *curl, curl_socket_t fd, int events)
{
    int running;
    curl->depth++;
    (void)curl_multi_socket_action(curl->multi, fd, events, &running);
    vg_curl_leave(curl);
}

/* ---- what libcurl asks for ------------------------------------------------------------------- */

static inline void vg_curl_event(vigil_loop *loop, vigil_watch watch, int fd, unsigned events,
                                 void *arg)
{
    vg_curl_socket *it = (vg_curl_socket *)arg;
    int actions = 0;
    (void)loop;
    (void)watch;
    if ((events & (VIGIL_FD_READ | VIGIL_FD_HANGUP)) != 0)
        actions |= CURL_CSELECT_IN;
    if ((events & VIGIL_FD_WRITE) != 0)
        actions |= CURL_CSELECT_OUT;
    if ((events & (VIGIL_FD_ERROR | VIGIL_FD_GONE)) != 0)
        actions |= CURL_CSELECT_ERR;
    vg_curl_act(it->curl, fd, actions); /* `it` may be gone */
}

static inline int vg_curl_socket_wanted(CURL *easy, curl_socket_t fd, int what, void *arg,
                                        void *place)
{
    vigil_curl *curl = (vigil_curl *)arg;
    vg_curl_socket *it = (vg_curl_socket *)place;
    const unsigned wanted =
        (what == CURL_POLL_IN || what == CURL_POLL_INOUT ? VIGIL_FD_READ : 0U) |
        (what == CURL_POLL_OUT || what == CURL_POLL_INOUT ? VIGIL_FD_WRITE : 0U);
    int error = 0;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (it != NULL)
            vg_curl_forget(it);
        return 0;
    }
    if (it != NULL) {
        error = vigil_watch_modify(curl->loop, it->watch, wanted);
        if (error == -EBADF || error == -ENOENT || error == -ESTALE)
            error = 0; /* closed behind the watch, whose event has told */
    } else {
        it = (vg_curl_socket *)calloc(1, sizeof *it);
        error = it == NULL ? -ENOMEM
                           : vigil_watch_add(curl->loop, fd, wanted, 0, vg_curl_event, NULL, it,
                                             &it->watch);
        if (error != 0) {
            free(it);
        } else {
            it->curl = curl;
            it->fd = fd;
            it->next = curl->sockets;
            it->link = &curl->sockets;
            if (it->next != NULL)
                it->next->link = &it->next;
            curl->sockets = it;
            (void)curl_multi_assign(curl->multi, fd, it);
        }
    }
    if (error != 0)
        curl->broken = true;
    return error == 0 ? 0 : -1;
}

static inline void vg_curl_late(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vigil_curl *curl = (vigil_curl *)arg;
    (void)loop;
    (void)timer;
    curl->timer.id = 0;
    vg_curl_act(curl, CURL_SOCKET_TIMEOUT, 0);
}

static inline int vg_curl_timer_wanted(CURLM *multi, long timeout_ms, void *arg)
{
    vigil_curl *curl = (vigil_curl *)arg;
    (void)multi;
    if (curl->timer.id != 0)
        (void)vigil_timer_cancel(curl->loop, curl->timer);
    curl->timer.id = 0;
    if (timeout_ms < 0 || curl->closed)
        return 0;
    if (vigil_timer_start(curl->loop, (int64_t)timeout_ms * 1000000, vg_curl_late, curl,
                          &curl->timer) == 0)
        return 0;
    curl->broken = true;
    return -1;
}

/* ---- the interface --------------------------------------------------------------------------- */

/* Let libcurl's transfers live on the loop. Call curl_global_init before, as libcurl says. Owner;
   does not block.
   0; -EINVAL; -ENOMEM. */
static inline int vigil_curl_open(vigil_curl **curl, vigil_loop *loop)
{
    if (curl == NULL || loop == NULL)
        return vigil_why_set(-EINVAL, "curl or loop is NULL");
    vigil_curl *it = (vigil_curl *)calloc(1, sizeof *it);
    CURLM *multi = curl_multi_init();
    if (it == NULL || multi == NULL) {
        if (multi != NULL)
            (void)curl_multi_cleanup(multi);
        free(it);
        return vigil_why_set(-ENOMEM, "no memory for a set of transfers");
    }
    it->loop = loop;
    it->multi = multi;
    (void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, vg_curl_socket_wanted);
    (void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, it);
    (void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, vg_curl_timer_wanted);
    (void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, it);
    *curl = it;
    return 0;
}

/* The multi handle, for curl_multi_setopt. It stays the adapter's. Owner; does not block. Returns
   it. */
static inline CURLM *vigil_curl_multi(vigil_curl *curl)
{
    return curl->multi;
}

/* Start a transfer, whose easy and done are set. done is called once, not inside this call. Not
   inside a callback of libcurl itself (read, write, header); `done` is none of those. Owner; does
   not block.
   0; -EINVAL; -EBUSY it runs already; -ENOMEM; -ECONNABORTED a socket could not be watched before:
   close it and open another. */
static inline int vigil_curl_start(vigil_curl *curl, vigil_curl_transfer *transfer)
{
    if (curl == NULL || transfer == NULL || transfer->easy == NULL || transfer->done == NULL)
        return vigil_why_set(-EINVAL, "curl, transfer, its easy or its done is NULL");
    if (transfer->vg_curl != NULL)
        return vigil_why_set(-EBUSY, "the transfer runs already");
    if (curl->broken || curl->closed)
        return vigil_why_set(-ECONNABORTED, "the loop could not watch a socket of libcurl");
    (void)curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, (char *)(void *)transfer);
    const CURLMcode code = curl_multi_add_handle(curl->multi, transfer->easy);
    if (code != CURLM_OK)
        return vigil_why_set(code == CURLM_OUT_OF_MEMORY   ? -ENOMEM
                             : code == CURLM_ADDED_ALREADY ? -EBUSY
                                                           : -EINVAL,
                             curl_multi_strerror(code));
    transfer->vg_curl = curl;
    transfer->vg_next = curl->running;
    transfer->vg_link = &curl->running;
    if (transfer->vg_next != NULL)
        transfer->vg_next->vg_link = &transfer->vg_next;
    curl->running = transfer;
    return 0;
}

/* Take a transfer back; its done is not called. Not inside a callback of libcurl itself: there,
   return an error. Owner; does not block.
   0; -ESTALE it does not run; -EINVAL. */
static inline int vigil_curl_cancel(vigil_curl_transfer *transfer)
{
    if (transfer == NULL)
        return vigil_why_set(-EINVAL, "transfer is NULL");
    if (transfer->vg_curl == NULL)
        return -ESTALE;
    vigil_curl *curl = transfer->vg_curl;
    (void)curl_multi_remove_handle(curl->multi, transfer->easy);
    vg_curl_unlink(transfer);
    return 0;
}

/* Give it back. Transfers that run are dropped: their done is not called. May be called inside
   done. NULL is allowed. Owner; does not block. */
static inline void vigil_curl_close(vigil_curl *curl)
{
    if (curl == NULL || curl->closed)
        return;
    while (curl->running != NULL)
        (void)vigil_curl_cancel(curl->running);
    curl->depth++;
    curl->closed = true;
    if (curl->timer.id != 0)
        (void)vigil_timer_cancel(curl->loop, curl->timer);
    curl->timer.id = 0;
    vg_curl_leave(curl);
}

#ifdef __cplusplus
}
#endif
#endif
