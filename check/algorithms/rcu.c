/* SPDX-License-Identifier: MIT */
/*
 * Readers that pay nothing (user-space RCU with membarrier). A reader says that it reads, then follows the pointer; a writer takes the
 * pointer away, runs membarrier, and waits until nobody reads that might have seen the old one. The barrier stands for the fence that the
 * reader does not have.
 */
#include <vigil_check.h>
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int *_Atomic current;
static _Atomic int reading;

static void *reader(void *arg)
{
    atomic_store_explicit(&reading, 1, memory_order_relaxed);
    int *seen = atomic_load_explicit(&current, memory_order_acquire);
    vgc_assert(*seen == 1 || *seen == 2, "one of the two");
    atomic_store_explicit(&reading, 0, memory_order_release);
    return arg;
}

static void barrier(bool there)
{
    if (there)
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

static void run(bool with_barrier)
{
    int *old = malloc(sizeof *old), *fresh = malloc(sizeof *fresh);
    *old = 1;
    *fresh = 2;
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    atomic_store_explicit(&current, old, memory_order_release);
    pthread_t t = vgc_thread_start(reader, NULL);
    atomic_store_explicit(&current, fresh, memory_order_release);
    barrier(with_barrier);
    while (atomic_load_explicit(&reading, memory_order_acquire))
        ;
    barrier(with_barrier);
    free(old);
    vgc_thread_join(t);
    free(fresh);
}

VGC_SCENARIO(rcu, "the old version is freed when nobody can see it", .bound = "1 reader, 1 update")
{
    run(true);
}

VGC_SCENARIO(rcu_without_barrier, "without the barrier a reader is overlooked", .expect = VGC_USE_AFTER_FREE)
{
    run(false);
}
