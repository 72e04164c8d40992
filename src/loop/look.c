/* SPDX-License-Identifier: MIT */
/*
 * look.c - what keeps the loop alive, and what it has done.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "children.h"
#include "guard.h"
#include "look.h"
#include "note.h"
#include "signals.h"
#include "tally.h"
#include "base/clock.h"

#include "base/options.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what keeps it alive ----------------------------------------------------------------------------------------- */

typedef struct keeper_listing {
    vigil_keeper *keepers;
    size_t room;
    size_t count;
} keeper_listing;

static void list_keeper(keeper_listing *to, vigil_keeper keeper)
{
    if (to->count < to->room)
        to->keepers[to->count] = keeper;
    to->count++;
}

static void list_count(keeper_listing *to, vigil_keeper_kind kind, uint64_t number)
{
    if (number != 0)
        list_keeper(to, (vigil_keeper){.kind = kind, .number = (int64_t)number});
}

static void list_timers(const vigil_loop *loop, keeper_listing *to, uint64_t now)
{
    for (uint32_t slot = 0; slot < loop->timers.slots.used; slot++) {
        const vg_timer *timer = vg_registry_at(&loop->timers.slots, slot);
        if ((timer->head.generation & 1U) == 0 || (timer->flags & VG_TIMER_REFD) == 0)
            continue;
        const uint64_t ahead = timer->deadline > now ? timer->deadline - now : 0;
        const uint64_t behind = now > timer->deadline ? now - timer->deadline : 0;
        list_keeper(to, (vigil_keeper){.kind = VIGIL_KEEPER_TIMER,
                                       .id = vg_registry_name(slot, timer),
                                       .number = ahead > INT64_MAX ? INT64_MAX : (int64_t)(ahead - behind),
                                       .since_ns = now - loop->made_at - ((uint64_t)timer->since << VG_SINCE_SHIFT),
                                       .created = timer->created});
    }
}

static void list_watches(vigil_loop *loop, keeper_listing *to, uint64_t now)
{
    vg_mutex_lock(&loop->watches.lock);
    const vg_fd *record;
    for (int fd = 0; (record = vg_fds_next(&loop->watches.fds, &fd)) != NULL; fd++) {
        int saved = errno;
        bool open = fcntl(fd, F_GETFD) != -1;
        errno = saved;
        for (const vg_watch *watch = record->first; watch != NULL; watch = watch->next) {
            if ((watch->flags & VIGIL_WATCH_UNREF) != 0 || watch->inner)
                continue;
            list_keeper(to, (vigil_keeper){.kind = VIGIL_KEEPER_WATCH,
                                           .id = vg_registry_name(watch->slot, watch),
                                           .number = (int64_t)fd,
                                           .since_ns = now - watch->since,
                                           .created = watch->created,
                                           .broken = !open});
        }
    }
    vg_mutex_unlock(&loop->watches.lock);
}

static size_t internal_waiting(const vigil_loop *loop)
{
    size_t count = vg_lane_ready(&loop->lane); /* others may push: the number is unknown */
    for (const vigil_post *post = loop->internal; post != NULL; post = post->vg_next)
        count++;
    return count;
}

int vigil_loop_keepers(vigil_loop *loop, vigil_keeper *keepers, size_t room)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    if (keepers == NULL)
        room = 0;
    keeper_listing to = {.keepers = keepers, .room = room};
    uint64_t now = vg_now_ns();
    list_count(&to, VIGIL_KEEPER_REF, (uint64_t)atomic_load_explicit(&loop->refs, memory_order_relaxed));
    list_count(&to, VIGIL_KEEPER_POSTS,
               vg_ingress_accepted(&loop->ingress) - atomic_load_explicit(&loop->ingress.taken, memory_order_relaxed) +
                   internal_waiting(loop));
    list_count(&to, VIGIL_KEEPER_MICROTASKS, loop->ticks.count + loop->microtasks.count);
    list_count(&to, VIGIL_KEEPER_IMMEDIATES, loop->immediates.count + loop->immediates_now.count);
    list_count(&to, VIGIL_KEEPER_CLOSING,
               loop->closers.count + loop->closers_now.count + (loop->dead_now != NULL) +
                   atomic_load_explicit(&loop->watches.any_dead, memory_order_relaxed));
    list_count(&to, VIGIL_KEEPER_SIGNAL, vg_signals_keepers(loop));
    list_timers(loop, &to, now);
    list_watches(loop, &to, now);
    size_t used = to.count < room ? to.count : room;
    to.count += vg_children_list(loop, keepers == NULL ? NULL : keepers + used, room - used, now);
    return (int)to.count;
}

