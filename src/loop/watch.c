/* SPDX-License-Identifier: MIT */
/*
 * watch.c - descriptors: who watches what, and what is registered in the poller. WATCHES.md is the specification; F1
 * to F5 are its invariants.
 */
#include "watch.h"
#include "guard.h"
#include "post.h"
#include "run.h"
#include "sleep.h"
#include "base/clock.h"

#include <errno.h>

#define EDGE_BIT   0x80000000U
#define FAR_AWAY   (1 << 20) /* up to here the table costs at most 40 kB */
#define ALL_EVENTS (VIGIL_FD_READ | VIGIL_FD_WRITE | VIGIL_FD_PRI | VIGIL_FD_RDHUP)

static uint64_t tag_of(const vigil_loop *loop, int fd)
{
    return (uint64_t)vg_fds_find(&loop->watches.fds, fd)->generation << 32 | (uint32_t)fd;
}

/* What to register for this fd. */
static uint32_t wanted_of(const vg_fd *record)
{
    uint32_t events = 0;
    bool edge = record->first != NULL;
    for (const vg_watch *watch = record->first; watch != NULL; watch = watch->next) {
        events |= atomic_load_explicit(&watch->events, memory_order_relaxed);
        edge = edge && (watch->flags & VIGIL_WATCH_EDGE) != 0;
    }
    return events | (edge ? EDGE_BIT : 0);
}

void vg_watch_update_wanted(vigil_loop *loop)
{
    bool wanted =
        loop->options.fast_path == VIGIL_FAST_PATH_DISABLED || loop->watches.registered_fds != 0 || loop->embedded;
    /* release: the poller is open; pairs with the acquire in sleep.c, bed_of */
    atomic_store_explicit(&loop->poll_wanted, wanted, memory_order_release);
}

int vg_watch_open_poller(vigil_loop *loop)
{
    if (loop->watches.closed)
        return vg_why(-ESHUTDOWN, "the loop has ended; make a new one");
    if (loop->options.fast_path == VIGIL_FAST_PATH_FORCED)
        return vg_why(-EINVAL,
                      "the fast path is forced, so this loop cannot watch descriptors, signals or children, nor be "
                      "embedded; create it with VIGIL_FAST_PATH_AUTO or call vigil_loop_fast_path_set");
    int rc = vg_poller_open(&loop->poller);
    return rc == 0 ? 0 : vg_why(rc, "the poller could not be opened; are there too many open descriptors?");
}

static void unlink_watch(vg_fd *record, const vg_watch *watch)
{
    vg_watch **link = &record->first;
    while (*link != watch)
        link = &(*link)->next;
    *link = watch->next;
}

void vg_watch_over(vigil_loop *loop, vg_watch *watch, uint32_t flag)
{
    vg_watches *watches = &loop->watches;
    atomic_store_explicit(&watch->alive, false, memory_order_relaxed);
    watch->flags |= flag;
    watch->next = watches->dead;
    watches->dead = watch;
    atomic_store_explicit(&watches->any_dead, true, memory_order_relaxed);
    if ((watch->flags & VIGIL_WATCH_UNREF) == 0)
        (void)atomic_fetch_sub_explicit(&loop->keep, 1, memory_order_relaxed);
    if (!watch->inner)
        (void)atomic_fetch_sub_explicit(&watches->active, 1, memory_order_relaxed);
}

/* The fd was closed: report it to every watch (F5). */
void vg_watch_all_gone(vigil_loop *loop, int fd)
{
    vg_fd *record = vg_fds_find(&loop->watches.fds, fd);
    while (record->first != NULL) {
        vg_watch *watch = record->first;
        record->first = watch->next;
        vg_watch_over(loop, watch, VG_WATCH_GONE);
    }
    if (record->in_poller) {
        record->in_poller = false;
        loop->watches.registered_fds--;
    }
    (void)atomic_fetch_add_explicit(&loop->shared->fds_gone, 1, memory_order_relaxed);
}

/* Register an fd that the poller does not know (any more). */
int vg_watch_enter(vigil_loop *loop, int fd)
{
    vg_fd *record = vg_fds_find(&loop->watches.fds, fd);
    uint32_t wanted = wanted_of(record);
    bool edge = (wanted & EDGE_BIT) != 0;
    record->generation++;
    int rc = vg_poller_set(&loop->poller, VG_POLL_ADD, fd, wanted, edge, tag_of(loop, fd));
    if (rc == -EEXIST) /* its removal failed when it was closed, and it is the same file again */
        rc = vg_poller_set(&loop->poller, VG_POLL_MODIFY, fd, wanted, edge, tag_of(loop, fd));
    if (rc != 0)
        return rc;
    record->registered = wanted;
    record->hangups = 0;
    if (!record->in_poller) {
        record->in_poller = true;
        loop->watches.registered_fds++;
    }
    return 0;
}

