/* SPDX-License-Identifier: MIT */
/*
 * P2: no starvation. Lower classes that wait get a share of each worker's time, in turns. VIGIL_AGEING_FULL=1 in the environment
 * compares every pair of task lengths from 1 us to 50 ms, which takes minutes.
 * test: clock - shares of time are measured, and a machine that stalls inside a task changes them
 */
#include "support.h"

/* A CRITICAL task that submits itself again as long as anything else is unfinished: the pool is never without one. */
struct flood {
    vigil_task task;
    vigil_pool *pool;
    struct log *log;
};

struct log {
    _Atomic unsigned others_left; /* tasks below CRITICAL that have not run */
    _Atomic unsigned written;
    unsigned room;
    uint8_t *classes; /* of each start, in order; one worker only */
};

static void log_start(struct log *log, vigil_priority priority)
{
    unsigned line = atomic_fetch_add_explicit(&log->written, 1, memory_order_relaxed);
    if (log->classes != NULL) {
        must(line < log->room);
        log->classes[line] = (uint8_t)priority;
    }
}

static int flood_run(vigil_task *task)
{
    struct flood *flood = container_of(task, struct flood, task);
    log_start(flood->log, VIGIL_CRITICAL);
    if (atomic_load_explicit(&flood->log->others_left, memory_order_acquire) > 0)
        must_equal(vigil_pool_submit(flood->pool, task, VIGIL_CRITICAL), 0);
    return 0;
}

struct humble {
    vigil_task task;
    vigil_priority priority;
    struct log *log;
};

static int humble_run(vigil_task *task)
{
    struct humble *humble = container_of(task, struct humble, task);
    log_start(humble->log, humble->priority);
    (void)atomic_fetch_sub_explicit(&humble->log->others_left, 1, memory_order_acq_rel);
    return 0;
}

/* `each` tasks of every class in `classes`, beside a flood that keeps all workers busy. */
static void flood_against(vigil_pool *pool, unsigned workers, unsigned each, unsigned classes, struct log *log)
{
    const unsigned floods = workers * 2;
    struct flood *flood = calloc(floods, sizeof *flood);
    struct humble *humble = calloc((size_t)each * VIGIL_PRIORITIES, sizeof *humble);
    must(flood != NULL && humble != NULL);
    struct hold hold = {0};
    hold_workers(&hold, pool, workers);
    for (unsigned i = 0; i < floods; i++) {
        vigil_task_init(&flood[i].task, flood_run, NULL);
        flood[i].pool = pool;
        flood[i].log = log;
        must_equal(vigil_pool_submit(pool, &flood[i].task, VIGIL_CRITICAL), 0);
    }
    for (unsigned p = VIGIL_HIGH; p < VIGIL_PRIORITIES; p++) {
        if ((classes >> p & 1) == 0)
            continue;
        for (unsigned i = 0; i < each; i++) {
            struct humble *one = &humble[p * each + i];
            vigil_task_init(&one->task, humble_run, NULL);
            one->priority = (vigil_priority)p;
            one->log = log;
            (void)atomic_fetch_add_explicit(&log->others_left, 1, memory_order_relaxed);
            must_equal(vigil_pool_submit(pool, &one->task, one->priority), 0);
        }
    }
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(atomic_load_explicit(&log->others_left, memory_order_acquire), 0);
    free(flood);
    free(humble);
}

enum {
    BELOW_CRITICAL = 1U << VIGIL_HIGH | 1U << VIGIL_NORMAL | 1U << VIGIL_LOW | 1U << VIGIL_IDLE
};

static void p02_low_and_idle_finish_while_critical_keeps_every_worker_busy(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 7, 33};
    for (size_t i = 0; i < count_of(workers); i++) {
        vigil_pool *pool = pool_of(workers[i]);
        struct log log = {0};
        flood_against(pool, workers[i], (unsigned)scaled(200, 20), 1U << VIGIL_LOW | 1U << VIGIL_IDLE, &log);
        must(pool_stats(pool).ageing_picks > 0);
        pool_close(pool);
    }
}

