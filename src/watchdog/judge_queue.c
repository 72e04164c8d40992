/* SPDX-License-Identifier: MIT */
/*
 * judge_queue.c - what stands in a pool, as far as it shows in its queues: a class that nobody takes, a task that is
 * nowhere, a queue that grows.
 */
#include "judge_queue.h"

#include "function.h"

#include <inttypes.h>
#include <string.h>

enum {
    STARVED_BOUND = 2 * 4 * 32, /* starts of others for each worker */
    STARVED_FEW = 4,            /* the same in all, when tasks are so long that the bound is far */
    /* picks for each worker: the waiting classes take turns, so twice a round is beyond doubt */
    STARVED_PICKS = 2 * VG_FACT_CLASSES,
    STARVED_PATIENCE = 4, /* times what the debt explains: the worker may be preempted too */
    STARVED_CPU_PART = 40 /* of the limit: CPU time of the pool in which ageing gives each class its turn many times */
};
#define STARVED_LONG_NS UINT64_C(10000000000)

/* Ageing gives lower classes a share of time (vigil/pool.h). After a long pick, or a preempted one, higher tasks pay
   for it before the next. Note how that goes on; false: there was no new debt. *least_ns: of a worker that could make
   the next pick. */
static bool note_ageing(vg_pool_history *history, uint64_t *most_ns, uint64_t *least_ns)
{
    const vg_pool_facts *facts = &history->facts;
    const uint64_t before = history->age_debt_ns;
    history->age_debt_ns = 0;
    *most_ns = 0;
    *least_ns = UINT64_MAX;
    for (size_t i = 0; i < facts->count; i++) {
        const vg_doing doing = facts->worker[i].doing;
        history->age_debt_ns += facts->worker[i].age_debt_ns;
        if (doing != VG_DOING_NOTHING && doing != VG_DOING_BLOCKED && facts->worker[i].age_debt_ns < *least_ns)
            *least_ns = facts->worker[i].age_debt_ns;
        if (facts->worker[i].age_debt_ns > *most_ns)
            *most_ns = facts->worker[i].age_debt_ns;
    }
    if (*least_ns == UINT64_MAX)
        *least_ns = 0;
    if (history->age_debt_ns != before)
        history->age_started = facts->all_started;
    return history->age_debt_ns > before;
}

static uint64_t started_above(const vg_pool_facts *facts, unsigned class_)
{
    uint64_t sum = 0;
    for (unsigned k = 0; k < class_; k++)
        sum += facts->started[k];
    return sum;
}

/* Does the class only wait for its share of time? Then higher ones were started, debts go down, and they explain how
   long it waits. */
static bool waits_for_share(const vg_pool_history *history, unsigned class_, size_t workers, const vg_look *look)
{
    const vg_pool_facts *facts = &history->facts;
    return facts->all_started - history->age_started < STARVED_BOUND * (uint64_t)workers &&
           look->now < history->starve_until[class_] && started_above(facts, class_) != history->starve_above[class_] &&
           facts->ageing_picks - history->starve_picks[class_] < STARVED_PICKS * (uint64_t)workers;
}

/* Was the pool kept from running while the class waited? Short tasks are started by the hundred in a millisecond: on a
   full machine that is all that the workers get in a second, and shares are shares of that. Workers that sleep are not
   kept from anything. The threads are looked at only if the class has waited for half of the limit. */
static bool kept_from_running(vg_pool_history *history, unsigned class_, const vg_look *look)
{
    const vg_pool_facts *facts = &history->facts;
    vg_starve_base *base = &history->starve_base[class_];
    uint64_t ran = 0;
    uint64_t delay = 0;
    bool wants = false;
    bool timed = false;
    for (size_t i = 0; i < facts->count; i++) {
        vg_thread_look thread;
        vg_thread_look_at(facts->worker[i].thread, &thread);
        ran += thread.run_ns;
        delay += thread.delay_ns;
        timed = timed || thread.timed;
        wants = wants || (thread.timed && thread.state == 'R');
    }
    const bool fresh = base->at == 0;
    if (fresh || ran < base->ran_ns || delay < base->delay_ns) /* a spare has ended, and its times with it */
        *base = (vg_starve_base){.at = look->now, .ran_ns = ran, .delay_ns = delay};
    if (ran - base->ran_ns >= look->stuck_ns / STARVED_CPU_PART)
        return false;
    /* The kernel adds a wait for a CPU when it is over, so one that wants to run may be waiting right now. */
    return wants || (fresh && timed) || delay - base->delay_ns > (look->now - base->at) / 2;
}

