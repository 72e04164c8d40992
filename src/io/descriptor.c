/* SPDX-License-Identifier: MIT */
/*
 * descriptor.c - any descriptor, registered once, with what it was ready for (readiness.h).
 *
 * Owner: the watch, the waits on the loop, and the end. Others reach the loop only through `gate`, which the end of the
 * loop shuts. The users have one reference together, the owner's side has one until the last waiter is notified; so a
 * thread that sleeps on the word never loses it. As with streams the user is called at most once in a row, as the last
 * step (STREAMS.md, C1 to C3).
 */
#include "readiness.h"
#include "shown.h"

#include "base/clock.h"
#include "base/mutex.h"
#include "base/options.h"
#include "base/why.h"
#include "loop/guard.h"
#include "loop/post.h"
#include "pool/blocked.h"
#include "promise/op.h"

#include <vigil/descriptor.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct vigil_descriptor {
    vg_readiness ready;
    _Atomic uint32_t users, refs;
    _Atomic int fd; /* -1: closed. Written by the owner */
    vg_mutex gate;
    vigil_loop *loop; /* under gate, or the owner: NULL when it has ended */
    vigil_post closing;

    /* Owner. */
    vg_io_shared *shared;
    vg_io_member member;
    vigil_watch watch;
    vigil_post work;
    vigil_ready *waits; /* oldest first */
    vigil_ready **last;
    bool borrowed, left, keeps, queued, system_ref;
};

/* ---- references -------------------------------------------------------------------------------------------------- */

static void descriptor_let_go(vigil_descriptor *it)
{
    /* release: our last touch; acquire: the others', if we free it */
    if (atomic_fetch_sub_explicit(&it->refs, 1, memory_order_acq_rel) == 1)
        free(it);
}

static void descriptor_hold(vigil_descriptor *it)
{
    (void)atomic_fetch_add_explicit(&it->refs, 1, memory_order_relaxed); /* relaxed: the caller has one already */
}

/* ---- the waits of the owner -------------------------------------------------------------------------------------- */

static uint32_t counts_as(unsigned events)
{
    return events | VIGIL_FD_ERROR | VIGIL_FD_HANGUP | ((events & VIGIL_FD_READ) != 0 ? VIGIL_FD_RDHUP : 0U);
}

/* 0: not yet. */
static int64_t wait_result_of(const vigil_descriptor *it, const vigil_ready *ready)
{
    const uint32_t seen = vg_readiness_seen(&it->ready) & ~(uint32_t)VG_READY_CLOSED;
    if (it->left)
        return atomic_load_explicit(&it->ready.status, memory_order_relaxed); /* acquired by vg_readiness_seen */
    return (seen & counts_as(ready->vg_events)) != 0 ? (int64_t)seen : 0;
}

static void wait_add(vigil_descriptor *it, vigil_ready *ready)
{
    ready->vg_next = NULL;
    ready->vg_link = it->last;
    *it->last = ready;
    it->last = &ready->vg_next;
}

static void wait_remove(vigil_descriptor *it, vigil_ready *ready)
{
    *ready->vg_link = ready->vg_next;
    if (ready->vg_next != NULL)
        ready->vg_next->vg_link = ready->vg_link;
    else
        it->last = ready->vg_link;
    ready->vg_link = NULL;
}

static void descriptor_keep(vigil_descriptor *it)
{
    const bool wanted = it->waits != NULL && !it->left;
    if (wanted == it->keeps || it->shared == NULL || it->shared->ended)
        return;
    it->keeps = wanted;
    vg_shown_wait(&it->member, wanted ? VG_IO_WAITS_READY : VG_IO_WAITS_NOT, vigil_loop_now(it->loop));
    if (!wanted)
        vg_loop_unkeep(it->loop);
    else if (vg_loop_keep(it->loop) != 0)
        it->keeps = false; /* the loop ends, and tells those who wait */
}

static void descriptor_want(vigil_descriptor *it)
{
    if (it->queued || it->loop == NULL || vigil_loop_tick(it->loop, &it->work) != 0)
        return;
    it->queued = true;
}

static vigil_ready *first_due(const vigil_descriptor *it, int64_t *result)
{
    vigil_ready *ready = it->waits;
    while (ready != NULL && (*result = wait_result_of(it, ready)) == 0)
        ready = ready->vg_next;
    return ready;
}

/* Tell one who waits. The last step: the descriptor may be gone afterwards. */
static void descriptor_tell(vigil_descriptor *it)
{
    int64_t result = 0;
    int64_t unused;
    vigil_ready *ready = first_due(it, &result);
    if (ready != NULL) {
        wait_remove(it, ready);
        descriptor_keep(it);
        if (first_due(it, &unused) != NULL)
            descriptor_want(it);
    }
    if (it->left && it->waits == NULL && !it->queued && it->system_ref) {
        it->system_ref = false;
        descriptor_let_go(it);
    }
    if (ready != NULL)
        ready->done(ready, result);
}

