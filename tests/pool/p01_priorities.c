/* SPDX-License-Identifier: MIT */
/* P1: five priorities, honoured across the whole pool; FIFO in a class for submitted work, LIFO for a worker's own spawns. */
#include "support.h"

/* Ageing is P2's (p02_ageing.c): here the classes are strict. */
static vigil_pool *strict_pool(unsigned workers)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.strict_classes = true;
    return pool_with(&options);
}

/* A task that writes down when it started, and meets others if it is told to. */
struct step {
    vigil_task task;
    unsigned number;
    vigil_priority priority;
    struct diary *diary;
};

struct diary {
    _Atomic unsigned written;
    struct {
        unsigned number;
        vigil_priority priority;
    } lines[8192];
    struct meeting *meeting; /* all workers have to be inside a task before any goes on */
};

static int step_run(vigil_task *task)
{
    struct step *step = container_of(task, struct step, task);
    struct diary *diary = step->diary;
    unsigned line = atomic_fetch_add_explicit(&diary->written, 1, memory_order_relaxed);
    must(line < count_of(diary->lines));
    diary->lines[line].number = step->number;
    diary->lines[line].priority = step->priority;
    if (diary->meeting != NULL)
        (void)meeting_join(diary->meeting);
    return 0;
}

static struct diary *diary_new(void)
{
    struct diary *diary = calloc(1, sizeof *diary);
    must(diary != NULL);
    return diary;
}

static struct step *steps_new(size_t count, struct diary *diary)
{
    struct step *steps = calloc(count, sizeof *steps);
    must(steps != NULL);
    for (size_t i = 0; i < count; i++) {
        vigil_task_init(&steps[i].task, step_run, NULL);
        steps[i].number = (unsigned)i;
        steps[i].diary = diary;
    }
    return steps;
}

static void submit(vigil_pool *pool, struct step *step, vigil_priority priority)
{
    step->priority = priority;
    must_equal(vigil_pool_submit(pool, &step->task, priority), 0);
}

/* ---- one worker ------------------------------------------------------------------------------------------------- */

static void p01_one_worker_runs_the_classes_from_critical_to_idle_and_each_in_order(void **state)
{
    (void)state;
    enum {
        EACH = 5
    };
    vigil_pool *pool = strict_pool(1);
    struct diary *diary = diary_new();
    struct step *steps = steps_new(EACH * VIGIL_PRIORITIES, diary);
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    /* Submitted lowest first, interleaved: neither the order of classes nor that in a class is the one of arrival. */
    for (unsigned i = 0; i < EACH * VIGIL_PRIORITIES; i++)
        submit(pool, &steps[i], (vigil_priority)(VIGIL_IDLE - i % VIGIL_PRIORITIES));
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);

    /* 25 starts are fewer than one ageing period: there is no exception to expect. */
    must_equal(diary->written, EACH * VIGIL_PRIORITIES);
    for (unsigned line = 0; line < diary->written; line++) {
        must_equal(diary->lines[line].priority, line / EACH);
        if (line % EACH != 0)
            must(diary->lines[line].number > diary->lines[line - 1].number);
    }
    pool_close(pool);
    free(steps);
    free(diary);
}

static void p01_no_low_starts_while_critical_is_queued_1_worker(void **state)
{
    (void)state;
    enum {
        LOWS = 100,
        CRITICALS = 1000
    };
    vigil_pool *pool = strict_pool(1);
    struct diary *diary = diary_new();
    struct step *steps = steps_new(LOWS + CRITICALS, diary);
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    for (unsigned i = 0; i < LOWS; i++)
        submit(pool, &steps[i], VIGIL_LOW);
    for (unsigned i = LOWS; i < LOWS + CRITICALS; i++)
        submit(pool, &steps[i], VIGIL_CRITICAL);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);

    unsigned criticals = 0;
    unsigned lows_before = 0;
    for (unsigned line = 0; line < diary->written; line++) {
        if (diary->lines[line].priority == VIGIL_CRITICAL)
            criticals++;
        else if (criticals < CRITICALS)
            lows_before++;
    }
    must_equal(lows_before, 0);
    must_equal(pool_stats(pool).ageing_picks, 0);
    pool_close(pool);
    free(steps);
    free(diary);
}

