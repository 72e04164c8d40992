/* SPDX-License-Identifier: MIT */
/*
 * judge_pool.c - what stands in a pool, as far as it shows in workers that are between tasks: lost wake-ups and frozen
 * workers. What shows in workers that are inside tasks is in judge_task.c, in the queues in judge_queue.c, in the waits
 * in judge_cycle.c.
 *
 * Lost wake-up.   The idle protocol promises that no task stays queued beside a parked worker (src/pool/IDLE.md). So a
 *                 class with work that could be taken now, and a worker that has been parked all the time, are a
 *                 contradiction, unless somebody is still on the way to mend it: a searcher, a worker that has been
 *                 called, a submit that has not come to its wake yet. Each of these moves on within microseconds if it
 *                 gets a CPU; so it counts only while it moves, or while the system says that it would like to run.
 * Frozen worker.  A worker between two tasks moves from state to state within microseconds. One that does not, although
 *                 the system would run it, stands inside the library. If it holds the search token nobody else is
 *                 woken, which looks like a lost wake-up from outside; the frozen one is the cause, so it is named
 *                 instead.
 */
#include "judge_pool.h"

#include "judge_queue.h"
#include "judge_task.h"

#include <stdlib.h>
#include <string.h>

/* Tracks follow the workers; both lists are in the order of the seats, but seats may have come. */
static bool follow_workers(vg_pool_history *history, const vg_look *look)
{
    const vg_pool_facts *facts = &history->facts;
    if (facts->count > history->track_room) {
        vg_worker_track *larger = realloc(history->tracks, facts->count * sizeof *larger);
        if (larger == NULL)
            return false;
        history->tracks = larger;
        history->track_room = facts->count;
    }
    if (facts->count < history->track_count)
        history->track_count = 0; /* seats are never taken away; but let nothing go wrong if they were */
    size_t shift = facts->count - history->track_count;
    for (size_t i = facts->count; i-- > 0;) {
        const vg_worker_fact *fact = &facts->worker[i];
        vg_worker_track *track = &history->tracks[i];
        if (i >= shift && history->tracks[i - shift].self == fact->self && i - shift < history->track_count) {
            if (shift != 0)
                *track = history->tracks[i - shift];
            if (track->progress == fact->progress && track->changes == fact->changes)
                continue;
        } else if (shift != 0) {
            shift--;
        }
        track->self = fact->self;
        track->progress = fact->progress;
        track->changes = fact->changes;
        track->activity = fact->activity;
        vg_stay_begin(&track->stay, look);
    }
    history->track_count = facts->count;
    return true;
}

/* Could this worker take something that is queued? */
static bool has_queued_work(const vg_pool_facts *facts, const vg_worker_fact *worker)
{
    if (worker->mail != 0 && facts->full == 0)
        return true;
    return (facts->visible & ~facts->full) != 0 && (!worker->spare || facts->credits > 0);
}

/* ---- frozen workers ---- */

typedef struct frozen_workers {
    unsigned count;
    unsigned delayed; /* would like to run */
} frozen_workers;

static bool between_tasks(const vg_pool_facts *facts, const vg_worker_fact *worker, const vg_worker_track *track)
{
    switch (worker->doing) {
    case VG_DOING_HANDLING:
        return worker->activity == track->activity; /* else it is inside a task that submits */
    case VG_DOING_SEARCH:
        return !facts->spins || facts->visible != 0;
    case VG_DOING_START:
        return true;
    default:
        return false;
    }
}