/* Register what the remaining watches of a known fd want. */
static int tell_poller(vigil_loop *loop, int fd, bool always)
{
    vg_fd *record = vg_fds_find(&loop->watches.fds, fd);
    uint32_t wanted = wanted_of(record);
    record->hangups = 0;
    if (wanted == record->registered && !always)
        return 0;
    int rc = vg_poller_set(&loop->poller, VG_POLL_MODIFY, fd, wanted, (wanted & EDGE_BIT) != 0, tag_of(loop, fd));
    if (rc == 0)
        record->registered = wanted;
    return rc;
}

int vg_watch_confirm(vigil_loop *loop, int fd)
{
    vg_fd *record = vg_fds_find(&loop->watches.fds, fd);
    const uint32_t hangups = record->hangups;
    const int rc = tell_poller(loop, fd, true);
    record->hangups = hangups;
    return rc;
}

static void forget_fd(vigil_loop *loop, int fd)
{
    vg_fd *record = vg_fds_find(&loop->watches.fds, fd);
    if (record->in_poller) {
        /* EBADF, ENOENT: closed first; the kernel has forgotten it, or keeps an orphan (WATCHES.md). */
        (void)vg_poller_set(&loop->poller, VG_POLL_REMOVE, fd, 0, false, 0);
        record->in_poller = false;
        loop->watches.registered_fds--;
    }
    record->generation++; /* what was collected by the kernel before is stale (F4) */
}

/* Room for what is known of an fd. A large number may be a mistake: the poller says whether it is open, before memory
   is spent. */
static int reserve_fd(vigil_loop *loop, int fd)
{
    vg_fds *fds = &loop->watches.fds;
    if (vg_fds_find(fds, fd) != NULL)
        return 0;
    if (fd >= FAR_AWAY && vg_poller_set(&loop->poller, VG_POLL_MODIFY, fd, 0, false, VG_POLL_TAG_NONE) == -EBADF)
        return -EBADF;
    return vg_fds_make(fds, fd) != NULL ? 0 : -ENOMEM;
}

/* Under the lock. *gone: the number was closed and reopened, and its old watches are over. */
static int add_to_fd(vigil_loop *loop, vg_watch *watch, bool *gone)
{
    vg_fd *record = vg_fds_find(&loop->watches.fds, watch->fd);
    vg_watch **link = &record->first;
    while (*link != NULL)
        link = &(*link)->next;
    *link = watch;
    int rc = record->in_poller ? tell_poller(loop, watch->fd, true) : vg_watch_enter(loop, watch->fd);
    if (rc == -ENOENT || (rc == -EBADF && record->in_poller)) {
        unlink_watch(record, watch);
        vg_watch_all_gone(loop, watch->fd);
        *gone = true;
        watch->next = NULL;
        record->first = watch;
        if (rc == -ENOENT)
            rc = vg_watch_enter(loop, watch->fd);
    }
    if (rc != 0)
        unlink_watch(record, watch);
    return rc;
}

static bool runs_elsewhere(const vigil_loop *loop)
{
    return !vg_is_owner(loop);
}

/* *id: the name; after the lock the loop may end and free the watch. */
static int add_watch(vigil_loop *loop, vg_watch **result, const vg_watch *wanted, uint64_t *id)
{
    vg_watches *watches = &loop->watches;
    uint32_t slot = 0;
    bool gone = false;
    vg_mutex_lock(&watches->lock);
    int rc = vg_watch_open_poller(loop);
    if (rc == 0)
        rc = reserve_fd(loop, wanted->fd);
    vg_watch *watch = rc == 0 ? vg_registry_alloc(&watches->slots, &slot) : NULL;
    if (rc == 0 && watch == NULL)
        rc = -ENOMEM;
    if (rc == 0) {
        vg_registry_head head = watch->head;
        *watch = *wanted;
        watch->head = head;
        watch->slot = slot;
        rc = add_to_fd(loop, watch, &gone);
        if (rc != 0)
            vg_registry_free(&watches->slots, slot, watch);
    }
    if (rc == 0) {
        atomic_store_explicit(&watch->alive, true, memory_order_relaxed);
        if ((watch->flags & VIGIL_WATCH_UNREF) == 0)
            (void)atomic_fetch_add_explicit(&loop->keep, 1, memory_order_relaxed);
        if (!watch->inner)
            (void)atomic_fetch_add_explicit(&watches->active, 1, memory_order_relaxed);
        vg_watch_update_wanted(loop);
        *result = watch;
        *id = vg_registry_name(slot, watch);
    }
    if (gone && rc != 0)
        vg_watch_update_wanted(loop);
    vg_mutex_unlock(&watches->lock);
    if (gone) {
        vg_emit(loop, VIGIL_LOOP_FD_GONE, wanted->fd, -EBADF, 1,
                "an fd was closed while it was watched; the old watches are over. Remove a watch before you close its "
                "fd");
        if (runs_elsewhere(loop))
            vg_loop_wake(loop); /* to tell them */
    }
    return rc;
}

