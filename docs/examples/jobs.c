/* SPDX-License-Identifier: MIT */
/* Examples of vigil/jobs.h, one for each function. */
#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/jobs.h>

#define SECOND INT64_C(1000000000)

/* vigil_jobs_open: open a queue */
static vigil_jobs *open_the_queue(void)
{
    vigil_jobs *jobs;
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 2;
    if (vigil_jobs_open(&jobs, "memory:example", &options) != 0) {
        fprintf(stderr, "no queue: %s\n", vigil_jobs_why());
        exit(1);
    }
    return jobs;
}

/* vigil_jobs_close: give a queue back */
static void give_the_queue_back(vigil_jobs *jobs)
{
    vigil_jobs_close(jobs);
}

/* vigil_jobs_shutdown: finish what can finish in time */
static void end_gracefully(vigil_jobs *jobs)
{
    if (vigil_jobs_shutdown(jobs, 10 * SECOND) == -ETIMEDOUT)
        puts("some jobs go on elsewhere");
}

/* vigil_jobs_why: find out why a call failed */
static void show_why(vigil_jobs *jobs)
{
    if (vigil_jobs_enqueue(jobs, "", NULL, 0, NULL, NULL) != 0)
        printf("%s\n", vigil_jobs_why()); /* kind is empty */
}

/*
 * vigil_jobs_progress: say how far a run is
 * vigil_jobs_checkpoint: save what the next run may begin with
 * vigil_jobs_token: stop when the job is cancelled
 */
static int count_pages(vigil_jobs_run *run, void *arg)
{
    int page = 0;
    (void)arg;
    if (run->checkpoint_size == sizeof page)
        memcpy(&page, run->checkpoint, sizeof page);
    for (; page < 100; page++) {
        int stop = vigil_cancel_status(vigil_jobs_token(run));
        if (stop != 0)
            return stop;
        vigil_jobs_progress(run, page / 100.0, "counting");
        vigil_jobs_checkpoint(run, &page, sizeof page);
    }
    return 0;
}

/*
 * vigil_jobs_result: leave a result
 * vigil_jobs_error: say why a run fails
 */
static int greet(vigil_jobs_run *run, void *arg)
{
    char text[64];
    (void)arg;
    if (run->payload_size > 32) {
        vigil_jobs_error(run, "the name is too long");
        return -EINVAL;
    }
    snprintf(text, sizeof text, "hello %s", (const char *)run->payload);
    return vigil_jobs_result(run, text, strlen(text) + 1);
}

/* vigil_jobs_finish: end a run from elsewhere */
static void when_it_has_come(void *arg)
{
    vigil_jobs_run *run = arg;
    vigil_jobs_finish(run, 0);
}

static int ask_somebody(vigil_jobs_run *run, void *arg)
{
    (void)arg;
    when_it_has_come(run); /* in earnest: a callback, later */
    return VIGIL_JOBS_LATER;
}

/* vigil_jobs_handle: say how jobs of a kind are run */
static void add_handlers(vigil_jobs *jobs)
{
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.max_errors = 3;
    kind.limit_ns = 60 * SECOND;
    assert(vigil_jobs_handle(jobs, "count", count_pages, NULL, &kind) ==
           0);
    assert(vigil_jobs_handle(jobs, "greet", greet, NULL, NULL) == 0);
    assert(vigil_jobs_handle(jobs, "ask", ask_somebody, NULL, NULL) ==
           0);
}

/* vigil_jobs_start: start to run jobs */
static void start(vigil_jobs *jobs)
{
    assert(vigil_jobs_start(jobs) == 0);
}

/* vigil_jobs_enqueue: enqueue a job */
static uint64_t enqueue_one(vigil_jobs *jobs)
{
    uint64_t id;
    vigil_jobs_job options = VIGIL_JOBS_JOB_INIT;
    options.priority = VIGIL_HIGH;
    options.key = "greet ada"; /* one at a time */
    int rc = vigil_jobs_enqueue(jobs, "greet", "ada", 4, &options, &id);
    assert(rc == 0 || rc == -EEXIST);
    return id;
}

