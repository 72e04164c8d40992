/* SPDX-License-Identifier: MIT */
/* A clock that passes a job's due time between any two readings of the SQLite engine: the job must start without a ring. */
#include "support.h"

#include <unistd.h>

#include <vigil/jobs.h>

struct vg_jobs_site;
int64_t __real_vg_jobs_sqlite_now(struct vg_jobs_site *site);
int64_t __wrap_vg_jobs_sqlite_now(struct vg_jobs_site *site);

enum {
    DELAY_MS = 20
};

static _Atomic int readings, jump_at;
static _Atomic int64_t frozen; /* 0: the clock runs */

int64_t __wrap_vg_jobs_sqlite_now(struct vg_jobs_site *site)
{
    int64_t now = atomic_load(&frozen);
    if (now == 0)
        return __real_vg_jobs_sqlite_now(site);
    return atomic_fetch_add(&readings, 1) < atomic_load(&jump_at) ? now : now + DELAY_MS;
}

static int nothing(vigil_jobs_run *run, void *arg)
{
    (void)run, (void)arg;
    return 0;
}

static void a_job_that_comes_due_between_two_readings_starts(void **state)
{
    (void)state;
    for (int at = 0; at < 8; at++) {
        char name[64];
        uint64_t id = 0;
        vigil_jobs *jobs = NULL;
        vigil_jobs_job later = VIGIL_JOBS_JOB_INIT;
        later.delay_ns = DELAY_MS * 1000000LL;
        (void)snprintf(name, sizeof name, "memory:clock-%d-%d", (int)getpid(), at);
        atomic_store(&readings, 0);
        atomic_store(&jump_at, 1000);
        atomic_store(&frozen, 1000000000);
        must_equal(vigil_jobs_open(&jobs, name, NULL), 0);
        must_equal(vigil_jobs_handle(jobs, "later", nothing, NULL, NULL), 0);
        must_equal(vigil_jobs_enqueue(jobs, "later", NULL, 0, &later, &id), 0);
        atomic_store(&jump_at, atomic_load(&readings) + at); /* nobody reads now: the runner has not started */
        must_equal(vigil_jobs_start(jobs), 0);
        must_equal(vigil_jobs_wait(jobs, id, 60000000000, NULL, NULL), VIGIL_JOBS_COMPLETED);
        vigil_jobs_close(jobs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(a_job_that_comes_due_between_two_readings_starts)};
    return run_all(tests);
}
