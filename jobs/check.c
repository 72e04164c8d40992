/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet.h"
#include "why.h"

enum {
    OLD_MS = 600000
};

struct opening {
    vigil_jobs *jobs;
    bool lasts; /* every promise of lasting holds */
};

static void say_once(const char *line)
{
    static _Atomic int said;
    const char *log = getenv("VIGIL_LOG");
    if ((log != NULL && strcmp(log, "off") == 0) ||
        atomic_exchange_explicit(&said, 1, memory_order_relaxed) != 0) /* a flag alone */
        return;
    char text[400];
    int length =
        snprintf(text, sizeof text,
                 "vigil: jobs: %s. Set options.on_doubt to hear of each. [the first of its kind; VIGIL_LOG=off "
                 "prints none]\n",
                 line);
    if (length > 0)
        (void)!write(STDERR_FILENO, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

static void doubt_at_open(void *arg, enum vg_jobs_doubt doubt, const char *line)
{
    struct opening *opening = arg;
    const vigil_jobs_options *options = &opening->jobs->options;
    if (doubt == VG_JOBS_DOUBT_SLOW)
        return;
    if (options->must_last && opening->lasts)
        (void)vg_jobs_why(-ENOTSUP, "must_last: %s", line);
    opening->lasts = false;
    if (options->must_last || doubt != VG_JOBS_DOUBT_LASTS)
        return;
    if (options->on_doubt != NULL)
        options->on_doubt(options->user, line);
    else
        say_once(line);
}

int vg_jobs_check_open(vigil_jobs *jobs)
{
    struct opening opening = {.jobs = jobs, .lasts = true};
    int error = jobs->engine->check(jobs->client, OLD_MS, doubt_at_open, &opening);
    return error != 0 ? error : jobs->options.must_last && !opening.lasts ? -ENOTSUP : 0;
}

struct lines {
    void (*see)(const char *line, void *arg);
    void *arg;
    int count;
};

static void see_line(void *arg, enum vg_jobs_doubt doubt, const char *line)
{
    struct lines *lines = arg;
    (void)doubt;
    lines->count++;
    if (lines->see != NULL)
        lines->see(line, lines->arg);
}

int vigil_jobs_check(vigil_jobs *jobs, int64_t old_ns, void (*see)(const char *line, void *arg), void *arg)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (old_ns < 0)
        return vg_jobs_why(-EINVAL, "old_ns is negative");
    struct lines lines = {.see = see, .arg = arg};
    for (unsigned i = 0; jobs->fleet != NULL && i < vg_jobs_fleet_count(jobs); i++) { /* each server for itself */
        vigil_jobs *member = vg_jobs_fleet_member(jobs, i);
        int found = member != NULL ? vigil_jobs_check(member, old_ns, see, arg) : -ENOTCONN;
        if (found < 0)
            return found;
        lines.count += found;
    }
    if (jobs->fleet != NULL)
        return lines.count;
    (void)pthread_mutex_lock(&jobs->client_lock);
    error = jobs->engine->check(jobs->client, old_ns != 0 ? old_ns / 1000000 : OLD_MS, see_line, &lines);
    (void)pthread_mutex_unlock(&jobs->client_lock);
    return error != 0 ? error : lines.count;
}