/* vigil_jobs_enqueue_many: enqueue many jobs at once */
static void enqueue_many(vigil_jobs *jobs)
{
    vigil_jobs_item items[3];
    for (int i = 0; i < 3; i++)
        items[i] = (vigil_jobs_item){.kind = "count"};
    assert(vigil_jobs_enqueue_many(jobs, items, 3) == 3);
}

/*
 * vigil_jobs_enqueue_within: enqueue in a transaction of your own
 * vigil_jobs_committed: let idle workers know of it
 */
static int enqueue_with_order(vigil_jobs *jobs, sqlite3 *db)
{
    vigil_jobs_item item = {.kind = "ask"};
    sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    /* ... your own changes ... */
    if (vigil_jobs_enqueue_within(jobs, db, &item, 1) != 1) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return vigil_jobs_committed(jobs);
}

/*
 * vigil_jobs_batch: start a batch
 * vigil_jobs_batch_end: close a batch
 */
static uint64_t ask_after_all(vigil_jobs *jobs)
{
    uint64_t batch, id;
    vigil_jobs_job part = VIGIL_JOBS_JOB_INIT,
                   last = VIGIL_JOBS_JOB_INIT;
    assert(vigil_jobs_batch(jobs, &batch) == 0);
    part.batch = batch;
    last.after_batch = batch;
    for (int i = 0; i < 3; i++)
        vigil_jobs_enqueue(jobs, "count", NULL, 0, &part, NULL);
    vigil_jobs_enqueue(jobs, "ask", NULL, 0, &last, &id);
    assert(vigil_jobs_batch_end(jobs, batch) == 0);
    return id;
}

static void show_schedule(const vigil_jobs_schedule *schedule,
                          void *arg)
{
    (void)arg;
    printf("%s %s %s\n", schedule->name, schedule->cron,
           schedule->zone);
}

/*
 * vigil_jobs_schedule_set: enqueue a job each night
 * vigil_jobs_schedule_look: list schedules
 * vigil_jobs_schedule_remove: remove a schedule
 */
static void each_night(vigil_jobs *jobs)
{
    vigil_jobs_schedule nightly = VIGIL_JOBS_SCHEDULE_INIT;
    nightly.kind = "count";
    nightly.cron = "30 2 * * *";
    assert(vigil_jobs_schedule_set(jobs, "nightly", &nightly) == 0);
    assert(vigil_jobs_schedule_look(jobs, show_schedule, NULL) == 1);
    assert(vigil_jobs_schedule_remove(jobs, "nightly") == 0);
}

static void show(const vigil_jobs_info *info, void *arg)
{
    (void)arg;
    printf("%llu %s %s\n", (unsigned long long)info->id, info->kind,
           info->error);
}

/* vigil_jobs_look: list jobs */
static void list_dead_letters(vigil_jobs *jobs)
{
    vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
    filter.states = 1U << VIGIL_JOBS_DEAD;
    assert(vigil_jobs_look(jobs, &filter, show, NULL) >= 0);
}

static void show_result(const vigil_jobs_info *info, void *arg)
{
    (void)arg;
    printf("%s\n", (const char *)info->result);
}

/* vigil_jobs_wait: wait for a job and take its result */
static void wait_for(vigil_jobs *jobs, uint64_t id)
{
    int state =
        vigil_jobs_wait(jobs, id, 60 * SECOND, show_result, NULL);
    assert(state == VIGIL_JOBS_COMPLETED);
}

/*
 * vigil_jobs_cancel: cancel a job
 * vigil_jobs_retry: let a job run after all
 */
static void change_my_mind(vigil_jobs *jobs)
{
    uint64_t id;
    vigil_jobs_enqueue(jobs, "of nobody", NULL, 0, NULL, &id);
    assert(vigil_jobs_cancel(jobs, id) == 0);
    assert(vigil_jobs_retry(jobs, id) == 0);
}

/*
 * vigil_jobs_edit: give a job that does not run another payload
 * vigil_jobs_remove: remove a job that has ended
 */
