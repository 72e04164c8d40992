/* SPDX-License-Identifier: MIT */
/*
 * What the scenarios of the whole pool share: making one, tasks that count themselves, gates, and the three endings.
 *
 * A gate is how tasks depend on each other: one waits for it, another opens it. The pool knows nothing of gates, so a task at a
 * gate is a running task that does not end until somebody runs (or cancels) the other one.
 *
 * Endings. AT_REST waits until nothing moves any more, looks, and leaves the workers asleep: this sees a lost wake-up that a
 * later wake would mend. STOP_GRACEFUL and STOP_NOW stop the pool while the scenario is still under way: these see what a stop
 * can lose or run twice, and what a pool leaves behind. AUDIT is AT_REST with the pool's own audit and numbers.
 */
#ifndef VIGIL_CHECK_POOL_COMMON_H
#define VIGIL_CHECK_POOL_COMMON_H

#include <vigil/pool.h>
#include <vigil_check.h>

#include "base/futex.h"
#include "pool/pool_struct.h"
#include "record/checked.h"

#include <errno.h>
#include <stdatomic.h>

enum {
    MOST_TASKS = 6
};

typedef enum ending {
    AT_REST,
    AUDIT, /* at rest, and then the pool's own audit and a destroy */
    STOP_GRACEFUL,
    STOP_NOW
} ending;

/* The argument of every scenario of the pool. */
typedef struct setup {
    unsigned workers;
    vigil_fence_mode fences;
    ending end;
    bool watched; /* with the recorder on, and a bound on the queue: whoever writes about a task reads it */
} setup;

typedef struct gate {
    _Atomic uint32_t open;
} gate;

/* A task that counts its runs and cancellations. */
typedef struct counted {
    vigil_task task;
    int (*body)(struct counted *self); /* may be NULL */
    gate *opens;                       /* at its end, or when it is cancelled; may be NULL */
    gate *waits_for;                   /* in its body; may be NULL */
    int payload;                       /* plainly written before the submit, read inside the task */
    bool given;                        /* it was made */
    _Atomic int refused;
    _Atomic int ran;
    _Atomic int cancelled;
} counted;

static vigil_pool *pool;
static counted tasks[MOST_TASKS];
static gate gates[MOST_TASKS];

static inline const setup *the_setup(void)
{
    return vgc_arg();
}

static inline void gate_wait(gate *g)
{
    /* acquire and release: whoever comes through has seen what happened before it was opened */
    while (atomic_load_explicit(&g->open, memory_order_acquire) == 0)
        (void)vg_futex_wait(&g->open, 0, VG_NO_DEADLINE);
}

static inline void gate_open(gate *g)
{
    atomic_store_explicit(&g->open, 1, memory_order_release); /* as above */
    (void)vg_futex_wake(&g->open, VG_WAKE_ALL);
}

static inline int number_of(const counted *self)
{
    return (int)(self - tasks);
}

static inline int counted_run(vigil_task *task)
{
    counted *self = (counted *)(void *)task;
    vgc_note("task %d runs", number_of(self));
    vgc_assert(self->payload == 1 + number_of(self), "what the submitter wrote into the task came with it");
    vgc_assert(atomic_fetch_add_explicit(&self->ran, 1, memory_order_relaxed) == 0, "a task ran twice");
    if (self->waits_for != NULL)
        gate_wait(self->waits_for);
    int status = self->body != NULL ? self->body(self) : 0;
    if (self->opens != NULL)
        gate_open(self->opens);
    return status;
}

static inline void counted_cancel(vigil_task *task)
{
    counted *self = (counted *)(void *)task;
    vgc_note("task %d is cancelled", number_of(self));
    vgc_assert(self->payload == 1 + number_of(self), "what the submitter wrote into the task came with it");
    vgc_assert(atomic_fetch_add_explicit(&self->cancelled, 1, memory_order_relaxed) == 0, "a task was cancelled twice");
    if (self->opens != NULL)
        gate_open(self->opens);
}

