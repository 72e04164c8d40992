/* SPDX-License-Identifier: MIT */
/*
 * stack.c - one request at a time; FORMAT.md has the states.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "stack.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define VG_HAS_BACKTRACE 1
#endif
#endif

_Atomic int vg_stack_signal;
_Thread_local int vg_stack_opened;

void vg_stack_open_slow(void)
{
    const int signal = atomic_load_explicit(&vg_stack_signal, memory_order_relaxed);
    sigset_t set;
    (void)sigemptyset(&set);
    if (vg_stack_opened != 0) {
        (void)sigaddset(&set, vg_stack_opened);
        (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
        (void)sigemptyset(&set);
    }
    if (signal != 0) {
        (void)sigaddset(&set, signal);
        (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    }
    vg_stack_opened = signal;
}

#ifdef VG_HAS_BACKTRACE

enum {
    ASK_IDLE,
    ASK_ASKED,
    ASK_WALKING,
    ASK_DONE
};

static struct {
    _Atomic uint32_t state;
    _Atomic int thread;
    int depth;
    void *frames[VG_STACK_FRAMES];
    int signal;
    struct sigaction before;
} stack_ask;

static void pass_signal_on(int number, siginfo_t *info, void *context)
{
    if ((stack_ask.before.sa_flags & SA_SIGINFO) != 0 && stack_ask.before.sa_sigaction != NULL)
        stack_ask.before.sa_sigaction(number, info, context);
    else if (stack_ask.before.sa_handler != SIG_DFL && stack_ask.before.sa_handler != SIG_IGN &&
             stack_ask.before.sa_handler != NULL)
        stack_ask.before.sa_handler(number);
}

/*
 * Where send_request had to send the signal itself, a thread may have entered a call that the kernel does not restart
 * (poll, nanosleep) just before the signal came. Its context then holds -EINTR behind the call: go back, so that the
 * program does not notice. The call's number is in the load a few bytes before; its arguments are still in registers.
 */
static void repeat_call(void *context)
{
#if defined(__x86_64__)
    enum {
        CALL_BYTES = 2, /* 0f 05 */
        LOAD_BYTES = 5, /* b8 and the number */
        BETWEEN = 12,   /* bytes of other instructions */
        CALLS = 1024
    };
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (regs[REG_RAX] != -EINTR)
        return;
    const unsigned char *call = (const unsigned char *)regs[REG_RIP] - CALL_BYTES; // NOLINT(performance-no-int-to-ptr)
    if (call[0] != 0x0f || call[1] != 0x05)
        return;
    for (const unsigned char *load = call - LOAD_BYTES; load >= call - LOAD_BYTES - BETWEEN; load--) {
        uint32_t number;
        memcpy(&number, load + 1, sizeof number);
        if (load[0] == 0xb8 && number < CALLS) {
            regs[REG_RAX] = (greg_t)number;
            regs[REG_RIP] -= CALL_BYTES;
            return;
        }
    }
#else
    (void)context;
#endif
}

static void on_stack_signal(int number, siginfo_t *info, void *context)
{
    const int saved = errno;
    uint32_t asked = ASK_ASKED;
    const bool ours = info->si_code == SI_TIMER || (info->si_code == SI_QUEUE && info->si_pid == getpid());
    /* Ours carry the request's address; others are passed on. */
    if (!ours || info->si_value.sival_ptr != &stack_ask) {
        pass_signal_on(number, info, context);
        /* acquire: the last answer has been read, our frames may replace it; pairs with the release in
           vg_stack_take. A thread number seen late only costs the watchdog its wait. */
    } else if (atomic_load_explicit(&stack_ask.thread, memory_order_relaxed) == vg_thread_id() &&
               atomic_compare_exchange_strong_explicit(&stack_ask.state, &asked, ASK_WALKING, memory_order_acquire,
                                                       memory_order_relaxed)) {
        stack_ask.depth = backtrace(stack_ask.frames, VG_STACK_FRAMES);
        /* release: the frames; pairs with the acquire in vg_stack_take */
        atomic_store_explicit(&stack_ask.state, ASK_DONE, memory_order_release);
        (void)vg_futex_wake(&stack_ask.state, VG_WAKE_ALL);
        repeat_call(context);
    } else {
        repeat_call(context);
    }
    errno = saved;
}

