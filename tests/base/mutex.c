/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include <sched.h>

#include "base/mutex.h"

enum {
    THREADS = 8
};

typedef struct till {
    vg_mutex lock;
    uint64_t first; /* plain: the lock alone keeps them equal */
    uint64_t second;
} till;

typedef struct cashier {
    till *till;
    uint64_t rounds;
} cashier;

static void *count(void *arg)
{
    cashier *me = arg;
    for (uint64_t i = 0; i < me->rounds; i++) {
        vg_mutex_lock(&me->till->lock);
        must(me->till->first == me->till->second);
        me->till->first++;
        if (i % 256 == 0)
            (void)sched_yield(); /* let the others run into the lock */
        me->till->second++;
        vg_mutex_unlock(&me->till->lock);
    }
    return NULL;
}

static void one_thread_at_a_time_is_inside(void **state)
{
    (void)state;
    till t = {.first = 0};
    vg_mutex_init(&t.lock);
    cashier cashiers[THREADS];
    uint64_t rounds = scaled(500000, 5000);
    for (unsigned i = 0; i < THREADS; i++)
        cashiers[i] = (cashier){.till = &t, .rounds = rounds};
    on_threads(THREADS, count, cashiers, sizeof cashiers[0]);
    assert_int_equal(t.first, THREADS * rounds);
    assert_int_equal(t.second, THREADS * rounds);
    assert_int_equal(atomic_load(&t.lock.state), 0);
}

static void a_lock_that_nobody_wants_makes_no_sleepers(void **state)
{
    (void)state;
    vg_mutex lock;
    vg_mutex_init(&lock);
    for (unsigned i = 0; i < 3; i++) {
        vg_mutex_lock(&lock);
        assert_int_equal(atomic_load(&lock.state), 1); /* 2 would cost the unlock a system call */
        vg_mutex_unlock(&lock);
        assert_int_equal(atomic_load(&lock.state), 0);
    }
}

static void whoever_sleeps_at_the_lock_is_woken_by_the_unlock(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        till t = {.first = 0};
        vg_mutex_init(&t.lock);
        cashier cashiers[3] = {{&t, 1}, {&t, 1}, {&t, 1}};
        pthread_t threads[3];
        vg_mutex_lock(&t.lock);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, count, &cashiers[i]), 0);
        while (atomic_load(&t.lock.state) != 2)
            (void)sched_yield();
        assert_int_equal(t.first, 0);
        vg_mutex_unlock(&t.lock);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(t.first, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_at_a_time_is_inside),
        cmocka_unit_test(a_lock_that_nobody_wants_makes_no_sleepers),
        cmocka_unit_test(whoever_sleeps_at_the_lock_is_woken_by_the_unlock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
