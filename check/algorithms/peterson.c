/* SPDX-License-Identifier: MIT */
/*
 * Peterson's lock for two threads. Each announces itself, then looks at the other: that needs a full order between a store and a
 * load, which release and acquire do not give.
 */
#include <vigil_check.h>
#include <stdatomic.h>

static _Atomic int wants[2], turn;
static int inside;

static void lock(int me, memory_order store, memory_order load)
{
    atomic_store_explicit(&wants[me], 1, store);
    atomic_store_explicit(&turn, 1 - me, store);
    while (atomic_load_explicit(&wants[1 - me], load) && atomic_load_explicit(&turn, load) == 1 - me)
        ;
}

static void unlock(int me)
{
    atomic_store_explicit(&wants[me], 0, memory_order_release);
}

static void section(int me, memory_order store, memory_order load)
{
    lock(me, store, load);
    inside++;
    unlock(me);
}

static void *strong(void *me)
{
    section((int)(intptr_t)me, memory_order_seq_cst, memory_order_seq_cst);
    return NULL;
}

static void *weak(void *me)
{
    section((int)(intptr_t)me, memory_order_release, memory_order_acquire);
    return NULL;
}

static void two(void *(*thread)(void *))
{
    pthread_t t = vgc_thread_start(thread, (void *)1);
    thread(NULL);
    vgc_thread_join(t);
    vgc_assert(inside == 2, "both were inside, one after the other");
}

VGC_SCENARIO(peterson, "one thread is inside at a time", .bound = "2 threads x 1")
{
    two(strong);
}

VGC_SCENARIO(peterson_acquire_release, "release and acquire are not enough", .expect = VGC_DATA_RACE)
{
    two(weak);
}
