/* SPDX-License-Identifier: MIT */
/*
 * sleep.c - how the loop falls asleep and is woken. SLEEP.md is the specification; the letters name its steps.
 */
#include "sleep.h"
#include "guard.h"
#include "hooks.h"
#include "note.h"
#include "tally.h"
#include "turn.h"
#include "watch_owner.h"
#include "base/fault.h"
#include "base/futex.h"
#include "record/probes.h"

#include "base/clock.h"
#include "base/raise.h"
#include "base/thread.h"

/* ---- wakers ------------------------------------------------------------------------------------------------------ */

void vg_loop_poke(vigil_loop *loop)
{
    if (__builtin_expect(vg_poller_wake(&loop->poller) != -EBADF, 1))
        return;
    vg_mutex_lock(&loop->watches.lock);
    /* Another waker may have mended it since. */
    if (!loop->watches.closed && vg_poller_wake(&loop->poller) == -EBADF && vg_poller_mend_wake(&loop->poller) == 0)
        (void)vg_poller_wake(&loop->poller);
    vg_mutex_unlock(&loop->watches.lock);
}

/* Sleeping to Running, and the bed in *state. False: another was faster. */
static bool win_the_wake(vigil_loop *loop, uint32_t *state) // NOLINT(readability-non-const-parameter): written
{
    /* W3: of all who see Sleeping, one wins and makes the system call. acquire: the wake descriptor of
       Sleeping-in-the-poller; pairs with the release of S1 */
    if (!atomic_compare_exchange_strong_explicit(&loop->state, state, VIGIL_LOOP_RUNNING, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    (void)atomic_fetch_add_explicit(&loop->shared->wakes_sent, 1, memory_order_relaxed);
    return true;
}

void vg_loop_wake_from_handler(vigil_loop *loop)
{
    /* W1: as in vg_loop_wake; pairs with the fence S2 */
    atomic_thread_fence(memory_order_seq_cst);
    uint32_t state = atomic_load_explicit(&loop->state, memory_order_relaxed); /* W2 */
    if ((state & VG_STATE_MASK) != VIGIL_LOOP_SLEEPING || !win_the_wake(loop, &state))
        return;
    if ((state & VG_SLEEPS_IN_POLLER) != 0)
        (void)vg_poller_wake(&loop->poller);
    else
        (void)vg_futex_wake(&loop->state, 1);
}

void vg_loop_wake_sleeper(vigil_loop *loop, uint32_t state)
{
    if (!win_the_wake(loop, &state))
        return;
    const uint64_t now = vg_loop_note_wakes(loop);
    if (vg_fault(VG_FAULT_DROP_POST))
        return;
    if ((state & VG_SLEEPS_IN_POLLER) != 0)
        vg_loop_poke(loop);
    else
        (void)vg_futex_wake(&loop->state, 1);
    vg_loop_note_woken(loop, now); /* the loop is still there: its end waits for every waker */
}

void vg_inflight_begin(vigil_loop *loop)
{
    (void)atomic_fetch_add_explicit(&loop->inflight, 1, memory_order_relaxed);
}

void vg_inflight_end(vigil_loop *loop)
{
    /* release: this thread's last touch; pairs with the acquire in ending.c, after which the loop may be freed */
    (void)atomic_fetch_sub_explicit(&loop->inflight, 1, memory_order_release);
}

/* ---- the owner --------------------------------------------------------------------------------------------------- */

bool vg_loop_alive_inside(const vigil_loop *loop)
{
    return loop->immediates.count + loop->immediates_now.count + loop->closers.count + loop->closers_now.count +
                   loop->ticks.count + loop->microtasks.count !=
               0 ||
           loop->internal != NULL || loop->dead_now != NULL || vg_ingress_ready(&loop->ingress) ||
           atomic_load_explicit(&loop->watches.any_dead, memory_order_relaxed);
}

bool vg_loop_alive_queues(const vigil_loop *loop)
{
    return vg_loop_alive_inside(loop) || vg_lane_ready(&loop->lane);
}

bool vg_loop_alive(const vigil_loop *loop)
{
    return atomic_load_explicit(&loop->keep, memory_order_relaxed) != 0 || loop->timers.refd != 0 ||
           vg_loop_alive_queues(loop);
}

bool vg_loop_pending(const vigil_loop *loop)
{
    return vg_interrupted(loop) || vg_ingress_ready(&loop->ingress) || vg_lane_ready(&loop->lane) ||
           loop->ticks.count != 0 || loop->microtasks.count != 0 || loop->immediates.count != 0 ||
           loop->closers.count != 0 || atomic_load_explicit(&loop->watches.any_dead, memory_order_relaxed) ||
           (loop->auto_exit && !vg_loop_alive(loop));
}

static uint32_t bed_of(vigil_loop *loop)
{
    /* acquire: the poller is open; pairs with the release in vg_watch_update_wanted */
    return atomic_load_explicit(&loop->poll_wanted, memory_order_acquire) ? VG_SLEEPS_IN_POLLER : 0;
}

/* Sleeping back to Running, unless a waker did it or the loop is to end. */
static bool get_up(vigil_loop *loop, uint32_t sleeping)
{
    /* relaxed: what a turn takes has its own order; what a waker published is seen at the latest by the next S3 */
    return atomic_compare_exchange_strong_explicit(&loop->state, &sleeping, VIGIL_LOOP_RUNNING, memory_order_relaxed,
                                                   memory_order_relaxed);
}

static void poll_events(vigil_loop *loop, uint64_t deadline)
{
    int got = vg_poller_wait(&loop->poller, deadline, loop->events);
    vg_tally(&loop->shared->poll_calls, 1);
    if (got < 0)
        vg_watch_heal(loop, got);
    loop->poll_count = got > 0 ? (uint32_t)got : 0;
}

void vg_loop_glance(vigil_loop *loop)
{
    if (bed_of(loop) != 0)
        poll_events(loop, 0);
}

/* ---- before falling asleep --------------------------------------------------------------------------------------- */

#ifdef VIGIL_CHECK
#define LINGER_LOOKS 0 /* only adds looks: nothing for the checker to find */
#else
#define LINGER_LOOKS 3
#endif
#define LINGER_NS       1000 /* between two looks */
#define LINGER_PATIENCE 8    /* failures in a row until it is tried only now and then */
#define LINGER_PROBE    16
#define STREAM_POSTS    4  /* posts since the last look that make a pause pay */
#define FLOOD_POSTS     64 /* so many that a producer may wait for this core */

/* Wait for posts without looking all the time: each look takes the producers' cache lines away. */
static bool linger(vigil_loop *loop, uint64_t deadline)
{
    for (int look = 0; look < LINGER_LOOKS; look++) {
        uint64_t now = vg_now_ns();
        uint64_t until = now + LINGER_NS;
        while (now < until) {
            for (int i = 0; i < 8; i++)
                vg_spin_pause();
            now = vg_now_ns();
        }
        if (vg_loop_pending(loop) || now >= deadline)
            return true;
    }
    return false;
}

bool vg_loop_stream(vigil_loop *loop, uint64_t deadline)
{
    uint64_t taken = atomic_load_explicit(&loop->ingress.taken, memory_order_relaxed);
    uint64_t posts = taken - loop->posts_before;
    loop->posts_before = taken;
    if (posts < STREAM_POSTS || LINGER_LOOKS == 0)
        return false;
    if (loop->lingers_failed < LINGER_PATIENCE || loop->lingers_failed % LINGER_PROBE == 0) {
        if (linger(loop, deadline)) {
            loop->lingers_failed = 0;
            return true;
        }
    }
    loop->lingers_failed++;
    if (posts < FLOOD_POSTS)
        return false;
    vg_thread_yield();
    return vg_loop_pending(loop);
}

/* ---- falling asleep ---------------------------------------------------------------------------------------------- */

#ifdef VIGIL_CHECK
#define STRAGGLER_LOOKS 0 /* they only put the fence off */
#else
#define STRAGGLER_LOOKS 64
#endif

/* Sleeping is published: S2. Afterwards S3 sees what a waker published before its look at the state. */
static void after_sleeping(vigil_loop *loop)
{
    /* S2: Sleeping comes before the last look at every source; pairs with the fence W1 in vg_loop_wake */
    atomic_thread_fence(memory_order_seq_cst);
    /* A thread that is given a place from now on sees Sleeping. */
    if (vg_ingress_idle(&loop->ingress))
        return;
    /* Most likely the place is published by now, or in a moment. */
    for (int look = 0; !vg_ingress_ready(&loop->ingress); look++) {
        if (look == STRAGGLER_LOOKS) {
            vg_fence_heavy(loop->fences); /* S2': now it is published, or its producer sees Sleeping; pairs with W1' */
            return;
        }
        vg_spin_pause();
    }
}

static void block_on(vigil_loop *loop, uint32_t sleeping, uint64_t deadline)
{
    if ((sleeping & VG_SLEEPS_IN_POLLER) != 0) {
        poll_events(loop, deadline);
        return;
    }
    /* S4: the kernel compares the word again, so a W3 before the wait is not lost. relaxed: as in get_up */
    while (atomic_load_explicit(&loop->state, memory_order_relaxed) == sleeping) {
        if (vg_futex_wait(&loop->state, sleeping, deadline) != 0)
            break; /* the deadline */
    }
}

void vg_loop_sleep(vigil_loop *loop, uint64_t deadline)
{
    uint32_t where = bed_of(loop);
    uint32_t sleeping = VIGIL_LOOP_SLEEPING | where;
    uint32_t running = VIGIL_LOOP_RUNNING;
    /* S1: publish Sleeping. Fails only if the loop is to end: Terminating is never overwritten. release: the wake
       descriptor, for W3 */
    if (!atomic_compare_exchange_strong_explicit(&loop->state, &running, sleeping, memory_order_release,
                                                 memory_order_relaxed))
        return;
    after_sleeping(loop);
    /* S3 */
    if (vg_loop_pending(loop) || bed_of(loop) != where || vg_hooks_recheck(loop)) {
        (void)get_up(loop, sleeping);
        vg_tally(&loop->shared->sleeps_avoided, 1);
        if (where != 0)
            poll_events(loop, 0);
        return;
    }
    uint64_t before = vg_ticks();
    vg_tally(&loop->shared->work_ticks, before - loop->woke_at);
    VG_PROBE(loop_sleep, loop->block.serial);
    /* acquire: what its maker wrote; pairs with the release in realm.c */
    vg_upstairs *upstairs = atomic_load_explicit(&loop->upstairs, memory_order_acquire);
    if (upstairs != NULL && upstairs->rest != NULL)
        upstairs->rest(upstairs, loop);
    vg_loop_note_sleeps(loop, before);
    block_on(loop, sleeping, deadline);
    bool woken = !get_up(loop, sleeping);
    vg_update_now(loop);
    loop->woke_at = vg_ticks();
    vg_tally(&loop->shared->poll_ticks, loop->woke_at - before);
    vg_tally(&loop->shared->sleeps, 1);
    vg_loop_note_slept(loop, before);
    if (woken)
        vg_tally(vg_loop_pending(loop) || loop->poll_count != 0 || vg_state(loop) >= VIGIL_LOOP_TERMINATING
                     ? &loop->shared->wakes_useful
                     : &loop->shared->wakes_spurious,
                 1);
    else if (loop->poll_count == 0 && deadline > atomic_load_explicit(&loop->now, memory_order_relaxed))
        vg_tally(&loop->shared->wakes_spurious, 1);
}

/* The last look of an embedded loop that nobody is inside. The next run reports a raise. */
static __attribute__((noinline)) bool recheck_alone(vigil_loop *loop)
{
    vg_raise_frame frame;
    bool more;
    vg_raise_push(&frame);
    if (VG_RAISE_LAND(&frame) == 0) {
        more = vg_hooks_recheck(loop);
    } else {
        loop->raised = true;
        loop->raised_status = frame.status;
        more = true;
    }
    vg_raise_pop(&frame);
    return more;
}

void vg_loop_doze(vigil_loop *loop)
{
    uint32_t running = VIGIL_LOOP_RUNNING;
    uint32_t sleeping = VIGIL_LOOP_SLEEPING | VG_SLEEPS_IN_POLLER;
    loop->auto_exit = false; /* nobody is inside to end it: that nothing keeps it alive is no work */
    uint64_t deadline = vg_timers_next(&loop->timers);
    if (deadline > loop->prepare_deadline)
        deadline = loop->prepare_deadline;
    bool armed = deadline > atomic_load_explicit(&loop->now, memory_order_relaxed) &&
                 vg_poller_arm(&loop->poller, deadline) == 0;
    /* release: as S1 */
    if (!atomic_compare_exchange_strong_explicit(&loop->state, &running, sleeping, memory_order_release,
                                                 memory_order_relaxed))
        return;
    after_sleeping(loop);
    if ((vg_loop_pending(loop) || !armed || recheck_alone(loop)) && get_up(loop, sleeping)) {
        /* More to do: the descriptor must say so. Without a timer descriptor the host has to look often. */
        running = VIGIL_LOOP_RUNNING;
        (void)atomic_compare_exchange_strong_explicit(&loop->state, &running, VIGIL_LOOP_AWAKE, memory_order_relaxed,
                                                      memory_order_relaxed);
        vg_loop_poke(loop);
    }
}
