/* SPDX-License-Identifier: MIT */
/*
 * realm.c - what a loop has of promises, and its end (LIFE.md; docs/promise.md, E-a).
 */
#include "base/why.h"
#include "realm.h"
#include "op.h"
#include "promise.h"
#include "shared.h"
#include "unhandled.h"

#include "base/options.h"
#include "base/thread.h"
#include "loop/loop.h"

#include <stdlib.h>
#include <string.h>

enum {
    END_ROUNDS = 1000 /* handlers that keep making promises cannot stop the end */
};

static void realm_checkpoint(vg_upstairs *upstairs, vigil_loop *loop)
{
    vg_realm_report(upstairs, loop);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Objects made minus freed by the owner, who also frees what others made. */
static int64_t objects_of_owner(const vg_realm *realm)
{
    return (int64_t)(atomic_load_explicit(&realm->own, memory_order_relaxed) +
                     atomic_load_explicit(&realm->own_created, memory_order_relaxed) -
                     atomic_load_explicit(&realm->own_destroyed, memory_order_relaxed));
}

/* Return what a burst of the owner's promises has left behind. */
static void give_realm_memory_back(vg_realm *realm)
{
    /* relaxed: the number only decides whether to look */
    const int64_t all =
        objects_of_owner(realm) + atomic_load_explicit(&realm->away, memory_order_relaxed) - VG_REALM_OPEN;
    for (int i = 0; i < VG_SLABS; i++)
        vg_slab_rest(&realm->caches[i], all > 0 ? (uint64_t)all : 0);
}

/* What the watchdog reads. A promise that is still the oldest keeps its time: a stamp alone would wrap around. */
static void realm_rest(vg_upstairs *upstairs, vigil_loop *loop)
{
    vg_realm *realm = (vg_realm *)upstairs;
    uint64_t now = atomic_load_explicit(&loop->now, memory_order_relaxed);
    give_realm_memory_back(realm);
    const bool away =
        vg_list_empty(&realm->open) && atomic_load_explicit(&realm->away, memory_order_relaxed) != VG_REALM_OPEN;
    if (away)
        vg_mutex_lock(&realm->away_lock);
    vg_list_link *first = vg_list_first(away ? &realm->away_pending : &realm->open);
    const vigil_promise *oldest = first != NULL ? vg_promise_listed(first) : NULL;
    const uint8_t stamp = oldest != NULL ? oldest->stamp : 0;
    const uintptr_t created = oldest != NULL ? (uintptr_t)oldest->created : 0;
    if (away)
        vg_mutex_unlock(&realm->away_lock);
    if (oldest == realm->oldest && stamp == realm->oldest_stamp)
        return;
    realm->oldest = oldest;
    realm->oldest_stamp = stamp;
    const uint8_t age = (uint8_t)((now >> VG_STAMP_SHIFT) - stamp);
    const uint64_t since = now - ((uint64_t)age << VG_STAMP_SHIFT);
    /* relaxed: the watchdog looks again before it believes */
    atomic_store_explicit(&upstairs->open_created, created, memory_order_relaxed);
    atomic_store_explicit(&upstairs->open_since_ns, oldest != NULL ? since : 0, memory_order_relaxed);
}

/* From here on, others' promises are like the owner's. */
static void take_in_away(vg_realm *realm)
{
    vg_list_splice_back(&realm->pending, &realm->open);
    vg_mutex_lock(&realm->away_lock);
    vg_list_each (link, &realm->away_pending)
        vg_promise_listed(link)->flags &= (uint16_t)~VG_AWAY;
    vg_list_splice_back(&realm->pending, &realm->away_pending);
    vg_mutex_unlock(&realm->away_lock);
}

/* Reject those that wait for nothing else, or have one of the flags. */
static bool reject_pending(vg_realm *realm, uint16_t or_with)
{
    vg_list now;
    bool any = false;
    vg_list_init(&now);
    vg_list_splice_back(&now, &realm->pending);
    while (!vg_list_empty(&now)) {
        vigil_promise *promise = vg_promise_listed(vg_list_first(&now));
        if ((promise->flags & VG_WAITING) != 0 && (promise->flags & or_with) == 0) {
            vg_list_remove(&promise->listed);
            vg_list_push_back(&realm->pending, &promise->listed);
            continue;
        }
        any = true;
        vg_promise_force(promise, -ESHUTDOWN);
    }
    return any;
}

/* The loop is closed: they are not reported any more. */
static void forget_rejected(vg_realm *realm)
{
    while (!vg_list_empty(&realm->rejected)) {
        vigil_promise *promise = vg_promise_listed(vg_list_first(&realm->rejected));
        vg_list_remove(&promise->listed);
        vg_promise_unhold(promise);
    }
}

static bool realm_end(vg_upstairs *upstairs, vigil_loop *loop)
{
    vg_realm *realm = (vg_realm *)upstairs;
    realm->ending = true;
    bool last_round = ++realm->end_rounds >= END_ROUNDS;
    if (last_round)
        atomic_store_explicit(&realm->ended, true, memory_order_relaxed); /* what is there goes, nothing new comes */
    bool any = vg_realm_end_ops(realm);
    take_in_away(realm);
    any = reject_pending(realm, 0) || any;
    if (any || reject_pending(realm, VG_ADOPTS) || reject_pending(realm, VG_WAITING))
        return true;
    vg_mutex_lock(&realm->away_lock);
    bool over = vg_list_empty(&realm->away_pending);
    if (over) /* release: every promise is settled; pairs with the acquire in vg_realm_ended */
        atomic_store_explicit(&realm->ended, true, memory_order_release);
    vg_mutex_unlock(&realm->away_lock);
    if (over && loop->ended)
        forget_rejected(realm);
    return !over;
}

static void realm_destroy(vg_realm *realm)
{
    vigil_loop *loop = realm->loop;
    for (int i = 0; i < VG_SLABS; i++)
        vg_slab_destroy(&realm->slabs[i]);
    free(realm);
    vg_loop_free(loop);
}

/* `change` objects more (or less) than before, seen from another thread. */
static void count_away(vg_realm *realm, int64_t change)
{
    /* acq_rel: each thread's last touch before the end */
    if (atomic_fetch_add_explicit(&realm->away, change, memory_order_acq_rel) + change == 0)
        realm_destroy(realm);
}

static bool realm_gone(vg_upstairs *upstairs, vigil_loop *loop)
{
    vg_realm *realm = (vg_realm *)upstairs;
    (void)loop;
    if (realm->io != NULL)
        realm->io_gone(realm->io);
    realm->io = NULL;
    forget_rejected(realm);
    count_away(realm, objects_of_owner(realm) - VG_REALM_OPEN);
    return true; /* it has been freed just now, or will be */
}

/* A thread that held a lock at the fork is not here. */
static void realm_forked(vg_upstairs *upstairs, vigil_loop *loop)
{
    vg_realm *realm = (vg_realm *)upstairs;
    (void)loop;
    vg_mutex_init(&realm->away_lock);
    for (unsigned i = 0; i < VG_REALM_STRIPES; i++)
        vg_mutex_init(&realm->stripes[i].lock);
    atomic_store_explicit(&realm->waiters, 0, memory_order_relaxed);
    if (realm->fences == VG_FENCE_MEMBARRIER)
        (void)vg_fence_register(); /* belongs to the process; succeeded in the parent */
    vg_realm_fork_ops(realm);
    if (realm->io != NULL)
        realm->io_forked(realm->io);
}

/* ---- making it --------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) vg_realm *realm_make(vigil_loop *loop)
{
    vg_realm *realm = aligned_alloc(64, (sizeof *realm + 63) / 64 * 64);
    if (realm == NULL)
        return NULL;
    memset(realm, 0, sizeof *realm);
    realm->upstairs = (vg_upstairs){.checkpoint = realm_checkpoint,
                                    .end = realm_end,
                                    .gone = realm_gone,
                                    .rest = realm_rest,
                                    .forked = realm_forked};
    realm->loop = loop;
    realm->fences = vg_fence_register() == 0 ? VG_FENCE_MEMBARRIER : VG_FENCE_SYMMETRIC;
    atomic_init(&realm->away, VG_REALM_OPEN);
    vg_list_init(&realm->pending);
    vg_list_init(&realm->open);
    vg_list_init(&realm->away_pending);
    vg_list_init(&realm->rejected);
    vg_list_init(&realm->ops);
    vg_slab_init(&realm->slabs[VG_SLAB_PROMISES], sizeof(vigil_promise));
    vg_slab_init(&realm->slabs[VG_SLAB_OPS], vg_op_size(VG_SLAB_OPS));
    vg_slab_init(&realm->slabs[VG_SLAB_CALLS], vg_op_size(VG_SLAB_CALLS));
    vg_slab_init(&realm->slabs[VG_SLAB_WAITS], vg_op_size(VG_SLAB_WAITS));
    vg_slab_init(&realm->slabs[VG_SLAB_SHARED], vg_shared_size());
    for (int i = 0; i < VG_SLABS; i++) {
        vg_slab_cache_init(&realm->caches[i], &realm->slabs[i]);
        for (unsigned k = 0; k < VG_REALM_STRIPES; k++)
            vg_slab_cache_init(&realm->stripes[k].caches[i], &realm->slabs[i]);
    }
    return realm;
}

static inline vg_realm *realm_find_or_make(vigil_loop *loop, int *error)
{
    /* acquire: what its maker wrote; pairs with the release below */
    vg_upstairs *upstairs = atomic_load_explicit(&loop->upstairs, memory_order_acquire);
    if (__builtin_expect(upstairs == NULL, 0)) {
        vg_realm *realm = realm_make(loop);
        if (realm == NULL) {
            *error = vg_why(-ENOMEM, "no memory for the loop's first promise");
            return NULL;
        }
        /* release: the realm's fields; pairs with the acquires here and in src/loop. acquire on failure: another's
           realm */
        if (atomic_compare_exchange_strong_explicit(&loop->upstairs, &upstairs, &realm->upstairs, memory_order_release,
                                                    memory_order_acquire))
            return realm;
        free(realm);
    }
    if (__builtin_expect(upstairs == &vg_upstairs_none, 0)) {
        *error = vg_why(-ESHUTDOWN, "the loop has ended; make a new one");
        return NULL;
    }
    return (vg_realm *)upstairs;
}

