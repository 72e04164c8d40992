/* SPDX-License-Identifier: MIT */
/*
 * watched.c - the loop as the watchdog sees it. Nobody is stopped; the owner's fields are not touched.
 */
#include "watched.h"
#include "guard.h"
#include "look.h"
#include "note.h"
#include "tally.h"
#include "sleep.h"
#include "base/futex.h"
#include "record/facts.h"

#include <stdio.h>

static void loop_facts(void *object, vg_loop_facts *facts)
{
    vigil_loop *loop = object;
    const vg_file_loop *counters = loop->shared;
    const vigil_loop_state state = vg_state(loop);
    (void)snprintf(facts->name, sizeof facts->name, "%s", loop->name);
    facts->thread = atomic_load_explicit(&loop->owner_thread, memory_order_relaxed);
    facts->runs = state == VIGIL_LOOP_RUNNING && facts->thread != 0;
    /* An embedded loop counts as asleep while nobody is inside. */
    facts->sleeps = state == VIGIL_LOOP_SLEEPING && facts->thread != 0;
    facts->ending = state >= VIGIL_LOOP_TERMINATING;
    facts->phase = (unsigned)atomic_load_explicit(&loop->shared->phase, memory_order_relaxed);
    facts->taken = vg_tally_read(&loop->ingress.taken);
    facts->accepted = vg_ingress_accepted(&loop->ingress);
    facts->waiting = facts->accepted > facts->taken || vg_lane_ready(&loop->lane);
    facts->progress = vg_tally_read(&counters->turns) + vg_tally_read(&counters->sleeps) + vg_loop_callbacks(loop);
    facts->turns = vg_tally_read(&counters->turns);
    facts->poll_ticks = vg_tally_read(&counters->poll_ticks);
    facts->fd_events = vg_tally_read(&counters->fd_events) + vg_tally_read(&counters->stale_events);
    facts->timers_fired = vg_tally_read(&counters->timers_fired);
    facts->microtasks = vg_tally_read(&counters->microtasks_run);
    facts->breaches = vg_tally_read(&counters->microtask_breaches);
    facts->poll_fd = atomic_load_explicit(&loop->poller.seen_fd, memory_order_relaxed);
    facts->function = (const void *)(uintptr_t)vg_tally_read(&counters->call_function);
    /* acquire: as in sleep.c. The loop outlives this call, and so does what is above it. */
    const vg_upstairs *upstairs = atomic_load_explicit(&loop->upstairs, memory_order_acquire);
    const bool rests = facts->sleeps && upstairs != NULL;
    facts->open_since_ns = rests ? atomic_load_explicit(&upstairs->open_since_ns, memory_order_relaxed) : 0;
    facts->open_created =
        rests ? (const void *)atomic_load_explicit(&upstairs->open_created, memory_order_relaxed) : NULL; // NOLINT
    vg_loop_note_sample(loop);
}

static const char *phase_name(unsigned phase)
{
    static const char *const names[VIGIL_PHASES] = {
        [VIGIL_PHASE_NONE] = "between two phases",
        [VIGIL_PHASE_INTERNAL] = "internal posts",
        [VIGIL_PHASE_POSTS] = "posts",
        [VIGIL_PHASE_TIMERS] = "timers",
        [VIGIL_PHASE_PREPARE] = "prepare hooks",
        [VIGIL_PHASE_IO] = "descriptors",
        [VIGIL_PHASE_CHECK] = "check hooks",
        [VIGIL_PHASE_IMMEDIATES] = "immediates",
        [VIGIL_PHASE_CLOSE] = "close callbacks",
    };
    return phase < VIGIL_PHASES ? names[phase] : "?";
}

static int loop_rewake(void *object, unsigned worker)
{
    vigil_loop *loop = object;
    (void)worker;
    vg_inflight_begin(loop);
    vg_loop_wake(loop);
    /* The state may be Running and only the wake lost: repeat it, in either bed. */
    /* relaxed: the fence of vg_loop_wake came after the look that found the loop asleep, and shows its bed */
    if (atomic_load_explicit(&loop->poll_wanted, memory_order_relaxed))
        vg_loop_poke(loop);
    (void)vg_futex_wake(&loop->state, 1);
    vg_inflight_end(loop);
    return 0;
}

const vg_subject_calls vg_loop_subject_calls = {
    .loop_facts = loop_facts,
    .phase_name = phase_name,
    .rewake = loop_rewake,
};
