/* SPDX-License-Identifier: MIT */
/*
 * The beginning and the end of a pool: stop against submit, wait_idle against submit, destroy against a submit on its way out,
 * and a creation in which threads and memory cannot be had.
 */
#include "pool_common.h"

static void *submit_two(void *arg)
{
    (void)arg;
    submit(0);
    submit(1);
    return NULL;
}

/* Somebody submits while the pool stops: accepted is what ran and what was cancelled, refused is left alone. */
static void stop_against_submit(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(submit_two, NULL);
    vgc_assert((the_setup()->end == STOP_NOW ? vigil_pool_close : vigil_pool_shutdown)(pool, VIGIL_FOREVER) == 0,
               "the pool stops");
    vgc_thread_join(other);
    each_ended_once(the_setup()->end != STOP_NOW);
    numbers_agree();
    destroy();
}

static void *stop_gracefully(void *arg)
{
    (void)arg;
    vgc_assert(vigil_pool_shutdown(pool, VIGIL_FOREVER) == 0, "the pool stops");
    return NULL;
}

/* A graceful stop that is turned into an immediate one while it waits. */
static void two_stops(void)
{
    pool_make();
    submit(0);
    submit(1);
    pthread_t other = vgc_thread_start(stop_gracefully, NULL);
    vgc_assert(vigil_pool_close(pool, VIGIL_FOREVER) == 0, "the pool stops");
    vgc_thread_join(other);
    each_ended_once(false);
    numbers_agree();
    destroy();
}

/* The same with a task in the timer, which goes at the end of the one stop while the other may look into it. */
static void two_stops_delayed(void)
{
    pool_make();
    (void)counted_make(0);
    vgc_assert(vigil_pool_submit_after(pool, &tasks[0].task, VIGIL_NORMAL, 1000) == 0, "it is taken");
    pthread_t other = vgc_thread_start(stop_gracefully, NULL);
    vgc_assert(vigil_pool_close(pool, VIGIL_FOREVER) == 0, "the pool stops");
    vgc_thread_join(other);
    each_ended_once(false);
    numbers_agree();
    destroy();
}

/* The workers' hooks submit: a stop waits for it, or refuses it. */
static void hook_submits(void *user, unsigned worker)
{
    (void)user;
    counted *one = counted_make((int)worker);
    int error = vigil_pool_submit(vigil_pool_current(), &one->task, VIGIL_NORMAL);
    vgc_assert(error == 0 || error == -ESHUTDOWN, "a submit is accepted, or refused because the pool stops");
    atomic_store_explicit(&one->refused, error != 0, memory_order_relaxed);
}

static void stop_against_start_hook(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.on_worker_start = hook_submits;
    pool_make_with(&options);
    finish();
}

static void stop_against_stop_hook(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.on_worker_stop = hook_submits;
    pool_make_with(&options);
    finish();
}

static int spawn_one(counted *self)
{
    vigil_group group;
    (void)self;
    vgc_assert(vigil_group_init(&group, pool, 0) == 0, "a group is made");
    (void)counted_make(1);
    vgc_assert(vigil_group_spawn(&group, &tasks[1].task) == 0, "a running task may spawn, also while the pool stops");
    int status = vigil_group_wait(&group);
    vgc_assert(status == 0 || status == -ECANCELED, "the child ran or was cancelled");
    vgc_assert(ran(1) + cancelled(1) == 1, "and has ended when the wait returns");
    return 0;
}

static int submit_one_more(counted *self)
{
    (void)self;
    (void)counted_make(1);
    int error = vigil_pool_submit(pool, &tasks[1].task, VIGIL_NORMAL);
    vgc_assert(error == 0, "a running task may submit, also while the pool stops");
    return 0;
}

