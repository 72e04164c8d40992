/* SPDX-License-Identifier: MIT */
/*
 * A call of the doctor may never return: a thread of the patient cannot stop, a page of it lies on a disk that is gone.
 * Such calls are made in a child. Three things end it: the doctor after a limit, the doctor's own death, and a timer of
 * the kernel that sends SIGKILL. The timer works even if doctor and child are stopped (SIGSTOP). The end of a tracer
 * detaches its tracees and lets them run, so no thread of the patient stays stopped for longer than the timer says.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "child.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CHILD_LAST_MS = 5000, /* how long a killed child may take to end: on a full machine it waits for a processor */
    CHILD_PAUSE_NS = 500000,
    CHILD_NICE = -20
};

bool vg_child_start(vg_child *child, void (*run)(void *arg), void *arg)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    const pid_t parent = getpid();
    child->pid = fork();
    if (child->pid == 0) {
        (void)close(ends[0]);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) /* else it ended before the call above */
            run(arg);
        _exit(getppid() == parent ? 0 : 1);
    }
    (void)close(ends[1]);
    child->end = ends[0];
    if (child->pid < 0)
        (void)close(ends[0]);
    return child->pid > 0;
}

/* The status of a child that has ended or is about to. false: it does not end. */
static bool collect(pid_t pid, int *status)
{
    const uint64_t limit = vg_now_ns() + (uint64_t)CHILD_LAST_MS * 1000000;
    for (;;) {
        const pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid)
            return true;
        if ((got < 0 && errno != EINTR) || vg_now_ns() >= limit)
            return false;
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = CHILD_PAUSE_NS}, NULL);
    }
}

vg_child_end vg_child_await(vg_child *child, uint64_t limit_ns)
{
    const uint64_t limit = vg_now_ns() + limit_ns;
    bool ended = false;
    for (uint64_t now; !ended && (now = vg_now_ns()) < limit;) {
        struct pollfd fd = {child->end, POLLIN, 0};
        ended = poll(&fd, 1, (int)((limit - now) / 1000000) + 1) > 0;
    }
    (void)close(child->end);
    if (!ended)
        (void)kill(child->pid, SIGKILL);
    int status = 0;
    if (!collect(child->pid, &status))
        return VG_CHILD_LOST;
    if (!ended)
        return VG_CHILD_LATE;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? VG_CHILD_DONE : VG_CHILD_FAILED;
}

bool vg_child_end_within(uint64_t ns)
{
    static timer_t timer;
    static pid_t owner; /* a timer belongs to one process: a fork has none */
    if (owner != getpid()) {
        struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
        if (timer_create(CLOCK_MONOTONIC, &how, &timer) != 0)
            return false;
        owner = getpid();
    }
    const struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)}};
    return timer_settime(timer, 0, &when, NULL) == 0;
}

void vg_child_hurry(void)
{
    const struct sched_param first = {.sched_priority = sched_get_priority_max(SCHED_FIFO)};
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) != 0)
        (void)setpriority(PRIO_PROCESS, 0, CHILD_NICE);
}
