/* SPDX-License-Identifier: MIT */
/*
 * Further ways into the queues: batches, class caps, bounded queues, delayed tasks, calls.
 */
#include "pool_common.h"

static void batch(void)
{
    pool_make();
    vigil_task *list[3];
    const int count = (int)the_setup()->workers;
    for (int i = 0; i < count; i++) {
        counted *one = counted_make(i);
        one->waits_for = i + 1 < count ? &gates[i + 1] : NULL; /* they must all run at once */
        one->opens = &gates[i];
        list[i] = &one->task;
    }
    vgc_assert(vigil_pool_submit_batch(pool, list, (size_t)count, VIGIL_NORMAL) == 0, "the batch is accepted");
    finish();
}

/* ---- caps ---- */

static _Atomic int running;
static int turns; /* plain: a cap of one orders its tasks like a lock */

static int alone(counted *self)
{
    (void)self;
    vgc_assert(atomic_fetch_add_explicit(&running, 1, memory_order_relaxed) == 0, "the cap is kept");
    turns++;
    (void)atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
    return 0;
}

static void capped_class(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.class_cap[VIGIL_NORMAL] = 1;
    pool_make_with(&options);
    counted_make(0)->body = alone;
    counted_make(1)->body = alone;
    submit_made(0, VIGIL_NORMAL);
    submit_made(1, VIGIL_NORMAL);
    finish();
}

/* The capped class is full and what waits in it must not hide the other class. */
static void capped_waits_for_other(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.class_cap[VIGIL_NORMAL] = 1;
    pool_make_with(&options);
    counted_make(0)->waits_for = &gates[2];
    (void)counted_make(1);
    counted_make(2)->opens = &gates[2];
    submit_made(0, VIGIL_NORMAL);
    submit_made(1, VIGIL_NORMAL);
    submit_made(2, VIGIL_LOW);
    finish();
}

/* Mail of a full class: nobody else can take it, so its worker must be called when there is room. */
static void capped_mail(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.class_cap[VIGIL_NORMAL] = 1;
    pool_make_with(&options);
    (void)counted_make(0);
    (void)counted_make(1);
    submit_made(0, VIGIL_NORMAL);
    int error = vigil_pool_submit_to(pool, 1, &tasks[1].task, VIGIL_NORMAL);
    vgc_assert(error == 0 || error == -ESHUTDOWN, "the worker exists");
    finish();
}

/* The class is full, the other worker has parked because of that, and the one that ran the task goes as soon as it ends: it must call
   the other for what waits, because it takes nothing any more itself. */
static void capped_and_gone(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.class_cap[VIGIL_NORMAL] = 1;
    pool_make_with(&options);
    counted_make(0)->waits_for = &gates[0];
    vgc_assert(vigil_pool_submit_to(pool, 1, &tasks[0].task, VIGIL_NORMAL) == 0, "the worker exists");
    vgc_quiesce(); /* worker 1 is at the gate, worker 0 sleeps */
    vgc_assert(vigil_pool_resize(pool, 1) == 0, "the pool shrinks");
    atomic_store_explicit(&gates[0].open, 1, memory_order_relaxed); /* that it may go on orders nothing */
    (void)vg_futex_wake(&gates[0].open, VG_WAKE_ALL);
    submit(1);
    finish();
}

/* A task of a full class waits for another of the same class: it gives its place up meanwhile. */
static int wait_for_same_class(counted *self)
{
    vigil_group group;
    (void)self;
    vgc_assert(vigil_group_init(&group, pool, 0) == 0, "a group is made");
    (void)counted_make(1);
    vgc_assert(vigil_group_submit(&group, &tasks[1].task, VIGIL_NORMAL) == 0, "a running task may submit");
    (void)vigil_group_wait(&group);
    vgc_assert(ran(1) + cancelled(1) == 1, "it has ended when the wait returns");
    return 0;
}

