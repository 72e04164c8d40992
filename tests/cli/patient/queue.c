/* SPDX-License-Identifier: MIT */
/* A process for queues.py to look at: it has the queue open that its argument names. One job runs until it is killed, one
   has died, one waits, and there is a schedule. */
#include <vigil/jobs.h>
#include <vigil/pool.h>

#include <errno.h>
#include <stdio.h>
#include <time.h>

static int stays(vigil_jobs_run *run, void *arg)
{
    const struct timespec day = {.tv_sec = 86400};
    (void)arg;
    (void)vigil_jobs_progress(run, 0.25, "page 1 of 4");
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &day, NULL);
    return 0;
}

static int dies(vigil_jobs_run *run, void *arg)
{
    (void)arg;
    (void)vigil_jobs_error(run, "no such picture");
    return -ENOENT;
}

int main(int count, char **words)
{
    vigil_jobs *jobs;
    vigil_pool *pool;
    uint64_t id = 0;
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    vigil_jobs_kind once = VIGIL_JOBS_KIND_INIT;
    vigil_jobs_schedule nightly = VIGIL_JOBS_SCHEDULE_INIT;
    once.max_errors = 1;
    nightly.cron = "@daily";
    nightly.kind = "sweep";
    options.lease_ns = 1500000000; /* beats come often, and with them verdicts */
    if (count != 2 || vigil_pool_create(&pool, NULL) != 0)
        return 2;
    options.pool = pool;
    if (vigil_jobs_open(&jobs, words[1], &options) != 0 || vigil_jobs_handle(jobs, "render", stays, NULL, NULL) != 0 ||
        vigil_jobs_handle(jobs, "fetch", dies, NULL, &once) != 0 ||
        vigil_jobs_schedule_set(jobs, "nightly", &nightly) != 0 ||
        vigil_jobs_enqueue(jobs, "unknown", "", 0, NULL, NULL) != 0 ||
        vigil_jobs_enqueue(jobs, "render", "", 0, NULL, NULL) != 0 ||
        vigil_jobs_enqueue(jobs, "fetch", "", 0, NULL, &id) != 0 || vigil_jobs_start(jobs) != 0 ||
        vigil_jobs_wait(jobs, id, VIGIL_FOREVER, NULL, NULL) != VIGIL_JOBS_DEAD) {
        fprintf(stderr, "%s\n", vigil_jobs_why());
        return 1;
    }
    (void)puts("ready");
    (void)fflush(stdout);
    (void)getchar();
    return 0; /* not closed: the job that runs never ends */
}
