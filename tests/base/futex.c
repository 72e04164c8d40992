/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include <sched.h>
#include <signal.h>

#include "base/clock.h"
#include "base/futex.h"

static void a_wait_on_another_value_returns_at_once(void **state)
{
    (void)state;
    _Atomic uint32_t word = 1;
    assert_int_equal(vg_futex_wait(&word, 0, VG_NO_DEADLINE), 0);
}

static void a_wait_ends_at_its_deadline_and_not_before(void **state)
{
    (void)state;
    _Atomic uint32_t word = 0;
    errno = 4321;
    uint64_t deadline = vg_deadline_after(3000000);
    int rc;
    while ((rc = vg_futex_wait(&word, 0, deadline)) == 0) {
        /* for no reason: look again */
    }
    assert_int_equal(rc, -ETIMEDOUT);
    assert_true(vg_now_ns() >= deadline);
    assert_int_equal(vg_futex_wait(&word, 0, 1), -ETIMEDOUT); /* long ago */
    assert_int_equal(errno, 4321);
}

static void a_wake_without_sleepers_wakes_nobody(void **state)
{
    (void)state;
    _Atomic uint32_t word = 0;
    errno = 4321;
    assert_int_equal(vg_futex_wake(&word, VG_WAKE_ALL), 0);
    assert_int_equal(vg_futex_wake((_Atomic uint32_t *)(uintptr_t)8, 1), 0); /* its owner has gone */
    assert_int_equal(errno, 4321);
}

enum {
    SLEEPERS = 4
};

typedef struct dormitory {
    _Atomic uint32_t word;
    _Atomic uint32_t awake;
} dormitory;

static void *sleep_while_zero(void *arg)
{
    dormitory *d = *(dormitory **)arg;
    /* acquire: nothing to see but the value; the word is all that is shared */
    while (atomic_load_explicit(&d->word, memory_order_acquire) == 0)
        (void)vg_futex_wait(&d->word, 0, VG_NO_DEADLINE);
    atomic_fetch_add(&d->awake, 1);
    return NULL;
}

static void a_wake_wakes_as_many_as_it_says(void **state)
{
    (void)state;
    dormitory d = {.word = 0};
    dormitory *args[SLEEPERS] = {&d, &d, &d, &d};
    pthread_t threads[SLEEPERS];
    for (unsigned i = 0; i < SLEEPERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sleep_while_zero, &args[i]), 0);
    /* The word has not changed, so whoever is woken goes back to sleep: with a limit of one never two at once. */
    for (unsigned woken = 0; woken < 100;) {
        int now = vg_futex_wake(&d.word, 1);
        assert_in_range(now, 0, 1);
        woken += (unsigned)now;
        (void)sched_yield();
    }
    assert_int_equal(atomic_load(&d.awake), 0);
    atomic_store(&d.word, 1);
    assert_in_range(vg_futex_wake(&d.word, VG_WAKE_ALL), 0, SLEEPERS);
    for (unsigned i = 0; i < SLEEPERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&d.awake), SLEEPERS);
}

typedef struct rally {
    _Atomic uint32_t turn;
    uint32_t rounds;
    uint32_t plain; /* written by whose turn it is */
} rally;

typedef struct player {
    rally *game;
    uint32_t side;
} player;

static void *play(void *arg)
{
    player *me = arg;
    for (uint32_t i = me->side; i < me->game->rounds; i += 2) {
        uint32_t turn;
        while ((turn = atomic_load_explicit(&me->game->turn, memory_order_acquire)) != i)
            (void)vg_futex_wait(&me->game->turn, turn, VG_NO_DEADLINE);
        must(me->game->plain == i);
        me->game->plain = i + 1;
        atomic_store_explicit(&me->game->turn, i + 1, memory_order_release);
        (void)vg_futex_wake(&me->game->turn, 1);
    }
    return NULL;
}

static void no_wake_is_lost_between_two_that_take_turns(void **state)
{
    (void)state;
    rally game = {.turn = 0, .rounds = (uint32_t)scaled(200000, 10000)};
    player players[2] = {{&game, 0}, {&game, 1}};
    on_threads(2, play, players, sizeof players[0]);
    assert_int_equal(game.plain, game.rounds);
}

static _Atomic int signals;

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&signals, 1);
}

typedef struct light_sleeper {
    _Atomic uint32_t word;
    _Atomic int result; /* 1: none yet */
} light_sleeper;

static void *sleep_once(void *arg)
{
    light_sleeper *s = arg;
    atomic_store(&s->result, vg_futex_wait(&s->word, 0, vg_deadline_after(60000000000)));
    return NULL;
}

static void a_signal_ends_a_wait_for_no_reason_and_not_as_a_timeout(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART */
    struct sigaction before;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    light_sleeper s = {.word = 0, .result = 1};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, sleep_once, &s), 0);
    while (atomic_load(&s.result) == 1) { /* the first may come before it sleeps */
        (void)pthread_kill(thread, SIGUSR1);
        (void)sched_yield();
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&s.result), 0);
    assert_true(atomic_load(&signals) > 0);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_on_another_value_returns_at_once),
        cmocka_unit_test(a_wait_ends_at_its_deadline_and_not_before),
        cmocka_unit_test(a_wake_without_sleepers_wakes_nobody),
        cmocka_unit_test(a_wake_wakes_as_many_as_it_says),
        cmocka_unit_test(no_wake_is_lost_between_two_that_take_turns),
        cmocka_unit_test(a_signal_ends_a_wait_for_no_reason_and_not_as_a_timeout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
