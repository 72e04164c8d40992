/* SPDX-License-Identifier: MIT */
/*
 * A timeout behind a lost wake-up.
 *
 * The worker raises its flag and sleeps, without a look at the queue after that: the hole of first_version.c. The original put a timeout of ten milliseconds behind the sleep.
 *
 * Claimed: should a wake-up ever be lost, the worker looks again after ten milliseconds at the latest. So it is a safety net.
 *
 * True: the loss is still there; it has become latency, which no test for "does it finish" finds. That is the first exhibit: it passes, and
 * that is the trouble. The second is the same run, and asks whether any time went by: on the checker's clock, which moves only if
 * everybody waits, ten milliseconds did. The third has the timeout switched off, and hangs. So protocols are checked without timeouts.
 */
#include "gallery.h"

struct question {
    bool timeout, asks_for_time;
};

static const struct question *question;
static struct queue queue;
static _Atomic unsigned sleeping;

static void sleep_with_net(void)
{
    static const struct timespec ten_milliseconds = {.tv_nsec = 10 * 1000 * 1000};
    atomic_store_explicit(&sleeping, 1, memory_order_relaxed);
    if (question->timeout)
        futex_wait_for(&sleeping, 1, &ten_milliseconds);
    else
        futex_wait(&sleeping, 1);
    atomic_store_explicit(&sleeping, 0, memory_order_relaxed);
}

static void submit(void)
{
    queue_push(&queue);
    if (!atomic_load_explicit(&sleeping, memory_order_relaxed))
        return;
    atomic_store_explicit(&sleeping, 0, memory_order_relaxed);
    futex_wake(&sleeping, 1);
}

static const struct protocol protocol = {sleep_with_net, submit, &queue};

static void one_task(void)
{
    question = vgc_arg();
    uint64_t before = vgc_clock_now();
    one_worker_gets(&protocol, 1);
    if (question->asks_for_time)
        vgc_assert(vgc_clock_now() == before, "the task waited for the timeout, not for the wake-up");
}

static const struct question finishes = {.timeout = true};
static const struct question in_time = {.timeout = true, .asks_for_time = true};
static const struct question no_net;

VGC_REGISTER(finishes, "timeout_hides_loss", one_task, "it finishes, so the test that asks no more is content",
             .arg = &finishes, .bound = "1 worker, 1 task", .opt.sc_memory = true, .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(in_time, "timeout_hides_loss_as_latency", one_task, "a task does not wait for a timeout", .arg = &in_time,
             .expect = VGC_ASSERTION, .bound = "1 worker, 1 task", .opt.sc_memory = true,
             .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(no_net, "timeout_off", one_task, "a submitted task is run", .arg = &no_net, .expect = VGC_DEADLOCK,
             .bound = "1 worker, 1 task", .opt.sc_memory = true, .opt.time_limit = GALLERY_SECONDS);
