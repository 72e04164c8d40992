/* SPDX-License-Identifier: MIT */
#include "readiness.h"

#include "base/futex.h"

#include <errno.h>

void vg_readiness_init(vg_readiness *it)
{
    atomic_init(&it->word, 0U);
    atomic_init(&it->status, 0);
}

uint32_t vg_readiness_seen(const vg_readiness *it)
{
    /* acquire: what was done before the report, or the close with its status; pairs with W1 and W2 */
    return atomic_load_explicit(&it->word, memory_order_acquire) & ~(uint32_t)VG_READY_SLEEPERS;
}

void vg_readiness_report(vg_readiness *it, uint32_t events)
{
    uint32_t seen = atomic_load_explicit(&it->word, memory_order_relaxed); /* relaxed: the exchange decides */
    uint32_t wanted;
    do {
        wanted = ((seen & ~(uint32_t)VG_READY_SLEEPERS) | events) + VG_READY_STEP; /* R1 */
        /* W1 release: what the owner did before; pairs with the acquire in vg_readiness_seen and S1 */
    } while (
        !atomic_compare_exchange_weak_explicit(&it->word, &seen, wanted, memory_order_release, memory_order_relaxed));
    if ((seen & VG_READY_SLEEPERS) != 0) /* R3 */
        (void)vg_futex_wake(&it->word, VG_WAKE_ALL);
}

void vg_readiness_clear(vg_readiness *it, uint32_t events, uint32_t seen)
{
    uint32_t now = atomic_load_explicit(&it->word, memory_order_relaxed); /* relaxed: the exchange decides */
    /* R2. relaxed: nothing is published; a reader of the word that is left sees the last report through it */
    while (now / VG_READY_STEP == seen / VG_READY_STEP &&
           !atomic_compare_exchange_weak_explicit(&it->word, &now, now & ~(events & VG_READY_EVENTS),
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

bool vg_readiness_close(vg_readiness *it, int status)
{
    int none = 0;
    if (!atomic_compare_exchange_strong_explicit(&it->status, &none, status, memory_order_relaxed,
                                                 memory_order_relaxed)) /* relaxed: W2 publishes it */
        return false;
    /* W2 release: the status; pairs with the acquire in vg_readiness_seen and S1 */
    uint32_t seen = atomic_fetch_or_explicit(&it->word, (uint32_t)VG_READY_CLOSED, memory_order_release);
    /* SLEEPERS may stay: nobody sleeps on a closed word (R3). */
    if ((seen & VG_READY_SLEEPERS) != 0)
        (void)vg_futex_wake(&it->word, VG_WAKE_ALL);
    return true;
}

int vg_readiness_wait(vg_readiness *it, uint32_t events, uint64_t deadline_ns, uint32_t *seen)
{
    for (;;) {
        uint32_t now = atomic_load_explicit(&it->word, memory_order_acquire); /* S1: pairs with W1 and W2 */
        if ((now & VG_READY_CLOSED) != 0)
            return atomic_load_explicit(&it->status, memory_order_relaxed); /* acquired by S1 */
        if ((now & events) != 0) {
            *seen = now & ~(uint32_t)VG_READY_SLEEPERS;
            return 0;
        }
        if ((now & VG_READY_SLEEPERS) == 0) {
            /* relaxed: reports and closes read this word themselves */
            if (!atomic_compare_exchange_weak_explicit(&it->word, &now, now | VG_READY_SLEEPERS, memory_order_relaxed,
                                                       memory_order_relaxed))
                continue;
            now |= VG_READY_SLEEPERS;
        }
        if (vg_futex_wait(&it->word, now, deadline_ns) == -ETIMEDOUT)
            return -ETIMEDOUT;
    }
}
