/* SPDX-License-Identifier: MIT */
/*
 * The process's signal handler (src/loop/handler.c) while what it replaced changes: the loop's user takes a watch back, the program
 * sets a handler of its own, and the watch comes again. A handler that was entered before goes on meanwhile: it is a thread here.
 * Property: it passes the signal to one of the program's handlers, whole.
 *
 * What the handler replaced is never freed, on purpose. The kernel's table is the real one, so each execution leaves it as it was when the threads started.
 */
#include <vigil_check.h>

#include "loop/handler.h"

#include <signal.h>

static struct sigaction ours; /* as the library has installed it */
static vg_sink sink;
static _Atomic int passed[2], put;

static void former_first(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    (void)context;
    (void)atomic_fetch_add_explicit(&passed[0], 1, memory_order_relaxed);
}

static void former_second(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    (void)context;
    (void)atomic_fetch_add_explicit(&passed[1], 1, memory_order_relaxed);
}

static void count_put(vg_sink *it, const vg_signal_record *record)
{
    (void)it;
    vgc_assert(record->signo == SIGUSR1, "a sink gets what it wants");
    (void)atomic_fetch_add_explicit(&put, 1, memory_order_relaxed);
}

static void install_former(void (*handler)(int, siginfo_t *, void *))
{
    const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    vgc_assert(sigaction(SIGUSR1, &action, NULL) == 0, "a handler of the program");
}

static void *signal_comes(void *arg)
{
    siginfo_t info = {.si_signo = SIGUSR1};
    (void)arg;
    ours.sa_sigaction(SIGUSR1, &info, NULL);
    return NULL;
}

static void watch_comes_again(bool racing)
{
    pthread_t handler;
    install_former(former_first);
    sink.put = count_put;
    vgc_assert(vg_handler_want(&sink, SIGUSR1) == 0, "it is watched");
    vgc_assert(sigaction(SIGUSR1, NULL, &ours) == 0 && ours.sa_sigaction != former_first, "by our handler");
    if (racing)
        handler = vgc_thread_start(signal_comes, NULL);
    vg_handler_unwant(&sink, SIGUSR1);
    install_former(former_second);
    vgc_assert(vg_handler_want(&sink, SIGUSR1) == 0, "it is watched again");
    if (!racing)
        handler = vgc_thread_start(signal_comes, NULL);
    vgc_thread_join(handler);
    const int first = atomic_load_explicit(&passed[0], memory_order_relaxed);
    const int second = atomic_load_explicit(&passed[1], memory_order_relaxed);
    vgc_assert(first + second == 1 && (racing || second == 1), "one handler of the program gets it");
    vgc_assert(racing || atomic_load_explicit(&put, memory_order_relaxed) == 1, "the sink gets it");
    if (racing)
        vgc_assert(sigaction(SIGUSR1, &ours, NULL) == 0, "as it was");
}

#define PASSED "a signal goes on to a handler of the program, whole"

VGC_SCENARIO(signals_handler_again, PASSED, .opt.allow_leaks = true, .bound = "a handler beside an unwatch and a watch")
{
    watch_comes_again(true);
}

VGC_SCENARIO(signals_handler_rest, PASSED, .opt.allow_leaks = true, .bound = "a handler after an unwatch and a watch")
{
    watch_comes_again(false);
}
