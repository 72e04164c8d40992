/* SPDX-License-Identifier: MIT */
/* The program behind `vigil jobs`: looks at a queue of vigil/jobs.h and steers it (program.h says why it is apart). */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <vigil/jobs.h>

#include "command.h"
#include "jobs.h"
#include "jobs_json.h"
#include "queues.h"
#include "say.h"

static int failed(const char *what)
{
    say_error("jobs %s: %s", what, vigil_jobs_why());
    return EXIT_FAILED;
}

/* ---- one job ----------------------------------------------------------------------------------------------------- */

static void print_json(struct json_object *it)
{
    puts(json_object_to_json_string_ext(it, JSON_C_TO_STRING_PLAIN));
    (void)json_object_put(it);
}

static void when(char *room, size_t length, int64_t ms)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    if (ms == 0 || localtime_r(&seconds, &parts) == NULL || strftime(room, length, "%Y-%m-%d %H:%M:%S", &parts) == 0)
        (void)snprintf(room, length, "-");
}

/* What a person wants to know about it in the list: progress or the verdict while it runs, the error otherwise. */
static void print_row(const vigil_jobs_info *info, void *arg)
{
    (void)arg;
    char about[64], name[24], due[32];
    const char *words = info->state != VIGIL_JOBS_RUNNING ? info->error
                        : info->text[0] != '\0'           ? info->text
                                                          : info->verdict;
    clean_text(about, sizeof about, words, strcspn(words, "\n"), false);
    clean_text(name, sizeof name, info->kind, strnlen(info->kind, sizeof name - 1), false);
    when(due, sizeof due,
         info->ended_ms != 0     ? info->ended_ms
         : info->started_ms != 0 ? info->started_ms
                                 : info->due_ms);
    char done[8] = "";
    if (info->progress >= 0)
        (void)snprintf(done, sizeof done, "%3.0f%%", info->progress * 100);
    printf("%10" PRIu64 "  %-10s %-8s %-22s %6u %7u  %-19s %4s %s\n", info->id, job_states[info->state],
           job_classes[info->priority], name, info->errors, info->crashes, due, done, about);
}

static int list(vigil_jobs *jobs)
{
    vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
    filter.kind = jobs_request.kind;
    filter.most = (unsigned)jobs_request.most;
    for (unsigned i = 0; jobs_request.state_name != NULL && job_states[i] != NULL; i++)
        if (strcmp(job_states[i], jobs_request.state_name) == 0)
            filter.states = 1U << i;
    if (jobs_request.state_name != NULL && filter.states == 0) {
        const char *near = nearest_name(jobs_request.state_name, job_states);
        say_error("jobs ls: there is no state '%s'%s%s", jobs_request.state_name, near != NULL ? "; did you mean " : "",
                  near != NULL ? near : "");
        return EXIT_USAGE;
    }
    if (jobs_request.json) {
        struct json_object *all = json_object_new_array();
        int seen = vigil_jobs_look(jobs, &filter, collect_job, all);
        if (seen >= 0)
            print_json(all);
        return seen < 0 ? failed("ls") : EXIT_FINE;
    }
    printf("%s%10s  %-10s %-8s %-22s %6s %7s  %-19s %4s %s%s\n", style(BOLD), "id", "state", "class", "kind", "errors",
           "crashes", "since", "", "about", style(PLAIN));
    int seen = vigil_jobs_look(jobs, &filter, print_row, NULL);
    return seen < 0 ? failed("ls") : EXIT_FINE;
}

