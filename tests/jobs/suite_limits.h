/* SPDX-License-Identifier: MIT */
/* suite_limits.h - what every engine must do about tenants, keys that are kept for a time, and full queues. After suite.h. */
#ifndef TESTS_JOBS_SUITE_LIMITS_H
#define TESTS_JOBS_SUITE_LIMITS_H

/* The order in which runs start. */
struct order {
    _Atomic unsigned count;
    char first[64]; /* the first byte of each payload */
    struct tally done;
};

static int note(vigil_jobs_run *run, void *arg)
{
    struct order *order = arg;
    unsigned at = atomic_fetch_add(&order->count, 1);
    if (at < sizeof order->first)
        order->first[at] = *(const char *)run->payload;
    tally_add(&order->done, 1);
    return 0;
}

static uint64_t enqueue_for(vigil_jobs *jobs, const char *kind, const char *tenant, const char *payload)
{
    vigil_jobs_job options = VIGIL_JOBS_JOB_INIT;
    options.tenant = tenant;
    return enqueue(jobs, kind, payload, &options);
}

static void tenants_take_turns_however_many_jobs_each_has(void **state)
{
    (void)state;
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 1;
    options.no_prefetch = true;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, fresh_queue(), &options));
    struct order order = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.fair = true;
    must_equal(vigil_jobs_handle(jobs, "mail", note, &order, &kind), 0);
    for (int i = 0; i < 8; i++)
        (void)enqueue_for(jobs, "mail", "noisy", "n");
    for (int i = 0; i < 2; i++)
        (void)enqueue_for(jobs, "mail", NULL, "-");
    for (int i = 0; i < 3; i++)
        (void)enqueue_for(jobs, "mail", "b", "b");
    uint64_t last = 0;
    for (int i = 0; i < 3; i++)
        last = enqueue_for(jobs, "mail", "a", "a");
    vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
    filter.id = last;
    must_equal(vigil_jobs_look(jobs, &filter, see, &(struct seen){0}), 1);
    must_equal(vigil_jobs_start(jobs), 0);
    tally_wait(&order.done, 16);
    must_equal(memcmp(order.first, "abn-abn-abnnnnnn", 16), 0);
    vigil_jobs_close(jobs);
}

/* A claim for many places goes round the tenants as well, and takes all there is. */
static void one_claim_for_many_places_goes_round_the_tenants(void **state)
{
    (void)state;
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 1;
    options.prefetch = 100;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, fresh_queue(), &options));
    struct order order = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.fair = true;
    must_equal(vigil_jobs_handle(jobs, "mail", note, &order, &kind), 0);
    for (int i = 0; i < 30; i++)
        (void)enqueue_for(jobs, "mail", "noisy", "n");
    (void)enqueue_for(jobs, "mail", "a", "a");
    (void)enqueue_for(jobs, "mail", "z", "z");
    must_equal(vigil_jobs_start(jobs), 0);
    tally_wait(&order.done, 32);
    must_equal(memcmp(order.first, "anz", 3), 0);
    must_equal(account_of(jobs).enqueued, 32);
    vigil_jobs_close(jobs);
}

/* Plain jobs wait all the time, and each claim takes one. */
static void limited_kinds_have_their_class_and_their_turn(void **state)
{
    (void)state;
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 1;
    options.no_prefetch = true;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, fresh_queue(), &options));
    struct order order = {0};
    vigil_jobs_kind capped = VIGIL_JOBS_KIND_INIT, rated = VIGIL_JOBS_KIND_INIT, fair = VIGIL_JOBS_KIND_INIT;
    capped.cap = 1;
    rated.rate = 1000;
    fair.fair = true;
    must_equal(vigil_jobs_handle(jobs, "plain", note, &order, NULL), 0);
    must_equal(vigil_jobs_handle(jobs, "capped", note, &order, &capped), 0);
    must_equal(vigil_jobs_handle(jobs, "rated", note, &order, &rated), 0);
    must_equal(vigil_jobs_handle(jobs, "fair", note, &order, &fair), 0);
    vigil_jobs_job urgent = VIGIL_JOBS_JOB_INIT;
    urgent.priority = VIGIL_HIGH;
    for (int i = 0; i < 14; i++)
        (void)enqueue(jobs, "plain", "p", NULL);
    for (int i = 0; i < 2; i++) {
        (void)enqueue(jobs, "capped", "c", NULL);
        (void)enqueue(jobs, "rated", "r", NULL);
        (void)enqueue_for(jobs, "fair", "x", "f");
    }
    (void)enqueue(jobs, "capped", "C", &urgent);
    (void)enqueue(jobs, "rated", "R", &urgent);
    must_equal(vigil_jobs_start(jobs), 0);
    tally_wait(&order.done, 22);
    must(memcmp(order.first, "CR", 2) == 0 || memcmp(order.first, "RC", 2) == 0);
    must(memchr("crf", order.first[21], 3) == NULL);
    must(memchr("crf", order.first[20], 3) == NULL);
    must_equal(account_of(jobs).enqueued, 22);
    vigil_jobs_close(jobs);
}

