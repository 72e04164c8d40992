/* SPDX-License-Identifier: MIT */
/* A ticket lock: first come, first served. The unlock must release, or the next owner does not see what was written under it. */
#include <vigil_check.h>
#include <stdatomic.h>

static _Atomic unsigned next, serving;
static int data;

static void section(memory_order unlock)
{
    unsigned mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&serving, memory_order_acquire) != mine)
        ;
    data++;
    atomic_store_explicit(&serving, mine + 1, unlock);
}

static void *right(void *arg)
{
    section(memory_order_release);
    return arg;
}

static void *wrong(void *arg)
{
    section(memory_order_relaxed);
    return arg;
}

static void three(void *(*thread)(void *))
{
    pthread_t a = vgc_thread_start(thread, NULL), b = vgc_thread_start(thread, NULL);
    thread(NULL);
    vgc_thread_join(a);
    vgc_thread_join(b);
    vgc_assert(data == 3, "each once");
}

VGC_SCENARIO(ticket_lock, "one thread is inside at a time, and sees what the last one wrote", .bound = "3 threads x 1")
{
    three(right);
}

VGC_SCENARIO(ticket_lock_relaxed, "a relaxed unlock publishes nothing", .expect = VGC_DATA_RACE)
{
    three(wrong);
}
