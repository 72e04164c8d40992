/* SPDX-License-Identifier: MIT */
/*
 * rule.h - the rule of all waits inside tasks. WAITING.md states it.
 */
#ifndef VG_POOL_RULE_H
#define VG_POOL_RULE_H

#include "base/my_thread.h"
#include "idle.h"

/* May a wait put strangers on top of this stack? */
static inline bool vg_may_help(const vg_worker *worker)
{
    return vigil_self.vg_locks == 0 && worker->helping < VIGIL_HELP_DEPTH;
}

/*
 * Steps 3 and 4, after the caller has run its own and its descendants: help if `help`, else sleep as a blocked worker.
 * Whatever ends the wait calls vg_unpark. 0 over; -ETIMEDOUT.
 */
int vg_wait_by_rule(vg_worker *worker, const vg_wait *wait, bool help);

/* The same for a wait that another pool ends: sleep as a blocked worker, and run what workers of other pools wait for
   if nobody else can. */
int vg_wait_elsewhere(vg_worker *worker, const vg_wait *wait);

#endif
