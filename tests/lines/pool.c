/* SPDX-License-Identifier: MIT */
/* The pool's rows of docs/costs.md, "Shared lines". */
#include "lines.h"
#include "pool/pool_struct.h"

enum {
    ROUNDS = 1024
};

typedef struct item {
    _Alignas(64) vigil_task task;
    uint32_t number;
} item;

static vigil_pool *pool;
static item items[2 * ROUNDS];
static struct turns turns;
static struct tally done;

static int run_nothing(vigil_task *task)
{
    (void)task;
    tally_add(&done, 1);
    return 0;
}

static void begin(unsigned workers)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.idle = VIGIL_IDLE_PARK; /* how long somebody spins would decide how often it looks */
    options.no_spares = true;
    pool = pool_with(&options);
    done = (struct tally){0};
    turns = (struct turns){0};
    for (uint32_t i = 0; i < 2 * ROUNDS; i++) {
        vigil_task_init(&items[i].task, run_nothing, NULL);
        items[i].number = i;
    }
}

/* It looks at the word itself, in this file, where no access counts. */
static void wait_parked(unsigned workers)
{
    while (vg_idle_parked(atomic_load_explicit(&pool->idle.word, memory_order_relaxed)) != workers)
        yield();
}

static void submit(uint32_t number)
{
    must_equal(vigil_pool_submit(pool, &items[number].task, VIGIL_NORMAL), 0);
}

/* ---- from outside ------------------------------------------------------------------------------------------------- */

static void *submit_each_second(void *arg)
{
    for (uint32_t i = (uint32_t)(uintptr_t)arg; i < 2 * ROUNDS; i += 2) {
        turn_wait(&turns, i);
        if (i == 64)
            (void)lines_moved(); /* both have begun */
        submit(i);
        turn_end(&turns);
    }
    return NULL;
}

static void a_submit_shares_the_head_of_the_queue(void **state)
{
    (void)state;
    struct hold hold = {0};
    begin(2);
    hold_workers(&hold, pool, 2);
    pthread_t other = start_thread(submit_each_second, (void *)(uintptr_t)1);
    submit_each_second((void *)(uintptr_t)0);
    join_thread(other);
    const double moves = (double)lines_moved() / (2 * ROUNDS - 64);
    hold_release(&hold);
    tally_wait(&done, 2 * ROUNDS);
    pool_close(pool);
    must_be_in_the_table("`vigil_pool_submit`, two threads in turn, workers busy", moves);
}

/* Half of the tasks are submitted, run, submitted again and run again. */
static void a_task_goes_to_its_worker_and_comes_back(void **state)
{
    (void)state;
    begin(1);
    double there = 0, back = 0;
    for (uint32_t round = 0; round < 8; round++) {
        struct hold hold = {0};
        hold_workers(&hold, pool, 1);
        (void)lines_moved();
        for (uint32_t i = 0; i < ROUNDS; i++)
            submit(i);
        const double to_submit = (double)lines_moved() / ROUNDS;
        back = round == 0 ? 0 : least(back, to_submit); /* at first the tasks are new */
        hold_release(&hold);
        tally_wait(&done, (round + 1) * ROUNDS);
        wait_parked(1);
        there = least(there, (double)lines_moved() / ROUNDS);
    }
    pool_close(pool);
    must_be_in_the_table("a submitted task, for the worker that runs it", there);
    must_be_in_the_table("its next submit, for the thread that submits", back);
}

static int run_in_turn(vigil_task *task)
{
    const uint32_t number = ((item *)(void *)task)->number;
    if (number == 64)
        (void)lines_moved();
    turn_end(&turns);
    turn_wait(&turns, (number | 1) + 1); /* so that the other worker has the other of the two */
    return 0;
}

