/* SPDX-License-Identifier: MIT */
/*
 * P11: graceful or at once, bounded by a timeout, as often as one likes; what is accepted runs or is cancelled, what comes
 * later is refused with -ESHUTDOWN. The storms are in p11_stop_storms.c.
 */
#include "ledger.h"

enum {
    ITEMS = 500
};

static void p11_a_graceful_stop_runs_everything_that_was_accepted(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 33};
    for (size_t w = 0; w < count_of(workers); w++) {
        vigil_pool *pool = pool_of(workers[w]);
        struct ledger ledger = {.pool = pool};
        static struct item items[ITEMS];
        struct hold hold = {0};
        hold_workers(&hold, pool, workers[w]);
        for (int i = 0; i < ITEMS; i++) {
            item_init(&items[i], &ledger);
            must_equal(vigil_pool_submit(pool, &items[i].task, (vigil_priority)(i % VIGIL_PRIORITIES)), 0);
        }
        must_equal(vigil_pool_shutdown(pool, 0), -ETIMEDOUT);
        hold_release(&hold);
        must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0);
        must_equal(ledger.ran, ITEMS);
        must_equal(ledger.cancelled, 0);
        destroy_stopped(pool);
    }
}

static void p11_an_immediate_stop_cancels_everything_that_has_not_started(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 33};
    for (size_t w = 0; w < count_of(workers); w++) {
        vigil_pool *pool = pool_of(workers[w]);
        struct ledger ledger = {.pool = pool};
        static struct item items[ITEMS];
        struct hold hold = {0};
        hold_workers(&hold, pool, workers[w]);
        for (int i = 0; i < ITEMS; i++) {
            item_init(&items[i], &ledger);
            must_equal(vigil_pool_submit(pool, &items[i].task, (vigil_priority)(i % VIGIL_PRIORITIES)), 0);
        }
        must_equal(vigil_pool_close(pool, 0), -ETIMEDOUT); /* running tasks are let finish */
        hold_release(&hold);
        must_equal(vigil_pool_close(pool, VIGIL_FOREVER), 0);
        must_equal(ledger.ran, 0);
        must_equal(ledger.cancelled, ITEMS);
        for (int i = 0; i < ITEMS; i++)
            must_equal(items[i].cancelled, 1);
        must_equal(pool_stats(pool).total.cancelled, ITEMS);
        destroy_stopped(pool);
    }
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void p11_after_a_stop_every_submit_is_refused_and_counted(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct ledger ledger = {.pool = pool};
    struct item item;
    item_init(&item, &ledger);
    vigil_task *batch[1] = {&item.task};
    vigil_job job = {0};
    vigil_group group;
    must_equal(vigil_group_init(&group, pool, 0), 0);
    must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0);
    must_equal(vigil_pool_submit(pool, &item.task, VIGIL_NORMAL), -ESHUTDOWN);
    must_equal(vigil_pool_submit_batch(pool, batch, 1, VIGIL_NORMAL), -ESHUTDOWN);
    must_equal(vigil_pool_submit_to(pool, 0, &item.task, VIGIL_NORMAL), -ESHUTDOWN);
    must_equal(vigil_pool_submit_after(pool, &item.task, VIGIL_NORMAL, 0), -ESHUTDOWN);
    must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), -ESHUTDOWN);
    must_equal(vigil_job_call(pool, nothing, NULL, NULL, &job), -ESHUTDOWN);
    must_equal(vigil_group_spawn(&group, &item.task), -ESHUTDOWN);
    must_equal(vigil_group_submit(&group, &item.task, VIGIL_NORMAL), -ESHUTDOWN);
    must_equal(vigil_group_wait(&group), 0); /* it never had a member */
    must_equal(vigil_pool_resize(pool, 3), -ESHUTDOWN);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(pool_stats(pool).total.refused, 8);
    must_equal(ledger.ran + ledger.cancelled, 0);
    destroy_stopped(pool);
}

