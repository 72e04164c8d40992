/* SPDX-License-Identifier: MIT */
/*
 * signals.c - signals as events: one signalfd for all that the loop watches.
 *
 * A signal is read, then given to each of its watches in turn. Where that stands is in the struct, so that a watch
 * that raises takes the signal from nobody (S1).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "signals.h"
#include "guard.h"
#include "micro.h"
#include "note.h"
#include "tally.h"
#include "watch.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

typedef struct signal_watch {
    vg_registry_head head;
    uint32_t slot;
    int signo;
    bool alive;
    uint64_t number; /* they are in this order */
    vigil_signal_fn fn;
    void *arg;
    struct signal_watch *next;
} signal_watch;

struct vg_signals {
    int fd;
    sigset_t watched;
    sigset_t blocked; /* by us */
    vg_watch *watch;
    vg_registry slots;
    signal_watch *first;
    signal_watch *at; /* the last one that was given `info`; NULL: none yet (S1) */
    uint64_t added;   /* watches ever: their numbers */
    uint64_t last;    /* the number of the last one that gets `info`: who came later waits for the next signal */
    bool delivering;
    bool dead;
    vigil_signal_info info;
};

enum {
    MOST_AT_ONCE = 64 /* the rest comes in the next turn */
};

static void read_signals(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg);

static int set_mask(vg_signals *signals)
{
    int saved = errno;
    int fd = signalfd(signals->fd, &signals->watched, SFD_CLOEXEC | SFD_NONBLOCK);
    int rc = fd < 0 ? -errno : 0;
    if (rc == 0)
        signals->fd = fd;
    errno = saved;
    return rc;
}

static bool still_watched(const vg_signals *signals, int signo)
{
    for (const signal_watch *each = signals->first; each != NULL; each = each->next) {
        if (each->alive && each->signo == signo)
            return true;
    }
    return false;
}

static void stop_watching(vg_signals *signals, int signo)
{
    if (still_watched(signals, signo))
        return;
    (void)sigdelset(&signals->watched, signo);
    (void)set_mask(signals);
    if (sigismember(&signals->blocked, signo) == 1) {
        sigset_t one;
        (void)sigemptyset(&one);
        (void)sigaddset(&one, signo);
        (void)sigdelset(&signals->blocked, signo);
        (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    }
}

static int begin_watching(vg_signals *signals, int signo)
{
    if (sigismember(&signals->watched, signo) == 1)
        return 0;
    sigset_t one;
    sigset_t before;
    (void)sigemptyset(&one);
    if (sigaddset(&one, signo) != 0)
        return -EINVAL;
    (void)sigaddset(&signals->watched, signo);
    int rc = set_mask(signals);
    if (rc != 0) {
        (void)sigdelset(&signals->watched, signo);
        return rc;
    }
    (void)pthread_sigmask(SIG_BLOCK, &one, &before);
    if (sigismember(&before, signo) == 0)
        (void)sigaddset(&signals->blocked, signo);
    return 0;
}

static int first_use(vigil_loop *loop)
{
    if (loop->signals != NULL)
        return 0;
    vg_signals *signals = calloc(1, sizeof *signals);
    if (signals == NULL)
        return -ENOMEM;
    signals->fd = -1;
    (void)sigemptyset(&signals->watched);
    (void)sigemptyset(&signals->blocked);
    vg_registry_init(&signals->slots, sizeof(signal_watch));
    int rc = set_mask(signals);
    if (rc == 0)
        rc = vg_watch_add_inner(loop, &signals->watch, signals->fd, VIGIL_FD_READ, read_signals, NULL, false);
    if (rc != 0) {
        if (signals->fd >= 0)
            (void)close(signals->fd);
        free(signals);
        return rc;
    }
    loop->signals = signals;
    return 0;
}

int vigil_signal_add(vigil_loop *loop, vigil_signal *signal, int signo, vigil_signal_fn fn, void *arg)
{
    int rc = vg_guard_owner(loop);
    if (rc == 0)
        rc = vg_guard_open(loop);
    if (rc != 0)
        return rc;
    if (fn == NULL || signo < 1 || signo >= _NSIG || signo == SIGKILL || signo == SIGSTOP)
        return vg_refuse(loop, -EINVAL, "a signal watch needs a callback and a signal that can be blocked");
    rc = first_use(loop);
    if (rc != 0)
        return rc;
    vg_signals *signals = loop->signals;
    uint32_t slot;
    signal_watch *made = vg_registry_alloc(&signals->slots, &slot);
    if (made == NULL)
        return vg_refuse(loop, -ENOMEM, "no memory for another signal watch");
    rc = begin_watching(signals, signo);
    if (rc != 0) {
        vg_registry_free(&signals->slots, slot, made);
        return rc;
    }
    made->slot = slot;
    made->signo = signo;
    made->alive = true;
    made->number = ++signals->added;
    made->fn = fn;
    made->arg = arg;
    made->next = NULL;
    signal_watch **link = &signals->first;
    while (*link != NULL)
        link = &(*link)->next;
    *link = made;
    if (signal != NULL)
        signal->id = vg_registry_name(slot, made);
    return 0;
}

/* Free the dead, unless one of them is where the delivery stands. */
static void sweep_signals(vg_signals *signals)
{
    if (!signals->dead || signals->delivering)
        return;
    signal_watch **link = &signals->first;
    while (*link != NULL) {
        signal_watch *each = *link;
        if (each->alive) {
            link = &each->next;
            continue;
        }
        *link = each->next;
        vg_registry_free(&signals->slots, each->slot, each);
    }
    signals->dead = false;
}

int vigil_signal_remove(vigil_loop *loop, vigil_signal signal)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    vg_signals *signals = loop->signals;
    uint32_t slot = signals == NULL ? UINT32_MAX : vg_registry_find(&signals->slots, signal.id);
    signal_watch *found = slot == UINT32_MAX ? NULL : vg_registry_at(&signals->slots, slot);
    if (found == NULL || !found->alive)
        return -ESTALE;
    found->alive = false;
    signals->dead = true;
    stop_watching(signals, found->signo);
    sweep_signals(signals);
    return 0;
}

