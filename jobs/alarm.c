/* SPDX-License-Identifier: MIT */
#include "alarm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char *text)
{
    char line[400];
    const char *level = secure_getenv("VIGIL_LOG");
    if (level != NULL && strcmp(level, "off") == 0)
        return;
    int length = snprintf(line, sizeof line, "vigil: jobs: %.300s\n", text);
    (void)!write(STDERR_FILENO, line, (size_t)length); /* if it fails there is nowhere else to say it */
}

void vg_jobs_alarm_bad(vigil_jobs *jobs, const struct vg_jobs_bad *bad)
{
    /* relaxed: a figure for statistics */
    uint64_t before = atomic_exchange_explicit(&jobs->bad_rows, bad->count, memory_order_relaxed);
    if (before != 0 || bad->count == 0)
        return;
    char text[300];
    (void)snprintf(text, sizeof text,
                   "the lease of job %llu ran out and its row cannot be changed: %.180s. Mend or remove the row.",
                   (unsigned long long)bad->id, bad->why);
    say(text);
}

void vg_jobs_alarm_end(const struct vg_jobs_end *end)
{
    char text[300];
    (void)snprintf(text, sizeof text, "the end of job %llu cannot be recorded, and is dropped: %.180s",
                   (unsigned long long)end->id, vigil_jobs_why());
    say(text);
}

int vg_jobs_alarm_look(vigil_jobs *jobs, struct vg_jobs_conn *conn)
{
    char text[300] = "";
    int64_t age_ms = 0;
    int error = jobs->engine->pinned(conn, jobs->options.alarm_ns / 1000000, &age_ms, text, sizeof text);
    if (error != 0)
        return error;
    /* relaxed: a figure for statistics */
    uint64_t before = atomic_exchange_explicit(&jobs->pinned_ms, (uint64_t)age_ms, memory_order_relaxed);
    if (before == 0 && age_ms > 0)
        say(text);
    return 0;
}
