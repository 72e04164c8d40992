/* SPDX-License-Identifier: MIT */
/*
 * P11 while others submit: every accepted task runs or is cancelled, never both, never neither; every other submit is
 * refused with -ESHUTDOWN.
 */
#include "ledger.h"

enum {
    SUBMITTERS = 16,
    STOPPERS = 3
};

struct storm {
    struct ledger *ledger;
    struct meeting *start;
    struct tally *refused_once; /* how many submitters have heard that the pool is closed */
    unsigned number;
    uint64_t accepted;
    enum end_mode mode;
};

struct owned {
    struct item item;
    struct owned *next;
};

static int call_run(void *arg)
{
    struct ledger *ledger = arg;
    (void)atomic_fetch_add_explicit(&ledger->ran, 1, memory_order_relaxed);
    return 0;
}

static void call_cancel(void *arg)
{
    struct ledger *ledger = arg;
    (void)atomic_fetch_add_explicit(&ledger->cancelled, 1, memory_order_relaxed);
}

static void *submit_until_refused(void *arg)
{
    struct storm *storm = arg;
    vigil_pool *pool = storm->ledger->pool;
    struct owned *mine = NULL;
    (void)meeting_join(storm->start);
    for (unsigned i = 0;; i++) {
        int rc = 0;
        unsigned way = (i + storm->number) % 6;
        if (way < 4) {
            struct owned *owned = malloc(sizeof *owned);
            must(owned != NULL);
            item_init(&owned->item, storm->ledger);
            owned->next = mine;
            mine = owned;
            vigil_task *task = &owned->item.task;
            rc = way == 0   ? vigil_pool_submit(pool, task, (vigil_priority)(i % VIGIL_PRIORITIES))
                 : way == 1 ? vigil_pool_submit_batch(pool, &task, 1, VIGIL_HIGH)
                 : way == 2 ? vigil_pool_submit_to(pool, 0, task, VIGIL_LOW)
                            : vigil_pool_submit_after(pool, task, VIGIL_CRITICAL, 1000 * (i % 64));
        } else if (way == 4) {
            rc = vigil_pool_call(pool, call_run, call_cancel, storm->ledger, VIGIL_NORMAL);
        } else {
            vigil_job job;
            vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
            options.cancel = call_cancel;
            rc = vigil_job_call(pool, call_run, storm->ledger, &options, &job);
            if (rc == 0)
                must_equal(vigil_job_unref(pool, job), 0);
        }
        must(rc == 0 || rc == -ESHUTDOWN);
        if (rc != 0)
            break;
        storm->accepted++;
    }
    tally_add(storm->refused_once, 1);
    /* Closed stays closed, and what was accepted is accounted for once the stop is over. */
    must_equal(end_pool(pool, storm->mode, VIGIL_FOREVER), 0);
    while (mine != NULL) {
        struct owned *owned = mine;
        mine = owned->next;
        must(owned->item.ran + owned->item.cancelled <= 1);
        free(owned);
    }
    return NULL;
}

static void *stop_amid(void *arg)
{
    struct storm *storm = arg;
    (void)meeting_join(storm->start);
    must_equal(end_pool(storm->ledger->pool, storm->mode, VIGIL_FOREVER), 0);
    return NULL;
}

static void storm_against_stop(enum end_mode mode, unsigned workers)
{
    vigil_pool *pool = pool_of(workers);
    struct ledger ledger = {.pool = pool};
    struct meeting start = {.size = SUBMITTERS + STOPPERS};
    struct tally refused_once = {0};
    struct storm storms[SUBMITTERS + STOPPERS];
    pthread_t threads[SUBMITTERS + STOPPERS];
    for (unsigned i = 0; i < SUBMITTERS + STOPPERS; i++) {
        storms[i] = (struct storm){
            .ledger = &ledger, .start = &start, .refused_once = &refused_once, .number = i, .mode = mode};
        threads[i] = start_thread(i < SUBMITTERS ? submit_until_refused : stop_amid, &storms[i]);
    }
    uint64_t accepted = 0;
    for (unsigned i = 0; i < SUBMITTERS + STOPPERS; i++) {
        join_thread(threads[i]);
        accepted += storms[i].accepted;
    }
    must_equal(tally_get(&refused_once), SUBMITTERS);
    must_equal(ledger.ran + ledger.cancelled, accepted);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.total.submitted, accepted);
    must_equal(stats.total.cancelled, ledger.cancelled);
    must_equal(stats.total.refused, SUBMITTERS);
    if (mode == END_GRACEFUL)
        must_equal(ledger.cancelled, 0);
    destroy_stopped(pool);
}

static void p11_a_submit_storm_against_a_graceful_stop_runs_all_that_was_accepted(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 33};
    for (uint64_t round = scaled(60, 3); round > 0; round--)
        storm_against_stop(END_GRACEFUL, workers[round % count_of(workers)]);
}

static void p11_a_submit_storm_against_an_immediate_stop_runs_or_cancels_all_that_was_accepted(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 33};
    for (uint64_t round = scaled(60, 3); round > 0; round--)
        storm_against_stop(END_AT_ONCE, workers[round % count_of(workers)]);
}

/* Fork-join work in full swing, of which a stop cuts the rest. */
struct branch {
    vigil_task task;
    struct ledger *ledger;
    unsigned depth;
};

static int branch_run(vigil_task *task)
{
    struct branch *branch = container_of(task, struct branch, task);
    (void)atomic_fetch_add_explicit(&branch->ledger->ran, 1, memory_order_relaxed);
    if (branch->depth == 0)
        return 0;
    struct branch twigs[3];
    vigil_group group;
    must_equal(vigil_group_init(&group, branch->ledger->pool, 0), 0);
    for (int i = 0; i < 3; i++) {
        twigs[i].ledger = branch->ledger;
        twigs[i].depth = branch->depth - 1;
        vigil_task_init(&twigs[i].task, branch_run, NULL);
        must_equal(vigil_group_spawn(&group, &twigs[i].task), 0);
    }
    int status = vigil_group_wait(&group);
    must(status == 0 || status == -ECANCELED);
    return status;
}

static void p11_an_immediate_stop_cuts_running_fork_join_work_short(void **state)
{
    (void)state;
    for (uint64_t round = scaled(100, 5); round > 0; round--) {
        unsigned workers = (unsigned)(1 + round % 4);
        vigil_pool *pool = pool_of(workers);
        struct ledger ledger = {.pool = pool};
        struct branch root = {.ledger = &ledger, .depth = 30}; /* years of work, if nobody stopped it */
        vigil_task_init(&root.task, branch_run, NULL);
        must_equal(vigil_pool_submit(pool, &root.task, VIGIL_NORMAL), 0);
        while (atomic_load_explicit(&ledger.ran, memory_order_relaxed) < round * 10)
            yield();
        must_equal(vigil_pool_close(pool, VIGIL_FOREVER), 0);
        vigil_pool_stats stats = pool_stats(pool);
        must_equal(stats.total.completed + stats.total.failed, ledger.ran);
        must(stats.total.cancelled > 0);
        destroy_stopped(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p11_a_submit_storm_against_a_graceful_stop_runs_all_that_was_accepted),
        test(p11_a_submit_storm_against_an_immediate_stop_runs_or_cancels_all_that_was_accepted),
        test(p11_an_immediate_stop_cuts_running_fork_join_work_short),
    };
    return run_all(tests);
}
