/* SPDX-License-Identifier: MIT */
#include "jobs_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "queues.h"
#include "say.h"

enum {
    LISTED = 100 /* jobs of a state */
};

const char *const job_states[] = {"waiting", "running", "held", "quarantine", "completed", "dead", "cancelled", NULL};
const char *const job_classes[] = {"critical", "high", "normal", "low", "idle", NULL};

const char *const job_catch_ups[] = {"one", "skip", "all", NULL};

struct json_object *clean_json(const char *text, size_t length)
{
    size_t room = length * 4 + 1; /* a byte that is no text is written as \xff */
    char *clean = malloc(room);
    if (clean == NULL)
        return NULL;
    clean_text(clean, room, text, length, true);
    struct json_object *it = json_object_new_string(clean);
    free(clean);
    return it;
}

static void add(struct json_object *to, const char *name, struct json_object *value)
{
    (void)json_object_object_add(to, name, value);
}

struct json_object *job_to_json(const vigil_jobs_info *info)
{
    struct json_object *it = json_object_new_object();
    add(it, "id", json_object_new_int64((int64_t)info->id));
    add(it, "state", json_object_new_string(job_states[info->state]));
    add(it, "kind", clean_json(info->kind, strlen(info->kind)));
    add(it, "class", json_object_new_string(job_classes[info->priority]));
    add(it, "number", json_object_new_int64((int64_t)info->number));
    add(it, "version", json_object_new_int64(info->version));
    add(it, "errors", json_object_new_int64(info->errors));
    add(it, "crashes", json_object_new_int64(info->crashes));
    add(it, "created_ms", json_object_new_int64(info->created_ms));
    add(it, "due_ms", json_object_new_int64(info->due_ms));
    add(it, "started_ms", json_object_new_int64(info->started_ms));
    add(it, "ended_ms", json_object_new_int64(info->ended_ms));
    if (info->progress >= 0)
        add(it, "progress", json_object_new_double(info->progress));
    add(it, "text", clean_json(info->text, strlen(info->text)));
    add(it, "error", clean_json(info->error, strlen(info->error)));
    add(it, "worker", clean_json(info->worker, strlen(info->worker)));
    add(it, "key", clean_json(info->key, strlen(info->key)));
    add(it, "tenant", clean_json(info->tenant, strlen(info->tenant)));
    add(it, "verdict", clean_json(info->verdict, strlen(info->verdict)));
    add(it, "payload", clean_json(info->payload != NULL ? info->payload : "", info->payload_size));
    add(it, "result", clean_json(info->result != NULL ? info->result : "", info->result_size));
    return it;
}

void collect_job(const vigil_jobs_info *info, void *arg)
{
    (void)json_object_array_add(arg, job_to_json(info));
}

void collect_tally(const vigil_jobs_tally *tally, void *arg)
{
    struct json_object *it = json_object_new_object();
    add(it, "kind", clean_json(tally->kind, strlen(tally->kind)));
    add(it, "class", json_object_new_string(job_classes[tally->priority]));
    add(it, "state", json_object_new_string(job_states[tally->state]));
    add(it, "count", json_object_new_int64((int64_t)tally->count));
    add(it, "oldest_ms", json_object_new_int64((int64_t)tally->oldest_ms));
    add(it, "paused", json_object_new_boolean(tally->paused));
    (void)json_object_array_add(arg, it);
}

void collect_schedule(const vigil_jobs_schedule *schedule, void *arg)
{
    struct json_object *it = json_object_new_object();
    add(it, "name", clean_json(schedule->name, strlen(schedule->name)));
    add(it, "kind", clean_json(schedule->kind, strlen(schedule->kind)));
    add(it, "cron", clean_json(schedule->cron, strlen(schedule->cron)));
    add(it, "zone", clean_json(schedule->zone, strlen(schedule->zone)));
    add(it, "catch_up", json_object_new_string(job_catch_ups[schedule->catch_up]));
    add(it, "next_ms", json_object_new_int64(schedule->next_ms));
    add(it, "last_ms", json_object_new_int64(schedule->last_ms));
    add(it, "payload", clean_json(schedule->payload != NULL ? schedule->payload : "", schedule->length));
    (void)json_object_array_add(arg, it);
}

