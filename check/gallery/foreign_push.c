/* SPDX-License-Identifier: MIT */
/*
 * A stranger pushes to the owner's end of a deque. This is what really hung the original: 1146 tasks submitted, 1145 completed, every
 * deque empty, all 33 workers asleep with nothing to do. No wake-up could have helped: the task was gone.
 *
 * Claimed: a work-stealing deque is thread-safe, so a submitter may push to the deque of the worker that it chooses.
 *
 * True: it is safe for one owner and many thieves. The owner's end (push and pop) is written for one thread: it reads the
 * index, writes the slot and writes the index back, in three steps. A second thread there overwrites a slot that has just been filled
 * (a task is lost), or puts back an index that has just been moved (a task comes out twice). That happens under plain sequential
 * consistency, so no fence mends it, and every wake protocol is innocent.
 *
 * Here: the owner has two tasks in its deque and pops, a stranger pushes a third. The first exhibit asks only whether a task is lost, the
 * second only whether one is run twice; the third lets two strangers push at once. In the control the stranger puts its task where
 * strangers may, and the owner fetches it from there.
 */
#include "deque.h"

static void *stranger(void *arg)
{
    deque_push((int)(intptr_t)arg);
    return NULL;
}

static void pop_rest(void)
{
    for (int i = 0; i < DEQUE_SIZE; i++)
        came_out(deque_pop(true));
}

static void owner_pops_while_stranger_pushes(void)
{
    deque_push(1);
    deque_push(2);
    pthread_t t = vgc_thread_start(stranger, (void *)3);
    came_out(deque_pop(true));
    vgc_thread_join(t);
    pop_rest();
}

VGC_SCENARIO(foreign_push_loses, "each task comes out", .expect = VGC_ASSERTION,
             .bound = "owner: 2 tasks, pops; 1 foreign push", .opt.sc_memory = true, .opt.time_limit = GALLERY_SECONDS)
{
    owner_pops_while_stranger_pushes();
    vgc_assert(times_seen(1) != 0 && times_seen(2) != 0 && times_seen(3) != 0,
               "a task has vanished, and the deque is empty");
}

VGC_SCENARIO(foreign_push_repeats, "no task comes out twice", .expect = VGC_ASSERTION,
             .bound = "owner: 2 tasks, pops; 1 foreign push", .opt.sc_memory = true, .opt.time_limit = GALLERY_SECONDS)
{
    owner_pops_while_stranger_pushes();
    vgc_assert(times_seen(1) <= 1 && times_seen(2) <= 1 && times_seen(3) <= 1, "a task was run twice");
}

VGC_SCENARIO(foreign_push_by_two, "each task comes out", .expect = VGC_ASSERTION,
             .bound = "2 foreign pushes, then pops", .opt.sc_memory = true, .opt.time_limit = GALLERY_SECONDS)
{
    pthread_t a = vgc_thread_start(stranger, (void *)1);
    pthread_t b = vgc_thread_start(stranger, (void *)2);
    vgc_thread_join(a);
    vgc_thread_join(b);
    pop_rest();
    vgc_assert(times_seen(1) == 1 && times_seen(2) == 1, "a task has vanished, and the deque is empty");
}

/* ---- the control: strangers have their own place ----------------------------------------------------------------- */

static _Atomic int injected;

static void *polite_stranger(void *arg)
{
    atomic_store_explicit(&injected, (int)(intptr_t)arg, memory_order_release); /* the task; pairs with the exchange */
    return NULL;
}

static void fetch_injected(void)
{
    int item = atomic_exchange_explicit(&injected, NOTHING, memory_order_acquire); /* pairs with polite_stranger */
    if (item != NOTHING)
        deque_push(item);
}

static void *thief(void *arg)
{
    (void)arg;
    came_out(deque_steal(true));
    return NULL;
}

VGC_SCENARIO(push_by_way_of_injector, "each task comes out exactly once", .bound = "owner, 1 stranger, 1 thief",
             .opt.time_limit = GALLERY_SECONDS)
{
    deque_push(1);
    pthread_t s = vgc_thread_start(polite_stranger, (void *)2);
    pthread_t t = vgc_thread_start(thief, NULL);
    fetch_injected();
    came_out(deque_pop(true));
    vgc_thread_join(s);
    vgc_thread_join(t);
    fetch_injected();
    pop_rest();
    vgc_assert(times_seen(1) == 1 && times_seen(2) == 1, "each task came out exactly once");
}
