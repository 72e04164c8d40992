/* SPDX-License-Identifier: MIT */
/* frame.h - asynchronous functions that wait for something else than a promise. */
#ifndef VG_PROMISE_FRAME_H
#define VG_PROMISE_FRAME_H

#include <vigil/async.h>

/* Owner. The frame will wait: what was awaited before is not needed any more. */
void vg_frame_release(vigil_frame *frame);
/* Owner. What a refused call says: -ECANCELED is the token's status if it was aborted between the look at it and the
   call. */
int vg_frame_refused(const vigil_frame *frame, int rc);
/* Owner. The wait is over: go on with this status and value, which lives until the next await. value NULL: none. The
   frame may be gone afterwards. */
void vg_frame_resume(vigil_frame *frame, int status, vigil_value *value);

#endif