/* ---- many workers ----------------------------------------------------------------------------------------------- */

/*
 * With N workers "before" means nothing by itself: a worker may take a task and be slow to start. So all N workers meet
 * inside each round of tasks, and nobody can take a task of round r + 1 while one of round r has not been taken. That every
 * round fills up is also a small proof of conservation.
 */
static void rounds_of_critical_before_low(unsigned workers, vigil_fence_mode fences)
{
    enum {
        ROUNDS = 24
    };
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.fences = fences;
    options.strict_classes = true;
    vigil_pool *pool = pool_with(&options);
    struct diary *diary = diary_new();
    struct meeting meeting = {.size = workers};
    diary->meeting = &meeting;
    const unsigned criticals = workers * ROUNDS;
    const unsigned lows = workers * 4;
    struct step *steps = steps_new(criticals + lows, diary);
    struct hold hold = {0};
    hold_workers(&hold, pool, workers);
    for (unsigned i = 0; i < lows; i++)
        submit(pool, &steps[i], VIGIL_LOW);
    for (unsigned i = lows; i < lows + criticals; i++)
        submit(pool, &steps[i], VIGIL_CRITICAL);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);

    must_equal(diary->written, criticals + lows);
    unsigned lows_before = 0;
    for (unsigned line = 0; line < criticals; line++)
        lows_before += diary->lines[line].priority == VIGIL_LOW;
    /* The stated exception, a preempted mover of tasks: at most one for each worker. */
    must_be_between(lows_before, 0, workers);
    pool_close(pool);
    free(steps);
    free(diary);
}

static void p01_no_low_starts_while_critical_is_queued_N_workers(void **state)
{
    (void)state;
    static const unsigned workers[] = {2, 3, 8, 33};
    for (size_t i = 0; i < count_of(workers); i++)
        rounds_of_critical_before_low(workers[i], VIGIL_FENCE_AUTO);
    rounds_of_critical_before_low(4, VIGIL_FENCE_SYMMETRIC);
}

/*
 * The same without meetings, with far more workers than processors: sooner or later the system puts a worker aside at a bad
 * moment, for instance while it moves tasks from one place to another. What is CRITICAL must not become invisible by that.
 * A worker that has been put aside after taking a task writes late, so the last CRITICAL ones are not looked at.
 */
static void p01_a_worker_that_is_put_aside_does_not_let_low_overtake_critical(void **state)
{
    (void)state;
    enum {
        EACH = 4000
    };
    static const unsigned workers[] = {2, 4, 33};
    for (uint64_t round = scaled(150, 9); round > 0; round--) {
        const unsigned count = workers[round % count_of(workers)];
        vigil_pool *pool = strict_pool(count);
        struct diary *diary = diary_new();
        struct step *steps = steps_new(2 * EACH, diary);
        struct hold hold = {0};
        hold_workers(&hold, pool, count);
        for (unsigned i = 0; i < EACH; i++)
            submit(pool, &steps[i], VIGIL_LOW);
        for (unsigned i = EACH; i < 2 * EACH; i++)
            submit(pool, &steps[i], VIGIL_CRITICAL);
        hold_release(&hold);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        unsigned criticals = 0;
        unsigned lows_before = 0;
        for (unsigned line = 0; line < diary->written && criticals < EACH - count; line++) {
            if (diary->lines[line].priority == VIGIL_CRITICAL)
                criticals++;
            else
                lows_before++;
        }
        /* Beyond the ageing picks: a worker does not wait for one that is put aside for ever (take.c). That is rare. */
        must_be_between(lows_before, 0, pool_stats(pool).ageing_picks + EACH / 100);
        pool_close(pool);
        free(steps);
        free(diary);
    }
}