static frozen_workers judge_frozen(vg_pool_history *history, const vg_subject *subject, const vg_look *look)
{
    const vg_pool_facts *facts = &history->facts;
    frozen_workers seen = {0};
    vg_finding *finding = NULL;
    vg_words evidence = {0};
    for (size_t i = 0; i < facts->count; i++) {
        const vg_worker_fact *worker = &facts->worker[i];
        vg_worker_track *track = &history->tracks[i];
        const uint64_t least = worker->doing == VG_DOING_START ? look->hog_ns : look->stuck_ns;
        vg_thread_look latest;
        if (!between_tasks(facts, worker, track)) {
            track->activity = worker->activity;
            continue;
        }
        uint64_t own = 0;
        const bool lasts = vg_stay_lasts(&track->stay, worker->thread, look, least, &latest, &own);
        if (vg_stays(history, i, look) < least)
            continue;
        /* One that the system could run is not frozen while others get on: on a full machine, giving up the core for
           another that moves tasks (src/pool/take.c) may take this long. */
        const bool quiet = look->now - history->quiet_since >= least;
        if (!lasts || worker->thread == 0 || /* not even once on a CPU yet */
            (latest.state != 'S' && latest.state != 'D' && latest.state != 'T' && !quiet)) {
            seen.delayed++;
            continue;
        }
        seen.count++;
        if (finding == NULL) {
            const bool harm = (facts->visible & ~facts->full) != 0 || worker->queued != 0;
            finding = vg_find(look, VIGIL_STALL_FROZEN_WORKER, harm ? VIGIL_SEVERITY_CRITICAL : VIGIL_SEVERITY_ERROR,
                              subject, facts->name, track->stay.since);
            if (finding == NULL)
                return seen;
            vigil_verdict *verdict = &finding->verdict;
            verdict->worker = (int)worker->index;
            verdict->thread = worker->thread;
            finding->no_stacks = facts->small_stacks;
            finding->lend = true;
            vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
            vg_say_worker(&reason, worker);
            vg_say(&reason, " of pool \"%s\" has stood still for ", facts->name);
            vg_say_time(&reason, own);
            vg_say(&reason, worker->doing == VG_DOING_START      ? ", inside its start hook."
                            : worker->doing == VG_DOING_HANDLING ? ", between taking a task and starting it."
                                                                 : " while looking for work, between two tasks.");
            vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
            vg_say(&advice, "%s",
                   worker->doing == VG_DOING_START
                       ? "Let on_worker_start return soon; until then this worker takes no tasks."
                       : "A worker cannot stop here by itself: look at its stack for a signal handler, a debugger or a "
                         "memory "
                         "fault that keeps it, and report it if the stack shows nothing but Vigil.");
            evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
            vg_say_queue(&evidence, facts);
        }
        vg_find_thread(finding, worker->thread, worker->function);
        if (seen.count <= VG_MANY) {
            vg_say_worker(&evidence, worker);
            vg_say(&evidence, ": since ");
            vg_say_time(&evidence, own);
            vg_say_thread(&evidence, &latest);
            if (worker->queued != 0)
                vg_say(&evidence, "; %llu tasks lie in its own queues", (unsigned long long)worker->queued);
            vg_say(&evidence, "\n");
        }
    }
    if (finding != NULL) /* somebody who sleeps may take over what is queued */
        for (size_t i = 0; i < facts->count && finding->rewake < 0; i++)
            if (facts->worker[i].doing == VG_DOING_PARKED && has_queued_work(facts, &facts->worker[i]))
                finding->rewake = (int)facts->worker[i].index;
    return seen;
}

/* ---- lost wake-ups ---- */

static bool somebody_comes(vg_pool_history *history, const vg_look *look)
{
    const vg_pool_facts *facts = &history->facts;
    for (size_t i = 0; i < facts->count; i++) {
        const vg_doing doing = facts->worker[i].doing;
        if ((doing == VG_DOING_SEARCH || doing == VG_DOING_START || doing == VG_DOING_HANDLING) &&
            vg_stays(history, i, look) < look->stuck_ns)
            return true;
    }
    return facts
        ->calls; /* a submit that has not come to its wake yet; it may be any thread's, so there is no clock for it */
}

