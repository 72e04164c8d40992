/* SPDX-License-Identifier: MIT */
#include "judge.h"

#include "base/text.h"
#include "function.h"

#include <string.h>

vg_finding *vg_find(const vg_look *look, vigil_stall stall, vigil_severity severity, const vg_subject *subject,
                    const char *name, uint64_t since)
{
    vg_findings *found = look->found;
    if (found->count == VG_FINDINGS)
        return NULL;
    vg_finding *it = &found->of[found->count++];
    memset(it, 0, sizeof *it);
    it->serial = subject != NULL ? subject->serial : 0;
    it->rewake = -1;
    vigil_verdict *verdict = &it->verdict;
    verdict->size = sizeof *verdict;
    verdict->stall = stall;
    verdict->severity = severity;
    verdict->subject = subject != NULL ? subject->object : NULL;
    /* the watchdog's clock may lag behind the real one, never the other way round */
    verdict->since_ns = look->real - (look->now > since ? look->now - since : 0);
    verdict->worker = -1;
    verdict->priority = -1;
    (void)snprintf(verdict->name, sizeof verdict->name, "%s", name);
    return it;
}

void vg_find_thread(vg_finding *finding, int thread, const void *function)
{
    for (unsigned i = 0; i < finding->thread_count; i++)
        if (finding->threads[i] == thread)
            return;
    if (thread > 0 && finding->thread_count < VG_FINDING_THREADS) {
        finding->functions[finding->thread_count] = function;
        finding->threads[finding->thread_count++] = thread;
    }
}

bool vg_in_cycle(const vg_findings *found, uint64_t serial)
{
    for (size_t i = 0; i < found->count; i++)
        for (size_t k = 0; found->of[i].verdict.stall == VIGIL_STALL_WAIT_CYCLE && k < VG_FINDING_THREADS; k++)
            if (serial != 0 && found->of[i].parts[k] == serial)
                return true;
    return false;
}

void vg_stay_begin(vg_stay *stay, const vg_look *look)
{
    stay->since = look->now;
    stay->since_real = look->real;
    stay->measured = false;
    stay->own = 0;
    stay->shared = false;
}

bool vg_stay_lasts(vg_stay *stay, int thread, const vg_look *look, uint64_t least, vg_thread_look *latest,
                   uint64_t *own)
{
    const uint64_t whole = look->now - stay->since;
    memset(latest, 0, sizeof *latest);
    *own = 0;
    if (!stay->measured && whole != 0) { /* the second look at it: from here on its delays are known */
        vg_thread_look_at(thread, &stay->at);
        stay->measured = true;
    }
    if (whole < least)
        return false;
    vg_thread_look_at(thread, latest);
    *own = whole;
    if (latest->timed && stay->at.timed && latest->delay_ns >= stay->at.delay_ns) {
        const uint64_t delay = latest->delay_ns - stay->at.delay_ns;
        *own = delay < whole ? whole - delay : 0;
        /* The kernel adds a wait for a CPU when it is over. Of one that may be waiting right now only what it has run
           is sure. */
        const uint64_t ran = latest->run_ns - stay->at.run_ns;
        if (latest->state == 'R' && ran < *own)
            *own = ran;
    }
    /* A task that sleeps and is runnable for a moment has not run all the time before: keep what an earlier look has
       found. */
    if (*own < stay->own)
        *own = stay->own;
    stay->own = *own;
    return *own >= least / 2;
}

/* Long enough for a short task that was taken off its CPU to come back and end, and short enough to confirm the finding
   within five seconds although the watchdog comes late. */
#define SHARED_LEAST_NS UINT64_C(2500000000)

enum {
    SHARED_PART = 10,  /* of the limit must have been used */
    SHARED_PERCENT = 1 /* of a CPU; a thread that has less does not get anything done: NO_CPU */
};

bool vg_stay_shares(vg_stay *stay, int thread, const vg_look *look, uint64_t least, const vg_thread_look *latest,
                    uint64_t *own)
{
    const uint64_t whole = look->now - stay->since;
    const uint64_t limit = least + least / 2 > SHARED_LEAST_NS ? least + least / 2 : SHARED_LEAST_NS;
    if (whole < limit || !latest->timed || !stay->at.timed || latest->run_ns < stay->at.run_ns ||
        latest->delay_ns < stay->at.delay_ns)
        return false;
    const uint64_t ran = latest->run_ns - stay->at.run_ns;
    const uint64_t wanted = ran + (latest->delay_ns - stay->at.delay_ns);
    /* A wait for a CPU that is not over is in no account yet. */
    const bool all_the_time = wanted >= whole / 4 * 3;
    if (ran >= least / SHARED_PART && ran >= whole / 100 * SHARED_PERCENT && all_the_time && !vg_throttled(look) &&
        !vg_thread_set_back(thread))
        stay->shared = true; /* and stays so: what it had is not taken back */
    if (stay->shared && *own < ran)
        *own = ran;
    return stay->shared;
}

