/* SPDX-License-Identifier: MIT */
/*
 * watch_owner.c - the owner's side of watches: events to callbacks, burial, healing the poller. F1 to F5: WATCHES.md.
 */
#include "watch_owner.h"
#include "guard.h"
#include "micro.h"
#include "note.h"
#include "run.h"
#include "tally.h"
#include "watch.h"
#include "base/clock.h"
#include "base/futex.h"

#define ALWAYS (VIGIL_FD_ERROR | VIGIL_FD_HANGUP)

enum {
    BUSY_PROBE = 64,     /* turns in a row with events */
    HANGUP_STORM = 1024, /* turns in a row; reported then and at each doubling */
    PAUSE_NS = 10000000
};

static void make_ready(vg_watches *watches, vg_watch *watch, uint32_t events)
{
    watch->ready_events = events;
    if (watch->ready)
        return;
    watch->ready = true;
    watch->ready_next = NULL;
    if (watches->ready == NULL)
        watches->ready = watch;
    else
        watches->ready_last->ready_next = watch;
    watches->ready_last = watch;
}

/* A stale event: can its source be switched off? */
static bool switch_off(vigil_loop *loop, int fd)
{
    const vg_watches *watches = &loop->watches;
    const vg_fd *record = vg_fds_find(&watches->fds, fd);
    if (record != NULL && record->in_poller)
        return false; /* the number is in use again; removal would hit the new registration */
    return vg_poller_set(&loop->poller, VG_POLL_REMOVE, fd, 0, false, 0) == 0;
}

/* Under the lock. Register every fd in a new set. */
static void enter_all(vigil_loop *loop)
{
    const vg_fd *record;
    for (int fd = 0; (record = vg_fds_next(&loop->watches.fds, &fd)) != NULL; fd++) {
        if (record->first != NULL && vg_watch_enter(loop, fd) != 0)
            vg_watch_all_gone(loop, fd);
    }
}

/* Under the lock. A new set with every registered fd. */
static int refill(vigil_loop *loop, bool old_is_ours)
{
    int rc = vg_poller_renew(&loop->poller, old_is_ours);
    if (rc != 0)
        return rc;
    enter_all(loop);
    vg_watch_update_wanted(loop);
    return 0;
}

/* An fd that has events in turn after turn: is it still the one that was registered? Asked at each doubling. */
static inline bool is_closed_number(vigil_loop *loop, vg_fd *record, int fd, uint32_t turn)
{
    record->busy = record->busy_turn + 1 == turn ? record->busy + 1 : 1;
    record->busy_turn = turn;
    if (record->busy < BUSY_PROBE || (record->busy & (record->busy - 1)) != 0)
        return false;
    const int rc = vg_watch_confirm(loop, fd);
    return rc == -EBADF || rc == -ENOENT;
}

void vg_watch_collect(vigil_loop *loop)
{
    vg_watches *watches = &loop->watches;
    int gone_fd = -1;
    int storm_fd = -1;
    uint64_t storm = 0;
    bool orphan = false;
    uint64_t suspect = VG_POLL_TAG_NONE;
    bool renewed = false;
    const uint32_t turn = (uint32_t)vg_tally_read(&loop->shared->turns);
    vg_mutex_lock(&watches->lock);
    for (uint32_t i = 0; i < loop->poll_count; i++) {
        int fd = (int)(uint32_t)loop->events[i].tag;
        uint32_t generation = (uint32_t)(loop->events[i].tag >> 32);
        uint32_t events = loop->events[i].events;
        vg_fd *record = vg_fds_find(&watches->fds, fd);
        if (record == NULL || !record->in_poller || record->generation != generation) {
            vg_tally(&loop->shared->stale_events, 1); /* F4 */
            if (!switch_off(loop, fd)) {
                orphan = orphan || loop->events[i].tag == watches->suspect;
                suspect = loop->events[i].tag;
            }
            continue;
        }
        record->hangups = (events & ALWAYS) != 0 ? record->hangups + 1 : 0;
        if (record->hangups >= HANGUP_STORM && (record->hangups & (record->hangups - 1)) == 0) {
            storm_fd = fd;
            storm = record->hangups;
        }
        if (is_closed_number(loop, record, fd, turn)) {
            gone_fd = fd;
            orphan = true;
            vg_watch_all_gone(loop, fd);
            continue;
        }
        for (vg_watch *watch = record->first; watch != NULL; watch = watch->next)
            make_ready(watches, watch, events);
    }
    watches->suspect = suspect;
    if (orphan)
        renewed = refill(loop, true) == 0;
    vg_mutex_unlock(&watches->lock);
    loop->poll_count = 0;
    if (gone_fd >= 0)
        vg_emit(
            loop, VIGIL_LOOP_FD_GONE, gone_fd, -EBADF, 1,
            "an fd was closed while it was watched, and a duplicate of it kept firing; its watches are over. Remove a "
            "watch before you close its fd");
    if (renewed)
        vg_emit(loop, VIGIL_LOOP_FD_ORPHAN, -1, 0, 1,
                "an fd was closed while it was watched, and a duplicate of it still fires; the poller was made anew. "
                "Remove a watch before you close its fd. If the loop is embedded, ask for vigil_loop_fd again");
    if (storm_fd >= 0)
        vg_emit(
            loop, VIGIL_LOOP_HUP_STORM, storm_fd, 0, storm,
            "an fd reports hang-up or error in turn after turn; its watches neither remove themselves nor close it");
}

