/* SPDX-License-Identifier: MIT */
/* suite_ends.h - what every engine must do when runs are cancelled, lost or cut short, and what is left of them. After suite.h. */
#ifndef TESTS_JOBS_SUITE_ENDS_H
#define TESTS_JOBS_SUITE_ENDS_H

static int fail_when_let_out(vigil_jobs_run *run, void *arg)
{
    (void)stay(run, arg);
    return -EIO;
}

/* The process has not heard of it yet: somebody has only just asked. */
static void a_cancel_holds_when_the_run_fails_before_it_hears(void **state)
{
    (void)state;
    const char *where_it_is = fresh_queue();
    vigil_jobs *jobs = open_queue(where_it_is);
    struct stage stage = {0};
    struct tally after = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.max_errors = 2;
    kind.backoff_ns = 1000000;
    must_equal(vigil_jobs_handle(jobs, "fails", fail_when_let_out, &stage, &kind), 0);
    must_equal(vigil_jobs_handle(jobs, "sum", echo, &after, NULL), 0);
    uint64_t batch = 0;
    must_work(vigil_jobs_batch(jobs, &batch));
    vigil_jobs_job part = VIGIL_JOBS_JOB_INIT, then = VIGIL_JOBS_JOB_INIT;
    part.batch = then.after_batch = batch;
    uint64_t id = enqueue(jobs, "fails", "keep me", &part), sum = enqueue(jobs, "sum", "", &then);
    must_work(vigil_jobs_batch_end(jobs, batch));
    must_equal(vigil_jobs_start(jobs), 0);
    tally_wait(&stage.entered, 1);
    run_sql(where_it_is, "UPDATE vigil_jobs SET cancel = (1 = 1) WHERE state = 1");
    event_set(&stage.out);
    must_end_as(jobs, id, VIGIL_JOBS_CANCELLED);
    must_end_as(jobs, sum, VIGIL_JOBS_COMPLETED); /* the batch has lost its last job */
    must_equal(strcmp(look_at(jobs, id).payload, "keep me"), 0);
    must_equal(tally_get(&stage.entered), 1);
    must_equal(account_of(jobs).cancelled, 1);
    vigil_jobs_close(jobs);
}

/* One runs and does not listen, one has been claimed ahead. The process ends, and another one must start neither. */
static void a_cancel_holds_when_the_job_is_given_back(void **state)
{
    (void)state;
    const char *where_it_is = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 1;
    options.prefetch = 2;
    vigil_jobs *one = NULL, *two = open_queue(where_it_is);
    must_work(vigil_jobs_open(&one, where_it_is, &options));
    struct stage stage = {0};
    struct tally runs = {0};
    must_equal(vigil_jobs_handle(one, "stays", stay, &stage, NULL), 0);
    must_equal(vigil_jobs_handle(two, "stays", echo, &runs, NULL), 0);
    uint64_t running = enqueue(one, "stays", "", NULL), ahead = enqueue(one, "stays", "", NULL),
             other = enqueue(one, "stays", "", NULL);
    must_equal(vigil_jobs_start(one), 0);
    tally_wait(&stage.entered, 1);
    while (stats_of(one).claimed < 3)
        yield();
    must_equal(vigil_jobs_cancel(two, running), 1);
    must_equal(vigil_jobs_cancel(two, ahead), 1);
    must_equal(vigil_jobs_shutdown(one, 0), -ETIMEDOUT);
    must_equal(vigil_jobs_start(two), 0);
    must_end_as(two, other, VIGIL_JOBS_COMPLETED);
    must_end_as(two, running, VIGIL_JOBS_CANCELLED);
    must_end_as(two, ahead, VIGIL_JOBS_CANCELLED);
    must_equal(tally_get(&runs), 1);
    event_set(&stage.out);
    vigil_jobs_close(one);
    must_equal(account_of(two).cancelled, 2);
    must_equal(account_of(two).completed, 1);
    vigil_jobs_close(two);
}

