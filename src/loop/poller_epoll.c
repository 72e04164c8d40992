/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
/*
 * poller_epoll.c - the poller on Linux: epoll, an eventfd for wakes, a timerfd when embedded.
 *
 * The eventfd is edge-triggered and never read: each write is an event, which saves a read per wake. The timerfd is
 * edge-triggered too: arming resets it.
 */
#include "poller.h"

#include "base/clock.h"
#include "base/futex.h"

#include <vigil/loop.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static uint32_t to_epoll(uint32_t events)
{
    uint32_t mask = 0;
    if ((events & VIGIL_FD_READ) != 0)
        mask |= EPOLLIN;
    if ((events & VIGIL_FD_WRITE) != 0)
        mask |= EPOLLOUT;
    if ((events & VIGIL_FD_PRI) != 0)
        mask |= EPOLLPRI;
    if ((events & VIGIL_FD_RDHUP) != 0)
        mask |= EPOLLRDHUP;
    return mask;
}

static uint32_t from_epoll(uint32_t mask)
{
    uint32_t events = 0;
    if ((mask & EPOLLIN) != 0)
        events |= VIGIL_FD_READ;
    if ((mask & EPOLLOUT) != 0)
        events |= VIGIL_FD_WRITE;
    if ((mask & EPOLLPRI) != 0)
        events |= VIGIL_FD_PRI;
    if ((mask & EPOLLRDHUP) != 0)
        events |= VIGIL_FD_RDHUP;
    if ((mask & EPOLLERR) != 0)
        events |= VIGIL_FD_ERROR;
    if ((mask & EPOLLHUP) != 0)
        events |= VIGIL_FD_HANGUP;
    return events;
}

static void set_poll_fd(vg_poller *poller, int fd)
{
    poller->poll_fd = fd;
    /* relaxed: the watchdog only shows what lies behind the number, and checks that */
    atomic_store_explicit(&poller->seen_fd, fd, memory_order_relaxed);
}

static int add_own(int poll_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = VG_POLL_TAG_NONE};
    return epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

void vg_poller_init(vg_poller *poller)
{
    memset(poller, 0, sizeof *poller);
    set_poll_fd(poller, -1);
    poller->timer_fd = -1;
    atomic_init(&poller->wake_fd, -1);
}

static int wake_fd_of(const vg_poller *poller)
{
    return atomic_load_explicit(&poller->wake_fd, memory_order_relaxed);
}

static int new_wake_fd(vg_poller *poller)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return -errno;
    atomic_store_explicit(&poller->wake_fd, fd, memory_order_relaxed);
    return 0;
}

/* A descriptor of ours was closed; its number is free, the set's own, or a file's. */
static bool is_not_ours(int rc)
{
    return rc == -EBADF || rc == -EINVAL || rc == -EPERM;
}

/* A set that holds our own descriptors and nothing else. If somebody has closed those too, they are made anew. */
static int new_set(vg_poller *poller)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = add_own(fd, wake_fd_of(poller));
    if (is_not_ours(rc)) {
        rc = new_wake_fd(poller);
        if (rc == 0)
            rc = add_own(fd, wake_fd_of(poller));
    }
    if (rc == 0 && poller->timer_fd >= 0) {
        rc = add_own(fd, poller->timer_fd);
        if (is_not_ours(rc)) {
            poller->timer_fd = -1; /* vg_poller_arm opens another */
            poller->timer_at = 0;
            rc = 0;
        }
    }
    if (rc != 0) {
        (void)close(fd);
        return rc;
    }
    return fd;
}

int vg_poller_open(vg_poller *poller)
{
    int saved = errno;
    int rc = 0;
    if (wake_fd_of(poller) < 0)
        rc = new_wake_fd(poller);
    if (rc == 0 && poller->poll_fd < 0) {
        int fd = new_set(poller);
        if (fd < 0)
            rc = fd;
        else
            set_poll_fd(poller, fd);
    }
    errno = saved;
    return rc;
}

int vg_poller_renew(vg_poller *poller, bool old_is_ours)
{
    int saved = errno;
    int fd = new_set(poller);
    if (fd >= 0) {
        if (old_is_ours)
            (void)close(poller->poll_fd);
        set_poll_fd(poller, fd);
    }
    errno = saved;
    return fd < 0 ? fd : 0;
}

int vg_poller_after_fork(vg_poller *poller, bool embedded)
{
    vg_poller_close(poller);
    vg_poller_close_wake(poller);
    int rc = vg_poller_open(poller);
    if (rc == 0 && embedded)
        rc = vg_poller_arm(poller, VG_NO_DEADLINE);
    return rc;
}

static void close_if_open(int fd)
{
    int saved = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = saved;
}

