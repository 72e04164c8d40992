/* SPDX-License-Identifier: MIT */
/*
 * loop.c - create, destroy, fork, embed.
 */
#include "loop.h"
#include "children.h"
#include "clocks.h"
#include "guard.h"
#include "hooks.h"
#include "note.h"
#include "signals.h"
#include "sleep.h"
#include "watch.h"
#include "watch_owner.h"
#include "watched.h"
#include "base/clock.h"

#include "base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_BUDGET = 1024
};

static int take_loop_options(vigil_loop_options *ours, const vigil_loop_options *given)
{
    int rc = given == NULL ? 0 : vg_options_take(ours, sizeof *ours, given, given->size, sizeof *given, "options");
    if (rc != 0)
        return rc;
    if ((unsigned)ours->fast_path > VIGIL_FAST_PATH_DISABLED)
        return vg_why_say(-EINVAL, "options.fast_path is %d; it must be one of vigil_fast_path", (int)ours->fast_path);
    if ((unsigned)ours->microtasks > VIGIL_MICROTASK_EXHAUSTIVE)
        return vg_why_say(-EINVAL, "options.microtasks is %d; it must be one of vigil_microtask_mode",
                          (int)ours->microtasks);
    ours->size = sizeof *ours;
    return 0;
}

vg_upstairs vg_upstairs_none;

void vg_loop_free(vigil_loop *loop)
{
    vg_forkguard_destroy(&loop->guard);
    vg_loop_note_close(loop);
    free(loop);
}

static void free_parts(vigil_loop *loop)
{
    vg_ingress_destroy(&loop->ingress);
    vg_call_store_destroy(&loop->calls);
    vg_timers_destroy(&loop->timers);
    vg_registry_destroy(&loop->hook_slots);
    vg_registry_destroy(&loop->watches.slots);
    vg_fds_destroy(&loop->watches.fds);
    vg_children_free(loop);
    vg_signals_close(loop);
    vg_clocks_close(loop);
    /* relaxed: the end of the loop acquired it (ending.c, end_upstairs) */
    vg_upstairs *upstairs = atomic_load_explicit(&loop->upstairs, memory_order_relaxed);
    if (upstairs == NULL || upstairs == &vg_upstairs_none || !upstairs->gone(upstairs, loop))
        vg_loop_free(loop);
}

int vigil_loop_create(vigil_loop **result, const vigil_loop_options *given)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    int rc = result == NULL ? VG_WHY_NULL("loop") : take_loop_options(&options, given);
    if (rc != 0)
        return rc;
    vigil_loop *loop = aligned_alloc(64, sizeof *loop);
    if (loop == NULL)
        return -ENOMEM;
    memset(loop, 0, sizeof *loop);
    loop->options = options;
    (void)snprintf(loop->name, sizeof loop->name, "%s", options.name != NULL ? options.name : "loop");
    loop->options.name = loop->name;
    if (loop->options.microtask_budget == 0)
        loop->options.microtask_budget = DEFAULT_BUDGET;
    if (loop->options.post_budget == 0)
        loop->options.post_budget = DEFAULT_BUDGET;
    if (vg_ingress_init(&loop->ingress, options.max_posts) != 0) {
        free(loop);
        return -ENOMEM;
    }
    if (vg_forkguard_init(&loop->guard) != 0) {
        vg_ingress_destroy(&loop->ingress);
        free(loop);
        return -ENOMEM;
    }
    loop->fences = vg_fence_register() == 0 ? VG_FENCE_MEMBARRIER : VG_FENCE_SYMMETRIC;
    vg_lane_init(&loop->lane);
    vg_mutex_init(&loop->watches.lock);
    loop->watches.suspect = VG_POLL_TAG_NONE;
    vg_registry_init(&loop->watches.slots, sizeof(vg_watch));
    vg_registry_init(&loop->hook_slots, sizeof(vg_hook));
    vg_poller_init(&loop->poller);
    atomic_init(&loop->state, VIGIL_LOOP_AWAKE);
    atomic_init(&loop->end_deadline, VG_NO_DEADLINE);
    loop->tick_base = vg_tick_base_now();
    loop->made_at = loop->tick_base.ns;
    vg_timers_init(&loop->timers, loop->made_at);
    vg_instant_init(&loop->instant, loop->tick_base);
    atomic_init(&loop->now, loop->made_at);
    rc = vg_loop_note_open(loop);
    if (rc != 0) {
        vg_timers_destroy(&loop->timers);
        vg_ingress_destroy(&loop->ingress);
        vg_forkguard_destroy(&loop->guard);
        free(loop);
        return rc;
    }
    if (loop->options.fast_path == VIGIL_FAST_PATH_DISABLED) {
        rc = vg_poller_open(&loop->poller);
        if (rc != 0) {
            vg_poller_close_wake(&loop->poller);
            free_parts(loop);
            return rc;
        }
        vg_watch_update_wanted(loop);
    }
    vg_subject_add(&loop->subject, &vg_loop_subject_calls, loop, loop->block.serial);
    *result = loop;
    return 0;
}