static void remove_watch(vigil_loop *loop, vg_watch *watch)
{
    vg_fd *record = vg_fds_find(&loop->watches.fds, watch->fd);
    unlink_watch(record, watch);
    if (record->first == NULL)
        forget_fd(loop, watch->fd);
    else
        (void)tell_poller(loop, watch->fd, false); /* if the fd is gone, the next add or modify finds out */
    vg_watch_over(loop, watch, 0);
    vg_watch_update_wanted(loop);
}

int vg_watch_add_inner(vigil_loop *loop, vg_watch **watch, int fd, uint32_t events, vigil_watch_fn fn, void *arg,
                       bool keeps_alive)
{
    vg_watch wanted = {.fd = fd, .inner = true, .flags = keeps_alive ? 0 : VIGIL_WATCH_UNREF, .fn = fn, .arg = arg};
    atomic_init(&wanted.events, events);
    uint64_t id;
    return add_watch(loop, watch, &wanted, &id);
}

void vg_watch_remove_inner(vigil_loop *loop, vg_watch *watch)
{
    vg_mutex_lock(&loop->watches.lock);
    if (atomic_load_explicit(&watch->alive, memory_order_relaxed))
        remove_watch(loop, watch);
    vg_mutex_unlock(&loop->watches.lock);
}

/* ---- the public calls -------------------------------------------------------------------------------------------- */

static vg_watch *find_watch(vigil_loop *loop, vigil_watch watch)
{
    uint32_t slot = vg_registry_find(&loop->watches.slots, watch.id);
    if (slot == UINT32_MAX)
        return NULL;
    vg_watch *found = vg_registry_at(&loop->watches.slots, slot);
    return atomic_load_explicit(&found->alive, memory_order_relaxed) && !found->inner ? found : NULL;
}

/* Remove a watch without a report. False: it is over already. */
static bool take_back_watch(vigil_loop *loop, vigil_watch watch)
{
    vg_mutex_lock(&loop->watches.lock);
    vg_watch *found = find_watch(loop, watch);
    if (found != NULL) {
        found->closed = NULL;
        remove_watch(loop, found);
    }
    vg_mutex_unlock(&loop->watches.lock);
    if (found != NULL)
        vg_loop_wake(loop);
    return found != NULL;
}

int vigil_watch_add(vigil_loop *loop, int fd, unsigned events, unsigned flags, vigil_watch_fn fn, vigil_call_fn closed,
                    void *arg, vigil_watch *watch)
{
    int rc = vg_guard_any(loop);
    if (rc == 0)
        rc = vg_guard_open(loop);
    if (rc != 0)
        return rc;
    if (fn == NULL || (events & ~ALL_EVENTS) != 0 || (flags & ~(VIGIL_WATCH_EDGE | VIGIL_WATCH_UNREF)) != 0)
        return vg_why(-EINVAL, "fn is NULL, or events or flags has a bit that is not known");
    if (fd < 0)
        return -EBADF;
    vg_watch wanted = {.fd = fd,
                       .flags = flags,
                       .fn = fn,
                       .closed = closed,
                       .arg = arg,
                       .created = __builtin_return_address(0),
                       .since = vg_now_ns()};
    atomic_init(&wanted.events, events);
    vg_watch *made = NULL;
    vigil_watch name = {0};
    vg_inflight_begin(loop);
    rc = add_watch(loop, &made, &wanted, &name.id);
    if (rc == 0) {
        if (watch != NULL)
            *watch = name;
        rc = vg_loop_settle(loop);
        /* Refused: take it back. If the end was faster and dropped the watch, it was added, and closed() reports its
           end. */
        if (rc != 0 && !take_back_watch(loop, name))
            rc = 0;
    }
    vg_inflight_end(loop);
    return rc;
}

