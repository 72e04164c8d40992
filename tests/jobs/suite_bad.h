/* SPDX-License-Identifier: MIT */
/* suite_bad.h - what every engine must bear: bad rows, the herd after an outage, floods of urgent jobs, newer tables. After
   suite.h. */
#ifndef TESTS_JOBS_SUITE_BAD_H
#define TESTS_JOBS_SUITE_BAD_H

#include <inttypes.h>

/* The database refuses each change of this job's row, and allows it again. */
static void refuse_changes(const char *where, uint64_t id);
static void allow_changes(const char *where);

static void run_sql_of(const char *where, const char *format, uint64_t id)
{
    char sql[400];
    (void)snprintf(sql, sizeof sql, format, id);
    run_sql(where, sql);
}

/* There is an ended job with this number already, so that the running one cannot end. */
static void refuse_end(const char *where, uint64_t id)
{
    run_sql_of(where,
               "INSERT INTO vigil_jobs_ended(id, number, due, created, ended, class, state, errors, crashes, version, "
               "kind) VALUES(%" PRIu64
               ", 1, 0, 0, 4102444800000, 2, 5, 0, 0, 1, 'twin')" /* ended too late for pruning */,
               id);
}

static void allow_end(const char *where)
{
    run_sql(where, "DELETE FROM vigil_jobs_ended WHERE kind = 'twin'");
}

/* As if a process had claimed all that wait, and had died long ago. */
#define ABANDON "UPDATE vigil_jobs SET state = 1, number = number + 1, lease = 0"

static void wait_until_silent(vigil_jobs *jobs)
{
    uint64_t exchanges;
    unsigned looks = 0;
    do { /* what is left to do may come late on a busy machine; what comes again and again never stops */
        must(looks++ < 100);
        exchanges = stats_of(jobs).exchanges;
        observe_for_ms(100);
    } while (stats_of(jobs).exchanges != exchanges);
}

static void a_bad_row_does_not_hold_up_the_sweep(void **state)
{
    (void)state;
    enum {
        JOBS = 8,
        UNCHANGEABLE = 2,
        ENDLESS = 5
    };
    const char *where = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.poll_ns = 60 * SECOND;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, where, &options));
    struct tally runs = {0};
    uint64_t ids[JOBS];
    for (int i = 0; i < JOBS; i++)
        ids[i] = enqueue(jobs, "echo", "", NULL);
    run_sql(where, ABANDON);
    run_sql_of(where, "UPDATE vigil_jobs SET crashes = 2 WHERE id = %" PRIu64, ids[ENDLESS]);
    refuse_end(where, ids[ENDLESS]);
    refuse_changes(where, ids[UNCHANGEABLE]);
    must_equal(vigil_jobs_handle(jobs, "echo", echo, &runs, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    for (int i = 0; i < JOBS; i++)
        if (i != UNCHANGEABLE && i != ENDLESS)
            must_end_as(jobs, ids[i], VIGIL_JOBS_COMPLETED);
    while (stats_of(jobs).bad_rows != 2)
        yield();
    wait_until_silent(jobs); /* it does not try them again at once */
    must_equal(stats_of(jobs).rescued, JOBS - 2);
    allow_changes(where);
    allow_end(where);
    expire_leases(jobs);
    must_end_as(jobs, ids[UNCHANGEABLE], VIGIL_JOBS_COMPLETED);
    must_end_as(jobs, ids[ENDLESS], VIGIL_JOBS_DEAD);
    while (stats_of(jobs).bad_rows != 0)
        yield();
    must_equal(tally_get(&runs), JOBS - 1);
    must_equal(account_of(jobs).completed, JOBS - 1);
    must_equal(account_of(jobs).dead, 1);
    vigil_jobs_close(jobs);
}

static void an_end_that_cannot_be_recorded_does_not_hold_up_others(void **state)
{
    (void)state;
    enum {
        JOBS = 3
    };
    const char *where = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = JOBS;
    options.prefetch = JOBS; /* in one exchange, as likely as not */
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, where, &options));
    struct stage stage = {0};
    must_equal(vigil_jobs_handle(jobs, "stays", stay, &stage, NULL), 0);
    uint64_t ids[JOBS];
    for (int i = 0; i < JOBS; i++)
        ids[i] = enqueue(jobs, "stays", "", NULL);
    must_equal(vigil_jobs_start(jobs), 0);
    tally_wait(&stage.entered, JOBS);
    refuse_end(where, ids[1]);
    event_set(&stage.out);
    must_end_as(jobs, ids[0], VIGIL_JOBS_COMPLETED);
    must_end_as(jobs, ids[2], VIGIL_JOBS_COMPLETED);
    must_end_as(jobs, enqueue(jobs, "stays", "", NULL), VIGIL_JOBS_COMPLETED);
    while (stats_of(jobs).in_flight > 0)
        yield();
    must_equal(stats_of(jobs).refused, 1);
    allow_end(where);
    expire_leases(jobs);
    must_end_as(jobs, ids[1], VIGIL_JOBS_COMPLETED);
    must_equal(account_of(jobs).completed, JOBS + 1);
    vigil_jobs_close(jobs);
}

