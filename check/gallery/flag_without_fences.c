/* SPDX-License-Identifier: MIT */
/*
 * The flag is read without the lock, and there are no fences.
 *
 * Claimed: a submit need not take the lock of a worker that is awake. The flag is atomic, so its value is right.
 *
 * True: atomic does not mean in order. The submitter's push may wait in its store buffer while it reads the flag (still
 * down); the worker's flag may wait in the other store buffer while it looks at the queue (still empty). Both go their way.
 * x86 does this. Under sequential consistency nothing is wrong, which is why a careful reading of the code finds nothing: the
 * second exhibit is the same program, explored with such a memory, and passes.
 */
#include "sleeping_flag.h"

static void after_flag(void)
{
}

static void after_push(void)
{
}

VGC_SCENARIO(flag_without_fences, "a submitted task is run", .expect = VGC_DEADLOCK, .bound = "1 worker, 1 task",
             .opt.time_limit = GALLERY_SECONDS)
{
    one_worker_gets(&sleeping_flag, 1);
}

VGC_SCENARIO(flag_without_fences_sc, "with a memory that keeps program order the same code is right",
             .bound = "1 worker, 2 tasks", .opt.sc_memory = true, .opt.time_limit = GALLERY_SECONDS)
{
    one_worker_gets(&sleeping_flag, 2);
}
