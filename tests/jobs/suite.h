/* SPDX-License-Identifier: MIT */
/*
 * suite.h - what every engine must do. A program per engine says where its queue is and how time passes in it, and runs the list
 * at the end.
 */
#ifndef TESTS_JOBS_SUITE_H
#define TESTS_JOBS_SUITE_H

#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

#include <vigil/jobs.h>

/* What the program of an engine provides. */
static const char *fresh_queue(void);              /* a new queue; its address */
static void expire_leases(vigil_jobs *jobs);       /* every lease of the queue has run out */
static void make_due(vigil_jobs *jobs);            /* every waiting job is due */
static void pass_days(vigil_jobs *jobs, int days); /* for schedules */
static void *begin_transaction(const char *where); /* a connection of the user, inside a transaction */
static void end_transaction(void *connection, bool commit);
static void run_sql(const char *where, const char *sql);

#define MINUTE INT64_C(60000000000)
#define SECOND INT64_C(1000000000)

#define must_work(call)                                                    \
    do {                                                                   \
        int result_ = (call);                                              \
        if (result_ < 0) {                                                 \
            print_error("%s: %d, %s\n", #call, result_, vigil_jobs_why()); \
            support_fail(#call, __FILE__, __LINE__);                       \
        }                                                                  \
    } while (0)

static vigil_jobs *open_queue(const char *where)
{
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 2;
    options.poll_ns = SECOND;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, where, &options));
    return jobs;
}

static vigil_jobs_account account_of(vigil_jobs *jobs)
{
    vigil_jobs_account account = VIGIL_JOBS_ACCOUNT_INIT;
    must_work(vigil_jobs_audit(jobs, &account)); /* fails unless the account balances */
    return account;
}

static uint64_t enqueue(vigil_jobs *jobs, const char *kind, const char *payload, const vigil_jobs_job *options)
{
    uint64_t id = 0;
    must_work(vigil_jobs_enqueue(jobs, kind, payload, strlen(payload), options, &id));
    must(id != 0);
    return id;
}

static void must_end_as(vigil_jobs *jobs, uint64_t id, int state)
{
    must_equal(vigil_jobs_wait(jobs, id, VIGIL_FOREVER, NULL, NULL), state);
}

struct seen {
    vigil_jobs_info info;
    char error[200], text[200], payload[200], result[200], key[64], tenant[64], verdict[400];
    int times;
};

static void keep_text(char *to, size_t room, const void *from, size_t length)
{
    if (length >= room)
        length = room - 1;
    if (length > 0)
        memcpy(to, from, length);
    to[length] = '\0';
}

static void see(const vigil_jobs_info *info, void *arg)
{
    struct seen *seen = arg;
    seen->info = *info;
    keep_text(seen->error, sizeof seen->error, info->error, strlen(info->error));
    keep_text(seen->text, sizeof seen->text, info->text, strlen(info->text));
    keep_text(seen->key, sizeof seen->key, info->key, strlen(info->key));
    keep_text(seen->tenant, sizeof seen->tenant, info->tenant, strlen(info->tenant));
    keep_text(seen->verdict, sizeof seen->verdict, info->verdict, strlen(info->verdict));
    keep_text(seen->payload, sizeof seen->payload, info->payload, info->payload_size);
    keep_text(seen->result, sizeof seen->result, info->result, info->result_size);
    seen->times++;
}

static struct seen look_at(vigil_jobs *jobs, uint64_t id)
{
    struct seen seen = {0};
    vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
    filter.id = id;
    must_equal(vigil_jobs_look(jobs, &filter, see, &seen), 1);
    return seen;
}

static vigil_jobs_stats stats_of(vigil_jobs *jobs)
{
    vigil_jobs_stats stats = VIGIL_JOBS_STATS_INIT;
    must_equal(vigil_jobs_stats_get(jobs, &stats), 0);
    return stats;
}

/* ---- handlers ---------------------------------------------------------------------------------------------------- */

static int echo(vigil_jobs_run *run, void *arg)
{
    if (arg != NULL)
        tally_add(arg, 1);
    must_equal(vigil_jobs_result(run, run->payload, run->payload_size), 0);
    return 0;
}

static int fail_always(vigil_jobs_run *run, void *arg)
{
    tally_add(arg, 1);
    must_equal(vigil_jobs_error(run, "no luck"), 0);
    return -EIO;
}

static int raise_always(vigil_jobs_run *run, void *arg)
{
    (void)run;
    tally_add(arg, 1);
    vigil_raise(-EDOM);
}

/* Runs that wait for each other: the first of a job stays inside until it is let out. */
struct stage {
    struct tally entered;
    struct event out;
    _Atomic int aborted;
    _Atomic int numbers;
};

static int stay_once(vigil_jobs_run *run, void *arg)
{
    struct stage *stage = arg;
    int before = atomic_fetch_add(&stage->numbers, 1);
    tally_add(&stage->entered, 1);
    if (before == 0)
        event_wait(&stage->out);
    (void)run;
    return 0;
}

static int stay(vigil_jobs_run *run, void *arg)
{
    struct stage *stage = arg;
    (void)run;
    tally_add(&stage->entered, 1);
    event_wait(&stage->out);
    return 0;
}

static void on_abort(vigil_cancel_handler *handler, int status);
struct abortable {
    vigil_cancel_handler handler;
    struct stage *stage;
};

static void on_abort(vigil_cancel_handler *handler, int status)
{
    struct stage *stage = container_of(handler, struct abortable, handler)->stage;
    atomic_store(&stage->aborted, status);
    event_set(&stage->out);
}

