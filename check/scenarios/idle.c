/* SPDX-License-Identifier: MIT */
/*
 * The idle protocol at its core, explored to the end: the real loop, queues and fences on a pool that is filled in by hand
 * (protocol.h), so that what is explored is the protocol and not the making and unmaking of a pool.
 *
 * The workers begin in one of two ways: asleep (they have parked before the first submit), or on their way (they search
 * while the submit happens). Property in all: at rest no task is queued beside a parked worker, and each has run exactly once.
 * A scenario that ends at rest needs no form against a stop here: pool_idle.c has those, with the whole pool.
 */
#include "protocol.h"

#include "pool/quiescence.h"

typedef struct shape {
    unsigned asleep; /* workers that have parked when the scenario begins */
    unsigned on_their_way;
    vg_fence_mode fences;
} shape;

static const shape *begin(void)
{
    const shape *s = vgc_arg();
    bare_pool_init(s->asleep + s->on_their_way, s->fences);
    for (unsigned i = 0; i < s->asleep; i++) {
        bare_worker_start(i);
        vgc_quiesce(); /* one after the other: how they park beside each other is the business of those on their way */
    }
    for (unsigned i = 0; i < s->on_their_way; i++)
        bare_worker_start(s->asleep + i);
    return s;
}

static void one_task(void)
{
    (void)begin();
    submit(0);
    rest();
}

/* Both must run at once: the first waits for the second. */
static void two_tasks(void)
{
    (void)begin();
    counted_make(0)->waits_for = &gates[1];
    counted_make(1)->opens = &gates[1];
    submit_made(0, VIGIL_NORMAL);
    submit_made(1, VIGIL_NORMAL);
    rest();
}

static int spawn_and_wait(counted *self)
{
    vigil_group group;
    (void)self;
    vgc_assert(vigil_group_init(&group, pool, 0) == 0, "a group is made");
    counted_make(1)->opens = &gates[1];
    vgc_assert(vigil_group_spawn(&group, &tasks[1].task) == 0, "a spawn is taken");
    gate_wait(&gates[1]);
    return vigil_group_wait(&group);
}

/* The first spawns the second and waits for it: the spawn must bring a thief. */
static void spawn(void)
{
    (void)begin();
    counted_make(0)->body = spawn_and_wait;
    submit_made(0, VIGIL_NORMAL);
    rest();
}

/* The same while the other worker has just ended a task and is about to park: the spawner saw everybody busy. */
static void spawn_beside_busy(void)
{
    (void)begin();
    (void)counted_make(2);
    counted_make(0)->body = spawn_and_wait;
    submit_made(2, VIGIL_NORMAL);
    submit_made(0, VIGIL_NORMAL);
    rest();
}

/* The HIGH class stays called ready after task 0; the worker passes it twice on its way to LOW tasks and takes the call back,
   just when another HIGH task comes. */
static void retract(void)
{
    (void)begin();
    for (int i = 0; i < 4; i++)
        (void)counted_make(i);
    submit_made(0, VIGIL_HIGH);
    submit_made(1, VIGIL_LOW);
    submit_made(2, VIGIL_LOW);
    submit_made(3, VIGIL_HIGH);
    rest();
}

/* The audit holds the injector's lists while the task comes: what the worker then leaves to it, it must tell. */
static void *look_for_tasks(void *arg)
{
    vigil_audit audit = {.size = sizeof audit};
    (void)arg;
    (void)vigil_pool_audit(pool, &audit);
    return NULL;
}

static void audit_beside(void)
{
    (void)begin();
    (void)vgc_thread_start(look_for_tasks, NULL);
    submit(0);
    rest();
}

/* A sweep of husks holds the lists too. The job's entry is swept out, or taken as a husk, while the task comes. */
static vigil_job job;

static int never(void *arg)
{
    (void)arg;
    return 0;
}

static void *cancel_job(void *arg)
{
    (void)arg;
    (void)vigil_job_cancel(pool, job);
    return NULL;
}

static void sweep_beside(void)
{
    const shape *s = vgc_arg();
    bare_pool_init(1, s->fences);
    vgc_assert(vg_handles_init(&pool->jobs, vg_job_size(), 4) == 0, "a table of jobs");
    vgc_assert(vigil_job_call(pool, never, NULL, NULL, &job) == 0, "the job is accepted");
    (void)vgc_thread_start(cancel_job, NULL);
    bare_worker_start(0);
    submit(0);
    rest();
}

