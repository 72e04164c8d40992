/* SPDX-License-Identifier: MIT */
/* Time: due times that pass between two readings of the clock, and the fire times of schedules over the changes of
   daylight saving. */
#include "support.h"

#include <unistd.h>

#include <vigil/jobs.h>

#include "../../jobs/cron.h"

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
        must_equal(vigil_jobs_wait(jobs, id, VIGIL_FOREVER, NULL, NULL), VIGIL_JOBS_COMPLETED);
        vigil_jobs_close(jobs);
    }
}

/* 2026 in Berlin: the clock goes forward on March 29 at 1:00 UTC, and back on October 25 at 1:00 UTC. */
#define MARCH   INT64_C(1774746000)
#define OCTOBER INT64_C(1792890000)

static void must_fire_at(const char *pattern, int64_t after, int count, const int64_t *times)
{
    struct vg_jobs_cron cron;
    struct vg_jobs_zone *zone;
    must_equal(vg_jobs_cron_parse(&cron, pattern), 0);
    must_equal(vg_jobs_zone_open(&zone, "Europe/Berlin"), 0);
    for (int i = 0; i < count; i++) {
        after = vg_jobs_cron_next(&cron, zone, after);
        must_equal(after, times[i]);
    }
    vg_jobs_zone_close(zone);
}

static void a_local_time_that_is_skipped_fires_at_the_change(void **state)
{
    (void)state;
    must_fire_at("30 2 * * *", MARCH - 86400, 3, (const int64_t[]){MARCH - 84600, MARCH, MARCH + 84600});
    must_fire_at("*/30 * * * *", MARCH - 3600, 3, (const int64_t[]){MARCH - 1800, MARCH, MARCH + 1800});
}

static void a_local_time_that_comes_twice_fires_once_unless_the_hour_is_any(void **state)
{
    (void)state;
    must_fire_at("30 2 * * *", OCTOBER - 7200, 2, (const int64_t[]){OCTOBER - 1800, OCTOBER + 88200});
    must_fire_at("30 * * * *", OCTOBER - 3600, 3, (const int64_t[]){OCTOBER - 1800, OCTOBER + 1800, OCTOBER + 5400});
}

static void patterns_are_those_of_cron(void **state)
{
    (void)state;
    struct vg_jobs_cron cron;
    must_fire_at("0 9 * * mon-fri", MARCH, 2, (const int64_t[]){MARCH + 108000, MARCH + 194400});
    must_fire_at("0 0 29 feb *", MARCH, 2, (const int64_t[]){1835391600, 1961622000});
    must_fire_at("15,45 12-14/2 30 * *", MARCH, 3, (const int64_t[]){1774865700, 1774867500, 1774872900});
    const char *bad[] = {
        "",          "* * * *",     "* * * * * *",  "60 * * * *",   "5-1 * * * *",         "*/0 * * * *",
        "* * 0 * *", "* * * foo *", "*/ 5 * * * *", "*/+5 * * * *", "*/4294967297 * * * *"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        must_equal(vg_jobs_cron_parse(&cron, bad[i]), -EINVAL);
    must_equal(vg_jobs_cron_parse(&cron, "0 9 * "), -EINVAL);
    must_equal(strcmp(vigil_jobs_why(), "'0 9 * ' has 3 of five fields; missing: month, day of the week"), 0);
    must_equal(vg_jobs_cron_parse(&cron, " "), -EINVAL);
    must(strstr(vigil_jobs_why(), "has 0 of five fields; missing: minute, hour,") != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_job_that_comes_due_between_two_readings_starts),
        test(a_local_time_that_is_skipped_fires_at_the_change),
        test(a_local_time_that_comes_twice_fires_once_unless_the_hour_is_any),
        test(patterns_are_those_of_cron),
    };
    return run_all(tests);
}