static void print_whole(const vigil_jobs_info *info, void *arg)
{
    (void)arg;
    if (jobs_request.json) {
        print_json(job_to_json(info));
        return;
    }
    char created[32], due[32], started[32], ended[32], text[2048];
    when(created, sizeof created, info->created_ms);
    when(due, sizeof due, info->due_ms);
    when(started, sizeof started, info->started_ms);
    when(ended, sizeof ended, info->ended_ms);
    printf("job %" PRIu64 " is %s\n", info->id, job_states[info->state]);
    clean_text(text, sizeof text, info->kind, strlen(info->kind), false);
    printf("  kind      %s, version %u, class %s\n", text, info->version, job_classes[info->priority]);
    printf("  created   %s, due %s\n  started   %s, ended %s\n", created, due, started, ended);
    printf("  runs      number %" PRIu64 ", %u errors, %u crashes\n", info->number, info->errors, info->crashes);
    clean_text(text, sizeof text, info->worker, strlen(info->worker), false);
    printf("  worker    %s\n", text[0] != '\0' ? text : "-");
    if (info->progress >= 0) {
        clean_text(text, sizeof text, info->text, strlen(info->text), false);
        printf("  progress  %.0f%% %s\n", info->progress * 100, text);
    }
    clean_text(text, sizeof text, info->error, strlen(info->error), true);
    if (text[0] != '\0')
        printf("  error     %s\n", text);
    if (info->tenant[0] != '\0') {
        clean_text(text, sizeof text, info->tenant, strlen(info->tenant), false);
        printf("  tenant    %s\n", text);
    }
    if (info->verdict[0] != '\0') {
        clean_text(text, sizeof text, info->verdict, strlen(info->verdict), true);
        printf("  verdict   %s\n", text);
    }
    if (info->payload_size > 0) {
        clean_text(text, sizeof text, info->payload,
                   info->payload_size < sizeof text ? info->payload_size : sizeof text - 1, true);
        printf("  payload   %s\n", text);
    }
    if (info->result_size > 0) {
        clean_text(text, sizeof text, info->result,
                   info->result_size < sizeof text ? info->result_size : sizeof text - 1, true);
        printf("  result    %s\n", text);
    }
}

/* ---- the whole queue --------------------------------------------------------------------------------------------- */

/* doubts: a list for the JSON, which becomes part of it; NULL: none. */
static int print_account(vigil_jobs *jobs, struct json_object *doubts)
{
    vigil_jobs_account account = VIGIL_JOBS_ACCOUNT_INIT;
    int error = vigil_jobs_audit(jobs, &account);
    if (error != 0 && error != -EIO)
        return failed("audit");
    if (jobs_request.json) {
        struct json_object *it = account_json(&account, error == 0);
        if (doubts != NULL)
            (void)json_object_object_add(it, "doubts", doubts);
        print_json(it);
    } else {
        printf("%" PRIu64 " enqueued = %" PRIu64 " waiting + %" PRIu64 " running + %" PRIu64 " completed + %" PRIu64
               " dead + %" PRIu64 " cancelled%s\n",
               account.enqueued, account.waiting, account.running, account.completed, account.dead, account.cancelled,
               error == 0 ? "" : ": this does NOT balance");
        for (int i = 0; i < VIGIL_PRIORITIES; i++)
            if (account.oldest_ms[i] > 0) {
                char age[WORDS];
                printf("  the oldest of class %s has waited %s\n", job_classes[i],
                       words_ago(age, account.oldest_ms[i] * 1000000));
            }
    }
    return error == 0 ? EXIT_FINE : failed("audit");
}

static void print_doubt(const char *line, void *arg)
{
    if (arg != NULL)
        (void)json_object_array_add(arg, clean_json(line, strlen(line)));
    else
        printf("  %sdoubt%s: %s\n", style(BOLD), style(PLAIN), line);
}

/* The account, and what the engine's settings do not keep. */
static int audit(vigil_jobs *jobs)
{
    int status = jobs_request.json ? EXIT_FINE : print_account(jobs, NULL);
    struct json_object *doubts = jobs_request.json ? json_object_new_array() : NULL;
    int result = vigil_jobs_check(jobs, 0, print_doubt, doubts);
    if (jobs_request.json)
        status = print_account(jobs, doubts);
    return result < 0 ? failed("audit") : status;
}

static int list_schedules(vigil_jobs *jobs);