void vg_poller_close(vg_poller *poller)
{
    close_if_open(poller->poll_fd);
    close_if_open(poller->timer_fd);
    set_poll_fd(poller, -1);
    poller->timer_fd = -1;
    poller->timer_at = 0;
}

void vg_poller_close_wake(vg_poller *poller)
{
    close_if_open(wake_fd_of(poller));
    atomic_store_explicit(&poller->wake_fd, -1, memory_order_relaxed);
}

int vg_poller_set(vg_poller *poller, vg_poll_op op, int fd, uint32_t events, bool edge, uint64_t tag)
{
    static const int ops[] = {EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLL_CTL_DEL};
    struct epoll_event event = {.events = to_epoll(events) | (edge ? (uint32_t)EPOLLET : 0), .data.u64 = tag};
    int saved = errno;
    int rc = epoll_ctl(poller->poll_fd, ops[op], fd, &event) == 0 ? 0 : -errno;
    errno = saved;
    return rc == -EPERM ? -EOPNOTSUPP : rc; /* EPERM: a regular file, a directory */
}

/* Milliseconds for the old call, rounded up: a timer is never early. */
static int milliseconds_left(uint64_t left)
{
    uint64_t ms = left / 1000000U + (left % 1000000U != 0);
    return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

static int poll_until(vg_poller *poller, uint64_t deadline, struct epoll_event *got)
{
    if (deadline == 0 || deadline == VG_NO_DEADLINE)
        return epoll_wait(poller->poll_fd, got, VG_POLLER_BATCH, deadline == 0 ? 0 : -1);
    uint64_t now = vg_now_ns();
    uint64_t left = deadline > now ? deadline - now : 0;
    if (!atomic_load_explicit(&poller->no_ns, memory_order_relaxed)) {
        struct timespec for_so_long = {.tv_sec = (time_t)(left / 1000000000U), .tv_nsec = (long)(left % 1000000000U)};
        long rc = syscall(SYS_epoll_pwait2, poller->poll_fd, got, VG_POLLER_BATCH, &for_so_long, NULL, (size_t)0);
        if (rc >= 0 || (errno != ENOSYS && errno != EPERM)) /* EPERM: a sandbox that does not know it */
            return (int)rc;
        atomic_store_explicit(&poller->no_ns, true, memory_order_relaxed);
    }
    return epoll_wait(poller->poll_fd, got, VG_POLLER_BATCH, milliseconds_left(left));
}

int vg_poller_wait(vg_poller *poller, uint64_t deadline_ns, vg_poll_event *events)
{
    struct epoll_event got[VG_POLLER_BATCH];
    int saved = errno;
    int count = poll_until(poller, deadline_ns, got);
    int error = count < 0 ? errno : 0;
    errno = saved;
    if (error != 0)
        return error == EINTR ? 0 : -error;
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (got[i].data.u64 == VG_POLL_TAG_NONE)
            continue; /* a wake: letting the wait return was all */
        events[kept].tag = got[i].data.u64;
        events[kept++].events = from_epoll(got[i].events);
    }
    return kept;
}

int vg_poller_wake(vg_poller *poller)
{
    int saved = errno;
    int cancel;
    uint64_t one = 1;
    /* A thread that is cancelled in here would leave a post half made. */
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    /* EINTR cannot happen to a nonblocking eventfd; EAGAIN would need 2^64 wakes. */
    int rc = write(wake_fd_of(poller), &one, sizeof one) == (ssize_t)sizeof one || errno == EAGAIN ? 0 : -EBADF;
    (void)pthread_setcancelstate(cancel, &cancel);
    errno = saved;
    return rc;
}

int vg_poller_mend_wake(vg_poller *poller)
{
    int saved = errno;
    int rc = new_wake_fd(poller); /* the number of the old one is not ours any more */
    if (rc == 0)
        rc = add_own(poller->poll_fd, wake_fd_of(poller));
    errno = saved;
    return rc;
}

int vg_poller_arm(vg_poller *poller, uint64_t deadline_ns)
{
    int saved = errno;
    int rc = 0;
    if (poller->timer_fd < 0) {
        int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        rc = fd < 0 ? -errno : add_own(poller->poll_fd, fd);
        if (rc == 0)
            poller->timer_fd = fd;
        else
            close_if_open(fd);
    }
    uint64_t at = deadline_ns == VG_NO_DEADLINE ? 0 : deadline_ns + (deadline_ns == 0);
    if (rc == 0 && at != poller->timer_at) {
        struct itimerspec when = {
            .it_value = {.tv_sec = (time_t)(at / 1000000000U), .tv_nsec = (long)(at % 1000000000U)}};
        rc = timerfd_settime(poller->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) == 0 ? 0 : -errno;
        if (rc == 0)
            poller->timer_at = at;
    }
    errno = saved;
    return rc;
}
