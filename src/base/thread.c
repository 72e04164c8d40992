/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "thread.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

size_t vg_thread_min_stack(void)
{
    long least = sysconf(_SC_THREAD_STACK_MIN);
    return least > 0 ? (size_t)least : (size_t)PTHREAD_STACK_MIN;
}

/* The least default stack: musl's 128 KiB is too small for code that was written for glibc. */
#define DEFAULT_STACK_LEAST ((size_t)1024 * 1024)

static int raise_default_stack(pthread_attr_t *attr)
{
    size_t size = 0;
    int rc = pthread_attr_getstacksize(attr, &size);
    return rc == 0 && size < DEFAULT_STACK_LEAST ? pthread_attr_setstacksize(attr, DEFAULT_STACK_LEAST) : rc;
}

/* Faults are delivered to the thread that makes them; blocked, they would kill the process past its handlers. */
static void open_faults(sigset_t *mask)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        (void)sigdelset(mask, faults[i]);
}

int vg_thread_start(pthread_t *thread, size_t stack_size, void *(*body)(void *), void *arg)
{
    pthread_attr_t attr;
    int rc = pthread_attr_init(&attr);
    if (rc != 0)
        return -rc;
    rc = stack_size != 0 ? pthread_attr_setstacksize(&attr, stack_size) : raise_default_stack(&attr);
    if (rc == 0) {
        sigset_t all;
        sigset_t before;
        (void)sigfillset(&all);
        open_faults(&all);
        /* The new thread inherits the mask: no signal reaches it before. */
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        rc = pthread_create(thread, &attr, body, arg);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    (void)pthread_attr_destroy(&attr);
    if (rc != 0)
        return rc == EPERM ? -EAGAIN : -rc;
    return 0;
}

void vg_thread_set_name(const char *name)
{
    char cut[16];
    (void)snprintf(cut, sizeof cut, "%.15s", name);
    (void)pthread_setname_np(pthread_self(), cut);
}

void vg_thread_bind(int cpu)
{
    if (cpu < 0 || cpu >= CPU_SETSIZE)
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

void vg_thread_mask_get(sigset_t *mask)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, mask);
    open_faults(mask);
}

void vg_thread_mask_set(const sigset_t *mask)
{
    (void)pthread_sigmask(SIG_SETMASK, mask, NULL);
}

#ifdef VIGIL_CHECK
void vg_thread_origin_get(vg_thread_origin *origin)
{
    origin->cpu_bytes = 0;
}

void vg_thread_origin_apply(const vg_thread_origin *origin)
{
    (void)origin;
}
#else
/* The system calls: musl has no sched_setscheduler, and all are about one thread. */
void vg_thread_origin_get(vg_thread_origin *origin)
{
    const int saved = errno;
    struct sched_param param = {0};
    origin->policy = (int)syscall(SYS_sched_getscheduler, 0);
    (void)syscall(SYS_sched_getparam, 0, &param);
    origin->priority = param.sched_priority;
    origin->nice = getpriority(PRIO_PROCESS, 0);
    const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof origin->cpus, origin->cpus);
    origin->cpu_bytes = bytes > 0 ? (int)bytes : 0;
    errno = saved;
}

void vg_thread_origin_apply(const vg_thread_origin *origin)
{
    const int saved = errno;
    const struct sched_param param = {.sched_priority = origin->priority};
    vg_thread_origin mine; /* set only what differs: a sandbox may forbid it */
    vg_thread_origin_get(&mine);
    if (origin->cpu_bytes != 0 &&
        (mine.cpu_bytes != origin->cpu_bytes || memcmp(mine.cpus, origin->cpus, (size_t)origin->cpu_bytes) != 0))
        (void)syscall(SYS_sched_setaffinity, 0, origin->cpu_bytes, origin->cpus);
    if (origin->policy >= 0 && (mine.policy != origin->policy || mine.priority != origin->priority))
        (void)syscall(SYS_sched_setscheduler, 0, origin->policy, &param);
    if (mine.nice != origin->nice)
        (void)setpriority(PRIO_PROCESS, 0, origin->nice);
    errno = saved;
}
#endif

void vg_thread_join(pthread_t thread)
{
    (void)pthread_join(thread, NULL);
}

int vg_thread_id(void)
{
    return (int)gettid();
}

void vg_thread_yield(void)
{
    (void)sched_yield();
}

unsigned vg_thread_number(void)
{
    static _Atomic unsigned next; /* only a hint: two threads with one number are slower, not wrong */
    static _Thread_local unsigned mine;
    if (mine == 0)
        mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) + 1;
    return mine;
}