static void capped_waits_for_same(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.class_cap[VIGIL_NORMAL] = 1;
    pool_make_with(&options);
    counted_make(0)->body = wait_for_same_class;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* The worker that leaves a full class goes on with another: it must wake the parked worker for what waits in the first. The submit
   that saw the class full has woken nobody. */
static void capped_and_left(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.class_cap[VIGIL_NORMAL] = 1;
    pool_make_with(&options);
    counted_make(0)->waits_for = &gates[0];
    vgc_assert(vigil_pool_submit_to(pool, 1, &tasks[0].task, VIGIL_NORMAL) == 0, "the worker exists");
    vgc_quiesce(); /* worker 1 is at the gate, worker 0 sleeps */
    counted_make(1)->waits_for = &gates[2];
    counted_make(2)->opens = &gates[2];
    vgc_assert(vigil_pool_submit_to(pool, 1, &tasks[1].task, VIGIL_HIGH) == 0, "the worker exists");
    gate_open(&gates[0]);
    submit_made(2, VIGIL_NORMAL);
    finish();
}

/* ---- bounds ---- */

static void *submit_two(void *arg)
{
    (void)arg;
    submit(1);
    submit(2);
    return NULL;
}

static void bounded_and_blocking(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.max_queue = 1;
    options.when_full = VIGIL_FULL_BLOCK;
    pool_make_with(&options);
    pthread_t other = vgc_thread_start(submit_two, NULL);
    submit(0);
    (void)finish_with(&other);
}

/* The queue is full and stays full, because the running task waits for the submitter: a stop must send the submitter home. */
static void *submit_or_hear_of_stop(void *arg)
{
    (void)arg;
    submit(2);
    gate_open(&gates[0]);
    return NULL;
}

/* A producer inside a task: it sleeps with a spare in its place, or makes room itself. */
static int produce_two(counted *self)
{
    (void)self;
    for (int i = 1; i <= 2; i++) {
        (void)counted_make(i);
        int error = vigil_pool_submit(pool, &tasks[i].task, VIGIL_NORMAL);
        /* without a spare: a stop holds the queued task for the moment, so there is nothing to run that would make room */
        vgc_assert(error == 0 || (error == -EAGAIN && the_setup()->end == STOP_NOW), "a submit is accepted");
        atomic_store_explicit(&tasks[i].refused, error != 0, memory_order_relaxed);
    }
    return 0;
}

static void bounded_inside(bool no_spares)
{
    vigil_pool_options options = options_of(the_setup());
    options.max_queue = 1;
    options.when_full = VIGIL_FULL_BLOCK;
    options.max_spares = no_spares ? 0 : 1;
    options.no_spares = no_spares;
    pool_make_with(&options);
    counted_make(0)->body = produce_two;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

static void bounded_with_spare(void)
{
    bounded_inside(false);
}

static void bounded_without_spare(void)
{
    bounded_inside(true);
}

/* Three producers and one place: a wake that one of them leaves unused must reach another. */
static void *submit_one(void *arg)
{
    submit(*(const int *)arg);
    return NULL;
}

static void bounded_crowd(void)
{
    static const int numbers[] = {1, 2};
    vigil_pool_options options = options_of(the_setup());
    options.max_queue = 1;
    options.when_full = VIGIL_FULL_BLOCK;
    pool_make_with(&options);
    pthread_t first = vgc_thread_start(submit_one, (void *)(uintptr_t)&numbers[0]);
    pthread_t second = vgc_thread_start(submit_one, (void *)(uintptr_t)&numbers[1]);
    submit(0);
    submit(3);
    (void)vgc_thread_join(first);
    (void)finish_with(&second);
}

/* Two places become free at once, and the second is left to the wake of the first: whoever got that one must pass it on. Nobody else would, because both
   workers wait for the second submitter. */
static void *submit_and_open(void *arg)
{
    (void)arg;
    submit(3);
    gate_open(&gates[0]);
    return NULL;
}

static void bounded_two_places(void)
{
    static const int number = 2;
    vigil_pool_options options = options_of(the_setup());
    options.max_queue = 2;
    options.when_full = VIGIL_FULL_BLOCK;
    pool_make_with(&options);
    counted_make(0)->waits_for = &gates[0];
    counted_make(1)->waits_for = &gates[0];
    submit_made(0, VIGIL_NORMAL);
    submit_made(1, VIGIL_NORMAL);
    pthread_t first = vgc_thread_start(submit_one, (void *)(uintptr_t)&number);
    pthread_t second = vgc_thread_start(submit_and_open, NULL);
    (void)vgc_thread_join(first);
    (void)finish_with(&second);
}

static void bounded_against_stop(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.max_queue = 1;
    options.when_full = VIGIL_FULL_BLOCK;
    pool_make_with(&options);
    counted_make(0)->waits_for = &gates[0];
    submit_made(0, VIGIL_NORMAL);
    vgc_quiesce(); /* the worker is at the gate: the queue has one place */
    submit(1);
    pthread_t other = vgc_thread_start(submit_or_hear_of_stop, NULL);
    (void)finish_with(&other);
}

/* ---- delays ---- */

static void delayed_task(void)
{
    pool_make();
    counted *one = counted_make(0);
    const uint64_t due = vgc_clock_now() + 1000;
    vgc_assert(vigil_pool_submit_after(pool, &one->task, VIGIL_NORMAL, 1000) == 0, "the task is accepted");
    submit(1);
    if (the_setup()->end == AT_REST || the_setup()->end == AUDIT) {
        vgc_quiesce();
        vgc_assert(ran(0) == 0 || vgc_clock_now() >= due, "not before its time");
        if (vgc_clock_now() < due)
            vgc_clock_advance(due - vgc_clock_now());
    }
    finish();
}

static void two_delays(void)
{
    pool_make();
    counted *late = counted_make(0);
    counted *early = counted_make(1);
    vgc_assert(vigil_pool_submit_after(pool, &late->task, VIGIL_NORMAL, 2000) == 0, "the task is accepted");
    vgc_assert(vigil_pool_submit_after(pool, &early->task, VIGIL_NORMAL, 1000) == 0, "the task is accepted");
    if (the_setup()->end == AT_REST) {
        vgc_quiesce();
        vgc_clock_advance(1000);
        vgc_quiesce();
        vgc_assert(ran(1) == 1, "the timer was told of the earlier one");
        vgc_clock_advance(1000);
    }
    finish();
}

/* ---- calls: tasks of the pool's own ---- */

static _Atomic int calls, calls_cancelled;

static int call(void *arg)
{
    (void)arg;
    (void)atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return 0;
}

static void call_cancelled(void *arg)
{
    (void)arg;
    (void)atomic_fetch_add_explicit(&calls_cancelled, 1, memory_order_relaxed);
}

static void *make_call(void *arg)
{
    int error = vigil_pool_call(pool, call, call_cancelled, arg, VIGIL_NORMAL);
    vgc_assert(error == 0 || error == -ESHUTDOWN, "a call is accepted, or refused because the pool stops");
    return error == 0 ? (void *)1 : NULL;
}

static void calls_from_two(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(make_call, NULL);
    int accepted = make_call(NULL) != NULL;
    accepted += make_call(NULL) != NULL;
    accepted += finish_with(&other) != NULL;
    const int made = atomic_load_explicit(&calls, memory_order_relaxed);
    const int dropped = atomic_load_explicit(&calls_cancelled, memory_order_relaxed);
    vgc_assert(made + dropped == accepted, "each accepted call is made or cancelled, once");
    vgc_assert(dropped == 0 || the_setup()->end == STOP_NOW, "only an immediate stop cancels");
}

SCENARIOS(batch_2, batch, "one batch wakes as many as it needs, one after the other", "2 workers, a batch of 2", 2);
SCENARIOS(batch_3, batch, "one batch wakes as many as it needs, one after the other", "3 workers, a batch of 3", 3);
SCENARIOS(cap_kept, capped_class, "no more than the cap run at once, and the next is started when one ends",
          "2 workers, cap 1, 2 tasks", 2);
SCENARIOS(cap_three, capped_class, "the same with another that searches: a cap of one orders its tasks like a lock",
          "3 workers, cap 1, 2 tasks", 3);
SCENARIOS(cap_other, capped_waits_for_other, "a class that is full hides no other", "2 workers, cap 1, 3 tasks", 2);
SCENARIOS(cap_mail, capped_mail, "mail of a class that is full is run when there is room", "2 workers, cap 1, 1 mail",
          2);
SCENARIOS(cap_same, capped_waits_for_same, "a task of a full class that waits makes room", "2 workers, cap 1, 2 tasks",
          2);
SCENARIOS(cap_gone, capped_and_gone, "whoever leaves a full class calls another for what waits in it",
          "2 to 1 worker, cap 1, 2 tasks", 2);
SCENARIOS(cap_left, capped_and_left, "whoever leaves a full class for another calls another for what waits in it",
          "2 workers, cap 1, 3 tasks", 2);
SCENARIO(bound_stop, bounded_against_stop, "whoever waits for room hears that the pool stops",
         "1 worker, room for 1, a task that waits for its submitter; graceful stop", 1, VIGIL_FENCE_SYMMETRIC,
         STOP_GRACEFUL, BY_CHANCE);
SCENARIO(bound_stop_now, bounded_against_stop, "whoever waits for room hears that the pool stops",
         "1 worker, room for 1, a task that waits for its submitter; immediate stop; membarrier", 1,
         VIGIL_FENCE_MEMBARRIER, STOP_NOW, BY_CHANCE);
SCENARIOS(bound_block, bounded_and_blocking, "whoever waits for room gets it, or hears that the pool stops",
          "1 worker, room for 1, 2 submitters, 3 tasks", 1);
#define ROOM "whoever waits for room gets it, or hears that the pool stops"
SCENARIOS(bound_spare, bounded_with_spare, ROOM, "1 worker, 1 spare, room for 1, a task submits two", 1);
SCENARIOS(bound_alone, bounded_without_spare, ROOM, "1 worker, no spare, room for 1, a task submits two", 1);
SCENARIO(bound_crowd, bounded_crowd, ROOM, "1 worker, room for 1, 3 submitters, 4 tasks; at rest", 1,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE_LONG);
SCENARIO(bound_crowd_audit, bounded_crowd, ROOM, "1 worker, room for 1, 3 submitters, 4 tasks; audit", 1,
         VIGIL_FENCE_MEMBARRIER, AUDIT, BY_CHANCE);
SCENARIO(bound_two_places, bounded_two_places, ROOM, "2 workers, room for 2, 3 submitters, 4 tasks; at rest", 2,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE_LONG);
SCENARIO(bound_two_places_membarrier, bounded_two_places, ROOM,
         "2 workers, room for 2, 3 submitters, 4 tasks; at rest; membarrier", 2, VIGIL_FENCE_MEMBARRIER, AT_REST,
         BY_CHANCE);
SCENARIOS(delay_one, delayed_task, "a delayed task runs at its time, and not before", "1 worker, 1 delayed, 1 not", 1);
WATCHED(delay_one, delayed_task, "a delayed task runs at its time, and not before", "1 worker, 1 delayed, 1 not", 1);
SCENARIOS(delay_two, two_delays, "an earlier time reaches a timer that already sleeps", "1 worker, 2 delayed", 1);
SCENARIO(delay_audit, delayed_task, "at rest the audit finds every task", "1 worker, 1 delayed, 1 not", 1,
         VIGIL_FENCE_SYMMETRIC, AUDIT, BY_CHANCE);
SCENARIOS(call_two, calls_from_two, "each accepted call is made or cancelled once, its memory goes back",
          "1 worker, 2 callers", 1);