/* The same with prefetch, while more plain jobs wait than a claim can take. */
static void limited_kinds_do_not_starve_behind_plain_ones(void **state)
{
    (void)state;
    enum {
        PLAIN = 2000,
        EACH = 6
    };
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 2;
    options.prefetch = 8;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, fresh_queue(), &options));
    struct order plain = {0}, limited = {0};
    vigil_jobs_kind capped = VIGIL_JOBS_KIND_INIT, rated = VIGIL_JOBS_KIND_INIT, tenants = VIGIL_JOBS_KIND_INIT;
    capped.cap = 2;
    rated.rate = 1000;
    tenants.tenant_cap = 2;
    must_equal(vigil_jobs_handle(jobs, "plain", note, &plain, NULL), 0);
    must_equal(vigil_jobs_handle(jobs, "capped", note, &limited, &capped), 0);
    must_equal(vigil_jobs_handle(jobs, "rated", note, &limited, &rated), 0);
    must_equal(vigil_jobs_handle(jobs, "tenants", note, &limited, &tenants), 0);
    vigil_jobs_item items[PLAIN];
    for (int i = 0; i < PLAIN; i++)
        items[i] = (vigil_jobs_item){.kind = "plain", .payload = "p", .length = 1};
    must_equal(vigil_jobs_enqueue_many(jobs, items, PLAIN), PLAIN);
    for (int i = 0; i < EACH; i++) {
        (void)enqueue(jobs, "capped", "c", NULL);
        (void)enqueue(jobs, "rated", "r", NULL);
        (void)enqueue_for(jobs, "tenants", "x", "t");
    }
    must_equal(vigil_jobs_start(jobs), 0);
    tally_wait(&limited.done, 3 * EACH);
    must(atomic_load(&plain.count) < PLAIN / 2);
    tally_wait(&plain.done, PLAIN);
    vigil_jobs_close(jobs);
}

static int note_crashes(vigil_jobs_run *run, void *arg)
{
    struct order *order = arg;
    unsigned at = atomic_fetch_add(&order->count, 1);
    if (at < sizeof order->first)
        order->first[at] = run->crashes > 0 ? 'q' : 'p';
    tally_add(&order->done, 1);
    return 0;
}

/* Nobody rings after a quarantined run, and there is no poll: the process goes on by itself, first with the others of
   that kind. */
static void work_goes_on_after_a_quarantined_job(void **state)
{
    (void)state;
    enum {
        LONE = 5,
        PLAIN = 40
    };
    const char *where_it_is = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 2;
    options.prefetch = 1;
    options.lease_ns = 60 * MINUTE;
    options.poll_ns = 60 * MINUTE;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, where_it_is, &options));
    struct order order = {0};
    must_equal(vigil_jobs_handle(jobs, "work", note_crashes, &order, NULL), 0);
    for (int i = 0; i < LONE; i++)
        (void)enqueue(jobs, "work", "", NULL);
    run_sql(where_it_is, "UPDATE vigil_jobs SET state = 3, crashes = 2");
    for (int i = 0; i < PLAIN; i++)
        (void)enqueue(jobs, "work", "", NULL);
    must_equal(vigil_jobs_start(jobs), 0);
    tally_wait(&order.done, LONE + PLAIN);
    must(memchr(order.first + LONE + PLAIN - 10, 'q', 10) == NULL);
    vigil_jobs_close(jobs);
}

static int stay_if_told(vigil_jobs_run *run, void *arg)
{
    struct stage *stage = arg;
    if (*(const char *)run->payload != 's')
        return 0;
    tally_add(&stage->entered, 1);
    event_wait(&stage->out);
    return 0;
}

struct mixed {
    struct stage stage;
    struct tally quick;
};

static int stay_or_count(vigil_jobs_run *run, void *arg)
{
    struct mixed *mixed = arg;
    if (*(const char *)run->payload == 's')
        return stay_if_told(run, &mixed->stage);
    tally_add(&mixed->quick, 1);
    return 0;
}

/* One process has claimed short jobs ahead, and then a long run has its only worker. Another one gets them; and when the run is
   over, the first one takes what came since, although nobody rings. */