static inline counted *counted_make(int number)
{
    counted *one = &tasks[number];
    vigil_task_init(&one->task, counted_run, counted_cancel);
    one->payload = 1 + number;
    one->given = true;
    return one;
}

static inline int ran(int number)
{
    return atomic_load_explicit(&tasks[number].ran, memory_order_relaxed);
}

static inline int cancelled(int number)
{
    return atomic_load_explicit(&tasks[number].cancelled, memory_order_relaxed);
}

/* ---- the pool ---- */

static inline vigil_pool_options options_of(const setup *s)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = s->workers;
    options.fences = s->fences;
    options.idle = VIGIL_IDLE_PARK;
    options.max_queue = s->watched ? 2 * MOST_TASKS : 0;
    return options;
}

static inline void pool_make_with(const vigil_pool_options *options)
{
    vg_checked_level = the_setup()->watched ? VIGIL_RECORD_EVENTS : VIGIL_RECORD_OFF;
    vgc_assert(vigil_pool_create(&pool, options) == 0, "the pool is made");
}

static inline void pool_make(void)
{
    vigil_pool_options options = options_of(the_setup());
    pool_make_with(&options);
}

static inline void submit_made(int number, vigil_priority priority)
{
    int error = vigil_pool_submit(pool, &tasks[number].task, priority);
    vgc_assert(error == 0 || error == -ESHUTDOWN, "a submit is accepted, or refused because the pool stops");
    atomic_store_explicit(&tasks[number].refused, error != 0, memory_order_relaxed);
}

static inline void submit(int number)
{
    (void)counted_make(number);
    submit_made(number, VIGIL_NORMAL);
}

/* ---- endings ---- */

/* No task was lost and none taken twice. Only at rest. */
static inline void audit_at_rest(void)
{
    vigil_audit audit = {.size = sizeof audit};
    int error = vigil_pool_audit(pool, &audit);
    vgc_assert(error == 0 && audit.settled && audit.lost == 0 && audit.found == 0, "every task is accounted for");
}

static inline void each_ended_once(bool must_run)
{
    for (int i = 0; i < MOST_TASKS; i++) {
        if (!tasks[i].given)
            continue;
        if (atomic_load_explicit(&tasks[i].refused, memory_order_relaxed) != 0)
            vgc_assert(ran(i) + cancelled(i) == 0, "a refused task is left alone");
        else if (must_run)
            vgc_assert(ran(i) == 1 && cancelled(i) == 0,
                       "an accepted task has run: nobody sleeps beside a queued task");
        else
            vgc_assert(ran(i) + cancelled(i) == 1, "an accepted task has run or was cancelled");
    }
}

/* What was accepted is what ended, in the pool's own numbers. */
static inline void numbers_agree(void)
{
    vigil_pool_stats stats = {.size = sizeof stats};
    vgc_assert(vigil_pool_stats_get(pool, &stats) == 0, "the numbers can be had");
    vgc_assert(stats.total.submitted == stats.total.completed + stats.total.failed + stats.total.cancelled,
               "accepted is what completed, failed and was cancelled");
    vgc_assert(stats.total.queued == 0 && stats.total.running == 0, "and nothing is left");
}

/* Nobody is inside a wait or a task any more: what counts them is 0 again. */
static inline void nobody_is_counted(void)
{
    vgc_assert(atomic_load_explicit(&pool->room_waiters, memory_order_relaxed) == 0 &&
                   atomic_load_explicit(&pool->room_batches, memory_order_relaxed) == 0,
               "nobody is counted as waiting for room");
    vgc_assert(atomic_load_explicit(&pool->idle_waiters, memory_order_relaxed) == 0,
               "nobody is counted as waiting for an idle pool");
    for (unsigned c = 0; c < VG_CLASSES; c++)
        vgc_assert(atomic_load_explicit(&pool->cap_used[c], memory_order_relaxed) == 0, "nobody is counted in a cap");
}

/* At rest: every task has run although nobody came to wake the workers again. The pool is left as it is. */
static inline void rest(void)
{
    vgc_quiesce();
    each_ended_once(true);
}