/* An audit beside a worker that takes the second task from the ring: from the moment when it has it to the moment when it has
   counted it as started the audit must know that it handles one. */
static void audit_beside_taker(void)
{
    const shape *s = vgc_arg();
    bare_pool_init(1, s->fences);
    vigil_task *list[2] = {&counted_make(0)->task, &counted_make(1)->task};
    vgc_assert(vigil_pool_submit_batch(pool, list, 2, VIGIL_NORMAL) == 0, "the batch is accepted");
    bare_worker_start(0);
    vigil_audit audit = {.size = sizeof audit};
    const int error = vigil_pool_audit(pool, &audit);
    vgc_assert(error == 0 || error == -EAGAIN, "the audit finds nothing lost, or says that it cannot tell yet");
    rest();
}

/* A worker waits for a group and has lent its place (sleep_blocked in group.c); a task comes, and the only spare is busy elsewhere.
   Then the waiter is called to do the work itself: whoever takes its credit sees that it is willing (K1, K2). */
static void *wait_willingly(void *arg)
{
    vg_worker *worker = arg;
    _Atomic uint32_t *willing = &worker->seat.waiter;
    atomic_store_explicit(willing, VG_WAITER_WILLING, memory_order_relaxed);
    vgc_assert(vg_credit_lend(pool) == 0, "there is a credit to be given");
    while (atomic_load_explicit(willing, memory_order_relaxed) == VG_WAITER_WILLING)
        (void)vg_sleep_until_called(worker, VG_NO_DEADLINE);
    return NULL;
}

static void credit_without_spare(void)
{
    const shape *s = vgc_arg();
    bare_pool_init(1, s->fences);
    pool->max_spares = 1;
    atomic_init(&pool->spare_high, 1U);
    pthread_t waiter = vgc_thread_start(wait_willingly, &bare_workers[0]);
    submit(0);
    vgc_thread_join(waiter);
}

/* A spare that was one too many goes dormant, which it does without a search, beside a task; another looks for somebody to wake.
   Whoever claims the spare by its bit finds it in the table, although it never saw it come (S3). */
static void *go_dormant(void *arg)
{
    vg_worker *spare = arg;
    const vg_wait wait = {.over = bare_never_over, .arg = NULL, .deadline_ns = VG_NO_DEADLINE};
    atomic_store_explicit(&pool->seats[VG_MAX_WORKERS], &spare->seat, memory_order_release); /* as in seats.c */
    atomic_store_explicit(&pool->spare_high, 1, memory_order_relaxed);
    vg_search_begin(pool);
    (void)vg_park(spare, 0, &wait); /* as in vg_worker_loop */
    return NULL;
}

static void dormant_spare(void)
{
    const shape *s = vgc_arg();
    bare_pool_init(1, s->fences);
    vg_worker *spare = &bare_workers[0];
    spare->seat.index = VG_MAX_WORKERS;
    spare->seat.spare = true;
    atomic_init(&pool->seats[0], NULL);
    atomic_init(&pool->high, 0U);
    submit(0);
    pthread_t thread = vgc_thread_start(go_dormant, spare);
    vg_offer_credit(pool);
    vgc_thread_join(thread);
}

static void three_tasks(void)
{
    (void)begin();
    for (int i = 0; i < 3; i++) {
        counted *one = counted_make(i);
        one->waits_for = i < 2 ? &gates[i + 1] : NULL;
        one->opens = &gates[i];
        submit_made(i, VIGIL_NORMAL);
    }
    rest();
}

#define CONSERVED "no task stays queued beside a parked worker; each runs exactly once"
#define F         VG_FENCE_SYMMETRIC
#define M         VG_FENCE_MEMBARRIER