typedef struct explanation {
    char *at;
    size_t room;
    size_t length;
} explanation;

VIGIL_PRINTF(2, 3) static void explain(explanation *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t used = to->length < to->room ? to->length : to->room;
    int more = vsnprintf(to->room == 0 ? NULL : to->at + used, to->room - used, format, args);
    va_end(args);
    to->length += more > 0 ? (size_t)more : 0;
}

static void explain_origin(explanation *to, const void *created)
{
    Dl_info info = {0}; /* dladdr leaves it alone when it finds nothing */
    if (dladdr(created, &info) != 0 && info.dli_sname != NULL)
        explain(to, ", created in %s+0x%" PRIxPTR, info.dli_sname, (uintptr_t)created - (uintptr_t)info.dli_saddr);
    else if (info.dli_fname != NULL)
        explain(to, ", created at %s+0x%" PRIxPTR, info.dli_fname, (uintptr_t)created - (uintptr_t)info.dli_fbase);
    else
        explain(to, ", created at %p", created);
}

static void explain_keeper(explanation *to, const vigil_keeper *keeper)
{
    double age = (double)keeper->since_ns / 1e9;
    switch (keeper->kind) {
    case VIGIL_KEEPER_REF:
        explain(to, "  %" PRId64 " reference(s) by vigil_loop_ref without their unref\n", keeper->number);
        return;
    case VIGIL_KEEPER_POSTS:
        explain(to, "  %" PRId64 " post(s) queued\n", keeper->number);
        return;
    case VIGIL_KEEPER_MICROTASKS:
        explain(to, "  %" PRId64 " microtask(s) queued\n", keeper->number);
        return;
    case VIGIL_KEEPER_IMMEDIATES:
        explain(to, "  %" PRId64 " immediate(s) queued\n", keeper->number);
        return;
    case VIGIL_KEEPER_CLOSING:
        explain(to, "  close callbacks that have not run\n");
        return;
    case VIGIL_KEEPER_SIGNAL:
        explain(to, "  %" PRId64 " signal watch(es) with vigil_signal_ref\n", keeper->number);
        return;
    case VIGIL_KEEPER_TIMER:
        explain(to, "  a timer that fires in %.3f s, for %.3f s", (double)keeper->number / 1e9, age);
        break;
    case VIGIL_KEEPER_WATCH:
        explain(to, "  a watch on fd %" PRId64 "%s, for %.3f s", keeper->number,
                keeper->broken ? " (which is closed: nothing will ever happen on it; remove the watch)" : "", age);
        break;
    case VIGIL_KEEPER_CHILD:
        explain(to, "  a watch on child process %" PRId64 ", for %.3f s", keeper->number, age);
        break;
    }
    explain_origin(to, keeper->created);
    explain(to, "\n");
}

int vigil_loop_explain(vigil_loop *loop, char *buffer, size_t room)
{
    int count = vigil_loop_keepers(loop, NULL, 0);
    if (count < 0)
        return count;
    explanation to = {.at = buffer, .room = buffer == NULL ? 0 : room};
    if (to.room != 0)
        buffer[0] = '\0';
    if (count == 0) {
        explain(&to, "nothing keeps %s alive\n", loop->name);
        return (int)to.length;
    }
    vigil_keeper *keepers = calloc((size_t)count, sizeof *keepers);
    if (keepers == NULL)
        return vg_why(-ENOMEM, "no memory for the list of what keeps the loop alive");
    int found = vigil_loop_keepers(loop, keepers, (size_t)count);
    explain(&to, "%s is kept alive by\n", loop->name);
    for (int i = 0; i < count && i < found; i++)
        explain_keeper(&to, &keepers[i]);
    free(keepers);
    return (int)to.length;
}

/* ---- counters ---------------------------------------------------------------------------------------------------- */

uint64_t vg_loop_callbacks(const vigil_loop *loop)
{
    const vg_file_loop *c = loop->shared;
    return vg_tally_read(&loop->ingress.taken) + vg_tally_read(&c->internal_run) + vg_tally_read(&c->ticks_run) +
           vg_tally_read(&c->microtasks_run) + vg_tally_read(&c->timers_fired) + vg_tally_read(&c->fd_events) +
           vg_tally_read(&c->signals_delivered) + vg_tally_read(&c->children_reaped) +
           vg_tally_read(&c->immediates_run) + vg_tally_read(&c->closes_run) + vg_tally_read(&c->prepares_run) +
           vg_tally_read(&c->checks_run) + vg_tally_read(&c->uncaught);
}

