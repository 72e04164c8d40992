/* SPDX-License-Identifier: MIT */
/*
 * rate.h - vigil_rate, for promises.
 */
#ifndef VG_SHARE_RATE_H
#define VG_SHARE_RATE_H

#include <stdbool.h>
#include <stdint.h>
#include <vigil/sync.h>

/* Reserve units if they come no later than `limit_ns` after now; the time until then in *wait_ns. */
bool vg_rate_reserve(vigil_rate *rate, uint64_t units, uint64_t now_ns, uint64_t limit_ns, uint64_t *wait_ns);
void vg_rate_put_back(vigil_rate *rate, uint64_t units);

/* 0; -EINVAL, with the reason. */
int vg_rate_check(const vigil_rate *rate, uint64_t units);

#endif
