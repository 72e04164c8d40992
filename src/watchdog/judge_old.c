/* SPDX-License-Identifier: MIT */
/*
 * judge_old.c - waits and promises that have been open for long.
 *
 * Promise.  The loop sleeps, and its oldest promise that only the program can settle is old_ms old. Promises behind
 *           which there is a timer, a descriptor, a child or a task are not meant: they are settled when that comes.
 * Wait.     A worker has waited for old_ms without a timeout, and nothing was started or ended in its pool for as long.
 *           Not for a channel or a signal: a consumer may be idle for hours.
 * Nobody knows whether such a thing is meant. It is reported as INFO, and as WARNING after OLD_WARNING times old_ms.
 */
#include "judge_old.h"

#include "function.h"

enum {
    OLD_WARNING = 10
};

static const char *waited_for(const vg_wait_fact *wait)
{
    switch (wait->what) {
    case VG_WAITS_JOB:
        return "a job";
    case VG_WAITS_GROUP:
        return "a group";
    case VG_WAITS_LOCK:
        return "a lock";
    case VG_WAITS_PROMISE:
        return "a promise";
    default:
        return "something";
    }
}

static vigil_severity old_severity(uint64_t age, const vg_look *look)
{
    return age >= OLD_WARNING * look->old_ns ? VIGIL_SEVERITY_WARNING : VIGIL_SEVERITY_INFO;
}

void vg_judge_old_waits(const vg_pool_history *history, const vg_subject *subject, const vg_look *look)
{
    const vg_pool_facts *facts = &history->facts;
    const vg_worker_fact *oldest = NULL;
    size_t count = 0;
    if (!history->any || look->now - history->quiet_since < look->old_ns)
        return;
    for (size_t i = 0; i < facts->count; i++) {
        const vg_wait_fact *wait = &facts->worker[i].wait;
        if (wait->what == VG_WAITS_NOT || wait->what == VG_WAITS_OTHER || wait->limited ||
            look->real < wait->since_ns + look->old_ns)
            continue;
        count++;
        if (oldest == NULL || wait->since_ns < oldest->wait.since_ns)
            oldest = &facts->worker[i];
    }
    if (oldest == NULL)
        return;
    const uint64_t age = look->real - oldest->wait.since_ns;
    vg_finding *finding = vg_find(look, VIGIL_STALL_OLD_WAIT, old_severity(age, look), subject, facts->name, look->now);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    verdict->since_ns = oldest->wait.since_ns;
    verdict->worker = (int)oldest->index;
    verdict->thread = oldest->thread;
    verdict->function = oldest->function;
    finding->no_stacks = facts->small_stacks;
    vg_find_thread(finding, oldest->thread, oldest->function);
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say_worker(&reason, oldest);
    vg_say(&reason, " of pool \"%s\" has waited for %s for ", facts->name, waited_for(&oldest->wait));
    vg_say_time(&reason, age);
    vg_say_task(&reason, oldest);
    vg_say(&reason, ", and nothing has begun or ended in the pool since.");
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say(&evidence, "%zu of %zu workers wait without a timeout", count, facts->count);
    if (oldest->wait.function != NULL) {
        vg_say(&evidence, "; the job is");
        vg_say_function_name(&evidence, oldest->wait.function);
    }
    vg_say(&evidence, "\n");
    vg_say_queue(&evidence, facts);
    (void)snprintf(verdict->advice, sizeof verdict->advice,
                   "If the wait is meant, nothing is wrong; raise old_ms. If not, the stack shows who waits: look for "
                   "what should end it, and give the wait a timeout.");
}

void vg_judge_old_promise(const vg_loop_facts *facts, const vg_subject *subject, const vg_look *look)
{
    if (facts->open_since_ns == 0 || look->real < facts->open_since_ns + look->old_ns)
        return;
    const uint64_t age = look->real - facts->open_since_ns;
    vg_finding *finding = vg_find(look, VIGIL_STALL_OLD_WAIT, old_severity(age, look), subject, facts->name, look->now);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    char maker[160] = "an unknown place";
    if (facts->open_created != NULL)
        vg_function_name((const char *)facts->open_created - 1, maker, sizeof maker); /* a return address */
    verdict->since_ns = facts->open_since_ns;
    verdict->thread = facts->thread;
    verdict->function = facts->open_created;
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason, "Nobody has settled a promise of loop \"%s\" for ", facts->name);
    vg_say_time(&reason, age);
    vg_say(&reason, "; it was made in %s.", maker);
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say(&evidence, "the loop sleeps (thread %d); the promise is the oldest that only the program can settle\n",
           facts->thread);
    (void)snprintf(
        verdict->advice, sizeof verdict->advice,
        "If it waits for something rare, nothing is wrong; raise old_ms. If not, look at each way out of the "
        "code that has the promise or its resolver, above all where errors return early: one of them forgets "
        "it. vigil_promise_guard gives a promise a time limit.");
}