#define CORE(id, function, asleep_count, moving_count, mode, size, ...)                                           \
    static const shape shape_##id = {.asleep = (asleep_count), .on_their_way = (moving_count), .fences = (mode)}; \
    VGC_REGISTER(id, #id, function, CONSERVED, .arg = &shape_##id, .bound = (size), .opt.allow_sleepers = true,   \
                 .opt.allow_leaks = true, ##__VA_ARGS__)

CORE(core_1x1_asleep, one_task, 1, 0, F, "1 worker asleep, 1 task");
CORE(core_1x1_asleep_m, one_task, 1, 0, M, "1 worker asleep, 1 task; membarrier");
CORE(core_1x1, one_task, 0, 1, F, "1 worker on its way, 1 task");
CORE(core_1x1_m, one_task, 0, 1, M, "1 worker on its way, 1 task; membarrier", .deep = true);
CORE(core_2x1_asleep, one_task, 2, 0, F, "2 workers asleep, 1 task");
CORE(core_2x1_asleep_m, one_task, 2, 0, M, "2 workers asleep, 1 task; membarrier");
CORE(core_2x1_half, one_task, 1, 1, F, "1 worker asleep, 1 on its way, 1 task", .deep = true);
CORE(core_2x1_half_m, one_task, 1, 1, M, "1 worker asleep, 1 on its way, 1 task; membarrier", .deep = true);
CORE(core_2x1_half_sc, one_task, 1, 1, F, "1 worker asleep, 1 on its way, 1 task; sequential consistency",
     .opt.sc_memory = true);
CORE(core_2x1_sc, one_task, 0, 2, F, "2 workers on their way, 1 task; sequential consistency", .opt.sc_memory = true,
     .deep = true);
CORE(core_2x2_asleep, two_tasks, 2, 0, F, "2 workers asleep, 2 tasks at once", .deep = true);
CORE(core_2x2_asleep_m, two_tasks, 2, 0, M, "2 workers asleep, 2 tasks at once; membarrier", .deep = true);
CORE(core_2x2_asleep_sc, two_tasks, 2, 0, F, "2 workers asleep, 2 tasks at once; sequential consistency",
     .opt.sc_memory = true, .deep = true);
CORE(core_2_spawn_asleep, spawn, 2, 0, F, "2 workers asleep, a task spawns and waits for the other", .deep = true);
CORE(core_2_spawn_asleep_m, spawn, 2, 0, M, "2 workers asleep, a task spawns and waits for the other; membarrier",
     .deep = true);
CORE(core_2_spawn_asleep_sc, spawn, 2, 0, F,
     "2 workers asleep, a task spawns and waits for the other; sequential consistency", .opt.sc_memory = true,
     .deep = true);
CORE(core_3x3_asleep_sc, three_tasks, 3, 0, F, "3 workers asleep, 3 tasks at once; sequential consistency",
     .opt.sc_memory = true, .deep = true);

CORE(core_1_audit_sc, audit_beside, 1, 0, F, "1 worker asleep, 1 task, 1 audit; sequential consistency",
     .opt.sc_memory = true, .deep = true);

/* ---- the debt of those who wait for an idle pool (quiescence.c) ---- */

static _Atomic int wait_ended;

static void *wait_for_idle(void *arg)
{
    (void)arg;
    vgc_assert(vg_wait_until_idle(pool, VG_NO_DEADLINE) == 0, "the wait ends");
    atomic_store_explicit(&wait_ended, 1, memory_order_relaxed);
    return NULL;
}

/* An end, as vg_discard_claimed counts it. */
static void end_one(void)
{
    (void)atomic_fetch_add_explicit(&pool->stripes[0].counts->cancelled[VIGIL_NORMAL], 1, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst); /* F */
}

static void *discard_one(void *arg)
{
    (void)arg;
    end_one();
    vg_quiescence_ended(pool);
    return NULL;
}

static void *discard_two(void *arg)
{
    (void)discard_one(arg);
    return discard_one(arg);
}

/* What a worker does that has run a task and finds no other. */
static void *end_and_search(void *arg)
{
    (void)arg;
    end_one();
    vg_quiescence_signal(pool);
    return NULL;
}

static void begin_debt(uint64_t accepted)
{
    bare_pool_init(0, VG_FENCE_SYMMETRIC);
    atomic_init(&pool->stripes[0].counts->submitted[VIGIL_NORMAL], accepted);
}

static void rest_after_debt(void)
{
    vgc_quiesce();
    vgc_assert(atomic_load_explicit(&wait_ended, memory_order_relaxed) == 1,
               "the pool is idle and nobody waits for it");
}

static void debt_of_three(void)
{
    begin_debt(3);
    (void)vgc_thread_start(wait_for_idle, NULL);
    (void)vgc_thread_start(discard_two, NULL);
    (void)discard_one(NULL);
    rest_after_debt();
}

/* Discards while nobody waited were not subtracted. */
static void debt_from_before(void)
{
    begin_debt(1);
    atomic_init(&pool->idle_debt, 5);
    (void)vgc_thread_start(wait_for_idle, NULL);
    (void)discard_one(NULL);
    rest_after_debt();
}

static void debt_beside_worker(void)
{
    begin_debt(2);
    (void)vgc_thread_start(wait_for_idle, NULL);
    vgc_quiesce();
    atomic_store_explicit(&pool->idle_debt, 2, memory_order_relaxed);
    (void)vgc_thread_start(end_and_search, NULL);
    (void)discard_one(NULL);
    rest_after_debt();
}

static void *submit_and_wait(void *arg)
{
    (void)arg;
    (void)atomic_fetch_add_explicit(&pool->stripes[0].counts->submitted[VIGIL_NORMAL], 1, memory_order_release);
    (void)vg_wait_until_idle(pool, VG_NO_DEADLINE);
    vgc_assert(false, "a wait ends although a task that was submitted before it has not");
    return NULL;
}

/* The pool is idle before a task is submitted, whose submitter then waits: the end of the older one is no news for it. */
static void ticket_after_submit(void)
{
    begin_debt(1);
    (void)vgc_thread_start(submit_and_wait, NULL);
    (void)end_and_search(NULL);
    vgc_quiesce();
}

static void ticket_after_submit_discard(void)
{
    begin_debt(1);
    (void)vgc_thread_start(submit_and_wait, NULL);
    (void)discard_one(NULL);
    vgc_quiesce();
}

static vg_idle_watch watch_of_idle;

static void watch_is_called(vg_idle_watch *watch)
{
    vgc_assert(watch == &watch_of_idle, "the watch itself is handed over");
    vgc_assert(atomic_fetch_add_explicit(&wait_ended, 1, memory_order_relaxed) == 0, "a watch is called once");
}

static void *watch_for_idle(void *arg)
{
    (void)arg;
    watch_of_idle = (vg_idle_watch){.idle = watch_is_called};
    vg_idle_watch_add(pool, &watch_of_idle);
    return NULL;
}

static void watch_beside_discard(void)
{
    begin_debt(1);
    (void)vgc_thread_start(watch_for_idle, NULL);
    (void)discard_one(NULL);
    rest_after_debt();
}

static void watch_beside_worker(void)
{
    begin_debt(1);
    (void)vgc_thread_start(watch_for_idle, NULL);
    (void)end_and_search(NULL);
    rest_after_debt();
}

static void watch_is_early(vg_idle_watch *watch)
{
    (void)watch;
    vgc_assert(false, "a watch is called although a task that was submitted before it has not ended");
}

static void *submit_and_watch(void *arg)
{
    (void)arg;
    (void)atomic_fetch_add_explicit(&pool->stripes[0].counts->submitted[VIGIL_NORMAL], 1, memory_order_release);
    watch_of_idle = (vg_idle_watch){.idle = watch_is_early};
    vg_idle_watch_add(pool, &watch_of_idle);
    return NULL;
}

/* As ticket_after_submit_discard, with a watch. */
static void watch_after_submit(void)
{
    begin_debt(1);
    (void)vgc_thread_start(submit_and_watch, NULL);
    (void)discard_one(NULL);
    vgc_quiesce();
}

#define DEBT_TEXT "whoever ends the last task of a pool ends the waits for that, also if it did not sum up"
VGC_REGISTER(debt_three, "debt_three", debt_of_three, DEBT_TEXT, .bound = "1 waiter, 2 threads discard 3 tasks",
             .opt.mode = VGC_PCT, .opt.runs = 20000, .opt.pct_depth = 5, .opt.allow_leaks = true);
VGC_REGISTER(debt_ticket, "debt_ticket", ticket_after_submit,
             "a wait for an idle pool covers what its caller submitted", .bound = "1 waiter, 1 end of a worker's task",
             .opt.allow_leaks = true, .opt.allow_sleepers = true);
VGC_REGISTER(debt_ticket_discard, "debt_ticket_discard", ticket_after_submit_discard,
             "a wait for an idle pool covers what its caller submitted", .bound = "1 waiter, 1 discard",
             .opt.allow_leaks = true, .opt.allow_sleepers = true);
VGC_REGISTER(debt_ticket_watch, "debt_ticket_watch", watch_after_submit,
             "a watch for an idle pool covers what its caller submitted", .bound = "1 watch, 1 discard",
             .opt.allow_leaks = true, .opt.allow_sleepers = true);
VGC_REGISTER(debt_before, "debt_before", debt_from_before, DEBT_TEXT,
             .bound = "1 waiter, 1 discard, a debt from before", .opt.allow_leaks = true);
VGC_REGISTER(debt_worker, "debt_worker", debt_beside_worker, DEBT_TEXT,
             .bound = "1 waiter, 1 discard, 1 end of a worker's task", .opt.mode = VGC_PCT, .opt.runs = 10000,
             .opt.allow_leaks = true);
VGC_REGISTER(debt_watch, "debt_watch", watch_beside_discard, DEBT_TEXT, .bound = "1 watch, 1 discard",
             .opt.allow_leaks = true);
VGC_REGISTER(debt_watch_worker, "debt_watch_worker", watch_beside_worker, DEBT_TEXT,
             .bound = "1 watch, 1 end of a worker's task", .opt.allow_leaks = true);

static const shape shape_core_credit = {.fences = F};
VGC_REGISTER(core_credit, "core_credit", credit_without_spare,
             "who waits for a group and is willing is called when no spare can be had", .arg = &shape_core_credit,
             .bound = "1 waiter, 1 task, the only spare is busy", .opt.allow_leaks = true);

VGC_REGISTER(core_dormant, "core_dormant", dormant_spare, "a dormant spare is called for a task, whoever sees its bit",
             .arg = &shape_core_credit, .bound = "1 spare that goes dormant, 1 task, 1 waker", .opt.allow_leaks = true);

/* The same by chance, at sizes that cannot be explored to the end. */
#define BY_CHANCE_HERE .opt.mode = VGC_PCT, .opt.runs = 10000
CORE(core_2x1_pct, one_task, 0, 2, F, "2 workers on their way, 1 task", BY_CHANCE_HERE);
CORE(core_2x2_pct, two_tasks, 0, 2, F, "2 workers on their way, 2 tasks at once", BY_CHANCE_HERE);
CORE(core_2x2_pct_m, two_tasks, 0, 2, M, "2 workers on their way, 2 tasks at once; membarrier", BY_CHANCE_HERE);
CORE(core_2_spawn_pct, spawn, 0, 2, F, "2 workers on their way, a task spawns and waits for the other", BY_CHANCE_HERE);
CORE(core_2_spawn_pct_m, spawn, 0, 2, M, "2 workers on their way, a task spawns and waits for the other; membarrier",
     BY_CHANCE_HERE);
CORE(core_2_busy_pct, spawn_beside_busy, 0, 2, F, "2 workers, one ends a task while the other spawns and waits",
     BY_CHANCE_HERE);
CORE(core_2_busy_pct_m, spawn_beside_busy, 0, 2, M,
     "2 workers, one ends a task while the other spawns and waits; membarrier", BY_CHANCE_HERE);
CORE(core_1_retract_pct, retract, 0, 1, F, "1 worker, a class is called empty while a task of it is submitted",
     BY_CHANCE_HERE);
CORE(core_1_retract_pct_m, retract, 0, 1, M,
     "1 worker, a class is called empty while a task of it is submitted; membarrier", BY_CHANCE_HERE);
CORE(core_3x3_pct, three_tasks, 0, 3, F, "3 workers on their way, 3 tasks at once", BY_CHANCE_HERE);
CORE(core_3x3_pct_m, three_tasks, 0, 3, M, "3 workers on their way, 3 tasks at once; membarrier", BY_CHANCE_HERE);
CORE(core_1_audit_pct, audit_beside, 1, 0, F, "1 worker asleep, 1 task, 1 audit", .opt.mode = VGC_PCT,
     .opt.runs = 10000, .opt.pct_depth = 4);
CORE(core_1_sweep_pct, sweep_beside, 0, 1, F, "1 worker on its way, 1 task, a job is cancelled", .opt.mode = VGC_PCT,
     .opt.runs = 10000, .opt.pct_depth = 4);
CORE(core_1_taker_pct, audit_beside_taker, 0, 1, F, "1 worker on its way, 2 tasks, 1 audit", BY_CHANCE_HERE);
CORE(core_1_taker_pct_m, audit_beside_taker, 0, 1, M, "1 worker on its way, 2 tasks, 1 audit; membarrier",
     BY_CHANCE_HERE);
