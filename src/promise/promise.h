/* SPDX-License-Identifier: MIT */
/*
 * promise.h - the life of one promise. Owner only, except where it says any thread.
 */
#ifndef VG_PROMISE_PROMISE_H
#define VG_PROMISE_PROMISE_H

#include "realm.h"

/* A pending promise with `users` references. Any thread; held must be 0 except on the owner. */
vigil_promise *vg_promise_new(vg_realm *realm, uint8_t kind, uint32_t users, uint32_t held, const void *created);
/* Takes the value over. The promise must be claimed, or derived. */
void vg_promise_resolve_with(vigil_promise *promise, const vigil_value *value);
static inline void vg_promise_resolve(vigil_promise *promise, vigil_value value)
{
    vg_promise_resolve_with(promise, &value);
}
/* The same with the result of another promise that is settled. */
void vg_promise_pass_on(vigil_promise *promise, vigil_promise *from);
void vg_promise_hold(vigil_promise *promise);
void vg_promise_unhold(vigil_promise *promise);
/* What it waits for will never come: its reaction holds it no more. */
void vg_promise_orphan(vigil_promise *promise);
/* Reject it at the end of the loop, whatever it waits for. */
void vg_promise_force(vigil_promise *promise, int status);
/* Queue link.post as a microtask. */
static inline void vg_promise_queue(vg_realm *realm, vg_link *link)
{
    vg_fifo_push(&realm->loop->microtasks, &link->post);
}

#endif
