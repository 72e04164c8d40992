/* SPDX-License-Identifier: MIT */
/*
 * signals.c - signals as events. The handler (handler.c) writes each signal to the pipe of every loop that wants it;
 * the loop reads the pipe and calls its watches in turn. SIGNALS.md is the specification.
 *
 * Where a delivery stands is in the struct, so that a watch that raises takes the signal from nobody (S1).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "signals.h"
#include "guard.h"
#include "handler.h"
#include "micro.h"
#include "note.h"
#include "tally.h"
#include "watch.h"

#include "base/container.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct signal_watch {
    vg_registry_head head;
    uint32_t slot;
    int signo;
    bool alive;
    bool keeps;      /* the loop alive */
    uint64_t number; /* they are in this order */
    vigil_signal_fn fn;
    void *arg;
    struct signal_watch *next;
} signal_watch;

struct vg_signals {
    vg_sink sink;
    int read_fd;
    int write_fd;            /* the handler writes to it */
    _Atomic uint64_t missed; /* signals that found the pipe full; bit signo - 1 */
    sigset_t watched;
    sigset_t unblocked; /* by us, in the thread that runs the loop */
    vg_watch *watch;    /* of read_fd; NULL while the loop ends */
    vg_registry slots;
    signal_watch *first;
    signal_watch *at; /* the last one that was given `info`; NULL: none yet (S1) */
    uint64_t added;   /* watches ever: their numbers */
    uint64_t last;    /* the number of the last one that gets `info`: later ones wait for the next signal */
    uint32_t keepers; /* watches that keep the loop alive: then the pipe's watch does */
    bool delivering;
    bool dead;
    vigil_signal_info info;
};

enum {
    SIGNALS_AT_ONCE = 64 /* the rest comes in the next turn */
};

static void read_signals(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg);

/* ---- in a signal handler ----------------------------------------------------------------------------------------- */

static bool write_record(int fd, const vg_signal_record *record)
{
    return write(fd, record, sizeof *record) == (ssize_t)sizeof *record; /* smaller than PIPE_BUF: all or nothing */
}

static void put_signal(vg_sink *sink, const vg_signal_record *record)
{
    vg_signals *signals = vg_container_of(sink, vg_signals, sink);
    if (write_record(signals->write_fd, record))
        return;
    /* The pipe is full: signals of one number become one. If the second write fails too, the pipe was full after the
       mark was set, and the reader has yet to empty it and look at the mark. */
    (void)atomic_fetch_or_explicit(&signals->missed, vg_sink_bit(record->signo), memory_order_relaxed);
    const vg_signal_record look_again = {.signo = 0};
    (void)write_record(signals->write_fd, &look_again);
}

/* ---- watched signals --------------------------------------------------------------------------------------------- */

static void only(sigset_t *set, int signo)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, signo);
}

/* The running thread accepts the signals of `set`, whatever its mask was: they may be blocked in all others. */
static void unblock(vg_signals *signals, const sigset_t *set)
{
    sigset_t before;
    if (pthread_sigmask(SIG_UNBLOCK, set, &before) != 0)
        return;
    for (int signo = 1; signo < _NSIG; signo++) {
        if (sigismember(set, signo) == 1 && sigismember(&before, signo) == 1)
            (void)sigaddset(&signals->unblocked, signo);
    }
}

void vg_signals_enter(vigil_loop *loop)
{
    if (loop->signals != NULL && loop->signals->first != NULL)
        unblock(loop->signals, &loop->signals->watched);
}

void vg_signals_leave(vigil_loop *loop)
{
    if (loop->signals == NULL)
        return;
    (void)pthread_sigmask(SIG_BLOCK, &loop->signals->unblocked, NULL);
    (void)sigemptyset(&loop->signals->unblocked);
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
    vg_handler_unwant(&signals->sink, signo);
}

static int begin_watching(vigil_loop *loop, int signo)
{
    vg_signals *signals = loop->signals;
    if (sigismember(&signals->watched, signo) == 1)
        return 0;
    int rc = vg_handler_want(&signals->sink, signo);
    if (rc != 0)
        return rc;
    (void)sigaddset(&signals->watched, signo);
    if (vg_is_owner(loop)) {
        sigset_t one;
        only(&one, signo);
        unblock(signals, &one);
    }
    return 0;
}

