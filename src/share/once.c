/* SPDX-License-Identifier: MIT */
/*
 * once.c - a word: 0, the thread that is in the call, or ONCE_DONE. It changes under the guard.
 */
#include "once.h"

#include "base/clock.h"
#include "base/raise.h"
#include "base/my_thread.h"
#include "base/why.h"

enum {
    ONCE_DONE = 1U << 30
};

static __attribute__((noinline)) int once_call(int (*fn)(void *arg), void *arg)
{
    vg_raise_frame frame;
    vg_raise_push(&frame);
    int status = 0;
    if (VG_RAISE_LAND(&frame) == 0)
        status = fn(arg);
    else
        status = vg_raise_top->status < 0 ? vg_raise_top->status : -EIO;
    vg_raise_pop(&frame);
    return status;
}

bool vg_share_once_done(const vigil_once *once)
{
    return atomic_load_explicit(&once->vg_waiters.vg_word, memory_order_acquire) == ONCE_DONE; /* O2: pairs with O1 */
}

vg_once_state vg_share_once_join(vigil_once *once, uint32_t owner, vg_sleeper *sleeper)
{
    _Atomic uint32_t *word = &once->vg_waiters.vg_word;
    vg_guard_lock(&once->vg_waiters);
    const uint32_t seen = atomic_load_explicit(word, memory_order_relaxed); /* under the guard */
    if (seen == 0) {
        atomic_store_explicit(word, owner, memory_order_relaxed);
    } else if (seen != ONCE_DONE && sleeper != NULL && (seen != owner || (owner & VG_OWNER_ASYNC) != 0)) {
        atomic_store_explicit(&sleeper->word, VG_SLEEP_WAITING, memory_order_relaxed); /* the guard publishes it */
        vg_waiters_push_back(&once->vg_waiters, &sleeper->entry);
    }
    vg_guard_unlock(&once->vg_waiters);
    return seen == 0 ? VG_ONCE_MINE : seen == ONCE_DONE ? VG_ONCE_DONE : VG_ONCE_BUSY;
}

void vg_share_once_left(vigil_once *once, vg_sleeper *sleeper)
{
    vg_guard_lock(&once->vg_waiters);
    vg_waiters_remove(&once->vg_waiters, &sleeper->entry);
    vg_guard_unlock(&once->vg_waiters);
}

void vg_share_once_end(vigil_once *once, bool failed)
{
    vg_guard_lock(&once->vg_waiters);
    /* O1 release: what was done; pairs with O2. After a failure one waiter tries. */
    atomic_store_explicit(&once->vg_waiters.vg_word, failed ? 0 : ONCE_DONE, memory_order_release);
    vg_sleeper *next = failed ? vg_waiters_claim(&once->vg_waiters) : NULL;
    vg_entry *all = failed ? NULL : vg_waiters_claim_all(&once->vg_waiters);
    vg_guard_unlock(&once->vg_waiters);
    if (next != NULL)
        vg_sleeper_end(next, VG_SLEEP_RETRY);
    vg_entries_end(all, VG_SLEEP_GIVEN);
}

void vg_share_once_next(vigil_once *once)
{
    vg_guard_lock(&once->vg_waiters);
    /* relaxed: under the guard. If it runs or is done, its end wakes them. */
    vg_sleeper *next = atomic_load_explicit(&once->vg_waiters.vg_word, memory_order_relaxed) == 0
                           ? vg_waiters_claim(&once->vg_waiters)
                           : NULL;
    vg_guard_unlock(&once->vg_waiters);
    if (next != NULL)
        vg_sleeper_end(next, VG_SLEEP_RETRY);
}

int vigil_once_run(vigil_once *once, int (*fn)(void *arg), void *arg, int64_t timeout_ns, vigil_cancel_token *token)
{
    if (once == NULL || fn == NULL)
        return once == NULL ? VG_WHY_NULL("once") : VG_WHY_NULL("fn");
    if (__builtin_expect(vg_share_once_done(once), 1))
        return 0;
    const uint32_t thread = vg_my_thread();
    const vg_sleep_how how = {.deadline_ns = vg_deadline_after(timeout_ns),
                              .token = token,
                              .where = __builtin_return_address(0),
                              .owner = &once->vg_waiters.vg_word};
    vg_sleeper sleeper;
    vg_sleeper_init(&sleeper, VG_SHARE_ONCE, once);
    for (;;) {
        const vg_once_state state = vg_share_once_join(once, thread, timeout_ns != 0 ? &sleeper : NULL);
        if (state == VG_ONCE_MINE) {
            const int status = once_call(fn, arg);
            vg_share_once_end(once, status < 0);
            return status < 0 ? status : 0;
        }
        if (state == VG_ONCE_DONE)
            return 0;
        /* relaxed: if it is us, we wrote it */
        if (atomic_load_explicit(&once->vg_waiters.vg_word, memory_order_relaxed) == thread)
            return vg_why(-EDEADLK, "the function of the once asks for itself");
        if (timeout_ns == 0)
            return -ETIMEDOUT;
        const uint32_t end = vg_sleeper_wait(&sleeper, &how, 0);
        if (end == VG_SLEEP_GIVEN)
            return 0;
        if (end != VG_SLEEP_RETRY) {
            vg_share_once_left(once, &sleeper);
            return vg_sleeper_error(end, token);
        }
    }
}
