/* SPDX-License-Identifier: MIT */
/*
 * The idle protocol by itself: idle.c, worker.c, take.c and deque.c as they are shipped; everything else of the pool is a stub, so that
 * the protocol can be explored to the end at sizes that the whole pool does not permit.
 *
 * The stubs. The injector is one word of bits, a bit for each task: pushed with release, taken with acquire, looked at relaxed, which
 * is what its own scenarios (injector.c) show the real one to give. Nothing is counted, nobody waits for an idle pool, there are no
 * caps, groups and spares: what these add is explored with the whole pool, by chance (pool_*.c).
 *
 * Forms: at rest (no task is queued beside a parked worker, and each has run exactly once), and against the end (all are told
 * to go while they search, park and run: nobody stays asleep, and a task has run or is still queued).
 */
#include "protocol.h"

#include "pool/caps.h"
#include "pool/group.h"
#include "pool/quiescence.h"
#include "pool/run.h"
#include "pool/seats.h"
#include "pool/take.h"
#include "pool/trace.h"

static _Atomic uint32_t alone_queue;
static _Atomic uint32_t alone_quit;

/* ---- stubs ---- */

void vg_injector_init(vg_injector *injector)
{
    (void)injector;
}

int vg_injector_push(vg_injector *injector, vigil_task *newest, vigil_task *oldest, bool even_if_closed)
{
    (void)injector;
    (void)oldest;
    (void)even_if_closed;
    (void)atomic_fetch_or_explicit(&alone_queue, 1U << number_of((counted *)(void *)newest), memory_order_release);
    return 0;
}

vigil_task *vg_injector_take(vg_injector *injector, bool *more)
{
    (void)injector;
    *more = false;
    uint32_t seen = atomic_load_explicit(&alone_queue, memory_order_relaxed);
    while (seen != 0) {
        if (atomic_compare_exchange_strong_explicit(&alone_queue, &seen, seen & (seen - 1), memory_order_acquire,
                                                    memory_order_relaxed))
            return &tasks[__builtin_ctz(seen)].task;
    }
    return NULL;
}

bool vg_injector_visible(vg_injector *injector)
{
    return injector == &pool->injectors[VIGIL_NORMAL] && atomic_load_explicit(&alone_queue, memory_order_relaxed) != 0;
}

size_t vg_pool_call_size(void)
{
    return 64;
}

void vg_quiescence_signal(vigil_pool *of)
{
    (void)of;
}

int vg_spare_start(vigil_pool *of)
{
    (void)of;
    return -EAGAIN;
}

bool vg_cap_enter(vg_worker *worker, unsigned class_)
{
    (void)worker;
    (void)class_;
    return true;
}

void vg_cap_leave(vg_worker *worker, unsigned class_)
{
    (void)worker;
    (void)class_;
}

void vg_caps_look_slow(vg_worker *worker)
{
    (void)worker;
}

void vg_caps_suspend(vg_worker *worker, unsigned held[VG_CLASSES])
{
    (void)worker;
    (void)held;
}

void vg_caps_resume(vg_worker *worker, const unsigned held[VG_CLASSES])
{
    (void)worker;
    (void)held;
}

void vg_group_member_moved(vigil_task *task)
{
    (void)task;
}

vigil_task *vg_join_taken(vigil_pool *of, vg_worker *taker, vg_deque *from, vigil_task *entry)
{
    (void)of;
    (void)taker;
    (void)from;
    return entry; /* nobody joins */
}

void vg_join_queue_init(vg_own_queue *queue, vg_worker *worker)
{
    (void)queue;
    (void)worker;
}

void vg_run(vg_worker *worker, vigil_task *task)
{
    (void)worker;
    (void)task->run(task);
}

bool vg_drop_husk(vigil_pool *of, vigil_task *task)
{
    (void)of;
    (void)task;
    return false;
}

void vg_trace_steal(vg_worker *thief, unsigned class_, unsigned victim)
{
    (void)thief;
    (void)class_;
    (void)victim;
}

void vg_trace_wake(const vigil_pool *pool, unsigned index, uint64_t at)
{
    (void)pool;
    (void)index;
    (void)at;
}

void vg_trace_map_ahead(const vigil_pool *pool)
{
    (void)pool;
}

