/* SPDX-License-Identifier: MIT */
/*
 * Each family is written once, with all its series under one HELP and TYPE, as the format wants it. Names of pools and
 * loops need not be unique, so every series carries the object's serial as the label `id`.
 */
#include "metrics.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include <vigil/loop.h>
#include <vigil/pool.h>

#include "kinds.h"
#include "say.h"

static void family(FILE *to, const char *name, const char *type, const char *help)
{
    fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value: at most `length` bytes of text from the file, cleaned and escaped. */
static void value(FILE *to, const char *text, size_t length)
{
    char clean[512];
    clean_text(clean, sizeof clean, text, length, true);
    for (const char *c = clean; *c != '\0'; c++)
        if (*c == '\n')
            fputs("\\n", to);
        else if (*c == '\\' || *c == '"')
            fprintf(to, "\\%c", *c);
        else
            fputc(*c, to);
}

static void pool_labels(FILE *to, const vg_pool_view *pool)
{
    fputs("{pool=\"", to);
    value(to, pool->name, sizeof pool->name);
    fprintf(to, "\",id=\"%" PRIu64 "\"", pool->serial);
}

static void loop_labels(FILE *to, const vg_loop_view *loop)
{
    fputs("{loop=\"", to);
    value(to, loop->name, sizeof loop->name);
    fprintf(to, "\",id=\"%" PRIu64 "\"", loop->serial);
}

struct metric {
    const char *name, *type, *help;
    size_t offset; /* of the uint64_t in its view */
    double unit;   /* what one of it is worth */
};

/* Seconds of a counter. They come from ticks, whose length is measured anew by each reader; whole milliseconds hide
   that, so that a counter does not seem to fall when nothing happened. */
static void seconds(FILE *to, uint64_t ns)
{
    fprintf(to, "} %" PRIu64 ".%03u\n", ns / 1000000000U, (unsigned)(ns / 1000000U % 1000U));
}

static void number(FILE *to, const void *view, const struct metric *metric)
{
    uint64_t count;
    memcpy(&count, (const char *)view + metric->offset, sizeof count);
    if (metric->unit == 1)
        fprintf(to, "} %" PRIu64 "\n", count);
    else if (strcmp(metric->type, "counter") == 0)
        seconds(to, count);
    else
        fprintf(to, "} %.9g\n", (double)count * metric->unit);
}

/* The time that a worker has spent in a state, without the present stay: it may in the end be counted as
   another state's, and then the counter would have to fall. */
static uint64_t booked_ns(const vg_worker_view *worker, unsigned state)
{
    uint64_t ns = worker->time_ns[state];
    if (worker->state != state)
        return ns;
    return ns > worker->state_age_ns ? ns - worker->state_age_ns : 0;
}

/* ---- histograms -------------------------------------------------------------------------------------------------- */

/* 1, 2 and 5 of each power of ten from a microsecond to ten seconds. A recorded bucket counts where its middle lies. */
static void histogram(FILE *to, const char *name, const char *labels, const vg_hist_view *hist)
{
    static const double steps[] = {1, 2, 5};
    uint64_t below = 0, sum = 0;
    unsigned bucket = 0;
    for (unsigned i = 0; i < VG_HIST_BUCKETS; i++)
        sum += hist->buckets[i];
    for (unsigned i = 0; i < 22; i++) {
        double bound = steps[i % 3] * 1e-6;
        for (unsigned k = 0; k < i / 3; k++)
            bound *= 10;
        for (; bucket < VG_HIST_BUCKETS; bucket++) {
            double middle = ((double)vg_hist_floor(bucket) + (double)vg_hist_floor(bucket + 1)) / 2 * hist->tick_ns;
            if (middle > bound * 1e9)
                break;
            below += hist->buckets[bucket];
        }
        fprintf(to, "%s_bucket%s,le=\"%.9g\"} %" PRIu64 "\n", name, labels, bound, below);
    }
    fprintf(to, "%s_bucket%s,le=\"+Inf\"} %" PRIu64 "\n", name, labels, sum);
    fprintf(to, "%s_sum%s} %" PRIu64 ".%06u\n", name, labels, hist->sum_ns / 1000000000U,
            (unsigned)(hist->sum_ns / 1000U % 1000000U));
    fprintf(to, "%s_count%s} %" PRIu64 "\n", name, labels, sum);
}

/* The labels of an object, as text, for histogram(). */
static const char *labels_text(char *room, size_t size, void (*labels)(FILE *, const void *), const void *view,
                               const char *class_)
{
    FILE *memory = fmemopen(room, size, "w");
    room[0] = '\0';
    if (memory == NULL)
        return "{";
    labels(memory, view);
    if (class_ != NULL)
        fprintf(memory, ",class=\"%s\"", class_);
    fclose(memory);
    return room;
}

static void any_pool_labels(FILE *to, const void *view)
{
    pool_labels(to, view);
}

static void any_loop_labels(FILE *to, const void *view)
{
    loop_labels(to, view);
}

/* ---- pools ------------------------------------------------------------------------------------------------------- */

#define OF_CLASS(field) offsetof(vg_class_view, field)
static const struct metric class_metrics[] = {
    {"vigil_pool_tasks_accepted_total", "counter", "Tasks that the pool accepted.", OF_CLASS(submitted), 1},
    {"vigil_pool_tasks_completed_total", "counter", "Tasks that ran and did not fail.", OF_CLASS(completed), 1},
    {"vigil_pool_tasks_failed_total", "counter", "Tasks that ran and failed.", OF_CLASS(failed), 1},
    {"vigil_pool_tasks_cancelled_total", "counter", "Tasks that were cancelled before they ran.", OF_CLASS(cancelled),
     1},
    {"vigil_pool_tasks_refused_total", "counter", "Tasks that the pool did not accept.", OF_CLASS(refused), 1},
    {"vigil_pool_tasks_spawned_total", "counter", "Accepted tasks that a worker pushed to its own deque.",
     OF_CLASS(spawned), 1},
    {"vigil_pool_tasks_queued", "gauge", "Tasks that wait to be started.", OF_CLASS(queued), 1},
    {"vigil_pool_tasks_delayed", "gauge", "Queued tasks that are not due yet.", OF_CLASS(delayed), 1},
    {"vigil_pool_tasks_running", "gauge", "Tasks that run.", OF_CLASS(running), 1},
    {"vigil_pool_task_oldest_seconds", "gauge", "Age of the oldest task in the shared queue, as last sampled.",
     OF_CLASS(oldest_age_ns), 1e-9},
};

#define OF_POOL(field) offsetof(vg_pool_view, field)
static const struct metric pool_metrics[] = {
    {"vigil_pool_steals_tried_total", "counter", "Attempts to steal.", OF_POOL(steals_tried), 1},
    {"vigil_pool_steals_won_total", "counter", "Attempts to steal that brought a task.", OF_POOL(steals_won), 1},
    {"vigil_pool_steals_lost_total", "counter", "Attempts to steal that another worker won.", OF_POOL(steals_lost), 1},
    {"vigil_pool_parks_total", "counter", "Times that a worker went to sleep.", OF_POOL(parks), 1},
    {"vigil_pool_wakes_sent_total", "counter", "Wake-ups sent.", OF_POOL(wakes_sent), 1},
    {"vigil_pool_wakes_useful_total", "counter", "Wake-ups after which a task was found.", OF_POOL(wakes_useful), 1},
    {"vigil_pool_wakes_spurious_total", "counter", "Wake-ups after which no task was found.", OF_POOL(wakes_spurious),
     1},
    {"vigil_pool_ageing_picks_total", "counter", "Tasks of a lower class started early, against starvation.",
     OF_POOL(ageing_picks), 1},
    {"vigil_pool_spares_started_total", "counter", "Spare workers started for blocked ones.", OF_POOL(spares_started),
     1},
    {"vigil_pool_spares_refused_total", "counter", "Spare workers that were wanted but could not be started.",
     OF_POOL(spares_refused), 1},
};

static void pool_times(FILE *to, const vg_snapshot *now)
{
    static const struct {
        const char *name, *help;
        unsigned states[3];
    } metrics[] = {
        {"vigil_pool_work_seconds_total", "Time inside tasks, summed over the workers.", {VIGIL_WORKER_RUNNING}},
        {"vigil_pool_search_seconds_total",
         "Time looking for work, summed over the workers.",
         {VIGIL_WORKER_LOOKING, VIGIL_WORKER_STEALING, VIGIL_WORKER_SPINNING}},
        {"vigil_pool_idle_seconds_total", "Time asleep, summed over the workers.", {VIGIL_WORKER_PARKED}},
        {"vigil_pool_blocked_seconds_total",
         "Time in blocking sections, summed over the workers.",
         {VIGIL_WORKER_BLOCKED}},
    };
    for (size_t m = 0; m < sizeof metrics / sizeof metrics[0]; m++) {
        family(to, metrics[m].name, "counter", metrics[m].help);
        for (size_t i = 0; i < now->pool_count; i++) {
            uint64_t ns = 0;
            for (size_t w = 0; w < now->pools[i].worker_count; w++)
                for (unsigned k = 0; k < 3 && metrics[m].states[k] != VIGIL_WORKER_UNUSED; k++)
                    ns += booked_ns(&now->pools[i].workers[w], metrics[m].states[k]);
            fputs(metrics[m].name, to);
            pool_labels(to, &now->pools[i]);
            seconds(to, ns);
        }
    }
}

static void pools(FILE *to, const vg_snapshot *now)
{
    for (size_t m = 0; m < sizeof class_metrics / sizeof class_metrics[0]; m++) {
        family(to, class_metrics[m].name, class_metrics[m].type, class_metrics[m].help);
        for (size_t i = 0; i < now->pool_count; i++)
            for (unsigned c = 0; c < VG_FILE_CLASSES; c++) {
                fputs(class_metrics[m].name, to);
                pool_labels(to, &now->pools[i]);
                fprintf(to, ",class=\"%s\"", class_name(c));
                number(to, &now->pools[i].of[c], &class_metrics[m]);
            }
    }
    for (size_t m = 0; m < sizeof pool_metrics / sizeof pool_metrics[0]; m++) {
        family(to, pool_metrics[m].name, pool_metrics[m].type, pool_metrics[m].help);
        for (size_t i = 0; i < now->pool_count; i++) {
            fputs(pool_metrics[m].name, to);
            pool_labels(to, &now->pools[i]);
            number(to, &now->pools[i], &pool_metrics[m]);
        }
    }
    family(to, "vigil_pool_workers_wanted", "gauge", "Workers that the pool was asked to have.");
    for (size_t i = 0; i < now->pool_count; i++) {
        fputs("vigil_pool_workers_wanted", to);
        pool_labels(to, &now->pools[i]);
        fprintf(to, "} %u\n", now->pools[i].workers_wanted);
    }
    family(to, "vigil_pool_threads", "gauge", "Threads of the pool, spares included, by state.");
    for (size_t i = 0; i < now->pool_count; i++)
        for (unsigned state = VIGIL_WORKER_STARTING; state < VIGIL_WORKER_STATES; state++) {
            unsigned count = 0;
            for (size_t w = 0; w < now->pools[i].worker_count; w++)
                count += now->pools[i].workers[w].tid != 0 && now->pools[i].workers[w].state == state;
            fputs("vigil_pool_threads", to);
            pool_labels(to, &now->pools[i]);
            fprintf(to, ",state=\"%s\"} %u\n", vg_worker_state_name(state), count);
        }
    family(to, "vigil_pool_audit_lost_tasks", "gauge",
           "Accepted tasks that the last settled audit found nowhere; negative: ran twice.");
    for (size_t i = 0; i < now->pool_count; i++)
        if (now->pools[i].audited && now->pools[i].audit_settled) {
            fputs("vigil_pool_audit_lost_tasks", to);
            pool_labels(to, &now->pools[i]);
            fprintf(to, "} %" PRId64 "\n", now->pools[i].audit_lost);
        }
}

static void pool_histograms(FILE *to, const vg_snapshot *now)
{
    char labels[1200];
    for (int which = 0; which < 2; which++) {
        const char *name = which == 0 ? "vigil_pool_task_wait_seconds" : "vigil_pool_task_run_seconds";
        family(to, name, "histogram",
               which == 0 ? "Time from submit to start, of submitted tasks." : "Time from start to end of tasks.");
        for (size_t i = 0; i < now->pool_count; i++)
            for (unsigned c = 0; c < VG_FILE_CLASSES; c++)
                histogram(to, name, labels_text(labels, sizeof labels, any_pool_labels, &now->pools[i], class_name(c)),
                          which == 0 ? &now->pools[i].wait[c] : &now->pools[i].run[c]);
    }
    family(to, "vigil_pool_wake_seconds", "histogram", "Time from a wake-up to the worker's first step.");
    for (size_t i = 0; i < now->pool_count; i++)
        histogram(to, "vigil_pool_wake_seconds",
                  labels_text(labels, sizeof labels, any_pool_labels, &now->pools[i], NULL), &now->pools[i].wake);
}

static void workers(FILE *to, const vg_snapshot *now)
{
    static const struct {
        const char *name, *help;
        int state; /* -1: tasks started */
    } metrics[] = {
        {"vigil_worker_tasks_started_total", "Tasks that the worker started.", -1},
        {"vigil_worker_running_seconds_total", "Time that the worker spent inside tasks.", VIGIL_WORKER_RUNNING},
        {"vigil_worker_parked_seconds_total", "Time that the worker was asleep.", VIGIL_WORKER_PARKED},
    };
    for (size_t m = 0; m < sizeof metrics / sizeof metrics[0]; m++) {
        family(to, metrics[m].name, "counter", metrics[m].help);
        for (size_t i = 0; i < now->pool_count; i++)
            for (size_t w = 0; w < now->pools[i].worker_count; w++) {
                const vg_worker_view *worker = &now->pools[i].workers[w];
                uint64_t started = 0;
                if (worker->tid == 0)
                    continue;
                for (unsigned c = 0; c < VG_FILE_CLASSES; c++)
                    started += worker->started[c];
                fputs(metrics[m].name, to);
                pool_labels(to, &now->pools[i]);
                fprintf(to, ",worker=\"%u\"", worker->index);
                if (metrics[m].state < 0)
                    fprintf(to, "} %" PRIu64 "\n", started);
                else
                    seconds(to, booked_ns(worker, (unsigned)metrics[m].state));
            }
    }
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

#define OF_LOOP(field) offsetof(vg_loop_view, field)
static const struct metric loop_metrics[] = {
    {"vigil_loop_turns_total", "counter", "Turns of the loop.", OF_LOOP(turns), 1},
    {"vigil_loop_posts_accepted_total", "counter", "Posts that the loop accepted.", OF_LOOP(posts_accepted), 1},
    {"vigil_loop_posts_run_total", "counter", "Posts that ran.", OF_LOOP(posts_run), 1},
    {"vigil_loop_posts_cancelled_total", "counter", "Posts that were cancelled.", OF_LOOP(posts_cancelled), 1},
    {"vigil_loop_posts_refused_total", "counter", "Posts that the loop did not accept.", OF_LOOP(posts_refused), 1},
    {"vigil_loop_posts_queued", "gauge", "Posts that wait.", OF_LOOP(posts_queued), 1},
    {"vigil_loop_ticks_total", "counter", "Ticks that ran.", OF_LOOP(ticks_run), 1},
    {"vigil_loop_microtasks_total", "counter", "Microtasks that ran.", OF_LOOP(microtasks_run), 1},
    {"vigil_loop_microtask_breaches_total", "counter", "Checkpoints that used up their budget.",
     OF_LOOP(microtask_breaches), 1},
    {"vigil_loop_timers_started_total", "counter", "Timers started.", OF_LOOP(timers_started), 1},
    {"vigil_loop_timers_active", "gauge", "Timers that are set.", OF_LOOP(timers_active), 1},
    {"vigil_loop_descriptors_watched", "gauge", "Watches on descriptors.", OF_LOOP(watches), 1},
    {"vigil_loop_uncaught_total", "counter", "Callbacks that failed.", OF_LOOP(uncaught), 1},
    {"vigil_loop_sleeps_total", "counter", "Times that the loop blocked.", OF_LOOP(sleeps), 1},
    {"vigil_loop_wakes_sent_total", "counter", "Wake-ups sent to the loop.", OF_LOOP(wakes_sent), 1},
    {"vigil_loop_wakes_spurious_total", "counter", "Times that the loop woke up with nothing to do.",
     OF_LOOP(wakes_spurious), 1},
    {"vigil_loop_work_seconds_total", "counter", "Time that the loop was not blocked.", OF_LOOP(work_ns), 1e-9},
    {"vigil_loop_poll_seconds_total", "counter", "Time that the loop was blocked.", OF_LOOP(poll_ns), 1e-9},
};

static void loops(FILE *to, const vg_snapshot *now)
{
    for (size_t m = 0; m < sizeof loop_metrics / sizeof loop_metrics[0]; m++) {
        family(to, loop_metrics[m].name, loop_metrics[m].type, loop_metrics[m].help);
        for (size_t i = 0; i < now->loop_count; i++) {
            fputs(loop_metrics[m].name, to);
            loop_labels(to, &now->loops[i]);
            number(to, &now->loops[i], &loop_metrics[m]);
        }
    }
    for (int which = 0; which < 2; which++) {
        const char *name = which == 0 ? "vigil_loop_callbacks_total" : "vigil_loop_phase_seconds_total";
        family(to, name, "counter", which == 0 ? "Callbacks that ran, by phase." : "Time in each phase.");
        for (size_t i = 0; i < now->loop_count; i++)
            for (unsigned phase = VIGIL_PHASE_INTERNAL; phase < VIGIL_PHASES; phase++) {
                fputs(name, to);
                loop_labels(to, &now->loops[i]);
                fprintf(to, ",phase=\"%s\"", vg_loop_phase_name(phase));
                if (which == 0)
                    fprintf(to, "} %" PRIu64 "\n", loop_callbacks(&now->loops[i], phase));
                else
                    seconds(to, now->loops[i].phase_ns[phase]);
            }
    }
    static const struct {
        const char *name, *help;
        size_t offset;
    } hists[] = {
        {"vigil_loop_callback_seconds", "How long callbacks ran.", OF_LOOP(callback)},
        {"vigil_loop_timer_delay_seconds", "How late timers fired.", OF_LOOP(delay)},
        {"vigil_loop_wake_seconds", "Time from a wake-up to the loop's first step.", OF_LOOP(wake)},
    };
    char labels[1200];
    for (size_t h = 0; h < sizeof hists / sizeof hists[0]; h++) {
        family(to, hists[h].name, "histogram", hists[h].help);
        for (size_t i = 0; i < now->loop_count; i++)
            histogram(to, hists[h].name, labels_text(labels, sizeof labels, any_loop_labels, &now->loops[i], NULL),
                      (const vg_hist_view *)(const void *)((const char *)&now->loops[i] + hists[h].offset));
    }
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static const struct metric stream_metrics[] = {
    {"vigil_stream_opened_total", "counter",
     "Streams, listeners, connects, datagrams, children, descriptors and queries that were opened.",
     OF_LOOP(ios_opened), 1},
    {"vigil_stream_open", "gauge", "Those that are open.", OF_LOOP(ios_open), 1},
    {"vigil_stream_unseen", "gauge", "Those that are open and have no entry in the record.", OF_LOOP(ios_unseen), 1},
    {"vigil_stream_read_bytes_total", "counter", "Bytes that streams have read.", OF_LOOP(io_bytes_read), 1},
    {"vigil_stream_sent_bytes_total", "counter", "Bytes that streams have sent.", OF_LOOP(io_bytes_sent), 1},
};

static const char *const stream_waits[] = {"read", "write", "start", "connect", "accept",
                                           "room", "exit",  "ready", "answer"};

/* How long one waits for stream_waits[w]; false: it does not. */
static bool stream_waits_for(const vg_io_view *io, size_t w, uint64_t *ns)
{
    *ns = w == 0 ? io->reading_ns : w == 1 ? io->sending_ns : io->wait_ns;
    return w == 0 ? io->reading : w == 1 ? io->sending : strcmp(vg_io_wait_name(io->wait), stream_waits[w]) == 0;
}

/* By kind and by wait, never by peer: each series of a scrape stays, and peers come and go. */
static void streams(FILE *to, const vg_snapshot *now)
{
    for (size_t m = 0; m < sizeof stream_metrics / sizeof stream_metrics[0]; m++) {
        family(to, stream_metrics[m].name, stream_metrics[m].type, stream_metrics[m].help);
        for (size_t i = 0; i < now->loop_count; i++) {
            fputs(stream_metrics[m].name, to);
            loop_labels(to, &now->loops[i]);
            number(to, &now->loops[i], &stream_metrics[m]);
        }
    }
    family(to, "vigil_stream_oldest_seconds", "gauge", "Age of the oldest open one, by kind.");
    for (size_t i = 0; i < now->loop_count; i++)
        for (unsigned kind = VG_IO_TCP; kind < VG_IO_KINDS; kind++) {
            uint64_t oldest = 0, count = 0;
            for (size_t k = 0; k < now->loops[i].io_count; k++)
                if (now->loops[i].ios[k].kind == kind) {
                    count++;
                    oldest = now->loops[i].ios[k].age_ns > oldest ? now->loops[i].ios[k].age_ns : oldest;
                }
            if (count == 0)
                continue;
            fputs("vigil_stream_oldest_seconds", to);
            loop_labels(to, &now->loops[i]);
            fprintf(to, ",kind=\"%s\"} %.9g\n", vg_io_kind_name(kind), (double)oldest / 1e9);
        }
    for (int which = 0; which < 2; which++) {
        const char *name = which == 0 ? "vigil_stream_waiting" : "vigil_stream_wait_seconds";
        family(to, name, "gauge",
               which == 0 ? "Those that wait, by what for." : "The longest that one of them waits now, by what for.");
        for (size_t i = 0; i < now->loop_count; i++)
            for (size_t w = 0; w < sizeof stream_waits / sizeof stream_waits[0]; w++) {
                uint64_t longest = 0, count = 0, ns;
                for (size_t k = 0; k < now->loops[i].io_count; k++)
                    if (stream_waits_for(&now->loops[i].ios[k], w, &ns)) {
                        count++;
                        longest = ns > longest ? ns : longest;
                    }
                fputs(name, to);
                loop_labels(to, &now->loops[i]);
                fprintf(to, ",for=\"%s\"} %.9g\n", stream_waits[w], which == 0 ? (double)count : (double)longest / 1e9);
            }
    }
    family(to, "vigil_stream_unsent_bytes", "gauge", "Bytes that streams have accepted and not sent.");
    for (size_t i = 0; i < now->loop_count; i++) {
        uint64_t unsent = 0;
        for (size_t k = 0; k < now->loops[i].io_count; k++)
            unsent += now->loops[i].ios[k].unsent;
        fputs("vigil_stream_unsent_bytes", to);
        loop_labels(to, &now->loops[i]);
        fprintf(to, "} %" PRIu64 "\n", unsent);
    }
}

/* ---- the process ------------------------------------------------------------------------------------------------- */

void metrics_write(FILE *to, const vg_snapshot *now)
{
    family(to, "vigil_info", "gauge", "The process that is looked at.");
    fprintf(to, "vigil_info{pid=\"%d\",command=\"", (int)now->pid);
    value(to, now->command, sizeof now->command);
    fputs("\",version=\"", to);
    value(to, now->library, sizeof now->library);
    fputs("\"} 1\n", to);
    family(to, "vigil_up", "gauge", "1 if the process is there, 0 if it has died.");
    fprintf(to, "vigil_up %d\n", now->alive);
    family(to, "vigil_stopped", "gauge", "1 if the process is stopped by a signal or a debugger.");
    fprintf(to, "vigil_stopped %d\n", now->stopped);
    family(to, "vigil_start_time_seconds", "gauge", "Unix time at which the recorder was made.");
    fprintf(to, "vigil_start_time_seconds %.3f\n", (double)now->born_wall_ns / 1e9);
    family(to, "vigil_events_dropped_total", "counter", "Events that found no ring.");
    fprintf(to, "vigil_events_dropped_total %" PRIu64 "\n", now->events_dropped);
    family(to, "vigil_record_bytes", "gauge", "Size of the recorder's file.");
    fprintf(to, "vigil_record_bytes %" PRIu64 "\n", now->file_bytes);
    uint64_t raised = 0, holds[4] = {0};
    for (size_t i = 0; i < now->verdict_count; i++) {
        raised = now->verdicts[i].number > raised ? now->verdicts[i].number : raised;
        if (!now->verdicts[i].over && now->verdicts[i].severity < 4)
            holds[now->verdicts[i].severity]++;
    }
    family(to, "vigil_watchdog_verdicts_total", "counter", "Verdicts that the watchdog gave.");
    fprintf(to, "vigil_watchdog_verdicts_total %" PRIu64 "\n", raised);
    family(to, "vigil_watchdog_verdicts_standing", "gauge", "Verdicts that still hold, by severity.");
    for (unsigned i = 0; i < 4; i++)
        fprintf(to, "vigil_watchdog_verdicts_standing{severity=\"%s\"} %" PRIu64 "\n", severity_name(i), holds[i]);
    family(to, "vigil_watchdog_verdict", "gauge",
           "1 for each verdict that still holds, with what it is and about what.");
    for (size_t i = 0; i < now->verdict_count; i++) {
        const vg_verdict_view *v = &now->verdicts[i];
        char subject[NAME_ROOM];
        if (v->over || v->severity >= 4)
            continue;
        fprintf(to, "vigil_watchdog_verdict{class=\"%s\",severity=\"%s\",number=\"%" PRIu64 "\",subject=\"",
                stall_page(v->kind) != NULL ? stall_page(v->kind) : "other", severity_name(v->severity), v->number);
        verdict_subject(now, v, subject);
        value(to, subject, strlen(subject));
        fputs("\"} 1\n", to);
    }
    if (now->watch_age_ns != UINT64_MAX) {
        family(to, "vigil_watchdog_look_age_seconds", "gauge", "Time since the watchdog last looked.");
        fprintf(to, "vigil_watchdog_look_age_seconds %.9g\n", (double)now->watch_age_ns / 1e9);
    }
    if (now->pool_count > 0) {
        pools(to, now);
        pool_times(to, now);
        pool_histograms(to, now);
        workers(to, now);
    }
    if (now->loop_count > 0) {
        loops(to, now);
        streams(to, now);
    }
}