static void mend_and_remove(vigil_jobs *jobs)
{
    uint64_t id;
    vigil_jobs_enqueue(jobs, "of nobody", "wnog", 4, NULL, &id);
    assert(vigil_jobs_edit(jobs, id, "right", 5) == 0);
    assert(vigil_jobs_cancel(jobs, id) == 0);
    assert(vigil_jobs_remove(jobs, id) == 0);
}

/* vigil_promise_jobs: wait for a job on a loop */
static void await_end(vigil_jobs *jobs, uint64_t id)
{
    vigil_loop *loop;
    vigil_promise *promise;
    vigil_value value;
    assert(vigil_loop_create(&loop, NULL) == 0);
    assert(vigil_promise_jobs(jobs, loop, id, NULL, &promise) == 0);
    assert(vigil_loop_run(loop, VIGIL_RUN) == 0);
    assert(vigil_promise_result(promise, &value) == VIGIL_FULFILLED);
    const vigil_jobs_info *info = value.pointer;
    assert(info->state == VIGIL_JOBS_COMPLETED);
    vigil_promise_unref(promise);
    vigil_loop_destroy(loop);
}

/*
 * vigil_jobs_pause: start no more jobs of a kind
 * vigil_jobs_resume: start them again
 */
static void hold_greetings(vigil_jobs *jobs)
{
    assert(vigil_jobs_pause(jobs, "greet") == 0);
    /* ... mend what they need ... */
    assert(vigil_jobs_resume(jobs, "greet") == 0);
}

/* vigil_jobs_audit: count all jobs */
static void audit(vigil_jobs *jobs)
{
    vigil_jobs_account account = VIGIL_JOBS_ACCOUNT_INIT;
    assert(vigil_jobs_audit(jobs, &account) == 0);
    printf("%llu wait\n", (unsigned long long)account.waiting);
}

static void show_tally(const vigil_jobs_tally *tally, void *arg)
{
    (void)arg;
    printf("%s: %llu\n", tally->kind, (unsigned long long)tally->count);
}

/* vigil_jobs_count: count jobs by kind, class and state */
static void count(vigil_jobs *jobs)
{
    assert(vigil_jobs_count(jobs, show_tally, NULL) >= 0);
}

static void show_line(const char *line, void *arg)
{
    (void)arg;
    puts(line);
}

/* vigil_jobs_check: which promises do the settings not keep? */
static void check_settings(vigil_jobs *jobs)
{
    assert(vigil_jobs_check(jobs, 0, show_line, NULL) >= 0);
}

/* vigil_jobs_stats_get: see what this process has done */
static void statistics(vigil_jobs *jobs)
{
    vigil_jobs_stats stats = VIGIL_JOBS_STATS_INIT;
    assert(vigil_jobs_stats_get(jobs, &stats) == 0);
    printf("%llu done\n", (unsigned long long)stats.completed);
}

/* vigil_jobs_clock_advance: let an hour pass in a test */
static void an_hour_later(vigil_jobs *jobs)
{
    assert(vigil_jobs_clock_advance(jobs, 3600 * SECOND) == 0);
}

int main(void)
{
    vigil_jobs *jobs = open_the_queue();
    sqlite3 *other;
    show_why(jobs);
    add_handlers(jobs);
    start(jobs);
    wait_for(jobs, enqueue_one(jobs));
    await_end(jobs, enqueue_one(jobs));
    enqueue_many(jobs);
    sqlite3_open(":memory:", &other); /* has no tables */
    assert(enqueue_with_order(jobs, other) != 0);
    sqlite3_close(other);
    assert(vigil_jobs_wait(jobs, ask_after_all(jobs), 60 * SECOND, NULL,
                           NULL) == VIGIL_JOBS_COMPLETED);
    each_night(jobs);
    list_dead_letters(jobs);
    change_my_mind(jobs);
    mend_and_remove(jobs);
    hold_greetings(jobs);
    an_hour_later(jobs);
    audit(jobs);
    count(jobs);
    check_settings(jobs);
    statistics(jobs);
    end_gracefully(jobs);
    give_the_queue_back(jobs);
    return 0;
}