static void judge_starved(vg_pool_history *history, const vg_subject *subject, const vg_look *look)
{
    const vg_pool_facts *facts = &history->facts;
    size_t workers = 0;
    for (size_t i = 0; i < facts->count; i++)
        workers += facts->worker[i].doing != VG_DOING_NOTHING;
    uint64_t debt_ns = 0;
    uint64_t least_ns = 0;
    const bool indebted = note_ageing(history, &debt_ns, &least_ns);
    for (unsigned c = 0; c < VG_FACT_CLASSES; c++) {
        const bool waits = facts->queued[c] != 0 && ((facts->visible & ~facts->full) >> c & 1) != 0;
        if (!waits || facts->started[c] != history->starve_started[c] || history->starve_since[c] == 0) {
            history->starve_since[c] = waits ? look->now : 0;
            history->starve_started[c] = facts->started[c];
            history->starve_others[c] = facts->all_started;
            history->starve_above[c] = started_above(facts, c);
            history->starve_picks[c] = facts->ageing_picks;
            history->starve_base[c].at = 0;
            history->starve_until[c] = look->now + STARVED_PATIENCE * debt_ns + look->stuck_ns;
            continue;
        }
        if (indebted) /* another had its turn */
            history->starve_until[c] = look->now + STARVED_PATIENCE * debt_ns + look->stuck_ns;
        /* On a full machine the workers may pay their debts more slowly than that. */
        if (history->starve_until[c] < look->now + STARVED_PATIENCE * least_ns)
            history->starve_until[c] = look->now + STARVED_PATIENCE * least_ns;
        const uint64_t age = look->now - history->starve_since[c];
        const uint64_t others = facts->all_started - history->starve_others[c];
        if (age < look->stuck_ns / 2 || kept_from_running(history, c, look))
            continue;
        const bool broken = age >= look->stuck_ns && others >= STARVED_BOUND * (uint64_t)workers;
        if (!broken && (age < STARVED_LONG_NS || others < STARVED_FEW))
            continue;
        if (waits_for_share(history, c, workers, look))
            continue;
        vg_finding *finding =
            vg_find(look, VIGIL_STALL_STARVED_CLASS, broken ? VIGIL_SEVERITY_ERROR : VIGIL_SEVERITY_WARNING, subject,
                    facts->name, history->starve_since[c]);
        if (finding == NULL)
            return;
        vigil_verdict *verdict = &finding->verdict;
        verdict->priority = (int)c;
        finding->key = c;
        vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
        vg_say(&reason, "Priority %s of pool \"%s\" starves: not one of its %" PRIu64 " queued tasks was started for ",
               vg_priority_name(c), facts->name, facts->queued[c]);
        vg_say_time(&reason, age);
        vg_say(&reason, ", while %" PRIu64 " others were.", others);
        vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
        for (unsigned k = 0; k < VG_FACT_CLASSES; k++) {
            vg_say(&evidence, "%s: %" PRIu64 " queued, %" PRIu64 " started since the pool was made",
                   vg_priority_name(k), facts->queued[k], facts->started[k]);
            if (facts->oldest_ns[k] != 0) {
                vg_say(&evidence, ", the oldest has waited ");
                vg_say_time(&evidence, facts->oldest_ns[k]);
            }
            vg_say(&evidence, "\n");
        }
        vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
        vg_say(&advice, "%s",
               broken ? "The ageing rule (vigil/pool.h) should have started one by now, unless long fork-join work "
                        "never comes "
                        "back to the queues; submit such work in parts. Otherwise please report it with this text."
                      : "The tasks of other classes are so long that the ageing rule takes long to bring this one up: "
                        "cut them, "
                        "or cap their class (class_cap).");
    }
}

