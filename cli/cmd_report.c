/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <vigil/loop.h>
#include <vigil/pool.h>

#include "command.h"
#include "kinds.h"
#include "queues.h"
#include "reader/outside.h"
#include "recent.h"
#include "say.h"
#include "streams.h"
#include "view_json.h"
#include "view_text.h"
#ifdef VIGIL_HAVE_DOCTOR
#include "doctor.h"
#include "reader/process.h"
#include "report_lines.h"
#else
typedef struct vg_exam vg_exam;
#endif

static bool as_json;
static const char *jobs_where;

static void print_head(const vg_snapshot *now)
{
    char program[256], command[257], version[33], up[WORDS], bytes[WORDS], most[WORDS], looked[WORDS];
    clean_text(command, sizeof command, now->command, sizeof now->command, false);
    clean_text(version, sizeof version, now->library, sizeof now->library, false);
    const char *state = look_state(now);
    bool fine = strcmp(state, "running") == 0;
    printf("%s%s%s, process %d: %s%s%s, %s %s after its start, vigil %s\n", style(BOLD),
           look_program(now, program, sizeof program), style(PLAIN), (int)now->pid, style(fine ? GREEN : RED), state,
           style(PLAIN), now->alive ? "now" : "last sign of life", words_ago(up, now->age_ns), version);
    printf("  %scommand%s  %s\n", style(FAINT), style(PLAIN), command);
    printf("  %srecord%s   %s of at most %s, level %s", style(FAINT), style(PLAIN), words_bytes(bytes, now->file_bytes),
           words_bytes(most, now->max_bytes), level_name(now->level));
    if (now->events_dropped > 0)
        printf(", %" PRIu64 " events found no room", now->events_dropped);
    if (now->left_out > 0)
        printf(", %" PRIu64 " pools, loops or threads did not fit", now->left_out);
    printf("\n  %swatchdog%s ", style(FAINT), style(PLAIN));
    if (now->watch_age_ns == UINT64_MAX)
        printf("none in the process; %s. VIGIL_WATCHDOG=on or vigil_watchdog_start starts one\n\n",
               now->alive ? "this command has judged it from outside, with two looks" : "nothing was judged");
    else
        printf("looked %s %s%s\n\n", words_ago(looked, now->watch_age_ns), now->alive ? "ago" : "before that",
               vg_outside_needed(now) ? "; this command has judged it from outside" : "");
}

/* locked: the doctor has found something wrong with locks, and it was printed. */
static void print_verdicts(struct look *look, const vg_exam *exam, bool locked)
{
    const vg_snapshot *now = look->now;
    size_t holds = 0;
    for (size_t i = 0; i < now->verdict_count; i++)
        holds += !now->verdicts[i].over;
    if (holds == 0 && (now->watch_age_ns != UINT64_MAX || now->alive))
        printf("%sVerdict: nothing is wrong now%s%s%s\n", locked ? "" : style(GREEN),
               locked ? " with pools and loops themselves" : "", locked ? "" : style(PLAIN),
               now->verdict_count > 0 ? "; what was:" : "");
    else if (holds > 0)
        printf("%sVerdict: %zu thing%s wrong%s\n", style(RED), holds, holds == 1 ? " is" : "s are", style(PLAIN));
    for (size_t i = 0; i < now->verdict_count; i++)
        if (!now->verdicts[i].over) {
            print_verdict(look, &now->verdicts[i]);
#ifdef VIGIL_HAVE_DOCTOR
            if (exam != NULL)
                report_lines(exam, &now->verdicts[i]);
#endif
        }
    (void)exam;
    size_t shown = 0;
    for (size_t i = 0; i < now->verdict_count && shown < 5; i++)
        if (now->verdicts[i].over) {
            print_verdict(look, &now->verdicts[i]);
            shown++;
        }
    printf("\n");
}

