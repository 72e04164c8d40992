/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_POST_H
#define VG_LOOP_POST_H

#include "struct.h"

void vg_run_post(void *arg); /* run of a post that lies in its sender's memory */
static inline uintptr_t vg_post_function(vg_call_fn run, const void *arg) /* what a post that was taken will call */
{
    return run == vg_run_post ? (uintptr_t)((const vigil_post *)arg)->run : (uintptr_t)run;
}
int vg_loop_nudge(vigil_loop *loop); /* any thread: an empty post; -ESHUTDOWN: the door is closed */
/* Any thread, after adding a reason to live: 0, or -ESHUTDOWN: the loop has decided to end without it. A loop that
   another thread runs may be deciding now; an empty post is accepted or refused in the deciding instant (SLEEP.md, the
   door). */
int vg_loop_settle(vigil_loop *loop);
int vg_loop_keep(vigil_loop *loop);
void vg_loop_unkeep(vigil_loop *loop);

#endif