static void close_pipe(const int ends[2])
{
    const int saved = errno;
    for (int i = 0; i < 2; i++) {
        if (ends[i] >= 0)
            (void)close(ends[i]);
    }
    errno = saved;
}

/* A pipe, and a watch of its reading end. */
static int open_pipe(vigil_loop *loop, vg_signals *signals)
{
    const int saved = errno;
    int ends[2];
    vg_watch *watch = NULL;
    int rc = pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0 ? 0 : -errno;
    errno = saved;
    if (rc != 0)
        return rc;
    rc = vg_watch_add_inner(loop, &watch, ends[0], VIGIL_FD_READ, read_signals, NULL, false);
    if (rc != 0) {
        close_pipe(ends);
        return rc;
    }
    signals->read_fd = ends[0];
    signals->write_fd = ends[1];
    signals->watch = watch;
    return 0;
}

static int first_use(vigil_loop *loop)
{
    if (loop->signals != NULL)
        return 0;
    vg_signals *signals = calloc(1, sizeof *signals);
    if (signals == NULL)
        return -ENOMEM;
    (void)sigemptyset(&signals->watched);
    (void)sigemptyset(&signals->unblocked);
    signals->sink.put = put_signal;
    vg_registry_init(&signals->slots, sizeof(signal_watch));
    int rc = open_pipe(loop, signals);
    if (rc != 0) {
        free(signals);
        return rc;
    }
    loop->signals = signals;
    return 0;
}

/* A fault is raised again when its handler returns. */
static bool is_fault(int signo)
{
    return signo == SIGSEGV || signo == SIGBUS || signo == SIGFPE || signo == SIGILL || signo == SIGTRAP;
}

int vigil_signal_add(vigil_loop *loop, int signo, vigil_signal_fn fn, void *arg, vigil_signal *signal)
{
    int rc = vg_guard_owner(loop);
    if (rc == 0)
        rc = vg_guard_open(loop);
    if (rc != 0)
        return rc;
    if (fn == NULL || signo < 1 || signo >= _NSIG || signo == SIGKILL || signo == SIGSTOP || is_fault(signo))
        return vg_why(-EINVAL, "fn is NULL, or signo is no signal that can be caught, or is a fault");
    rc = first_use(loop);
    if (rc != 0)
        return rc;
    vg_signals *signals = loop->signals;
    uint32_t slot;
    signal_watch *made = vg_registry_alloc(&signals->slots, &slot);
    if (made == NULL)
        return vg_why(-ENOMEM, "no memory for another signal watch");
    rc = begin_watching(loop, signo);
    if (rc != 0) {
        vg_registry_free(&signals->slots, slot, made);
        return rc;
    }
    made->slot = slot;
    made->signo = signo;
    made->alive = true;
    made->keeps = false;
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

static void keep_alive(vigil_loop *loop, signal_watch *watch, bool on)
{
    vg_signals *signals = loop->signals;
    if (watch->keeps == on)
        return;
    watch->keeps = on;
    signals->keepers += on ? 1U : UINT32_MAX;
    if (signals->watch != NULL)
        vg_watch_ref_inner(loop, signals->watch, signals->keepers != 0);
}

static signal_watch *find_signal(const vigil_loop *loop, vigil_signal signal)
{
    const vg_signals *signals = loop->signals;
    const uint32_t slot = signals == NULL ? UINT32_MAX : vg_registry_find(&signals->slots, signal.id);
    signal_watch *found = slot == UINT32_MAX ? NULL : vg_registry_at(&signals->slots, slot);
    return found != NULL && found->alive ? found : NULL;
}

static int ref_signal(vigil_loop *loop, vigil_signal signal, bool on)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    signal_watch *found = find_signal(loop, signal);
    if (found == NULL)
        return -ESTALE;
    keep_alive(loop, found, on);
    return 0;
}

int vigil_signal_ref(vigil_loop *loop, vigil_signal signal)
{
    return ref_signal(loop, signal, true);
}

int vigil_signal_unref(vigil_loop *loop, vigil_signal signal)
{
    return ref_signal(loop, signal, false);
}

