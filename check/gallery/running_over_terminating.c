/* SPDX-License-Identifier: MIT */
/*
 * A poll that stores Running when it comes back.
 *
 * The loop goes Running -> Sleeping by compare-exchange, polls, and stores Running. A shutdown sets Terminating from any thread and
 * wakes the loop.
 *
 * Claimed: only the loop's own thread goes back to Running, so a plain store will do; Terminating cannot be undone, since nothing
 * changes a state that is final.
 *
 * True: the store does. Shutdown comes while the loop is in its poll, sets Terminating and wakes it. The loop wakes and stores
 * Running over it. It finds nothing to do, sleeps again, and the one who called shutdown waits for ever: its wake-up has been used.
 * Storing Sleeping instead of exchanging has the same hole on the way in (second exhibit). Both under plain sequential consistency.
 */
#include "gallery.h"

enum {
    RUNNING,
    SLEEPING,
    TERMINATING
};

struct mistakes {
    bool stores_running, stores_sleeping;
};

static const struct mistakes *mistakes;
static _Atomic unsigned state = RUNNING;
static _Atomic unsigned bell; /* what a wake leaves behind until the poll collects it, as an eventfd does */

static void change(unsigned from, unsigned to, bool by_store)
{
    if (by_store)
        atomic_store_explicit(&state, to, memory_order_release); /* whatever it was */
    else
        (void)atomic_compare_exchange_strong_explicit(&state, &from, to, memory_order_acq_rel, memory_order_acquire);
}

static bool is(unsigned what)
{
    return atomic_load_explicit(&state, memory_order_acquire) == what; /* pairs with change and shut_down */
}

static void poll_until_rung(void)
{
    while (!atomic_exchange_explicit(&bell, 0, memory_order_acquire)) /* pairs with shut_down */
        futex_wait(&bell, 0);
}

static void *loop(void *arg)
{
    (void)arg;
    while (!is(TERMINATING)) {
        change(RUNNING, SLEEPING, mistakes->stores_sleeping);
        atomic_thread_fence(
            memory_order_seq_cst); /* Sleeping before the last look; pairs with the fence in shut_down */
        if (is(SLEEPING))
            poll_until_rung();
        change(SLEEPING, RUNNING, mistakes->stores_running);
    }
    return NULL;
}

static void shut_down(void)
{
    unsigned was = atomic_exchange_explicit(&state, TERMINATING, memory_order_acq_rel); /* all that was done before */
    atomic_thread_fence(memory_order_seq_cst); /* pairs with the fence in loop */
    if (was == SLEEPING) {
        atomic_store_explicit(&bell, 1, memory_order_release); /* pairs with poll_until_rung */
        futex_wake(&bell, 1);
    }
}

static void shut_down_while_it_polls(void)
{
    mistakes = vgc_arg();
    pthread_t t = vgc_thread_start(loop, NULL);
    shut_down();
    vgc_thread_join(t);
}

static const struct mistakes none, over_terminating = {.stores_running = true}, sleeping = {.stores_sleeping = true};

VGC_REGISTER(store_running, "running_over_terminating", shut_down_while_it_polls, "a shutdown ends the loop",
             .arg = &over_terminating, .expect = VGC_DEADLOCK, .bound = "1 loop, 1 shutdown", .opt.sc_memory = true,
             .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(store_sleeping, "sleeping_over_terminating", shut_down_while_it_polls, "a shutdown ends the loop",
             .arg = &sleeping, .expect = VGC_DEADLOCK, .bound = "1 loop, 1 shutdown", .opt.sc_memory = true,
             .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(by_exchange, "states_by_exchange_only", shut_down_while_it_polls, "a shutdown ends the loop", .arg = &none,
             .bound = "1 loop, 1 shutdown", .opt.spurious = 1, .opt.time_limit = GALLERY_SECONDS);
