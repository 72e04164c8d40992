/* SPDX-License-Identifier: MIT */
/*
 * The ground floor when the system says no: every part answers with an error, keeps what it had, and goes on working when
 * the system does.
 */
#include "support.h"

#include "faults.h"

#include "base/fence.h"
#include "base/forkguard.h"
#include "base/handles.h"
#include "base/heap.h"
#include "base/mutex.h"
#include "base/slab.h"
#include "base/thread.h"

static void a_slab_without_memory_says_so_and_goes_on_later(void **state)
{
    (void)state;
    faults_reset();
    vg_slab slab;
    vg_slab_cache cache;
    vg_slab_init(&slab, 4096);
    vg_slab_cache_init(&cache, &slab);
    must_equal(faults_calls(FAULT_ALLOC), 0); /* nothing up front */
    faults_fail_after(FAULT_ALLOC, 1);
    void *held[64];
    unsigned count = 0;
    while (count < count_of(held) && (held[count] = vg_slab_alloc(&cache)) != NULL)
        count++;
    must_be_between(count, 1, count_of(held) - 1); /* one chunk, and no more */
    must(vg_slab_alloc(&cache) == NULL);
    must_equal(vg_slab_chunks(&slab), 1);
    vg_slab_free(&cache, held[0]);
    must(vg_slab_alloc(&cache) == held[0]); /* what is there is still good */
    faults_reset();
    must(vg_slab_alloc(&cache) != NULL);
    must_equal(vg_slab_chunks(&slab), 2);
    vg_slab_destroy(&slab);
}

static void a_warm_slab_asks_for_no_memory(void **state)
{
    (void)state;
    vg_slab slab;
    vg_slab_cache maker;
    vg_slab_cache taker;
    vg_slab_init(&slab, 64);
    vg_slab_cache_init(&maker, &slab);
    vg_slab_cache_init(&taker, &slab);
    for (unsigned round = 0; round < 1000; round++) {
        void *held[1000];
        for (unsigned i = 0; i < count_of(held); i++)
            must((held[i] = vg_slab_alloc(&maker)) != NULL);
        for (unsigned i = 0; i < count_of(held); i++)
            vg_slab_free(i % 3 == 0 ? &maker : &taker, held[i]);
        if (round == 0)
            faults_reset(); /* warm from here on, but for what the taker still holds in a batch */
    }
    must_be_between(faults_calls(FAULT_ALLOC), 0, 1);
    vg_slab_destroy(&slab);
}

static void handles_without_memory_lose_no_place(void **state)
{
    (void)state;
    enum {
        MOST = 1000
    };
    vg_handles table;
    faults_reset();
    faults_fail_at(FAULT_ALLOC, 1);
    must_equal(vg_handles_init(&table, 64, MOST), -ENOMEM);
    faults_reset();
    must_equal(vg_handles_init(&table, 64, MOST), 0);
    unsigned made = 0;
    unsigned refused = 0;
    while (made < MOST) {
        uint64_t handle;
        faults_fail_at(FAULT_ALLOC, 1); /* each growth fails once before it succeeds */
        void *record = vg_handles_alloc(&table, 1, &handle);
        if (record == NULL) {
            refused++;
            faults_reset();
            must((record = vg_handles_alloc(&table, 1, &handle)) != NULL);
        }
        must(vg_handles_acquire(&table, handle) == record);
        made++;
    }
    must_equal(refused, 4); /* 64, then 128, 256, 512 and the rest */
    uint64_t handle;
    must(vg_handles_alloc(&table, 1, &handle) == NULL); /* full, at exactly as many as promised */
    vg_handles_destroy(&table);
}

static void a_heap_that_cannot_grow_keeps_its_entries(void **state)
{
    (void)state;
    faults_reset();
    vg_heap heap;
    vg_heap_init(&heap);
    faults_fail_at(FAULT_ALLOC, 1);
    must_equal(vg_heap_push(&heap, (vg_heap_entry){.key = 1}), -ENOMEM);
    must_equal(vg_heap_size(&heap), 0);
    faults_fail_after(FAULT_ALLOC, 2);
    uint32_t pushed = 0;
    while (vg_heap_push(&heap, (vg_heap_entry){.key = 100000 - pushed, .slot = pushed}) == 0)
        pushed++;
    must_be_between(pushed, 61, 99999);
    must_equal(vg_heap_reserve(&heap, pushed), 0); /* there is room for these */
    must_equal(vg_heap_reserve(&heap, pushed + 1), -ENOMEM);
    must_equal(vg_heap_size(&heap), pushed);
    while (pushed-- > 0)
        must_equal(vg_heap_pop(&heap).slot, pushed);
    faults_reset();
    must_equal(vg_heap_reserve(&heap, 100000), 0);
    uint64_t calls = faults_calls(FAULT_ALLOC);
    for (unsigned i = 0; i < 100000; i++)
        must_equal(vg_heap_push(&heap, (vg_heap_entry){.key = i}), 0);
    must_equal(faults_calls(FAULT_ALLOC), calls); /* reserved is reserved */
    vg_heap_destroy(&heap);
}

static void *never(void *arg)
{
    return arg;
}

static void a_thread_or_a_page_or_a_membarrier_that_cannot_be_had_is_an_error(void **state)
{
    (void)state;
    faults_reset();
    faults_fail_at(FAULT_THREAD, 1);
    pthread_t thread;
    must_equal(vg_thread_start(&thread, 0, never, NULL), -EAGAIN);
    must_equal(vg_thread_start(&thread, 0, never, NULL), 0);
    vg_thread_join(thread);
    vg_forkguard guard;
    faults_fail_at(FAULT_ALLOC, 1);
    must_equal(vg_forkguard_init(&guard), -ENOMEM);
    must_equal(vg_forkguard_init(&guard), 0);
    vg_forkguard_destroy(&guard);
    faults_no_membarrier();
    must_equal(vg_fence_register(), -ENOSYS);
    faults_reset();
}

typedef struct account {
    vg_mutex lock;
    uint64_t sum;
    uint64_t rounds;
} account;

static void *pay_in(void *arg)
{
    account *a = arg;
    for (uint64_t i = 0; i < a->rounds; i++) {
        vg_mutex_lock(&a->lock);
        a->sum++;
        vg_mutex_unlock(&a->lock);
    }
    return NULL;
}

static void a_lock_holds_though_its_waits_return_for_no_reason(void **state)
{
    (void)state;
    faults_reset();
    faults_futex(FUTEX_MIXED, 4);
    account a = {.rounds = scaled(100000, 2000)};
    vg_mutex_init(&a.lock);
    vg_mutex_lock(&a.lock); /* so that all of them have to wait at least once */
    pthread_t threads[4];
    for (unsigned i = 0; i < count_of(threads); i++)
        threads[i] = start_thread(pay_in, &a);
    while (faults_syscalls().faked == 0)
        yield();
    must_equal(a.sum, 0);
    vg_mutex_unlock(&a.lock);
    for (unsigned i = 0; i < count_of(threads); i++)
        join_thread(threads[i]);
    must_equal(a.sum, count_of(threads) * a.rounds);
    faults_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_slab_without_memory_says_so_and_goes_on_later),
        test(a_warm_slab_asks_for_no_memory),
        test(handles_without_memory_lose_no_place),
        test(a_heap_that_cannot_grow_keeps_its_entries),
        test(a_thread_or_a_page_or_a_membarrier_that_cannot_be_had_is_an_error),
        test(a_lock_holds_though_its_waits_return_for_no_reason),
    };
    return run_all(tests);
}
