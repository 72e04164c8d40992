/* SPDX-License-Identifier: MIT */
/*
 * vigil/adapters/glib.h - GLib and a loop on one thread, either inside the other.
 *
 *   vigil_glib_source_create  GLib owns the thread (a GTK program): the loop is a GSource of a context
 *   vigil_glib_open           the loop owns the thread: a GMainContext runs inside it
 *
 * Timers, descriptors and idle sources of both sides run, and calls from other threads
 * (vigil_loop_post, g_idle_add, g_main_context_invoke) wake the thread. Callbacks of GLib must not
 * leave by vigil_raise.
 *
 * The whole adapter is in this header; link with glib-2.0.
 */
#ifndef VIGIL_ADAPTERS_GLIB_H
#define VIGIL_ADAPTERS_GLIB_H

#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>

#include <vigil/base.h>
#include <vigil/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the loop inside GLib -------------------------------------------------------------------- */

typedef struct vg_glib_source {
    GSource source; /* first */
    vigil_loop *loop;
    gpointer tag;
} vg_glib_source;

static inline gboolean vg_glib_turn(GSource *source, GSourceFunc callback, gpointer arg)
{
    vigil_loop *loop = ((vg_glib_source *)(void *)source)->loop;
    const int result = vigil_loop_run(loop, VIGIL_RUN_NOWAIT);
    if (callback != NULL && (result == 0 || result == -ESHUTDOWN))
        return callback(arg); /* nothing keeps the loop */
    return result < 0 && result != -EDEADLK ? G_SOURCE_REMOVE : G_SOURCE_CONTINUE;
}

static inline gboolean vg_glib_ready(GSource *source)
{
    return g_source_query_unix_fd(source, ((vg_glib_source *)(void *)source)->tag) != 0;
}

/* Make a source that runs turns of the loop, on the thread of the context that it is attached to:
   g_source_attach(source, context), g_source_unref. The loop stays the caller's; destroy the source
   before the loop. A callback that was set with g_source_set_callback is called after a turn that
   leaves nothing to keep the loop alive, and says whether the source stays. Owner; does not block.
   0; -EINVAL also: the fast path is forced; -ENOMEM; -EMFILE; -EPERM; -ESHUTDOWN; -ECHILD. */
static inline int vigil_glib_source_create(GSource **source, vigil_loop *loop)
{
    static GSourceFuncs calls = {NULL, vg_glib_ready, vg_glib_turn, NULL, NULL, NULL};
    if (source == NULL)
        return vigil_why_set(-EINVAL, "source is NULL");
    const int fd = vigil_loop_fd(loop);
    if (fd < 0)
        return fd;
    vg_glib_source *it = (vg_glib_source *)(void *)g_source_new(&calls, sizeof *it);
    it->loop = loop;
    it->tag = g_source_add_unix_fd(&it->source, fd, G_IO_IN);
    g_source_set_name(&it->source, "vigil");
    *source = &it->source;
    return 0;
}

/* ---- GLib inside the loop -------------------------------------------------------------------- */

/* A descriptor that GLib waits for. */
typedef struct vg_glib_fd {
    gint fd;
    gushort events, seen;
    bool confirmed;
    bool over;    /* no event can come any more */
    bool dropped; /* GLib does not want it any more */
    vigil_watch watch;
    struct vg_glib_fd *next;
} vg_glib_fd;

typedef struct vigil_glib {
    vigil_loop *loop;
    GMainContext *context;
    vigil_hook hook;
    vg_glib_fd *watched; /* in the order of polled */
    GPollFD *polled;
    gint count, room;
    gint priority;
    bool acquired; /* between prepare and check the context is ours */
    bool busy;     /* GLib runs */
    bool closed;   /* and then the memory goes */
    bool ran;      /* callbacks of GLib, which may have closed descriptors */
} vigil_glib;