static struct log *one_worker_log(unsigned each, unsigned classes)
{
    struct log *log = calloc(1, sizeof *log);
    must(log != NULL);
    log->room = 1U << 24;
    log->classes = malloc(log->room);
    must(log->classes != NULL);
    vigil_pool *pool = pool_of(1);
    flood_against(pool, 1, each, classes, log);
    pool_close(pool);
    return log;
}

static void p02_the_classes_that_wait_take_turns(void **state)
{
    (void)state;
    enum {
        EACH = 40
    };
    struct log *log = one_worker_log(EACH, BELOW_CRITICAL);
    unsigned starts[VIGIL_PRIORITIES] = {0};
    unsigned turn = 0;
    for (unsigned line = 0; line < log->written; line++) {
        const unsigned class_ = log->classes[line];
        starts[class_]++;
        if (class_ != VIGIL_CRITICAL)
            must_equal(class_, VIGIL_HIGH + turn++ % 4);
    }
    for (unsigned p = VIGIL_HIGH; p < VIGIL_PRIORITIES; p++)
        must_equal(starts[p], EACH);
    free(log->classes);
    free(log);
}

/* ---- shares of time ---- */

/* Two tasks that submit themselves again, one above the other, on one worker. From start to start all time is one of theirs. */
struct contest {
    vigil_pool *pool;
    struct rival {
        vigil_task task;
        struct contest *contest;
        vigil_priority priority;
        uint64_t length_ns;
        uint64_t time_ns;
        uint64_t last_ns; /* of these: the last run */
    } high, low;
    struct rival *last;
    uint64_t last_start;
    uint64_t until;
    bool ended;
};

static int rival_run(vigil_task *task)
{
    struct rival *rival = container_of(task, struct rival, task);
    struct contest *contest = rival->contest;
    const uint64_t start = now_ns();
    if (contest->last != NULL && !contest->ended) {
        contest->last->last_ns = start - contest->last_start;
        contest->last->time_ns += contest->last->last_ns;
    }
    contest->last = rival;
    contest->last_start = start;
    if (contest->ended)
        return 0;
    if (start >= contest->until) {
        contest->ended = true;
        return 0;
    }
    while (now_ns() - start < rival->length_ns) {
    }
    must_equal(vigil_pool_submit(contest->pool, task, rival->priority), 0);
    return 0;
}

/* The share of the lower one, in thousandths. The last run of either may not have been paid back yet, and on a busy machine it may be of
   any length; so there are two: without the last lower run, and without the last higher one. */
struct shares {
    unsigned least, most;
};

static struct shares contest_shares(unsigned permille, uint64_t high_ns, uint64_t low_ns, unsigned cycles)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.lower_permille = permille;
    vigil_pool *pool = pool_with(&options);
    struct contest contest = {.pool = pool};
    contest.high = (struct rival){.contest = &contest, .priority = VIGIL_CRITICAL, .length_ns = high_ns};
    contest.low = (struct rival){.contest = &contest, .priority = VIGIL_LOW, .length_ns = low_ns};
    vigil_task_init(&contest.high.task, rival_run, NULL);
    vigil_task_init(&contest.low.task, rival_run, NULL);
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    /* A cycle is what the longer one needs, with its share of the other: shorter runs say nothing about shares. */
    const uint64_t by_low = low_ns * 1000 / permille;
    const uint64_t by_high = high_ns * 1000 / (1000 - permille);
    contest.until = now_ns() + cycles * (by_low > by_high ? by_low : by_high);
    must_equal(vigil_pool_submit(pool, &contest.high.task, VIGIL_CRITICAL), 0);
    must_equal(vigil_pool_submit(pool, &contest.low.task, VIGIL_LOW), 0);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_close(pool);
    const uint64_t sum = contest.high.time_ns + contest.low.time_ns;
    if (sum == contest.low.last_ns || sum == contest.high.last_ns)
        return (struct shares){.least = 1000, .most = 0}; /* the machine stalled in the only run: nothing was seen */
    return (struct shares){
        .least = (unsigned)((contest.low.time_ns - contest.low.last_ns) * 1000 / (sum - contest.low.last_ns)),
        .most = (unsigned)(contest.low.time_ns * 1000 / (sum - contest.high.last_ns)),
    };
}