static int stay_until_aborted(vigil_jobs_run *run, void *arg)
{
    struct stage *stage = arg;
    struct abortable mine = {.handler = {.fn = on_abort}, .stage = stage};
    vigil_cancel_token *token = vigil_jobs_token(run);
    must(token != NULL);
    if (vigil_cancel_add(token, &mine.handler) != 0)
        return vigil_cancel_status(token);
    tally_add(&stage->entered, 1);
    event_wait(&stage->out);
    (void)vigil_cancel_remove(token, &mine.handler);
    return vigil_cancel_status(token);
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

static void a_job_runs_and_leaves_its_result(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    must_equal(vigil_jobs_handle(jobs, "echo", echo, NULL, NULL), 0);
    uint64_t id = enqueue(jobs, "echo", "hello", NULL);
    must_equal(account_of(jobs).waiting, 1);
    must_equal(vigil_jobs_start(jobs), 0);
    struct seen seen = {0};
    must_equal(vigil_jobs_wait(jobs, id, VIGIL_FOREVER, see, &seen), VIGIL_JOBS_COMPLETED);
    must_equal(strcmp(seen.result, "hello"), 0);
    must_equal(seen.info.errors, 0);
    must(seen.info.ended_ms >= seen.info.created_ms);
    /* An idle runner starts what comes. */
    must_end_as(jobs, enqueue(jobs, "echo", "again", NULL), VIGIL_JOBS_COMPLETED);
    vigil_jobs_account account = account_of(jobs);
    must_equal(account.enqueued, 2);
    must_equal(account.completed, 2);
    must_equal(vigil_jobs_wait(jobs, 999999, 0, NULL, NULL), -ENOENT);
    vigil_jobs_close(jobs);
}

static void two_queues_share_many_jobs_and_each_runs_once(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    size_t count = (size_t)scaled(2000, 100);
    vigil_jobs *one = open_queue(where), *two = open_queue(where);
    struct tally runs = {0};
    must_equal(vigil_jobs_handle(one, "count", echo, &runs, NULL), 0);
    must_equal(vigil_jobs_handle(two, "count", echo, &runs, NULL), 0);
    must_equal(vigil_jobs_start(one), 0);
    vigil_jobs_item *items = calloc(count, sizeof *items);
    vigil_jobs_job options[VIGIL_PRIORITIES];
    for (int i = 0; i < VIGIL_PRIORITIES; i++) {
        options[i] = (vigil_jobs_job)VIGIL_JOBS_JOB_INIT;
        options[i].priority = (vigil_priority)i;
    }
    for (size_t i = 0; i < count; i++)
        items[i] =
            (vigil_jobs_item){.kind = "count", .payload = "x", .length = 1, .options = &options[i % VIGIL_PRIORITIES]};
    must_equal(vigil_jobs_enqueue_many(one, items, count), count);
    must_equal(vigil_jobs_start(two), 0);
    for (size_t i = 0; i < count; i++)
        must_end_as(two, items[i].id, VIGIL_JOBS_COMPLETED);
    free(items);
    must_equal(tally_get(&runs), count);
    must_equal(account_of(one).completed, count);
    /* A process counts an end when it has heard of the commit, which others may see before. */
    must_equal(vigil_jobs_shutdown(one, VIGIL_FOREVER), 0);
    must_equal(vigil_jobs_shutdown(two, VIGIL_FOREVER), 0);
    must_equal(stats_of(one).completed + stats_of(two).completed, count);
    must_equal(stats_of(one).refused + stats_of(two).refused, 0);
    vigil_jobs_close(one);
    vigil_jobs_close(two);
}

static void errors_are_tried_again_until_the_job_is_dead_and_retry_revives_it(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct tally runs = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.max_errors = 3;
    kind.backoff_ns = 3600 * SECOND;
    must_equal(vigil_jobs_handle(jobs, "bad", fail_always, &runs, &kind), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    uint64_t id = enqueue(jobs, "bad", "keep me", NULL);
    for (uint32_t i = 1; i < 3; i++) {
        tally_wait(&runs, i);
        while (look_at(jobs, id).info.errors < i)
            yield();
        must_equal(look_at(jobs, id).info.state, VIGIL_JOBS_WAITING);
        make_due(jobs);
    }
    must_end_as(jobs, id, VIGIL_JOBS_DEAD);
    struct seen seen = look_at(jobs, id);
    must_equal(seen.info.errors, 3);
    must_equal(strcmp(seen.error, "no luck"), 0);
    must_equal(strcmp(seen.payload, "keep me"), 0);
    must_equal(vigil_jobs_retry(jobs, id), 0);
    tally_wait(&runs, 4);
    while (look_at(jobs, id).info.errors < 1)
        yield();
    must_equal(account_of(jobs).enqueued, 1);
    vigil_jobs_close(jobs);
}

static void a_handler_that_raises_has_failed(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct tally runs = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.max_errors = 1;
    must_equal(vigil_jobs_handle(jobs, "raises", raise_always, &runs, &kind), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    must_end_as(jobs, enqueue(jobs, "raises", "", NULL), VIGIL_JOBS_DEAD);
    must_equal(tally_get(&runs), 1);
    vigil_jobs_close(jobs);
}

static void a_completion_after_the_lease_was_lost_is_refused(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs *one = open_queue(where), *two = open_queue(where);
    struct stage stage = {0};
    must_equal(vigil_jobs_handle(one, "slow", stay_once, &stage, NULL), 0);
    must_equal(vigil_jobs_handle(two, "slow", stay_once, &stage, NULL), 0);
    must_equal(vigil_jobs_start(one), 0);
    uint64_t id = enqueue(one, "slow", "", NULL);
    tally_wait(&stage.entered, 1);
    expire_leases(one);
    must_equal(vigil_jobs_start(two), 0);
    must_end_as(two, id, VIGIL_JOBS_COMPLETED); /* the second run; the first is still inside */
    must_equal(look_at(two, id).info.crashes, 1);
    uint64_t number = look_at(two, id).info.number;
    event_set(&stage.out);
    while (stats_of(one).refused + stats_of(two).refused == 0)
        yield();
    must_equal(look_at(two, id).info.number, number);
    must_equal(account_of(one).completed, 1);
    vigil_jobs_close(one);
    vigil_jobs_close(two);
}

/* A job whose leases run out is quarantined, and then dead. The runs stay inside all the time. */
static void a_job_that_kills_its_processes_is_quarantined_and_then_dead(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    struct stage stages[4] = {0};
    vigil_jobs *jobs[4];
    uint64_t id = 0;
    for (int i = 0; i < 4; i++) {
        jobs[i] = open_queue(where);
        must_equal(vigil_jobs_handle(jobs[i], i < 3 ? "killer" : "other", stay_once, &stages[i], NULL), 0);
    }
    for (int i = 0; i < 3; i++) {
        if (i == 0)
            id = enqueue(jobs[0], "killer", "", NULL);
        must_equal(vigil_jobs_start(jobs[i]), 0);
        tally_wait(&stages[i].entered, 1);
        (void)vigil_jobs_pause(jobs[0], NULL); /* nobody claims while the next is not ready */
        while (look_at(jobs[0], id).info.state == VIGIL_JOBS_RUNNING) {
            expire_leases(jobs[0]); /* a beat may have extended it again */
            yield();
        }
        if (i < 2) {
            must_equal(look_at(jobs[0], id).info.state, i == 0 ? VIGIL_JOBS_WAITING : VIGIL_JOBS_QUARANTINE);
            must_equal(look_at(jobs[0], id).info.crashes, i + 1);
            /* One that is busy does not take it; one that stops does not either. */
            must_equal(vigil_jobs_shutdown(jobs[i], 0), -ETIMEDOUT);
            (void)vigil_jobs_resume(jobs[0], NULL);
        }
    }
    must_end_as(jobs[0], id, VIGIL_JOBS_DEAD);
    must_equal(look_at(jobs[0], id).info.crashes, 3);
    must_equal(account_of(jobs[0]).dead, 1);
    for (int i = 0; i < 4; i++) {
        event_set(&stages[i].out);
        vigil_jobs_close(jobs[i]);
    }
}

static void a_delayed_job_waits_and_priorities_go_first(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct tally runs = {0};
    must_equal(vigil_jobs_handle(jobs, "later", echo, &runs, NULL), 0);
    vigil_jobs_job options = VIGIL_JOBS_JOB_INIT;
    options.delay_ns = 60 * MINUTE;
    uint64_t id = enqueue(jobs, "later", "", &options);
    must_equal(vigil_jobs_start(jobs), 0);
    must_end_as(jobs, enqueue(jobs, "later", "", NULL), VIGIL_JOBS_COMPLETED);
    must_equal(tally_get(&runs), 1);
    must_equal(look_at(jobs, id).info.state, VIGIL_JOBS_WAITING);
    make_due(jobs);
    must_end_as(jobs, id, VIGIL_JOBS_COMPLETED);
    vigil_jobs_close(jobs);
}

static void a_key_keeps_a_second_job_out_until_the_first_has_ended(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct stage stage = {0};
    must_equal(vigil_jobs_handle(jobs, "unique", stay_once, &stage, NULL), 0);
    vigil_jobs_job options = VIGIL_JOBS_JOB_INIT;
    options.key = "invoice 7";
    uint64_t id = enqueue(jobs, "unique", "", &options), other = 0;
    must_equal(vigil_jobs_enqueue(jobs, "unique", "", 0, &options, &other), -EEXIST);
    must_equal(other, id);
    must_equal(vigil_jobs_start(jobs), 0);
    tally_wait(&stage.entered, 1);
    must_equal(vigil_jobs_enqueue(jobs, "unique", "", 0, &options, &other), -EEXIST);
    event_set(&stage.out);
    must_end_as(jobs, id, VIGIL_JOBS_COMPLETED);
    must_end_as(jobs, enqueue(jobs, "unique", "", &options), VIGIL_JOBS_COMPLETED);
    must_equal(account_of(jobs).enqueued, 2);
    vigil_jobs_close(jobs);
}

static void a_key_until_the_start_lets_one_wait_while_one_runs(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct stage stage = {0};
    must_equal(vigil_jobs_handle(jobs, "unique", stay_once, &stage, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    vigil_jobs_job options = VIGIL_JOBS_JOB_INIT;
    options.key = "sync";
    options.unique = VIGIL_JOBS_UNTIL_START;
    uint64_t first = enqueue(jobs, "unique", "", &options);
    tally_wait(&stage.entered, 1);
    uint64_t second = enqueue(jobs, "unique", "", &options);
    must_end_as(jobs, second, VIGIL_JOBS_COMPLETED);
    event_set(&stage.out);
    must_end_as(jobs, first, VIGIL_JOBS_COMPLETED);
    vigil_jobs_close(jobs);
}

static void a_job_after_a_batch_starts_when_all_of_it_has_ended(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct tally runs = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.max_errors = 1;
    must_equal(vigil_jobs_handle(jobs, "part", echo, &runs, NULL), 0);
    must_equal(vigil_jobs_handle(jobs, "bad part", fail_always, &runs, &kind), 0);
    must_equal(vigil_jobs_handle(jobs, "sum", echo, &runs, NULL), 0);
    uint64_t batch = 0;
    must_work(vigil_jobs_batch(jobs, &batch));
    vigil_jobs_job part = VIGIL_JOBS_JOB_INIT, after = VIGIL_JOBS_JOB_INIT;
    part.batch = batch;
    after.after_batch = batch;
    uint64_t parts[4];
    for (int i = 0; i < 3; i++)
        parts[i] = enqueue(jobs, "part", "", &part);
    parts[3] = enqueue(jobs, "bad part", "", &part);
    uint64_t cancelled = enqueue(jobs, "part", "", &part);
    uint64_t sum = enqueue(jobs, "sum", "", &after);
    must_equal(look_at(jobs, sum).info.state, VIGIL_JOBS_HELD);
    must_equal(vigil_jobs_cancel(jobs, cancelled), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    for (int i = 0; i < 4; i++)
        must_end_as(jobs, parts[i], i < 3 ? VIGIL_JOBS_COMPLETED : VIGIL_JOBS_DEAD);
    must_equal(look_at(jobs, sum).info.state, VIGIL_JOBS_HELD); /* the batch is still open */
    must_work(vigil_jobs_batch_end(jobs, batch));
    must_equal(vigil_jobs_batch_end(jobs, batch), -EALREADY);
    must_end_as(jobs, sum, VIGIL_JOBS_COMPLETED);
    must_equal(tally_get(&runs), 5);
    must_equal(vigil_jobs_enqueue(jobs, "part", "", 0, &part, NULL), -ENOENT);
    vigil_jobs_account account = account_of(jobs);
    must_equal(account.enqueued, 6);
    must_equal(account.cancelled, 1);
    vigil_jobs_close(jobs);
}

static void waiting_and_running_jobs_can_be_cancelled(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct stage stage = {0};
    must_equal(vigil_jobs_handle(jobs, "stays", stay_until_aborted, &stage, NULL), 0);
    uint64_t waiting = enqueue(jobs, "nobody", "", NULL);
    must_equal(vigil_jobs_cancel(jobs, waiting), 0);
    must_equal(vigil_jobs_cancel(jobs, waiting), -EALREADY);
    must_equal(vigil_jobs_cancel(jobs, 424242), -ENOENT);
    uint64_t running = enqueue(jobs, "stays", "", NULL);
    must_equal(vigil_jobs_start(jobs), 0);
    tally_wait(&stage.entered, 1);
    must_equal(vigil_jobs_retry(jobs, running), -EBUSY);
    must_equal(vigil_jobs_cancel(jobs, running), 1);
    must_end_as(jobs, running, VIGIL_JOBS_CANCELLED);
    must_equal(atomic_load(&stage.aborted), -ECANCELED);
    must_equal(account_of(jobs).cancelled, 2);
    vigil_jobs_close(jobs);
}

static void a_run_that_reaches_its_limit_is_aborted_and_counts_as_failed(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct stage stage = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.limit_ns = 20000000;
    kind.max_errors = 1;
    must_equal(vigil_jobs_handle(jobs, "stays", stay_until_aborted, &stage, &kind), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    must_end_as(jobs, enqueue(jobs, "stays", "", NULL), VIGIL_JOBS_DEAD);
    must_equal(atomic_load(&stage.aborted), stage.entered.count != 0 ? -ETIMEDOUT : 0);
    vigil_jobs_close(jobs);
}

static void a_paused_kind_waits(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct tally runs = {0}, others = {0};
    must_equal(vigil_jobs_handle(jobs, "tea", echo, &runs, NULL), 0);
    must_equal(vigil_jobs_handle(jobs, "coffee", echo, &others, NULL), 0);
    must_work(vigil_jobs_pause(jobs, "tea"));
    uint64_t id = enqueue(jobs, "tea", "", NULL);
    must_equal(vigil_jobs_start(jobs), 0);
    must_end_as(jobs, enqueue(jobs, "coffee", "", NULL), VIGIL_JOBS_COMPLETED);
    must_equal(look_at(jobs, id).info.state, VIGIL_JOBS_WAITING);
    must_work(vigil_jobs_resume(jobs, "tea"));
    must_end_as(jobs, id, VIGIL_JOBS_COMPLETED);
    vigil_jobs_close(jobs);
}

static void unknown_kinds_and_versions_are_left_for_those_who_know_them(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs *old = open_queue(where), *new = open_queue(where);
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.version = 1;
    must_equal(vigil_jobs_handle(old, "resize", echo, NULL, &kind), 0);
    must_equal(vigil_jobs_handle(new, "resize", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_handle(new, "crop", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_start(old), 0);
    vigil_jobs_job second = VIGIL_JOBS_JOB_INIT;
    second.version = 2;
    uint64_t newer = enqueue(old, "resize", "", &second), unknown = enqueue(old, "crop", "", NULL);
    must_end_as(old, enqueue(old, "resize", "", NULL), VIGIL_JOBS_COMPLETED);
    must_equal(look_at(old, newer).info.state, VIGIL_JOBS_WAITING);
    must_equal(look_at(old, unknown).info.state, VIGIL_JOBS_WAITING);
    must_equal(vigil_jobs_start(new), 0);
    must_end_as(old, newer, VIGIL_JOBS_COMPLETED);
    must_end_as(old, unknown, VIGIL_JOBS_COMPLETED);
    vigil_jobs_close(old);
    vigil_jobs_close(new);
}

static void a_shutdown_gives_back_what_runs_and_what_waits_here(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 1;
    options.prefetch = 4;
    vigil_jobs *one = NULL, *two = open_queue(where);
    must_work(vigil_jobs_open(&one, where, &options));
    struct stage stage = {0};
    must_equal(vigil_jobs_handle(one, "stays", stay_until_aborted, &stage, NULL), 0);
    must_equal(vigil_jobs_handle(two, "stays", echo, NULL, NULL), 0);
    uint64_t ids[4];
    for (int i = 0; i < 4; i++)
        ids[i] = enqueue(one, "stays", "", NULL);
    must_equal(vigil_jobs_start(one), 0);
    tally_wait(&stage.entered, 1);
    while (stats_of(one).claimed < 4)
        yield();
    must_equal(vigil_jobs_shutdown(one, 1000000), -ETIMEDOUT);
    must_equal(atomic_load(&stage.aborted), -ESHUTDOWN);
    must_equal(vigil_jobs_start(two), 0); /* no lease runs out here: they are free at once */
    for (int i = 0; i < 4; i++) {
        must_end_as(two, ids[i], VIGIL_JOBS_COMPLETED);
        must_equal(look_at(two, ids[i]).info.crashes, 0);
        must_equal(look_at(two, ids[i]).info.errors, 0);
    }
    vigil_jobs_close(one);
    must_equal(account_of(two).completed, 4);
    vigil_jobs_close(two);
}

static int save_and_fail(vigil_jobs_run *run, void *arg)
{
    tally_add(arg, 1);
    if (run->checkpoint != NULL) {
        must_equal(run->checkpoint_size, 4);
        must_equal(memcmp(run->checkpoint, "half", 4), 0);
        must_equal(run->errors, 1);
        return 0;
    }
    must_equal(vigil_jobs_checkpoint(run, "half", 4), 0);
    must_equal(vigil_jobs_progress(run, 0.5, "half way"), 0);
    return -EAGAIN;
}

static void a_checkpoint_is_handed_to_the_next_run(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct tally runs = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.backoff_ns = 1000000;
    must_equal(vigil_jobs_handle(jobs, "steps", save_and_fail, &runs, &kind), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    must_end_as(jobs, enqueue(jobs, "steps", "", NULL), VIGIL_JOBS_COMPLETED);
    must_equal(tally_get(&runs), 2);
    vigil_jobs_close(jobs);
}

static vigil_jobs_run *_Atomic handed_over;

static int hand_over(vigil_jobs_run *run, void *arg)
{
    atomic_store(&handed_over, run);
    tally_add(arg, 1);
    return VIGIL_JOBS_LATER;
}

static void a_run_may_end_after_its_handler_has_returned(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct tally runs = {0};
    must_equal(vigil_jobs_handle(jobs, "async", hand_over, &runs, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    uint64_t id = enqueue(jobs, "async", "", NULL);
    tally_wait(&runs, 1);
    must_equal(vigil_jobs_wait(jobs, id, 0, NULL, NULL), -ETIMEDOUT);
    must_equal(vigil_jobs_result(atomic_load(&handed_over), "late", 4), 0);
    must_equal(vigil_jobs_finish(atomic_load(&handed_over), 0), 0);
    struct seen seen = {0};
    must_equal(vigil_jobs_wait(jobs, id, VIGIL_FOREVER, see, &seen), VIGIL_JOBS_COMPLETED);
    must_equal(strcmp(seen.result, "late"), 0);
    vigil_jobs_close(jobs);
}

static void jobs_are_enqueued_with_the_callers_transaction(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs *jobs = open_queue(where);
    must_equal(vigil_jobs_handle(jobs, "mail", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    vigil_jobs_item item = {.kind = "mail", .payload = "x", .length = 1};
    void *connection = begin_transaction(where);
    must_equal(vigil_jobs_enqueue_within(jobs, connection, &item, 1), 1);
    end_transaction(connection, false);
    must_equal(account_of(jobs).enqueued, 0);
    connection = begin_transaction(where);
    must_equal(vigil_jobs_enqueue_within(jobs, connection, &item, 1), 1);
    end_transaction(connection, true);
    must_equal(vigil_jobs_committed(jobs), 0);
    must_end_as(jobs, item.id, VIGIL_JOBS_COMPLETED);
    must_equal(account_of(jobs).enqueued, 1);
    vigil_jobs_close(jobs);
}

struct together {
    _Atomic int now, most;
    struct tally done;
};

static int meet(vigil_jobs_run *run, void *arg)
{
    (void)run;
    struct together *together = arg;
    int now = atomic_fetch_add(&together->now, 1) + 1, most = atomic_load(&together->most);
    while (now > most && !atomic_compare_exchange_weak(&together->most, &most, now)) {
    }
    for (int i = 0; i < 100; i++)
        yield();
    atomic_fetch_sub(&together->now, 1);
    tally_add(&together->done, 1);
    return 0;
}

static void a_cap_holds_over_all_queues(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs *one = open_queue(where), *two = open_queue(where);
    struct together together = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.cap = 1;
    must_equal(vigil_jobs_handle(one, "alone", meet, &together, &kind), 0);
    must_equal(vigil_jobs_handle(two, "alone", meet, &together, &kind), 0);
    for (int i = 0; i < 20; i++)
        (void)enqueue(one, "alone", "", NULL);
    must_equal(vigil_jobs_start(one), 0);
    must_equal(vigil_jobs_start(two), 0);
    tally_wait(&together.done, 20);
    must_equal(atomic_load(&together.most), 1);
    vigil_jobs_close(one);
    vigil_jobs_close(two);
}

/* The queue that waits for room learns of it from the end, and not from the lease, which is an hour long. */
static void an_end_under_a_cap_lets_another_queue_start(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    struct stage first = {0}, busy = {0}, second = {0};
    event_set(&second.out);
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.cap = 1;
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 2;
    options.lease_ns = 60 * MINUTE;
    options.poll_ns = 60 * MINUTE;
    vigil_jobs *one = NULL, *two = NULL;
    must_work(vigil_jobs_open(&one, where, &options));
    must_work(vigil_jobs_open(&two, where, &options));
    must_equal(vigil_jobs_handle(one, "alone", stay, &first, &kind), 0);
    must_equal(vigil_jobs_handle(one, "long", stay, &busy, NULL), 0);
    must_equal(vigil_jobs_handle(two, "alone", stay, &second, &kind), 0);
    (void)enqueue(one, "alone", "", NULL);
    (void)enqueue(one, "long", "", NULL);
    must_equal(vigil_jobs_start(one), 0);
    tally_wait(&first.entered, 1);
    tally_wait(&busy.entered, 1);
    uint64_t waits = enqueue(one, "alone", "", NULL);
    must_equal(vigil_jobs_start(two), 0);
    while (stats_of(two).exchanges == 0) /* it has looked, and found no room */
        yield();
    must_equal(look_at(one, waits).info.state, VIGIL_JOBS_WAITING);
    vigil_jobs_job urgent = VIGIL_JOBS_JOB_INIT;
    urgent.priority = VIGIL_CRITICAL;
    uint64_t looked = stats_of(two).exchanges;
    (void)enqueue(one, "long", "", &urgent);  /* takes the worker that the end leaves in the first queue */
    while (stats_of(two).exchanges == looked) /* rung by the enqueue, and found no room again */
        yield();
    observe_for_ms(20);
    event_set(&first.out);
    must_end_as(two, waits, VIGIL_JOBS_COMPLETED);
    tally_wait(&second.entered, 1);
    event_set(&busy.out);
    vigil_jobs_close(one);
    vigil_jobs_close(two);
}

static int fail_twice(vigil_jobs_run *run, void *arg)
{
    tally_add(arg, 1);
    return run->errors < 2 ? -EIO : 0;
}

/* A quarantined job that fails stays in quarantine, and starts again by itself when it is due. */
static void a_quarantined_job_that_fails_is_tried_again_in_quarantine(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs *jobs[3];
    struct stage stages[2] = {0};
    struct tally runs = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.backoff_ns = SECOND / 20;
    uint64_t id = 0;
    for (int i = 0; i < 2; i++) { /* two leases run out */
        jobs[i] = open_queue(where);
        must_equal(vigil_jobs_handle(jobs[i], "killer", stay_once, &stages[i], NULL), 0);
        if (i == 0)
            id = enqueue(jobs[0], "killer", "", NULL);
        must_equal(vigil_jobs_start(jobs[i]), 0);
        tally_wait(&stages[i].entered, 1);
        (void)vigil_jobs_pause(jobs[0], NULL);
        while (look_at(jobs[0], id).info.state == VIGIL_JOBS_RUNNING) {
            expire_leases(jobs[0]);
            yield();
        }
        must_equal(vigil_jobs_shutdown(jobs[i], 0), -ETIMEDOUT);
        (void)vigil_jobs_resume(jobs[0], NULL);
    }
    must_equal(look_at(jobs[0], id).info.state, VIGIL_JOBS_QUARANTINE);
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.lease_ns = 60 * MINUTE;
    options.poll_ns = 60 * MINUTE;
    must_work(vigil_jobs_open(&jobs[2], where, &options));
    must_equal(vigil_jobs_handle(jobs[2], "killer", fail_twice, &runs, &kind), 0);
    must_equal(vigil_jobs_start(jobs[2]), 0);
    must_end_as(jobs[0], id, VIGIL_JOBS_COMPLETED);
    must_equal(look_at(jobs[0], id).info.errors, 2);
    must_equal(look_at(jobs[0], id).info.crashes, 2);
    for (int i = 0; i < 2; i++)
        event_set(&stages[i].out);
    for (int i = 0; i < 3; i++)
        vigil_jobs_close(jobs[i]);
}

struct chain {
    vigil_jobs *jobs;
    _Atomic bool over;
};

/* There is always another one. */
static int go_on(vigil_jobs_run *run, void *arg)
{
    struct chain *chain = arg;
    (void)run;
    return atomic_load(&chain->over) ? 0 : vigil_jobs_enqueue(chain->jobs, "chain", "", 0, NULL, NULL);
}

/* Also where ordinary work never ends. */
static void a_quarantined_job_runs_beside_endless_work(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs *dying[2], *jobs = NULL;
    struct stage stages[2] = {0};
    struct tally runs = {0};
    uint64_t id = 0;
    for (int i = 0; i < 2; i++) { /* two leases run out */
        dying[i] = open_queue(where);
        must_equal(vigil_jobs_handle(dying[i], "killer", stay_once, &stages[i], NULL), 0);
        if (i == 0)
            id = enqueue(dying[0], "killer", "", NULL);
        must_equal(vigil_jobs_start(dying[i]), 0);
        tally_wait(&stages[i].entered, 1);
        (void)vigil_jobs_pause(dying[0], NULL);
        while (look_at(dying[0], id).info.state == VIGIL_JOBS_RUNNING) {
            expire_leases(dying[0]);
            yield();
        }
        must_equal(vigil_jobs_shutdown(dying[i], 0), -ETIMEDOUT);
        (void)vigil_jobs_resume(dying[0], NULL);
    }
    must_equal(look_at(dying[0], id).info.state, VIGIL_JOBS_QUARANTINE);
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 2;
    options.lease_ns = 3 * SECOND; /* it looks thrice in that time */
    must_work(vigil_jobs_open(&jobs, where, &options));
    struct chain chain = {.jobs = jobs};
    must_equal(vigil_jobs_handle(jobs, "chain", go_on, &chain, NULL), 0);
    must_equal(vigil_jobs_handle(jobs, "killer", fail_twice, &runs, NULL), 0);
    for (int i = 0; i < 8; i++)
        (void)enqueue(jobs, "chain", "", NULL);
    must_equal(vigil_jobs_start(jobs), 0);
    tally_wait(&runs, 1);
    atomic_store(&chain.over, true);
    for (int i = 0; i < 2; i++)
        event_set(&stages[i].out);
    for (int i = 0; i < 2; i++)
        vigil_jobs_close(dying[i]);
    vigil_jobs_close(jobs);
}

static void ended_jobs_are_pruned_and_stay_in_the_account(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs *jobs = open_queue(where);
    must_equal(vigil_jobs_handle(jobs, "old", echo, NULL, NULL), 0);
    uint64_t ids[3];
    for (int i = 0; i < 3; i++)
        ids[i] = enqueue(jobs, "old", "", NULL);
    must_equal(vigil_jobs_start(jobs), 0);
    for (int i = 0; i < 3; i++)
        must_end_as(jobs, ids[i], VIGIL_JOBS_COMPLETED);
    vigil_jobs_close(jobs);
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.keep_completed_ns = 1;
    must_work(vigil_jobs_open(&jobs, where, &options));
    must_equal(vigil_jobs_handle(jobs, "old", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
    while (vigil_jobs_look(jobs, &filter, NULL, NULL) > 0)
        yield();
    must_equal(account_of(jobs).completed, 3);
    vigil_jobs_close(jobs);
}

struct fired {
    int64_t due[64];
    int count;
};

static void see_fired(const vigil_jobs_info *info, void *arg)
{
    struct fired *fired = arg;
    must(fired->count < 64);
    must_equal(info->due_ms % 60000, 0);
    for (int i = 0; i < fired->count; i++)
        must(fired->due[i] != info->due_ms); /* a fire time has one job */
    fired->due[fired->count++] = info->due_ms;
}

static void keep_schedule(const vigil_jobs_schedule *schedule, void *arg)
{
    *(vigil_jobs_schedule *)arg = *schedule;
}

static vigil_jobs_schedule schedule_of(vigil_jobs *jobs)
{
    vigil_jobs_schedule schedule;
    must_equal(vigil_jobs_schedule_look(jobs, keep_schedule, &schedule), 1);
    return schedule;
}

static void set_schedule(vigil_jobs *jobs, const char *cron, vigil_jobs_catch_up catch_up)
{
    vigil_jobs_schedule schedule = VIGIL_JOBS_SCHEDULE_INIT;
    schedule.kind = "report";
    schedule.payload = "text";
    schedule.length = 4;
    schedule.cron = cron;
    schedule.zone = "Europe/Berlin";
    schedule.catch_up = catch_up;
    must_work(vigil_jobs_schedule_set(jobs, "reports", &schedule));
}

/* The first of each month, three months: three jobs or four, each once, whichever queue was first. */
static void each_fire_time_has_one_job_over_all_queues(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs *one = open_queue(where), *two = open_queue(where);
    struct tally runs = {0};
    must_equal(vigil_jobs_handle(one, "report", echo, &runs, NULL), 0);
    must_equal(vigil_jobs_handle(two, "report", echo, &runs, NULL), 0);
    set_schedule(one, "@monthly", VIGIL_JOBS_CATCH_UP_ALL);
    must_equal(schedule_of(one).last_ms, 0);
    must_equal(vigil_jobs_start(one), 0);
    must_equal(vigil_jobs_start(two), 0);
    pass_days(one, 95);
    tally_wait(&runs, 3);
    vigil_jobs_account account;
    do
        account = account_of(one);
    while (account.completed < account.enqueued);
    struct fired fired = {0};
    vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
    must_equal(vigil_jobs_look(one, &filter, see_fired, &fired), (int)account.enqueued);
    must(account.enqueued == 3 || account.enqueued == 4);
    must_equal(schedule_of(one).last_ms, fired.due[fired.count - 1]);
    vigil_jobs_close(one);
    vigil_jobs_close(two);
}

static void missed_fire_times_are_caught_up_as_the_schedule_says(void **state)
{
    (void)state;
    for (int skip = 0; skip < 2; skip++) {
        vigil_jobs *jobs = open_queue(fresh_queue());
        struct tally runs = {0};
        must_equal(vigil_jobs_handle(jobs, "report", echo, &runs, NULL), 0);
        set_schedule(jobs, "@monthly", skip ? VIGIL_JOBS_CATCH_UP_SKIP : VIGIL_JOBS_CATCH_UP_ONE);
        pass_days(jobs, 95); /* nobody is there */
        int64_t before = schedule_of(jobs).next_ms;
        must_equal(vigil_jobs_start(jobs), 0);
        while (schedule_of(jobs).next_ms == before)
            yield();
        if (!skip)
            tally_wait(&runs, 1);
        must_equal(account_of(jobs).enqueued, skip ? 0 : 1);
        vigil_jobs_close(jobs);
    }
}

static void a_schedule_keeps_its_place_when_it_is_set_again(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    vigil_jobs_schedule bad = VIGIL_JOBS_SCHEDULE_INIT;
    bad.kind = "report";
    bad.cron = "0 25 * * *";
    must_equal(vigil_jobs_schedule_set(jobs, "reports", &bad), -EINVAL);
    must_equal(strcmp(vigil_jobs_why(), "'0 25 * * *': the hour is not understood"), 0);
    bad.cron = "@daily";
    bad.zone = "Mars/Base";
    must_equal(vigil_jobs_schedule_set(jobs, "reports", &bad), -EINVAL);
    set_schedule(jobs, "@monthly", VIGIL_JOBS_CATCH_UP_ONE);
    int64_t first = schedule_of(jobs).next_ms;
    must(first > 0);
    pass_days(jobs, 95);
    int64_t missed = schedule_of(jobs).next_ms;
    set_schedule(jobs, "@monthly", VIGIL_JOBS_CATCH_UP_ALL);
    must_equal(schedule_of(jobs).next_ms, missed);
    must_equal(schedule_of(jobs).catch_up, VIGIL_JOBS_CATCH_UP_ALL);
    set_schedule(jobs, "@yearly", VIGIL_JOBS_CATCH_UP_ALL);
    must(schedule_of(jobs).next_ms != missed);
    must_equal(vigil_jobs_schedule_remove(jobs, "reports"), 0);
    must_equal(vigil_jobs_schedule_remove(jobs, "reports"), -ENOENT);
    must_equal(vigil_jobs_schedule_look(jobs, NULL, NULL), 0);
    vigil_jobs_close(jobs);
}

static void a_job_waits_for_its_time(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    vigil_jobs_job options = VIGIL_JOBS_JOB_INIT;
    options.at_ms = INT64_C(4102444800000); /* 2100 */
    must_equal(look_at(jobs, enqueue(jobs, "later", "", &options)).info.due_ms, options.at_ms);
    options.at_ms = 1;
    struct seen seen = look_at(jobs, enqueue(jobs, "later", "", &options));
    must_equal(seen.info.due_ms, seen.info.created_ms);
    options.at_ms = -1;
    must_equal(vigil_jobs_enqueue(jobs, "later", "", 0, &options, NULL), -EINVAL);
    vigil_jobs_close(jobs);
}

static vigil_jobs *of_parent;

static void use_in_child(void *arg)
{
    (void)arg;
    int result = vigil_jobs_enqueue(of_parent, "x", "", 0, NULL, NULL);
    vigil_jobs_close(of_parent);
    _exit(result == -ECHILD ? 0 : 1);
}

static void after_a_fork_the_child_is_told_so(void **state)
{
    (void)state;
    of_parent = open_queue(fresh_queue());
    int status = in_child(use_in_child, NULL);
    must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)enqueue(of_parent, "x", "", NULL);
    must_equal(account_of(of_parent).enqueued, 1);
    vigil_jobs_close(of_parent);
}

static void have_a_child_of_my_number(void *arg)
{
    of_parent = open_queue(arg);
    next_child_has_my_number();
    int status = in_child(use_in_child, NULL);
    must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)enqueue(of_parent, "x", "", NULL);
    vigil_jobs_close(of_parent);
    _exit(0);
}

static void a_child_that_has_its_parents_number_is_a_child(void **state)
{
    (void)state;
    const int status = as_first_process(have_a_child_of_my_number, (void *)(uintptr_t)fresh_queue());
    must(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_NAMESPACE)
        skip();
    must_equal(WEXITSTATUS(status), 0);
}

static void bad_arguments_are_refused_with_a_reason(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue()), *none = NULL;
    must_equal(vigil_jobs_open(NULL, "x", NULL), -EINVAL);
    must_equal(vigil_jobs_open(&none, "", NULL), -EINVAL);
    must_equal(vigil_jobs_open(&none, "mysql://x", NULL), -EPROTO);
    must_equal(vigil_jobs_enqueue(jobs, "", "", 0, NULL, NULL), -EINVAL);
    must_equal(strcmp(vigil_jobs_why(), "kind is empty"), 0);
    must_equal(vigil_jobs_enqueue(jobs, "x", NULL, 1, NULL, NULL), -EINVAL);
    must_equal(vigil_jobs_enqueue(jobs, "x", "", (2 << 20), NULL, NULL), -EMSGSIZE);
    vigil_jobs_job options = VIGIL_JOBS_JOB_INIT;
    options.priority = (vigil_priority)5;
    must_equal(vigil_jobs_enqueue(jobs, "x", "", 0, &options, NULL), -EINVAL);
    must_equal(vigil_jobs_handle(jobs, "x", NULL, NULL, NULL), -EINVAL);
    must_equal(vigil_jobs_handle(jobs, "x", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_handle(jobs, "x", echo, NULL, NULL), -EEXIST);
    must_equal(vigil_jobs_start(jobs), 0);
    must_equal(vigil_jobs_start(jobs), -EALREADY);
    must_equal(vigil_jobs_handle(jobs, "y", echo, NULL, NULL), -EBUSY);
    must_equal(vigil_jobs_shutdown(jobs, VIGIL_FOREVER), 0);
    must_equal(vigil_jobs_start(jobs), -ESHUTDOWN);
    must_equal(account_of(jobs).enqueued, 0);
    vigil_jobs_close(jobs);
}

#define JOBS_SUITE                                                                                                    \
    test(a_job_runs_and_leaves_its_result), test(two_queues_share_many_jobs_and_each_runs_once),                      \
        test(errors_are_tried_again_until_the_job_is_dead_and_retry_revives_it),                                      \
        test(a_handler_that_raises_has_failed), test(a_completion_after_the_lease_was_lost_is_refused),               \
        test(a_job_that_kills_its_processes_is_quarantined_and_then_dead),                                            \
        test(a_delayed_job_waits_and_priorities_go_first),                                                            \
        test(a_key_keeps_a_second_job_out_until_the_first_has_ended),                                                 \
        test(a_key_until_the_start_lets_one_wait_while_one_runs),                                                     \
        test(a_job_after_a_batch_starts_when_all_of_it_has_ended), test(waiting_and_running_jobs_can_be_cancelled),   \
        test(a_run_that_reaches_its_limit_is_aborted_and_counts_as_failed), test(a_paused_kind_waits),                \
        test(unknown_kinds_and_versions_are_left_for_those_who_know_them),                                            \
        test(a_shutdown_gives_back_what_runs_and_what_waits_here), test(a_checkpoint_is_handed_to_the_next_run),      \
        test(a_run_may_end_after_its_handler_has_returned), test(jobs_are_enqueued_with_the_callers_transaction),     \
        test(a_cap_holds_over_all_queues), test(an_end_under_a_cap_lets_another_queue_start),                         \
        test(a_quarantined_job_that_fails_is_tried_again_in_quarantine),                                              \
        test(a_quarantined_job_runs_beside_endless_work), test(ended_jobs_are_pruned_and_stay_in_the_account),        \
        test(each_fire_time_has_one_job_over_all_queues), test(missed_fire_times_are_caught_up_as_the_schedule_says), \
        test(a_schedule_keeps_its_place_when_it_is_set_again), test(a_job_waits_for_its_time),                        \
        test(after_a_fork_the_child_is_told_so), test(a_child_that_has_its_parents_number_is_a_child),                \
        test(bad_arguments_are_refused_with_a_reason)

#endif
