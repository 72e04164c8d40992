/* SPDX-License-Identifier: MIT */
/* Semaphore, once, latch and barrier. */
#include "support.h"

#include "dice.h"

#include <vigil/sync.h>

/* ---- semaphore: a sequential model beside random operations ---- */

static void a_semaphore_counts_as_its_model_does(void **state)
{
    (void)state;
    struct dice dice = dice_of_run();
    for (uint64_t round = scaled(200, 20); round > 0; round--) {
        const uint64_t limit = 1 + roll(&dice, 20);
        uint64_t model = roll(&dice, (uint32_t)limit + 1);
        vigil_semaphore semaphore;
        must_equal(vigil_semaphore_init(&semaphore, model, limit), 0);
        for (int step = 0; step < 200; step++) {
            const uint64_t units = roll(&dice, (uint32_t)limit + 3);
            if (one_in(&dice, 2)) {
                const int answer = vigil_semaphore_acquire(&semaphore, units, 0, NULL);
                must_equal(answer, units <= model ? 0 : units > limit ? -EINVAL : -ETIMEDOUT);
                model -= answer == 0 ? units : 0;
            } else {
                const int answer = vigil_semaphore_post(&semaphore, units);
                must_equal(answer, model + units <= limit ? 0 : -EOVERFLOW);
                model += answer == 0 ? units : 0;
            }
            must_equal(vigil_semaphore_units(&semaphore), model);
        }
    }
}

struct budget {
    vigil_semaphore semaphore;
    _Atomic uint64_t used, most;
    uint64_t units, rounds;
    vigil_cancel_token *token;
    struct tally gave_up;
};

static void *spend(void *arg)
{
    struct budget *budget = arg;
    struct dice dice = {.state = (uint64_t)(uintptr_t)&dice | 1};
    for (uint64_t i = 0; i < budget->rounds; i++) {
        const uint64_t units = 1 + roll(&dice, (uint32_t)budget->units);
        const int64_t timeout = one_in(&dice, 4) ? (int64_t)roll(&dice, 50000) : VIGIL_FOREVER;
        const int answer = vigil_semaphore_acquire(&budget->semaphore, units, timeout, NULL);
        if (answer != 0) {
            must_equal(answer, -ETIMEDOUT);
            continue;
        }
        must(atomic_fetch_add(&budget->used, units) + units <= budget->units);
        if (one_in(&dice, 16))
            yield();
        (void)atomic_fetch_sub(&budget->used, units);
        must_equal(vigil_semaphore_post(&budget->semaphore, units), 0);
    }
    return NULL;
}

static void never_more_units_are_out_than_there_are(void **state)
{
    (void)state;
    struct budget budget = {.units = 5, .rounds = scaled(5000, 100)};
    must_equal(vigil_semaphore_init(&budget.semaphore, budget.units, budget.units), 0);
    pthread_t threads[5];
    for (size_t i = 0; i < count_of(threads); i++)
        threads[i] = start_thread(spend, &budget);
    for (size_t i = 0; i < count_of(threads); i++)
        join_thread(threads[i]);
    must_equal(vigil_semaphore_units(&budget.semaphore), budget.units);
    must_equal(vigil_semaphore_acquire(&budget.semaphore, budget.units, 0, NULL), 0);
}

static void *want_all(void *arg)
{
    struct budget *budget = arg;
    must_equal(vigil_semaphore_acquire(&budget->semaphore, budget->units, VIGIL_FOREVER, NULL), 0);
    tally_add(&budget->gave_up, 1);
    must_equal(vigil_semaphore_post(&budget->semaphore, budget->units), 0);
    return NULL;
}

static void *want_one(void *arg)
{
    struct budget *budget = arg;
    while (tally_get(&budget->gave_up) == 0) {
        must_equal(vigil_semaphore_acquire(&budget->semaphore, 1, VIGIL_FOREVER, NULL), 0);
        must_equal(vigil_semaphore_post(&budget->semaphore, 1), 0);
    }
    return NULL;
}

static void small_requests_do_not_starve_a_large_one(void **state)
{
    (void)state;
    struct budget budget = {.units = 3};
    must_equal(vigil_semaphore_init(&budget.semaphore, budget.units, 0), 0);
    pthread_t threads[5];
    for (size_t i = 0; i < count_of(threads); i++)
        threads[i] = start_thread(i == 4 ? want_all : want_one, &budget);
    for (size_t i = 0; i < count_of(threads); i++)
        join_thread(threads[i]);
    must_equal(vigil_semaphore_units(&budget.semaphore), budget.units);
}

static void *want_with_token(void *arg)
{
    struct budget *budget = arg;
    must_equal(vigil_semaphore_acquire(&budget->semaphore, 2, VIGIL_FOREVER, budget->token), -ECANCELED);
    return NULL;
}

static void who_waits_behind_one_that_gives_up_goes_on(void **state)
{
    (void)state;
    struct budget budget = {.units = 1};
    vigil_cancel_source *source = NULL;
    must_equal(vigil_cancel_create(&source), 0);
    budget.token = vigil_cancel_token_of(source);
    must_equal(vigil_semaphore_init(&budget.semaphore, 0, 0), 0);
    const pthread_t first = start_thread(want_with_token, &budget);
    while ((atomic_load(&budget.semaphore.vg_count) >> 63) == 0) /* WAITERS of semaphore.c */
        yield();
    const pthread_t second = start_thread(want_all, &budget);
    must_equal(vigil_semaphore_post(&budget.semaphore, 1), 0);
    must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
    join_thread(first);
    join_thread(second);
    must_equal(vigil_semaphore_units(&budget.semaphore), 1);
    vigil_cancel_destroy(source);
}

/* ---- once ---- */