uint32_t vg_signals_keepers(const vigil_loop *loop)
{
    return loop->signals != NULL ? loop->signals->keepers : 0;
}

int vigil_signal_remove(vigil_loop *loop, vigil_signal signal)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    vg_signals *signals = loop->signals;
    signal_watch *found = find_signal(loop, signal);
    if (found == NULL)
        return -ESTALE;
    keep_alive(loop, found, false);
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

/* Deliver one record; a record that nobody watches any more finds no one. */
static void begin_delivery(vigil_loop *loop, const vg_signal_record *record)
{
    vg_signals *signals = loop->signals;
    signals->info = (vigil_signal_info){.size = sizeof signals->info,
                                        .signo = record->signo,
                                        .code = record->code,
                                        .pid = (pid_t)record->pid,
                                        .uid = (uid_t)record->uid,
                                        .value = record->value};
    signals->at = NULL;
    signals->last = signals->added;
    signals->delivering = true;
    deliver_signal(loop);
}

static bool read_record(const vg_signals *signals, vg_signal_record *record)
{
    const int saved = errno;
    const bool got = read(signals->read_fd, record, sizeof *record) == (ssize_t)sizeof *record;
    errno = saved;
    return got;
}

static bool take_missed(vg_signals *signals, vg_signal_record *record)
{
    const uint64_t missed = atomic_load_explicit(&signals->missed, memory_order_relaxed);
    if (missed == 0)
        return false;
    (void)atomic_fetch_and_explicit(&signals->missed, ~(missed & -missed), memory_order_relaxed);
    *record = (vg_signal_record){.signo = __builtin_ctzll(missed) + 1};
    return true;
}

/* Nothing else would bring us back for these if the pipe is empty. */
static void deliver_missed(vigil_loop *loop)
{
    vg_signal_record record;
    while (!vg_signals_pending(loop) && take_missed(loop->signals, &record))
        begin_delivery(loop, &record);
}

void vg_signals_resume(vigil_loop *loop)
{
    if (!vg_signals_pending(loop))
        return;
    deliver_signal(loop);
    deliver_missed(loop);
}

static void read_signals(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)watch;
    (void)fd;
    (void)events;
    (void)arg;
    vg_signal_record record;
    for (int i = 0; i < SIGNALS_AT_ONCE && !vg_signals_pending(loop) && read_record(loop->signals, &record); i++) {
        if (record.signo != 0)
            begin_delivery(loop, &record);
    }
    deliver_missed(loop);
}

/* ---- the end, and forks ------------------------------------------------------------------------------------------ */

void vg_signals_drop(vigil_loop *loop)
{
    if (loop->signals != NULL)
        loop->signals->watch = NULL; /* it goes with all watches; the handler, the pipe and its readers stay */
}

void vg_signals_drain(vigil_loop *loop)
{
    if (loop->signals == NULL)
        return;
    vg_signals_resume(loop);
    read_signals(loop, (vigil_watch){0}, loop->signals->read_fd, VIGIL_FD_READ, NULL);
}

void vg_signals_close(vigil_loop *loop)
{
    vg_signals *signals = loop->signals;
    if (signals == NULL)
        return;
    vg_handler_leave(&signals->sink);
    close_pipe((const int[]){signals->read_fd, signals->write_fd});
    vg_registry_destroy(&signals->slots);
    free(signals);
    loop->signals = NULL;
}

int vg_signals_after_fork(vigil_loop *loop)
{
    vg_signals *signals = loop->signals;
    if (signals == NULL)
        return 0;
    const int inherited[2] = {signals->read_fd, signals->write_fd};
    vg_watch *watch = signals->watch;
    if (watch != NULL) {
        int rc = open_pipe(loop, signals);
        if (rc != 0)
            return rc;
        vg_watch_remove_inner(loop, watch);
        close_pipe(inherited); /* what is in there was the parent's */
        vg_watch_ref_inner(loop, signals->watch, signals->keepers != 0);
    }
    atomic_store_explicit(&signals->missed, 0, memory_order_relaxed);
    for (int signo = 1; signo < _NSIG; signo++) {
        if (sigismember(&signals->watched, signo) == 1) {
            int rc = vg_handler_want(&signals->sink, signo);
            if (rc != 0)
                return rc;
        }
    }
    return 0;
}