static void a_row_that_cannot_be_extended_costs_its_own_lease_alone(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 2;
    options.lease_ns = 3 * SECOND;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, where, &options));
    struct stage good = {0}, bad = {0};
    must_equal(vigil_jobs_handle(jobs, "good", stay_until_aborted, &good, NULL), 0);
    must_equal(vigil_jobs_handle(jobs, "bad", stay_until_aborted, &bad, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    uint64_t kept = enqueue(jobs, "good", "", NULL), lost = enqueue(jobs, "bad", "", NULL);
    tally_wait(&good.entered, 1);
    tally_wait(&bad.entered, 1);
    refuse_changes(where, lost);
    event_wait(&bad.out); /* it is told */
    must_equal(atomic_load(&bad.aborted), -ESTALE);
    uint64_t beats = stats_of(jobs).beats;
    while (stats_of(jobs).beats < beats + 4) /* longer than a lease */
        observe_for_ms(50);
    must_equal(atomic_load(&good.aborted), 0);
    event_set(&good.out);
    must_end_as(jobs, kept, VIGIL_JOBS_COMPLETED);
    allow_changes(where);
    expire_leases(jobs);
    must_equal(vigil_jobs_shutdown(jobs, 0) <= 0, 1);
    vigil_jobs_close(jobs);
}

/* ---- the herd ---------------------------------------------------------------------------------------------------- */

struct herd {
    struct tally runs;
    _Atomic int inside, most, ran[1000];
};

static int count_herd(vigil_jobs_run *run, void *arg)
{
    struct herd *herd = arg;
    int inside = atomic_fetch_add(&herd->inside, 1) + 1, most = atomic_load(&herd->most);
    while (inside > most && !atomic_compare_exchange_weak(&herd->most, &most, inside)) {
    }
    must(run->id < 1000);
    atomic_fetch_add(&herd->ran[run->id], 1);
    yield();
    atomic_fetch_sub(&herd->inside, 1);
    tally_add(&herd->runs, 1);
    return 0;
}

/* After an outage every lease has run out, every retry is due and every schedule is late. */
static void the_herd_after_an_outage_goes_in_steps(void **state)
{
    (void)state;
    enum {
        LEASES = 250,
        RETRIES = 100,
        SCHEDULES = 20,
        ALL = LEASES + RETRIES + SCHEDULES,
        WORKERS = 2,
        AHEAD = 4
    };
    const char *where = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = WORKERS;
    options.prefetch = AHEAD;
    vigil_jobs *jobs[2];
    static struct herd herds[2];
    for (int i = 0; i < 2; i++) {
        memset(&herds[i], 0, sizeof herds[i]);
        must_work(vigil_jobs_open(&jobs[i], where, &options));
        must_equal(vigil_jobs_handle(jobs[i], "herd", count_herd, &herds[i], NULL), 0);
    }
    for (int i = 0; i < LEASES; i++)
        (void)enqueue(jobs[0], "herd", "", NULL);
    run_sql(where, ABANDON);
    for (int i = 0; i < RETRIES; i++)
        (void)enqueue(jobs[0], "herd", "", NULL);
    run_sql(where, "UPDATE vigil_jobs SET errors = 1, number = 2, due = 0 WHERE state = 0");
    for (int i = 0; i < SCHEDULES; i++) {
        char name[16];
        vigil_jobs_schedule schedule = VIGIL_JOBS_SCHEDULE_INIT;
        schedule.kind = "herd";
        schedule.cron = "@monthly";
        schedule.zone = "UTC";
        schedule.catch_up = VIGIL_JOBS_CATCH_UP_ONE;
        (void)snprintf(name, sizeof name, "late %d", i);
        must_work(vigil_jobs_schedule_set(jobs[0], name, &schedule));
    }
    pass_days(jobs[0], 95);
    for (int i = 0; i < 2; i++)
        must_equal(vigil_jobs_start(jobs[i]), 0);
    while (tally_get(&herds[0].runs) + tally_get(&herds[1].runs) < ALL)
        for (int i = 0; i < 2; i++)
            must(stats_of(jobs[i]).in_flight <= WORKERS + AHEAD);
    while (account_of(jobs[0]).completed < ALL)
        yield();
    must_equal(account_of(jobs[0]).enqueued, ALL);
    for (int id = 0; id < 1000; id++)
        must(herds[0].ran[id] + herds[1].ran[id] <= 1);
    uint64_t rescued = 0, exchanges = 0;
    for (int i = 0; i < 2; i++) {
        must(herds[i].most <= WORKERS);
        must_equal(stats_of(jobs[i]).refused, 0);
        must_equal(stats_of(jobs[i]).outages, 0);
        rescued += stats_of(jobs[i]).rescued;
        exchanges += stats_of(jobs[i]).exchanges;
    }
    must_equal(rescued, LEASES);
    must(exchanges <= 3 * ALL);
    for (int i = 0; i < 2; i++)
        vigil_jobs_close(jobs[i]);
}

struct dues {
    int64_t least, most;
};

static void see_due(const vigil_jobs_info *info, void *arg)
{
    struct dues *dues = arg;
    if (dues->least == 0 || info->due_ms < dues->least)
        dues->least = info->due_ms;
    if (info->due_ms > dues->most)
        dues->most = info->due_ms;
}

/* What failed at the same moment is not tried again at the same moment. */
static void retries_are_spread(void **state)
{
    (void)state;
    enum {
        JOBS = 40
    };
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct tally runs = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.backoff_ns = 60 * MINUTE;
    kind.backoff_max_ns = 60 * MINUTE;
    must_equal(vigil_jobs_handle(jobs, "bad", fail_always, &runs, &kind), 0);
    for (int i = 0; i < JOBS; i++)
        (void)enqueue(jobs, "bad", "", NULL);
    must_equal(vigil_jobs_start(jobs), 0);
    while (stats_of(jobs).failed < JOBS)
        yield();
    struct dues dues = {0};
    vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
    must_equal(vigil_jobs_look(jobs, &filter, see_due, &dues), JOBS);
    must(dues.most - dues.least > 10 * 60 * 1000); /* of half an hour; less in one of 10^11 runs */
    vigil_jobs_close(jobs);
}

/* ---- ageing ------------------------------------------------------------------------------------------------------ */

struct ranks {
    struct tally runs;
    int class_of[400];
};

static int note_rank(vigil_jobs_run *run, void *arg)
{
    struct ranks *order = arg; /* one worker */
    uint32_t place = tally_get(&order->runs);
    must(place < 400);
    order->class_of[place] = *(const char *)run->payload - '0';
    tally_add(&order->runs, 1);
    return 0;
}

/* As in a pool: one claim in 32 begins with a lower class, in rotation. */
static void lower_classes_have_their_turn_in_a_flood_of_urgent_jobs(void **state)
{
    (void)state;
    enum {
        FLOOD = 300,
        PERIOD = 32
    };
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 1;
    options.no_prefetch = true;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, fresh_queue(), &options));
    struct ranks order = {0};
    must_equal(vigil_jobs_handle(jobs, "flood", note_rank, &order, NULL), 0);
    vigil_jobs_job job = VIGIL_JOBS_JOB_INIT;
    for (int class = VIGIL_PRIORITIES - 1; class > 0; class --) { /* these have waited longest */
        char payload[2] = {(char)('0' + class), '\0'};
        job.priority = (vigil_priority) class;
        (void)enqueue(jobs, "flood", payload, &job);
    }
    job.priority = (vigil_priority)0;
    for (int i = 0; i < FLOOD; i++)
        (void)enqueue(jobs, "flood", "0", &job);
    must_equal(vigil_jobs_start(jobs), 0);
    tally_wait(&order.runs, FLOOD + VIGIL_PRIORITIES - 1);
    for (int class = 1; class < VIGIL_PRIORITIES; class ++) {
        int place = 0;
        while (order.class_of[place] != class)
            place++;
        must(place <= PERIOD * class + 1);
        must(place >= PERIOD * (class - 1)); /* and not before the urgent ones */
    }
    vigil_jobs_close(jobs);
}

