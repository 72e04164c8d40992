/* SPDX-License-Identifier: MIT */
/*
 * judge_task.c - what stands in a pool, as far as it shows in workers that are inside tasks: hogs, all blocked, no CPU for them.
 *
 * Hog.            The same task for hog_ms of the thread's own time. Nobody waits: INFO.
 * All blocked.    As said. Workers that sleep inside a task without having declared it count as blocked when the system says that
 *                 they sleep.
 * No CPU.         The same task for long, and most of that time the system did not run the thread although it could.
 */
#include "judge_task.h"

#include <stdlib.h>
#include <string.h>

typedef struct task_stand {
    size_t workers;  /* with a thread, dormant spares not counted */
    size_t declared; /* blocked and said so */
    size_t asleep;   /* asleep inside a task for hog_ms without saying so */
    size_t busy;     /* on a CPU with one task for hog_ms */
    size_t free;     /* the rest */
    size_t delayed;  /* one task for long, and most of that time waiting for a CPU */
    uint64_t delayed_ns;
} task_stand;

typedef struct task_stay {
    uint64_t own;
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
            lasts = vg_stay_lasts(since, worker->thread, look, look->hog_ns, &stay[i].latest, &stay[i].own);
        const uint64_t whole = vg_stays(history, i, look);
        if (lasts) {
            if (thread_sleeps(&stay[i].latest) && stay[i].latest.timed && since->at.timed &&
                stay[i].latest.run_ns - since->at.run_ns < stay[i].own / 4)
                all.asleep++;
            else
                all.busy++;
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

static void say_standing(vg_words *to, const vg_pool_history *history, const vg_look *look, const task_stay *stay,
                         vg_finding *finding)
{
    const vg_pool_facts *facts = &history->facts;
    unsigned told = 0;
    unsigned more = 0;
    for (size_t i = 0; i < facts->count; i++) {
        const vg_worker_fact *worker = &facts->worker[i];
        const bool blocked = worker->doing == VG_DOING_BLOCKED && vg_stays(history, i, look) >= look->stuck_ns;
        if (stay[i].own == 0 && !blocked)
            continue;
        if (told == VG_MANY) {
            more++;
            continue;
        }
        told++;
        vg_find_thread(finding, worker->thread);
        vg_say_worker(to, worker);
        vg_say(to, blocked ? ": blocked, as declared, for " : ": the same task for ");
        vg_say_time(to, vg_stays(history, i, look));
        vg_say_function(to, worker->function);
        if (!blocked && stay[i].own < vg_stays(history, i, look)) {
            vg_say(to, ", of which the system let it run or sleep ");
            vg_say_time(to, stay[i].own);
        }
        vg_say_thread(to, &stay[i].latest);
        if (worker->queued != 0)
            vg_say(to, "; %llu tasks lie in its own queues", (unsigned long long)worker->queued);
        vg_say(to, "\n");
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
           "All %zu workers of pool \"%s\" are blocked (%zu declared, %zu asleep inside a task without saying so) and ",
           all->workers, facts->name, all->declared, all->asleep);
    vg_say(&reason, "%llu tasks wait.", (unsigned long long)vg_queued(facts));
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say_queue(&evidence, facts);
    vg_say(&evidence, "at most %u spare workers, %d more could stand in now\n", facts->max_spares,
           facts->credits > 0 ? facts->credits : 0);
    say_standing(&evidence, history, look, stay, finding);
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    vg_say(&advice, "%s",
           all->asleep != 0 ? "Put vigil_blocking_begin and _end around what these tasks wait for, so that spare "
                              "workers take their place; "
                              "VIGIL_RECOVER_SPARE does so from outside."
                            : "Allow more spares (max_spares, and threads for the process), or let the tasks wait on a "
                              "loop instead of on a "
                              "worker.");
}

static void judge_hog(vg_pool_history *history, const vg_subject *subject, const vg_look *look, const task_stand *all,
                      const task_stay *stay)
{
    const vg_pool_facts *facts = &history->facts;
    size_t first = facts->count;
    uint64_t since = look->now;
    for (size_t i = facts->count; i-- > 0;)
        if (stay[i].own != 0 && history->tracks[i].stay.since <= since) {
            first = i;
            since = history->tracks[i].stay.since;
        }
    if (first == facts->count)
        return;
    const size_t hogs = all->busy + all->asleep;
    const bool harm = work_waits(history, look);
    const vg_worker_fact *worker = &facts->worker[first];
    vg_finding *finding = vg_find(look, VIGIL_STALL_HOG,
                                  !harm            ? VIGIL_SEVERITY_INFO
                                  : all->free != 0 ? VIGIL_SEVERITY_WARNING
                                                   : VIGIL_SEVERITY_ERROR,
                                  subject, facts->name, since);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    verdict->worker = (int)worker->index;
    verdict->thread = worker->thread;
    verdict->function = worker->function;
    finding->no_stacks = facts->small_stacks;
    finding->lend = harm;
    vg_find_thread(finding, worker->thread);
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    if (hogs == 1) {
        vg_say(&reason, "One task keeps ");
        vg_say_worker(&reason, worker);
        vg_say(&reason, " of pool \"%s\" for ", facts->name);
        vg_say_time(&reason, vg_stays(history, first, look));
        vg_say_function(&reason, worker->function);
    } else {
        vg_say(&reason, "%zu tasks keep %zu of %zu workers of pool \"%s\", the longest for ", hogs, hogs, all->workers,
               facts->name);
        vg_say_time(&reason, vg_stays(history, first, look));
        vg_say_function(&reason, worker->function);
    }
    vg_say(&reason, harm ? ", and %llu tasks wait." : "; nothing waits for it.", (unsigned long long)vg_queued(facts));
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say_queue(&evidence, facts);
    say_standing(&evidence, history, look, stay, finding);
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    vg_say(&advice, "%s",
           all->asleep != 0 ? "It sleeps rather than works: put vigil_blocking_begin and _end around what it waits "
                              "for, or wait on a loop."
                            : "Cut the task into parts that submit the rest, or give it a pool of its own; while it "
                              "runs its worker is not "
                              "there for others.");
}

static void judge_cpu(vg_pool_history *history, const vg_subject *subject, const vg_look *look, const task_stand *all)
{
    const vg_pool_facts *facts = &history->facts;
    if (look->share >= 0.5)
        return; /* we have the machine ourselves: there are more workers than CPUs, and that is no news */
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
    vg_say_queue(&evidence, facts);
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    vg_say(
        &advice,
        "Nothing is wrong with the tasks. Look at what else runs on the machine, at nice values, and at the CPU quota "
        "of the container (cpu.max, cpu.stat).");
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
    free(stay);
}