/* Dead, cancelled while it waits or runs, or dead because its processes died; and a retry finds the key taken. */
static void a_key_is_free_however_its_job_ends(void **state)
{
    (void)state;
    const char *where_it_is = fresh_queue();
    vigil_jobs *jobs = open_queue(where_it_is);
    struct tally runs = {0};
    struct stage stage = {0};
    vigil_jobs_kind once = VIGIL_JOBS_KIND_INIT;
    once.max_errors = 1;
    must_equal(vigil_jobs_handle(jobs, "bad", fail_always, &runs, &once), 0);
    must_equal(vigil_jobs_handle(jobs, "stays", stay_until_aborted, &stage, NULL), 0);
    vigil_jobs_job keyed = VIGIL_JOBS_JOB_INIT;
    keyed.key = "only one";
    uint64_t waits = enqueue(jobs, "bad", "", &keyed);
    must_equal(vigil_jobs_cancel(jobs, waits), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    uint64_t dead = enqueue(jobs, "bad", "", &keyed);
    must_end_as(jobs, dead, VIGIL_JOBS_DEAD);
    uint64_t running = enqueue(jobs, "stays", "", &keyed), other = 0;
    tally_wait(&stage.entered, 1);
    must_equal(vigil_jobs_enqueue(jobs, "bad", "", 0, &keyed, &other), -EEXIST);
    must_equal(other, running);
    must_equal(vigil_jobs_cancel(jobs, running), 1);
    must_end_as(jobs, running, VIGIL_JOBS_CANCELLED);
    uint64_t lost = enqueue(jobs, "nobody", "", &keyed);
    must_equal(vigil_jobs_retry(jobs, dead), -EEXIST);
    must_equal(vigil_jobs_retry(jobs, waits), -EEXIST);
    run_sql(where_it_is, "UPDATE vigil_jobs SET state = 1, crashes = 2, lease = 1");
    vigil_jobs_close(jobs);
    jobs = open_queue(where_it_is); /* a process that starts looks for leases first */
    must_equal(vigil_jobs_handle(jobs, "bad", fail_always, &runs, &once), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    must_end_as(jobs, lost, VIGIL_JOBS_DEAD);
    must_equal(vigil_jobs_retry(jobs, dead), 0);
    must_end_as(jobs, dead, VIGIL_JOBS_DEAD);
    must_equal(tally_get(&runs), 2);
    must_equal(account_of(jobs).enqueued, 4);
    vigil_jobs_close(jobs);
}

/* It goes on, and learns that it runs for nothing. */
static void a_run_is_told_that_its_lease_is_lost(void **state)
{
    (void)state;
    const char *where_it_is = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 1;
    options.lease_ns = SECOND;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, where_it_is, &options));
    struct stage stage = {0};
    must_equal(vigil_jobs_handle(jobs, "stays", stay_until_aborted, &stage, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    uint64_t id = enqueue(jobs, "stays", "", NULL);
    tally_wait(&stage.entered, 1);
    must_work(vigil_jobs_pause(jobs, NULL));
    run_sql(where_it_is, "UPDATE vigil_jobs SET state = 0, number = number + 1, lease = NULL"); /* as a rescue does */
    event_wait(&stage.out);
    must_equal(atomic_load(&stage.aborted), -ESTALE);
    while (stats_of(jobs).refused == 0)
        yield();
    must_equal(look_at(jobs, id).info.state, VIGIL_JOBS_WAITING);
    must_equal(look_at(jobs, id).info.errors, 0);
    vigil_jobs_close(jobs);
}

static int save_and_stay(vigil_jobs_run *run, void *arg)
{
    must_equal(vigil_jobs_checkpoint(run, "half", 4), 0);
    must_equal(vigil_jobs_progress(run, 0.5, "half way"), 0);
    return stay(run, arg);
}

static int go_on_from_half(vigil_jobs_run *run, void *arg)
{
    must_equal(run->checkpoint_size, 4);
    must_equal(memcmp(run->checkpoint, "half", 4), 0);
    must_equal(run->crashes, 1);
    tally_add(arg, 1);
    return 0;
}

/* A beat has saved it; the process did not come to an end of its run. */
static void a_checkpoint_outlives_the_lease(void **state)
{
    (void)state;
    const char *where_it_is = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 1;
    options.lease_ns = SECOND;
    vigil_jobs *one = NULL, *two = open_queue(where_it_is);
    must_work(vigil_jobs_open(&one, where_it_is, &options));
    struct stage stage = {0};
    struct tally runs = {0};
    must_equal(vigil_jobs_handle(one, "steps", save_and_stay, &stage, NULL), 0);
    must_equal(vigil_jobs_handle(two, "steps", go_on_from_half, &runs, NULL), 0);
    must_equal(vigil_jobs_start(one), 0);
    uint64_t id = enqueue(one, "steps", "", NULL);
    while (look_at(two, id).info.progress < 0.5)
        observe_for_ms(10);
    must_work(vigil_jobs_pause(two, NULL)); /* the first does not take it again */
    must_equal(vigil_jobs_start(two), 0);
    while (look_at(two, id).info.state == VIGIL_JOBS_RUNNING) {
        expire_leases(two); /* a beat may have extended it again */
        yield();
    }
    must_equal(vigil_jobs_shutdown(one, 0), -ETIMEDOUT);
    must_work(vigil_jobs_resume(two, NULL));
    must_end_as(two, id, VIGIL_JOBS_COMPLETED);
    must_equal(tally_get(&runs), 1);
    event_set(&stage.out);
    vigil_jobs_close(one);
    vigil_jobs_close(two);
}

static int give_it_back(vigil_jobs_run *run, void *arg)
{
    (void)arg;
    char more = 0;
    must_equal(vigil_jobs_result(run, &more, run->payload_size + 1), -EMSGSIZE);
    must_equal(vigil_jobs_checkpoint(run, &more, run->payload_size + 1), -EMSGSIZE);
    return vigil_jobs_result(run, run->payload, run->payload_size);
}

static void bytes_up_to_the_limit_pass_and_no_more(void **state)
{
    (void)state;
    enum {
        MOST = 300000
    };
    static char bytes[MOST + 1];
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.max_payload = MOST;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, fresh_queue(), &options));
    must_equal(vigil_jobs_handle(jobs, "bytes", give_it_back, NULL, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    for (size_t i = 0; i < MOST; i++)
        bytes[i] = (char)(i * 7);
    uint64_t id = 0;
    must_work(vigil_jobs_enqueue(jobs, "bytes", bytes, MOST, NULL, &id));
    must_equal(vigil_jobs_enqueue(jobs, "bytes", bytes, MOST + 1, NULL, NULL), -EMSGSIZE);
    vigil_jobs_item items[] = {{.kind = "bytes"}, {.kind = "bytes", .payload = bytes, .length = MOST + 1}};
    must_equal(vigil_jobs_enqueue_many(jobs, items, 2), -EMSGSIZE); /* all or nothing */
    must_equal(vigil_jobs_edit(jobs, id, bytes, MOST + 1), -EMSGSIZE);
    must_end_as(jobs, id, VIGIL_JOBS_COMPLETED);
    must_equal(look_at(jobs, id).info.result_size, MOST);
    must_equal(account_of(jobs).enqueued, 1);
    vigil_jobs_close(jobs);
}

#define JOBS_SUITE_ENDS                                                                                       \
    test(a_cancel_holds_when_the_run_fails_before_it_hears), test(a_cancel_holds_when_the_job_is_given_back), \
        test(a_key_is_free_however_its_job_ends), test(a_run_is_told_that_its_lease_is_lost),                 \
        test(a_checkpoint_outlives_the_lease), test(bytes_up_to_the_limit_pass_and_no_more)

#endif
