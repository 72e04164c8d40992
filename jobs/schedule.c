/* SPDX-License-Identifier: MIT */
#include "schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cron.h"
#include "fleet.h"
#include "utf8.h"
#include "why.h"

enum {
    AT_ONCE = 100,    /* jobs of one schedule in a transaction: after an outage they come in steps */
    GRACE_MS = 60000, /* a fire time that is older has been missed */
};

static int open_times(const char *pattern, const char *zone_name, struct vg_jobs_cron *cron, struct vg_jobs_zone **zone)
{
    int error = vg_jobs_cron_parse(cron, pattern);
    return error != 0 ? error : vg_jobs_zone_open(zone, zone_name);
}

static int64_t next_ms(const struct vg_jobs_cron *cron, const struct vg_jobs_zone *zone, int64_t after_ms)
{
    int64_t after = after_ms >= 0 ? after_ms / 1000 : 0;
    int64_t next = vg_jobs_cron_next(cron, zone, after);
    return next == INT64_MAX ? VG_JOBS_NEVER : next * 1000;
}

/* The last fire time that has passed, not before `first`, which has. Long outages must not cost a step for each
   minute. */
static int64_t last_passed(const struct vg_jobs_cron *cron, const struct vg_jobs_zone *zone, int64_t first, int64_t now)
{
    static const int64_t back_ms[] = {3600000, 86400000, INT64_C(40) * 86400000, INT64_C(400) * 86400000};
    int64_t last = first, next;
    for (size_t i = 0; i < sizeof back_ms / sizeof *back_ms && last == first; i++) {
        int64_t from = now - back_ms[i];
        if (from <= first)
            break;
        next = next_ms(cron, zone, from);
        if (next <= now)
            last = next;
    }
    while ((next = next_ms(cron, zone, last)) <= now)
        last = next;
    return last;
}

/* The times for which jobs are enqueued; *next is the fire time after them. Gives how many. */
static size_t times_due(const struct vg_jobs_schedule *schedule, const struct vg_jobs_cron *cron,
                        const struct vg_jobs_zone *zone, int64_t now, int64_t times[AT_ONCE], int64_t *next)
{
    size_t count = 0;
    if (schedule->catch_up == VIGIL_JOBS_CATCH_UP_ALL) {
        *next = schedule->next_ms;
        while (*next <= now && count < AT_ONCE) {
            times[count++] = *next;
            *next = next_ms(cron, zone, *next);
        }
        return count;
    }
    int64_t last = last_passed(cron, zone, schedule->next_ms, now);
    *next = next_ms(cron, zone, last);
    if (schedule->catch_up == VIGIL_JOBS_CATCH_UP_ONE || now - last <= GRACE_MS)
        times[count++] = last;
    return count;
}

/* A copy: the engine is asked again while it is used. */
struct due {
    struct vg_jobs_schedule schedule;
    struct due *next;
    char bytes[];
};

struct dues {
    struct due *first;
    bool short_of_memory;
};

static void keep_text(char **room, const char **text)
{
    if (*text == NULL)
        return;
    size_t length = strlen(*text) + 1;
    memcpy(*room, *text, length);
    *text = *room;
    *room += length;
}

static void keep_due(const struct vg_jobs_schedule *schedule, void *arg)
{
    struct dues *dues = arg;
    const char *texts[] = {schedule->name, schedule->cron, schedule->zone, schedule->job.kind,
                           schedule->job.content_type};
    size_t size = schedule->job.length;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        size += texts[i] != NULL ? strlen(texts[i]) + 1 : 0;
    struct due *due = malloc(sizeof *due + size);
    if (due == NULL) {
        dues->short_of_memory = true;
        return;
    }
    due->schedule = *schedule;
    char *room = due->bytes;
    keep_text(&room, &due->schedule.name);
    keep_text(&room, &due->schedule.cron);
    keep_text(&room, &due->schedule.zone);
    keep_text(&room, &due->schedule.job.kind);
    keep_text(&room, &due->schedule.job.content_type);
    if (schedule->job.length > 0)
        memcpy(room, schedule->job.payload, schedule->job.length);
    due->schedule.job.payload = room;
    due->next = dues->first;
    dues->first = due;
}

static int fire_one(vigil_jobs *jobs, struct vg_jobs_conn *conn, const struct vg_jobs_schedule *schedule, int64_t now,
                    bool *bad)
{
    struct vg_jobs_cron cron;
    struct vg_jobs_zone *zone;
    int64_t times[AT_ONCE], next;
    if (open_times(schedule->cron, schedule->zone, &cron, &zone) != 0) {
        *bad = true; /* another process may have the zone */
        return 0;
    }
    size_t count = times_due(schedule, &cron, zone, now, times, &next);
    vg_jobs_zone_close(zone);
    return jobs->engine->schedule_fire(conn, schedule, next, times, count);
}