static inline void destroy(void)
{
    vgc_assert(vigil_pool_destroy(pool) == 0, "the pool goes");
}

/* The end of a scenario, as its setup says, with another thread that may still be inside a call. After a stop the pool is given
   back; what it leaves behind is a leak. Returns what the thread returned. */
static inline void *finish_with(const pthread_t *other)
{
    const ending end = the_setup()->end;
    void *result = NULL;
    if (end == AT_REST || end == AUDIT)
        vgc_quiesce();
    else
        vgc_assert((end == STOP_NOW ? vigil_pool_close : vigil_pool_shutdown)(pool, VIGIL_FOREVER) == 0,
                   "the pool stops");
    if (other != NULL)
        result = vgc_thread_join(*other);
    each_ended_once(end != STOP_NOW);
    if (end == AT_REST)
        return result;
    if (end == AUDIT)
        audit_at_rest();
    numbers_agree();
    nobody_is_counted();
    destroy();
    return result;
}

static inline void finish(void)
{
    (void)finish_with(NULL);
}

/* ---- one body, several scenarios ---- */

#define SCENARIO(id, function, property_text, size, worker_count, fence, ending_, ...)                          \
    static const setup setup_##id = {.workers = (worker_count), .fences = (fence), .end = (ending_)};           \
    VGC_REGISTER(id, #id, function, property_text, .arg = &setup_##id, .bound = (size), .opt.max_steps = 30000, \
                 .opt.allow_sleepers = (ending_) == AT_REST, .opt.allow_leaks = (ending_) == AT_REST, ##__VA_ARGS__)

/* The same body with everything written down, against a stop and at rest. */
#define WATCHED(id, function, property_text, size, worker_count)                                                     \
    static const setup setup_##id##_watched = {                                                                      \
        .workers = (worker_count), .fences = VIGIL_FENCE_SYMMETRIC, .end = AT_REST, .watched = true};                \
    VGC_REGISTER(id##_watched, #id "_watched", function, property_text, .arg = &setup_##id##_watched,                \
                 .bound = size "; at rest; recorder on", .opt.max_steps = 30000, .opt.allow_sleepers = true,         \
                 .opt.allow_leaks = true, BY_CHANCE_LONG);                                                           \
    static const setup setup_##id##_watched_stop = {                                                                 \
        .workers = (worker_count), .fences = VIGIL_FENCE_MEMBARRIER, .end = STOP_NOW, .watched = true};              \
    VGC_REGISTER(id##_watched_stop, #id "_watched_stop", function, property_text, .arg = &setup_##id##_watched_stop, \
                 .bound = size "; against an immediate stop; recorder on", .opt.max_steps = 30000, BY_CHANCE)

/* A stop makes an execution five times as long, so that form gets fewer runs. --runs replaces both. */
#define BY_CHANCE      .opt.mode = VGC_PCT, .opt.runs = 1000
#define BY_CHANCE_LONG .opt.mode = VGC_PCT, .opt.runs = 4000

/* The two forms that a wake-up needs (at rest; against a stop), in both fence modes. */
#define SCENARIOS(id, function, property_text, size, worker_count, ...)                                      \
    SCENARIO(id, function, property_text, size "; at rest", worker_count, VIGIL_FENCE_SYMMETRIC, AT_REST,    \
             BY_CHANCE_LONG, ##__VA_ARGS__);                                                                 \
    SCENARIO(id##_membarrier, function, property_text, size "; at rest; membarrier", worker_count,           \
             VIGIL_FENCE_MEMBARRIER, AT_REST, BY_CHANCE_LONG, ##__VA_ARGS__);                                \
    SCENARIO(id##_stop, function, property_text, size "; against a graceful stop; membarrier", worker_count, \
             VIGIL_FENCE_MEMBARRIER, STOP_GRACEFUL, BY_CHANCE, ##__VA_ARGS__);                               \
    SCENARIO(id##_stop_now, function, property_text, size "; against an immediate stop", worker_count,       \
             VIGIL_FENCE_SYMMETRIC, STOP_NOW, BY_CHANCE, ##__VA_ARGS__)

#endif