void vg_trace_parked(vg_worker *worker, uint64_t since)
{
    (void)worker;
    (void)since;
}

void vg_trace_pause_slow(vg_worker *worker)
{
    (void)worker;
}

/* ---- the scenarios ---- */

typedef struct shape {
    unsigned asleep; /* workers that have parked when the scenario begins */
    unsigned on_their_way;
    vg_fence_mode fences;
    bool against_end;
} shape;

static pthread_t threads[MOST_WORKERS];

static bool told_to_go(vg_worker *worker, void *arg)
{
    (void)worker;
    (void)arg;
    return atomic_load_explicit(&alone_quit, memory_order_relaxed) != 0;
}

static void *worker_that_goes(void *arg)
{
    vg_worker *worker = arg;
    vg_current_worker = worker;
    const vg_wait wait = {.over = told_to_go, .arg = NULL, .deadline_ns = VG_NO_DEADLINE};
    vg_worker_loop(worker, &wait, true);
    return NULL;
}

static void start(unsigned index)
{
    const shape *s = vgc_arg();
    vg_search_begin(
        pool); /* a new thread begins as a searcher, whose token is counted before it is started (seats.c) */
    threads[index] = vgc_thread_start(s->against_end ? worker_that_goes : bare_worker_main, &bare_workers[index]);
}

static void begin(void)
{
    const shape *s = vgc_arg();
    bare_pool_init(s->asleep + s->on_their_way, s->fences);
    /* The protocol reads none of the numbers that it counts; and where a thief begins does not matter when there is at most one to
       steal from. */
    vgc_forget(bare_slots, sizeof bare_slots);
    vgc_forget(&bare_shared, sizeof bare_shared);
    for (unsigned i = 0; i < MOST_WORKERS; i++)
        vgc_forget(&bare_workers[i].random, sizeof bare_workers[i].random);
    for (unsigned i = 0; i < s->asleep; i++) {
        start(i);
        vgc_quiesce();
    }
    for (unsigned i = 0; i < s->on_their_way; i++)
        start(s->asleep + i);
}

static void publish(int number)
{
    tasks[number].task.vg_class = VIGIL_NORMAL;
    (void)vg_injector_push(&pool->injectors[VIGIL_NORMAL], &tasks[number].task, &tasks[number].task, false);
    vg_announce(pool, VIGIL_NORMAL);
}

static void end(void)
{
    const shape *s = vgc_arg();
    if (!s->against_end) {
        rest();
        return;
    }
    /* As vg_seats_quit. */
    atomic_store_explicit(&alone_quit, 1, memory_order_relaxed);
    for (unsigned i = 0; i < s->asleep + s->on_their_way; i++)
        vg_unpark(&bare_workers[i].seat);
    for (unsigned i = 0; i < s->asleep + s->on_their_way; i++)
        (void)vgc_thread_join(threads[i]);
    const uint32_t queued = atomic_load_explicit(&alone_queue, memory_order_relaxed);
    for (int i = 0; i < MOST_TASKS; i++)
        vgc_assert(!tasks[i].given || ran(i) + (int)(queued >> i & 1) == 1, "a task has run, or is still queued");
}

static void one_task(void)
{
    begin();
    (void)counted_make(0);
    publish(0);
    end();
}

/* Both must run at once: the first waits for the second. */
static void two_tasks(void)
{
    begin();
    counted *first = counted_make(0);
    counted *second = counted_make(1);
    if (!((const shape *)vgc_arg())->against_end) {
        first->waits_for = &gates[1];
        second->opens = &gates[1];
    }
    publish(0);
    publish(1);
    end();
}

static int spawn_and_wait(counted *self)
{
    (void)self;
    counted *child = counted_make(1);
    child->opens = &gates[1];
    child->task.vg_class = VIGIL_NORMAL;
    vg_push_own(vg_current_worker, vg_current_worker->queue, &child->task);
    gate_wait(&gates[1]);
    return 0;
}

/* The first spawns the second and waits for it: the spawn must bring a thief. */
static void spawn(void)
{
    begin();
    counted_make(0)->body = spawn_and_wait;
    publish(0);
    end();
}

