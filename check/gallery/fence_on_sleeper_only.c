/* SPDX-License-Identifier: MIT */
/*
 * A full fence on the sleeper's side only.
 *
 * Claimed: the sleeper is the one who must not be wrong, so it fences: its flag is visible to all before it looks again. A fence in
 * every submit would be dear.
 *
 * True: the fence makes the sleeper's store visible; it cannot make the submitter's. The push waits in the submitter's
 * store buffer, the flag is read (down), the worker raises it, fences, sees an empty queue and sleeps. Then the push comes out.
 * It is a pair or it is nothing. (The dear half can be moved, not dropped: membarrier puts a fence into the other
 * threads from the sleeper's side.)
 */
#include "sleeping_flag.h"

static void after_flag(void)
{
    atomic_thread_fence(memory_order_seq_cst); /* flag before look; has no partner */
}

static void after_push(void)
{
}

VGC_SCENARIO(fence_on_sleeper_only, "a submitted task is run", .expect = VGC_DEADLOCK, .bound = "1 worker, 1 task",
             .opt.time_limit = GALLERY_SECONDS)
{
    one_worker_gets(&sleeping_flag, 1);
}