static void print_pool(struct look *look, const vg_pool_view *pool, const struct recent *recent)
{
    char name[17], n[8][WORDS];
    struct crowd crowd = pool_crowd(pool);
    clean_text(name, sizeof name, pool->name, sizeof pool->name, false);
    printf("%sPool %s%s: %u workers wanted, %u threads (%u spare): %u running, %u looking for work, %u parked, %u "
           "blocked%s\n",
           style(BOLD), name, style(PLAIN), pool->workers_wanted, crowd.threads, crowd.spares, crowd.running,
           crowd.searching, crowd.parked, crowd.blocked, pool->phase > 0 ? "; it is being stopped" : "");
    print_classes(pool);
    const vg_class_view *all = &pool->total;
    printf("  %" PRIu64 " accepted = %" PRIu64 " queued + %" PRIu64 " running + %" PRIu64 " completed + %" PRIu64
           " failed + %" PRIu64 " cancelled; %" PRIu64 " refused\n",
           all->submitted, all->queued, all->running, all->completed, all->failed, all->cancelled, all->refused);
    double rate = 0;
    for (unsigned i = 0; i < VG_FILE_CLASSES; i++)
        rate += recent->rate[i];
    double average = pool->age_ns > 0 ? (double)all->completed * 1e9 / (double)pool->age_ns : 0;
    if (look->now->pool_count == 1)
        printf("  throughput: %s tasks/s in the last second of the record, %s/s on average\n", words_rate(n[0], rate),
               words_rate(n[1], average));
    else
        printf("  throughput: %s tasks/s on average\n", words_rate(n[1], average));
    printf("  steals: %s won of %s tried; parks: %s; wake-ups: %s sent, %s useful, %s for nothing; a wake takes %s "
           "(p99 %s)\n",
           words_count(n[0], pool->steals_won), words_count(n[1], pool->steals_tried), words_count(n[2], pool->parks),
           words_count(n[3], pool->wakes_sent), words_count(n[4], pool->wakes_useful),
           words_count(n[5], pool->wakes_spurious), words_ns(n[6], vg_hist_quantile(&pool->wake, 0.5)),
           words_ns(n[7], vg_hist_quantile(&pool->wake, 0.99)));
    if (pool->audited && pool->audit_settled)
        printf("  audit %s before: %s%" PRIu64 " queued by the counters, %" PRIu64 " found%s%s\n",
               words_ago(n[0], pool->audit_age_ns), style(pool->audit_lost != 0 ? RED : PLAIN), pool->audit_expected,
               pool->audit_found,
               pool->audit_lost > 0   ? ": TASKS ARE LOST"
               : pool->audit_lost < 0 ? ": TASKS RAN TWICE"
                                      : "",
               style(PLAIN));
    print_workers(look, pool);
    printf("\n");
}

static void print_loop(struct look *look, const vg_loop_view *loop)
{
    char name[33], words[512], n[8][WORDS];
    clean_text(name, sizeof name, loop->name, sizeof loop->name, false);
    loop_words(look, loop, words, sizeof words);
    printf("%sLoop %s%s (thread %d): %s\n", style(BOLD), name, style(PLAIN), (int)loop->tid, words);
    printf("  %s turns; posts: %s run, %s queued; timers: %s fired, %s active, late by %s (p99 %s); descriptors: %s "
           "events, "
           "%s watched\n",
           words_count(n[0], loop->turns), words_count(n[1], loop->posts_run), words_count(n[2], loop->posts_queued),
           words_count(n[3], loop->timers_fired), words_count(n[4], loop->timers_active),
           words_ns(n[5], vg_hist_quantile(&loop->delay, 0.5)), words_ns(n[6], vg_hist_quantile(&loop->delay, 0.99)),
           words_count(n[7], loop->fd_events), words_count((char[WORDS]){0}, loop->watches));
    printf("  callbacks take %s (p99 %s, longest %s)", words_ns(n[0], vg_hist_quantile(&loop->callback, 0.5)),
           words_ns(n[1], vg_hist_quantile(&loop->callback, 0.99)), words_ns(n[2], loop->callback.longest_ns));
    const char *before = "; time: ";
    for (unsigned i = VIGIL_PHASE_INTERNAL; i < VIGIL_PHASES; i++)
        if (loop->phase_ns[i] > 0) {
            printf("%s%s %s", before, vg_loop_phase_name(i), words_ns(n[3], loop->phase_ns[i]));
            before = ", ";
        }
    printf("\n");
    streams_print(look->now, loop, 20);
    printf("\n");
}