static void three_tasks(void)
{
    begin();
    for (int i = 0; i < 3; i++) {
        counted *one = counted_make(i);
        one->waits_for = i < 2 ? &gates[i + 1] : NULL;
        one->opens = &gates[i];
        publish(i);
    }
    end();
}

#define CONSERVED "no task stays queued beside a parked worker; each runs exactly once"
#define ENDED     "whoever is told to go goes; each task has run once or is still queued"
#define F         VG_FENCE_SYMMETRIC
#define M         VG_FENCE_MEMBARRIER

#define BY_STATES .opt.mode = VGC_STATEFUL /* their executions are too many */

#define ALONE(id, function, asleep_count, moving_count, mode, size, ...)                                          \
    static const shape shape_##id = {.asleep = (asleep_count), .on_their_way = (moving_count), .fences = (mode)}; \
    VGC_REGISTER(id, #id, function, CONSERVED, .arg = &shape_##id, .bound = (size), .opt.allow_sleepers = true,   \
                 .opt.allow_leaks = true, ##__VA_ARGS__)
#define ALONE_END(id, function, asleep_count, moving_count, mode, size, ...)                              \
    static const shape shape_##id = {                                                                     \
        .asleep = (asleep_count), .on_their_way = (moving_count), .fences = (mode), .against_end = true}; \
    VGC_REGISTER(id, #id, function, ENDED, .arg = &shape_##id, .bound = (size), .opt.allow_leaks = true, ##__VA_ARGS__)

ALONE(alone_1x1, one_task, 0, 1, F, "1 worker on its way, 1 task");
ALONE(alone_1x1_m, one_task, 0, 1, M, "1 worker on its way, 1 task; membarrier");
ALONE(alone_2x1_asleep, one_task, 2, 0, F, "2 workers asleep, 1 task");
ALONE(alone_2x1_asleep_m, one_task, 2, 0, M, "2 workers asleep, 1 task; membarrier");
ALONE(alone_spawn_asleep, spawn, 2, 0, F, "2 workers asleep, a task spawns and waits for the other");
ALONE(alone_2x1_half, one_task, 1, 1, F, "1 worker asleep, 1 on its way, 1 task", .deep = true);
ALONE(alone_2x1_half_m, one_task, 1, 1, M, "1 worker asleep, 1 on its way, 1 task; membarrier", .deep = true);
ALONE(alone_spawn_asleep_m, spawn, 2, 0, M, "2 workers asleep, a task spawns and waits for the other; membarrier",
      .deep = true);
ALONE(alone_2x2_asleep, two_tasks, 2, 0, F, "2 workers asleep, 2 tasks at once", .deep = true);
ALONE(alone_2x2_asleep_m, two_tasks, 2, 0, M, "2 workers asleep, 2 tasks at once; membarrier", .deep = true);
ALONE(alone_2x1, one_task, 0, 2, F, "2 workers on their way, 1 task", .deep = true, BY_STATES);
ALONE(alone_2x1_m, one_task, 0, 2, M, "2 workers on their way, 1 task; membarrier", .deep = true, BY_STATES);
ALONE(alone_spawn, spawn, 0, 2, F, "2 workers on their way, a task spawns and waits for the other", .deep = true,
      BY_STATES);
ALONE(alone_spawn_m, spawn, 0, 2, M, "2 workers on their way, a task spawns and waits for the other; membarrier",
      .deep = true, BY_STATES);
ALONE(alone_2x2, two_tasks, 0, 2, F, "2 workers on their way, 2 tasks at once", .deep = true, BY_STATES);
ALONE(alone_3x3_asleep_sc, three_tasks, 3, 0, F, "3 workers asleep, 3 tasks at once; sequential consistency",
      .opt.sc_memory = true, .deep = true, BY_STATES);
ALONE_END(alone_1x1_end, one_task, 0, 1, F, "1 worker on its way, 1 task; against the end");
ALONE_END(alone_1x1_end_m, one_task, 0, 1, M, "1 worker on its way, 1 task; against the end; membarrier", .deep = true);
ALONE_END(alone_2x1_end_asleep, one_task, 2, 0, F, "2 workers asleep, 1 task; against the end", .deep = true);
ALONE_END(alone_2x1_end, one_task, 0, 2, F, "2 workers on their way, 1 task; against the end", .deep = true, BY_STATES);
