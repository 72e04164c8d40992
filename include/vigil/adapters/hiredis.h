/* SPDX-License-Identifier: MIT */
/*
 * vigil/adapters/hiredis.h - asynchronous hiredis on a loop.
 *
 *     redisAsyncContext *redis = redisAsyncConnect("127.0.0.1", 6379);
 *     vigil_redis_attach(redis, loop);
 *     redisAsyncCommand(redis, on_reply, arg, "PING");
 *
 * Everything else is hiredis' own interface. Its callbacks run on the loop. They may send commands,
 * disconnect and free the context; they must not leave by vigil_raise, because hiredis does not
 * expect it. A connected context keeps the loop alive until it is disconnected or freed. End it
 * before the loop is destroyed.
 *
 * Timeouts (redisAsyncSetTimeout, connect_timeout) need hiredis 1.0, which has a hook for them.
 *
 * The whole adapter is in this header; link with hiredis.
 */
#ifndef VIGIL_ADAPTERS_HIREDIS_H
#define VIGIL_ADAPTERS_HIREDIS_H

#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdlib.h>

#include <vigil/base.h>
#include <vigil/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What hiredis calls privdata. */
typedef struct vg_redis {
    redisAsyncContext *context; /* NULL: hiredis has ended it */
    vigil_loop *loop;
    vigil_watch watch;
    unsigned wanted; /* VIGIL_FD_* */
    vigil_timer timer;
    bool busy; /* hiredis runs: it may end the context, whose memory goes afterwards */
} vg_redis;

/* hiredis was called. */
static inline void vg_redis_leave(vg_redis *it)
{
    it->busy = false;
    if (it->context == NULL)
        free(it);
}

static inline void vg_redis_event(vigil_loop *loop, vigil_watch watch, int fd, unsigned events,
                                  void *arg)
{
    vg_redis *it = (vg_redis *)arg;
    const unsigned over = VIGIL_FD_ERROR | VIGIL_FD_HANGUP | VIGIL_FD_GONE;
    (void)loop;
    (void)watch;
    (void)fd;
    it->busy = true;
    /* A read finds every error, also when nobody wants to read. */
    if ((events & (VIGIL_FD_READ | over)) != 0)
        redisAsyncHandleRead(it->context);
    if (it->context != NULL && (events & VIGIL_FD_WRITE) != 0)
        redisAsyncHandleWrite(it->context);
    vg_redis_leave(it);
}

static inline void vg_redis_want(vg_redis *it, unsigned wanted)
{
    if (wanted != it->wanted)
        (void)vigil_watch_modify(it->loop, it->watch, wanted); /* a watch that is over has told */
    it->wanted = wanted;
}

static inline void vg_redis_add_read(void *arg)
{
    vg_redis_want((vg_redis *)arg, ((vg_redis *)arg)->wanted | VIGIL_FD_READ);
}

static inline void vg_redis_del_read(void *arg)
{
    vg_redis_want((vg_redis *)arg, ((vg_redis *)arg)->wanted & ~VIGIL_FD_READ);
}

static inline void vg_redis_add_write(void *arg)
{
    vg_redis_want((vg_redis *)arg, ((vg_redis *)arg)->wanted | VIGIL_FD_WRITE);
}

static inline void vg_redis_del_write(void *arg)
{
    vg_redis_want((vg_redis *)arg, ((vg_redis *)arg)->wanted & ~VIGIL_FD_WRITE);
}

static inline void vg_redis_cleanup(void *arg)
{
    vg_redis *it = (vg_redis *)arg;
    (void)vigil_watch_remove(it->loop, it->watch);
    if (it->timer.id != 0)
        (void)vigil_timer_cancel(it->loop, it->timer);
    it->context->ev.data = NULL;
    it->context = NULL;
    if (!it->busy)
        free(it);
}

#if defined(HIREDIS_MAJOR) && HIREDIS_MAJOR >= 1
static inline void vg_redis_late(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vg_redis *it = (vg_redis *)arg;
    (void)loop;
    (void)timer;
    it->timer.id = 0;
    it->busy = true;
    redisAsyncHandleTimeout(it->context);
    vg_redis_leave(it);
}

/* hiredis sets the time anew with each command, and looks itself whether something waits. */
static inline void vg_redis_schedule(void *arg, struct timeval after)
{
    vg_redis *it = (vg_redis *)arg;
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    options.delay_ns = (int64_t)after.tv_sec * 1000000000 + (int64_t)after.tv_usec * 1000;
    options.flags = VIGIL_TIMER_UNREF; /* the watch keeps the loop */
    if (it->timer.id != 0 && vigil_timer_again(it->loop, it->timer, options.delay_ns) == 0)
        return;
    (void)vigil_timer_start_with(it->loop, &options, vg_redis_late, it, &it->timer);
}
#endif

/* Let the context live on the loop, before its first command. It stays the caller's. Owner; does
   not block.
   0; -EINVAL also: the context has failed already, see context->errstr; -EBUSY it is on a loop
   already; -ENOMEM; -EMFILE; -ESHUTDOWN; -ECHILD. */
static inline int vigil_redis_attach(redisAsyncContext *context, vigil_loop *loop)
{
    if (context == NULL || context->err != 0)
        return vigil_why_set(-EINVAL, context == NULL ? "context is NULL" : context->errstr);
    if (context->ev.data != NULL)
        return vigil_why_set(-EBUSY, "context is attached to a loop already");
    vg_redis *it = (vg_redis *)calloc(1, sizeof *it);
    if (it == NULL)
        return vigil_why_set(-ENOMEM, "no memory for a Redis context on the loop");
    it->context = context;
    it->loop = loop;
    const int error =
        vigil_watch_add(loop, context->c.fd, 0, 0, vg_redis_event, NULL, it, &it->watch);
    if (error != 0) {
        free(it);
        return error;
    }
    context->ev.data = it;
    context->ev.addRead = vg_redis_add_read;
    context->ev.delRead = vg_redis_del_read;
    context->ev.addWrite = vg_redis_add_write;
    context->ev.delWrite = vg_redis_del_write;
    context->ev.cleanup = vg_redis_cleanup;
#if defined(HIREDIS_MAJOR) && HIREDIS_MAJOR >= 1
    context->ev.scheduleTimer = vg_redis_schedule;
#endif
    return 0;
}

#ifdef __cplusplus
}
#endif
#endif
