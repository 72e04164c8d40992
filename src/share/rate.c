/* SPDX-License-Identifier: MIT */
/*
 * rate.c - a token bucket in one word: the instant F at which the reserve is full. Taking k units moves F by the time
 * of k units; they have come when F is no further away than the whole reserve. So each caller reserves by one
 * compare-exchange and knows its instant: nobody is woken, nobody looks again.
 *
 * Times are in 1/64 ns: a unit of 1 µs is off by less than a part in 10^5, and nine years fit.
 */
#include "rate.h"

#include "base/clock.h"
#include "base/why.h"
#include "sleeper.h"

enum {
    RATE_SHIFT = 6
};

int vigil_rate_init(vigil_rate *rate, uint64_t units, int64_t per_ns, uint64_t burst)
{
    if (rate == NULL)
        return VG_WHY_NULL("rate");
    if (units == 0 || per_ns <= 0 || per_ns > INT64_MAX >> RATE_SHIFT)
        return vg_why(-EINVAL, units == 0 ? "units is 0; none would ever come"
                                          : "per_ns must be more than 0 and less than four years");
    const uint64_t unit = (((uint64_t)per_ns << RATE_SHIFT) + units / 2) / units;
    if (unit == 0)
        return vg_why(-EINVAL, "units is more than 64 per ns");
    if (burst == 0 || burst > (uint64_t)(INT64_MAX >> 1) / unit)
        return vg_why(-EINVAL, burst == 0 ? "burst is 0; nothing could be taken" : "burst is too large");
    *rate = (vigil_rate){.vg_unit = unit, .vg_burst = burst};
    return 0;
}

int vg_rate_check(const vigil_rate *rate, uint64_t units)
{
    if (rate == NULL)
        return VG_WHY_NULL("rate");
    return units > rate->vg_burst ? vg_why(-EINVAL, "units is more than the burst of the rate") : 0;
}

bool vg_rate_reserve(vigil_rate *rate, uint64_t units, uint64_t now_ns, uint64_t limit_ns, uint64_t *wait_ns)
{
    const uint64_t now = now_ns << RATE_SHIFT;
    const uint64_t reserve = rate->vg_burst * rate->vg_unit;
    uint64_t full = atomic_load_explicit(&rate->vg_full, memory_order_relaxed);
    uint64_t next = 0;
    do {
        next = (full > now ? full : now) + units * rate->vg_unit;
        /* rounded up: never early */
        *wait_ns = next > now + reserve ? (next - now - reserve + (1U << RATE_SHIFT) - 1) >> RATE_SHIFT : 0;
        if (*wait_ns > limit_ns)
            return false;
        /* relaxed: units carry no message */
    } while (!atomic_compare_exchange_weak_explicit(&rate->vg_full, &full, next, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

void vg_rate_put_back(vigil_rate *rate, uint64_t units)
{
    (void)atomic_fetch_sub_explicit(&rate->vg_full, units * rate->vg_unit, memory_order_relaxed); /* as above */
}

int vigil_rate_take(vigil_rate *rate, uint64_t units, int64_t timeout_ns, vigil_cancel_token *token)
{
    const int error = vg_rate_check(rate, units);
    if (error != 0)
        return error;
    const uint64_t now = vg_now_ns();
    uint64_t wait_ns = 0;
    if (!vg_rate_reserve(rate, units, now, timeout_ns < 0 ? UINT64_MAX : (uint64_t)timeout_ns, &wait_ns))
        return -ETIMEDOUT;
    if (wait_ns == 0)
        return 0;
    const vg_sleep_how how = {.deadline_ns = now + wait_ns, .token = token, .where = __builtin_return_address(0)};
    vg_sleeper sleeper;
    vg_sleeper_init(&sleeper, VG_SHARE_RATE, rate);
    const uint32_t end = vg_sleeper_wait(&sleeper, &how, 0);
    if (end == VG_SLEEP_TIMED_OUT) /* the instant has come */
        return 0;
    vg_rate_put_back(rate, units);
    return vg_sleeper_error(end, token);
}
