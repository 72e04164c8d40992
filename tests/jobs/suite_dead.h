/* SPDX-License-Identifier: MIT */
/* suite_dead.h - what every engine must keep of a run that stalls, and what can be done with a dead letter. After suite.h. */
#ifndef TESTS_JOBS_SUITE_DEAD_H
#define TESTS_JOBS_SUITE_DEAD_H

#include <vigil/watchdog.h>

static const char *unsafe_queue(const char **word);

static void a_dead_letter_says_what_the_run_was_doing_at_its_limit(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct stage stage = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.limit_ns = 600000000;
    kind.max_errors = 1;
    must_equal(vigil_jobs_handle(jobs, "stays", stay_until_aborted, &stage, &kind), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    uint64_t id = enqueue(jobs, "stays", "", NULL);
    must_end_as(jobs, id, VIGIL_JOBS_DEAD);
    must(strstr(look_at(jobs, id).verdict, "it has run for") != NULL);
    vigil_jobs_close(jobs);
}

/* The beat carries the watchdog's verdict; it is still there when the lease has run out. */
static void a_beat_carries_the_watchdogs_verdict_which_outlives_the_run(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 1;
    options.lease_ns = 3 * SECOND;
    vigil_jobs *one = NULL, *two = open_queue(where);
    must_work(vigil_jobs_open(&one, where, &options));
    vigil_watchdog_options watch = VIGIL_WATCHDOG_OPTIONS_INIT;
    watch.interval_ms = 50;
    watch.hog_ms = 200;
    must_equal(vigil_watchdog_start(&watch), 0);
    struct stage stage = {0};
    must_equal(vigil_jobs_handle(one, "stalls", stay, &stage, NULL), 0);
    must_equal(vigil_jobs_start(one), 0);
    uint64_t id = enqueue(one, "stalls", "", NULL);
    tally_wait(&stage.entered, 1);
    while (strstr(look_at(two, id).verdict, vigil_stall_name(VIGIL_STALL_HOG)) == NULL)
        observe_for_ms(50);
    must_work(vigil_jobs_pause(two, NULL));
    must_equal(vigil_jobs_start(two), 0);
    while (look_at(two, id).info.state == VIGIL_JOBS_RUNNING) {
        expire_leases(two); /* a beat may have extended it again */
        observe_for_ms(5);
    }
    must_equal(look_at(two, id).info.crashes, 1);
    must(strstr(look_at(two, id).verdict, vigil_stall_name(VIGIL_STALL_HOG)) != NULL);
    event_set(&stage.out);
    must_equal(vigil_watchdog_stop(), 0);
    vigil_jobs_close(one);
    vigil_jobs_close(two);
}

static void a_dead_letter_is_edited_and_tried_again_or_dropped(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct tally runs = {0};
    struct stage stage = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.max_errors = 1;
    must_equal(vigil_jobs_handle(jobs, "bad", fail_always, &runs, &kind), 0);
    must_equal(vigil_jobs_handle(jobs, "stays", stay, &stage, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    uint64_t id = enqueue(jobs, "bad", "wrong", NULL), busy = enqueue(jobs, "stays", "", NULL);
    must_end_as(jobs, id, VIGIL_JOBS_DEAD);
    tally_wait(&stage.entered, 1);
    must_equal(vigil_jobs_edit(jobs, busy, "x", 1), -EBUSY);
    must_equal(vigil_jobs_remove(jobs, busy), -EBUSY);
    must_equal(vigil_jobs_edit(jobs, 424242, "x", 1), -ENOENT);
    must_equal(vigil_jobs_edit(jobs, id, NULL, 1), -EINVAL);
    must_equal(vigil_jobs_edit(jobs, id, "right", 5), 0);
    must_equal(strcmp(look_at(jobs, id).payload, "right"), 0);
    must_equal(vigil_jobs_retry(jobs, id), 0);
    tally_wait(&runs, 2);
    must_end_as(jobs, id, VIGIL_JOBS_DEAD);
    must_equal(strcmp(look_at(jobs, id).payload, "right"), 0);
    must_equal(vigil_jobs_remove(jobs, id), 0);
    must_equal(vigil_jobs_remove(jobs, id), -ENOENT);
    event_set(&stage.out);
    must_end_as(jobs, busy, VIGIL_JOBS_COMPLETED);
    must_equal(vigil_jobs_edit(jobs, busy, "x", 1), -EALREADY);
    vigil_jobs_account account = account_of(jobs);
    must_equal(account.dead, 1); /* dropped, and still counted */
    must_equal(account.enqueued, 2);
    uint64_t waiting = enqueue(jobs, "nobody", "a", NULL);
    must_equal(vigil_jobs_edit(jobs, waiting, "bc", 2), 0);
    must_equal(strcmp(look_at(jobs, waiting).payload, "bc"), 0);
    vigil_jobs_close(jobs);
}

struct lines {
    char text[2000];
    int count;
};

static void keep_line(const char *line, void *arg)
{
    struct lines *lines = arg;
    size_t length = strlen(lines->text);
    (void)snprintf(lines->text + length, sizeof lines->text - length, "%s\n", line);
    lines->count++;
}

static void keep_doubt(void *user, const char *line)
{
    keep_line(line, user);
}

static void add_up(const vigil_jobs_tally *tally, void *arg)
{
    uint64_t *counts = arg;
    counts[tally->state] += tally->count;
    must(tally->kind[0] != '\0');
    must_equal(tally->paused, strcmp(tally->kind, "paused") == 0 && tally->state == VIGIL_JOBS_WAITING);
}

static void jobs_are_counted_by_kind_class_and_state(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct stage stage = {0};
    uint64_t counts[VIGIL_JOBS_CANCELLED + 1] = {0};
    must_equal(vigil_jobs_handle(jobs, "stays", stay, &stage, NULL), 0);
    must_equal(vigil_jobs_handle(jobs, "echo", echo, NULL, NULL), 0);
    must_work(vigil_jobs_pause(jobs, "paused"));
    must_equal(vigil_jobs_start(jobs), 0);
    (void)enqueue(jobs, "stays", "", NULL);
    (void)enqueue(jobs, "paused", "", NULL);
    tally_wait(&stage.entered, 1);
    vigil_jobs_job low = VIGIL_JOBS_JOB_INIT;
    low.priority = VIGIL_LOW;
    must_end_as(jobs, enqueue(jobs, "echo", "", NULL), VIGIL_JOBS_COMPLETED);
    must_end_as(jobs, enqueue(jobs, "echo", "", &low), VIGIL_JOBS_COMPLETED);
    must_equal(vigil_jobs_count(jobs, add_up, counts), 4); /* the class tells the last two apart */
    must_equal(counts[VIGIL_JOBS_RUNNING], 1);
    must_equal(counts[VIGIL_JOBS_WAITING], 1);
    must_equal(counts[VIGIL_JOBS_COMPLETED], 2);
    event_set(&stage.out);
    vigil_jobs_close(jobs);
}

/* unsafe_queue() gives one whose settings may lose what is acknowledged, and the word that says so. */
static void settings_that_may_lose_jobs_are_told(void **state)
{
    (void)state;
    const char *word = NULL, *where = unsafe_queue(&word);
    struct lines lines = {0};
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    vigil_jobs *jobs = NULL;
    options.on_doubt = keep_doubt;
    options.user = &lines;
    must_work(vigil_jobs_open(&jobs, where, &options));
    must(strstr(lines.text, word) != NULL);
    lines = (struct lines){0};
    int told = vigil_jobs_check(jobs, 0, keep_line, &lines);
    must_equal(told, lines.count);
    must(strstr(lines.text, word) != NULL);
    must_equal(vigil_jobs_check(jobs, -1, keep_line, &lines), -EINVAL);
    vigil_jobs_close(jobs);
    options.must_last = true;
    must_equal(vigil_jobs_open(&jobs, where, &options), -ENOTSUP);
    must(strstr(vigil_jobs_why(), word) != NULL);
}

#define JOBS_SUITE_DEAD                                                                                       \
    test(a_dead_letter_says_what_the_run_was_doing_at_its_limit),                                             \
        test(a_beat_carries_the_watchdogs_verdict_which_outlives_the_run),                                    \
        test(a_dead_letter_is_edited_and_tried_again_or_dropped), test(settings_that_may_lose_jobs_are_told), \
        test(jobs_are_counted_by_kind_class_and_state)

#endif