static void jobs_behind_a_long_run_are_given_to_others(void **state)
{
    (void)state;
    const char *where_it_is = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 1;
    options.prefetch = 10;
    options.lease_ns = 60 * MINUTE;
    options.poll_ns = 60 * MINUTE;
    vigil_jobs *jobs[2] = {NULL, NULL};
    struct mixed mixed = {0};
    for (int i = 0; i < 2; i++) {
        must_work(vigil_jobs_open(&jobs[i], where_it_is, &options));
        must_equal(vigil_jobs_handle(jobs[i], "mixed", stay_or_count, &mixed, NULL), 0);
    }
    uint64_t id = enqueue(jobs[0], "mixed", "s", NULL);
    for (int i = 0; i < 5; i++)
        (void)enqueue(jobs[0], "mixed", "q", NULL);
    must_equal(vigil_jobs_start(jobs[0]), 0);
    tally_wait(&mixed.stage.entered, 1);
    while (stats_of(jobs[0]).claimed < 6)
        yield();
    must_equal(vigil_jobs_start(jobs[1]), 0);
    tally_wait(&mixed.quick, 5);
    must_equal(vigil_jobs_shutdown(jobs[1], VIGIL_FOREVER), 0);
    for (int i = 0; i < 3; i++)
        (void)enqueue(jobs[0], "mixed", "q", NULL);
    event_set(&mixed.stage.out);
    tally_wait(&mixed.quick, 8);
    must_end_as(jobs[0], id, VIGIL_JOBS_COMPLETED);
    while (account_of(jobs[0]).completed < 9)
        yield();
    must_equal(stats_of(jobs[0]).given_back, 5);
    must_equal(stats_of(jobs[0]).refused, 0);
    must_equal(tally_get(&mixed.quick), 8);
    for (int i = 0; i < 2; i++)
        vigil_jobs_close(jobs[i]);
}

static void a_cap_of_tenants_holds_one_back_and_not_the_others(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs *one = open_queue(where), *two = open_queue(where);
    struct stage stage = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.tenant_cap = 1;
    must_equal(vigil_jobs_handle(one, "export", stay_if_told, &stage, &kind), 0);
    must_equal(vigil_jobs_handle(two, "export", stay_if_told, &stage, &kind), 0);
    uint64_t first = enqueue_for(one, "export", "x", "stay");
    must_equal(vigil_jobs_start(one), 0);
    must_equal(vigil_jobs_start(two), 0);
    tally_wait(&stage.entered, 1);
    uint64_t second = enqueue_for(one, "export", "x", "go"), other = enqueue_for(one, "export", "y", "go"),
             nobody = enqueue_for(one, "export", NULL, "go");
    must_end_as(two, other, VIGIL_JOBS_COMPLETED);
    must_end_as(two, nobody, VIGIL_JOBS_COMPLETED);
    must_equal(look_at(one, second).info.state, VIGIL_JOBS_WAITING);
    event_set(&stage.out);
    must_end_as(one, first, VIGIL_JOBS_COMPLETED);
    must_end_as(one, second, VIGIL_JOBS_COMPLETED);
    vigil_jobs_close(one);
    vigil_jobs_close(two);
}

static void a_rate_of_tenants_spreads_the_starts_of_one(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.tenant_rate = 4;
    must_equal(vigil_jobs_handle(jobs, "call", echo, NULL, &kind), 0);
    uint64_t ids[6];
    for (int i = 0; i < 6; i++) /* a bucket holds four: the fifth and sixth wait for a quarter of a second each */
        ids[i] = enqueue_for(jobs, "call", "x", "");
    uint64_t other = enqueue_for(jobs, "call", "y", "");
    must_equal(vigil_jobs_start(jobs), 0);
    for (int i = 0; i < 6; i++)
        must_end_as(jobs, ids[i], VIGIL_JOBS_COMPLETED);
    must_end_as(jobs, other, VIGIL_JOBS_COMPLETED);
    int64_t first = look_at(jobs, ids[0]).info.started_ms, last = look_at(jobs, ids[5]).info.started_ms;
    must(last - first >= 400);
    vigil_jobs_close(jobs);
}