void vg_watch_run(vigil_loop *loop)
{
    vg_watches *watches = &loop->watches;
    while (watches->ready != NULL && !vg_interrupted(loop)) {
        vg_watch *watch = watches->ready;
        watches->ready = watch->ready_next;
        watch->ready = false;
        if (!atomic_load_explicit(&watch->alive, memory_order_relaxed)) /* F2 */
            continue;
        uint32_t events = watch->ready_events & (atomic_load_explicit(&watch->events, memory_order_relaxed) | ALWAYS);
        if (events == 0)
            continue;
        vigil_watch name = {.id = vg_registry_name(watch->slot, watch)};
        vg_tally(&loop->shared->fd_events, 1);
        loop->own_calls += watch->inner;
        vg_loop_note_call(loop, (uintptr_t)watch->fn);
        watch->fn(loop, name, watch->fd, events, watch->arg);
        vg_loop_note_called(loop);
        vg_checkpoint(loop);
    }
}

void vg_watch_bury(vigil_loop *loop)
{
    vg_watches *watches = &loop->watches;
    vg_watch *oldest = loop->dead_now;
    vg_mutex_lock(&watches->lock);
    while (watches->dead != NULL) { /* newest first: turn it round */
        vg_watch *watch = watches->dead;
        watches->dead = watch->next;
        watch->next = oldest;
        oldest = watch;
    }
    atomic_store_explicit(&watches->any_dead, false, memory_order_relaxed);
    vg_mutex_unlock(&watches->lock);
    loop->dead_now = oldest;
}

void vg_watch_free_dead(vigil_loop *loop, vg_watch *watch)
{
    vigil_watch_fn fn = (watch->flags & VG_WATCH_GONE) != 0 ? watch->fn : NULL;
    vigil_call_fn closed = watch->closed;
    void *arg = watch->arg;
    int fd = watch->fd;
    vigil_watch name = {.id = vg_registry_name(watch->slot, watch)};
    if (fn != NULL) {
        watch->flags &= ~(uint32_t)VG_WATCH_GONE; /* it may raise: then we come here again for closed() */
        loop->dead_now = watch;
        vg_loop_note_call(loop, (uintptr_t)fn);
        fn(loop, name, fd, VIGIL_FD_GONE, arg);
        return;
    }
    vg_mutex_lock(&loop->watches.lock);
    vg_registry_free(&loop->watches.slots, watch->slot, watch);
    vg_mutex_unlock(&loop->watches.lock);
    if (closed != NULL) {
        vg_loop_note_call(loop, (uintptr_t)closed);
        closed(arg);
    }
}

void vg_watch_drop_all(vigil_loop *loop)
{
    vg_watches *watches = &loop->watches;
    watches->ready = NULL;
    vg_mutex_lock(&watches->lock);
    vg_fd *record;
    for (int fd = 0; (record = vg_fds_next(&watches->fds, &fd)) != NULL; fd++) {
        while (record->first != NULL) {
            vg_watch *watch = record->first;
            record->first = watch->next;
            vg_watch_over(loop, watch, 0);
        }
        record->in_poller = false;
    }
    watches->registered_fds = 0;
    vg_mutex_unlock(&watches->lock);
}

void vg_watch_heal(vigil_loop *loop, int error)
{
    vg_mutex_lock(&loop->watches.lock);
    int rc = refill(loop, false); /* its number may belong to other code by now */
    vg_mutex_unlock(&loop->watches.lock);
    vg_emit(loop, VIGIL_LOOP_POLL_FAILED, -1, error, 1,
            rc == 0 ? "the poller's descriptor was not usable any more (closed by mistake?); it was made anew"
                    : "the poller's descriptor was not usable any more, and a new one could not be had; trying again");
    if (rc != 0) {
        /* Without a poller there is nothing to sleep in. Not part of the sleep protocol: this pause only saves the core
           until a descriptor can be had. */
        uint32_t state = atomic_load_explicit(&loop->state, memory_order_relaxed);
        (void)vg_futex_wait(&loop->state, state, vg_deadline_after(PAUSE_NS));
    }
}

int vg_watch_after_fork(vigil_loop *loop)
{
    vg_mutex_init(&loop->watches.lock); /* its holder may be a thread that is not here */
    /* Nothing is open, and nothing was: a failed first try leaves nothing open. */
    if (loop->poller.poll_fd < 0 && atomic_load_explicit(&loop->poller.wake_fd, memory_order_relaxed) < 0 &&
        !atomic_load_explicit(&loop->poll_wanted, memory_order_relaxed))
        return 0;
    int rc = vg_poller_after_fork(&loop->poller, loop->embedded);
    if (rc != 0)
        return rc;
    enter_all(loop);
    return 0;
}
