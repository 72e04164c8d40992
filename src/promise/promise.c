/* SPDX-License-Identifier: MIT */
/*
 * promise.c - one promise: made, settled once, freed. LIFE.md has the rules, resolve.c the public calls.
 */
#include "promise.h"
#include "adopt.h"
#include "calls.h"
#include "unhandled.h"
#include "value.h"

#include "base/futex.h"
#include "base/thread.h"

#ifndef NDEBUG
#if defined(__has_include)
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define VG_HAVE_BACKTRACE 1
#endif
#endif
#endif

static void bury_promise(vigil_post *post);

/* ---- made -------------------------------------------------------------------------------------------------------- */

static void remember_where(vigil_promise *promise, const void *created)
{
    promise->created = created;
#ifndef NDEBUG
    promise->trace_count = 0;
#ifdef VG_HAVE_BACKTRACE
    if (atomic_load_explicit(&promise->realm->traced, memory_order_relaxed)) /* it takes microseconds */
        promise->trace_count = (uint8_t)backtrace(promise->trace, VG_TRACE);
#endif
#endif
}

/* False: the loop has ended. */
static bool list_pending_away(vg_realm *realm, vigil_promise *promise)
{
    vg_mutex_lock(&realm->away_lock);
    bool open = !atomic_load_explicit(&realm->ended, memory_order_relaxed); /* written under the lock */
    if (open) {
        promise->flags |= VG_AWAY;
        vg_list_push_back(&realm->away_pending, &promise->listed);
    }
    vg_mutex_unlock(&realm->away_lock);
    return open;
}

static inline void promise_init(vigil_promise *promise, vg_realm *realm, uint8_t kind, uint32_t users, uint32_t held,
                                const void *created)
{
    vigil_post_init(&promise->link.post, NULL, NULL);
    promise->link.source = NULL;
    atomic_init(&promise->refs, users * VG_USER + VG_SHARE);
    atomic_init(&promise->state, VIGIL_PENDING);
    promise->realm = realm;
    promise->last = NULL;
    promise->held = held;
    promise->kind = kind;
    promise->stamp = (uint8_t)(atomic_load_explicit(&realm->loop->now, memory_order_relaxed) >> VG_STAMP_SHIFT);
    promise->flags = VG_LISTED;
    remember_where(promise, created);
}

static __attribute__((noinline)) vigil_promise *new_promise_away(vg_realm *realm, uint8_t kind, uint32_t users,
                                                                 uint32_t held, const void *created)
{
    vigil_promise *promise = vg_realm_alloc_away(realm, VG_SLAB_PROMISES);
    if (promise == NULL)
        return NULL;
    promise_init(promise, realm, kind, users, held, created);
    (void)atomic_fetch_add_explicit(&realm->away_created, 1, memory_order_relaxed);
    if (list_pending_away(realm, promise))
        return promise;
    (void)atomic_fetch_add_explicit(&realm->away_destroyed, 1, memory_order_relaxed);
    vg_realm_free_away(realm, VG_SLAB_PROMISES, promise);
    return NULL;
}

vigil_promise *vg_promise_new(vg_realm *realm, uint8_t kind, uint32_t users, uint32_t held, const void *created)
{
    if (__builtin_expect(!vg_on_owner(realm), 0))
        return new_promise_away(realm, kind, users, held, created);
    vigil_promise *promise = vg_slab_alloc(&realm->caches[VG_SLAB_PROMISES]);
    if (__builtin_expect(promise == NULL, 0))
        return NULL;
    promise_init(promise, realm, kind, users, held, created);
    vg_tally(&realm->own_created, 1);
    vg_list_push_back(kind == VG_KIND_DERIVED ? &realm->pending : &realm->open, &promise->listed);
    return promise;
}

static __attribute__((noinline)) void unlist_pending_away(vigil_promise *promise)
{
    vg_mutex_lock(&promise->realm->away_lock);
    vg_list_remove(&promise->listed);
    vg_mutex_unlock(&promise->realm->away_lock);
}

static inline void unlist_pending(vigil_promise *promise)
{
    if ((promise->flags & VG_LISTED) == 0)
        return;
    promise->flags &= (uint16_t)~VG_LISTED;
    if (__builtin_expect((promise->flags & VG_AWAY) != 0, 0))
        unlist_pending_away(promise);
    else
        vg_list_remove(&promise->listed);
}

