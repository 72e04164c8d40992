/* SPDX-License-Identifier: MIT */
/*
 * pools.c - the idle moment and the end of a pool as promises.
 */
#include "shared.h"

#include "base/why.h"
#include "pool/run.h"

/* Any thread: the pool was idle. */
static void pool_idle_came(vg_idle_watch *watch)
{
    vg_shared *wait = vg_container_of(watch, vg_shared, watch);
    if (vg_sleeper_claim(&wait->sleeper))
        vg_sleeper_end(&wait->sleeper, VG_SLEEP_GIVEN);
    else /* P1 release: our last touch; pairs with P2 */
        atomic_store_explicit(&wait->missed, true, memory_order_release);
}

static int pool_idle_join(vg_shared *wait, bool again)
{
    (void)again;
    wait->watch.idle = pool_idle_came;
    atomic_init(&wait->missed, false);
    vg_idle_watch_add(wait->sleeper.object, &wait->watch); /* the wait may be over when it returns */
    return VG_CHANNEL_WAIT;
}

static void pool_idle_left(vg_shared *wait)
{
    if (vg_idle_watch_remove(wait->sleeper.object, &wait->watch))
        return;
    while (!atomic_load_explicit(&wait->missed, memory_order_acquire)) /* P2: pairs with P1 */
        vg_thread_yield();
}

static int pool_stop_join(vg_shared *wait, bool again)
{
    (void)vigil_pool_shutdown(wait->sleeper.object, 0); /* begins; -ETIMEDOUT: not over yet */
    return pool_idle_join(wait, again);
}

static const vg_shared_kind pool_idle_kind = {.join = pool_idle_join, .left = pool_idle_left};
static const vg_shared_kind pool_stop_kind = {.join = pool_stop_join, .left = pool_idle_left};

static int promise_pool(vigil_loop *loop, vigil_pool *pool, const vg_shared_kind *kind, vigil_cancel_token *token,
                        const void *created, vigil_promise **promise)
{
    const int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (vg_part_of(pool))
        return vg_why(-EDEADLK, "a task of the pool waits for its own end");
    vg_shared with = {.kind = kind, .sleeper = {.kind = VG_SHARE_POOL, .object = pool}};
    return vg_shared_begin(loop, &with, token, created, promise);
}

int vigil_promise_pool_idle(vigil_loop *loop, vigil_pool *pool, vigil_cancel_token *token, vigil_promise **promise)
{
    return promise_pool(loop, pool, &pool_idle_kind, token, __builtin_return_address(0), promise);
}

int vigil_promise_pool_stop(vigil_loop *loop, vigil_pool *pool, vigil_cancel_token *token, vigil_promise **promise)
{
    return promise_pool(loop, pool, &pool_stop_kind, token, __builtin_return_address(0), promise);
}
