/* SPDX-License-Identifier: MIT */
/*
 * judge_loop.c - what stands in a loop: a callback that keeps it, a wake-up that was lost, posts that come faster than
 * they run.
 *
 * A loop that is awake counts something with each callback and each turn. If nothing has been counted for loop_ms of
 * its thread's own time, one callback has it. The exception: the loop sleeps although its state says that it was woken
 * (the call was lost on the way): then it is between two phases, inside no callback, and its thread is asleep.
 */
#include "judge_loop.h"

#include "function.h"
#include "locks.h"

#include <inttypes.h>

static void say_posts(vg_words *to, const vg_loop_facts *facts)
{
    vg_say(to, "posts: %" PRIu64 " accepted, %" PRIu64 " taken, %" PRIu64 " waiting\n", facts->accepted, facts->taken,
           facts->accepted - facts->taken);
}

static void judge_loop_wake(vg_loop_history *history, const vg_subject *subject, const vg_look *look, uint64_t since,
                            const char *how)
{
    const vg_loop_facts *facts = &history->facts;
    vg_finding *finding = vg_find(look, VIGIL_STALL_LOST_WAKEUP, VIGIL_SEVERITY_CRITICAL, subject, facts->name, since);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    verdict->thread = facts->thread;
    finding->rewake_loop = true; /* no stack: the signal would wake it, and nobody would know whether it sleeps */
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason, "A wake-up was lost in loop \"%s\": something was posted, and the loop sleeps.", facts->name);
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    say_posts(&evidence, facts);
    vg_say(&evidence, "thread %d %s for ", facts->thread, how);
    vg_say_time(&evidence, look->now - since);
    vg_say(&evidence, "\n");
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    vg_say(&advice, "This is a fault of the library or of its memory, not of the callbacks: please report it with this "
                    "text. Any new "
                    "post may set it going again; VIGIL_RECOVER_REWAKE does so by itself.");
}

static void judge_loop_blocked(vg_loop_history *history, const vg_subject *subject, const vg_look *look, uint64_t own,
                               const vg_thread_look *latest)
{
    const vg_loop_facts *facts = &history->facts;
    const bool waits = facts->accepted > facts->taken;
    vg_finding *finding = vg_find(look, VIGIL_STALL_LOOP_BLOCKED,
                                  own >= 10 * look->loop_ns ? VIGIL_SEVERITY_ERROR : VIGIL_SEVERITY_WARNING, subject,
                                  facts->name, history->stay.since);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    verdict->thread = facts->thread;
    verdict->function = facts->function;
    vg_find_thread(finding, facts->thread, facts->function);
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason, "Loop \"%s\" is blocked by one callback", facts->name);
    if (facts->function != NULL) {
        char name[160];
        vg_function_name(facts->function, name, sizeof name);
        vg_say(&reason, ", %s,", name);
    }
    vg_say(&reason, " for ");
    vg_say_time(&reason, own);
    vg_say(&reason, " (%s).", subject->calls->phase_name(facts->phase));
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say(&evidence, "thread %d", facts->thread);
    vg_say_thread(&evidence, latest);
    int last = 0; /* who holds the lock that the callback waits for */
    vg_say_lock_chain(&evidence, facts->thread, &last);
    vg_find_thread(finding, last, NULL);
    vg_say(&evidence, "\n");
    vg_say_share(&evidence, &history->stay, facts->thread, latest);
    say_posts(&evidence, facts);
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    vg_say(&advice, "%s%s",
           latest->state == 'R' || !latest->known
               ? "Hand long work to a pool and come back with a post, or cut it with immediates."
               : "The callback sleeps: use the loop's own timers and watches, or hand the call that waits to a pool.",
           vg_share_advice(&history->stay));
    if (waits)
        vg_say(&advice, " %" PRIu64 " posts wait.", facts->accepted - facts->taken);
}

/* The thread that ran the loop has ended inside a callback. */
static void judge_loop_gone(vg_loop_history *history, const vg_subject *subject, const vg_look *look)
{
    const vg_loop_facts *facts = &history->facts;
    vg_thread_look latest;
    if (!facts->runs || look->now - history->stay.since < look->stuck_ns)
        return;
    vg_thread_look_at(facts->thread, &latest);
    if (!vg_thread_gone(facts->thread, &latest))
        return;
    vg_finding *finding =
        vg_find(look, VIGIL_STALL_THREAD_GONE, VIGIL_SEVERITY_CRITICAL, subject, facts->name, history->stay.since);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    verdict->thread = facts->thread;
    verdict->function = facts->function;
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason, "The thread that ran loop \"%s\" has ended", facts->name);
    vg_say_function(&reason, facts->function);
    vg_say(&reason, ": nobody runs the loop.");
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say(&evidence, "the system knows no thread %d any more\n", facts->thread);
    say_posts(&evidence, facts);
    (void)snprintf(verdict->advice, sizeof verdict->advice,
                   "A callback must return: look for pthread_exit or pthread_cancel. Another thread may shut the loop "
                   "down.");
}

