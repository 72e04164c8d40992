/* SPDX-License-Identifier: MIT */
/*
 * A thread that ends inside a callback (run.c, vg_loop_abandon) against a shutdown. Property: the shutdown takes over, runs what
 * was accepted, and returns; it never waits for a thread that has gone.
 */
#include "loop_setup.h"

#include "loop/run.h"

static int posts_run;

static void run_a_post(void *arg)
{
    (void)arg;
    posts_run++; /* plain: two threads that drain at a time would be a race */
}

static void *leave_inside_a_callback(void *arg)
{
    (void)arg;
    vg_loop_abandon(loop);
    return NULL;
}

static void abandoned(bool at_rest)
{
    posts_run = 0;
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    vgc_assert(vigil_loop_call(loop, run_a_post, NULL, NULL) == 0, "a post is accepted");
    atomic_store_explicit(&loop->state, VIGIL_LOOP_RUNNING, memory_order_relaxed); /* as if it were inside a callback */
    atomic_store_explicit(&loop->owner, UINTPTR_MAX, memory_order_relaxed);
    pthread_t thread = vgc_thread_start(leave_inside_a_callback, NULL);
    if (at_rest)
        vgc_thread_join(thread);
    vgc_assert(vigil_loop_shutdown(loop, VIGIL_FOREVER) == 0, "the loop ends");
    vgc_assert(posts_run == 1, "what was accepted runs");
    if (!at_rest)
        vgc_thread_join(thread);
    vgc_assert(vigil_loop_destroy(loop) == 0, "nobody is inside");
}

#define GONE "a thread that ends inside a callback leaves a loop that others end"

VGC_SCENARIO(loop_gone, GONE, .opt.mode = VGC_PCT, .opt.runs = 1000, .bound = "before a shutdown")
{
    abandoned(true);
}

VGC_SCENARIO(loop_gone_end, GONE, .opt.mode = VGC_PCT, .opt.runs = 10000, .bound = "against a shutdown")
{
    abandoned(false);
}