/* ---- pruning by number ------------------------------------------------------------------------------------------- */

struct left {
    uint64_t lowest[VIGIL_JOBS_CANCELLED + 1];
    int count[VIGIL_JOBS_CANCELLED + 1];
};

static void see_left(const vigil_jobs_info *info, void *arg)
{
    struct left *left = arg;
    if (left->count[info->state]++ == 0)
        left->lowest[info->state] = info->id;
}

static struct left left_of(vigil_jobs *jobs)
{
    struct left left = {0};
    vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
    must_work(vigil_jobs_look(jobs, &filter, see_left, &left));
    return left;
}

static void ended_jobs_are_pruned_by_number(void **state)
{
    (void)state;
    enum {
        JOBS = 10,
        KEPT = 3,
        KEPT_DEAD = 2
    };
    const char *where = fresh_queue();
    vigil_jobs *jobs = open_queue(where);
    struct tally runs = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.max_errors = 1;
    must_equal(vigil_jobs_handle(jobs, "good", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_handle(jobs, "bad", fail_always, &runs, &kind), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    uint64_t good[JOBS], bad[JOBS];
    for (int i = 0; i < JOBS; i++) { /* each after the other has ended */
        good[i] = enqueue(jobs, "good", "", NULL);
        must_end_as(jobs, good[i], VIGIL_JOBS_COMPLETED);
        bad[i] = enqueue(jobs, "bad", "", NULL);
        must_end_as(jobs, bad[i], VIGIL_JOBS_DEAD);
    }
    vigil_jobs_close(jobs);
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.keep_completed_most = KEPT;
    options.keep_dead_most = KEPT_DEAD;
    must_work(vigil_jobs_open(&jobs, where, &options));
    must_equal(vigil_jobs_start(jobs), 0);
    struct left left;
    do
        left = left_of(jobs);
    while (left.count[VIGIL_JOBS_COMPLETED] > KEPT || left.count[VIGIL_JOBS_DEAD] > KEPT_DEAD);
    must_equal(left.count[VIGIL_JOBS_COMPLETED], KEPT);
    must_equal(left.count[VIGIL_JOBS_DEAD], KEPT_DEAD);
    must_equal(left.lowest[VIGIL_JOBS_COMPLETED], good[JOBS - KEPT]);
    must_equal(left.lowest[VIGIL_JOBS_DEAD], bad[JOBS - KEPT_DEAD]);
    must_equal(account_of(jobs).completed, JOBS);
    must_equal(account_of(jobs).dead, JOBS);
    vigil_jobs_close(jobs);
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

/* A newer library has added columns and a level: this one leaves them alone, and works beside it. */
static void tables_of_a_newer_library_are_used_and_left_as_they_are(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs *jobs = open_queue(where);
    uint64_t before = enqueue(jobs, "echo", "old", NULL);
    run_sql(where, "ALTER TABLE vigil_jobs ADD COLUMN later text");
    run_sql(where, "ALTER TABLE vigil_jobs_ended ADD COLUMN later text");
    run_sql(where, "DELETE FROM vigil_jobs_meta WHERE name = 'level'");
    run_sql(where, "INSERT INTO vigil_jobs_meta VALUES('level', 99)");
    run_sql(where, "UPDATE vigil_jobs SET later = 'theirs'");
    vigil_jobs *other = open_queue(where); /* opened before and after the change */
    must_equal(vigil_jobs_handle(jobs, "echo", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    must_end_as(other, before, VIGIL_JOBS_COMPLETED);
    must_end_as(jobs, enqueue(other, "echo", "new", NULL), VIGIL_JOBS_COMPLETED);
    must_equal(account_of(other).completed, 2);
    vigil_jobs_close(other);
    vigil_jobs_close(jobs);
}

#define JOBS_SUITE_BAD                                                                                               \
    test(a_bad_row_does_not_hold_up_the_sweep), test(an_end_that_cannot_be_recorded_does_not_hold_up_others),        \
        test(a_row_that_cannot_be_extended_costs_its_own_lease_alone), test(the_herd_after_an_outage_goes_in_steps), \
        test(retries_are_spread), test(lower_classes_have_their_turn_in_a_flood_of_urgent_jobs),                     \
        test(ended_jobs_are_pruned_by_number), test(tables_of_a_newer_library_are_used_and_left_as_they_are)

#endif
