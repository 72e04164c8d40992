/* SPDX-License-Identifier: MIT */
/* suite_spool.h - what every engine must do with a spool: a file for jobs while the engine is away. After suite.h. */
#ifndef TESTS_JOBS_SUITE_SPOOL_H
#define TESTS_JOBS_SUITE_SPOOL_H

#include <fcntl.h>
#include <sys/stat.h>

/* What the program of an engine provides: nothing can be enqueued between the two. */
static void engine_goes_away(const char *where);
static void engine_comes_back(const char *where);

static char spool_path[64];

static const char *fresh_spool(void)
{
    (void)snprintf(spool_path, sizeof spool_path, "/tmp/vigil-spool-XXXXXX");
    int fd = mkstemp(spool_path);
    must(fd >= 0);
    (void)close(fd);
    return spool_path;
}

static vigil_jobs *open_with_spool(const char *where, const char *spool)
{
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = 2;
    options.spool = spool;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, where, &options));
    return jobs;
}

static void enqueue_to_spool(vigil_jobs *jobs, const char *payload, const vigil_jobs_job *options)
{
    uint64_t id = 1;
    must_work(vigil_jobs_enqueue(jobs, "note", payload, strlen(payload), options, &id));
    must_equal(id, 0);
}

static size_t read_whole(const char *path, char *bytes, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    must(fd >= 0);
    ssize_t got = read(fd, bytes, room);
    must(got > 0 && (size_t)got < room);
    (void)close(fd);
    return (size_t)got;
}

static void write_whole(const char *path, const char *bytes, size_t length)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    must(fd >= 0);
    must_equal(write(fd, bytes, length), length);
    (void)close(fd);
}

static void jobs_go_through_the_spool_while_the_engine_is_away(void **state)
{
    (void)state;
    const char *where = fresh_queue(), *spool = fresh_spool();
    vigil_jobs *jobs = open_with_spool(where, spool);
    struct order order = {0};
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    vigil_jobs *second = NULL;
    options.spool = spool;
    must_equal(vigil_jobs_open(&second, where, &options), -EBUSY);
    uint64_t direct = enqueue(jobs, "note", "a", NULL);
    must_equal(stats_of(jobs).spooled, 0);
    engine_goes_away(where);
    vigil_jobs_job keyed = VIGIL_JOBS_JOB_INIT;
    keyed.key = "once";
    keyed.tenant = "t";
    enqueue_to_spool(jobs, "b", &keyed);
    enqueue_to_spool(jobs, "b", &keyed); /* its key will be taken */
    vigil_jobs_item items[] = {{.kind = "note", .payload = "c", .length = 1},
                               {.kind = "note", .payload = "d", .length = 1}};
    must_equal(vigil_jobs_enqueue_many(jobs, items, 2), 2);
    must_equal(stats_of(jobs).spooled, 4);
    engine_comes_back(where);
    while (stats_of(jobs).replayed < 3)
        observe_for_ms(10);
    (void)enqueue(jobs, "note", "e", NULL); /* straight again */
    must_equal(account_of(jobs).enqueued, 5);
    must_equal(vigil_jobs_handle(jobs, "note", note, &order, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    tally_wait(&order.done, 5);
    must_end_as(jobs, direct, VIGIL_JOBS_COMPLETED);
    int sum = 0;
    for (int i = 0; i < 5; i++)
        sum += order.first[i];
    must_equal(sum, 'a' + 'b' + 'c' + 'd' + 'e');
    struct stat info;
    must_equal(stat(spool, &info), 0);
    must(info.st_size < 64); /* its head alone */
    vigil_jobs_close(jobs);
    (void)unlink(spool);
}

/* The process ends while the engine is away; and the engine has a record whose answer was lost. */
static void a_spool_outlives_its_process_and_is_replayed_once(void **state)
{
    (void)state;
    const char *where = fresh_queue(), *spool = fresh_spool();
    static char bytes[4096];
    vigil_jobs *jobs = open_with_spool(where, spool);
    engine_goes_away(where);
    for (int i = 0; i < 3; i++)
        enqueue_to_spool(jobs, "x", NULL);
    vigil_jobs_close(jobs);
    size_t length = read_whole(spool, bytes, sizeof bytes);
    engine_comes_back(where);
    for (int i = 0; i < 3; i++) {
        jobs = open_with_spool(where, spool);
        if (i > 0) /* behind what is in the file: when it is there, all before it has been dealt with */
            must_work(vigil_jobs_enqueue(jobs, "note", "y", 1, NULL, NULL));
        while (account_of(jobs).enqueued < 3 + (uint64_t)i)
            observe_for_ms(10);
        must_equal(account_of(jobs).enqueued, 3 + i);
        vigil_jobs_close(jobs);
        if (i == 0)
            write_whole(spool, bytes, length); /* as if the answers had not come */
        else
            write_whole(spool, bytes, length - 3); /* and the last record was not written whole */
    }
    (void)unlink(spool);
}

#define JOBS_SUITE_SPOOL \
    test(jobs_go_through_the_spool_while_the_engine_is_away), test(a_spool_outlives_its_process_and_is_replayed_once)

#endif
