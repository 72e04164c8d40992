/* SPDX-License-Identifier: MIT */
/*
 * judge_task.c - workers inside tasks: hogs, all blocked, no CPU for them.
 *
 * Hog.          The same task for hog_ms of the thread's own time, or on a full machine for longer on the wall
 *               (vg_stay_shares). How bad it is depends on who waits, and grows with
 *               time: nobody waits: INFO; a task that sleeps becomes WARNING after LATE_WARNING times hog_ms and ERROR
 *               after LATE_ERROR times, one that computes WARNING after LATE_ERROR times. Somebody waits for it:
 *               WARNING at once, ERROR after LATE_WARNING times. Queued work waits: WARNING, ERROR if no worker is
 *               left. A stop waits for it: ERROR.
 * All blocked.  Every worker is blocked and work is queued. A worker that sleeps inside a task counts as blocked when
 *               the system says that it sleeps, declared or not.
 * No CPU.       The same task for long, and for most of that time the system did not run the thread although it could
 *               run.
 */
#include "judge_task.h"

#include "locks.h"
#include "waiters.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LATE_WARNING = 10,
    LATE_ERROR = 60
};

typedef struct task_stand {
    size_t workers;  /* with a thread; dormant spares do not count */
    size_t declared; /* blocked, declared */
    size_t asleep;   /* asleep inside a task for hog_ms, not declared */
    size_t busy;     /* on a CPU with one task for hog_ms */
    size_t free;     /* the rest */
    size_t delayed;  /* one task for long, and most of that time waiting for a CPU */
    uint64_t delayed_ns;
} task_stand;

typedef struct task_stay {
    uint64_t own;
    bool asleep;
    vg_thread_look latest;
} task_stay;

static bool thread_sleeps(const vg_thread_look *look)
{
    return look->state == 'S' || look->state == 'D';
}

static task_stand take_task_stand(vg_pool_history *history, const vg_look *look, task_stay *stay, bool frozen_told)
{
    const vg_pool_facts *facts = &history->facts;
    task_stand all = {0};
    for (size_t i = 0; i < facts->count; i++) {
        const vg_worker_fact *worker = &facts->worker[i];
        vg_stay *since = &history->tracks[i].stay;
        memset(&stay[i], 0, sizeof stay[i]);
        if (worker->doing == VG_DOING_NOTHING || (worker->spare && worker->doing == VG_DOING_PARKED))
            continue;
        all.workers++;
        if (worker->doing == VG_DOING_BLOCKED && vg_stays(history, i, look) >= look->stuck_ns) {
            all.declared++;
            continue;
        }
        bool lasts = false;
        /* a task that submits is often seen between a queue and a counter */
        if (worker->doing == VG_DOING_TASK || (worker->doing == VG_DOING_HANDLING && !frozen_told))
            lasts = vg_stay_lasts(since, worker->thread, look, look->hog_ns, &stay[i].latest, &stay[i].own) ||
                    vg_stay_shares(since, worker->thread, look, look->hog_ns, &stay[i].latest, &stay[i].own);
        const uint64_t whole = vg_stays(history, i, look);
        if (lasts && vg_thread_gone(worker->thread, &stay[i].latest)) { /* told by judge_gone */
            stay[i].own = 0;
            continue;
        }
        if (lasts) {
            stay[i].asleep = thread_sleeps(&stay[i].latest) && stay[i].latest.timed && since->at.timed &&
                             stay[i].latest.run_ns - since->at.run_ns < stay[i].own / 4;
            all.asleep += stay[i].asleep;
            all.busy += !stay[i].asleep;
            continue;
        }
        if (whole >= look->hog_ns && stay[i].latest.timed && stay[i].own < whole / 4) {
            all.delayed++;
            if (whole - stay[i].own > all.delayed_ns)
                all.delayed_ns = whole - stay[i].own;
        }
        stay[i].own = 0;
        all.free++;
    }
    return all;
}