static void descriptor_run_work(vigil_post *post)
{
    vigil_descriptor *it = vg_container_of(post, vigil_descriptor, work);
    it->queued = false;
    descriptor_tell(it);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* No watch, no number. The waiters are notified afterwards, unless nobody could run that: in a child. */
static void descriptor_leave(vigil_descriptor *it, bool forked)
{
    if (it->left)
        return;
    it->left = true;
    if (!forked && !it->shared->ended) {
        (void)vigil_watch_remove(it->loop, it->watch);
        if (it->keeps)
            vg_loop_unkeep(it->loop);
    }
    it->keeps = false;
    const int fd = atomic_load_explicit(&it->fd, memory_order_relaxed);
    atomic_store_explicit(&it->fd, -1, memory_order_relaxed); /* relaxed: only a number */
    if (!it->borrowed)
        (void)close(fd);
    vg_io_leave(it->shared, &it->member);
    it->shared = NULL;
    if (!forked)
        descriptor_want(it);
    if (!it->queued) { /* nobody will be notified any more */
        it->system_ref = false;
        descriptor_let_go(it);
    }
}

static void descriptor_run_closing(vigil_post *post)
{
    vigil_descriptor *it = vg_container_of(post, vigil_descriptor, closing);
    descriptor_leave(it, false);
    descriptor_let_go(it); /* the post's */
}

static void descriptor_loop_ended(vg_io_member *member)
{
    vigil_descriptor *it = vg_container_of(member, vigil_descriptor, member);
    (void)vg_readiness_close(&it->ready, -ESHUTDOWN);
    descriptor_hold(it);
    descriptor_leave(it, false);
    vg_mutex_lock(&it->gate);
    it->loop = NULL;
    vg_mutex_unlock(&it->gate);
    descriptor_let_go(it);
}

static void descriptor_event(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    vigil_descriptor *it = arg;
    (void)loop;
    (void)watch;
    (void)fd;
    if ((events & VIGIL_FD_GONE) != 0) { /* the number may be somebody else's by now */
        it->borrowed = true;
        (void)vg_readiness_close(&it->ready, -EBADF);
        descriptor_leave(it, false);
        return;
    }
    vg_readiness_report(&it->ready, events);
    descriptor_tell(it);
}

/* The first who closes. Any thread. */
static void descriptor_shut(vigil_descriptor *it)
{
    vg_mutex_lock(&it->gate);
    vigil_loop *loop = it->loop;
    if (loop != NULL && vg_guard_any(loop) == -ECHILD) {
        descriptor_leave(it, true);
    } else if (loop != NULL && !vg_is_owner(loop)) { /* also if nobody runs it: somebody may begin to */
        descriptor_hold(it);                         /* the post's */
        if (vigil_loop_post_internal(loop, &it->closing) != 0)
            descriptor_let_go(it); /* the end of the loop does it */
        loop = NULL;
    }
    vg_mutex_unlock(&it->gate);
    if (loop != NULL)
        descriptor_leave(it, false); /* which does nothing in a child: it was done */
}

/* ---- making it --------------------------------------------------------------------------------------------------- */

static int descriptor_nonblocking(int fd)
{
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || ((flags & O_NONBLOCK) == 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0))
        return vg_why_say(-errno, "fd %d: %s", fd, strerror(errno));
    return 0;
}

static int take_descriptor_options(vigil_descriptor_options *ours, const vigil_descriptor_options *given)
{
    const vigil_descriptor_options plain = VIGIL_DESCRIPTOR_OPTIONS_INIT;
    *ours = plain;
    int error = 0;
    if (given != NULL)
        error = vg_options_take(ours, sizeof *ours, given, given->size, sizeof *ours, "options");
    if (error == 0 && (ours->events & ~(unsigned)(VIGIL_FD_READ | VIGIL_FD_WRITE | VIGIL_FD_PRI)) != 0)
        error = vg_why(-EINVAL, "options.events has another bit than VIGIL_FD_READ, VIGIL_FD_WRITE and VIGIL_FD_PRI");
    if (ours->events == 0)
        ours->events = VIGIL_FD_READ | VIGIL_FD_WRITE;
    if ((ours->events & VIGIL_FD_READ) != 0)
        ours->events |= VIGIL_FD_RDHUP;
    return error;
}