/* ---- given back -------------------------------------------------------------------------------------------------- */

void vigil_value_destroy(vigil_value *value)
{
    if (value == NULL)
        return;
    vigil_value it = vigil_value_move(value);
    if (it.kind == VIGIL_PROMISE)
        vigil_promise_unref(it.promise);
    else if (it.destroy != NULL)
        it.destroy(it.pointer);
}

/* Any thread: nobody has it, and it is settled or never had a value. */
static void promise_free(vigil_promise *promise, bool settled)
{
    vg_realm *realm = promise->realm;
    /* relaxed: nobody else has it, which was acquired */
    if ((atomic_load_explicit(&promise->state, memory_order_relaxed) & VG_SHARED) != 0)
        vigil_promise_unref(promise->link.source);
    else if (settled && promise->value.destroy != NULL)
        vigil_value_destroy(&promise->value);
    if (__builtin_expect(!vg_on_owner(realm), 0)) {
        (void)atomic_fetch_add_explicit(&realm->away_destroyed, 1, memory_order_relaxed);
        vg_realm_free_away(realm, VG_SLAB_PROMISES, promise);
        return;
    }
    vg_tally(&realm->own_destroyed, 1);
    vg_slab_free(&realm->caches[VG_SLAB_PROMISES], promise);
}

static void orphan_reactions(vigil_promise *promise)
{
    vg_link *link = promise->last;
    if (link == NULL)
        return;
    promise->last = NULL;
    vigil_post *next = link->post.vg_next;
    link->post.vg_next = NULL;
    while (next != NULL) {
        vigil_post *post = next;
        next = post->vg_next;
        ((vg_link *)(void *)post)->source = NULL;
        post->cancel(post); /* its source is NULL: it will never come */
    }
}

/* It is pending and nobody can settle it. What waits for it may go too: a list, not a recursion. */
static void abandon_promise(vigil_promise *promise)
{
    vg_realm *realm = promise->realm;
    promise->link.post.vg_next = realm->to_bury != NULL ? &realm->to_bury->link.post : NULL;
    realm->to_bury = promise;
    if (realm->burying)
        return;
    realm->burying = true;
    while (realm->to_bury != NULL) {
        vigil_promise *it = realm->to_bury;
        realm->to_bury = (vigil_promise *)(void *)it->link.post.vg_next;
        unlist_pending(it);
        orphan_reactions(it);
        if ((it->flags & VG_HANDLERS) != 0)
            vg_call_done(it->handlers.done, it->handlers.arg);
        promise_free(it, false);
    }
    realm->burying = false;
}

/* Owner: it has no users, and the loop's share is there. */
static void promise_unused(vigil_promise *promise)
{
    if (promise->held != 0)
        return; /* looked at again in vg_promise_unhold */
    uint32_t state = atomic_load_explicit(&promise->state, memory_order_relaxed); /* acquire was with refs */
    if ((state & VG_STATE_SETTLED) != 0)
        promise_free(promise, true);
    else if ((state & VG_CLAIMED) == 0 || (promise->flags & VG_ORPHAN) != 0)
        abandon_promise(promise);
}

/* Owner: it is settled, and the loop is done with it. */
static void give_up_share(vigil_promise *promise)
{
    /* acquire: what the other users did to it; pairs with the releases in vigil_promise_unref */
    uint32_t refs = atomic_load_explicit(&promise->refs, memory_order_acquire);
    if ((refs & VG_SHARE) == 0)
        return;
    /* acq_rel: our last touch for the others, theirs for us */
    if (refs == VG_SHARE ||
        atomic_fetch_and_explicit(&promise->refs, ~(uint32_t)VG_SHARE, memory_order_acq_rel) == VG_SHARE)
        promise_free(promise, true);
}

void vg_promise_hold(vigil_promise *promise)
{
    if (promise->held++ != 0)
        return;
    /* relaxed: the caller has a reference, so it cannot go */
    if ((atomic_load_explicit(&promise->refs, memory_order_relaxed) & VG_SHARE) == 0)
        (void)atomic_fetch_or_explicit(&promise->refs, VG_SHARE, memory_order_relaxed);
}

