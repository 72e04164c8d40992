/* SPDX-License-Identifier: MIT */
/*
 * Control: a full fence on both sides.
 *
 * The two fences come one after the other in a single order. If the worker's is first, the submitter's look sees the flag. If the
 * submitter's is first, the worker's look sees the push. So at least one of them notices, and no lock is needed for a submit
 * to a worker that is awake.
 */
#include "sleeping_flag.h"

static void after_flag(void)
{
    atomic_thread_fence(memory_order_seq_cst); /* flag before look at the queue; pairs with the fence in after_push */
}

static void after_push(void)
{
    atomic_thread_fence(memory_order_seq_cst); /* push before look at the flag; pairs with the fence in after_flag */
}

VGC_SCENARIO(fences_on_both_sides, "a submitted task is run", .bound = "1 worker, 2 tasks", .opt.spurious = 1,
             .opt.time_limit = GALLERY_SECONDS)
{
    one_worker_gets(&sleeping_flag, 2);
}
