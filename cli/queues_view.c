/* SPDX-License-Identifier: MIT */
/* queues_view.c - what queues answered, in words and for Prometheus. The answers' texts are clean already. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>
#include <time.h>

#include "queues.h"
#include "say.h"

static struct json_object *member(struct json_object *of, const char *name)
{
    struct json_object *it = NULL;
    (void)json_object_object_get_ex(of, name, &it);
    return it;
}

static const char *text_of(struct json_object *of, const char *name)
{
    const char *text = json_object_get_string(member(of, name));
    return text != NULL ? text : "";
}

static int64_t number_of(struct json_object *of, const char *name)
{
    return json_object_get_int64(member(of, name));
}

static size_t length_of(struct json_object *list)
{
    return list != NULL ? json_object_array_length(list) : 0;
}

void queue_summary(struct json_object *queue, char *room, size_t size)
{
    if (member(queue, "error") != NULL)
        (void)snprintf(room, size, "queue %s: %s", text_of(queue, "queue"), text_of(queue, "error"));
    else
        (void)snprintf(room, size,
                       "queue %s: %" PRId64 " waiting, %" PRId64 " running, %" PRId64 " completed, %" PRId64 " dead%s",
                       text_of(queue, "queue"), number_of(queue, "waiting"), number_of(queue, "running"),
                       number_of(queue, "completed"), number_of(queue, "dead"),
                       json_object_get_boolean(member(queue, "balanced")) ? "" : ", and the account does NOT balance");
}

static const char *ago(char room[WORDS], int64_t ms)
{
    return ms > 0 ? words_ago(room, (uint64_t)ms * 1000000) : "";
}

static int64_t wall_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The first line of a text. */
static int first_line(const char *text)
{
    return (int)strcspn(text, "\n");
}

static void print_job(FILE *to, struct json_object *job, bool runs)
{
    char age[WORDS];
    const char *verdict = text_of(job, "verdict"), *error = text_of(job, "error"), *text = text_of(job, "text");
    int64_t since = wall_ms() - number_of(job, runs ? "started_ms" : "ended_ms");
    fprintf(to, "    %" PRId64 " %s, class %s, %s%s", number_of(job, "id"), text_of(job, "kind"), text_of(job, "class"),
            runs ? "for " : "ended ", ago(age, since > 0 ? since : 1));
    if (runs) {
        fprintf(to, " on %s", text_of(job, "worker"));
        if (member(job, "progress") != NULL)
            fprintf(to, ", %.0f %%", json_object_get_double(member(job, "progress")) * 100);
        if (text[0] != '\0')
            fprintf(to, ", %.*s", first_line(text), text);
    } else {
        fprintf(to, " ago, %" PRId64 " errors, %" PRId64 " crashes", number_of(job, "errors"),
                number_of(job, "crashes"));
        if (error[0] != '\0')
            fprintf(to, ": %.*s", first_line(error), error);
    }
    fprintf(to, "\n");
    if (verdict[0] != '\0')
        fprintf(to, "      verdict: %.*s\n", first_line(verdict), verdict);
}

static void print_jobs(FILE *to, struct json_object *list, const char *heading, bool runs, size_t most)
{
    size_t count = length_of(list);
    if (count > 0)
        fprintf(to, "  %s\n", heading);
    for (size_t i = 0; i < count && i < most; i++)
        print_job(to, json_object_array_get_idx(list, i), runs);
    if (count > most)
        fprintf(to, "    and %zu more: vigil jobs ls\n", count - most);
}

static void print_kinds(FILE *to, struct json_object *list)
{
    size_t count = length_of(list);
    if (count > 0)
        fprintf(to, "  %-22s  %-8s %-10s %10s  %s\n", "kind", "class", "state", "jobs", "oldest");
    for (size_t i = 0; i < count; i++) {
        struct json_object *kind = json_object_array_get_idx(list, i);
        char age[WORDS];
        bool live = strcmp(text_of(kind, "state"), "waiting") == 0 || strcmp(text_of(kind, "state"), "running") == 0;
        fprintf(to, "  %-22s  %-8s %-10s %10" PRId64 "  %s%s\n", text_of(kind, "kind"), text_of(kind, "class"),
                text_of(kind, "state"), number_of(kind, "count"), live ? ago(age, number_of(kind, "oldest_ms")) : "",
                json_object_get_boolean(member(kind, "paused")) ? " (paused)" : "");
    }
}