/* Give the signal that was read to those who have not had it. */
static void deliver_signal(vigil_loop *loop)
{
    vg_signals *signals = loop->signals;
    while (signals->delivering && !vg_interrupted(loop)) {
        signal_watch *next = signals->at == NULL ? signals->first : signals->at->next;
        if (next == NULL || next->number > signals->last) {
            signals->delivering = false;
            signals->at = NULL;
            sweep_signals(signals);
            return;
        }
        signals->at = next;
        if (!next->alive || next->signo != signals->info.signo)
            continue;
        vigil_signal name = {.id = vg_registry_name(next->slot, next)};
        vg_tally(&loop->shared->signals_delivered, 1);
        vg_loop_note_call(loop, (uintptr_t)next->fn);
        next->fn(loop, name, &signals->info, next->arg);
        vg_loop_note_called(loop);
        vg_checkpoint(loop);
    }
}

bool vg_signals_pending(const vigil_loop *loop)
{
    return loop->signals != NULL && loop->signals->delivering;
}

void vg_signals_resume(vigil_loop *loop)
{
    if (vg_signals_pending(loop))
        deliver_signal(loop);
}

static void read_signals(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)watch;
    (void)events;
    (void)arg;
    vg_signals *signals = loop->signals;
    for (int i = 0; i < MOST_AT_ONCE && !signals->delivering; i++) {
        struct signalfd_siginfo got;
        if (read(fd, &got, sizeof got) != (ssize_t)sizeof got)
            return; /* EAGAIN: all read */
        signals->info = (vigil_signal_info){.size = sizeof signals->info,
                                            .signo = (int)got.ssi_signo,
                                            .code = got.ssi_code,
                                            .pid = (pid_t)got.ssi_pid,
                                            .uid = (uid_t)got.ssi_uid,
                                            .value = got.ssi_int};
        signals->at = NULL;
        signals->last = signals->added;
        signals->delivering = true;
        deliver_signal(loop);
    }
}

void vg_signals_close(vigil_loop *loop)
{
    if (loop->signals == NULL)
        return;
    (void)close(loop->signals->fd);
    vg_registry_destroy(&loop->signals->slots);
    free(loop->signals);
    loop->signals = NULL;
}

void vg_signals_drop(vigil_loop *loop)
{
    if (loop->signals == NULL)
        return;
    vg_watch_remove_inner(loop, loop->signals->watch);
    (void)pthread_sigmask(SIG_UNBLOCK, &loop->signals->blocked, NULL);
    vg_signals_close(loop);
}