static void p01_submitted_tasks_of_one_class_start_in_order_with_N_workers(void **state)
{
    (void)state;
    enum {
        WORKERS = 4,
        ROUNDS = 500
    };
    vigil_pool *pool = strict_pool(WORKERS);
    struct diary *diary = diary_new();
    struct meeting meeting = {.size = WORKERS};
    diary->meeting = &meeting;
    struct step *steps = steps_new(WORKERS * ROUNDS, diary);
    struct hold hold = {0};
    hold_workers(&hold, pool, WORKERS);
    for (unsigned i = 0; i < WORKERS * ROUNDS; i++)
        submit(pool, &steps[i], VIGIL_NORMAL);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(diary->written, WORKERS * ROUNDS);
    /* Which of a round's tasks writes first is chance; that they are this round's is not. */
    for (unsigned line = 0; line < diary->written; line++)
        must_equal(diary->lines[line].number / WORKERS, line / WORKERS);
    pool_close(pool);
    free(steps);
    free(diary);
}

/* ---- order over several submitters ------------------------------------------------------------------------------ */

enum {
    RELAY_THREADS = 4,
    RELAY_LAPS = 250
};

struct relay {
    vigil_pool *pool;
    struct step *steps;
    struct tally next; /* whose turn it is: submitter number next % RELAY_THREADS */
};

struct runner {
    struct relay *relay;
    unsigned number;
};

static void *relay_body(void *arg)
{
    struct runner *runner = arg;
    struct relay *relay = runner->relay;
    for (unsigned lap = 0; lap < RELAY_LAPS; lap++) {
        unsigned mine = lap * RELAY_THREADS + runner->number;
        tally_wait(&relay->next, mine);
        submit(relay->pool, &relay->steps[mine], VIGIL_HIGH);
        tally_add(&relay->next, 1);
    }
    return NULL;
}

static void p01_first_in_first_out_holds_over_all_submitting_threads(void **state)
{
    (void)state;
    vigil_pool *pool = strict_pool(1);
    struct diary *diary = diary_new();
    struct relay relay = {.pool = pool, .steps = steps_new(RELAY_THREADS * RELAY_LAPS, diary)};
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    struct runner runners[RELAY_THREADS];
    pthread_t threads[RELAY_THREADS];
    for (unsigned i = 0; i < RELAY_THREADS; i++) {
        runners[i] = (struct runner){.relay = &relay, .number = i};
        threads[i] = start_thread(relay_body, &runners[i]);
    }
    for (unsigned i = 0; i < RELAY_THREADS; i++)
        join_thread(threads[i]);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(diary->written, RELAY_THREADS * RELAY_LAPS);
    for (unsigned line = 0; line < diary->written; line++)
        must_equal(diary->lines[line].number, line);
    pool_close(pool);
    free(relay.steps);
    free(diary);
}

/* ---- spawns ----------------------------------------------------------------------------------------------------- */

enum {
    SPAWNS = 100
};

struct parent {
    vigil_task task;
    vigil_pool *pool;
    struct step *children;
    bool submit;
};

static int parent_run(vigil_task *task)
{
    struct parent *parent = container_of(task, struct parent, task);
    vigil_group group;
    must_equal(vigil_group_init(&group, parent->pool, 0), 0);
    for (unsigned i = 0; i < SPAWNS; i++) {
        parent->children[i].priority = VIGIL_HIGH;
        if (parent->submit)
            must_equal(vigil_group_submit(&group, &parent->children[i].task, VIGIL_HIGH), 0);
        else
            must_equal(vigil_group_spawn(&group, &parent->children[i].task), 0);
    }
    must_equal(vigil_group_wait(&group), 0);
    return 0;
}