int vg_stack_begin(int signal)
{
    void *none[2];
    if (signal == 0)
        return 0;
    struct sigaction ours = {.sa_sigaction = on_stack_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    (void)sigfillset(&ours.sa_mask); /* short, and nothing of the user's may interrupt it */
    (void)backtrace(none, 2);
    struct sigaction before;
    if (sigaction(signal, NULL, &before) != 0)
        return -EINVAL;
    const bool there = (before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction == on_stack_signal;
    if (!there) {
        stack_ask.before = before; /* before the handler can run */
        if (sigaction(signal, &ours, NULL) != 0)
            return -EINVAL;
    }
    stack_ask.signal = signal;
    atomic_store_explicit(&vg_stack_signal, signal, memory_order_relaxed);
    return 0;
}

void vg_stack_end(void)
{
    if (stack_ask.signal == 0)
        return;
    atomic_store_explicit(&vg_stack_signal, 0, memory_order_relaxed);
    struct sigaction now;
    /* A signal may still be in flight: then the handler stays, because without it some signals kill. */
    if (atomic_load_explicit(&stack_ask.state, memory_order_relaxed) == ASK_IDLE &&
        sigaction(stack_ask.signal, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
        now.sa_sigaction == on_stack_signal && (stack_ask.signal == SIGURG || stack_ask.before.sa_handler != SIG_DFL))
        (void)sigaction(stack_ask.signal, &stack_ask.before, NULL);
    stack_ask.signal = 0;
}

void vg_stack_after_fork(void)
{
    atomic_store_explicit(&vg_stack_signal, 0, memory_order_relaxed);
    atomic_store_explicit(&stack_ask.state, ASK_IDLE, memory_order_relaxed);
    stack_ask.signal = 0;
}

static bool blocks_signal(int thread, int signal)
{
    char path[64];
    char text[2048];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return true;
    bool blocked = false;
    while (fgets(text, sizeof text, file) != NULL)
        if (strncmp(text, "SigBlk:", 7) == 0)
            blocked = (strtoull(text + 7, NULL, 16) >> (signal - 1) & 1) != 0;
    (void)fclose(file);
    return blocked;
}

/*
 * A timer on the thread's own CPU time ends while the thread runs, and Linux (since 5.9) then sends the signal on the
 * way back to the program: no system call of the thread is cut short, whatever it enters in the meantime.
 */
static int ask_by_timer(int thread, int *timer)
{
    const clockid_t clock =
        (clockid_t)(~(unsigned)thread << 3 | 6U); /* CPU time of one thread, in the kernel's numbers */
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = stack_ask.signal};
    const struct itimerspec soon = {.it_value.tv_nsec = 1};
    event.sigev_value.sival_ptr = &stack_ask;
    event._sigev_un._tid = thread;
    *timer = -1;
    if (syscall(SYS_timer_create, clock, &event, timer) != 0)
        return -errno;
    return syscall(SYS_timer_settime, *timer, 0, &soon, NULL) == 0 ? 0 : -errno;
}

/* *timer: the caller deletes it, unless it is -1. */
static int send_request(int thread, int *timer)
{
    if (ask_by_timer(thread, timer) == 0)
        return 0;
    siginfo_t info = {.si_signo = stack_ask.signal, .si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = &stack_ask;
    return syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, stack_ask.signal, &info) == 0 ? 0 : -errno;
}

void vg_stack_take(int thread, uint64_t within_ns, vg_stack *stack)
{
    memset(stack, 0, sizeof *stack);
    stack->thread = thread;
    stack->why = "stacks are switched off (stack_signal)";
    if (stack_ask.signal == 0 || thread <= 0)
        return;
    stack->why = "the thread has gone, or blocks the signal since before the watchdog was started";
    if (blocks_signal(thread, stack_ask.signal))
        return;
    stack->why = "the thread that was asked last has not answered yet";
    const uint64_t deadline = vg_now_ns() + within_ns;
    /* acquire: an answer that came too late; pairs with the release in on_stack_signal */
    if (atomic_load_explicit(&stack_ask.state, memory_order_acquire) == ASK_DONE)
        atomic_store_explicit(&stack_ask.state, ASK_IDLE, memory_order_relaxed);
    if (atomic_load_explicit(&stack_ask.state, memory_order_relaxed) != ASK_IDLE) {
        (void)vg_futex_wait(&stack_ask.state, ASK_WALKING, deadline);
        return;
    }
    atomic_store_explicit(&stack_ask.thread, thread, memory_order_relaxed);
    /* release: the last answer has been read; pairs with the acquire in on_stack_signal */
    atomic_store_explicit(&stack_ask.state, ASK_ASKED, memory_order_release);
    stack->why = "the thread has gone";
    int timer = -1;
    if (send_request(thread, &timer) != 0) {
        if (timer >= 0)
            (void)syscall(SYS_timer_delete, timer);
        atomic_store_explicit(&stack_ask.state, ASK_IDLE, memory_order_relaxed);
        return;
    }
    uint32_t state;
    while ((state = atomic_load_explicit(&stack_ask.state, memory_order_relaxed)) !=
           ASK_DONE) /* the look below acquires */
        if (vg_futex_wait(&stack_ask.state, state, deadline) != 0)
            break;
    if (timer >= 0)
        (void)syscall(SYS_timer_delete, timer);
    uint32_t asked = ASK_ASKED;
    stack->why = "the thread did not answer in time: the system does not run it, or it is inside the kernel";
    if (state != ASK_DONE && atomic_compare_exchange_strong_explicit(&stack_ask.state, &asked, ASK_IDLE,
                                                                     memory_order_relaxed, memory_order_relaxed))
        return;
    /* acquire: the frames; pairs with the release in on_stack_signal */
    if (atomic_load_explicit(&stack_ask.state, memory_order_acquire) != ASK_DONE)
        return;
    stack->depth = stack_ask.depth < VG_STACK_FRAMES ? stack_ask.depth : VG_STACK_FRAMES;
    memcpy(stack->frames, stack_ask.frames, sizeof stack->frames);
    stack->why = stack->depth == 0 ? "the stack could not be walked" : NULL;
    atomic_store_explicit(&stack_ask.state, ASK_IDLE, memory_order_relaxed);
}

#else

int vg_stack_begin(int signal)
{
    (void)signal;
    return 0;
}

void vg_stack_end(void)
{
}

void vg_stack_after_fork(void)
{
}

void vg_stack_take(int thread, uint64_t within_ns, vg_stack *stack)
{
    (void)within_ns;
    memset(stack, 0, sizeof *stack);
    stack->thread = thread;
    stack->why = "this C library has no backtrace()";
}

#endif