static void print_schedules(FILE *to, struct json_object *list)
{
    size_t count = length_of(list);
    if (count > 0)
        fprintf(to, "  schedules\n");
    for (size_t i = 0; i < count; i++) {
        struct json_object *it = json_object_array_get_idx(list, i);
        int64_t left = number_of(it, "next_ms") - wall_ms();
        char age[WORDS];
        fprintf(to, "    %s: %s %s, %s, next %s%s\n", text_of(it, "name"), text_of(it, "cron"), text_of(it, "zone"),
                text_of(it, "kind"), left > 0 ? "in " : "now", ago(age, left));
    }
}

void queues_print(FILE *to, struct json_object *all, size_t most)
{
    char line[512];
    for (size_t i = 0; i < length_of(all); i++) {
        struct json_object *queue = json_object_array_get_idx(all, i), *hosts = member(queue, "hosts");
        queue_summary(queue, line, sizeof line);
        fprintf(to, "%s\n", line);
        print_kinds(to, member(queue, "kinds"));
        for (size_t h = 0; h < length_of(hosts); h++) {
            struct json_object *host = json_object_array_get_idx(hosts, h);
            fprintf(to, "%s%s runs %" PRId64, h == 0 ? "  hosts: " : ", ", text_of(host, "name"),
                    number_of(host, "runs"));
        }
        if (length_of(hosts) > 0)
            fprintf(to, "\n");
        print_jobs(to, member(queue, "runs"), "running", true, most);
        print_jobs(to, member(queue, "dead_letters"), "dead letters", false, most);
        print_schedules(to, member(queue, "schedules"));
    }
}

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

static void print_label(FILE *to, const char *name, const char *text)
{
    fprintf(to, "%s=\"", name);
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            fputs("\\n", to);
        else if (*text == '"' || *text == '\\')
            fprintf(to, "\\%c", *text);
        else
            fputc(*text, to);
    }
    fputc('"', to);
}

static void head(FILE *to, const char *name, const char *help)
{
    fprintf(to, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void kind_series(FILE *to, struct json_object *all, const char *name, bool oldest)
{
    for (size_t i = 0; i < length_of(all); i++) {
        struct json_object *queue = json_object_array_get_idx(all, i), *kinds = member(queue, "kinds");
        for (size_t k = 0; k < length_of(kinds); k++) {
            struct json_object *kind = json_object_array_get_idx(kinds, k);
            const char *state = text_of(kind, "state");
            if (oldest && strcmp(state, "waiting") != 0 && strcmp(state, "running") != 0)
                continue;
            fprintf(to, "%s{", name);
            print_label(to, "queue", text_of(queue, "queue"));
            print_label(to, ",kind", text_of(kind, "kind"));
            print_label(to, ",class", text_of(kind, "class"));
            print_label(to, ",state", state);
            if (oldest)
                fprintf(to, "} %.3f\n", (double)number_of(kind, "oldest_ms") / 1000);
            else
                fprintf(to, "} %" PRId64 "\n", number_of(kind, "count"));
        }
    }
}

void queues_metrics(FILE *to, struct json_object *all)
{
    if (length_of(all) == 0)
        return;
    head(to, "vigil_jobs_up", "Whether the queue could be looked at.");
    for (size_t i = 0; i < length_of(all); i++) {
        struct json_object *queue = json_object_array_get_idx(all, i);
        fprintf(to, "vigil_jobs_up{");
        print_label(to, "queue", text_of(queue, "queue"));
        fprintf(to, "} %d\n", member(queue, "error") == NULL);
    }
    head(to, "vigil_jobs", "Jobs by kind, class and state.");
    kind_series(to, all, "vigil_jobs", false);
    head(to, "vigil_jobs_oldest_seconds", "How long the oldest due job has waited, or the longest run has taken.");
    kind_series(to, all, "vigil_jobs_oldest_seconds", true);
    head(to, "vigil_jobs_host_runs", "Jobs that a process runs now.");
    for (size_t i = 0; i < length_of(all); i++) {
        struct json_object *queue = json_object_array_get_idx(all, i), *hosts = member(queue, "hosts");
        for (size_t h = 0; h < length_of(hosts); h++) {
            struct json_object *host = json_object_array_get_idx(hosts, h);
            fprintf(to, "vigil_jobs_host_runs{");
            print_label(to, "queue", text_of(queue, "queue"));
            print_label(to, ",host", text_of(host, "name"));
            fprintf(to, "} %" PRId64 "\n", number_of(host, "runs"));
        }
    }
}