int vigil_watch_modify(vigil_loop *loop, vigil_watch watch, unsigned events)
{
    int rc = vg_guard_any(loop);
    if (rc != 0)
        return rc;
    if ((events & ~ALL_EVENTS) != 0)
        return vg_why(-EINVAL, "events has a bit that is not known");
    if (vg_guard_over(loop) != 0)
        return -ESTALE;
    vg_inflight_begin(loop);
    vg_mutex_lock(&loop->watches.lock);
    int gone_fd = -1;
    vg_watch *found = find_watch(loop, watch);
    if (found == NULL) {
        rc = -ESTALE;
    } else {
        uint32_t before = atomic_load_explicit(&found->events, memory_order_relaxed);
        atomic_store_explicit(&found->events, events, memory_order_relaxed);
        rc = tell_poller(loop, found->fd, false);
        if (rc == -EBADF || rc == -ENOENT) {
            gone_fd = found->fd;
            vg_watch_all_gone(loop, gone_fd);
            vg_watch_update_wanted(loop);
        } else if (rc != 0) {
            atomic_store_explicit(&found->events, before, memory_order_relaxed);
        }
    }
    vg_mutex_unlock(&loop->watches.lock);
    if (gone_fd >= 0) {
        vg_emit(loop, VIGIL_LOOP_FD_GONE, gone_fd, rc, 1,
                "an fd was closed while it was watched; its watches are over. Remove a watch before you close its fd");
        vg_loop_wake(loop);
    }
    vg_inflight_end(loop);
    return rc;
}

int vigil_watch_remove(vigil_loop *loop, vigil_watch watch)
{
    int rc = vg_guard_any(loop);
    if (rc != 0)
        return rc;
    if (vg_guard_over(loop) != 0)
        return -ESTALE;
    vg_inflight_begin(loop);
    vg_mutex_lock(&loop->watches.lock);
    vg_watch *found = find_watch(loop, watch);
    if (found != NULL)
        remove_watch(loop, found);
    vg_mutex_unlock(&loop->watches.lock);
    if (found != NULL && runs_elsewhere(loop))
        vg_loop_wake(loop); /* to run closed(); it may also have been the last reason to live */
    vg_inflight_end(loop);
    return found != NULL ? 0 : -ESTALE;
}

/* Under the lock. */
static void set_watch_ref(vigil_loop *loop, vg_watch *watch, bool on)
{
    const bool is_on = (watch->flags & VIGIL_WATCH_UNREF) == 0;
    if (on == is_on)
        return;
    watch->flags ^= VIGIL_WATCH_UNREF;
    /* The owner's call: it does not end in between, and looks again before it sleeps. */
    (void)atomic_fetch_add_explicit(&loop->keep, on ? 1 : -1, memory_order_relaxed);
}

void vg_watch_ref_inner(vigil_loop *loop, vg_watch *watch, bool on)
{
    vg_mutex_lock(&loop->watches.lock);
    if (atomic_load_explicit(&watch->alive, memory_order_relaxed))
        set_watch_ref(loop, watch, on);
    vg_mutex_unlock(&loop->watches.lock);
}

static int ref_watch(vigil_loop *loop, vigil_watch watch, bool on)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    vg_mutex_lock(&loop->watches.lock);
    vg_watch *found = find_watch(loop, watch);
    if (found != NULL)
        set_watch_ref(loop, found, on);
    vg_mutex_unlock(&loop->watches.lock);
    return found != NULL ? 0 : -ESTALE;
}

int vigil_watch_ref(vigil_loop *loop, vigil_watch watch)
{
    return ref_watch(loop, watch, true);
}

int vigil_watch_unref(vigil_loop *loop, vigil_watch watch)
{
    return ref_watch(loop, watch, false);
}

int vigil_loop_fast_path_set(vigil_loop *loop, vigil_fast_path mode)
{
    int rc = vg_guard_any(loop);
    if (rc != 0)
        return rc;
    if ((unsigned)mode > VIGIL_FAST_PATH_DISABLED)
        return vg_why(-EINVAL, "mode is not one of vigil_fast_path");
    rc = vg_guard_over(loop);
    if (rc != 0)
        return rc;
    vg_inflight_begin(loop);
    vg_mutex_lock(&loop->watches.lock);
    if (loop->watches.closed)
        rc = vg_why(-ESHUTDOWN, "the loop has ended; make a new one");
    else if (mode == VIGIL_FAST_PATH_FORCED && (loop->watches.registered_fds != 0 || loop->embedded))
        rc = vg_why(-EBUSY, "descriptors are watched, so the loop must sleep in the poller; remove them first");
    else if (mode == VIGIL_FAST_PATH_DISABLED)
        rc = vg_poller_open(&loop->poller);
    if (rc == 0) {
        loop->options.fast_path = mode;
        vg_watch_update_wanted(loop);
    }
    vg_mutex_unlock(&loop->watches.lock);
    if (rc == 0)
        vg_loop_wake(loop); /* a sleeper changes its bed */
    vg_inflight_end(loop);
    return rc;
}
