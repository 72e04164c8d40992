/* SPDX-License-Identifier: MIT */
/*
 * Two kinds of harm. Most of it any program can do to itself through the public headers: hog a worker, block them all,
 * wait in a circle, flood the pool, block the loop, be stopped. The rest cannot happen while the library is right: a
 * wake-up that is forgotten, a task that vanishes, a worker that stands still inside the library, a class that nobody
 * takes. These need a variant of the library that can be broken on purpose (src/base/fault.h). Only vigil-demo has it,
 * which is this command once more, linked with that variant and never installed. The plain command lists the faults and
 * starts vigil-demo.
 */
#define _GNU_SOURCE
#include "faults.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"

static _Atomic bool released;
static int gate = -1; /* readable once the game is over */

static void pause_ns(long ns)
{
    struct timespec time = {ns / 1000000000, ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* ---- what a program can do to itself ----------------------------------------------------------------------------- */

static int task_that_never_ends(void *arg)
{
    (void)arg;
    while (!atomic_load_explicit(&released, memory_order_relaxed)) /* nothing is handed over by it */
        ;
    return 0;
}

static void inject_hog(struct game *game)
{
    vigil_pool_call(game->pool, task_that_never_ends, NULL, NULL, VIGIL_NORMAL);
}

static bool release_hog(struct game *game)
{
    (void)game;
    atomic_store_explicit(&released, true, memory_order_relaxed);
    return true;
}

static void prepare_blocked(vigil_pool_options *options)
{
    options->no_spares = true;
}

static int task_waits_for_a_dead_database(void *arg)
{
    (void)arg;
    uint64_t word;
    vigil_blocking_begin();
    ssize_t got = read(gate, &word, sizeof word);
    vigil_blocking_end();
    return got == sizeof word ? 0 : -EIO;
}

static void inject_blocked(struct game *game)
{
    gate = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    for (unsigned i = 0; i < GAME_WORKERS; i++)
        vigil_pool_call(game->pool, task_waits_for_a_dead_database, NULL, NULL, VIGIL_CRITICAL);
}

static bool release_blocked(struct game *game)
{
    (void)game;
    uint64_t everybody = GAME_WORKERS;
    return gate >= 0 && write(gate, &everybody, sizeof everybody) == sizeof everybody;
}

static struct {
    vigil_pool *pool;
    vigil_job job[2];
    _Atomic int ready;
} circle;

static int waits_for_its_neighbour(unsigned mine)
{
    /* Both are running before either waits: otherwise the wait would simply run the other. */
    atomic_fetch_add_explicit(&circle.ready, 1, memory_order_relaxed);
    while (atomic_load_explicit(&circle.ready, memory_order_relaxed) < 3)
        pause_ns(1000000);
    return vigil_job_wait(circle.pool, circle.job[1 - mine], VIGIL_FOREVER, NULL);
}

static int left_waits_for_right(void *arg)
{
    (void)arg;
    return waits_for_its_neighbour(0);
}

static int right_waits_for_left(void *arg)
{
    (void)arg;
    return waits_for_its_neighbour(1);
}

static void inject_cycle(struct game *game)
{
    circle.pool = game->pool;
    vigil_job_call(game->pool, left_waits_for_right, NULL, NULL, &circle.job[0]);
    vigil_job_call(game->pool, right_waits_for_left, NULL, NULL, &circle.job[1]);
    atomic_fetch_add_explicit(&circle.ready, 1, memory_order_relaxed); /* the handles are there */
}

static bool release_cycle(struct game *game)
{
    return vigil_job_poll(game->pool, circle.job[0], NULL) == VIGIL_JOB_DONE &&
           vigil_job_poll(game->pool, circle.job[1], NULL) == VIGIL_JOB_DONE;
}

static int letter_is_written(void *arg)
{
    (void)arg;
    pause_ns(5000000);
    return 0;
}

static void letters_come_in(vigil_loop *loop, vigil_timer timer, void *arg)
{
    struct game *game = arg;
    if (atomic_load_explicit(&released, memory_order_relaxed)) {
        vigil_timer_cancel(loop, timer);
        return;
    }
    for (int i = 0; i < 200; i++)
        vigil_pool_call(game->pool, letter_is_written, NULL, NULL, VIGIL_LOW);
}

static void inject_flood(struct game *game)
{
    vigil_timer_options options = {.size = sizeof options, .interval_ns = 20000000};
    vigil_timer_start_with(game->loop, &options, letters_come_in, game, NULL);
}

static void callback_reads_a_slow_disk(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop, (void)timer, (void)arg;
    pause_ns(3000000000L);
}

static void inject_blocked_loop(struct game *game)
{
    vigil_timer_start(game->loop, 0, callback_reads_a_slow_disk, NULL, NULL);
}

/* The watcher of the demo lets it go on. */
static void inject_stop(struct game *game)
{
    (void)game;
    raise(SIGSTOP);
}

/* ---- what needs a broken library --------------------------------------------------------------------------------- */

#ifdef VIGIL_FAULTS
static void inject_lost_wake(struct game *game)
{
    (void)game;
    vg_fault_inject(VG_FAULT_DROP_WAKE, -1, 0);
}

static void end_lost_wake(struct game *game)
{
    (void)game;
    vg_fault_inject(VG_FAULT_DROP_WAKE, 0, 0);
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

/* Any wake-up that is not lost sets everything going. */
static bool release_lost_wake(struct game *game)
{
    end_lost_wake(game);
    return vigil_pool_call(game->pool, nothing, NULL, NULL, VIGIL_CRITICAL) == 0;
}

static void inject_lost_task(struct game *game)
{
    (void)game;
    vg_fault_inject(VG_FAULT_LOSE_TASK, 1, 0);
}

static bool cannot(struct game *game)
{
    (void)game;
    return false;
}

static void inject_frozen(struct game *game)
{
    (void)game;
    vg_fault_inject(VG_FAULT_FREEZE_WORKER, 1, 0);
}

static bool release_frozen(struct game *game)
{
    (void)game;
    vg_fault_inject(VG_FAULT_FREEZE_WORKER, 0, 0);
    vg_fault_thaw();
    return true;
}

static void inject_starved(struct game *game)
{
    (void)game;
    vg_fault_inject(VG_FAULT_STARVE_CLASS, -1, VIGIL_LOW);
}

static bool release_starved(struct game *game)
{
    (void)game;
    vg_fault_inject(VG_FAULT_STARVE_CLASS, 0, 0);
    return vigil_pool_call(game->pool, nothing, NULL, NULL, VIGIL_LOW) == 0;
}
#else
#define end_lost_wake     NULL
#define inject_lost_wake  NULL
#define release_lost_wake NULL
#define inject_lost_task  NULL
#define cannot            NULL
#define inject_frozen     NULL
#define release_frozen    NULL
#define inject_starved    NULL
#define release_starved   NULL
#endif

const struct fault faults[] = {
    {.name = "lost-wakeup",
     .text = "nobody wakes a worker, until all of them sleep",
     .expect = VIGIL_STALL_LOST_WAKEUP,
     .healable = true,
     .when_idle = true,
     .inject = inject_lost_wake,
     .when_it_stands = end_lost_wake,
     .release = release_lost_wake},
    {.name = "lost-task",
     .text = "a worker takes a task and forgets it; then the bots rest",
     .expect = VIGIL_STALL_LOST_TASK,
     .then_rest = true,
     .inject = inject_lost_task,
     .release = cannot},
    {.name = "frozen-worker",
     .text = "a worker stands still between taking a task and starting it",
     .expect = VIGIL_STALL_FROZEN_WORKER,
     .inject = inject_frozen,
     .release = release_frozen},
    {.name = "starved-class",
     .text = "nobody takes LOW tasks any more",
     .expect = VIGIL_STALL_STARVED_CLASS,
     .inject = inject_starved,
     .release = release_starved},
    {.name = "all-blocked",
     .text = "every worker waits for a database that does not answer, and there are no spares",
     .expect = VIGIL_STALL_ALL_BLOCKED,
     .prepare = prepare_blocked,
     .inject = inject_blocked,
     .release = release_blocked},
    {.name = "hog",
     .text = "a task never ends",
     .expect = VIGIL_STALL_HOG,
     .inject = inject_hog,
     .release = release_hog},
    {.name = "wait-cycle",
     .text = "two tasks wait for each other",
     .expect = VIGIL_STALL_WAIT_CYCLE,
     .healable = true,
     .inject = inject_cycle,
     .release = release_cycle},
    {.name = "growing-queue",
     .text = "letters come in faster than they are written",
     .expect = VIGIL_STALL_GROWING_QUEUE,
     .inject = inject_flood,
     .release = release_hog},
    {.name = "blocked-loop",
     .text = "a callback of the loop takes three seconds",
     .expect = VIGIL_STALL_LOOP_BLOCKED,
     .inject = inject_blocked_loop},
    {.name = "stop",
     .text = "the process is stopped for three seconds",
     .expect = VIGIL_STALL_NO_CPU,
     .stops = true,
     .inject = inject_stop},
    {0},
};

const struct fault *fault_find(const char *name)
{
    for (const struct fault *fault = faults; fault->name != NULL; fault++)
        if (strcmp(fault->name, name) == 0)
            return fault;
    return NULL;
}
