/* SPDX-License-Identifier: MIT */
/*
 * The loop with guests, and as a guest: another library's queue that lives on it through hooks, and a loop whose descriptor another
 * loop waits for. Those that ask for a wake-up exist at rest and against a shutdown.
 */
#include "loop_setup.h"

#include <poll.h>

/* ---- hooks ---- */

/* Another library's queue lives on the loop: its hook takes what is there, and looks once more when the loop has said that it sleeps.
   Who fills the queue wakes the loop only if it sleeps. */
static _Atomic int box;
static int boxes_taken; /* on the loop only */

static int64_t take_box(vigil_loop *on, void *arg)
{
    (void)on;
    (void)arg;
    boxes_taken += atomic_exchange_explicit(&box, 0, memory_order_acquire);
    return -1;
}

static bool box_is_full(vigil_loop *on, void *arg)
{
    (void)on;
    (void)arg;
    return atomic_load_explicit(&box, memory_order_relaxed) != 0;
}

static void *fill_box(void *arg)
{
    (void)arg;
    atomic_store_explicit(&box, 1, memory_order_release);
    atomic_thread_fence(
        memory_order_seq_cst); /* the box is full before the look at the loop; pairs with S2 in sleep.c */
    if (asleep())
        post_number(0, 1);
    return NULL;
}

static void hook_and_box(void)
{
    const vigil_hook_calls calls = {.size = sizeof calls, .prepare = take_box, .recheck = box_is_full};
    vigil_hook hook;
    make(true);
    vgc_assert(vigil_hook_add(loop, &calls, NULL, &hook) == 0, "the hook is added");
    pthread_t threads[2] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(fill_box, NULL)};
    finish(threads, 2);
    vgc_assert(the_setup()->end != AT_REST || boxes_taken == 1, "the loop does not sleep beside a full box");
}

/* ---- embedding ---- */

/* Another loop waits for this one's descriptor: a post makes it readable. */
static void embedded(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    pthread_t other = vgc_thread_start(produce, (void *)0); /* it may meet a descriptor that it has not seen made */
    int fd = vigil_loop_fd(loop);
    vgc_assert(fd >= 0, "there is a descriptor");
    int done = 0;
    while (done < the_setup()->pushes) {
        struct pollfd one = {.fd = fd, .events = POLLIN};
        vgc_assert(poll(&one, 1, -1) == 1, "the descriptor becomes readable");
        vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0, "a turn");
        done = 0;
        for (int i = 0; i < the_setup()->pushes; i++)
            done += ran(i);
    }
    vgc_thread_join(other);
    each_post_ended_once(true);
    destroy();
}

LOOP(hook, hook_and_box, "a recheck hook sees what comes while the loop falls asleep", "futex, 1 hook; at rest", FUTEX,
     AT_REST, 1, BY_CHANCE);
LOOP(hook_epoll, hook_and_box, "a recheck hook sees what comes while the loop falls asleep", "epoll, 1 hook; at rest",
     EPOLL, AT_REST, 1, BY_CHANCE);
LOOP(hook_end, hook_and_box, "a recheck hook does not keep a loop that ends", "futex, 1 hook; against shutdown", FUTEX,
     SHUTDOWN, 1, BY_CHANCE);
LOOP(embedded, embedded, "a post makes the loop's descriptor readable", "1 producer x 2, waited for with poll", FUTEX,
     SHUTDOWN, 2, BY_CHANCE);