static void children_of_one_worker(bool by_submit)
{
    vigil_pool *pool = strict_pool(1);
    struct diary *diary = diary_new();
    struct parent parent = {.pool = pool, .children = steps_new(SPAWNS, diary), .submit = by_submit};
    vigil_task_init(&parent.task, parent_run, NULL);
    must_equal(vigil_pool_submit(pool, &parent.task, VIGIL_HIGH), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(diary->written, SPAWNS);
    for (unsigned line = 0; line < SPAWNS; line++)
        must_equal(diary->lines[line].number, by_submit ? line : SPAWNS - 1 - line);
    pool_close(pool);
    free(parent.children);
    free(diary);
}

static void p01_a_workers_own_spawns_run_newest_first(void **state)
{
    (void)state;
    children_of_one_worker(false);
}

static void p01_what_a_task_submits_runs_oldest_first(void **state)
{
    (void)state;
    children_of_one_worker(true);
}

/* A task that spawns two detached children and ends: what does the worker take next? */
struct bearer {
    vigil_task task;
    vigil_pool *pool;
    vigil_group *group;
    struct step *children;
    struct step *critical;
};

static int bearer_run(vigil_task *task)
{
    struct bearer *bearer = container_of(task, struct bearer, task);
    must_equal(vigil_group_spawn(bearer->group, &bearer->children[0].task), 0);
    must_equal(vigil_group_spawn(bearer->group, &bearer->children[1].task), 0);
    submit(bearer->pool, bearer->critical, VIGIL_CRITICAL);
    return 0;
}

static void p01_a_submitted_critical_task_goes_before_own_spawns_of_a_lower_class(void **state)
{
    (void)state;
    vigil_pool *pool = strict_pool(1);
    struct diary *diary = diary_new();
    struct step *steps = steps_new(3, diary);
    for (unsigned i = 0; i < 2; i++)
        steps[i].priority = VIGIL_LOW;
    vigil_group group;
    must_equal(vigil_group_init(&group, pool, VIGIL_GROUP_DETACHED), 0);
    struct bearer bearer = {.pool = pool, .group = &group, .children = steps, .critical = &steps[2]};
    vigil_task_init(&bearer.task, bearer_run, NULL);
    must_equal(vigil_pool_submit(pool, &bearer.task, VIGIL_LOW), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(diary->written, 3);
    must_equal(diary->lines[0].number, 2); /* CRITICAL, although it came last */
    must_equal(diary->lines[1].number, 1); /* then the spawns, newest first */
    must_equal(diary->lines[2].number, 0);
    must_equal(vigil_group_wait(&group), 0);
    pool_close(pool);
    free(steps);
    free(diary);
}

static void p01_a_priority_that_does_not_exist_is_refused(void **state)
{
    (void)state;
    vigil_pool *pool = strict_pool(1);
    struct diary *diary = diary_new();
    struct step *steps = steps_new(1, diary);
    must_equal(vigil_pool_submit(pool, &steps[0].task, (vigil_priority)VIGIL_PRIORITIES), -EINVAL);
    must_equal(vigil_pool_submit(pool, &steps[0].task, (vigil_priority)-1), -EINVAL);
    must_equal(vigil_pool_submit(NULL, &steps[0].task, VIGIL_LOW), -EINVAL);
    must_equal(vigil_pool_submit(pool, NULL, VIGIL_LOW), -EINVAL);
    /* Nothing happened to the task: it may still be submitted. */
    submit(pool, &steps[0], VIGIL_LOW);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(diary->written, 1);
    pool_close(pool);
    free(steps);
    free(diary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p01_one_worker_runs_the_classes_from_critical_to_idle_and_each_in_order),
        test(p01_no_low_starts_while_critical_is_queued_1_worker),
        test(p01_no_low_starts_while_critical_is_queued_N_workers),
        test(p01_a_worker_that_is_put_aside_does_not_let_low_overtake_critical),
        test(p01_submitted_tasks_of_one_class_start_in_order_with_N_workers),
        test(p01_first_in_first_out_holds_over_all_submitting_threads),
        test(p01_a_workers_own_spawns_run_newest_first),
        test(p01_what_a_task_submits_runs_oldest_first),
        test(p01_a_submitted_critical_task_goes_before_own_spawns_of_a_lower_class),
        test(p01_a_priority_that_does_not_exist_is_refused),
    };
    return run_all(tests);
}
