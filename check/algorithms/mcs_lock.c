/* SPDX-License-Identifier: MIT */
/*
 * The queue lock of Mellor-Crummey and Scott: each thread waits on a word of its own. An unlock that finds no successor must take the tail
 * back by compare-exchange, and wait for one that is about to link itself if that fails.
 */
#include <vigil_check.h>
#include <stdatomic.h>
#include <stddef.h>

struct node {
    struct node *_Atomic next;
    _Atomic int waiting;
};

static struct node *_Atomic tail;
static struct node nodes[3];
static int data;

static void lock(struct node *me)
{
    atomic_store_explicit(&me->next, NULL, memory_order_relaxed);
    atomic_store_explicit(&me->waiting, 1, memory_order_relaxed);
    struct node *before = atomic_exchange_explicit(&tail, me, memory_order_acq_rel);
    if (before == NULL)
        return;
    atomic_store_explicit(&before->next, me, memory_order_release);
    while (atomic_load_explicit(&me->waiting, memory_order_acquire))
        ;
}

static void unlock(struct node *me, bool waits_for_successor)
{
    struct node *after = atomic_load_explicit(&me->next, memory_order_acquire);
    if (after == NULL) {
        struct node *mine = me;
        if (atomic_compare_exchange_strong_explicit(&tail, &mine, NULL, memory_order_release, memory_order_relaxed))
            return;
        if (!waits_for_successor)
            return;
        while ((after = atomic_load_explicit(&me->next, memory_order_acquire)) == NULL)
            ;
    }
    atomic_store_explicit(&after->waiting, 0, memory_order_release);
}

static void section(struct node *me, bool waits_for_successor)
{
    lock(me);
    data++;
    unlock(me, waits_for_successor);
}

static void *right(void *me)
{
    section(me, true);
    return NULL;
}

static void *wrong(void *me)
{
    section(me, false);
    return NULL;
}

static void run(void *(*thread)(void *))
{
    pthread_t a = vgc_thread_start(thread, &nodes[1]), b = vgc_thread_start(thread, &nodes[2]);
    thread(&nodes[0]);
    vgc_thread_join(a);
    vgc_thread_join(b);
    vgc_assert(data == 3, "each once");
}

VGC_SCENARIO(mcs_lock, "one thread is inside at a time, and nobody is forgotten", .bound = "3 threads x 1")
{
    run(right);
}

VGC_SCENARIO(mcs_lock_forgets, "an unlock that does not wait for its successor forgets it", .expect = VGC_ENDLESS_LOOP)
{
    run(wrong);
}