struct first {
    vigil_once once;
    _Atomic unsigned calls;
    unsigned fail; /* so many calls fail */
    struct tally succeeded;
};

static int happen(void *arg)
{
    struct first *first = arg;
    if (atomic_fetch_add(&first->calls, 1) >= first->fail)
        return 7;
    if (atomic_load(&first->calls) % 2 == 0)
        vigil_raise(-EPROTO);
    return -EPROTO;
}

static void *let_happen(void *arg)
{
    struct first *first = arg;
    const int answer = vigil_once_run(&first->once, happen, first, VIGIL_FOREVER, NULL);
    if (answer == 0)
        tally_add(&first->succeeded, 1);
    else
        must_equal(answer, -EPROTO);
    return NULL;
}

static void once_happens_once_and_failures_do_not_count(void **state)
{
    (void)state;
    for (uint64_t round = scaled(300, 20); round > 0; round--) {
        struct first first = {.once = VIGIL_ONCE_INIT, .fail = (unsigned)(round % 3)};
        pthread_t threads[4];
        for (size_t i = 0; i < count_of(threads); i++)
            threads[i] = start_thread(let_happen, &first);
        for (size_t i = 0; i < count_of(threads); i++)
            join_thread(threads[i]);
        must_equal(tally_get(&first.succeeded), 4 - first.fail);
        must_equal(atomic_load(&first.calls), first.fail + 1);
    }
}

static int ask_again(void *arg)
{
    must_equal(vigil_once_run(arg, ask_again, arg, VIGIL_FOREVER, NULL), -EDEADLK);
    return 0;
}

static void once_inside_itself_is_refused(void **state)
{
    (void)state;
    vigil_once once = VIGIL_ONCE_INIT;
    must_equal(vigil_once_run(&once, ask_again, &once, 0, NULL), 0);
}

/* ---- latch ---- */

static void *count_down(void *arg)
{
    must_equal(vigil_latch_down(arg, 1), 0);
    return NULL;
}

static void whoever_waits_for_a_latch_may_free_it(void **state)
{
    (void)state;
    for (uint64_t round = scaled(300, 20); round > 0; round--) {
        vigil_latch *latch = malloc(sizeof *latch);
        must(latch != NULL);
        must_equal(vigil_latch_init(latch, 3), 0);
        must_equal(vigil_latch_wait(latch, 0, NULL), -ETIMEDOUT);
        pthread_t threads[3];
        for (size_t i = 0; i < count_of(threads); i++)
            threads[i] = start_thread(count_down, latch);
        must_equal(vigil_latch_wait(latch, VIGIL_FOREVER, NULL), 0);
        must_equal(vigil_latch_down(latch, 1), -EINVAL);
        free(latch);
        for (size_t i = 0; i < count_of(threads); i++)
            join_thread(threads[i]);
    }
}

/* ---- barrier ---- */

struct rounds {
    vigil_barrier barrier;
    unsigned parties;
    uint64_t rounds;
    _Atomic uint64_t last;
    _Atomic uint64_t in_round[2];
};

static void *go_round(void *arg)
{
    struct rounds *rounds = arg;
    for (uint64_t i = 0; i < rounds->rounds; i++) {
        (void)atomic_fetch_add(&rounds->in_round[i % 2], 1);
        const int answer = vigil_barrier_wait(&rounds->barrier, VIGIL_FOREVER, NULL);
        must(answer == 0 || answer == 1);
        must_equal(atomic_load(&rounds->in_round[i % 2]), (i / 2 + 1) * rounds->parties);
        (void)atomic_fetch_add(&rounds->last, (uint64_t)answer);
        must(vigil_barrier_wait(&rounds->barrier, VIGIL_FOREVER, NULL) >= 0);
    }
    return NULL;
}

static void nobody_passes_a_barrier_alone(void **state)
{
    (void)state;
    struct rounds rounds = {.parties = 4, .rounds = scaled(500, 20)};
    must_equal(vigil_barrier_init(&rounds.barrier, rounds.parties), 0);
    pthread_t threads[4];
    for (size_t i = 0; i < count_of(threads); i++)
        threads[i] = start_thread(go_round, &rounds);
    for (size_t i = 0; i < count_of(threads); i++)
        join_thread(threads[i]);
    must_equal(atomic_load(&rounds.last), rounds.rounds);
}

static void *arrive_for_a_moment(void *arg)
{
    const int answer = vigil_barrier_wait(arg, 1000, NULL);
    must(answer == -ETIMEDOUT || answer >= 0);
    return (void *)(intptr_t)answer;
}

static void who_leaves_a_barrier_has_not_arrived(void **state)
{
    (void)state;
    for (uint64_t round = scaled(200, 20); round > 0; round--) {
        vigil_barrier barrier = VIGIL_BARRIER_INIT(2);
        const pthread_t thread = start_thread(arrive_for_a_moment, &barrier);
        const int mine = vigil_barrier_wait(&barrier, 1000, NULL);
        void *other = NULL;
        must_equal(pthread_join(thread, &other), 0);
        must_equal(mine >= 0, (intptr_t)other >= 0); /* both or none */
        must(mine < 0 || mine + (int)(intptr_t)other == 1);
        must_equal(vigil_barrier_wait(&barrier, 0, NULL), -ETIMEDOUT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_semaphore_counts_as_its_model_does),        test(never_more_units_are_out_than_there_are),
        test(small_requests_do_not_starve_a_large_one),    test(who_waits_behind_one_that_gives_up_goes_on),
        test(once_happens_once_and_failures_do_not_count), test(once_inside_itself_is_refused),
        test(whoever_waits_for_a_latch_may_free_it),       test(nobody_passes_a_barrier_alone),
        test(who_leaves_a_barrier_has_not_arrived),
    };
    return run_all(tests);
}
