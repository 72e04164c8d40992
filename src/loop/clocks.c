/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "clocks.h"

#include "base/why.h"
#include "timer_sort.h"
#include "watch.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    CLOCK_TRIES = 3
};
#define NEVER_SECONDS INT64_C(9000000000) /* the year 2255; later ones overflow in the kernel */

static int64_t read_posix_clock(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* How far the clock is ahead of the loop's: at most the truth, so that nothing is early. The closest of some tries. */
static int64_t clock_ahead(clockid_t clock)
{
    int64_t ahead = INT64_MIN;
    for (int i = 0; i < CLOCK_TRIES; i++) {
        const int64_t time = read_posix_clock(clock);
        const int64_t found = time - read_posix_clock(CLOCK_MONOTONIC);
        ahead = found > ahead ? found : ahead;
    }
    return ahead;
}

static void clocks_jumped(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    vg_clocks *clocks = &loop->clocks;
    uint64_t count;
    (void)watch;
    (void)events;
    (void)arg;
    (void)!read(fd, &count, sizeof count); /* ECANCELED says what is known already */
    const int64_t boot = clock_ahead(CLOCK_BOOTTIME);
    const int64_t wall = clock_ahead(CLOCK_REALTIME);
    vg_timers_shift(&loop->timers, VG_TIMER_BOOT, clocks->boot_ahead - boot);
    vg_timers_shift(&loop->timers, VG_TIMER_WALL, clocks->wall_ahead - wall);
    clocks->boot_ahead = boot;
    clocks->wall_ahead = wall;
}

static int open_clocks(vigil_loop *loop, vg_clocks *clocks)
{
    const struct itimerspec never = {.it_value = {.tv_sec = NEVER_SECONDS}};
    int rc = 0;
    clocks->fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (clocks->fd < 0 || timerfd_settime(clocks->fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) != 0)
        rc = -errno;
    if (rc == 0)
        rc = vg_watch_add_inner(loop, &clocks->watch, clocks->fd, VIGIL_FD_READ, clocks_jumped, NULL, false);
    if (rc == 0)
        clocks->used = true;
    else if (clocks->fd >= 0)
        (void)close(clocks->fd);
    return rc;
}

int vg_clocks_open(vigil_loop *loop)
{
    if (loop->clocks.used)
        return 0;
    int rc = open_clocks(loop, &loop->clocks);
    if (rc != 0)
        return vg_why(rc, "a timer on another clock needs a descriptor, which the loop does not get");
    loop->clocks.boot_ahead = clock_ahead(CLOCK_BOOTTIME); /* after the descriptor: no jump is missed */
    loop->clocks.wall_ahead = clock_ahead(CLOCK_REALTIME);
    return 0;
}

static int64_t ahead_of(const vigil_loop *loop, unsigned flags)
{
    return (flags & VG_TIMER_WALL) != 0 ? loop->clocks.wall_ahead : loop->clocks.boot_ahead;
}

uint64_t vg_clock_to_loop(const vigil_loop *loop, unsigned flags, uint64_t time)
{
    const uint64_t moved = vg_timer_moved(time < INT64_MAX ? time : INT64_MAX, -ahead_of(loop, flags));
    return moved != 0 ? moved : 1; /* 0 means: no deadline */
}

uint64_t vg_clock_from_loop(const vigil_loop *loop, unsigned flags, uint64_t time)
{
    return vg_timer_moved(time, ahead_of(loop, flags));
}

void vg_clocks_drop(vigil_loop *loop)
{
    loop->clocks.watch = NULL;
}

void vg_clocks_close(vigil_loop *loop)
{
    if (loop->clocks.used)
        (void)close(loop->clocks.fd);
    loop->clocks.used = false;
}

int vg_clocks_after_fork(vigil_loop *loop)
{
    const vg_clocks inherited =
        loop->clocks; /* its description is the parent's too: one of us would not hear of a jump */
    if (inherited.watch == NULL)
        return 0;
    int rc = open_clocks(loop, &loop->clocks);
    if (rc != 0) {
        loop->clocks = inherited;
        return rc;
    }
    vg_watch_remove_inner(loop, inherited.watch);
    (void)close(inherited.fd);
    return 0;
}