static void one_second(void)
{
    struct timespec time = {.tv_sec = 1};
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* Wait until nothing waits or runs, with a bar on a terminal. */
static int drain(vigil_jobs *jobs)
{
    uint64_t first = 0;
    for (;;) {
        vigil_jobs_account account = VIGIL_JOBS_ACCOUNT_INIT;
        if (vigil_jobs_audit(jobs, &account) != 0)
            return failed("drain");
        uint64_t left = account.waiting + account.running;
        if (left > first)
            first = left;
        if (isatty(STDOUT_FILENO)) {
            int done = first > 0 ? (int)((first - left) * 40 / first) : 40;
            printf("\r[%.*s%*s] %" PRIu64 " left ", done, "########################################", 40 - done, "",
                   left);
            (void)fflush(stdout);
        }
        if (left == 0) {
            if (isatty(STDOUT_FILENO))
                putchar('\n');
            return jobs_request.json ? print_account(jobs, NULL) : EXIT_FINE;
        }
        one_second();
    }
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

/* A label of a metric: quotes, backslashes and line feeds are escaped. */
static void print_label(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            printf("\\n");
        else if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void print_labels(const char *metric, const vigil_jobs_tally *tally)
{
    char kind[256];
    clean_text(kind, sizeof kind, tally->kind, strnlen(tally->kind, sizeof kind - 1), false);
    printf("%s{kind=\"", metric);
    print_label(kind);
    printf("\",class=\"%s\",state=\"%s\"} ", job_classes[tally->priority], job_states[tally->state]);
}

static void print_count(const vigil_jobs_tally *tally, void *arg)
{
    (void)arg;
    print_labels("vigil_jobs", tally);
    printf("%" PRIu64 "\n", tally->count);
}

static void print_oldest(const vigil_jobs_tally *tally, void *arg)
{
    (void)arg;
    if (tally->state > VIGIL_JOBS_RUNNING)
        return;
    print_labels("vigil_jobs_oldest_seconds", tally);
    printf("%.3f\n", (double)tally->oldest_ms / 1000);
}

/* For a collector: counts and ages by kind, class and state. */
static int metrics(vigil_jobs *jobs)
{
    if (jobs_request.json) {
        struct json_object *all = json_object_new_array();
        int seen = vigil_jobs_count(jobs, collect_tally, all);
        if (seen >= 0)
            print_json(all);
        return seen < 0 ? failed("metrics") : EXIT_FINE;
    }
    puts("# HELP vigil_jobs Jobs by kind, class and state.\n# TYPE vigil_jobs gauge");
    if (vigil_jobs_count(jobs, print_count, NULL) < 0)
        return failed("metrics");
    puts("# HELP vigil_jobs_oldest_seconds How long the oldest due job has waited, or the longest run has taken.\n"
         "# TYPE vigil_jobs_oldest_seconds gauge");
    return vigil_jobs_count(jobs, print_oldest, NULL) < 0 ? failed("metrics") : EXIT_FINE;
}

static void print_tally(const vigil_jobs_tally *tally, void *arg)
{
    char kind[24], age[WORDS];
    (void)arg;
    clean_text(kind, sizeof kind, tally->kind, strnlen(tally->kind, sizeof kind - 1), false);
    printf("%-22s  %-8s %-10s %10" PRIu64 "  %s%s\n", kind, job_classes[tally->priority], job_states[tally->state],
           tally->count,
           tally->state <= VIGIL_JOBS_RUNNING && tally->oldest_ms > 0 ? words_ago(age, tally->oldest_ms * 1000000) : "",
           tally->paused ? " (paused)" : "");
}

static int print_kinds(vigil_jobs *jobs)
{
    printf("%s%-22s  %-8s %-10s %10s  %s%s\n", style(BOLD), "kind", "class", "state", "jobs", "oldest", style(PLAIN));
    return vigil_jobs_count(jobs, print_tally, NULL) < 0 ? failed("top") : EXIT_FINE;
}

static int print_hosts(vigil_jobs *jobs)
{
    struct hosts hosts = {0};
    vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
    filter.states = 1U << VIGIL_JOBS_RUNNING;
    filter.most = 10000;
    if (vigil_jobs_look(jobs, &filter, count_host, &hosts) < 0)
        return failed("top");
    printf("%s%-40s %6s%s\n", style(BOLD), "host:process", "runs", style(PLAIN));
    for (unsigned i = 0; i < hosts.count; i++)
        printf("%-40s %6u\n", hosts.list[i].name, hosts.list[i].runs);
    return EXIT_FINE;
}

static int top(vigil_jobs *jobs)
{
    bool screen = isatty(STDOUT_FILENO);
    if (jobs_request.json) {
        struct json_object *it = queue_json(jobs, jobs_request.where);
        bool told = !json_object_object_get_ex(it, "error", NULL);
        print_json(it);
        return told ? EXIT_FINE : EXIT_FAILED;
    }
    do {
        if (screen)
            printf("\033[H\033[J");
        int status = print_account(jobs, NULL);
        if (status == EXIT_FINE)
            status = print_kinds(jobs);
        if (status == EXIT_FINE)
            status = print_hosts(jobs);
        jobs_request.state_name = "running";
        if (status == EXIT_FINE)
            status = list(jobs);
        jobs_request.state_name = "dead";
        if (status == EXIT_FINE)
            status = list(jobs);
        if (status == EXIT_FINE)
            status = list_schedules(jobs);
        if (status != EXIT_FINE)
            return status;
        (void)fflush(stdout);
        if (screen)
            one_second();
    } while (screen);
    return EXIT_FINE;
}

/* For `vigil top` and others that look again and again: a look for each line on standard input. It ends with those who
   ask. */
static int watch(vigil_jobs *jobs)
{
    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strchr(line, '\n') == NULL)
            continue;
        print_json(queue_json(jobs, jobs_request.where));
        if (fflush(stdout) != 0)
            break;
    }
    return EXIT_FINE;
}

/* ---- the verbs --------------------------------------------------------------------------------------------------- */

/* With --json a verb that changes something says what it changed: no program has to take silence for an answer. */
static int changed(const char *member, const char *name)
{
    if (jobs_request.json) {
        struct json_object *it = json_object_new_object();
        (void)json_object_object_add(it, member, name != NULL ? clean_json(name, strlen(name)) : NULL);
        print_json(it);
    }
    return EXIT_FINE;
}

static int set_paused(vigil_jobs *jobs, const char *kind, bool paused)
{
    if ((paused ? vigil_jobs_pause(jobs, kind) : vigil_jobs_resume(jobs, kind)) != 0)
        return failed(paused ? "pause" : "resume");
    if (jobs_request.json) {
        struct json_object *it = json_object_new_object();
        (void)json_object_object_add(it, "kind", kind != NULL ? clean_json(kind, strlen(kind)) : NULL);
        (void)json_object_object_add(it, "paused", json_object_new_boolean(paused));
        print_json(it);
    }
    return EXIT_FINE;
}

/* The outcome of a verb on one job. */
static int said(int result, const char *verb, uint64_t id)
{
    if (result >= 0 && jobs_request.json && strcmp(verb, "show") != 0) {
        struct json_object *it = json_object_new_object();
        (void)json_object_object_add(it, "id", json_object_new_uint64(id));
        if (strcmp(verb, "kill") == 0) /* then it has been asked to stop */
            (void)json_object_object_add(it, "runs", json_object_new_boolean(result == 1));
        print_json(it);
    }
    if (result >= 0)
        return EXIT_FINE;
    if (result == -ENOENT)
        say_error("jobs %s: there is no job %" PRIu64, verb, id);
    else if (result == -EALREADY)
        say_error("jobs %s: job %" PRIu64 " has %s", verb, id, strcmp(verb, "kill") == 0 ? "ended" : "completed");
    else if (result == -EBUSY)
        say_error("jobs %s: job %" PRIu64 " %s", verb, id, strcmp(verb, "drop") == 0 ? "has not ended" : "runs");
    else
        return failed(verb);
    return EXIT_FAILED;
}

static int with_id(vigil_jobs *jobs, const char *verb, const char *word)
{
    char *end = NULL;
    uint64_t id = word != NULL ? strtoull(word, &end, 10) : 0;
    if (id == 0 || *end != '\0') {
        say_error("jobs %s: needs the number of a job", verb);
        return EXIT_USAGE;
    }
    int result;
    if (strcmp(verb, "show") == 0) {
        vigil_jobs_filter filter = VIGIL_JOBS_FILTER_INIT;
        filter.id = id;
        result = vigil_jobs_look(jobs, &filter, print_whole, NULL);
        result = result == 0 ? -ENOENT : result;
    } else {
        result = strcmp(verb, "retry") == 0  ? vigil_jobs_retry(jobs, id)
                 : strcmp(verb, "drop") == 0 ? vigil_jobs_remove(jobs, id)
                                             : vigil_jobs_cancel(jobs, id);
    }
    if (result >= 0 && strcmp(verb, "kill") == 0 && !jobs_request.json)
        puts(result == 1 ? "it runs, and has been asked to stop" : "cancelled");
    return said(result, verb, id);
}

static int enqueue(vigil_jobs *jobs, int count, char **words, uint64_t *id)
{
    const char *payload = count > 1 ? words[1] : NULL;
    if (count < 1) {
        say_error("jobs add: needs a kind");
        return EXIT_USAGE;
    }
    if (vigil_jobs_enqueue(jobs, words[0], payload, payload != NULL ? strlen(payload) : 0, NULL, id) != 0)
        return failed("add");
    return EXIT_FINE;
}

static int add(vigil_jobs *jobs, int count, char **words)
{
    uint64_t id = 0;
    int status = enqueue(jobs, count, words, &id);
    if (status == EXIT_FINE)
        printf(jobs_request.json ? "{\"id\":%" PRIu64 "}\n" : "%" PRIu64 "\n", id);
    return status;
}

/* ---- schedules --------------------------------------------------------------------------------------------------- */

static void print_schedule(const vigil_jobs_schedule *schedule, void *arg)
{
    char next[32], last[32], name[32], kind[24];
    (void)arg;
    clean_text(name, sizeof name, schedule->name, strnlen(schedule->name, sizeof name - 1), false);
    clean_text(kind, sizeof kind, schedule->kind, strnlen(schedule->kind, sizeof kind - 1), false);
    when(next, sizeof next, schedule->next_ms);
    when(last, sizeof last, schedule->last_ms);
    printf("%-24s %-20s %-18s %-20s %-8s %-19s %s\n", name, schedule->cron, schedule->zone, kind,
           job_catch_ups[schedule->catch_up], next, last);
}

static int list_schedules(vigil_jobs *jobs)
{
    struct json_object *all = jobs_request.json ? json_object_new_array() : NULL;
    if (all == NULL)
        printf("%-24s %-20s %-18s %-20s %-8s %-19s %s\n", "NAME", "CRON", "ZONE", "KIND", "CATCH-UP", "NEXT", "LAST");
    int result = vigil_jobs_schedule_look(jobs, all != NULL ? collect_schedule : print_schedule, all);
    if (all != NULL && result >= 0)
        print_json(all);
    return result < 0 ? failed("schedules") : EXIT_FINE;
}

static int set_schedule(vigil_jobs *jobs, int count, char **words)
{
    vigil_jobs_schedule schedule = VIGIL_JOBS_SCHEDULE_INIT;
    int rule = 0;
    while (jobs_request.catch_up != NULL && job_catch_ups[rule] != NULL &&
           strcmp(job_catch_ups[rule], jobs_request.catch_up) != 0)
        rule++;
    if (count < 3 || job_catch_ups[rule] == NULL) {
        say_error(count < 3 ? "jobs schedule: needs a name, a cron pattern in quotes, and a kind"
                            : "jobs schedule: --catch-up is one, skip or all");
        return EXIT_USAGE;
    }
    schedule.cron = words[1];
    schedule.kind = words[2];
    schedule.payload = count > 3 ? words[3] : NULL;
    schedule.length = count > 3 ? strlen(words[3]) : 0;
    schedule.zone = jobs_request.zone;
    schedule.catch_up = (vigil_jobs_catch_up)rule;
    return vigil_jobs_schedule_set(jobs, words[0], &schedule) != 0 ? failed("schedule") : EXIT_FINE;
}

/* The verbs that make a file if there is none. A queue in memory judges their words first. */
static bool makes_queue(const char *verb)
{
    return strcmp(verb, "add") == 0 || strcmp(verb, "schedule") == 0;
}

static int rehearse(const char *verb, const vigil_jobs_options *options, int count, char **words)
{
    char name[32];
    uint64_t id = 0;
    vigil_jobs *jobs;
    (void)snprintf(name, sizeof name, "memory:rehearse-%d", (int)getpid());
    if (vigil_jobs_open(&jobs, name, options) != 0)
        return EXIT_FINE; /* no such memory here */
    int status = strcmp(verb, "add") == 0 ? enqueue(jobs, count, words, &id) : set_schedule(jobs, count, words);
    vigil_jobs_close(jobs);
    return status;
}

static int edit(vigil_jobs *jobs, const char *word, const char *payload)
{
    char *end = NULL;
    uint64_t id = word != NULL ? strtoull(word, &end, 10) : 0;
    if (id == 0 || *end != '\0' || payload == NULL) {
        say_error("jobs edit: needs the number of a job and a payload");
        return EXIT_USAGE;
    }
    return said(vigil_jobs_edit(jobs, id, payload, strlen(payload)), "edit", id);
}

static const char *const verbs[] = {"ls",       "show",       "retry", "kill",    "pause", "resume",
                                    "drain",    "edit",       "add",   "top",     "audit", "schedules",
                                    "schedule", "unschedule", "drop",  "metrics", "watch", NULL};

static int dispatch(vigil_jobs *jobs, const char *verb, int count, char **words)
{
    const char *first = count > 0 ? words[0] : NULL, *second = count > 1 ? words[1] : NULL;
    if (strcmp(verb, "schedules") == 0)
        return list_schedules(jobs);
    if (strcmp(verb, "schedule") == 0) {
        int status = set_schedule(jobs, count, words);
        return status == EXIT_FINE ? changed("name", first) : status;
    }
    if (strcmp(verb, "unschedule") == 0)
        return vigil_jobs_schedule_remove(jobs, first) != 0 ? failed(verb) : changed("name", first);
    if (strcmp(verb, "ls") == 0)
        return list(jobs);
    if (strcmp(verb, "edit") == 0)
        return edit(jobs, first, second);
    if (strcmp(verb, "show") == 0 || strcmp(verb, "retry") == 0 || strcmp(verb, "kill") == 0 ||
        strcmp(verb, "drop") == 0)
        return with_id(jobs, verb, first);
    if (strcmp(verb, "pause") == 0)
        return set_paused(jobs, first, true);
    if (strcmp(verb, "resume") == 0)
        return set_paused(jobs, first, false);
    if (strcmp(verb, "drain") == 0)
        return drain(jobs);
    if (strcmp(verb, "add") == 0)
        return add(jobs, count, words);
    if (strcmp(verb, "metrics") == 0)
        return metrics(jobs);
    if (strcmp(verb, "watch") == 0)
        return watch(jobs);
    if (strcmp(verb, "top") == 0)
        return top(jobs);
    return audit(jobs);
}

static void ignore(void *user, const char *line)
{
    (void)user, (void)line;
}

static int run(int count, char **operands)
{
    const char *verb = count > 0 ? operands[0] : "ls";
    bool known = false;
    for (const char *const *v = verbs; *v != NULL; v++)
        known = known || strcmp(*v, verb) == 0;
    if (!known) {
        const char *near = nearest_name(verb, verbs);
        say_error("jobs has no verb '%s'; %s%s", verb, near != NULL ? "did you mean " : "`vigil help jobs` lists them",
                  near != NULL ? near : "");
        return EXIT_USAGE;
    }
    if (count > 3 && strcmp(verb, "schedule") != 0) {
        say_error("jobs %s: too many words", verb);
        return EXIT_USAGE;
    }
    if (jobs_request.where == NULL)
        jobs_request.where = getenv("VIGIL_JOBS");
    if (jobs_request.where == NULL) {
        say_error("jobs: which queue? Say --queue WHERE, or set VIGIL_JOBS");
        return EXIT_USAGE;
    }
    vigil_jobs *jobs;
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.on_doubt = ignore; /* `audit` says them */
    bool in_file = strstr(jobs_request.where, "://") == NULL && strncmp(jobs_request.where, "memory:", 7) != 0;
    int word_count = count > 1 ? count - 1 : 0;
    /* To look at a file does not make one, and neither do words that are refused. */
    if (in_file && access(jobs_request.where, R_OK) != 0) {
        if (!makes_queue(verb)) {
            say_error("jobs: %s: %s", jobs_request.where, strerror(errno));
            return EXIT_FAILED;
        }
        int refused = rehearse(verb, &options, word_count, operands + 1);
        if (refused != EXIT_FINE)
            return refused;
    }
    if (vigil_jobs_open(&jobs, jobs_request.where, &options) != 0) {
        say_error("jobs: %s", vigil_jobs_why());
        return EXIT_FAILED;
    }
    int status = dispatch(jobs, verb, word_count, operands + 1);
    vigil_jobs_close(jobs);
    return status;
}

int main(int argc, char **argv)
{
    say_begin();
    struct command here = command_jobs;
    here.program = NULL;
    here.run = run;
    int status = command_run(&here, argc - 1, argv + 1);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_FINE) {
        say_error("the output could not be written: %m");
        status = EXIT_FAILED;
    }
    return status;
}