static inline void vg_glib_event(vigil_loop *loop, vigil_watch watch, int fd, unsigned events,
                                 void *arg)
{
    vg_glib_fd *it = (vg_glib_fd *)arg;
    const unsigned seen = ((events & VIGIL_FD_READ) != 0 ? (unsigned)G_IO_IN : 0U) |
                          ((events & VIGIL_FD_WRITE) != 0 ? (unsigned)G_IO_OUT : 0U) |
                          ((events & VIGIL_FD_PRI) != 0 ? (unsigned)G_IO_PRI : 0U) |
                          ((events & VIGIL_FD_ERROR) != 0 ? (unsigned)G_IO_ERR : 0U) |
                          ((events & VIGIL_FD_HANGUP) != 0 ? (unsigned)G_IO_HUP : 0U) |
                          ((events & VIGIL_FD_GONE) != 0 ? (unsigned)G_IO_NVAL : 0U);
    (void)loop;
    (void)watch;
    (void)fd;
    it->seen = (gushort)(it->seen | seen);
}

static inline void vg_glib_fd_over(void *arg)
{
    vg_glib_fd *it = (vg_glib_fd *)arg;
    it->over = true;
    if (it->dropped)
        g_free(it);
}

static inline unsigned vg_glib_events(gushort events)
{
    return ((events & G_IO_IN) != 0 ? VIGIL_FD_READ : 0U) |
           ((events & G_IO_OUT) != 0 ? (unsigned)VIGIL_FD_WRITE : 0U) |
           ((events & G_IO_PRI) != 0 ? (unsigned)VIGIL_FD_PRI : 0U);
}

static inline vg_glib_fd *vg_glib_watch(vigil_glib *glib, const GPollFD *wanted)
{
    const unsigned events = vg_glib_events(wanted->events);
    vg_glib_fd *it = g_new0(vg_glib_fd, 1);
    it->fd = wanted->fd;
    it->events = wanted->events;
    const int error = vigil_watch_add(glib->loop, it->fd, events, VIGIL_WATCH_UNREF, vg_glib_event,
                                      vg_glib_fd_over, it, &it->watch);
    if (error == -EOPNOTSUPP) /* a regular file: poll(2) calls it ready, always */
        it->seen = (gushort)(wanted->events & (G_IO_IN | G_IO_OUT));
    else if (error != 0)
        it->seen = G_IO_NVAL;
    return it;
}

static inline void vg_glib_unwatch(vigil_glib *glib, vg_glib_fd *it)
{
    it->dropped = true;
    if (it->watch.id == 0 || it->over)
        g_free(it);
    else
        (void)vigil_watch_remove(glib->loop, it->watch);
}

/* GLib may close a descriptor and open another with its number, and poll(2) does not mind. A change
   of the watch finds out whether it is still the same. */
static inline bool vg_glib_is_same(vigil_glib *glib, vg_glib_fd *it)
{
    if (!glib->ran || it->watch.id == 0)
        return it->watch.id != 0;
    it->confirmed = !it->confirmed;
    return vigil_watch_modify(glib->loop, it->watch,
                              vg_glib_events(it->events) | (it->confirmed ? VIGIL_FD_RDHUP : 0U)) ==
           0;
}

/* Watch what GLib asks for: both lists have the same order, so what stays is found at once. */
static inline bool vg_glib_update(vigil_glib *glib)
{
    vg_glib_fd *before = glib->watched;
    vg_glib_fd **end = &glib->watched;
    bool ready = false;
    for (gint i = 0; i < glib->count; i++) {
        vg_glib_fd **place = &before;
        while (*place != NULL &&
               ((*place)->fd != glib->polled[i].fd || (*place)->events != glib->polled[i].events))
            place = &(*place)->next;
        vg_glib_fd *it = *place;
        if (it != NULL) {
            *place = it->next;
            if (!vg_glib_is_same(glib, it)) {
                vg_glib_unwatch(glib, it);
                it = NULL;
            }
        }
        if (it == NULL)
            it = vg_glib_watch(glib, &glib->polled[i]);
        if (it->watch.id == 0) /* it is ready without an event */
            ready = true;
        *end = it;
        end = &it->next;
    }
    *end = NULL;
    while (before != NULL) {
        vg_glib_fd *it = before;
        before = it->next;
        vg_glib_unwatch(glib, it);
    }
    glib->ran = false;
    return ready;
}