int vigil_loop_destroy(vigil_loop *loop)
{
    if (loop == NULL)
        return 0;
    if (vg_forked(&loop->guard)) { /* only the memory and copies of descriptors are ours */
        vg_subject_remove(&loop->subject);
        vg_signals_close(loop);
        vg_children_close(loop);
        vg_poller_close(&loop->poller);
        vg_poller_close_wake(&loop->poller);
        free_parts(loop);
        return 0;
    }
    if (vg_inside(loop))
        return vg_why(-EDEADLK, "a callback cannot destroy its own loop; shut it down and destroy it after the run");
    if (atomic_load_explicit(&loop->owner, memory_order_relaxed) != 0)
        return vg_why(-EBUSY, "another thread is inside vigil_loop_run; shut the loop down first");
    int rc = vigil_loop_close(loop, VIGIL_FOREVER); /* nothing but a look if it is done already */
    if (rc != 0)
        return rc;
    vg_subject_remove(&loop->subject);
    free_parts(loop);
    return 0;
}

int vigil_loop_fork(vigil_loop *loop)
{
    if (loop == NULL)
        return VG_WHY_NULL("loop");
    if (!vg_forked(&loop->guard))
        return vg_why(-EINVAL, "this process is not a child of the one that made the loop");
    uintptr_t owner = atomic_load_explicit(&loop->owner, memory_order_relaxed);
    if (owner != 0 && owner != vg_self())
        return vg_why(
            -EPERM, "another thread was running the loop at the fork, and is not here; the loop can only be destroyed");
    if (loop->fences == VG_FENCE_MEMBARRIER)
        (void)vg_fence_register(); /* belongs to the process; succeeded in the parent */
    vg_ingress_after_fork(&loop->ingress);
    atomic_store_explicit(&loop->inflight, 0, memory_order_relaxed);
    if (owner == 0 && vg_state(loop) < VIGIL_LOOP_TERMINATING)
        atomic_store_explicit(&loop->state, VIGIL_LOOP_AWAKE, memory_order_relaxed); /* we are alone: no exchange */
    int rc = vg_watch_after_fork(loop);
    if (rc == 0)
        rc = vg_signals_after_fork(loop);
    if (rc == 0)
        rc = vg_clocks_after_fork(loop);
    if (rc != 0)
        return vg_why(rc, "the child could not get descriptors of its own; close some and call again");
    /* Not before: the inherited set is the parent's own. */
    vg_children_after_fork(loop);
    rc = vg_loop_note_after_fork(loop);
    if (rc != 0)
        return vg_why(rc, "no memory for the loop's counters; call again");
    vg_forkguard guard;
    rc = vg_forkguard_init(&guard);
    if (rc != 0)
        return vg_why(rc, "no memory for the fork guard; call again");
    vg_forkguard_destroy(&loop->guard);
    loop->guard = guard;
    vg_subject_add(&loop->subject, &vg_loop_subject_calls, loop,
                   loop->block.serial); /* the child's list begins empty */
    vg_upstairs *upstairs = atomic_load_explicit(&loop->upstairs, memory_order_relaxed); /* we are alone */
    if (upstairs != NULL && upstairs != &vg_upstairs_none)
        upstairs->forked(upstairs, loop);
    return 0;
}

int vigil_loop_fd(vigil_loop *loop)
{
    int rc = vg_guard_owner(loop);
    if (rc == 0)
        rc = vg_guard_open(loop);
    if (rc != 0)
        return rc;
    vg_mutex_lock(&loop->watches.lock);
    rc = vg_watch_open_poller(loop);
    if (rc == 0)
        rc = vg_poller_arm(&loop->poller, VG_NO_DEADLINE);
    if (rc == 0) {
        loop->embedded = true;
        vg_watch_update_wanted(loop);
        rc = loop->poller.poll_fd;
    }
    vg_mutex_unlock(&loop->watches.lock);
    /* Pending work must show: before the first run the loop counts as awake, so nobody would wake it. */
    if (rc >= 0 && !vg_is_owner(loop))
        vg_loop_poke(loop);
    return rc;
}