static void workers_that_end_tasks_share_the_head_of_the_ring(void **state)
{
    (void)state;
    struct hold hold = {0};
    begin(2);
    hold_workers(&hold, pool, 2);
    for (uint32_t i = 0; i < 2 * ROUNDS; i++) {
        vigil_task_init(&items[i].task, run_in_turn, NULL);
        submit(i);
    }
    hold_release(&hold);
    turn_wait(&turns, 2 * ROUNDS);
    const double moves = (double)lines_moved() / (2 * ROUNDS - 64);
    wait_parked(2);
    pool_close(pool);
    must_be_within_the_table("a submitted task, two workers in pairs, at most", moves);
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

static int call_nothing(void *arg)
{
    (void)arg;
    tally_add(&done, 1);
    return 0;
}

/* What moves for each call of `hand_over`, from the submit to the memory's next use. */
static double moves_there_and_back(void (*hand_over)(void))
{
    begin(1);
    double moves = 0;
    for (uint32_t round = 0; round < 8; round++) {
        struct hold hold = {0};
        hold_workers(&hold, pool, 1);
        (void)lines_moved();
        for (uint32_t i = 0; i < ROUNDS; i++)
            hand_over();
        hold_release(&hold);
        tally_wait(&done, (round + 1) * ROUNDS);
        wait_parked(1);
        const double both = (double)lines_moved() / ROUNDS;
        moves = round < 2 ? 0 : least(moves, both); /* at first it takes memory that was never used */
    }
    pool_close(pool);
    return moves;
}

static void call_once(void)
{
    must_equal(vigil_pool_call(pool, call_nothing, NULL, NULL, VIGIL_NORMAL), 0);
}

static void job_once(void)
{
    vigil_job job;
    must_equal(vigil_job_call(pool, call_nothing, NULL, NULL, &job), 0);
    must_equal(vigil_job_unref(pool, job), 0);
}

static void a_call_takes_its_line_along(void **state)
{
    (void)state;
    must_be_in_the_table("`vigil_pool_call`, there and back", moves_there_and_back(call_once));
}

static void a_job_without_a_handle_takes_one_line_along(void **state)
{
    (void)state;
    must_be_in_the_table("`vigil_job_call` and `vigil_job_unref`, there and back", moves_there_and_back(job_once));
}

/* ---- fork and join ------------------------------------------------------------------------------------------------ */

static double spawn_moves;

static int run_spawns(vigil_task *task)
{
    (void)task;
    for (unsigned round = 0; round < 2; round++) {
        (void)lines_moved();
        for (uint32_t i = 1; i <= ROUNDS; i++) {
            vigil_group group;
            must_equal(vigil_group_init(&group, pool, 0), 0);
            must_equal(vigil_group_spawn(&group, &items[i].task), 0);
            must_equal(vigil_group_wait(&group), 0);
        }
        spawn_moves = (double)lines_moved() / ROUNDS;
    }
    return 0;
}

static void a_spawn_that_nobody_steals_shares_nothing(void **state)
{
    (void)state;
    struct hold hold = {0};
    begin(2);
    hold_workers(&hold, pool, 1);
    vigil_task_init(&items[0].task, run_spawns, NULL);
    submit(0);
    tally_wait(&done, 2 * ROUNDS);
    hold_release(&hold);
    wait_parked(2);
    pool_close(pool);
    must_be_in_the_table("spawn and wait on one worker, the others busy", spawn_moves);
}

/* ---- sleeping ----------------------------------------------------------------------------------------------------- */

static void a_wake_moves_few_lines(void **state)
{
    (void)state;
    begin(2);
    double moves = 0;
    for (uint32_t i = 0; i < 8 * 64; i++) {
        wait_parked(2);
        if (i % 64 == 0) {
            const double each = (double)lines_moved() / 64;
            moves = i <= 64 ? 0 : least(moves, each);
        }
        submit(0);
        tally_wait(&done, i + 1);
    }
    pool_close(pool);
    must_be_within_the_table("a task for a parked worker: submit, wake, run, park, at most", moves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_submit_shares_the_head_of_the_queue),
        cmocka_unit_test(a_task_goes_to_its_worker_and_comes_back),
        cmocka_unit_test(workers_that_end_tasks_share_the_head_of_the_ring),
        cmocka_unit_test(a_call_takes_its_line_along),
        cmocka_unit_test(a_job_without_a_handle_takes_one_line_along),
        cmocka_unit_test(a_spawn_that_nobody_steals_shares_nothing),
        cmocka_unit_test(a_wake_moves_few_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