static void a_key_may_be_kept_for_a_time(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    must_equal(vigil_jobs_handle(jobs, "digest", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    vigil_jobs_job hourly = VIGIL_JOBS_JOB_INIT, plain = VIGIL_JOBS_JOB_INIT;
    hourly.key = plain.key = "digest for 7";
    hourly.unique_ns = 3600 * SECOND;
    uint64_t first = enqueue(jobs, "digest", "", &hourly), holder = 0;
    must_end_as(jobs, first, VIGIL_JOBS_COMPLETED);
    must_equal(vigil_jobs_enqueue(jobs, "digest", "", 0, &hourly, &holder), -EEXIST);
    must_equal(holder, first);
    holder = 0;
    must_equal(vigil_jobs_enqueue(jobs, "digest", "", 0, &plain, &holder), -EEXIST);
    must_equal(holder, first);
    vigil_jobs_item items[] = {{.kind = "digest", .options = &hourly}, {.kind = "digest"}};
    must_equal(vigil_jobs_enqueue_many(jobs, items, 2), 1);
    must_equal(items[0].id, 0);
    must_end_as(jobs, items[1].id, VIGIL_JOBS_COMPLETED);
    make_due(jobs); /* the hour has passed */
    uint64_t second = enqueue(jobs, "digest", "", &hourly);
    must_end_as(jobs, second, VIGIL_JOBS_COMPLETED);
    must_equal(account_of(jobs).enqueued, 3);
    hourly.key = NULL;
    must_equal(vigil_jobs_enqueue(jobs, "digest", "", 0, &hourly, NULL), -EINVAL);
    vigil_jobs_close(jobs);
}

static void a_full_queue_refuses_or_waits(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 2;
    options.max_waiting = 3;
    vigil_jobs *refuses = NULL, *waits = NULL, *soon = NULL;
    must_work(vigil_jobs_open(&refuses, where, &options));
    options.full_wait_ns = VIGIL_FOREVER;
    must_work(vigil_jobs_open(&waits, where, &options));
    options.full_wait_ns = 10000000;
    must_work(vigil_jobs_open(&soon, where, &options));
    for (int i = 0; i < 3; i++)
        (void)enqueue(refuses, "echo", "", NULL);
    must_equal(vigil_jobs_enqueue(refuses, "echo", "", 0, NULL, NULL), -EAGAIN);
    must_equal(vigil_jobs_enqueue(soon, "echo", "", 0, NULL, NULL), -EAGAIN);
    vigil_jobs_item items[4] = {{.kind = "echo"}, {.kind = "echo"}, {.kind = "echo"}, {.kind = "echo"}};
    must_equal(vigil_jobs_enqueue_many(refuses, items, 2), -EAGAIN);
    must_equal(vigil_jobs_enqueue_many(waits, items, 4), -EAGAIN); /* there is never so much room */
    must_equal(account_of(refuses).enqueued, 3);
    must_equal(vigil_jobs_handle(waits, "echo", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_start(waits), 0);
    uint64_t last = 0;
    for (int i = 0; i < 20; i++)
        last = enqueue(waits, "echo", "", NULL);
    must_end_as(waits, last, VIGIL_JOBS_COMPLETED);
    must_equal(account_of(waits).enqueued, 23);
    vigil_jobs_close(refuses);
    vigil_jobs_close(waits);
    vigil_jobs_close(soon);
}

static void tables_of_an_older_library_gain_what_they_lack(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs *jobs = open_queue(where);
    uint64_t id = enqueue(jobs, "echo", "old", NULL);
    vigil_jobs_close(jobs);
    run_sql(where, "DROP INDEX vigil_jobs_tenant");
    run_sql(where, "DROP INDEX vigil_jobs_tenant_runs");
    run_sql(where, "ALTER TABLE vigil_jobs DROP COLUMN tenant");
    run_sql(where, "DELETE FROM vigil_jobs_meta WHERE name = 'level'");
    jobs = open_queue(where);
    must_equal(vigil_jobs_handle(jobs, "echo", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    must_end_as(jobs, id, VIGIL_JOBS_COMPLETED);
    vigil_jobs_close(jobs);
    run_sql(where, "UPDATE vigil_jobs_meta SET value = 99 WHERE name = 'schema'");
    must_equal(vigil_jobs_open(&jobs, where, NULL), -EPROTO);
}

#define JOBS_SUITE_LIMITS                                                                                            \
    test(tenants_take_turns_however_many_jobs_each_has), test(one_claim_for_many_places_goes_round_the_tenants),     \
        test(limited_kinds_have_their_class_and_their_turn), test(limited_kinds_do_not_starve_behind_plain_ones),    \
        test(work_goes_on_after_a_quarantined_job), test(jobs_behind_a_long_run_are_given_to_others),                \
        test(a_cap_of_tenants_holds_one_back_and_not_the_others), test(a_rate_of_tenants_spreads_the_starts_of_one), \
        test(a_key_may_be_kept_for_a_time), test(a_full_queue_refuses_or_waits),                                     \
        test(tables_of_an_older_library_gain_what_they_lack)

#endif
