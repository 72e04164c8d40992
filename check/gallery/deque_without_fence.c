/* SPDX-License-Identifier: MIT */
/*
 * A Chase-Lev deque with one of its two full fences left out.
 *
 * Claimed: (1) in pop: the owner writes bottom and reads top, and the last item is decided by a compare-exchange anyway; (2) in steal: the
 * loads are acquire, so they are done in order.
 *
 * True: the compare-exchange decides only if the owner believes that the item is the last. (1) The owner's smaller bottom waits in its
 * store buffer while it reads an old top: it sees two items where a thief has taken one, takes the other without the
 * exchange, and so does a second theft. x86 does this. (2) Acquire keeps the two loads in order, but lets the second return an old
 * value: a thief that has just seen the newest top may still see the bottom from before the owner's claim. x86 does not do that,
 * Arm may. Either way one task is run twice.
 */
#include "deque.h"

struct fences {
    bool in_pop, in_steal;
};

static const struct fences *fences;

static void *thief(void *arg)
{
    for (intptr_t i = (intptr_t)arg; i > 0; i--)
        came_out(deque_steal(fences->in_steal));
    return NULL;
}

static void two_items(void)
{
    fences = vgc_arg();
    deque_push(1);
    deque_push(2);
    pthread_t t = vgc_thread_start(thief, (void *)2);
    came_out(deque_pop(fences->in_pop));
    vgc_thread_join(t);
    for (int i = 0; i < DEQUE_SIZE; i++)
        came_out(deque_pop(true));
    vgc_assert(times_seen(1) <= 1 && times_seen(2) <= 1, "a task was run twice");
    vgc_assert(times_seen(1) == 1 && times_seen(2) == 1, "a task was lost");
}

static const struct fences both = {true, true}, only_steal = {false, true}, only_pop = {true, false};

VGC_REGISTER(both, "deque_with_fences", two_items, "each task comes out exactly once", .arg = &both,
             .bound = "owner: 2 pushes, 1 pop; 1 thief x 2", .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(only_steal, "deque_without_fence_in_pop", two_items, "each task comes out exactly once",
             .arg = &only_steal, .expect = VGC_ASSERTION, .bound = "owner: 2 pushes, 1 pop; 1 thief x 2",
             .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(only_pop, "deque_without_fence_in_steal", two_items, "each task comes out exactly once", .arg = &only_pop,
             .expect = VGC_ASSERTION, .bound = "owner: 2 pushes, 1 pop; 1 thief x 2",
             .opt.time_limit = GALLERY_SECONDS);