enum {
    TRIES = 20 /* a machine that stalls in a task spoils a contest; a wrong rule spoils all of them */
};

static bool share_is_about(struct shares share, unsigned permille)
{
    return share.least <= permille * 12 / 10 && share.most >= permille * 8 / 10;
}

static void p02_a_lower_class_gets_its_share_of_time_whatever_the_lengths(void **state)
{
    (void)state;
    static const uint64_t few[] = {5000, 200000, 2000000};
    static const uint64_t all[] = {1000, 10000, 50000, 1000000, 5000000, 50000000};
    const bool full = getenv("VIGIL_AGEING_FULL") != NULL;
    const uint64_t *lengths = full ? all : few;
    const size_t count = full ? count_of(all) : count_of(few);
    const unsigned permille = full ? VIGIL_LOWER_PERMILLE : 200;
    for (size_t h = 0; h < count; h++)
        for (size_t l = 0; l < count; l++) {
            /* at least 100 ms, so that a preempted task is not all of it */
            const uint64_t longer = lengths[h] > lengths[l] ? lengths[h] : lengths[l];
            const unsigned least = (unsigned)(100000000 / longer / 4) + 1;
            const unsigned cycles = least > 12 ? least : 12;
            struct shares share = contest_shares(permille, lengths[h], lengths[l], cycles);
            for (int again = 0; again < TRIES && !share_is_about(share, permille); again++)
                share = contest_shares(permille, lengths[h], lengths[l], cycles);
            if (full)
                print_message("high %8llu ns, low %8llu ns: %u to %u permille\n", (unsigned long long)lengths[h],
                              (unsigned long long)lengths[l], share.least, share.most);
            must(share_is_about(share, permille));
        }
}

static void p02_short_critical_tasks_are_not_starved_by_long_lower_ones(void **state)
{
    (void)state;
    struct shares share = contest_shares(VIGIL_LOWER_PERMILLE, 50000, 5000000, 4);
    for (int again = 0; again < TRIES && (share.least > 2 * VIGIL_LOWER_PERMILLE || share.most == 0); again++)
        share = contest_shares(VIGIL_LOWER_PERMILLE, 50000, 5000000, 4);
    must(share.least <= 2 * VIGIL_LOWER_PERMILLE);
    must(share.most > 0);
}

/* A LOW task that blocks, twice, below CRITICAL ones that submit themselves again. */
struct blocker {
    vigil_task low, high;
    vigil_pool *pool;
    uint64_t ended_ns; /* the first run */
    uint64_t between_ns;
    unsigned runs;
};

static int block_a_while(vigil_task *task)
{
    struct blocker *it = container_of(task, struct blocker, low);
    if (it->runs++ > 0) {
        it->between_ns = now_ns() - it->ended_ns;
        return 0;
    }
    must_equal(vigil_blocking_begin(), 0);
    observe_for_ms(100);
    must_equal(vigil_blocking_end(), 0);
    it->ended_ns = now_ns();
    must_equal(vigil_pool_submit(it->pool, task, VIGIL_LOW), 0);
    return 0;
}

static int go_on_until_both_have_run(vigil_task *task)
{
    struct blocker *it = container_of(task, struct blocker, high);
    const uint64_t start = now_ns();
    while (now_ns() - start < 20000) {
    }
    if (it->runs < 2) /* one worker: no race */
        must_equal(vigil_pool_submit(it->pool, task, VIGIL_CRITICAL), 0);
    return 0;
}