static void p11_a_stop_may_be_repeated_in_any_mode(void **state)
{
    (void)state;
    for (int mode = END_GRACEFUL; mode <= END_AT_ONCE; mode++) {
        vigil_pool *pool = pool_of(3);
        for (int again = 0; again < 3; again++) {
            must_equal(end_pool(pool, (enum end_mode)mode, VIGIL_FOREVER), 0);
            must_equal(vigil_pool_shutdown(pool, 0), 0);
            must_equal(vigil_pool_close(pool, 0), 0);
        }
        destroy_stopped(pool);
    }
}

static void p11_a_graceful_stop_that_takes_too_long_can_be_turned_into_an_immediate_one(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct ledger ledger = {.pool = pool};
    static struct item items[ITEMS];
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    for (int i = 0; i < ITEMS; i++) {
        item_init(&items[i], &ledger);
        must_equal(vigil_pool_submit(pool, &items[i].task, VIGIL_NORMAL), 0);
    }
    must_equal(vigil_pool_shutdown(pool, 1000000), -ETIMEDOUT);
    must_equal(vigil_pool_close(pool, 1000000), -ETIMEDOUT);
    hold_release(&hold);
    must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0); /* there is no way back */
    must_equal(ledger.ran, 0);
    must_equal(ledger.cancelled, ITEMS);
    destroy_stopped(pool);
}

static void p11_destroy_alone_stops_at_once(void **state)
{
    (void)state;
    must_equal(vigil_pool_destroy(NULL), 0);
    vigil_pool *pool = pool_of(2);
    struct ledger ledger = {.pool = pool};
    static struct item items[ITEMS];
    for (int i = 0; i < ITEMS; i++) {
        item_init(&items[i], &ledger);
        must_equal(vigil_pool_submit(pool, &items[i].task, VIGIL_NORMAL), 0);
    }
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
    must_equal(ledger.ran + ledger.cancelled, ITEMS);
    for (int i = 0; i < ITEMS; i++)
        must_equal(items[i].ran + items[i].cancelled, 1);
}

/* "No other thread may be inside a call on this pool, except a submit whose task has already run." */
struct hasty {
    vigil_pool *pool;
    struct event ran;
};

static int hasty_run(void *arg)
{
    event_set(&((struct hasty *)arg)->ran);
    return 0;
}

static void *hasty_submit(void *arg)
{
    struct hasty *hasty = arg;
    must_equal(vigil_pool_call(hasty->pool, hasty_run, NULL, hasty, VIGIL_NORMAL), 0);
    return NULL; /* the pool may be gone by now */
}

static void p11_destroy_waits_for_a_submit_on_its_way_out_whose_task_has_run(void **state)
{
    (void)state;
    for (uint64_t round = scaled(2000, 50); round > 0; round--) {
        struct hasty hasty = {.pool = pool_of(1)};
        pthread_t thread = start_thread(hasty_submit, &hasty);
        event_wait(&hasty.ran);
        pool_unwatch(hasty.pool);
        must_equal(vigil_pool_destroy(hasty.pool), 0);
        join_thread(thread);
    }
}

/* ---- inside tasks ----------------------------------------------------------------------------------------------- */

struct inside {
    vigil_pool *pool;
    int stop_answer, destroy_answer;
};

static int stop_inside(void *arg)
{
    struct inside *inside = arg;
    inside->stop_answer = vigil_pool_close(inside->pool, VIGIL_FOREVER);
    inside->destroy_answer = vigil_pool_destroy(inside->pool);
    return 0;
}

static void p11_inside_a_task_stop_and_destroy_are_refused_and_change_nothing(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct inside inside = {.pool = pool};
    must_equal(vigil_pool_call(pool, stop_inside, NULL, &inside, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(inside.stop_answer, -EDEADLK);
    must_equal(inside.destroy_answer, -EDEADLK);
    must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), 0); /* still open */
    pool_close(pool);
}

/* A task that runs while the pool stops, and hands over more. */
struct late {
    struct ledger *ledger;
    struct gate gate;
    struct item spawned[50];
    struct item submitted[50];
    vigil_group group;
    int spawn_answer, submit_answer, wait_answer;
};