void vg_promise_unhold(vigil_promise *promise)
{
    if (--promise->held != 0)
        return;
    uint32_t state = atomic_load_explicit(&promise->state, memory_order_relaxed); /* settled by the owner: by us */
    if ((state & VG_STATE_SETTLED) != 0)
        give_up_share(promise);
    /* acquire: as in give_up_share */
    else if (atomic_load_explicit(&promise->refs, memory_order_acquire) == VG_SHARE)
        promise_unused(promise);
}

vigil_promise *vigil_promise_ref(vigil_promise *promise)
{
    if (promise != NULL) /* relaxed: the caller has one already */
        (void)atomic_fetch_add_explicit(&promise->refs, VG_USER, memory_order_relaxed);
    return promise;
}

static void unref_on_owner(vigil_promise *promise)
{
    /* acquire: as in give_up_share. We are the only user: nobody else touches the word */
    uint32_t refs = atomic_load_explicit(&promise->refs, memory_order_acquire);
    if (refs == VG_USER) {
        promise_free(promise, true);
        return;
    }
    if (refs == VG_USER + VG_SHARE) {
        atomic_store_explicit(&promise->refs, VG_SHARE, memory_order_relaxed);
        promise_unused(promise);
        return;
    }
    /* release: our last touch; acquire: the others' */
    refs = atomic_fetch_sub_explicit(&promise->refs, VG_USER, memory_order_acq_rel) - VG_USER;
    if (refs == 0)
        promise_free(promise, true);
    else if (refs == VG_SHARE)
        promise_unused(promise);
}

/* The last user of an unresolved promise goes on another thread: the reference travels to the owner. */
static bool send_home(vigil_promise *promise)
{
    if (promise->kind != VG_KIND_ROOT || !vg_promise_claim(promise))
        return false;
    promise->link.post.run = bury_promise;
    promise->link.post.cancel = bury_promise;
    if (vigil_loop_post_internal(promise->realm->loop, &promise->link.post) == 0)
        return true;
    vg_promise_unclaim(promise); /* the loop has ended, or waits for us to let go */
    return false;
}

static void bury_promise(vigil_post *post)
{
    vigil_promise *promise = vg_promise_of(post);
    atomic_store_explicit(&promise->state, VIGIL_PENDING, memory_order_relaxed); /* it is ours alone */
    unref_on_owner(promise);
}

void vigil_promise_unref(vigil_promise *promise)
{
    if (promise == NULL)
        return;
    if (vg_on_owner(promise->realm)) {
        unref_on_owner(promise);
        return;
    }
    /* relaxed: only a question; the owner acquires in unref_on_owner */
    uint32_t refs = atomic_load_explicit(&promise->refs, memory_order_relaxed);
    do {
        /* Asked again at every change: of several who let go at once the last must know. */
        if (refs == VG_USER + VG_SHARE && send_home(promise))
            return;
        /* release: our last touch; acquire: the others', if we free. The owner gives up a share that is left. */
    } while (!atomic_compare_exchange_weak_explicit(&promise->refs, &refs, refs - VG_USER, memory_order_acq_rel,
                                                    memory_order_relaxed));
    if (refs == VG_USER)
        promise_free(promise, true);
}

/* ---- settled ----------------------------------------------------------------------------------------------------- */