/* Along the owners of locks; the last of them gets its stack shown, because its wait is what all others wait for. */
static void say_owners(vg_words *to, const vg_pool_facts *facts, int thread, vg_finding *finding)
{
    int last = 0;
    vg_say_lock_chain(to, thread, &last);
    for (size_t i = 0; last != 0 && i < facts->count; i++)
        if (facts->worker[i].thread == last)
            vg_say(to, " (worker %u)", facts->worker[i].index);
    vg_find_thread(finding, last, NULL);
}

static void say_standing(vg_words *to, const vg_pool_history *history, const vg_look *look, const task_stay *stay,
                         vg_finding *finding)
{
    const vg_pool_facts *facts = &history->facts;
    unsigned shown = 0;
    unsigned more = 0;
    for (size_t i = 0; i < facts->count; i++) {
        const vg_worker_fact *worker = &facts->worker[i];
        const bool blocked = worker->doing == VG_DOING_BLOCKED && vg_stays(history, i, look) >= look->stuck_ns;
        if (stay[i].own == 0 && !blocked)
            continue;
        if (shown == VG_MANY) {
            more++;
            continue;
        }
        shown++;
        vg_find_thread(finding, worker->thread, worker->function);
        vg_say_worker(to, worker);
        vg_say(to, blocked ? ": blocked (declared) for " : ": the same task for ");
        vg_say_time(to, vg_stays(history, i, look));
        vg_say_task(to, worker);
        if (!blocked && stay[i].own < vg_stays(history, i, look)) {
            vg_say(to, ", of which it ran or slept ");
            vg_say_time(to, stay[i].own);
        }
        vg_say_thread(to, &stay[i].latest);
        say_owners(to, facts, worker->thread, finding);
        if (worker->queued != 0)
            vg_say(to, "; %llu tasks are in its own queues", (unsigned long long)worker->queued);
        vg_say(to, "\n");
        vg_say_share(to, &history->tracks[i].stay, worker->thread, &stay[i].latest);
    }
    if (more != 0)
        vg_say(to, "and %u more\n", more);
}

/* Something that could be taken has waited for long. */
static bool work_waits(const vg_pool_history *history, const vg_look *look)
{
    return vg_stands(history, look) || (history->stand_since != 0 && vg_oldest(&history->facts) >= look->stuck_ns);
}

static void judge_all_blocked(vg_pool_history *history, const vg_subject *subject, const vg_look *look,
                              const task_stand *all, const task_stay *stay)
{
    const vg_pool_facts *facts = &history->facts;
    vg_finding *finding =
        vg_find(look, VIGIL_STALL_ALL_BLOCKED, VIGIL_SEVERITY_CRITICAL, subject, facts->name, history->stand_since);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    finding->no_stacks = facts->small_stacks;
    finding->lend = all->asleep != 0;
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason,
           "All %zu workers of pool \"%s\" are blocked (%zu declared, %zu asleep inside a task without a declaration) "
           "and ",
           all->workers, facts->name, all->declared, all->asleep);
    vg_say(&reason, "%llu tasks wait.", (unsigned long long)vg_queued(facts));
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say_queue(&evidence, facts);
    vg_say(&evidence, "at most %u spare workers; %d more could stand in now\n", facts->max_spares,
           facts->credits > 0 ? facts->credits : 0);
    say_standing(&evidence, history, look, stay, finding);
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    if (all->asleep != 0)
        vg_say(&advice, "The stacks show what the tasks wait for. If another task or thread must act first, look at "
                        "that one. If the waits are meant, declare them with vigil_blocking_begin and _end, so that "
                        "spare workers take over (VIGIL_RECOVER_SPARE does so from outside); that does not end a "
                        "deadlock.");
    else
        vg_say(&advice, "Allow more spares (max_spares, and threads for the process), or wait on a loop instead of on "
                        "a worker. If the tasks wait for queued ones, more spares let those run.");
}

