/* SPDX-License-Identifier: MIT */
/*
 * A release fence where a full fence is needed.
 *
 * Claimed (an appendix of the original analysis): the worker may not see the push, so put a release fence after it; then it is visible.
 *
 * True: no fence makes a store visible sooner. A release fence orders what is before it against *stores* after it. Here what comes
 * after is a load, the look at the flag, and only a full fence (seq_cst) keeps that below the push. On x86 a
 * release fence is not even an instruction. Fencing with acquire and release together does not help either: that is the second exhibit.
 */
#include "sleeping_flag.h"

static bool both_ways;

static void fence(void)
{
    if (both_ways)
        atomic_thread_fence(memory_order_acq_rel); /* orders everything but a store against a later load */
    else
        atomic_thread_fence(memory_order_release); /* orders nothing that matters here */
}

static void after_flag(void)
{
    fence();
}

static void after_push(void)
{
    fence();
}

VGC_SCENARIO(release_fence, "a submitted task is run", .expect = VGC_DEADLOCK, .bound = "1 worker, 1 task",
             .opt.time_limit = GALLERY_SECONDS)
{
    one_worker_gets(&sleeping_flag, 1);
}

VGC_SCENARIO(acquire_release_fence, "a submitted task is run", .expect = VGC_DEADLOCK, .bound = "1 worker, 1 task",
             .opt.time_limit = GALLERY_SECONDS)
{
    both_ways = true;
    one_worker_gets(&sleeping_flag, 1);
}
