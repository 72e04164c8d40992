/* SPDX-License-Identifier: MIT */
/*
 * once.c - a word: 0, the thread that is in the call, or ONCE_DONE. It changes under the guard.
 */
#include "sleeper.h"

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

static int once_try(vigil_once *once, int (*fn)(void *arg), void *arg)
{
    const int status = once_call(fn, arg);
    vg_guard_lock(&once->vg_waiters);
    /* O1 release: what fn did; pairs with O2. After a failure one waiter tries. */
    atomic_store_explicit(&once->vg_waiters.vg_word, status < 0 ? 0 : ONCE_DONE, memory_order_release);
    vg_sleeper *next = status < 0 ? vg_waiters_claim(&once->vg_waiters) : NULL;
    vg_entry *all = status < 0 ? NULL : vg_waiters_claim_all(&once->vg_waiters);
    vg_guard_unlock(&once->vg_waiters);
    if (next != NULL)
        vg_sleeper_end(next, VG_SLEEP_RETRY);
    vg_entries_end(all, VG_SLEEP_GIVEN);
    return status < 0 ? status : 0;
}

int vigil_once_run(vigil_once *once, int (*fn)(void *arg), void *arg, int64_t timeout_ns, vigil_cancel_token *token)
{
    if (once == NULL || fn == NULL)
        return once == NULL ? VG_WHY_NULL("once") : VG_WHY_NULL("fn");
    _Atomic uint32_t *word = &once->vg_waiters.vg_word;
    if (__builtin_expect(atomic_load_explicit(word, memory_order_acquire) == ONCE_DONE, 1)) /* O2: pairs with O1 */
        return 0;
    const uint32_t thread = vg_my_thread();
    const vg_sleep_how how = {.deadline_ns = vg_deadline_after(timeout_ns),
                              .token = token,
                              .where = __builtin_return_address(0),
                              .owner = word};
    vg_sleeper sleeper;
    vg_sleeper_init(&sleeper, VG_SHARE_ONCE, once);
    for (;;) {
        vg_guard_lock(&once->vg_waiters);
        const uint32_t seen = atomic_load_explicit(word, memory_order_relaxed); /* under the guard */
        if (seen == 0)
            atomic_store_explicit(word, thread, memory_order_relaxed);
        else if (seen != ONCE_DONE && seen != thread && timeout_ns != 0) {
            atomic_store_explicit(&sleeper.word, VG_SLEEP_WAITING, memory_order_relaxed); /* the guard publishes it */
            vg_waiters_push_back(&once->vg_waiters, &sleeper.entry);
        }
        vg_guard_unlock(&once->vg_waiters);
        if (seen == 0)
            return once_try(once, fn, arg);
        if (seen == ONCE_DONE)
            return 0;
        if (seen == thread)
            return vg_why(-EDEADLK, "the function of the once asks for itself");
        if (timeout_ns == 0)
            return -ETIMEDOUT;
        const uint32_t end = vg_sleeper_wait(&sleeper, &how, 0);
        if (end == VG_SLEEP_GIVEN)
            return 0;
        if (end != VG_SLEEP_RETRY) {
            vg_guard_lock(&once->vg_waiters);
            vg_waiters_remove(&once->vg_waiters, &sleeper.entry);
            vg_guard_unlock(&once->vg_waiters);
            return vg_sleeper_error(end, token);
        }
    }
}