static vigil_severity hog_severity(const task_stand *all, const vg_look *look, const vg_pool_facts *facts,
                                   uint64_t lasts, bool asleep, bool work, bool waited)
{
    const bool late = lasts >= LATE_WARNING * look->hog_ns;
    const bool very_late = lasts >= LATE_ERROR * look->hog_ns;
    if (facts->stopping || (work && all->free == 0) || (waited && late) || (asleep && very_late))
        return VIGIL_SEVERITY_ERROR;
    if (work || waited || (asleep && late) || very_late)
        return VIGIL_SEVERITY_WARNING;
    return VIGIL_SEVERITY_INFO;
}

static void say_waiter(vg_words *to, const vg_waiter *waiter, const vg_pool_facts *facts)
{
    if (waiter->thread != 0) {
        vg_say(to, "thread %d has waited ", waiter->thread);
        vg_say_time(to, waiter->since_ns);
        vg_say(to, waiter->stop      ? " for the pool to become idle or to stop\n"
                   : waiter->certain ? " for this job\n"
                                     : " for a job or group, and nothing else moves in this pool\n");
    } else if (facts->stopping) {
        vg_say(to, "the pool is being stopped and waits for its tasks\n");
    }
}

/* The worker whose task lasts longest; facts.count: none. */
static size_t longest_hog(const vg_pool_history *history, const vg_look *look, const task_stay *stay)
{
    size_t first = history->facts.count;
    uint64_t since = look->now;
    for (size_t i = history->facts.count; i-- > 0;)
        if (stay[i].own != 0 && history->tracks[i].stay.since <= since) {
            first = i;
            since = history->tracks[i].stay.since;
        }
    return first;
}

static const char *hog_advice(bool asleep, bool blamed)
{
    if (!asleep)
        return "Cut the task into parts that submit the rest, or give it a pool of its own: its worker does nothing "
               "else while it runs.";
    return blamed ? "It sleeps and others wait for it. The stack shows the call: find the thread that has to end that "
                    "wait (the owner of the lock, the sender, the peer) and look at it. Declaring the wait "
                    "(vigil_blocking_begin) frees the worker's place; it does not end a deadlock."
                  : "It sleeps rather than works. If the wait is meant, declare it with vigil_blocking_begin and _end "
                    "so that a spare takes the worker's place, or wait on a loop. If not, the stack shows what never "
                    "came.";
}

static void judge_hog(vg_pool_history *history, const vg_subject *subject, const vg_look *look, const task_stand *all,
                      const task_stay *stay)
{
    const vg_pool_facts *facts = &history->facts;
    const size_t first = longest_hog(history, look, stay);
    if (first == facts->count)
        return;
    const size_t hogs = all->busy + all->asleep;
    const bool work = work_waits(history, look);
    const bool asleep = stay[first].asleep;
    const vg_worker_fact *worker = &facts->worker[first];
    const bool quiet = look->now - history->quiet_since >= look->hog_ns;
    const vg_waiter waiter = vg_waiter_find(history, worker, look, look->hog_ns, quiet);
    const bool waited = waiter.thread != 0 || facts->stopping;
    const uint64_t lasts = vg_stays(history, first, look);
    vg_finding *finding =
        vg_find(look, VIGIL_STALL_HOG, hog_severity(all, look, facts, lasts, asleep, work, waiter.thread != 0), subject,
                facts->name, history->tracks[first].stay.since);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    verdict->worker = (int)worker->index;
    verdict->thread = worker->thread;
    verdict->function = worker->function;
    finding->no_stacks = facts->small_stacks;
    finding->lend = work;
    vg_find_thread(finding, worker->thread, worker->function);
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    if (hogs == 1) {
        vg_say(&reason, "One task keeps ");
        vg_say_worker(&reason, worker);
        vg_say(&reason, " of pool \"%s\" for ", facts->name);
    } else {
        vg_say(&reason, "%zu tasks keep %zu of %zu workers of pool \"%s\", the longest for ", hogs, hogs, all->workers,
               facts->name);
    }
    vg_say_time(&reason, lasts);
    vg_say_task(&reason, worker);
    if (work)
        vg_say(&reason, ", and %llu tasks wait.", (unsigned long long)vg_queued(facts));
    else
        vg_say(&reason, "%s",
               facts->stopping  ? ", and the pool's stop waits for it."
               : waiter.stop    ? ", and a thread waits for the pool to become idle."
               : waiter.certain ? ", and a thread waits for its result."
               : waited         ? ", and a thread seems to wait for it."
                                : "; nothing waits for it.");
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say_queue(&evidence, facts);
    say_waiter(&evidence, &waiter, facts);
    say_standing(&evidence, history, look, stay, finding);
    vg_say_throttled(&evidence, look);
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    vg_say(&advice, "%s%s", hog_advice(asleep, waited || work), vg_share_advice(&history->tracks[first].stay));
}