static void judge_loop_growth(vg_loop_history *history, const vg_subject *subject, const vg_look *look)
{
    const vg_loop_facts *facts = &history->facts;
    const uint64_t queued = facts->accepted - facts->taken;
    const bool grows = vg_growth_note(&history->growth, look, queued, facts->accepted, facts->taken);
    const uint64_t before = history->growth.look[0].queued;
    const uint64_t taken = facts->taken - history->growth.look[0].out;
    if (!grows || facts->thread == 0 || taken == 0)
        return; /* nobody runs it, or one callback has it: another verdict reports that */
    const double seconds = (double)(look->now - history->growth.look[0].at) / 1e9;
    const double out = (double)taken / seconds;
    if ((double)queued / out * 1e9 < (double)look->growth_ns)
        return; /* the last of them will have to wait for less than that */
    vg_finding *finding = vg_find(look, VIGIL_STALL_GROWING_QUEUE, VIGIL_SEVERITY_WARNING, subject, facts->name,
                                  history->growth.look[0].at);
    if (finding == NULL)
        return;
    vigil_verdict *verdict = &finding->verdict;
    verdict->thread = facts->thread;
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason, "The posts of loop \"%s\" pile up: %.0f a second come in, %.0f are run; %" PRIu64 " wait.",
           facts->name, (double)(facts->accepted - history->growth.look[0].in) / seconds, out, queued);
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say(&evidence, "%" PRIu64 " posts waited %.1f s ago; one that comes now will wait about ", before, seconds);
    vg_say_time(&evidence, (uint64_t)((double)queued / out * 1e9));
    vg_say(&evidence, "\n");
    say_posts(&evidence, facts);
    vg_say_throttled(&evidence, look);
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    vg_say(&advice, "%s",
           vg_throttled(look) ? vg_cpu_advice(look)
                              : "Bound the posts (max_posts) so that producers notice, post several things at once, or "
                                "hand the work to a pool.");
}

void vg_judge_loop(vg_loop_history *history, const vg_subject *subject, const vg_look *look)
{
    const vg_loop_facts *facts = &history->facts;
    /* While it sleeps it is about nothing: the stay begins when it is seen awake. */
    if (!history->any || facts->progress != history->progress || !facts->runs) {
        history->progress = facts->progress;
        vg_stay_begin(&history->stay, look);
    }
    if (!facts->sleeps || !facts->waiting || facts->taken != history->taken)
        history->lost_wake_since = 0;
    else if (history->lost_wake_since == 0)
        history->lost_wake_since = look->now;
    history->taken = facts->taken;
    const bool any = history->any;
    history->any = true;
    if (!any)
        return;
    if (history->lost_wake_since != 0 && look->now - history->lost_wake_since >= look->stuck_ns) {
        vg_thread_look latest;
        vg_thread_look_at(facts->thread, &latest);
        if (latest.state != 'R')
            judge_loop_wake(history, subject, look, history->lost_wake_since, "has not been called, and slept");
    }
    if (facts->runs) {
        vg_thread_look latest;
        uint64_t own = 0;
        const bool lasts = vg_stay_lasts(&history->stay, facts->thread, look, look->loop_ns, &latest, &own) ||
                           vg_stay_shares(&history->stay, facts->thread, look, look->loop_ns, &latest, &own);
        const bool between = facts->phase == 0 && facts->function == NULL;
        const bool asleep = between && (latest.state == 'S' || latest.state == 'D');
        if (lasts && asleep && facts->waiting)
            judge_loop_wake(history, subject, look, history->stay.since, "was called, and slept on");
        else if (lasts && !between && !vg_thread_gone(facts->thread, &latest))
            judge_loop_blocked(history, subject, look, look->now - history->stay.since, &latest);
        const uint64_t whole = look->now - history->stay.since;
        if (whole >= look->hog_ns && !lasts && latest.timed && look->share < 0.5) {
            vg_finding *finding =
                vg_find(look, VIGIL_STALL_NO_CPU, VIGIL_SEVERITY_WARNING, subject, facts->name, history->stay.since);
            if (finding != NULL) {
                vigil_verdict *verdict = &finding->verdict;
                verdict->thread = facts->thread;
                (void)snprintf(verdict->reason, sizeof verdict->reason,
                               "The system does not give loop \"%s\" the CPU: its thread could run and is not run.",
                               facts->name);
                vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
                vg_say(&evidence, "thread %d had ", facts->thread);
                vg_say_time(&evidence, own);
                vg_say(&evidence, " of the last ");
                vg_say_time(&evidence, whole);
                vg_say(&evidence, "\nthis process had %.0f %% of the %u CPUs that it may use\n", 100 * look->share,
                       look->cpus);
                vg_say_throttled(&evidence, look);
                (void)snprintf(verdict->advice, sizeof verdict->advice, "Nothing is wrong with the callbacks. %s",
                               vg_cpu_advice(look));
            }
        }
    }
    judge_loop_gone(history, subject, look);
    judge_loop_growth(history, subject, look);
    vg_judge_spin(&history->spin, facts, subject, look);
}
