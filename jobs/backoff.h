/* SPDX-License-Identifier: MIT */
/* backoff.h - how long to wait before the next try. */
#ifndef VG_JOBS_BACKOFF_H
#define VG_JOBS_BACKOFF_H

#include <stdint.h>

/* first * 2^tries, at most `most`, of which a random half is taken off: after an outage tries do not come together. */
int64_t vg_jobs_backoff_ms(int64_t first_ms, int64_t most_ms, unsigned tries);

#endif