static void judge_cpu(vg_pool_history *history, const vg_subject *subject, const vg_look *look, const task_stand *all)
{
    const vg_pool_facts *facts = &history->facts;
    if (look->share >= 0.5)
        return; /* this process has the machine: there are more workers than CPUs, which is no fault */
    vg_finding *finding =
        vg_find(look, VIGIL_STALL_NO_CPU, VIGIL_SEVERITY_WARNING, subject, facts->name, look->now - all->delayed_ns);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason, "The system does not give pool \"%s\" the CPU: %zu workers could run their tasks and are not run.",
           facts->name, all->delayed);
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say(&evidence, "one of them was runnable and not run for ");
    vg_say_time(&evidence, all->delayed_ns);
    vg_say(&evidence, " of its present task\nthis process had %.0f %% of the %u CPUs that it may use\n",
           100 * look->share, look->cpus);
    vg_say_throttled(&evidence, look);
    vg_say_queue(&evidence, facts);
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    vg_say(&advice, "Nothing is wrong with the tasks. %s", vg_cpu_advice(look));
}

/* pthread_exit or a cancellation inside a task: the worker is gone, and nobody ends its task. */
static void judge_gone(vg_pool_history *history, const vg_subject *subject, const vg_look *look)
{
    const vg_pool_facts *facts = &history->facts;
    for (size_t i = 0; i < facts->count; i++) {
        const vg_worker_fact *worker = &facts->worker[i];
        vg_thread_look latest;
        if (worker->thread == 0 || (worker->doing != VG_DOING_TASK && worker->doing != VG_DOING_BLOCKED) ||
            vg_stays(history, i, look) < look->stuck_ns)
            continue;
        vg_thread_look_at(worker->thread, &latest);
        if (!vg_thread_gone(worker->thread, &latest))
            continue;
        vg_finding *finding = vg_find(look, VIGIL_STALL_THREAD_GONE, VIGIL_SEVERITY_CRITICAL, subject, facts->name,
                                      history->tracks[i].stay.since);
        if (finding == NULL)
            return;
        vigil_verdict *verdict = &finding->verdict;
        finding->key = worker->index;
        verdict->worker = (int)worker->index;
        verdict->thread = worker->thread;
        verdict->function = worker->function;
        vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
        vg_say(&reason, "The thread of ");
        vg_say_worker(&reason, worker);
        vg_say(&reason, " of pool \"%s\" has ended", facts->name);
        vg_say_task(&reason, worker);
        vg_say(&reason, ": its task will never end.");
        vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
        vg_say(&evidence, "the system knows no thread %d any more\n", worker->thread);
        vg_say_queue(&evidence, facts);
        (void)snprintf(verdict->advice, sizeof verdict->advice,
                       "A task must return: look for pthread_exit, pthread_cancel or a longjmp out of the task.");
    }
}

void vg_judge_tasks(vg_pool_history *history, const vg_subject *subject, const vg_look *look, bool frozen_told)
{
    task_stay *stay = calloc(history->facts.count + 1, sizeof *stay);
    if (stay == NULL)
        return;
    const task_stand all = take_task_stand(history, look, stay, frozen_told);
    if (all.workers != 0 && all.declared + all.asleep == all.workers && vg_stands(history, look))
        judge_all_blocked(history, subject, look, &all, stay);
    else if (all.busy + all.asleep != 0)
        judge_hog(history, subject, look, &all, stay);
    if (all.delayed != 0)
        judge_cpu(history, subject, look, &all);
    judge_gone(history, subject, look);
    free(stay);
}
