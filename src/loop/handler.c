/* SPDX-License-Identifier: MIT */
/*
 * handler.c - one signal handler for the process. It passes a signal to every loop that wants it, then calls the
 * handler that was there before. SIGNALS.md is the specification.
 *
 * Static data: the kernel has one handler per signal and process, and so have we. adopt.h sets it up, and again in
 * the child of a fork.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "handler.h"

#include "base/adopt.h"
#include "base/mutex.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SIGNALS_MOST = 64
};

/* What a signal did before our handler. Never freed: a handler may read it at any moment. */
typedef struct former_action {
    struct sigaction action;
    struct former_action *older; /* before an earlier installation that somebody may have kept and may call */
} former_action;

typedef struct signal_state {
    _Atomic(former_action *) former;
    uint32_t users; /* sinks of this process that want it; under the lock */
} signal_state;

static struct {
    _Atomic uint32_t owner; /* adopt.h */
    uint32_t pid;           /* the owner's: a child of vfork has its number */
    vg_mutex lock;
    vg_sinks sinks;
    signal_state signals[SIGNALS_MOST + 1];
} process_signals;

/* How often our handler is on the stack of this thread, per signal; kept only if it can be entered from below
   itself. */
static _Thread_local uint8_t handler_depth[SIGNALS_MOST + 1];

/* ---- in the handler ---------------------------------------------------------------------------------------------- */

/* As if we were not here: the default action, on return from the handler. */
static void act_by_default(int signo)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    (void)sigaction(signo, &action, NULL);
    (void)raise(signo);
}

static void call_former(const former_action *former, int signo, siginfo_t *info, void *context, bool taken)
{
    const struct sigaction *action = &former->action;
    if ((action->sa_flags & SA_SIGINFO) != 0)
        action->sa_sigaction(signo, info, context);
    else if (action->sa_handler == SIG_DFL) {
        if (!taken)
            act_by_default(signo);
    } else if (action->sa_handler != SIG_IGN)
        action->sa_handler(signo);
}

static void handle_signal(int signo, siginfo_t *info, void *context)
{
    const int saved = errno;
    /* acquire: pairs with the release in install_handler */
    const former_action *former = atomic_load_explicit(&process_signals.signals[signo].former, memory_order_acquire);
    const vg_signal_record record = {.signo = signo,
                                     .code = info->si_code,
                                     .pid = info->si_pid,
                                     .uid = info->si_uid,
                                     .value = info->si_value.sival_int};
    const bool reentrant = former->older != NULL;
    uint8_t depth = reentrant ? handler_depth[signo] : 0;
    /* The child of a fork that has not called vigil_loop_fork, or of a vfork, has our handler and none of our sinks:
       the list is its parent's. acquire: the list; pairs with the release in vg_adopt_end */
    const bool ours = atomic_load_explicit(&process_signals.owner, memory_order_acquire) == vg_lineage() &&
                      process_signals.pid == (uint32_t)getpid();
    const bool taken = depth != 0 || (ours && vg_sinks_put(&process_signals.sinks, &record));
    for (; depth != 0 && former->older != NULL; depth--)
        former = former->older;
    if (reentrant)
        handler_depth[signo]++;
    call_former(former, signo, info, context, taken); /* last: it may not return */
    if (reentrant)
        handler_depth[signo]--;
    errno = saved;
}

/* ---- installing and restoring, under the lock ---------------------------------------------------------------- */

static void lock_process(void)
{
    uint32_t before;
    if (vg_adopt_begin(&process_signals.owner, &before)) {
        process_signals.pid = (uint32_t)getpid();
        vg_mutex_init(&process_signals.lock); /* its holder may be a thread of the parent */
        vg_sinks_init(&process_signals.sinks);
        for (int signo = 1; signo <= SIGNALS_MOST; signo++)
            process_signals.signals[signo].users = 0;
        vg_adopt_end(&process_signals.owner);
    }
    vg_mutex_lock(&process_signals.lock);
}

