/* SPDX-License-Identifier: MIT */
/*
 * wait.c - promises from other threads. A waiter sleeps on the state word. It first counts itself in the realm with a
 * heavy fence; settling looks at that count after a light one: if it is zero, the waiter sees the new state.
 */
#include "base/why.h"
#include "realm.h"

#include "base/futex.h"
#include "pool/blocked.h"

#include "base/clock.h"

vigil_promise_state vigil_promise_state_get(const vigil_promise *promise)
{
    return promise == NULL ? VIGIL_PENDING : vg_promise_state(promise);
}

vigil_promise_state vigil_promise_result(vigil_promise *promise, vigil_value *value)
{
    if (promise == NULL)
        return VIGIL_PENDING;
    vigil_promise_state state = vg_promise_state(promise);
    if (state != VIGIL_PENDING && value != NULL) {
        *value = *vg_promise_value(promise);
        value->destroy = NULL;
    }
    return state;
}

int vigil_promise_take(vigil_promise *promise, vigil_value *value)
{
    if (promise == NULL || value == NULL)
        return promise == NULL ? VG_WHY_NULL("promise") : VG_WHY_NULL("value");
    vigil_promise_state state = vg_promise_state(promise);
    if (state == VIGIL_PENDING)
        return -EAGAIN;
    bool shared = (atomic_load_explicit(&promise->state, memory_order_relaxed) & VG_SHARED) != 0; /* acquired above */
    vigil_promise *origin = shared ? promise->link.source : promise;
    /* relaxed: one taker wins; the state published the value */
    if ((atomic_fetch_or_explicit(&origin->state, VG_TAKEN, memory_order_relaxed) & VG_TAKEN) != 0)
        return -ENODATA;
    if (origin != promise)
        (void)atomic_fetch_or_explicit(&promise->state, VG_TAKEN, memory_order_relaxed);
    *value = vigil_value_move(&origin->value);
    return (int)state;
}

static int sleep_until_settled(vigil_promise *promise, uint64_t deadline)
{
    bool in_time = true;
    for (;;) {
        /* relaxed: vigil_promise_result acquires */
        uint32_t state = atomic_fetch_or_explicit(&promise->state, VG_WAITED, memory_order_relaxed) | VG_WAITED;
        if ((state & VG_STATE_SETTLED) != 0)
            return (int)(state & VG_STATE_SETTLED);
        if (!in_time)
            return -ETIMEDOUT;
        in_time = vg_futex_wait(&promise->state, state, deadline) == 0;
    }
}

/* Show the watchdog the loop of the promise. Inside a task a spare may stand in. */
static int sleep_and_tell(vigil_promise *promise, uint64_t deadline, const void *where)
{
    vg_blocked blocked;
    const vg_blocked_on on = {.kind = VG_WAIT_PROMISE,
                              .object = (const void *)(uintptr_t)promise->realm->loop->subject.serial, // NOLINT
                              .where = where,
                              .deadline_ns = deadline};
    vg_blocked_begin(&blocked, &on);
    int rc = sleep_until_settled(promise, deadline);
    vg_blocked_end(&blocked);
    return rc;
}

int vigil_promise_wait(vigil_promise *promise, int64_t timeout_ns, vigil_value *value)
{
    if (promise == NULL)
        return VG_WHY_NULL("promise");
    vg_realm *realm = promise->realm;
    int rc = vg_guard_any(realm->loop);
    if (rc != 0)
        return rc;
    if (vg_on_owner(realm))
        return vg_why(-EDEADLK,
                      "the owner cannot wait for what only it can do; add a handler instead, or wait on another "
                      "thread");
    uint64_t deadline = vg_deadline_after(timeout_ns);
    (void)atomic_fetch_add_explicit(&realm->waiters, 1, memory_order_relaxed);
    /* A heavy fence: we are counted before the state is looked at; pairs with the light one in promise.c,
       publish_state */
    vg_fence_heavy(realm->fences);
    if (vg_promise_state(promise) == VIGIL_PENDING)
        rc = sleep_and_tell(promise, deadline, __builtin_return_address(0));
    else
        rc = sleep_until_settled(promise, deadline);
    (void)atomic_fetch_sub_explicit(&realm->waiters, 1, memory_order_relaxed);
    if (rc > 0)
        (void)vigil_promise_result(promise, value); /* acquires what was written before, also without a value */
    return rc;
}
