/* SPDX-License-Identifier: MIT */
#include "backoff.h"

#include <sys/random.h>

int64_t vg_jobs_backoff_ms(int64_t first_ms, int64_t most_ms, unsigned tries)
{
    int64_t delay = first_ms > 0 ? first_ms : 1;
    while (tries-- > 0 && delay < most_ms)
        delay *= 2;
    if (delay > most_ms)
        delay = most_ms;
    uint32_t chance = 0;
    (void)getrandom(&chance, sizeof chance, 0);
    return delay - (int64_t)((double)chance / 4294967296.0 * (double)(delay / 2));
}
