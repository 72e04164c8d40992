/* SPDX-License-Identifier: MIT */
/*
 * A full fence on the waker's side only.
 *
 * Claimed: the submitter makes its push visible to all before it looks at the flag, so the worker cannot miss it. And the
 * worker has just taken a lock, which is as good as a fence.
 *
 * True: taking a lock keeps what comes after it from moving up; the worker's own store to the flag may still be in its store
 * buffer when it looks at the queue. The submitter fences, sees the flag down, and leaves; the worker's look was done before.
 */
#include "sleeping_flag.h"

static void after_flag(void)
{
}

static void after_push(void)
{
    atomic_thread_fence(memory_order_seq_cst); /* push before look; has no partner */
}

VGC_SCENARIO(fence_on_waker_only, "a submitted task is run", .expect = VGC_DEADLOCK, .bound = "1 worker, 1 task",
             .opt.time_limit = GALLERY_SECONDS)
{
    one_worker_gets(&sleeping_flag, 1);
}
