/* SPDX-License-Identifier: MIT */
/*
 * then.h - reactions. Owner only.
 */
#ifndef VG_PROMISE_THEN_H
#define VG_PROMISE_THEN_H

#include "object.h"

/* Let post.run of the link be called when it is settled. The caller has held what the link is part of. */
void vg_promise_subscribe(vigil_promise *promise, vg_link *link);
/* The same behind all reactions that it has now, without counting as a handler. */
void vg_promise_follow(vigil_promise *promise, vg_link *link);
/* vg_promise_subscribe for one that may be taken out again, O(1). False: it is not in the list (any more). */
void vg_promise_subscribe_removable(vigil_promise *promise, vg_removable *removable);
bool vg_promise_unsubscribe(vigil_promise *promise, vg_removable *removable);
void vg_promise_handled(vigil_promise *promise);

#endif
