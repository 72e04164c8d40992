/* SPDX-License-Identifier: MIT */
/* A ring for one producer and one consumer. Each index is written by one side; it must release what that side did to the slots. */
#include <vigil_check.h>
#include <stdatomic.h>

enum {
    SLOTS = 2,
    ITEMS = 3
};

static _Atomic unsigned head, tail;
static int slots[SLOTS];

static bool put(int value, memory_order publish)
{
    unsigned t = atomic_load_explicit(&tail, memory_order_relaxed);
    if (t - atomic_load_explicit(&head, memory_order_acquire) == SLOTS)
        return false;
    slots[t % SLOTS] = value;
    atomic_store_explicit(&tail, t + 1, publish);
    return true;
}

static bool get(int *value, memory_order give_back)
{
    unsigned h = atomic_load_explicit(&head, memory_order_relaxed);
    if (h == atomic_load_explicit(&tail, memory_order_acquire))
        return false;
    *value = slots[h % SLOTS];
    atomic_store_explicit(&head, h + 1, give_back);
    return true;
}

static void *producer(void *relaxed)
{
    for (int i = 1; i <= ITEMS; i++)
        while (!put(i, relaxed != NULL ? memory_order_relaxed : memory_order_release))
            ;
    return NULL;
}

static void consume(memory_order give_back)
{
    for (int i = 1; i <= ITEMS; i++) {
        int value = 0;
        while (!get(&value, give_back))
            ;
        vgc_assert(value == i, "in order, none lost");
    }
}

VGC_SCENARIO(spsc_ring, "each item once, in order", .bound = "2 slots, 3 items")
{
    pthread_t t = vgc_thread_start(producer, NULL);
    consume(memory_order_release);
    vgc_thread_join(t);
}

VGC_SCENARIO(spsc_ring_put_relaxed, "the item is not there yet", .expect = VGC_DATA_RACE)
{
    pthread_t t = vgc_thread_start(producer, &head);
    consume(memory_order_release);
    vgc_thread_join(t);
}

VGC_SCENARIO(spsc_ring_get_relaxed, "the slot is written while it is read", .expect = VGC_DATA_RACE)
{
    pthread_t t = vgc_thread_start(producer, NULL);
    consume(memory_order_relaxed);
    vgc_thread_join(t);
}