static uint64_t between_two_runs_of_a_blocker(void)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.no_spares = true;
    struct blocker it = {.pool = pool_with(&options)};
    struct hold hold = {0};
    vigil_task_init(&it.low, block_a_while, NULL);
    vigil_task_init(&it.high, go_on_until_both_have_run, NULL);
    hold_workers(&hold, it.pool, 1);
    must_equal(vigil_pool_submit(it.pool, &it.high, VIGIL_CRITICAL), 0);
    must_equal(vigil_pool_submit(it.pool, &it.low, VIGIL_LOW), 0);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(it.pool, VIGIL_FOREVER), 0);
    pool_close(it.pool);
    return it.between_ns;
}

static void p02_time_in_a_blocking_section_is_nobodys_share(void **state)
{
    (void)state;
    uint64_t between = between_two_runs_of_a_blocker();
    for (int again = 0; again < TRIES && between >= 1000000000; again++)
        between = between_two_runs_of_a_blocker();
    must(between < 1000000000); /* 3.2 s to earn the 100 ms */
}

static void p02_with_strict_classes_nothing_is_picked_by_age(void **state)
{
    (void)state;
    enum {
        CRITICALS = 2000
    };
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.strict_classes = true;
    vigil_pool *pool = pool_with(&options);
    struct log log = {.room = CRITICALS + 2, .others_left = CRITICALS + 1};
    log.classes = malloc(log.room);
    struct humble *tasks = calloc(CRITICALS + 1, sizeof *tasks);
    must(tasks != NULL && log.classes != NULL);
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    for (unsigned i = 0; i <= CRITICALS; i++) {
        tasks[i].log = &log;
        tasks[i].priority = i == 0 ? VIGIL_IDLE : VIGIL_CRITICAL;
        vigil_task_init(&tasks[i].task, humble_run, NULL);
        must_equal(vigil_pool_submit(pool, &tasks[i].task, tasks[i].priority), 0);
    }
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(log.classes[CRITICALS], VIGIL_IDLE); /* the first to come was the last to run */
    must_equal(pool_stats(pool).ageing_picks, 0);
    pool_close(pool);
    free(tasks);
    free(log.classes);
}

static void p02_a_share_must_make_sense(void **state)
{
    (void)state;
    vigil_pool *pool = NULL;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.lower_permille = 501;
    must_equal(vigil_pool_create(&pool, &options), -EINVAL);
    options.lower_permille = 100;
    options.strict_classes = true;
    must_equal(vigil_pool_create(&pool, &options), -EINVAL);
}

static void p02_without_lower_classes_nothing_is_picked_by_age(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct humble *tasks = calloc(1000, sizeof *tasks);
    must(tasks != NULL);
    struct log log = {.others_left = 1000};
    for (unsigned i = 0; i < 1000; i++) {
        vigil_task_init(&tasks[i].task, humble_run, NULL);
        tasks[i].log = &log;
        tasks[i].priority = VIGIL_NORMAL;
        must_equal(vigil_pool_submit(pool, &tasks[i].task, VIGIL_NORMAL), 0);
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(pool_stats(pool).ageing_picks, 0);
    pool_close(pool);
    free(tasks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p02_low_and_idle_finish_while_critical_keeps_every_worker_busy),
        test(p02_the_classes_that_wait_take_turns),
        test(p02_a_lower_class_gets_its_share_of_time_whatever_the_lengths),
        test(p02_short_critical_tasks_are_not_starved_by_long_lower_ones),
        test(p02_time_in_a_blocking_section_is_nobodys_share),
        test(p02_with_strict_classes_nothing_is_picked_by_age),
        test(p02_a_share_must_make_sense),
        test(p02_without_lower_classes_nothing_is_picked_by_age),
    };
    return run_all(tests);
}