int vigil_loop_stats_get(vigil_loop *loop, vigil_loop_stats *stats)
{
    int rc = vg_guard_any(loop);
    if (rc != 0)
        return rc;
    if (stats == NULL || stats->size < sizeof stats->size)
        return vg_why(-EINVAL, "stats is NULL, or stats->size is not set: start from VIGIL_LOOP_STATS_INIT");
    vg_loop_note_sample(loop);
    const vg_file_loop *c = loop->shared;
    vigil_loop_stats s = {.size = sizeof s, .state = vg_state(loop)};
    s.phase = (vigil_loop_phase)atomic_load_explicit(&loop->shared->phase, memory_order_relaxed);
    s.turns = vg_tally_read(&c->turns);
    /* Run before accepted: a post that runs now is in both or in the second. */
    s.posts_cancelled = vg_tally_read(&c->posts_cancelled);
    s.posts_run = vg_tally_read(&loop->ingress.taken);
    s.posts_run -= s.posts_run < s.posts_cancelled ? s.posts_run : s.posts_cancelled;
    s.posts_accepted = vg_ingress_accepted(&loop->ingress);
    s.posts_queued = s.posts_accepted - s.posts_run - s.posts_cancelled;
    s.posts_refused = vg_tally_read(&loop->shared->refused);
    s.internal_run = vg_tally_read(&c->internal_run);
    s.internal_cancelled = vg_tally_read(&c->internal_cancelled);
    s.internal_refused = vg_tally_read(&loop->shared->internal_refused);
    s.ticks_run = vg_tally_read(&c->ticks_run);
    s.microtasks_run = vg_tally_read(&c->microtasks_run);
    s.microtask_breaches = vg_tally_read(&c->microtask_breaches);
    uint64_t ended = vg_tally_read(&c->timers_ended); /* before what was started: the difference is never negative */
    s.timers_started = vg_tally_read(&c->timers_started);
    s.timers_fired = vg_tally_read(&c->timers_fired);
    s.timers_cancelled = vg_tally_read(&c->timers_cancelled);
    s.timers_active = s.timers_started - ended;
    s.fd_events = vg_tally_read(&c->fd_events);
    s.watches_active = vg_tally_read(&loop->watches.active);
    s.stale_events = vg_tally_read(&c->stale_events);
    s.fds_gone = vg_tally_read(&loop->shared->fds_gone);
    s.signals_delivered = vg_tally_read(&c->signals_delivered);
    s.children_reaped = vg_tally_read(&c->children_reaped);
    s.immediates_run = vg_tally_read(&c->immediates_run);
    s.closes_run = vg_tally_read(&c->closes_run);
    s.hooks_run = vg_tally_read(&c->prepares_run) + vg_tally_read(&c->checks_run);
    s.uncaught = vg_tally_read(&c->uncaught);
    s.sleeps = vg_tally_read(&c->sleeps);
    s.sleeps_avoided = vg_tally_read(&c->sleeps_avoided);
    s.wakes_sent = vg_tally_read(&loop->shared->wakes_sent);
    s.wakes_useful = vg_tally_read(&c->wakes_useful);
    s.wakes_spurious = vg_tally_read(&c->wakes_spurious);
    s.poll_calls = vg_tally_read(&c->poll_calls);
    s.callbacks[VIGIL_PHASE_INTERNAL] = s.internal_run;
    s.callbacks[VIGIL_PHASE_POSTS] = s.posts_run;
    s.callbacks[VIGIL_PHASE_TIMERS] = s.timers_fired;
    s.callbacks[VIGIL_PHASE_PREPARE] = vg_tally_read(&c->prepares_run);
    s.callbacks[VIGIL_PHASE_IO] = s.fd_events;
    s.callbacks[VIGIL_PHASE_CHECK] = vg_tally_read(&c->checks_run);
    s.callbacks[VIGIL_PHASE_IMMEDIATES] = s.immediates_run;
    s.callbacks[VIGIL_PHASE_CLOSE] = s.closes_run;
    double length = vg_tick_length(loop->tick_base);
    s.poll_ns = vg_ticks_to_ns(vg_tally_read(&c->poll_ticks), length);
    s.work_ns = vg_ticks_to_ns(vg_tally_read(&c->work_ticks), length);
    for (int i = 0; i < VIGIL_PHASES; i++)
        s.phase_ns[i] = vg_ticks_to_ns(vg_tally_read(&c->phase_ticks[i]), length);
    s.chunks = vg_tally_read(&loop->ingress.pool.held);
    s.timer_bytes = vg_tally_read(&loop->timers.bytes) + vg_tally_read(&loop->timers.slots.bytes);
    s.call_bytes = vg_tally_read(&loop->calls.bytes);
    return vg_options_give(stats, stats->size, &s, sizeof s, sizeof stats->size, "stats");
}