int vigil_descriptor_open(vigil_descriptor **descriptor, vigil_loop *loop, int fd,
                          const vigil_descriptor_options *options)
{
    vigil_descriptor_options ours;
    if (descriptor == NULL)
        return VG_WHY_NULL("descriptor");
    int error = vg_guard_owner(loop);
    if (error == 0)
        error = vg_guard_open(loop);
    if (error == 0)
        error = take_descriptor_options(&ours, options);
    if (error == 0)
        error = descriptor_nonblocking(fd);
    if (error != 0)
        return error;
    vigil_descriptor *it = calloc(1, sizeof *it);
    if (it == NULL)
        return vg_why(-ENOMEM, "no memory for a descriptor");
    it->member.ended = descriptor_loop_ended;
    it->shared = vg_io_enter(loop, &it->member, &error);
    if (it->shared == NULL) {
        free(it);
        return error;
    }
    vg_readiness_init(&it->ready);
    atomic_init(&it->users, 1U);
    atomic_init(&it->refs, 2U);
    atomic_init(&it->fd, fd);
    vg_mutex_init(&it->gate);
    it->loop = loop;
    it->last = &it->waits;
    it->borrowed = ours.borrowed;
    it->system_ref = true;
    vigil_post_init(&it->work, descriptor_run_work, descriptor_run_work);
    vigil_post_init(&it->closing, descriptor_run_closing, descriptor_run_closing);
    error = vigil_watch_add(loop, fd, ours.events, VIGIL_WATCH_EDGE | VIGIL_WATCH_UNREF, descriptor_event, NULL, it,
                            &it->watch);
    if (error != 0) {
        vg_io_leave(it->shared, &it->member);
        free(it);
        return error;
    }
    vg_shown_open(it->shared, &it->member, VG_IO_DESCRIPTOR, NULL, NULL);
    *descriptor = it;
    return 0;
}

int vigil_descriptor_name(vigil_descriptor *descriptor, const char *name)
{
    if (descriptor == NULL)
        return VG_WHY_NULL("descriptor");
    if (name == NULL)
        return VG_WHY_NULL("name");
    if (descriptor->shared == NULL)
        return vg_why(-EBADF, "the descriptor is closed");
    const int error = vg_io_guard(descriptor->shared);
    if (error == 0)
        vg_shown_name(&descriptor->member, name);
    return error;
}

void vigil_descriptor_unref(vigil_descriptor *descriptor)
{
    if (descriptor == NULL)
        return;
    /* release: what this user did; acquire: what the others did, before the close */
    if (atomic_fetch_sub_explicit(&descriptor->users, 1, memory_order_acq_rel) != 1)
        return;
    if (vg_readiness_close(&descriptor->ready, -ECANCELED))
        descriptor_shut(descriptor);
    descriptor_let_go(descriptor); /* the users' */
}

vigil_descriptor *vigil_descriptor_ref(vigil_descriptor *descriptor)
{
    if (descriptor != NULL)
        (void)atomic_fetch_add_explicit(&descriptor->users, 1, memory_order_relaxed); /* the caller has one already */
    return descriptor;
}

