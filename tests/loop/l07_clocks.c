/* SPDX-License-Identifier: MIT */
/*
 * L7: Timers on boot time and on the time of day. The clocks jump here only: what the library reads of them, and the descriptor by which
 * the kernel tells of a jump, are the test's.
 */
#include "loop_test.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// NOLINTBEGIN(bugprone-reserved-identifier): the names that the linker gives
static _Atomic int64_t boot_jump, wall_jump;
static _Atomic int jump_fd = -1; /* of the newest loop */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    const int rc = __real_clock_gettime(clock, now);
    const int64_t by = clock == CLOCK_BOOTTIME   ? atomic_load_explicit(&boot_jump, memory_order_relaxed)
                       : clock == CLOCK_REALTIME ? atomic_load_explicit(&wall_jump, memory_order_relaxed)
                                                 : 0;
    const int64_t ns = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec + by;
    now->tv_sec = ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
    return rc;
}

int __real_timerfd_create(int clock, int flags);
int __wrap_timerfd_create(int clock, int flags);
int __wrap_timerfd_create(int clock, int flags)
{
    if (clock != CLOCK_REALTIME)
        return __real_timerfd_create(clock, flags);
    const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    atomic_store_explicit(&jump_fd, fd, memory_order_relaxed);
    return fd;
}

static bool asked_to_be_told;
int __real_timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *before);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *before);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *before)
{
    if (fd != atomic_load_explicit(&jump_fd, memory_order_relaxed))
        return __real_timerfd_settime(fd, flags, to, before);
    asked_to_be_told =
        (flags & (TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)) == (TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET);
    return 0;
}
// NOLINTEND(bugprone-reserved-identifier)

#define HOUR INT64_C(3600000000000)

static void jump(int64_t boot_ns, int64_t wall_ns)
{
    const uint64_t one = 1;
    (void)atomic_fetch_add_explicit(&boot_jump, boot_ns, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&wall_jump, wall_ns, memory_order_relaxed);
    must(asked_to_be_told);
    must_equal(write(atomic_load_explicit(&jump_fd, memory_order_relaxed), &one, sizeof one), sizeof one);
}

