/* SPDX-License-Identifier: MIT */
/* suite_texts.h - what every engine must do with bytes that are no text, and with numbers at their ends. After suite.h. */
#ifndef TESTS_JOBS_SUITE_TEXTS_H
#define TESTS_JOBS_SUITE_TEXTS_H

/* No character, an overlong slash, half of one, a surrogate, one above the last. */
static const char *const not_texts[] = {"\xff", "a\xc0\xaf", "\xe2\x98", "\xed\xa0\x80", "\xf4\x90\x80\x80"};

static void names_that_are_not_utf8_are_refused(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    for (size_t i = 0; i < sizeof not_texts / sizeof *not_texts; i++) {
        const char *name = not_texts[i];
        vigil_jobs_job keyed = VIGIL_JOBS_JOB_INIT, owned = VIGIL_JOBS_JOB_INIT, typed = VIGIL_JOBS_JOB_INIT;
        keyed.key = owned.tenant = typed.content_type = name;
        must_equal(vigil_jobs_handle(jobs, name, echo, NULL, NULL), -EINVAL);
        must_equal(vigil_jobs_enqueue(jobs, name, NULL, 0, NULL, NULL), -EINVAL);
        must_equal(vigil_jobs_enqueue(jobs, "echo", NULL, 0, &keyed, NULL), -EINVAL);
        must_equal(vigil_jobs_enqueue(jobs, "echo", NULL, 0, &owned, NULL), -EINVAL);
        must_equal(vigil_jobs_enqueue(jobs, "echo", NULL, 0, &typed, NULL), -EINVAL);
        must(strstr(vigil_jobs_why(), "UTF-8") != NULL);
        vigil_jobs_schedule daily = VIGIL_JOBS_SCHEDULE_INIT;
        daily.kind = "echo";
        daily.cron = "@daily";
        must_equal(vigil_jobs_schedule_set(jobs, name, &daily), -EINVAL);
    }
    static const char last[] = "\xf4\x8f\xbf\xbf \xed\x9f\xbf \xe0\xa0\x80 \xc2\x80";
    must_equal(vigil_jobs_handle(jobs, last, echo, NULL, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    must_end_as(jobs, enqueue(jobs, last, "", NULL), VIGIL_JOBS_COMPLETED);
    vigil_jobs_close(jobs);
}

static int fail_with_bytes(vigil_jobs_run *run, void *arg)
{
    (void)arg;
    must_equal(vigil_jobs_progress(run, 0.5, "half \xe2\x98"), 0);
    must_equal(vigil_jobs_error(run, "no caf\xe9 \xe2\x98\x83"), 0);
    return -EIO;
}

/* On PostgreSQL such a text would fail the statement, and with it all ends of the process, again and again. */
static void a_text_that_is_not_utf8_is_mended_and_holds_nothing_up(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    vigil_jobs_kind once = VIGIL_JOBS_KIND_INIT;
    once.max_errors = 1;
    must_equal(vigil_jobs_handle(jobs, "bytes", fail_with_bytes, NULL, &once), 0);
    must_equal(vigil_jobs_handle(jobs, "echo", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    uint64_t id = enqueue(jobs, "bytes", "", NULL);
    must_end_as(jobs, id, VIGIL_JOBS_DEAD);
    must_equal(strcmp(look_at(jobs, id).error, "no caf? \xe2\x98\x83"), 0);
    must_end_as(jobs, enqueue(jobs, "echo", "", NULL), VIGIL_JOBS_COMPLETED);
    must_equal(stats_of(jobs).outages, 0);
    vigil_jobs_close(jobs);
}

static void the_largest_delay_is_not_now(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    vigil_jobs_job delayed = VIGIL_JOBS_JOB_INIT, dated = VIGIL_JOBS_JOB_INIT, high = VIGIL_JOBS_JOB_INIT;
    struct tally runs = {0};
    delayed.delay_ns = INT64_MAX;
    dated.at_ms = INT64_MAX;
    high.version = UINT32_MAX;
    must_equal(vigil_jobs_handle(jobs, "echo", echo, &runs, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    uint64_t one = enqueue(jobs, "echo", "", &delayed), two = enqueue(jobs, "echo", "", &dated);
    must_equal(vigil_jobs_enqueue(jobs, "echo", NULL, 0, &high, NULL), -EINVAL);
    must_end_as(jobs, enqueue(jobs, "echo", "", NULL), VIGIL_JOBS_COMPLETED);
    must_equal(look_at(jobs, one).info.state, VIGIL_JOBS_WAITING);
    must_equal(look_at(jobs, two).info.state, VIGIL_JOBS_WAITING);
    must(look_at(jobs, one).info.due_ms > look_at(jobs, one).info.created_ms);
    must_equal(vigil_jobs_cancel(jobs, one), 0);
    vigil_jobs_close(jobs);
}

#define JOBS_SUITE_TEXTS                                                                                     \
    test(names_that_are_not_utf8_are_refused), test(a_text_that_is_not_utf8_is_mended_and_holds_nothing_up), \
        test(the_largest_delay_is_not_now)

#endif
