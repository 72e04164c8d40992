/* SPDX-License-Identifier: MIT */
/*
 * The futex lock. Property: one holder at a time, each sees what the last one wrote, and nobody sleeps beside a free lock
 * (that would be a deadlock at the end). Sleeps may return for no reason.
 */
#include <vigil_check.h>

#include "base/mutex.h"

static vg_mutex mutex;
static int counter;

static void *count_up(void *arg)
{
    for (intptr_t i = (intptr_t)arg; i > 0; i--) {
        vg_mutex_lock(&mutex);
        counter++; /* plain: two at a time would be a race */
        vg_mutex_unlock(&mutex);
    }
    return NULL;
}

static void lock_in_turns(int threads, intptr_t rounds)
{
    pthread_t other[2];
    vg_mutex_init(&mutex);
    for (int i = 0; i < threads - 1; i++)
        other[i] = vgc_thread_start(count_up, (void *)rounds);
    (void)count_up((void *)rounds);
    vgc_quiesce();
    vg_mutex_lock(&mutex);
    vgc_assert(counter == threads * (int)rounds, "nobody sleeps beside a free lock");
    vg_mutex_unlock(&mutex);
    for (int i = 0; i < threads - 1; i++)
        vgc_thread_join(other[i]);
}

VGC_SCENARIO(mutex_two_twice, "one holder at a time, and nobody sleeps beside a free lock", .opt.spurious = 1,
             .bound = "2 threads x 2, 1 spurious return")
{
    lock_in_turns(2, 2);
}

VGC_SCENARIO(mutex_three, "one holder at a time, and nobody sleeps beside a free lock", .opt.spurious = 1,
             .bound = "3 threads x 1, 1 spurious return")
{
    lock_in_turns(3, 1);
}

VGC_SCENARIO(mutex_3x2, "one holder at a time, and nobody sleeps beside a free lock", .deep = true,
             .bound = "3 threads x 2")
{
    lock_in_turns(3, 2);
}