static void judge_lost(vg_pool_history *history, const vg_subject *subject, const vg_look *look)
{
    const vg_pool_facts *facts = &history->facts;
    uint64_t queued = 0;
    bool mail = false;
    for (unsigned c = 0; c < VG_FACT_CLASSES; c++)
        queued += facts->queued[c];
    for (size_t i = 0; i < facts->count; i++)
        mail = mail || facts->worker[i].mail != 0 || facts->worker[i].doing == VG_DOING_HANDLING;
    /* The audit looks into the queues, and wakes somebody for what it finds there: so not while there is something to
       be found, or it would heal a lost wake-up before it was noticed. */
    if (queued == 0 || facts->visible != 0 || mail || facts->calls ||
        look->now - history->quiet_since < look->interval_ns) {
        history->audit_since = 0;
        return;
    }
    vg_audit_fact audit = {0};
    subject->calls->audit(subject->object, &audit);
    if (!audit.settled || audit.lost == 0) {
        history->audit_since = 0;
        return;
    }
    if (history->audit_since == 0 || history->audit_lost != audit.lost) {
        history->audit_since = look->now;
        history->audit_lost = audit.lost;
        history->lost_at = look->now;
        memset(&history->lost, 0, sizeof history->lost);
        for (unsigned c = 0; c < VG_FACT_CLASSES && audit.lost > 0 && facts->delayed == 0; c++)
            if (facts->queued[c] != 0 && history->lost.function == 0)
                vg_lost_find(history->serial, c, &history->lost);
    }
    if (look->now - history->audit_since < look->interval_ns)
        return;
    vg_finding *finding =
        vg_find(look, VIGIL_STALL_LOST_TASK, VIGIL_SEVERITY_CRITICAL, subject, facts->name,
                history->quiet_since < history->audit_since ? history->quiet_since : history->audit_since);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    const uint64_t number = (uint64_t)(audit.lost < 0 ? -audit.lost : audit.lost);
    if (audit.lost > 0)
        vg_say(&reason, "%" PRIu64 " %s lost in pool \"%s\": accepted, never started, and in no queue.", number,
               number == 1 ? "task was" : "tasks were", facts->name);
    else
        vg_say(&reason, "%" PRIu64 " %s taken twice in pool \"%s\": more entries are queued than were accepted.",
               number, number == 1 ? "task was" : "tasks were", facts->name);
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say(&evidence, "audit: %" PRIu64 " accepted and not started, %" PRIu64 " found in the queues; nothing moves\n",
           audit.expected, audit.found);
    vg_say(&evidence, "%" PRIu64 " accepted, %" PRIu64 " started, %" PRIu64 " ended since the pool was made\n",
           facts->all_submitted, facts->all_started, facts->all_ended);
    for (unsigned c = 0; c < VG_FACT_CLASSES; c++)
        if (facts->queued[c] != 0 && audit.lost > 0) {
            if (verdict->priority < 0)
                verdict->priority = (int)c;
            vg_say(&evidence, "%s: %" PRIu64 " counted as queued\n", vg_priority_name(c), facts->queued[c]);
        }
    if (history->lost.function != 0) {
        char name[160];
        verdict->function = (const void *)(uintptr_t)history->lost.function;
        vg_function_name(verdict->function, name, sizeof name);
        vg_say(&evidence, "%s was submitted %" PRIu64 " time(s) more than it ran, last by thread %" PRIu64 ", ", name,
               history->lost.count, history->lost.by_thread);
        vg_say_time(&evidence, history->lost.submitted + (look->now - history->lost_at));
        vg_say(&evidence, " ago%s\n",
               history->lost.functions > 1 ? "; others are missing too, the record does not reach back far enough"
                                           : "");
    }
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    vg_say(&advice, "Every waiter for it waits for ever. Look for a task whose memory was freed, overwritten or "
                    "submitted to another "
                    "pool while it was queued; if there is none, please report it with this text.");
}

static void judge_pool_growth(vg_pool_history *history, const vg_subject *subject, const vg_look *look)
{
    const vg_pool_facts *facts = &history->facts;
    const uint64_t queued = vg_queued(facts);
    const uint64_t oldest = vg_oldest(facts);
    const bool grows = vg_growth_note(&history->growth, look, queued, facts->all_submitted, facts->all_ended);
    const uint64_t before = history->growth.look[0].queued;
    if (!grows || oldest < look->growth_ns)
        return;
    /* If nothing moves at all, somebody else has the reason. */
    const uint64_t ended = facts->all_ended - history->growth.look[0].out;
    if (ended == 0)
        for (size_t i = 0; i < look->found->count; i++)
            if (look->found->of[i].serial == history->serial)
                return;
    const double seconds = (double)(look->now - history->growth.look[0].at) / 1e9;
    const double in = (double)(facts->all_submitted - history->growth.look[0].in) / seconds;
    const double out = (double)ended / seconds;
    vg_finding *finding = vg_find(look, VIGIL_STALL_GROWING_QUEUE, VIGIL_SEVERITY_WARNING, subject, facts->name,
                                  history->growth.look[0].at);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason, "The queue of pool \"%s\" grows: %.0f tasks a second come in, %.0f are done; %" PRIu64 " wait.",
           facts->name, in, out, queued);
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say(&evidence, "%" PRIu64 " tasks waited %.1f s ago, %" PRIu64 " wait now; the oldest has waited ", before,
           seconds, queued);
    vg_say_time(&evidence, oldest);
    vg_say(&evidence, "\n");
    for (unsigned c = 0; c < VG_FACT_CLASSES; c++)
        if (facts->queued[c] != 0)
            vg_say(&evidence, "%s: %" PRIu64 " queued\n", vg_priority_name(c), facts->queued[c]);
    vg_say_throttled(&evidence, look);
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    vg_say(&advice, "%s",
           vg_throttled(look) ? vg_cpu_advice(look)
           : look->share >= 0.9
               ? "All CPUs of this process are busy: bound the queue (max_queue) so that producers notice, make the "
                 "tasks cheaper, or use more CPUs. More workers do not help."
               : "Bound the queue (max_queue) so that producers notice, make the tasks shorter, or, since there are "
                 "idle CPUs, give the pool more workers.");
}

void vg_judge_queues(vg_pool_history *history, const vg_subject *subject, const vg_look *look)
{
    judge_starved(history, subject, look);
    judge_lost(history, subject, look);
    judge_pool_growth(history, subject, look);
}