vg_realm *vg_realm_of(vigil_loop *loop, int *error)
{
    *error = vg_guard_any(loop);
    if (*error != 0)
        return NULL;
    vg_realm *realm = realm_find_or_make(loop, error);
    if (realm != NULL && vg_realm_ended(realm)) {
        *error = vg_why(-ESHUTDOWN, "the loop has ended; make a new one");
        return NULL;
    }
    return realm;
}

vg_realm *vg_realm_of_owner(vigil_loop *loop, int *error)
{
    *error = vg_guard_owner(loop);
    if (*error != 0)
        return NULL;
    vg_realm *realm = realm_find_or_make(loop, error);
    if (realm == NULL)
        return NULL;
    *error = vg_realm_guard_owner(realm);
    return *error == 0 ? realm : NULL;
}

int vg_realm_guard_owner_slow(const vg_realm *realm)
{
    vigil_loop *loop = realm->loop;
    int error = vg_guard_owner(loop);
    if (error != 0)
        return error;
    if (loop->ended || vg_realm_ended(realm))
        return vg_why(-ESHUTDOWN, "the loop has ended; make a new one");
    return 0;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

void *vg_realm_alloc_away(vg_realm *realm, int slab)
{
    vg_realm_stripe *stripe = &realm->stripes[vg_thread_number() % VG_REALM_STRIPES];
    vg_mutex_lock(&stripe->lock);
    void *object = vg_slab_alloc(&stripe->caches[slab]);
    vg_mutex_unlock(&stripe->lock);
    if (object != NULL)
        count_away(realm, 1);
    return object;
}

void vg_realm_free_away(vg_realm *realm, int slab, void *object)
{
    vg_realm_stripe *stripe = &realm->stripes[vg_thread_number() % VG_REALM_STRIPES];
    vg_mutex_lock(&stripe->lock);
    vg_slab_free(&stripe->caches[slab], object);
    vg_mutex_unlock(&stripe->lock);
    count_away(realm, -1);
}

/* ---- looking at it ----------------------------------------------------------------------------------------------- */

int vigil_promise_stats_get(vigil_loop *loop, vigil_promise_stats *stats)
{
    int error = vg_guard_any(loop);
    if (error != 0)
        return error;
    if (stats == NULL)
        return vg_why(-EINVAL, "stats is NULL");
    vigil_promise_stats ours = {.size = sizeof ours};
    /* acquire: what its maker wrote; pairs with the release in realm_find_or_make */
    vg_upstairs *upstairs = atomic_load_explicit(&loop->upstairs, memory_order_acquire);
    if (upstairs != NULL && upstairs != &vg_upstairs_none) {
        vg_realm *realm = (vg_realm *)upstairs;
        /* The destroyed first, so that the difference is not negative; relaxed, so it may be off. */
        uint64_t destroyed = atomic_load_explicit(&realm->own_destroyed, memory_order_relaxed) +
                             atomic_load_explicit(&realm->away_destroyed, memory_order_relaxed);
        ours.created = atomic_load_explicit(&realm->own_created, memory_order_relaxed) +
                       atomic_load_explicit(&realm->away_created, memory_order_relaxed);
        ours.alive = ours.created > destroyed ? ours.created - destroyed : 0;
        ours.unhandled = atomic_load_explicit(&realm->unhandled, memory_order_relaxed);
        ours.handled_late = atomic_load_explicit(&realm->handled_late, memory_order_relaxed);
        ours.in_flight = atomic_load_explicit(&realm->in_flight, memory_order_relaxed);
        for (int i = 0; i < VG_SLABS; i++)
            ours.chunks += vg_slab_chunks(&realm->slabs[i]);
    }
    if (vg_options_give(stats, stats->size, &ours, sizeof ours, 2 * sizeof(uint64_t), "stats") != 0)
        return vg_why(-EINVAL, "stats->size must be the size of the struct");
    return 0;
}
