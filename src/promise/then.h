/* SPDX-License-Identifier: MIT */
/*
 * then.h - reactions. Owner only.
 */
#ifndef VG_PROMISE_THEN_H
#define VG_PROMISE_THEN_H

#include "object.h"

/* Call link->post.run when it is settled. The caller has held what the link is part of. */
void vg_promise_subscribe(vigil_promise *promise, vg_link *link);
/* The same behind all present reactions, not counting as a handler. */
void vg_promise_follow(vigil_promise *promise, vg_link *link);
/* For a link that may be removed, O(1). False: it is not in the list. */
void vg_promise_subscribe_removable(vigil_promise *promise, vg_removable *removable);
bool vg_promise_unsubscribe(vigil_promise *promise, vg_removable *removable);
void vg_promise_handled(vigil_promise *promise);

#endif