int vg_jobs_schedules_fire(vigil_jobs *jobs, struct vg_jobs_conn *conn, bool *bad)
{
    struct dues dues = {0};
    int64_t now;
    int fired = 0, error = jobs->engine->now(conn, &now);
    *bad = false;
    if (error == 0)
        error = jobs->engine->schedule_look(conn, now, keep_due, &dues);
    while (dues.first != NULL) {
        struct due *due = dues.first;
        int moved = error >= 0 ? fire_one(jobs, conn, &due->schedule, now, bad) : 0;
        error = moved < 0 ? moved : error;
        fired += moved > 0;
        dues.first = due->next;
        free(due);
    }
    *bad = *bad || dues.short_of_memory;
    return error < 0 ? error : fired;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

static int read_schedule(vigil_jobs *jobs, const char *name, const vigil_jobs_schedule *from,
                         struct vg_jobs_schedule *to)
{
    if (name == NULL || name[0] == '\0')
        return vg_jobs_why(-EINVAL, "name is empty");
    if (from == NULL || from->size != sizeof *from)
        return vg_jobs_why(-EINVAL, "schedule is NULL, or does not start from VIGIL_JOBS_SCHEDULE_INIT");
    if (from->cron == NULL)
        return vg_jobs_why(-EINVAL, "schedule.cron is NULL");
    if ((int)from->catch_up < 0 || from->catch_up > VIGIL_JOBS_CATCH_UP_ALL)
        return vg_jobs_why(-EINVAL, "schedule.catch_up is %d", (int)from->catch_up);
    int error = vg_jobs_utf8_check(name, "name");
    if (error != 0)
        return error;
    vigil_jobs_item item = {.kind = from->kind, .payload = from->payload, .length = from->length, .options = from->job};
    *to = (struct vg_jobs_schedule){.name = name,
                                    .cron = from->cron,
                                    .zone = from->zone != NULL ? from->zone : "",
                                    .catch_up = (int)from->catch_up};
    error = vg_jobs_read_item(jobs, &item, &to->job);
    if (error == 0 && (to->job.key != NULL || to->job.batch != 0 || to->job.after != 0 || to->job.delay_ms != 0 ||
                       to->job.at_ms != 0))
        error = vg_jobs_why(-EINVAL, "the jobs of a schedule have no key, batch or delay of their own");
    return error;
}

int vigil_jobs_schedule_set(vigil_jobs *jobs, const char *name, const vigil_jobs_schedule *schedule)
{
    struct vg_jobs_schedule it;
    struct vg_jobs_cron cron;
    struct vg_jobs_zone *zone;
    int error = vg_jobs_guard(jobs);
    if (error == 0 && jobs->fleet != NULL)
        return vg_jobs_fleet_schedule_set(jobs, name, schedule);
    if (error == 0)
        error = read_schedule(jobs, name, schedule, &it);
    if (error == 0)
        error = open_times(it.cron, it.zone, &cron, &zone);
    if (error != 0)
        return error;
    int64_t now;
    (void)pthread_mutex_lock(&jobs->client_lock);
    error = jobs->engine->now(jobs->client, &now);
    if (error == 0) {
        it.next_ms = next_ms(&cron, zone, now);
        error = jobs->engine->schedule_set(jobs->client, &it);
    }
    (void)pthread_mutex_unlock(&jobs->client_lock);
    vg_jobs_zone_close(zone);
    if (error == 0)
        jobs->engine->ring_all(jobs->site, VG_JOBS_EVENT_WORK); /* sleepers learn of the time */
    return error;
}

int vigil_jobs_schedule_remove(vigil_jobs *jobs, const char *name)
{
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (name == NULL)
        return vg_jobs_why(-EINVAL, "name is NULL");
    if (jobs->fleet != NULL)
        return vg_jobs_fleet_schedule_remove(jobs, name);
    (void)pthread_mutex_lock(&jobs->client_lock);
    int removed = jobs->engine->schedule_remove(jobs->client, name);
    (void)pthread_mutex_unlock(&jobs->client_lock);
    if (removed == 0)
        return vg_jobs_why(-ENOENT, "there is no schedule '%.60s'", name);
    return removed < 0 ? removed : 0;
}

struct looker {
    vigil_jobs_schedule_fn see;
    void *arg;
    int count;
};

static void see_one(const struct vg_jobs_schedule *schedule, void *arg)
{
    struct looker *looker = arg;
    vigil_jobs_schedule seen = VIGIL_JOBS_SCHEDULE_INIT;
    seen.name = schedule->name;
    seen.kind = schedule->job.kind;
    seen.payload = schedule->job.payload;
    seen.length = schedule->job.length;
    seen.cron = schedule->cron;
    seen.zone = schedule->zone[0] != '\0' ? schedule->zone : "UTC";
    seen.catch_up = (vigil_jobs_catch_up)schedule->catch_up;
    seen.next_ms = schedule->next_ms < VG_JOBS_NEVER ? schedule->next_ms : 0;
    seen.last_ms = schedule->last_ms;
    if (looker->see != NULL)
        looker->see(&seen, looker->arg);
    looker->count++;
}

int vigil_jobs_schedule_look(vigil_jobs *jobs, vigil_jobs_schedule_fn see, void *arg)
{
    struct looker looker = {.see = see, .arg = arg};
    int error = vg_jobs_guard(jobs);
    if (error != 0)
        return error;
    if (jobs->fleet != NULL)
        return vg_jobs_fleet_schedule_look(jobs, see, arg);
    (void)pthread_mutex_lock(&jobs->client_lock);
    error = jobs->engine->schedule_look(jobs->client, INT64_MAX, see_one, &looker);
    (void)pthread_mutex_unlock(&jobs->client_lock);
    return error != 0 ? error : looker.count;
}
