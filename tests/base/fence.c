/* SPDX-License-Identifier: MIT */
/*
 * The promise of the pair, tried out: two threads each store and then load the other's word. Without the fences this
 * machine lets both miss each other within a few thousand rounds; with them it may never happen.
 */
#include "alone.h"

#include <sched.h>

#include "base/fence.h"

typedef struct duel {
    vg_fence_mode mode;
    _Atomic uint64_t rounds; /* the often side may end them early */
    _Alignas(64) _Atomic uint64_t x;
    _Alignas(64) _Atomic uint64_t y;
    _Alignas(64) _Atomic uint64_t often_ready;
    _Alignas(64) _Atomic uint64_t seldom_ready;
    bool often_saw;
    bool seldom_saw;
} duel;

/* Both start a round as nearly at once as they can; one gives way when the other does not run. */
static void await(_Atomic uint64_t *word, uint64_t value)
{
    for (unsigned spins = 0; atomic_load_explicit(word, memory_order_acquire) < value; spins++) {
        if (spins > 200)
            (void)sched_yield();
    }
}

static void *seldom_side(void *arg)
{
    duel *d = arg;
    /* relaxed: the last one is written before often_ready is, which we have acquired */
    for (uint64_t i = 1; i <= atomic_load_explicit(&d->rounds, memory_order_relaxed); i++) {
        atomic_store_explicit(&d->seldom_ready, 2 * i - 1, memory_order_release);
        await(&d->often_ready, 2 * i - 1);
        atomic_store_explicit(&d->y, i, memory_order_relaxed);
        vg_fence_heavy(d->mode); /* pairs with vg_fence_light in a_store_is_seen_by_one_of_the_two */
        d->seldom_saw = atomic_load_explicit(&d->x, memory_order_relaxed) == i;
        atomic_store_explicit(&d->seldom_ready, 2 * i, memory_order_release);
        await(&d->often_ready, 2 * i);
    }
    return NULL;
}

static void a_store_is_seen_by_one_of_the_two(vg_fence_mode mode, uint64_t rounds)
{
    static duel d;
    d = (duel){.mode = mode, .rounds = rounds};
    const time_t end = seconds_now() + ENOUGH_S;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, seldom_side, &d), 0);
    uint64_t both_missed = 0;
    for (uint64_t i = 1; i <= rounds; i++) {
        if (i % 16 == 0 && seconds_now() >= end)
            rounds = i;
        atomic_store_explicit(&d.rounds, rounds, memory_order_relaxed);
        atomic_store_explicit(&d.often_ready, 2 * i - 1, memory_order_release);
        await(&d.seldom_ready, 2 * i - 1);
        atomic_store_explicit(&d.x, i, memory_order_relaxed);
        vg_fence_light(mode); /* pairs with vg_fence_heavy in seldom_side */
        d.often_saw = atomic_load_explicit(&d.y, memory_order_relaxed) == i;
        await(&d.seldom_ready, 2 * i);
        both_missed += !d.often_saw && !d.seldom_saw;
        atomic_store_explicit(&d.often_ready, 2 * i, memory_order_release);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(both_missed, 0);
}

static void two_full_fences_keep_the_promise(void **state)
{
    (void)state;
    a_store_is_seen_by_one_of_the_two(VG_FENCE_SYMMETRIC, scaled(300000, 10000));
}

static void a_compiler_barrier_and_a_membarrier_keep_the_promise(void **state)
{
    (void)state;
    if (vg_fence_register() != 0)
        skip();
    a_store_is_seen_by_one_of_the_two(VG_FENCE_MEMBARRIER, scaled(300000, 10000));
}

static void registering_again_and_fencing_leave_errno_alone(void **state)
{
    (void)state;
    errno = 4321;
    int rc = vg_fence_register();
    assert_int_equal(vg_fence_register(), rc);
    assert_true(rc == 0 || rc == -ENOSYS);
    vg_fence_heavy(rc == 0 ? VG_FENCE_MEMBARRIER : VG_FENCE_SYMMETRIC);
    assert_int_equal(errno, 4321);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_full_fences_keep_the_promise),
        cmocka_unit_test(a_compiler_barrier_and_a_membarrier_keep_the_promise),
        cmocka_unit_test(registering_again_and_fencing_leave_errno_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