static void stop_against_spawn(void)
{
    pool_make();
    counted_make(0)->body = spawn_one;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

static void stop_against_submit_inside(void)
{
    pool_make();
    counted_make(0)->body = submit_one_more;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* When wait_idle returns, what was submitted before it was called has ended. */
static void wait_idle_against_submit(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(submit_two, NULL);
    submit(2);
    vgc_assert(vigil_pool_wait_idle(pool, VIGIL_FOREVER) == 0, "the wait ends");
    vgc_assert(ran(2) == 1, "what the waiter submitted has ended");
    vgc_thread_join(other);
    finish();
}

/* The waiter itself must be woken: nobody else comes. */
static void wait_idle_is_woken(void)
{
    pool_make();
    submit(0);
    submit(1);
    vgc_assert(vigil_pool_wait_idle(pool, VIGIL_FOREVER) == 0, "the wait ends");
    vgc_assert(ran(0) == 1 && ran(1) == 1, "both have ended");
    finish();
}

/* A worker that is kept awake does not park: what it has to say to those who wait it says when its search finds nothing. */
static void wait_idle_beside_awake(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.idle = VIGIL_IDLE_KEEP_ONE_AWAKE;
    options.spin_us = 1; /* the clock stands still: so it stays where it only looks */
    pool_make_with(&options);
    submit(0);
    vgc_assert(vigil_pool_wait_idle(pool, VIGIL_FOREVER) == 0, "the wait ends");
    vgc_assert(ran(0) == 1, "the task has ended");
    finish();
}

static void *submit_last(void *arg)
{
    (void)arg;
    counted_make(0)->opens = &gates[0];
    submit_made(0, VIGIL_NORMAL);
    return NULL;
}

/* The one submit that destroy must wait for: its task has run, the call has not returned. */
static void destroy_against_leaving_submit(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(submit_last, NULL);
    gate_wait(&gates[0]);
    destroy();
    each_ended_once(true);
    vgc_thread_join(other);
}

/* Snapshots are coherent while everything moves: nothing is negative. */
static void look_at_numbers(void)
{
    vigil_pool_stats stats = {.size = sizeof stats};
    vgc_assert(vigil_pool_stats_get(pool, &stats) == 0, "the numbers can be had");
    const vigil_class_stats *all = &stats.total;
    vgc_assert(all->submitted == all->queued + all->running + all->completed + all->failed + all->cancelled,
               "a snapshot adds up");
    vgc_assert(all->queued <= 3 && all->running <= 3, "and nothing in it is negative");
}

static void numbers_while_running(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(submit_two, NULL);
    look_at_numbers();
    look_at_numbers();
    (void)finish_with(&other);
}

/* What another has submitted, and told us of, counts too. */
static gate told;

static void *submit_and_tell(void *arg)
{
    (void)arg;
    submit(1);
    gate_open(&told);
    return NULL;
}

static void wait_idle_after_another(void)
{
    pool_make();
    submit(0);
    pthread_t other = vgc_thread_start(submit_and_tell, NULL);
    gate_wait(&told);
    vgc_assert(vigil_pool_wait_idle(pool, VIGIL_FOREVER) == 0, "the wait ends");
    vgc_assert(ran(1) == 1, "what we knew to be submitted has ended");
    vgc_thread_join(other);
    finish();
}

/* An audit while everything moves: it may not settle, but it never cries for nothing. */
static void audit_while_running(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(submit_two, NULL);
    vigil_audit audit = {.size = sizeof audit};
    int error = vigil_pool_audit(pool, &audit);
    vgc_assert(error == 0 || error == -EAGAIN, "the audit finds nothing lost, or says that it cannot tell yet");
    (void)finish_with(&other);
}

static int spawn_and_join(counted *self)
{
    vigil_group group;
    (void)self;
    vgc_assert(vigil_group_init(&group, pool, 0) == 0, "a group is made");
    (void)counted_make(1);
    vgc_assert(vigil_group_spawn(&group, &tasks[1].task) == 0, "a spawn is taken");
    (void)vigil_group_wait(&group);
    return 0;
}

static void audit_while_spawning(void)
{
    pool_make();
    counted_make(0)->body = spawn_and_join;
    submit_made(0, VIGIL_NORMAL);
    vigil_audit audit = {.size = sizeof audit};
    int error = vigil_pool_audit(pool, &audit);
    vgc_assert(error == 0 || error == -EAGAIN, "the audit finds nothing lost, or says that it cannot tell yet");
    finish();
}

static void create_with_failures(void)
{
    vigil_pool_options options = options_of(the_setup());
    int error = vigil_pool_create(&pool, &options);
    if (error != 0) {
        vgc_assert(error == -ENOMEM || error == -EAGAIN, "the error says what could not be had");
        return; /* what is left behind is a leak, and a thread that is left asleep a deadlock */
    }
    submit(0);
    finish();
}

static void create_all_or_nothing(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.require_all_threads = true;
    int error = vigil_pool_create(&pool, &options);
    if (error != 0) {
        vgc_assert(error == -ENOMEM || error == -EAGAIN, "the error says what could not be had");
        return;
    }
    vgc_assert(vigil_pool_workers(pool) == the_setup()->workers, "all threads are there");
    submit(0);
    finish();
}

#define ACCEPTED "accepted tasks run or are cancelled, exactly once; refused ones are left alone"

SCENARIO(stop_submit, stop_against_submit, ACCEPTED, "1 worker, 1 submitter x 2, graceful stop", 1,
         VIGIL_FENCE_SYMMETRIC, STOP_GRACEFUL, BY_CHANCE);
SCENARIO(stop_submit_2, stop_against_submit, ACCEPTED, "2 workers, 1 submitter x 2, graceful stop; membarrier", 2,
         VIGIL_FENCE_MEMBARRIER, STOP_GRACEFUL, BY_CHANCE);
SCENARIO(stop_submit_now, stop_against_submit, ACCEPTED, "1 worker, 1 submitter x 2, immediate stop", 1,
         VIGIL_FENCE_SYMMETRIC, STOP_NOW, BY_CHANCE);
SCENARIO(stop_submit_now_2, stop_against_submit, ACCEPTED, "2 workers, 1 submitter x 2, immediate stop; membarrier", 2,
         VIGIL_FENCE_MEMBARRIER, STOP_NOW, BY_CHANCE);
SCENARIO(stop_twice, two_stops, ACCEPTED, "1 worker, 2 tasks, a graceful and an immediate stop at once", 1,
         VIGIL_FENCE_SYMMETRIC, STOP_NOW, BY_CHANCE);
SCENARIO(stop_twice_delayed, two_stops_delayed, ACCEPTED,
         "1 worker, 1 delayed task, a graceful and an immediate stop at once", 1, VIGIL_FENCE_SYMMETRIC, STOP_NOW,
         BY_CHANCE);
SCENARIOS(stop_start_hook, stop_against_start_hook, ACCEPTED, "1 worker whose start hook submits", 1);
SCENARIO(stop_stop_hook, stop_against_stop_hook, ACCEPTED, "1 worker whose stop hook submits, graceful stop", 1,
         VIGIL_FENCE_SYMMETRIC, STOP_GRACEFUL, BY_CHANCE);
SCENARIO(stop_stop_hook_now, stop_against_stop_hook, ACCEPTED, "1 worker whose stop hook submits, immediate stop", 1,
         VIGIL_FENCE_MEMBARRIER, STOP_NOW, BY_CHANCE);
SCENARIOS(stop_spawn, stop_against_spawn, ACCEPTED, "2 workers, a task spawns and waits", 2);
SCENARIOS(stop_submit_inside, stop_against_submit_inside, ACCEPTED, "1 worker, a task submits another", 1);
SCENARIOS(wait_idle_submit, wait_idle_against_submit, "wait_idle returns after what was submitted before it has ended",
          "1 worker, 2 submitters", 1);
SCENARIOS(wait_idle_told, wait_idle_after_another, "wait_idle returns after what was known to be submitted has ended",
          "1 worker, 2 tasks, one of another thread", 1);
SCENARIOS(wait_idle_woken, wait_idle_is_woken, "whoever waits for an idle pool is woken when it is",
          "2 workers, 2 tasks", 2);
SCENARIO(wait_idle_awake, wait_idle_beside_awake, "a worker that stays awake tells those who wait for an idle pool",
         "1 worker that is kept awake, 1 task; against a graceful stop", 1, VIGIL_FENCE_SYMMETRIC, STOP_GRACEFUL,
         BY_CHANCE);
SCENARIOS(stats_live, numbers_while_running, "a snapshot of the numbers adds up at any moment",
          "1 worker, 1 submitter x 2, 2 snapshots", 1);
SCENARIOS(audit_live, audit_while_running, "an audit while tasks move never reports a loss that is none",
          "1 worker, 1 submitter x 2", 1);
SCENARIOS(audit_live_2, audit_while_running, "an audit while tasks move never reports a loss that is none",
          "2 workers, 1 submitter x 2", 2);
SCENARIOS(audit_live_spawn, audit_while_spawning, "an audit while tasks move never reports a loss that is none",
          "1 worker, a task spawns and joins", 1);
SCENARIO(destroy_leaving, destroy_against_leaving_submit, "destroy waits for a submit whose task has already run",
         "1 worker, 1 submitter", 1, VIGIL_FENCE_SYMMETRIC, STOP_NOW, BY_CHANCE);
SCENARIO(create_fails, create_with_failures, "a pool works with the threads it got, or cleans up after itself",
         "2 workers, one allocation and one thread may fail", 2, VIGIL_FENCE_SYMMETRIC, AUDIT, BY_CHANCE,
         .opt.fail_thread = 1, .opt.fail_alloc = 1);
SCENARIO(create_fails_twice, create_with_failures, "a pool works with the threads it got, or cleans up after itself",
         "2 workers, both threads may fail", 2, VIGIL_FENCE_SYMMETRIC, STOP_GRACEFUL, BY_CHANCE, .opt.fail_thread = 2);
SCENARIO(create_all_threads, create_all_or_nothing, "all threads or a clean failure",
         "2 workers, one allocation and one thread may fail", 2, VIGIL_FENCE_SYMMETRIC, STOP_NOW, BY_CHANCE,
         .opt.fail_thread = 1, .opt.fail_alloc = 1);
