/* SPDX-License-Identifier: MIT */
/*
 * judge_spin.c - a loop that turns without rest.
 *
 * A loop that turns for a second and hardly sleeps is busy; that alone is no fault. It is one if the reason never goes
 * away by being handled:
 *   microtask   microtasks queue further ones, so that the budget of a turn is used up in every look
 *   descriptor  one that is hung up or in error, or closed, stays ready whatever the callback does, until somebody
 *               removes its watch
 *   timer       nearly every turn fires timers and nothing else, thousands a second: a delay of 0 that starts itself
 *               again
 * For descriptors the watchdog asks poll(2) with a timeout of 0 for those that the loop's epoll set holds
 * (/proc/self/fdinfo). That consumes nothing.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "judge_spin.h"

#include "base/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

enum {
    SPIN_LOOKS = 4,        /* in a row */
    SPIN_WATCHED = 256,    /* descriptors that are asked */
    SPIN_TURNS_RATE = 500, /* a second in which its thread runs */
    SPIN_TIMER_RATE = 5000,
    SPIN_FEW = 10,        /* turns since the last look */
    SPIN_REST_NS = 300000 /* asleep in a turn, on average: more is rest */
};
#define SPIN_NS UINT64_C(800000000)

static void begin_spin(vg_spin *spin, const vg_loop_facts *facts, const vg_look *look)
{
    *spin = (vg_spin){.any = true,
                      .since = look->now,
                      .turns = facts->turns,
                      .fd_events = facts->fd_events,
                      .timers_fired = facts->timers_fired,
                      .microtasks = facts->microtasks,
                      .breaches = facts->breaches,
                      .last_breaches = facts->breaches,
                      .last_turns = facts->turns,
                      .last_poll_ticks = facts->poll_ticks,
                      .last_ticks = vg_ticks(),
                      .last_now = look->now,
                      .last_real = look->real,
                      .begun = spin->last,
                      .last = spin->last};
}

typedef enum spin_rest {
    SPIN_RESTS,
    SPIN_UNKNOWN, /* the system has hardly run it since the last look */
    SPIN_RESTLESS /* many turns, and next to no time asleep for each */
} spin_rest;

/*
 * Since the last look. Two measures of its sleep: what the loop spent in its poll, which on a full machine is also time
 * in which it waited for a CPU; and what the system says that its thread neither ran nor waited to run.
 */
static spin_rest rest_of(vg_spin *spin, const vg_loop_facts *facts, const vg_look *look)
{
    const uint64_t turns = facts->turns - spin->last_turns;
    const uint64_t now = vg_ticks();
    const uint64_t span = look->now - spin->last_now;
    const uint64_t real = look->real - spin->last_real;
    const uint64_t ticks = now - spin->last_ticks;
    const double asleep = ticks != 0 ? (double)(facts->poll_ticks - spin->last_poll_ticks) / (double)ticks : 1;
    const vg_thread_look before = spin->last;
    if (turns < SPIN_FEW && !facts->runs && spin->looks == 0)
        spin->last = (vg_thread_look){0}; /* it costs three files: not for a loop that sleeps */
    else
        vg_thread_look_at(facts->thread, &spin->last);
    if (!spin->begun.timed)
        spin->begun = spin->last;
    const bool timed = before.timed && spin->last.timed;
    const uint64_t ran = timed ? spin->last.run_ns - before.run_ns : 0;
    const uint64_t awake = timed ? ran + (spin->last.delay_ns - before.delay_ns) : 0;
    spin->last_turns = facts->turns;
    spin->last_poll_ticks = facts->poll_ticks;
    spin->last_ticks = now;
    spin->last_now = look->now;
    spin->last_real = look->real;
    if (turns < SPIN_FEW && spin->last.state == 'R')
        return SPIN_UNKNOWN;
    const uint64_t busy = ran != 0 && ran < span ? ran : span;
    if (busy == 0 || turns * 1000000000 / busy < SPIN_TURNS_RATE)
        return SPIN_RESTS;
    if (asleep * (double)span / (double)turns < (double)SPIN_REST_NS)
        return SPIN_RESTLESS;
    /* The kernel adds a wait for a CPU when it is over: of a thread that waits right now it is not known yet. */
    if (timed && (spin->last.state == 'R' || awake >= real || (real - awake) / turns < SPIN_REST_NS))
        return SPIN_RESTLESS;
    return SPIN_RESTS;
}

/* So many a second, of the time that the thread had a CPU. */
static uint64_t spin_rate(const vg_spin *spin, uint64_t count, uint64_t span)
{
    const uint64_t ran = spin->begun.timed && spin->last.timed ? spin->last.run_ns - spin->begun.run_ns : 0;
    const uint64_t busy = ran != 0 && ran < span ? ran : span;
    return busy != 0 ? (uint64_t)((double)count * 1e9 / (double)busy) : 0;
}

