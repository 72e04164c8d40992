/* SPDX-License-Identifier: MIT */
/*
 * worker.h - the life of a worker: take, search, park.
 */
#ifndef VG_POOL_WORKER_H
#define VG_POOL_WORKER_H

#include "idle.h"

void vg_worker_loop(vg_worker *worker, const vg_wait *wait, bool searching);
int vg_worker_help(vg_worker *worker, const vg_wait *wait); /* 0 over; -ETIMEDOUT */

/* Run one queued task of any class, on top of the running one. false: there was none. */
bool vg_worker_run_one(vg_worker *worker);
bool vg_worker_run_above(vg_worker *worker, unsigned lowest); /* the same, not of a lower class than that */

/* Run what is queued and not of a lower class than the running task, until there is none or the wait is over. */
void vg_worker_help_above(vg_worker *worker, const vg_wait *wait);
void vg_worker_state(vg_worker *worker, vigil_worker_state state);

#endif
