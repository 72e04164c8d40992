/* SPDX-License-Identifier: MIT */
/* suite_many.h - what every engine must do with many jobs in one call. After suite.h. */
#ifndef TESTS_JOBS_SUITE_MANY_H
#define TESTS_JOBS_SUITE_MANY_H

/* As much as the fields of a job differ within the call, so they do afterwards. */
static void jobs_of_one_call_keep_what_is_their_own(void **state)
{
    (void)state;
    enum {
        COUNT = 1030, /* more than one statement has */
    };
    static const char *const names[] = {"plain", "quoted \"'\\", "{a,b}", "NULL", "\xc3\xa4"};
    static const unsigned char bytes[] = {0, '\\', 0xff, '"', 0, '{'};
    vigil_jobs *jobs = open_queue(fresh_queue());
    vigil_jobs_item *items = calloc(COUNT, sizeof *items);
    vigil_jobs_job *options = calloc(COUNT, sizeof *options);
    for (unsigned i = 0; i < COUNT; i++) {
        options[i] = (vigil_jobs_job)VIGIL_JOBS_JOB_INIT;
        options[i].priority = (vigil_priority)(i % VIGIL_PRIORITIES);
        options[i].version = i;
        options[i].tenant = i % 3 == 0 ? NULL : names[i % 5];
        options[i].content_type = i % 2 == 0 ? NULL : "text/plain";
        options[i].delay_ns = i % 4 == 1 ? 3600 * SECOND : 0;
        items[i] = (vigil_jobs_item){
            .kind = names[(i + 1) % 5], .payload = bytes, .length = i % (sizeof bytes + 1), .options = &options[i]};
    }
    items[1].options = NULL;
    must_equal(vigil_jobs_enqueue_many(jobs, items, COUNT), COUNT);
    must_equal(account_of(jobs).enqueued, COUNT);
    for (unsigned i = 0; i < COUNT; i += i < 12 || i > COUNT - 12 ? 1 : 97) {
        struct seen seen = look_at(jobs, items[i].id);
        if (i != 1) {
            must_equal(seen.info.priority, options[i].priority);
            must_equal(seen.info.version, i);
            must_equal(strcmp(seen.tenant, options[i].tenant != NULL ? options[i].tenant : ""), 0);
            must_equal(seen.info.due_ms - seen.info.created_ms, i % 4 == 1 ? 3600000 : 0);
        } else {
            must_equal(seen.info.priority, VIGIL_NORMAL);
        }
        must_equal(seen.info.payload_size, items[i].length);
        must_equal(memcmp(seen.payload, bytes, items[i].length), 0);
        vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
        filter.id = items[i].id;
        filter.kind = items[i].kind;
        must_equal(vigil_jobs_look(jobs, &filter, NULL, NULL), 1);
    }
    free(items);
    free(options);
    vigil_jobs_close(jobs);
}

#define JOBS_SUITE_MANY test(jobs_of_one_call_keep_what_is_their_own)

#endif