static uint64_t clock_now(clockid_t clock)
{
    struct timespec now;
    must_equal(clock_gettime(clock, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void fires(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop;
    (void)timer;
    ++*(unsigned *)arg;
}

static vigil_timer start_on(vigil_loop *loop, vigil_clock clock, uint64_t deadline, int64_t interval, unsigned *fired)
{
    vigil_timer timer;
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    options.clock = clock;
    options.deadline_ns = deadline;
    options.delay_ns = deadline == 0 ? HOUR : 0;
    options.interval_ns = interval;
    must_equal(vigil_timer_start_with(loop, &options, fires, fired, &timer), 0);
    return timer;
}

/* Two turns that do not block: the jump is heard in the first, and what is due fires in the second. */
static void turn(vigil_loop *loop)
{
    for (int i = 0; i < 2; i++)
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
}

static void a_time_of_day_comes_earlier_when_the_clock_is_set_forward(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    unsigned wall = 0;
    unsigned boot = 0;
    unsigned usual = 0;
    (void)start_on(loop, VIGIL_CLOCK_REALTIME, clock_now(CLOCK_REALTIME) + (uint64_t)HOUR, 0, &wall);
    (void)start_on(loop, VIGIL_CLOCK_BOOTTIME, 0, 0, &boot);
    (void)start_on(loop, VIGIL_CLOCK_MONOTONIC, 0, 0, &usual);
    jump(0, HOUR / 2);
    turn(loop);
    must_equal(wall, 0);
    jump(0, HOUR);
    turn(loop);
    must_equal(wall, 1);
    must_equal(boot + usual, 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* A timer at noon, which is so far ahead, and a clock that is set back by an hour. False: noon came before the loop heard of that. */
static bool set_back_before_noon(int64_t ahead_ns)
{
    vigil_loop *loop = loop_plain();
    unsigned wall = 0;
    const uint64_t noon = clock_now(CLOCK_REALTIME) + (uint64_t)ahead_ns;
    vigil_timer timer = start_on(loop, VIGIL_CLOCK_REALTIME, noon, 0, &wall);
    jump(0, -HOUR);
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    const bool in_time = clock_now(CLOCK_REALTIME) + (uint64_t)HOUR < noon;
    if (in_time) {
        while (clock_now(CLOCK_REALTIME) + (uint64_t)HOUR <= noon)
            yield();
        turn(loop);
        must_equal(wall, 0); /* its first deadline has passed, on the loop's clock */
        uint64_t deadline = 0;
        must_equal(vigil_timer_deadline(loop, timer, &deadline), 0);
        must_equal(deadline, noon);
    }
    jump(0, HOUR);
    turn(loop);
    must_equal(wall, 1);
    must_equal(vigil_loop_destroy(loop), 0);
    return in_time;
}

static void a_time_of_day_comes_later_when_the_clock_is_set_back(void **state)
{
    (void)state;
    int64_t ahead = 1000000;
    while (!set_back_before_noon(ahead))
        ahead *= 2; /* a busy machine */
}

static void what_became_due_while_the_machine_slept_fires_when_it_wakes(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    unsigned boot = 0;
    unsigned absolute = 0;
    unsigned usual = 0;
    (void)start_on(loop, VIGIL_CLOCK_BOOTTIME, 0, 0, &boot);
    (void)start_on(loop, VIGIL_CLOCK_BOOTTIME, clock_now(CLOCK_BOOTTIME) + (uint64_t)(3 * HOUR), 0, &absolute);
    (void)start_on(loop, VIGIL_CLOCK_MONOTONIC, 0, 0, &usual);
    jump(2 * HOUR, 2 * HOUR); /* both go on during a sleep, as seen from the loop */
    turn(loop);
    must_equal(boot, 1);
    must_equal(absolute, 0);
    jump(2 * HOUR, 2 * HOUR);
    turn(loop);
    must_equal(absolute, 1);
    must_equal(usual, 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_daily_timer_keeps_to_its_schedule(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    unsigned wall = 0;
    const uint64_t first = clock_now(CLOCK_REALTIME) + (uint64_t)HOUR;
    vigil_timer timer = start_on(loop, VIGIL_CLOCK_REALTIME, first, HOUR, &wall);
    jump(0, HOUR * 7 / 2); /* three points have passed: one call */
    turn(loop);
    must_equal(wall, 1);
    uint64_t deadline = 0;
    must_equal(vigil_timer_deadline(loop, timer, &deadline), 0);
    must_equal(deadline, first + (uint64_t)(3 * HOUR));
    must_equal(vigil_timer_again_at(loop, timer, first + (uint64_t)(10 * HOUR)), 0);
    must_equal(vigil_timer_deadline(loop, timer, &deadline), 0);
    must_equal(deadline, first + (uint64_t)(10 * HOUR));
    jump(0, 8 * HOUR);
    turn(loop);
    must_equal(wall, 2);
    must_equal(vigil_timer_cancel(loop, timer), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* The jump is longer than the machine has run: the loop's clock has no name for the points that were jumped over. */
static void a_schedule_survives_a_jump_over_the_machines_boot(void **state)
{
    (void)state;
    const int64_t day = 24 * HOUR;
    for (int jumps = 1; jumps <= 3; jumps++) {
        vigil_loop *loop = loop_plain();
        unsigned wall = 0;
        const uint64_t first = clock_now(CLOCK_REALTIME) + (uint64_t)day;
        const uint64_t years = (uint64_t)(20000 * day);
        vigil_timer timer = start_on(loop, VIGIL_CLOCK_REALTIME, first, day, &wall);
        for (int i = 0; i < jumps; i++)
            jump(0, 20000 * day + (i == 0 ? day / 2 : 0));
        uint64_t deadline = 0;
        turn(loop);
        must_equal(wall, 1);
        must_equal(vigil_timer_deadline(loop, timer, &deadline), 0);
        must_equal(deadline, first + (uint64_t)jumps * years);
        must_equal(vigil_timer_again_at(loop, timer, first - (uint64_t)day),
                   0); /* long due, and on the same schedule */
        must_equal(vigil_timer_deadline(loop, timer, &deadline), 0);
        must_equal(deadline, first - (uint64_t)day);
        turn(loop);
        must_equal(wall, 2);
        must_equal(vigil_timer_deadline(loop, timer, &deadline), 0);
        must_equal(deadline, first + (uint64_t)jumps * years);
        must_equal(vigil_timer_again(loop, timer, INT64_MAX), 0); /* never */
        jump(0, -(jumps * 20000 * day + day / 2));
        turn(loop);
        must_equal(wall, 2);
        must_equal(vigil_loop_destroy(loop), 0);
    }
}

/* Among many others, some of them cancelled: nothing else moves. */
static void only_timers_of_the_clock_that_jumped_move(void **state)
{
    (void)state;
    enum {
        MANY = 3000
    };
    static unsigned fired[3];
    static vigil_timer timers[MANY];
    vigil_loop *loop = loop_plain();
    memset(fired, 0, sizeof fired);
    for (unsigned i = 0; i < MANY; i++)
        timers[i] =
            start_on(loop, (vigil_clock)(i % 3),
                     i % 3 == VIGIL_CLOCK_REALTIME ? clock_now(CLOCK_REALTIME) + (uint64_t)HOUR : 0, 0, &fired[i % 3]);
    for (unsigned i = 0; i < MANY; i += 7)
        must_equal(vigil_timer_cancel(loop, timers[i]), 0);
    jump(0, 2 * HOUR);
    turn(loop);
    must_equal(fired[VIGIL_CLOCK_MONOTONIC] + fired[VIGIL_CLOCK_BOOTTIME], 0);
    unsigned left = 0;
    for (unsigned i = 0; i < MANY; i++)
        left += i % 3 == VIGIL_CLOCK_REALTIME && i % 7 != 0;
    must_equal(fired[VIGIL_CLOCK_REALTIME], left);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    vigil_loop_options forced = VIGIL_LOOP_OPTIONS_INIT;
    forced.fast_path = VIGIL_FAST_PATH_FORCED;
    vigil_loop *loop = loop_with(&forced);
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    options.clock = VIGIL_CLOCK_REALTIME;
    options.delay_ns = 1;
    must_equal(vigil_timer_start_with(loop, &options, fires, NULL, NULL), -EINVAL);
    must(strstr(vigil_why(), "deadline_ns") != NULL);
    options.clock = VIGIL_CLOCK_BOOTTIME;
    must_equal(vigil_timer_start_with(loop, &options, fires, NULL, NULL), -EINVAL); /* no descriptor here */
    options.clock = (vigil_clock)7;
    must_equal(vigil_timer_start_with(loop, &options, fires, NULL, NULL), -EINVAL);
    must_equal(vigil_loop_destroy(loop), 0);
    loop = loop_plain();
    unsigned fired = 0;
    (void)start_on(loop, VIGIL_CLOCK_REALTIME, 1, 0,
                   &fired); /* in 1970: long due; it keeps the loop alive until then */
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(fired, 1);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void jump_in_child(void *arg)
{
    vigil_loop *loop = arg;
    const int inherited = atomic_load_explicit(&jump_fd, memory_order_relaxed);
    must_equal(vigil_loop_fork(loop), 0);
    must(atomic_load_explicit(&jump_fd, memory_order_relaxed) != inherited); /* its own */
    jump(0, 2 * HOUR);
    turn(loop);
    _exit(vigil_loop_destroy(loop) == 0 ? 0 : 1);
}

static void a_forked_child_has_a_descriptor_of_its_own(void **state)
{
    (void)state;
    if (TEST_TSAN)
        skip();
    vigil_loop *loop = loop_plain();
    static unsigned wall;
    unsigned usual = 0;
    wall = 0;
    (void)start_on(loop, VIGIL_CLOCK_REALTIME, clock_now(CLOCK_REALTIME) + (uint64_t)HOUR, HOUR, &wall);
    (void)start_on(loop, VIGIL_CLOCK_MONOTONIC, 0, 0, &usual);
    const int status = in_child(jump_in_child, loop);
    must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    turn(loop);
    must_equal(wall, 0); /* nothing has jumped here */
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_time_of_day_comes_earlier_when_the_clock_is_set_forward),
        test(a_time_of_day_comes_later_when_the_clock_is_set_back),
        test(what_became_due_while_the_machine_slept_fires_when_it_wakes),
        test(a_daily_timer_keeps_to_its_schedule),
        test(a_schedule_survives_a_jump_over_the_machines_boot),
        test(only_timers_of_the_clock_that_jumped_move),
        test(what_makes_no_sense_is_refused),
        test(a_forked_child_has_a_descriptor_of_its_own),
    };
    return run_all(tests);
}