static void print_wakes(const vg_snapshot *now, const struct recent *recent)
{
    if (recent->wake_count == 0)
        return;
    printf("%sLast wakes%s\n", style(BOLD), style(PLAIN));
    for (unsigned i = 0; i < recent->wake_count; i++) {
        const struct recent_wake *wake = &recent->wakes[i];
        const vg_pool_view *pool = pool_in(now, wake->object);
        const vg_loop_view *loop = loop_in(now, wake->object);
        char age[WORDS], name[33];
        clean_text(name, sizeof name, pool != NULL ? pool->name : loop != NULL ? loop->name : "?", 32, false);
        printf("  %7s before: %s woke ", words_ns(age, wake->age_ns > 0 ? (uint64_t)wake->age_ns : 0), wake->by);
        if (pool != NULL)
            printf("%s %u of pool %s\n", wake->worker < VIGIL_MAX_WORKERS ? "worker" : "spare",
                   wake->worker % VIGIL_MAX_WORKERS, name);
        else
            printf("loop %s\n", name);
    }
    printf("\n");
}

#ifdef VIGIL_HAVE_DOCTOR

/* Locks and lines are not in the record: the doctor reads them from outside, without stopping anybody. Of its verdicts
   those about locks are kept; whether a pool or loop stands, the watchdog's say better. NULL: it could not look. */
static vg_exam *examine_locks(const struct look *look)
{
    const vg_exam_options how = {.no_stop = true, .span_ns = 500000000};
    const pid_t pid = look->now->alive ? vg_reader_local_pid(look->reader) : 0;
    vg_exam *exam = NULL;
    if (pid <= 0 || vg_exam_process_run(&exam, pid, &how) != 0) {
        vg_exam_free(exam);
        return NULL;
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < exam->finding_count; i++) {
        const vg_diagnosis *f = &exam->findings[i];
        if (f->certain && f->kind <= VG_DIAGNOSIS_CONVOY && f->kind != VG_DIAGNOSIS_LOST)
            exam->findings[kept++] = *f;
    }
    exam->finding_count = kept;
    return exam;
}

static void add_lines(json_object *view, const vg_exam *exam, const vg_snapshot *now)
{
    json_object *verdicts = NULL;
    if (!json_object_object_get_ex(view, "verdicts", &verdicts))
        return;
    for (size_t i = 0; i < now->verdict_count && i < json_object_array_length(verdicts); i++)
        if (!now->verdicts[i].over)
            json_object_object_add(json_object_array_get_idx(verdicts, i), "lines",
                                   report_lines_json(exam, &now->verdicts[i]));
}

static void print_locks(const vg_exam *exam)
{
    printf("%sLocks: %u thing%s wrong%s\n", style(RED), exam->finding_count, exam->finding_count == 1 ? " is" : "s are",
           style(PLAIN));
    doctor_verdicts(exam, 1);
}

#endif

