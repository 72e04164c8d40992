/* SPDX-License-Identifier: MIT */
/* The floor of loop-round-trip: a thread that blocks in futex, and runs what it finds in one place. */
#include "harness.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t rounds;
static bool over;
static loop_fn next_fn;
static void *next_arg;

static void open_loop(bool with_fd)
{
    (void)with_fd;
}

static void run(void)
{
    for (uint32_t seen = 0; !over; seen++) {
        while (__atomic_load_n(&rounds, __ATOMIC_ACQUIRE) == seen) /* pairs with the release in post */
            syscall(SYS_futex, &rounds, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
        next_fn(next_arg);
    }
}

static void stop(void)
{
    over = true;
}

static void post(struct loop_message *message, loop_fn fn, void *arg)
{
    (void)message;
    next_fn = fn;
    next_arg = arg;
    __atomic_fetch_add(&rounds, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &rounds, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

const struct loop_peer loop_peer = {.open = open_loop, .run = run, .stop = stop, .post = post};
const long loop_most_timers = 0;