/* The descriptors in an epoll set. */
static unsigned watched_fds(int poll_fd, struct pollfd *fds, unsigned room)
{
    char path[64];
    char line[256];
    unsigned count = 0;
    (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", poll_fd);
    FILE *file = poll_fd >= 0 ? fopen(path, "re") : NULL;
    while (file != NULL && count < room && fgets(line, sizeof line, file) != NULL) {
        int fd = -1;
        if (sscanf(line, "tfd: %d", &fd) == 1 && fd >= 0) // NOLINT(cert-err34-c)
            fds[count++] = (struct pollfd){.fd = fd};
    }
    if (file != NULL)
        (void)fclose(file);
    return count;
}

static void note_fds(vg_spin *spin, const vg_loop_facts *facts)
{
    struct pollfd fds[SPIN_WATCHED];
    const unsigned count = watched_fds(facts->poll_fd, fds, SPIN_WATCHED);
    vg_spin next = *spin;
    next.fd_count = 0;
    if (count != 0 && poll(fds, count, 0) > 0)
        for (unsigned i = 0; i < count && next.fd_count < VG_SPIN_FDS; i++) {
            const short bad = (short)(fds[i].revents & (POLLHUP | POLLERR | POLLNVAL));
            if (bad == 0)
                continue;
            next.fds[next.fd_count].fd = fds[i].fd;
            next.fds[next.fd_count].events = bad;
            next.fds[next.fd_count].looks = 1;
            for (unsigned k = 0; k < spin->fd_count; k++)
                if (spin->fds[k].fd == fds[i].fd)
                    next.fds[next.fd_count].looks = spin->fds[k].looks + 1;
            next.fd_count++;
        }
    *spin = next;
}

static vg_finding *find_spin(const vg_spin *spin, const vg_loop_facts *facts, const vg_subject *subject,
                             const vg_look *look, uint64_t key_part)
{
    vg_finding *finding =
        vg_find(look, VIGIL_STALL_LOOP_SPINS, VIGIL_SEVERITY_WARNING, subject, facts->name, spin->since);
    if (finding == NULL)
        return NULL;
    finding->key = key_part;
    finding->verdict.thread = facts->thread;
    finding->verdict.function = facts->function;
    vg_words evidence = vg_words_into(finding->verdict.evidence, sizeof finding->verdict.evidence);
    vg_say(&evidence, "in ");
    vg_say_time(&evidence, look->now - spin->since);
    vg_say(&evidence,
           " without rest: %" PRIu64 " turns, %" PRIu64 " events of descriptors, %" PRIu64 " timers, %" PRIu64
           " microtasks\n",
           facts->turns - spin->turns, facts->fd_events - spin->fd_events, facts->timers_fired - spin->timers_fired,
           facts->microtasks - spin->microtasks);
    return finding;
}

static void find_fd_spin(const vg_spin *spin, unsigned at, const vg_loop_facts *facts, const vg_subject *subject,
                         const vg_look *look)
{
    vg_finding *finding = find_spin(spin, facts, subject, look, (uint64_t)(unsigned)spin->fds[at].fd << 8 | 1);
    if (finding == NULL)
        return;
    const short events = spin->fds[at].events;
    (void)snprintf(finding->verdict.reason, sizeof finding->verdict.reason,
                   "Loop \"%s\" spins: descriptor %d is %s, so it stays ready and the loop never sleeps.", facts->name,
                   spin->fds[at].fd,
                   (events & POLLNVAL) != 0  ? "closed"
                   : (events & POLLERR) != 0 ? "in error"
                                             : "hung up");
    (void)snprintf(finding->verdict.advice, sizeof finding->verdict.advice,
                   "Remove the watch of this descriptor when its callback gets VIGIL_FD_ERROR or VIGIL_FD_HANGUP or "
                   "read returns 0, and close the descriptor after that.");
}

void vg_judge_spin(vg_spin *spin, const vg_loop_facts *facts, const vg_subject *subject, const vg_look *look)
{
    const spin_rest rest = spin->any && facts->thread != 0 ? rest_of(spin, facts, look) : SPIN_RESTS;
    if (rest == SPIN_UNKNOWN)
        return;
    if (rest == SPIN_RESTS) {
        begin_spin(spin, facts, look);
        return;
    }
    spin->looks++;
    spin->breached = facts->breaches != spin->last_breaches ? spin->breached + 1 : 0;
    spin->last_breaches = facts->breaches;
    const uint64_t turns = facts->turns - spin->turns;
    const uint64_t span = look->now - spin->since;
    if (turns == 0)
        return; /* one callback has it: that is LOOP_BLOCKED */
    note_fds(spin, facts);
    if (spin->looks < SPIN_LOOKS || span < SPIN_NS)
        return;
    if (spin->breached >= SPIN_LOOKS) {
        vg_finding *finding = find_spin(spin, facts, subject, look, 2);
        if (finding != NULL) {
            (void)snprintf(finding->verdict.reason, sizeof finding->verdict.reason,
                           "Loop \"%s\" spins: microtasks queue further microtasks without end.", facts->name);
            (void)snprintf(finding->verdict.advice, sizeof finding->verdict.advice,
                           "Let one of them come back through a timer, an immediate or a post, so that other callbacks "
                           "get their turn.");
        }
        return;
    }
    for (unsigned i = 0; i < spin->fd_count; i++)
        if (spin->fds[i].looks >= SPIN_LOOKS && facts->fd_events - spin->fd_events >= turns / 2) {
            find_fd_spin(spin, i, facts, subject, look);
            return;
        }
    const uint64_t timers = facts->timers_fired - spin->timers_fired;
    if (timers >= turns / 10 * 9 && spin_rate(spin, timers, span) >= SPIN_TIMER_RATE &&
        facts->fd_events - spin->fd_events <= turns / 100) {
        vg_finding *finding = find_spin(spin, facts, subject, look, 3);
        if (finding != NULL) {
            (void)snprintf(finding->verdict.reason, sizeof finding->verdict.reason,
                           "Loop \"%s\" spins: %" PRIu64 " timers fire in a second, and nothing else happens.",
                           facts->name, span != 0 ? timers * 1000000000 / span : 0);
            (void)snprintf(finding->verdict.advice, sizeof finding->verdict.advice,
                           "A timer with a delay of 0 starts itself again, or an interval is far too short: use an "
                           "immediate for work in parts, and a delay that the work needs.");
        }
    }
}