int vigil_descriptor_close(vigil_descriptor *descriptor)
{
    if (descriptor == NULL)
        return 0;
    const bool first = vg_readiness_close(&descriptor->ready, -ECANCELED);
    if (first)
        descriptor_shut(descriptor);
    vigil_descriptor_unref(descriptor);
    return first ? 0 : -EALREADY;
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

int vigil_descriptor_fd(const vigil_descriptor *descriptor)
{
    if (descriptor == NULL)
        return VG_WHY_NULL("descriptor");
    const int fd = atomic_load_explicit(&descriptor->fd, memory_order_relaxed); /* relaxed: only a number */
    return fd >= 0 ? fd : vg_why(-EBADF, "the descriptor is closed");
}

int64_t vigil_descriptor_seen(const vigil_descriptor *descriptor)
{
    return descriptor != NULL ? vg_readiness_seen(&descriptor->ready) & ~(uint32_t)VG_READY_CLOSED : 0;
}

void vigil_descriptor_clear(vigil_descriptor *descriptor, unsigned events, int64_t seen)
{
    if (descriptor != NULL && seen >= 0)
        vg_readiness_clear(&descriptor->ready, counts_as(events), (uint32_t)seen);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static int await_guard(vigil_descriptor *descriptor, unsigned events)
{
    if (descriptor == NULL)
        return VG_WHY_NULL("descriptor");
    if ((events & ~(unsigned)(VIGIL_FD_READ | VIGIL_FD_WRITE | VIGIL_FD_PRI)) != 0 || events == 0)
        return vg_why(-EINVAL, "events must be of VIGIL_FD_READ, VIGIL_FD_WRITE and VIGIL_FD_PRI");
    if (descriptor->left)
        return atomic_load_explicit(&descriptor->ready.status, memory_order_relaxed) == -ESHUTDOWN
                   ? vg_why(-ESHUTDOWN, "the loop of this descriptor has ended")
                   : vg_why(-EBADF, "the descriptor is closed");
    return vg_io_guard(descriptor->shared);
}

int vigil_descriptor_await(vigil_descriptor *descriptor, vigil_ready *ready, unsigned events)
{
    if (ready == NULL || ready->done == NULL)
        return vg_why(-EINVAL, "ready or ready->done is NULL");
    const int error = await_guard(descriptor, events);
    if (error != 0)
        return error;
    ready->vg_events = events;
    wait_add(descriptor, ready);
    descriptor_keep(descriptor);
    if (wait_result_of(descriptor, ready) != 0)
        descriptor_want(descriptor);
    return 0;
}

int vigil_descriptor_await_cancel(vigil_descriptor *descriptor, vigil_ready *ready)
{
    if (ready == NULL)
        return VG_WHY_NULL("ready");
    const int error = await_guard(descriptor, VIGIL_FD_READ);
    if (error != 0 && error != -EBADF && error != -ESHUTDOWN)
        return error;
    const vigil_ready *found = descriptor->waits;
    while (found != NULL && found != ready)
        found = found->vg_next;
    if (found == NULL)
        return -ESTALE;
    wait_remove(descriptor, ready);
    descriptor_keep(descriptor);
    return 0;
}

/* What an operation has of its descriptor. */
typedef struct descriptor_wait {
    vigil_ready ready; /* first */
    vigil_descriptor *descriptor;
} descriptor_wait;

_Static_assert(sizeof(descriptor_wait) <= sizeof(((vg_op *)0)->above), "a wait fits into its operation");

static void promised_ready(vigil_ready *ready, int64_t result)
{
    vg_op *op = (vg_op *)(void *)((char *)ready - offsetof(vg_op, above));
    vg_op_finish(op, result < 0 ? vigil_value_error((int)result) : vigil_value_int(result));
}

static void promised_ready_stop(vg_op *op)
{
    descriptor_wait *wait = (descriptor_wait *)(void *)op->above;
    if (wait->ready.vg_link == NULL)
        return;
    wait_remove(wait->descriptor, &wait->ready);
    descriptor_keep(wait->descriptor);
}

int vigil_promise_ready(vigil_descriptor *descriptor, unsigned events, vigil_cancel_token *token,
                        vigil_promise **promise)
{
    int error = await_guard(descriptor, events);
    if (error == 0 && promise == NULL)
        error = vg_why(-EINVAL, "promise is NULL: there is nowhere to put the result");
    if (error != 0)
        return error;
    vg_realm *realm = vg_realm_of_owner(descriptor->loop, &error);
    vg_op *op = realm == NULL ? NULL : vg_op_new(realm, token, __builtin_return_address(0), &error);
    if (op == NULL)
        return error;
    descriptor_wait *wait = (descriptor_wait *)(void *)op->above;
    wait->descriptor = descriptor;
    wait->ready.done = promised_ready;
    error = vigil_descriptor_await(descriptor, &wait->ready, events);
    if (error != 0) {
        vg_op_discard(op);
        return error;
    }
    op->stop = promised_ready_stop;
    return vg_op_arm(op, token, VIGIL_FOREVER, promise);
}

static int wait_guard(vigil_descriptor *descriptor, unsigned events)
{
    int error = 0;
    if (descriptor == NULL)
        return VG_WHY_NULL("descriptor");
    if ((events & ~(unsigned)(VIGIL_FD_READ | VIGIL_FD_WRITE | VIGIL_FD_PRI)) != 0 || events == 0)
        return vg_why(-EINVAL, "events must be of VIGIL_FD_READ, VIGIL_FD_WRITE and VIGIL_FD_PRI");
    vg_mutex_lock(&descriptor->gate);
    if (descriptor->loop != NULL)
        error = vg_guard_any(descriptor->loop);
    if (error == 0 && descriptor->loop != NULL && vg_is_owner(descriptor->loop))
        error = vg_why(-EDEADLK, "this thread runs the loop that would report it; see vigil_descriptor_await");
    vg_mutex_unlock(&descriptor->gate);
    return error;
}

int vigil_descriptor_wait(vigil_descriptor *descriptor, unsigned events, int64_t timeout_ns, int64_t *seen)
{
    uint32_t word = 0;
    int rc = wait_guard(descriptor, events);
    if (rc != 0)
        return rc;
    const uint64_t deadline = vg_deadline_after(timeout_ns);
    vg_blocked blocked;
    vg_blocked_begin(&blocked, &(vg_blocked_on){.kind = VG_WAIT_SIGNAL,
                                                .object = descriptor,
                                                .where = __builtin_return_address(0),
                                                .deadline_ns = deadline});
    rc = vg_readiness_wait(&descriptor->ready, counts_as(events), deadline, &word);
    vg_blocked_end(&blocked);
    if (rc == 0 && seen != NULL)
        *seen = word;
    return rc;
}