static int late_run(void *arg)
{
    struct late *late = arg;
    vigil_pool *pool = late->ledger->pool;
    gate_pass(&late->gate);
    must_equal(vigil_group_init(&late->group, pool, 0), 0);
    for (int i = 0; i < 50; i++) {
        item_init(&late->spawned[i], late->ledger);
        item_init(&late->submitted[i], late->ledger);
        late->spawn_answer = vigil_group_spawn(&late->group, &late->spawned[i].task);
        late->submit_answer = vigil_pool_submit(pool, &late->submitted[i].task, VIGIL_NORMAL);
        must_equal(late->spawn_answer, 0);
        must_equal(late->submit_answer, 0);
    }
    late->wait_answer = vigil_group_wait(&late->group);
    return 0;
}

static struct late *late_work(enum end_mode mode, unsigned workers, struct ledger *ledger)
{
    vigil_pool *pool = pool_of(workers);
    *ledger = (struct ledger){.pool = pool};
    struct late *late = calloc(1, sizeof *late);
    must(late != NULL);
    late->ledger = ledger;
    must_equal(vigil_pool_call(pool, late_run, NULL, late, VIGIL_NORMAL), 0);
    gate_wait_entered(&late->gate, 1);
    must_equal(end_pool(pool, mode, 0), -ETIMEDOUT);
    gate_open(&late->gate);
    must_equal(end_pool(pool, mode, VIGIL_FOREVER), 0);
    destroy_stopped(pool);
    return late;
}

static void p11_running_tasks_may_spawn_and_submit_while_a_graceful_stop_drains(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers++) {
        struct ledger ledger;
        struct late *late = late_work(END_GRACEFUL, workers, &ledger);
        must_equal(late->wait_answer, 0);
        must_equal(ledger.ran, 100);
        must_equal(ledger.cancelled, 0);
        free(late);
    }
}

static void p11_what_running_tasks_hand_over_during_an_immediate_stop_is_cancelled(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers++) {
        struct ledger ledger;
        struct late *late = late_work(END_AT_ONCE, workers, &ledger);
        must_equal(late->wait_answer, -ECANCELED);
        must_equal(ledger.ran, 0);
        must_equal(ledger.cancelled, 100);
        free(late);
    }
}

/* ---- those who wait --------------------------------------------------------------------------------------------- */

struct waiting {
    vigil_pool *pool;
    vigil_job job;
    vigil_group *group;
    struct event started;
};

static void *wait_for_job(void *arg)
{
    struct waiting *waiting = arg;
    int status = 0;
    event_set(&waiting->started);
    must_equal(vigil_job_wait(waiting->pool, waiting->job, VIGIL_FOREVER, &status), 0);
    must_equal(status, -ECANCELED);
    return NULL;
}

static void *wait_for_group(void *arg)
{
    struct waiting *waiting = arg;
    event_set(&waiting->started);
    must_equal(vigil_group_wait(waiting->group), -ECANCELED);
    return NULL;
}

static void p11_waiters_for_cancelled_jobs_and_groups_are_let_go(void **state)
{
    (void)state;
    for (uint64_t round = scaled(50, 5); round > 0; round--) {
        vigil_pool *pool = pool_of(1);
        struct ledger ledger = {.pool = pool};
        struct item item;
        struct hold hold = {0};
        vigil_group group;
        item_init(&item, &ledger);
        hold_workers(&hold, pool, 1);
        struct waiting job = {.pool = pool};
        struct waiting member = {.pool = pool, .group = &group};
        must_equal(vigil_job_call(pool, nothing, NULL, NULL, &job.job), 0);
        must_equal(vigil_group_init(&group, pool, 0), 0);
        must_equal(vigil_group_submit(&group, &item.task, VIGIL_LOW), 0);
        pthread_t threads[2] = {start_thread(wait_for_job, &job), start_thread(wait_for_group, &member)};
        event_wait(&job.started);
        event_wait(&member.started);
        must_equal(vigil_pool_close(pool, 0), -ETIMEDOUT);
        hold_release(&hold);
        join_thread(threads[0]);
        join_thread(threads[1]);
        must_equal(vigil_pool_close(pool, VIGIL_FOREVER), 0);
        must_equal(ledger.cancelled, 1);
        must_equal(vigil_job_unref(pool, job.job), 0);
        destroy_stopped(pool);
    }
}

static void on_start(void *user, unsigned worker)
{
    (void)atomic_fetch_add_explicit(&((_Atomic uint64_t *)user)[worker], 1, memory_order_relaxed);
}