static void judge_pool_wake(vg_pool_history *history, const vg_subject *subject, const vg_look *look,
                            const frozen_workers *stuck)
{
    const vg_pool_facts *facts = &history->facts;
    size_t sleeper = facts->count;
    unsigned sleepers = 0;
    for (size_t i = 0; i < facts->count; i++) {
        if (facts->worker[i].doing != VG_DOING_PARKED || !has_queued_work(facts, &facts->worker[i]) ||
            vg_stays(history, i, look) < look->stuck_ns)
            continue;
        sleepers++;
        /* the one that is chosen and not called is the best witness */
        if (sleeper == facts->count || (facts->worker[sleeper].shown && !facts->worker[i].shown))
            sleeper = i;
    }
    const bool quiet = vg_stands(history, look);
    if (sleepers == 0 || stuck->count + stuck->delayed != 0 || somebody_comes(history, look) ||
        (!quiet && vg_oldest(facts) < look->stuck_ns)) {
        history->lost_wake_since = 0;
        return;
    }
    if (history->lost_wake_since == 0)
        history->lost_wake_since = look->now;
    if (look->now - history->lost_wake_since < look->interval_ns)
        return;
    const vg_worker_fact *worker = &facts->worker[sleeper];
    vg_thread_look latest;
    vg_thread_look_at(worker->thread, &latest);
    if (worker->called && latest.state == 'R')
        return; /* it has been called and waits for a CPU; judge_task.c says so if that lasts */
    unsigned running = 0;
    for (size_t i = 0; i < facts->count; i++)
        running += facts->worker[i].doing == VG_DOING_TASK || facts->worker[i].doing == VG_DOING_BLOCKED;
    vg_finding *finding = vg_find(look, VIGIL_STALL_LOST_WAKEUP,
                                  quiet && running == 0 ? VIGIL_SEVERITY_CRITICAL
                                  : quiet               ? VIGIL_SEVERITY_ERROR
                                                        : VIGIL_SEVERITY_WARNING,
                                  subject, facts->name, quiet ? history->stand_since : history->lost_wake_since);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    verdict->worker = (int)worker->index;
    verdict->thread = worker->thread;
    finding->rewake = (int)worker->index;
    finding->no_stacks = facts->small_stacks;
    if (!worker->called) /* else the signal would be the wake-up that was lost */
        vg_find_thread(finding, worker->thread, worker->function);
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason, "A wake-up was lost in pool \"%s\": work is queued, ", facts->name);
    vg_say_worker(&reason, worker);
    vg_say(&reason, " is parked, and nobody is on the way to it.");
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say_queue(&evidence, facts);
    vg_say_worker(&evidence, worker);
    vg_say(&evidence, ": parked for ");
    vg_say_time(&evidence, vg_stays(history, sleeper, look));
    vg_say(&evidence, worker->called   ? ", has been called and not woken"
                      : !worker->shown ? ", was chosen to be woken and never called"
                                       : ", nobody has tried to wake it");
    vg_say_thread(&evidence, &latest);
    if (worker->mail != 0)
        vg_say(&evidence, "; %llu tasks that only it may run", (unsigned long long)worker->mail);
    vg_say(&evidence, "\n%u workers parked beside this work, %u counted as searching, %u inside tasks\n", sleepers,
           facts->searching, running);
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    vg_say(
        &advice,
        "This is a fault of the library or of its memory, not of the tasks: please report it with this text. Any new "
        "submit may set it going again; VIGIL_RECOVER_REWAKE does so by itself.");
}

static bool any_queued_work(const vg_pool_facts *facts)
{
    bool mail = false;
    for (size_t i = 0; i < facts->count; i++)
        mail = mail || facts->worker[i].mail != 0;
    return (facts->visible & ~facts->full) != 0 || mail;
}

void vg_judge_pool(vg_pool_history *history, const vg_subject *subject, const vg_look *look)
{
    const vg_pool_facts *facts = &history->facts;
    if (!history->any || facts->all_started != history->all_started || facts->all_ended != history->all_ended)
        history->quiet_since = look->now;
    if (!any_queued_work(facts))
        history->stand_since = 0;
    else if (history->stand_since == 0 || facts->all_started != history->all_started)
        history->stand_since = look->now;
    if (!follow_workers(history, look))
        return;
    if (history->any) {
        const frozen_workers stuck = judge_frozen(history, subject, look);
        judge_pool_wake(history, subject, look, &stuck);
        vg_judge_tasks(history, subject, look, stuck.count != 0);
        vg_judge_queues(history, subject, look);
    }
    history->all_started = facts->all_started;
    history->all_ended = facts->all_ended;
    history->all_submitted = facts->all_submitted;
    history->any = true;
}

void vg_pool_history_free(vg_pool_history *history)
{
    free(history->facts.worker);
    free(history->tracks);
    free(history->drift);
    memset(history, 0, sizeof *history);
}