static inline void vg_glib_free(vigil_glib *glib)
{
    glib->count = 0;
    (void)vg_glib_update(glib);
    (void)vigil_hook_remove(glib->loop, glib->hook);
    (void)vigil_loop_unref(glib->loop);
    if (glib->acquired)
        g_main_context_release(glib->context);
    g_main_context_unref(glib->context);
    g_free(glib->polled);
    g_free(glib);
}

static inline void vg_glib_leave(vigil_glib *glib)
{
    glib->busy = false;
    if (glib->closed)
        vg_glib_free(glib);
}

static inline int64_t vg_glib_prepare(vigil_loop *loop, void *arg)
{
    vigil_glib *glib = (vigil_glib *)arg;
    gint timeout_ms = -1, count;
    (void)loop;
    if (!glib->acquired && !g_main_context_acquire(glib->context))
        return INT64_C(1000000); /* another thread iterates it, against the rule: look again */
    glib->acquired = true;
    glib->busy = true;
    (void)g_main_context_prepare(glib->context, &glib->priority);
    while ((count = g_main_context_query(glib->context, glib->priority, &timeout_ms, glib->polled,
                                         glib->room)) > glib->room) {
        glib->polled = g_renew(GPollFD, glib->polled, (gsize)count);
        glib->room = count;
    }
    glib->count = count;
    if (vg_glib_update(glib))
        timeout_ms = 0;
    vg_glib_leave(glib); /* a source's own prepare may have closed it */
    return timeout_ms < 0 ? VIGIL_FOREVER : (int64_t)timeout_ms * 1000000;
}

static inline void vg_glib_check(vigil_loop *loop, void *arg)
{
    vigil_glib *glib = (vigil_glib *)arg;
    vg_glib_fd *it = glib->watched;
    (void)loop;
    if (!glib->acquired)
        return;
    for (gint i = 0; i < glib->count && it != NULL; i++, it = it->next) {
        glib->polled[i].revents = it->seen;
        if (it->watch.id != 0)
            it->seen = 0;
    }
    glib->busy = true;
    glib->ran = g_main_context_check(glib->context, glib->priority, glib->polled, glib->count);
    if (glib->ran)
        g_main_context_dispatch(glib->context);
    glib->acquired = false;
    g_main_context_release(glib->context);
    vg_glib_leave(glib);
}

/* Run the context (NULL: the default one) inside the loop, which it keeps alive. No other thread
   may iterate it from here on. Owner; does not block.
   0; -EINVAL; -EPERM; -ENOMEM; -ESHUTDOWN; -ECHILD. */
static inline int vigil_glib_open(vigil_glib **glib, vigil_loop *loop, GMainContext *context)
{
    vigil_hook_calls calls = VIGIL_HOOK_CALLS_INIT;
    if (glib == NULL)
        return vigil_why_set(-EINVAL, "glib is NULL");
    calls.prepare = vg_glib_prepare;
    calls.check = vg_glib_check;
    vigil_glib *it = g_new0(vigil_glib, 1);
    it->loop = loop;
    int error = vigil_loop_ref(loop);
    if (error == 0) {
        error = vigil_hook_add(loop, &calls, it, &it->hook);
        if (error != 0)
            (void)vigil_loop_unref(loop);
    }
    if (error != 0) {
        g_free(it);
        return error;
    }
    it->context = g_main_context_ref(context != NULL ? context : g_main_context_default());
    *glib = it;
    return 0;
}

/* Take the context out again; its sources stay in it. May be called inside their callbacks. NULL is
   allowed. Owner; does not block. */
static inline void vigil_glib_close(vigil_glib *glib)
{
    if (glib == NULL || glib->closed)
        return;
    glib->closed = true;
    if (!glib->busy)
        vg_glib_free(glib);
}

#ifdef __cplusplus
}
#endif
#endif