static void on_stop(void *user, unsigned worker)
{
    (void)atomic_fetch_add_explicit(&((_Atomic uint64_t *)user)[worker], 1000, memory_order_relaxed);
}

static void p11_worker_hooks_run_once_for_each_worker(void **state)
{
    (void)state;
    for (int mode = END_GRACEFUL; mode <= END_AT_ONCE; mode++) {
        _Atomic uint64_t calls[17] = {0};
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.workers = 16;
        options.on_worker_start = on_start;
        options.on_worker_stop = on_stop;
        options.user = (void *)calls;
        vigil_pool *pool = pool_with(&options);
        must_equal(end_pool(pool, (enum end_mode)mode, VIGIL_FOREVER), 0);
        for (unsigned w = 0; w < 16; w++)
            must_equal(calls[w], 1001);
        must_equal(calls[16], 0);
        destroy_stopped(pool);
    }
}

/* A cancel callback runs on whatever thread cancels, and its task has not ended while it runs. */
struct refusal {
    vigil_pool *pool;
    vigil_job job;
    uint32_t runs;
};

static void must_be_refused(struct refusal *it)
{
    must_equal(vigil_pool_shutdown(it->pool, VIGIL_FOREVER), -EDEADLK);
    must_equal(vigil_pool_close(it->pool, VIGIL_FOREVER), -EDEADLK);
    must_equal(vigil_pool_wait_idle(it->pool, VIGIL_FOREVER), -EDEADLK);
    must_equal(vigil_pool_destroy(it->pool), -EDEADLK);
    if (it->job.id != 0)
        must_equal(vigil_job_wait(it->pool, it->job, VIGIL_FOREVER, NULL), -EDEADLK);
    it->runs++;
}

static void cancel_asks_for_the_end(void *arg)
{
    struct refusal *it = arg;
    must_be_refused(it);
    if (it->runs == 1)
        vigil_raise(-EIO); /* leaves the callback, and with it the refusals */
}

static int never(void *arg)
{
    (void)arg;
    must(false);
    return 0;
}

static void p11_inside_a_cancel_callback_the_end_is_not_waited_for(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct refusal it = {.pool = pool};
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.cancel = cancel_asks_for_the_end;
    for (uint32_t i = 1; i <= 2; i++) { /* the first leaves by vigil_raise */
        must_equal(vigil_job_call(pool, never, &it, &options, &it.job), 0);
        must_equal(vigil_job_cancel(pool, it.job), 0);
        must_equal(it.runs, i);
        must_equal(vigil_job_wait(pool, it.job, VIGIL_FOREVER, NULL), 0);
        must_equal(vigil_job_unref(pool, it.job), 0);
        must_equal(vigil_pool_wait_idle(pool, 0), -ETIMEDOUT);
    }
    it.job.id = 0;
    must_equal(vigil_pool_call(pool, never, cancel_asks_for_the_end, &it, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_close(pool, 0), -ETIMEDOUT);
    must_equal(it.runs, 3);
    hold_release(&hold);
    must_equal(vigil_pool_close(pool, VIGIL_FOREVER), 0);
    destroy_stopped(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p11_a_graceful_stop_runs_everything_that_was_accepted),
        test(p11_an_immediate_stop_cancels_everything_that_has_not_started),
        test(p11_after_a_stop_every_submit_is_refused_and_counted),
        test(p11_a_stop_may_be_repeated_in_any_mode),
        test(p11_a_graceful_stop_that_takes_too_long_can_be_turned_into_an_immediate_one),
        test(p11_destroy_alone_stops_at_once),
        test(p11_destroy_waits_for_a_submit_on_its_way_out_whose_task_has_run),
        test(p11_inside_a_task_stop_and_destroy_are_refused_and_change_nothing),
        test(p11_inside_a_cancel_callback_the_end_is_not_waited_for),
        test(p11_running_tasks_may_spawn_and_submit_while_a_graceful_stop_drains),
        test(p11_what_running_tasks_hand_over_during_an_immediate_stop_is_cancelled),
        test(p11_waiters_for_cancelled_jobs_and_groups_are_let_go),
        test(p11_worker_hooks_run_once_for_each_worker),
    };
    return run_all(tests);
}