void vg_say_share(vg_words *to, const vg_stay *stay, int thread, const vg_thread_look *latest)
{
    if (!stay->shared)
        return;
    vg_say(to, "thread %d could run all the time and had ", thread);
    vg_say_time(to, latest->run_ns - stay->at.run_ns);
    vg_say(to, " of CPU in it: the machine is full");
    const unsigned runnable = vg_machine_runnable();
    if (runnable != 0)
        vg_say(to, ", about %u threads want to run now", runnable);
    vg_say(to, "\n");
}

const char *vg_share_advice(const vg_stay *stay)
{
    return stay->shared ? " The machine is full, which makes it last longer; others do not wait less for that." : "";
}

void vg_say_worker(vg_words *to, const vg_worker_fact *worker)
{
    if (worker->spare)
        vg_say(to, "spare worker %u", worker->index);
    else
        vg_say(to, "worker %u", worker->index);
    if (worker->thread != 0)
        vg_say(to, " (thread %d)", worker->thread);
}

const char *vg_priority_name(unsigned class_)
{
    static const char *const names[VG_FACT_CLASSES] = {"CRITICAL", "HIGH", "NORMAL", "LOW", "IDLE"};
    return class_ < VG_FACT_CLASSES ? names[class_] : "?";
}

void vg_say_thread(vg_words *to, const vg_thread_look *look)
{
    if (!look->known)
        return;
    switch (look->state) {
    case 'R':
        vg_say(to, ", running or waiting for a CPU");
        break;
    case 'S':
        vg_say(to, ", asleep");
        break;
    case 'D':
        vg_say(to, ", asleep for the disk");
        break;
    case 'T':
    case 't':
        vg_say(to, ", stopped by a signal or a debugger");
        break;
    default:
        vg_say(to, ", in the system's state %c", look->state);
    }
    if (look->where[0] != 0)
        vg_say(to, " in %s", look->where);
}

bool vg_growth_note(vg_growth *growth, const vg_look *look, uint64_t queued, uint64_t in, uint64_t out)
{
    if (growth->count != 0 && queued <= growth->look[growth->count - 1].queued)
        growth->count = 0;
    if (growth->count == VG_GROWTH_LOOKS) {
        memmove(&growth->look[0], &growth->look[1], sizeof growth->look - sizeof growth->look[0]);
        growth->count--;
    }
    const unsigned at = growth->count++;
    growth->look[at].at = look->now;
    growth->look[at].queued = queued;
    growth->look[at].in = in;
    growth->look[at].out = out;
    const uint64_t before = growth->look[0].queued;
    return growth->count == VG_GROWTH_LOOKS && queued - before >= before / 5 + 16;
}

uint64_t vg_queued(const vg_pool_facts *facts)
{
    uint64_t all = 0;
    for (unsigned c = 0; c < VG_FACT_CLASSES; c++)
        all += facts->queued[c];
    return all;
}

uint64_t vg_oldest(const vg_pool_facts *facts)
{
    uint64_t most = 0;
    for (unsigned c = 0; c < VG_FACT_CLASSES; c++)
        if (facts->oldest_ns[c] > most)
            most = facts->oldest_ns[c];
    return most;
}

void vg_say_queue(vg_words *to, const vg_pool_facts *facts)
{
    vg_say(to, "queued:");
    for (unsigned c = 0; c < VG_FACT_CLASSES; c++)
        if (facts->queued[c] != 0)
            vg_say(to, " %llu %s", (unsigned long long)facts->queued[c], vg_priority_name(c));
    if (vg_queued(facts) == 0)
        vg_say(to, " nothing");
    if (vg_oldest(facts) != 0) {
        vg_say(to, "; the oldest has waited ");
        vg_say_time(to, vg_oldest(facts));
    }
    vg_say(to, "\n");
}

void vg_say_function_name(vg_words *to, const void *function)
{
    char name[160];
    vg_function_name(function, name, sizeof name);
    vg_say(to, " %s", name);
}

void vg_say_function(vg_words *to, const void *function)
{
    if (function == NULL)
        return;
    vg_say(to, " in");
    vg_say_function_name(to, function);
}

void vg_say_throttled(vg_words *to, const vg_look *look)
{
    if (!vg_throttled(look))
        return;
    vg_say(to, "the CPU quota of this process's cgroup was used up for ");
    vg_say_time(to, look->throttled_ns);
    vg_say(to, " lately (%.0f %% of the time; throttled_usec in cpu.stat)\n", 100 * look->throttled);
}

const char *vg_cpu_advice(const vg_look *look)
{
    return vg_throttled(look)
               ? "The container has used up its CPU quota: raise it (cpu.max, or cpu.cfs_quota_us) or do "
                 "less. More workers do not help."
               : "Look at what else runs on the machine, at nice values, and at the CPU quota of the "
                 "container (cpu.max, cpu.stat).";
}

void vg_say_task(vg_words *to, const vg_worker_fact *worker)
{
    char label[64];
    vg_say_function(to, worker->function);
    if (worker->label[0] == 0)
        return;
    vg_text_copy(label, sizeof label, worker->label, sizeof worker->label, false);
    vg_say(to, " \"%s\"", label);
}