static void unlock_process(void)
{
    vg_mutex_unlock(&process_signals.lock);
}

static bool is_our_handler(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == handle_signal;
}

static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
    return a->sa_flags == b->sa_flags && a->sa_sigaction == b->sa_sigaction;
}

static int install_handler(int signo)
{
    struct sigaction now;
    if (sigaction(signo, NULL, &now) != 0)
        return -errno;
    if (is_our_handler(&now))
        return 0; /* inherited from the parent of a fork, or another's that has kept it */
    former_action *former = atomic_load_explicit(&process_signals.signals[signo].former, memory_order_relaxed);
    if (former == NULL || !same_action(&former->action, &now)) {
        former_action *made = malloc(sizeof *made);
        if (made == NULL)
            return -ENOMEM;
        *made = (former_action){.action = now, .older = former};
        /* release: its contents; pairs with the acquire in handle_signal */
        atomic_store_explicit(&process_signals.signals[signo].former, made, memory_order_release);
    }
    const int kept = SA_NODEFER | SA_NOCLDSTOP | SA_NOCLDWAIT;
    struct sigaction ours = {.sa_sigaction = handle_signal,
                             .sa_mask = now.sa_mask,
                             .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | (now.sa_flags & kept)};
    return sigaction(signo, &ours, NULL) == 0 ? 0 : -errno;
}

static void restore_handler(int signo)
{
    struct sigaction now;
    const former_action *former = atomic_load_explicit(&process_signals.signals[signo].former, memory_order_relaxed);
    if (sigaction(signo, NULL, &now) == 0 && is_our_handler(&now))
        (void)sigaction(signo, &former->action, NULL);
    /* Else somebody has replaced our handler, and may call it. It stays as it is. */
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

int vg_handler_want(vg_sink *sink, int signo)
{
    const int saved = errno;
    int rc = 0;
    lock_process();
    if (sink->listed_by != vg_lineage()) {
        atomic_store_explicit(&sink->wanted, 0, memory_order_relaxed);
        sink->listed_by = vg_lineage();
        vg_sinks_add(&process_signals.sinks, sink);
    }
    if ((atomic_load_explicit(&sink->wanted, memory_order_relaxed) & vg_sink_bit(signo)) == 0) {
        /* First the wish, then the handler: no signal finds our handler and nobody who wants it. */
        (void)atomic_fetch_or_explicit(&sink->wanted, vg_sink_bit(signo), memory_order_relaxed);
        if (process_signals.signals[signo].users == 0)
            rc = install_handler(signo);
        if (rc == 0)
            process_signals.signals[signo].users++;
        else
            (void)atomic_fetch_and_explicit(&sink->wanted, ~vg_sink_bit(signo), memory_order_relaxed);
    }
    unlock_process();
    errno = saved;
    return rc;
}

/* Under the lock. */
static void unwant_signal(vg_sink *sink, int signo)
{
    if ((atomic_load_explicit(&sink->wanted, memory_order_relaxed) & vg_sink_bit(signo)) == 0)
        return;
    if (--process_signals.signals[signo].users == 0)
        restore_handler(signo);
    (void)atomic_fetch_and_explicit(&sink->wanted, ~vg_sink_bit(signo), memory_order_relaxed);
}

void vg_handler_unwant(vg_sink *sink, int signo)
{
    const int saved = errno;
    lock_process();
    if (sink->listed_by == vg_lineage())
        unwant_signal(sink, signo);
    unlock_process();
    errno = saved;
}

void vg_handler_leave(vg_sink *sink)
{
    const int saved = errno;
    lock_process();
    if (sink->listed_by == vg_lineage()) { /* else it is in the list of the parent of a fork */
        for (int signo = 1; signo <= SIGNALS_MOST; signo++)
            unwant_signal(sink, signo);
        vg_sinks_remove(&process_signals.sinks, sink);
    }
    sink->listed_by = 0;
    unlock_process();
    errno = saved;
}