/* The value is there: say so. */
static void publish_state(vigil_promise *promise, uint32_t state)
{
    vg_realm *realm = promise->realm;
    uint32_t settled = state | VG_CLAIMED;
    if (atomic_load_explicit(&realm->waiters, memory_order_relaxed) == 0) {
        /* release: the value and the flags; pairs with the acquire in vg_promise_state. A mark that a waiter leaves
           now is lost: the wake below makes it mark again. */
        atomic_store_explicit(&promise->state, settled, memory_order_release);
        /* A light fence: the state is there before the waiters are counted; pairs with the heavy one in wait.c */
        vg_fence_light(realm->fences);
        if (atomic_load_explicit(&realm->waiters, memory_order_relaxed) != 0)
            (void)vg_futex_wake(&promise->state, VG_WAKE_ALL);
        return;
    }
    uint32_t before = atomic_load_explicit(&promise->state, memory_order_relaxed);
    /* release: as above */
    while (!atomic_compare_exchange_weak_explicit(&promise->state, &before, (before & VG_WAITED) | settled,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    if ((before & VG_WAITED) != 0)
        (void)vg_futex_wake(&promise->state, VG_WAKE_ALL);
}

/* The value is stored; state may carry VG_SHARED. The promise may be gone afterwards. */
static void settle_promise(vigil_promise *promise, uint32_t state)
{
    vg_realm *realm = promise->realm;
    promise->flags &= (uint16_t) ~(VG_WAITING | VG_HANDLERS);
    unlist_pending(promise);
    publish_state(promise, state);
    vg_link *last = promise->last;
    if (last != NULL) {
        promise->last = NULL;
        vigil_post *post = last->post.vg_next;
        last->post.vg_next = NULL;
        promise->held++; /* a direct reaction may drop the last user */
        while (post != NULL) {
            vg_link *link = (vg_link *)(void *)post;
            post = post->vg_next;
            promise->held++;
            if (__builtin_expect(link->post.vg_reserved == VG_DIRECT, 0))
                link->post.run(&link->post);
            else
                vg_promise_queue(realm, link);
        }
        if ((state & VG_STATE_SETTLED) == VIGIL_REJECTED && (promise->flags & VG_HANDLED) == 0)
            vg_realm_rejected(realm, promise); /* what follows it (vg_promise_follow) is no handler */
        if (--promise->held == 0)
            give_up_share(promise);
        return;
    }
    if ((state & VG_STATE_SETTLED) == VIGIL_REJECTED && (promise->flags & VG_HANDLED) == 0)
        vg_realm_rejected(realm, promise);
    if (promise->held == 0)
        give_up_share(promise);
}

static inline void settle_with(vigil_promise *promise, const vigil_value *value)
{
    vg_value_copy(&promise->value, value);
    settle_promise(promise, vigil_value_is_error(value) ? VIGIL_REJECTED : VIGIL_FULFILLED);
}

static __attribute__((noinline)) void resolve_with_promise(vigil_promise *promise, vigil_promise *other)
{
    if (other != promise && other->realm == promise->realm) {
        vg_promise_adopt(promise, other);
        return;
    }
    vigil_value error = vigil_value_error(other == promise ? -EDEADLK : -EXDEV);
    settle_with(promise, &error); /* before the reference goes, in case it is its own */
    vigil_promise_unref(other);
}

void vg_promise_resolve_with(vigil_promise *promise, const vigil_value *value)
{
    if (__builtin_expect(value->kind == VIGIL_PROMISE, 0))
        resolve_with_promise(promise, value->promise);
    else if (__builtin_expect(value->kind == VIGIL_THENABLE, 0))
        vg_promise_call_thenable(promise, *value);
    else
        settle_with(promise, value);
}

void vg_promise_pass_on(vigil_promise *promise, vigil_promise *from)
{
    uint32_t state = atomic_load_explicit(&from->state, memory_order_relaxed); /* settled by the owner: by us */
    vigil_promise *origin = (state & VG_SHARED) != 0 ? from->link.source : from;
    state &= VG_STATE_SETTLED;
    if (origin->value.destroy == NULL) {
        vg_value_copy(&promise->value, &origin->value);
    } else {
        promise->link.source = vigil_promise_ref(origin);
        state |= VG_SHARED;
    }
    settle_promise(promise, state);
}

void vg_promise_orphan(vigil_promise *promise)
{
    promise->flags = (uint16_t)((promise->flags & ~VG_WAITING) | VG_ORPHAN);
    vg_promise_unhold(promise);
}

void vg_promise_force(vigil_promise *promise, int status)
{
    if ((promise->flags & VG_HANDLERS) != 0) {
        vg_handlers handlers = promise->handlers;
        promise->flags &= (uint16_t)~VG_HANDLERS;
        vg_call_done(handlers.done, handlers.arg);
    }
    /* Claimed and waiting for nothing: another thread finds the lane closed and returns the claim. */
    if ((promise->flags & (VG_WAITING | VG_ORPHAN)) == 0 && promise->kind != VG_KIND_DERIVED)
        while (!vg_promise_claim(promise))
            vg_thread_yield();
    promise->flags |= VG_FORCED;
    vigil_value error = vigil_value_error(status);
    settle_with(promise, &error);
}