static int report(int count, char **operands)
{
    struct look look;
    int status = look_open(&look, "report", count > 0 ? operands[0] : NULL, true);
    if (status != 0)
        return status;
    (void)look_judge(&look); /* if it cannot be read now, the first look is the answer */
    status = has_stall(look.now) ? EXIT_STALLED : EXIT_FINE;
#ifdef VIGIL_HAVE_DOCTOR
    vg_exam *exam = examine_locks(&look);
    if (exam != NULL && exam->finding_count > 0)
        status = EXIT_STALLED;
#else
    const vg_exam *exam = NULL;
#endif
    struct queues *queues = queues_open(jobs_where, look.now->alive ? vg_reader_local_pid(look.reader) : 0);
    json_object *all = queues_json(queues, -1);
    if (jobs_where != NULL && (all == NULL || queues_failed(all)))
        status = EXIT_FAILED;
    if (as_json) {
        json_object *view = view_json(&look, false);
        if (view != NULL && all != NULL)
            json_object_object_add(view, "queues", json_object_get(all));
#ifdef VIGIL_HAVE_DOCTOR
        if (view != NULL && exam != NULL && exam->finding_count > 0)
            json_object_object_add(view, "locks", doctor_verdicts_json(exam));
        if (view != NULL && exam != NULL)
            add_lines(view, exam, look.now);
#endif
        const char *text = view != NULL ? json_object_to_json_string_ext(view, JSON_C_TO_STRING_PRETTY) : NULL;
        if (text != NULL) {
            puts(text);
        } else {
            say_error("report: there is not enough memory");
            status = EXIT_FAILED;
        }
        json_object_put(view);
    } else {
        struct recent recent;
        recent_read(&look, &recent);
        print_head(look.now);
        bool locked = false;
#ifdef VIGIL_HAVE_DOCTOR
        locked = exam != NULL && exam->finding_count > 0;
        if (locked) /* first: it explains tasks that do not end */
            print_locks(exam);
#endif
        print_verdicts(&look, exam, locked);
        for (size_t i = 0; i < look.now->pool_count; i++)
            print_pool(&look, &look.now->pools[i], &recent);
        for (size_t i = 0; i < look.now->loop_count; i++)
            print_loop(&look, &look.now->loops[i]);
        if (all != NULL && json_object_array_length(all) > 0) {
            queues_print(stdout, all, 20);
            printf("\n");
        }
        print_wakes(look.now, &recent);
        if (look.now->pool_count + look.now->loop_count == 0)
            printf("It has no pool and no loop %s.\n", look.now->alive ? "now" : "at its end");
    }
#ifdef VIGIL_HAVE_DOCTOR
    vg_exam_free(exam);
#endif
    json_object_put(all);
    queues_close(queues);
    look_close(&look);
    return status;
}

static const struct option_spec options[] = {
    {'j', "json", OPTION_FLAG, NULL, &as_json, 0, 0, "the same as JSON, for programs; times are in nanoseconds"},
    {0, "jobs", OPTION_TEXT, "WHERE", &jobs_where, 0, 0,
     "the queue of jobs to show, a file or postgresql://; default: those that the process has open"},
    {0},
};

const struct command command_report = {
    .name = "report",
    .operands = "[PID|FILE]",
    .summary = "what a process does and what is wrong with it, in words or JSON",
    .text =
        "Says what a process does now: the watchdog's verdicts with evidence and advice, every pool with its queues,\n"
        "latencies and workers, every loop with its phases and streams, and the last wake-ups. It needs nothing from\n"
        "the process, so it works while that is stopped or wedged; and with the FILE that a killed process left "
        "behind\n"
        "(see `vigil ps`), or its old PID. A process without a watchdog, or whose watchdog is late, is judged from\n"
        "outside: that takes two looks and most of a second.\n"
        "A queue of jobs that the process has open is shown too: kinds, hosts, runs with verdicts, dead letters,\n"
        "schedules. It is found if it is in a file, or if VIGIL_JOBS in the environment of the process names it.\n\n"
        "In the table of classes, wait is the time from submit to start, run that from start to end; 50 and 99 are "
        "the\n"
        "median and the value that one in a hundred exceeds; oldest is how long the oldest queued task has waited.",
    .examples = "  vigil report                 of the only process there is\n"
                "  vigil report 4711 --json | jq '.verdicts[].reason'\n"
                "  vigil report 4711 > /dev/null || echo \"it hangs\"       the exit status is 3 when there is a stall",
    .most_operands = 1,
    .options = options,
    .run = report,
};
