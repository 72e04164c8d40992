/* SPDX-License-Identifier: MIT */
/* jobs_json.h - jobs, kinds, schedules and whole queues as JSON. Every text is clean. */
#ifndef CLI_JOBS_JSON_H
#define CLI_JOBS_JSON_H

#include <json-c/json.h>
#include <stdbool.h>

#include <vigil/jobs.h>

extern const char *const job_states[], *const job_classes[], *const job_catch_ups[]; /* NULL ends them */

/* The processes that run jobs now. */
struct hosts {
    struct {
        char name[64];
        unsigned runs;
    } list[64];
    unsigned count;
};
void count_host(const vigil_jobs_info *info, void *arg);

struct json_object *clean_json(const char *text, size_t length);
struct json_object *job_to_json(const vigil_jobs_info *info);
struct json_object *account_json(const vigil_jobs_account *account, bool balanced);

/* Everything that `top` shows; with the key "error" if the engine did not answer. `where` has no password. */
struct json_object *queue_json(vigil_jobs *jobs, const char *where);

/* arg: an array to which it is added. */
void collect_job(const vigil_jobs_info *info, void *arg);
void collect_tally(const vigil_jobs_tally *tally, void *arg);
void collect_schedule(const vigil_jobs_schedule *schedule, void *arg);

#endif
