/* SPDX-License-Identifier: MIT */
/*
 * awaits.c - things to wait for: time, descriptors, children, signals, groups, other promises with a limit.
 */
#include "base/why.h"
#include "awaits.h"

#include "promise.h"
#include "shared.h"
#include "then.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

/* The words of wait(2); musl has no names for making them. */
#ifndef W_EXITCODE
#define W_EXITCODE(status, signal) ((status) << 8 | (signal))
#endif
#ifndef WCOREFLAG
#define WCOREFLAG 0x80
#endif

/* What each of the calls below begins with. */
static vg_op *begin_await(vigil_loop *loop, vigil_cancel_token *token, vigil_promise **promise, const void *created,
                          int *error)
{
    vg_realm *realm = vg_realm_of_owner(loop, error);
    if (realm == NULL)
        return NULL;
    if (promise == NULL) {
        *error = vg_why(-EINVAL, "promise is NULL: there is nowhere to put the result");
        return NULL;
    }
    return vg_op_new(realm, token, created, error);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void slept(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vg_op *op = arg;
    (void)loop;
    (void)timer;
    op->timer.id = 0;
    vg_op_finish(op, vigil_value_none());
}

int vigil_promise_sleep(vigil_loop *loop, int64_t delay_ns, vigil_cancel_token *token, vigil_promise **promise)
{
    int error;
    vg_op *op = begin_await(loop, token, promise, __builtin_return_address(0), &error);
    if (op == NULL)
        return error;
    error = vigil_timer_start(loop, delay_ns, slept, op, &op->timer);
    if (error != 0) {
        vg_op_discard(op);
        return error;
    }
    return vg_op_arm(op, token, VIGIL_FOREVER, promise);
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

static void fd_ready(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)loop;
    (void)watch;
    (void)fd;
    vg_op_finish(arg, (events & VIGIL_FD_GONE) != 0 ? vigil_value_error(-EBADF) : vigil_value_int((int64_t)events));
}

static void fd_closed(void *arg)
{
    vg_op_unref(arg);
}

static void fd_stop(vg_op *op)
{
    (void)vigil_watch_remove(op->realm->loop, (vigil_watch){op->id});
}

int vigil_promise_fd(vigil_loop *loop, int fd, unsigned events, vigil_cancel_token *token, vigil_promise **promise)
{
    int error;
    vg_op *op = begin_await(loop, token, promise, __builtin_return_address(0), &error);
    if (op == NULL)
        return error;
    vigil_watch watch;
    vg_op_ref(op); /* the watch's, until it is closed */
    error = vigil_watch_add(loop, fd, events, 0, fd_ready, fd_closed, op, &watch);
    if (error != 0) {
        vg_op_unref(op);
        vg_op_discard(op);
        return error;
    }
    op->id = watch.id;
    op->stop = fd_stop;
    return vg_op_arm(op, token, VIGIL_FOREVER, promise);
}

/* ---- children and signals ---------------------------------------------------------------------------------------- */

static void child_ended(vigil_loop *loop, vigil_child child, pid_t pid, int code, int status, void *arg)
{
    vg_op *op = arg;
    (void)loop;
    (void)child;
    (void)pid;
    op->id = 0;
    if (code == 0)
        vg_op_finish(op, vigil_value_error(status));
    else if (code == CLD_EXITED)
        vg_op_finish(op, vigil_value_int(W_EXITCODE(status & 0xff, 0)));
    else
        vg_op_finish(op, vigil_value_int(W_EXITCODE(0, status) | (code == CLD_DUMPED ? WCOREFLAG : 0)));
}

static void child_stop(vg_op *op)
{
    if (op->id != 0)
        (void)vigil_child_remove(op->realm->loop, (vigil_child){op->id});
}

int vigil_promise_child(vigil_loop *loop, pid_t pid, vigil_cancel_token *token, vigil_promise **promise)
{
    int error;
    vg_op *op = begin_await(loop, token, promise, __builtin_return_address(0), &error);
    if (op == NULL)
        return error;
    vigil_child child;
    error = vigil_child_add(loop, pid, child_ended, op, &child);
    if (error != 0) {
        vg_op_discard(op);
        return error;
    }
    op->id = child.id;
    op->stop = child_stop;
    return vg_op_arm(op, token, VIGIL_FOREVER, promise);
}

static void signal_came(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    (void)loop;
    (void)signal;
    vg_op_finish(arg, vigil_value_int(info->signo));
}

static void signal_stop(vg_op *op)
{
    (void)vigil_signal_remove(op->realm->loop, (vigil_signal){op->id});
}

int vigil_promise_signal(vigil_loop *loop, int signo, vigil_cancel_token *token, vigil_promise **promise)
{
    int error;
    vg_op *op = begin_await(loop, token, promise, __builtin_return_address(0), &error);
    if (op == NULL)
        return error;
    vigil_signal signal;
    error = vigil_signal_add(loop, signo, signal_came, op, &signal);
    if (error != 0) {
        vg_op_discard(op);
        return error;
    }
    op->id = signal.id;
    op->stop = signal_stop;
    return vg_op_arm(op, token, VIGIL_FOREVER, promise);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static vigil_value wait_for_group(void *arg)
{
    int status = vigil_group_wait(arg);
    return status < 0 ? vigil_value_error(status) : vigil_value_none();
}

int vigil_promise_group(vigil_loop *loop, vigil_group *group, vigil_cancel_token *token, vigil_promise **promise)
{
    if (group == NULL)
        return VG_WHY_NULL("group");
    if ((group->vg_flags & VIGIL_GROUP_DETACHED) == 0)
        return vg_why(-EINVAL, "group was made without VIGIL_GROUP_DETACHED");
    vigil_async_options options = VIGIL_ASYNC_OPTIONS_INIT;
    options.token = token;
    return vigil_async(loop, group->vg_pool, wait_for_group, group, &options, promise);
}

/* ---- another promise, within limits ------------------------------------------------------------------------------ */

static vg_op *op_of_link(vigil_post *post)
{
    return vg_container_of(post, vg_op, guard.link.post);
}

/* Its result is shared, as with adoption. */
static void guarded_settled(vigil_post *post)
{
    vg_op *op = op_of_link(post);
    vigil_promise *source = op->guard.link.source;
    if (!op->finished) {
        vigil_promise *promise = op->promise; /* with the operation's reference */
        op->promise = NULL;
        vg_op_finish(op, vigil_value_none());
        vg_promise_pass_on(promise, source);
        vigil_promise_unref(promise);
    }
    vg_promise_unhold(source);
    vg_op_unref(op);
}

/* It will never be settled, or the loop is closed. */
static void guarded_cancelled(vigil_post *post)
{
    vg_op *op = op_of_link(post);
    vigil_promise *source = op->guard.link.source;
    if (source == NULL) {
        op->stop = NULL;
        if (op->token == NULL && op->timer.id == 0)
            vg_op_forget(op); /* nothing is left that could settle it */
    } else {
        op->guard.link.source = NULL;
        if (!op->finished)
            vg_op_finish(op, vigil_value_error(-ECANCELED));
        vg_promise_unhold(source);
    }
    vg_op_unref(op);
}

/* The token or the time was first: the guarded promise forgets us. */
static void guard_stop(vg_op *op)
{
    vigil_promise *source = op->guard.link.source;
    if (source != NULL && vg_promise_unsubscribe(source, &op->guard))
        vg_op_unref(op);
}

bool vg_op_is_served(vg_op *op)
{
    if (vg_op_was_given(op))
        return true;
    return op->stop == guard_stop && op->guard.link.source != NULL &&
           vg_promise_state(op->guard.link.source) != VIGIL_PENDING;
}

int vigil_promise_guard(vigil_promise *promise, vigil_cancel_token *token, int64_t timeout_ns, vigil_promise **guarded)
{
    if (promise == NULL)
        return VG_WHY_NULL("promise");
    int error;
    vg_op *op = begin_await(promise->realm->loop, token, guarded, __builtin_return_address(0), &error);
    if (op == NULL)
        return error;
    error = vg_op_arm(op, token, timeout_ns, guarded);
    if (error != 0)
        return error;
    vigil_post_init(&op->guard.link.post, guarded_settled, guarded_cancelled);
    vg_op_ref(op); /* the reaction's */
    vg_promise_subscribe_removable(promise, &op->guard);
    op->stop = guard_stop;
    return 0;
}

/* ---- a source that aborts itself --------------------------------------------------------------------------------- */

static vg_op *op_of_clock(const vg_cancel_clock *clock)
{
    return vg_container_of(clock, vg_op, clock);
}

static void clock_hold(const vg_cancel_clock *clock)
{
    vg_op_ref(op_of_clock(clock));
}

static void clock_let_go(const vg_cancel_clock *clock, bool lonely)
{
    vg_op *op = op_of_clock(clock);
    if (lonely) {
        /* The hold travels with the post. If it is refused, the ending loop takes the timer. */
        if (vigil_loop_post_internal(op->realm->loop, &op->abort_post) == 0)
            return;
    }
    vg_op_unref(op);
}

static void clock_unwanted(vigil_post *post)
{
    vg_op *op = (vg_op *)(void *)post;
    if (!op->finished)
        vg_op_finish(op, vigil_value_none());
    vg_op_unref(op);
}

static void clock_rings(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vg_op *op = arg;
    (void)loop;
    (void)timer;
    op->timer.id = 0;
    (void)vigil_cancel_abort(op->source, -ETIMEDOUT, "the time is up");
    vg_op_finish(op, vigil_value_none());
}

static void clock_stop(vg_op *op)
{
    vigil_cancel_source *source = op->source;
    if (op->realm->ending)
        (void)vigil_cancel_abort(source, -ESHUTDOWN, "the loop has ended");
    vigil_cancel_destroy(source);
}

int vigil_cancel_create_timeout(vigil_cancel_source **out, vigil_loop *loop, int64_t timeout_ns)
{
    int error;
    vg_realm *realm = vg_realm_of_owner(loop, &error);
    if (realm == NULL)
        return error;
    vigil_cancel_source *source = NULL;
    error = out == NULL ? VG_WHY_NULL("source") : vigil_cancel_create(&source);
    if (error != 0)
        return error;
    if (timeout_ns < 0) {
        *out = source;
        return 0;
    }
    vg_op *op = vg_op_new(realm, NULL, NULL, &error);
    if (op == NULL) {
        vigil_cancel_destroy(source);
        return error;
    }
    op->abort_post.run = clock_unwanted;
    op->abort_post.cancel = clock_unwanted;
    vigil_timer_options options = {.size = sizeof options, .delay_ns = timeout_ns, .flags = VIGIL_TIMER_UNREF};
    error = vigil_timer_start_with(loop, &options, clock_rings, op, &op->timer);
    if (error != 0) {
        vg_op_discard(op);
        vigil_cancel_destroy(source);
        return error;
    }
    op->clock = (vg_cancel_clock){.hold = clock_hold, .let_go = clock_let_go};
    vg_cancel_set_clock(source, &op->clock);
    op->source = (vigil_cancel_source *)vigil_cancel_ref(vigil_cancel_token_of(source));
    op->stop = clock_stop;
    *out = source;
    return 0;
}
