/* SPDX-License-Identifier: MIT */
/*
 * reader_loop.c - a loop, from the copy of its block.
 */
#include "reader_loop.h"
#include "raw.h"

static void show_counters(const vg_file_loop *from, vg_loop_view *view)
{
    view->turns = vg_raw_get(&from->turns);
    view->posts_accepted = vg_raw_get(&from->posts_accepted);
    view->posts_cancelled = vg_raw_get(&from->posts_cancelled);
    view->posts_run = vg_less(vg_raw_get(&from->posts_taken), view->posts_cancelled);
    view->posts_queued = vg_less(view->posts_accepted, vg_raw_get(&from->posts_taken));
    view->posts_refused = vg_raw_get(&from->refused);
    view->internal_run = vg_raw_get(&from->internal_run);
    view->internal_cancelled = vg_raw_get(&from->internal_cancelled);
    view->internal_refused = vg_raw_get(&from->internal_refused);
    view->ticks_run = vg_raw_get(&from->ticks_run);
    view->microtasks_run = vg_raw_get(&from->microtasks_run);
    view->microtask_breaches = vg_raw_get(&from->microtask_breaches);
    view->timers_started = vg_raw_get(&from->timers_started);
    view->timers_fired = vg_raw_get(&from->timers_fired);
    view->timers_cancelled = vg_raw_get(&from->timers_cancelled);
    view->timers_active = vg_less(view->timers_started, vg_raw_get(&from->timers_ended));
    view->fd_events = vg_raw_get(&from->fd_events);
    view->stale_events = vg_raw_get(&from->stale_events);
    view->fds_gone = vg_raw_get(&from->fds_gone);
    view->watches = vg_raw_get(&from->watches);
    view->signals_delivered = vg_raw_get(&from->signals_delivered);
    view->children_reaped = vg_raw_get(&from->children_reaped);
    view->immediates_run = vg_raw_get(&from->immediates_run);
    view->closes_run = vg_raw_get(&from->closes_run);
    view->prepares_run = vg_raw_get(&from->prepares_run);
    view->checks_run = vg_raw_get(&from->checks_run);
    view->uncaught = vg_raw_get(&from->uncaught);
    view->sleeps = vg_raw_get(&from->sleeps);
    view->sleeps_avoided = vg_raw_get(&from->sleeps_avoided);
    view->wakes_sent = vg_raw_get(&from->wakes_sent);
    view->wakes_useful = vg_raw_get(&from->wakes_useful);
    view->wakes_spurious = vg_raw_get(&from->wakes_spurious);
    view->poll_calls = vg_raw_get(&from->poll_calls);
    view->keep = (int64_t)vg_raw_get(&from->keep);
}

void vg_raw_loop(const vg_raw *raw, size_t at, vg_loop_view *view)
{
    const vg_file_loop *from = raw->blocks[at].memory;
    const vg_file_loop *before = raw->before[at];
    const vg_file_loop *after = raw->after[at];
    view->serial = raw->blocks[at].serial;
    vg_copy_text(view->name, sizeof view->name, from->name, sizeof from->name);
    view->age_ns = vg_raw_age(raw, from->born_ticks);
    view->changes = vg_raw_history(raw, &before->changes, from->history, &after->changes, view->history);
    view->state = view->changes != 0 ? view->history[0].state : (unsigned)vg_raw_get(&from->state);
    view->state_age_ns = view->changes != 0 ? view->history[0].age_ns : vg_raw_age(raw, vg_raw_get(&from->state_since));
    view->phase = (unsigned)vg_raw_get(&from->phase);
    view->phase_age_ns = vg_raw_age(raw, vg_raw_get(&from->phase_since));
    view->call_function = vg_raw_get(&from->call_function);
    view->call_age_ns = view->call_function != 0 ? vg_raw_age(raw, vg_raw_get(&from->call_since)) : 0;
    view->tid = (pid_t)vg_raw_get(&from->tid);
    view->thread = vg_raw_get(&from->thread);
    show_counters(from, view);
    view->poll_ns = vg_raw_ns(raw, vg_raw_get(&from->poll_ticks));
    view->work_ns = vg_raw_ns(raw, vg_raw_get(&from->work_ticks));
    for (unsigned i = 0; i < VG_FILE_PHASES; i++)
        view->phase_ns[i] = vg_raw_ns(raw, vg_raw_get(&from->phase_ticks[i]));
    const uint64_t sampled = vg_raw_get(&from->sampled_at);
    view->sampled_age_ns = sampled == 0 ? UINT64_MAX : vg_raw_age(raw, sampled);
    vg_raw_hist(raw, &from->callback, &view->callback);
    vg_raw_hist(raw, &from->delay, &view->delay);
    vg_raw_hist(raw, &from->poll, &view->poll);
    vg_raw_hist(raw, &from->wake, &view->wake);
}