struct json_object *account_json(const vigil_jobs_account *account, bool balanced)
{
    struct json_object *it = json_object_new_object();
    add(it, "balanced", json_object_new_boolean(balanced));
    add(it, "enqueued", json_object_new_int64((int64_t)account->enqueued));
    add(it, "waiting", json_object_new_int64((int64_t)account->waiting));
    add(it, "running", json_object_new_int64((int64_t)account->running));
    add(it, "completed", json_object_new_int64((int64_t)account->completed));
    add(it, "dead", json_object_new_int64((int64_t)account->dead));
    add(it, "cancelled", json_object_new_int64((int64_t)account->cancelled));
    struct json_object *oldest = json_object_new_object();
    for (int i = 0; i < VIGIL_PRIORITIES; i++)
        add(oldest, job_classes[i], json_object_new_int64((int64_t)account->oldest_ms[i]));
    add(it, "oldest_ms", oldest);
    return it;
}

void count_host(const vigil_jobs_info *info, void *arg)
{
    struct hosts *hosts = arg;
    char name[64];
    clean_text(name, sizeof name, info->worker, strnlen(info->worker, sizeof name - 1), false);
    unsigned i = 0;
    while (i < hosts->count && strcmp(hosts->list[i].name, name) != 0)
        i++;
    if (i == sizeof hosts->list / sizeof *hosts->list)
        return;
    if (i == hosts->count)
        memcpy(hosts->list[hosts->count++].name, name, sizeof name);
    hosts->list[i].runs++;
}

/* Without what may be long. */
static void collect_brief(const vigil_jobs_info *info, void *arg)
{
    struct json_object *it = job_to_json(info);
    json_object_object_del(it, "payload");
    json_object_object_del(it, "result");
    (void)json_object_array_add(arg, it);
}

struct json_object *queue_json(vigil_jobs *jobs, const char *where)
{
    struct json_object *it = NULL, *kinds = json_object_new_array(), *runs = json_object_new_array(),
                       *dead = json_object_new_array(), *schedules = json_object_new_array(),
                       *processes = json_object_new_array();
    vigil_jobs_account account = VIGIL_JOBS_ACCOUNT_INIT;
    vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
    struct hosts hosts = {0};
    char name[256];
    queue_name(where, name, sizeof name);
    int balanced = vigil_jobs_audit(jobs, &account);
    int error = balanced == -EIO ? 0 : balanced;
    if (error == 0)
        error = vigil_jobs_count(jobs, collect_tally, kinds);
    filter.states = 1U << VIGIL_JOBS_RUNNING;
    filter.most = 10000;
    if (error >= 0)
        error = vigil_jobs_look(jobs, &filter, count_host, &hosts);
    filter.most = LISTED;
    if (error >= 0)
        error = vigil_jobs_look(jobs, &filter, collect_brief, runs);
    filter.states = 1U << VIGIL_JOBS_DEAD;
    if (error >= 0)
        error = vigil_jobs_look(jobs, &filter, collect_brief, dead);
    if (error >= 0)
        error = vigil_jobs_schedule_look(jobs, collect_schedule, schedules);
    for (unsigned i = 0; i < hosts.count; i++) {
        struct json_object *host = json_object_new_object();
        add(host, "name", json_object_new_string(hosts.list[i].name));
        add(host, "runs", json_object_new_int64(hosts.list[i].runs));
        (void)json_object_array_add(processes, host);
    }
    it = error >= 0 ? account_json(&account, balanced == 0) : json_object_new_object();
    add(it, "queue", json_object_new_string(name));
    if (error < 0)
        add(it, "error", clean_json(vigil_jobs_why(), strlen(vigil_jobs_why())));
    add(it, "kinds", kinds);
    add(it, "hosts", processes);
    add(it, "runs", runs);
    add(it, "dead_letters", dead);
    add(it, "schedules", schedules);
    return it;
}
