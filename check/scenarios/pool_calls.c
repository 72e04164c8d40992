/* SPDX-License-Identifier: MIT */
/*
 * What the pool refuses, and the calls that take a rare way: arguments that are wrong, a pool that came through a fork, hooks that fail,
 * a worker that stays awake, calls from a task of another pool. Properties: what is refused has changed nothing; what is accepted ends
 * once.
 */
#include "pool_common.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/flow.h>

#define REFUSED(call, status) vgc_assert((call) == (status), "the call is refused")

static const vigil_job no_job = {1}; /* a handle that nobody was given */

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static int nothing_on(void *arg, unsigned worker)
{
    (void)arg;
    (void)worker;
    return 0;
}

/* After everything that was refused: no task was counted, none is held, and the pool works. */
static void nothing_was_accepted(void)
{
    vigil_pool_stats stats = {.size = sizeof stats};
    vgc_assert(vigil_pool_stats_get(pool, &stats) == 0, "the numbers can be had");
    vgc_assert(stats.total.submitted == 0 && stats.total.queued == 0 && stats.delayed == 0, "nothing was accepted");
    vgc_assert(tasks[0].task.vg_next == NULL, "the task is in no chain");
}

/* ---- arguments ---- */

#define REFUSED_OPTION(field, value)                                       \
    do {                                                                   \
        vigil_pool_options options = options_of(the_setup());              \
        vigil_pool *none = NULL;                                           \
        options.field = (value);                                           \
        REFUSED(vigil_pool_create(&none, &options), -EINVAL);              \
        vgc_assert(none == NULL, "nothing is returned beside the status"); \
    } while (0)

static void options_refused(void)
{
    static const int cpus[] = {0, -1};
    const size_t before = vgc_live_blocks();
    REFUSED(vigil_pool_create(NULL, NULL), -EINVAL);
    REFUSED_OPTION(workers, VIGIL_MAX_WORKERS + 1);
    REFUSED_OPTION(max_spares, UINT_MAX);
    REFUSED_OPTION(spin_us, 1000001);
    REFUSED_OPTION(lower_permille, 501);
    REFUSED_OPTION(stack_size, 1);
    REFUSED_OPTION(idle, (vigil_idle_policy)(VIGIL_IDLE_KEEP_ONE_AWAKE + 1));
    REFUSED_OPTION(when_full, (vigil_full_policy)(VIGIL_FULL_BLOCK + 1));
    REFUSED_OPTION(fences, (vigil_fence_mode)(VIGIL_FENCE_MEMBARRIER + 1));
    REFUSED_OPTION(cpus, cpus);
    REFUSED_OPTION(cpu_count, 1);
    REFUSED_OPTION(size, 1);
    vigil_pool_options options = options_of(the_setup());
    options.no_spares = true;
    options.max_spares = 1;
    REFUSED(vigil_pool_create(&pool, &options), -EINVAL);
    options = options_of(the_setup());
    options.strict_classes = true;
    options.lower_permille = 1;
    REFUSED(vigil_pool_create(&pool, &options), -EINVAL);
    options = options_of(the_setup());
    options.cpus = cpus;
    options.cpu_count = 2;
    REFUSED(vigil_pool_create(&pool, &options), -EINVAL);
    vgc_assert(vgc_live_blocks() == before, "what was refused has left nothing behind");
    vgc_assert(vigil_pool_workers(NULL) == 0 && vigil_pool_current() == NULL && vigil_pool_current_worker() == -1,
               "no pool has no workers");
    vgc_assert(vigil_pool_destroy(NULL) == 0, "no pool is given back");
}
VGC_REGISTER(create_refused_options, "create_refused_options", options_refused,
             "an option out of range is refused, and nothing is left",
             .arg = &(const setup){.workers = 1, .fences = VIGIL_FENCE_SYMMETRIC}, .bound = "each option once");

static void refuse_submits(void)
{
    const vigil_priority wrong = (vigil_priority)VIGIL_PRIORITIES;
    vigil_task empty;
    memset(&empty, 0, sizeof empty);
    vigil_task *task = &counted_make(0)->task;
    tasks[0].given = false; /* it is never accepted here */
    REFUSED(vigil_pool_submit(NULL, task, VIGIL_NORMAL), -EINVAL);
    REFUSED(vigil_pool_submit(pool, NULL, VIGIL_NORMAL), -EINVAL);
    REFUSED(vigil_pool_submit(pool, &empty, VIGIL_NORMAL), -EINVAL);
    REFUSED(vigil_pool_submit(pool, task, wrong), -EINVAL);
    REFUSED(vigil_pool_submit_for(pool, task, wrong, 0), -EINVAL);
    REFUSED(vigil_pool_submit_to(pool, 0, task, wrong), -EINVAL);
    REFUSED(vigil_pool_submit_to(pool, 99, task, VIGIL_NORMAL), -ENOENT);
    REFUSED(vigil_pool_submit_to(NULL, 0, task, VIGIL_NORMAL), -EINVAL);
    REFUSED(vigil_pool_submit_after(pool, task, VIGIL_NORMAL, -1), -EINVAL);
    REFUSED(vigil_pool_submit_after(pool, task, wrong, 1), -EINVAL);
    REFUSED(vigil_pool_submit_batch(pool, NULL, 1, VIGIL_NORMAL), -EINVAL);
    REFUSED(vigil_pool_submit_batch(NULL, NULL, 1, VIGIL_NORMAL), -EINVAL);
    vigil_task *twice[MOST_TASKS * 2 + 1] = {task, task};
    REFUSED(vigil_pool_submit_batch(pool, twice, 2, wrong), -EINVAL);
    REFUSED(vigil_pool_submit_batch(pool, twice, 2, VIGIL_NORMAL), -EBUSY);
    vgc_assert(vigil_pool_submit_batch(pool, twice, 0, VIGIL_NORMAL) == 0, "a batch of none is accepted");
    REFUSED(vigil_pool_call(NULL, nothing, NULL, NULL, VIGIL_NORMAL), -EINVAL);
    REFUSED(vigil_pool_call(pool, NULL, NULL, NULL, VIGIL_NORMAL), -EINVAL);
    REFUSED(vigil_pool_call(pool, nothing, NULL, NULL, wrong), -EINVAL);
    REFUSED(vigil_pool_run(NULL, nothing, NULL, VIGIL_NORMAL), -EINVAL);
    REFUSED(vigil_pool_run(pool, NULL, NULL, VIGIL_NORMAL), -EINVAL);
    REFUSED(vigil_pool_run(pool, nothing, NULL, wrong), -EINVAL);
    REFUSED(vigil_join(NULL, nothing, NULL, nothing, NULL), -EINVAL);
    REFUSED(vigil_join(pool, NULL, NULL, nothing, NULL), -EINVAL);
    REFUSED(vigil_join(pool, nothing, NULL, NULL, NULL), -EINVAL);
}

static void refuse_jobs(void)
{
    vigil_job job = {0};
    int status = 5;
    size_t index = 5;
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    REFUSED(vigil_job_call(NULL, nothing, NULL, NULL, &job), -EINVAL);
    REFUSED(vigil_job_call(pool, NULL, NULL, NULL, &job), -EINVAL);
    REFUSED(vigil_job_call(pool, nothing, NULL, NULL, NULL), -EINVAL);
    options.priority = (vigil_priority)VIGIL_PRIORITIES;
    REFUSED(vigil_job_call(pool, nothing, NULL, &options, &job), -EINVAL);
    options = (vigil_job_options)VIGIL_JOB_OPTIONS_INIT;
    options.delay_ns = -1;
    REFUSED(vigil_job_call(pool, nothing, NULL, &options, &job), -EINVAL);
    options.delay_ns = 1;
    REFUSED(vigil_job_all_call(pool, &job, 0, nothing, NULL, &options, &job), -EINVAL);
    options = (vigil_job_options)VIGIL_JOB_OPTIONS_INIT;
    REFUSED(vigil_job_then_call(NULL, no_job, nothing, NULL, NULL, &job), -EINVAL);
    REFUSED(vigil_job_all_call(pool, &job, 1, NULL, NULL, NULL, &job), -EINVAL);
    REFUSED(vigil_job_all_call(pool, &job, 1, nothing, NULL, NULL, NULL), -EINVAL);
    REFUSED(vigil_job_all_call(pool, NULL, 1, nothing, NULL, NULL, &job), -EINVAL);
    REFUSED(vigil_job_any_call(pool, NULL, 0, nothing, NULL, NULL, &job), -EINVAL);
    options.size = 1;
    REFUSED(vigil_job_then_call(pool, no_job, nothing, NULL, &options, &job), -EINVAL);
    REFUSED(vigil_job_wait(NULL, no_job, 0, &status), -EINVAL);
    REFUSED(vigil_job_poll(NULL, no_job, &status), -EINVAL);
    REFUSED(vigil_job_cancel(NULL, no_job), -EINVAL);
    REFUSED(vigil_job_unref(NULL, no_job), -EINVAL);
    REFUSED(vigil_job_unref(pool, no_job), -ESTALE);
    REFUSED(vigil_pool_broadcast_call(NULL, nothing_on, NULL, VIGIL_NORMAL, &job), -EINVAL);
    REFUSED(vigil_pool_broadcast_call(pool, NULL, NULL, VIGIL_NORMAL, &job), -EINVAL);
    REFUSED(vigil_pool_broadcast_call(pool, nothing_on, NULL, VIGIL_NORMAL, NULL), -EINVAL);
    REFUSED(vigil_pool_broadcast_call(pool, nothing_on, NULL, (vigil_priority)VIGIL_PRIORITIES, &job), -EINVAL);

    vigil_group group;
    vgc_assert(vigil_group_init(&group, pool, 0) == 0, "a group is made");
    const vigil_awaited two[2] = {{.group = &group}, {.group = &group}};
    REFUSED(vigil_wait_any(NULL, two, 1, 0, &index), -EINVAL);
    REFUSED(vigil_wait_any(pool, NULL, 1, 0, &index), -EINVAL);
    REFUSED(vigil_wait_any(pool, two, 1, 0, NULL), -EINVAL);
    REFUSED(vigil_wait_any(pool, two, 0, 0, &index), -EINVAL);
    REFUSED(vigil_wait_any(pool, two, VIGIL_WAIT_ANY_MOST + 1, 0, &index), -EINVAL);
    REFUSED(vigil_wait_any(pool, two, 2, 0, &index), -EINVAL);
    const vigil_awaited gone = {.job = no_job};
    REFUSED(vigil_wait_any(pool, &gone, 1, 0, &index), -ESTALE);
    vigil_group strange = {0};
    const vigil_awaited foreign = {.group = &strange};
    REFUSED(vigil_wait_any(pool, &foreign, 1, 0, &index), -EINVAL);
    vgc_assert(index == 5 && status == 5 && memcmp(&job, &(vigil_job){0}, sizeof job) == 0,
               "results of refused calls are left alone");
    vgc_assert(vigil_wait_any(pool, two, 1, 0, &index) == 0 && index == 0, "an empty group has ended");
}

static void refuse_groups(void)
{
    vigil_group zero = {0}, group;
    vigil_task *task = &tasks[0].task;
    vigil_task empty;
    memset(&empty, 0, sizeof empty);
    REFUSED(vigil_group_init(NULL, pool, 0), -EINVAL);
    REFUSED(vigil_group_init(&group, NULL, 0), -EINVAL);
    REFUSED(vigil_group_init(&group, pool, 1U << 30), -EINVAL);
    vgc_assert(vigil_group_init(&group, pool, 0) == 0, "a group is made");
    REFUSED(vigil_group_submit(NULL, task, VIGIL_NORMAL), -EINVAL);
    REFUSED(vigil_group_submit(&zero, task, VIGIL_NORMAL), -EINVAL);
    REFUSED(vigil_group_submit(&group, NULL, VIGIL_NORMAL), -EINVAL);
    REFUSED(vigil_group_submit(&group, &empty, VIGIL_NORMAL), -EINVAL);
    REFUSED(vigil_group_submit(&group, task, (vigil_priority)VIGIL_PRIORITIES), -EINVAL);
    REFUSED(vigil_group_spawn(NULL, task), -EINVAL);
    REFUSED(vigil_group_spawn(&group, NULL), -EINVAL);
    REFUSED(vigil_group_wait(NULL), -EINVAL);
    REFUSED(vigil_group_wait(&zero), -EINVAL);
    REFUSED(vigil_group_wait_for(&zero, 0), -EINVAL);
    REFUSED(vigil_group_cancel(NULL), -EINVAL);
    REFUSED(vigil_group_cancelled(&zero), -EINVAL);
    vgc_assert(vigil_group_cancelled(&group) == 0 && vigil_group_cancel(&group) == 0 &&
                   vigil_group_cancelled(&group) == 1,
               "a group is cancelled when it was cancelled");
    vgc_assert(vigil_group_wait(&group) == -ECANCELED, "its wait tells of it");
}

static void refuse_others(void)
{
    vigil_worker_stats worker = {.size = sizeof worker};
    vigil_pool_stats stats = {.size = 1};
    vigil_worker_change change;
    vigil_audit audit = {.size = sizeof audit};
    REFUSED(vigil_pool_stats_get(NULL, &stats), -EINVAL);
    REFUSED(vigil_pool_stats_get(pool, NULL), -EINVAL);
    REFUSED(vigil_pool_stats_get(pool, &stats), -EINVAL);
    REFUSED(vigil_pool_worker_stats_get(NULL, 0, &worker), -EINVAL);
    REFUSED(vigil_pool_worker_stats_get(pool, 0, NULL), -EINVAL);
    REFUSED(vigil_pool_worker_stats_get(pool, UINT_MAX, &worker), -ENOENT);
    REFUSED(vigil_pool_worker_history(NULL, 0, &change, 1), -EINVAL);
    REFUSED(vigil_pool_worker_history(pool, 0, NULL, 1), -EINVAL);
    REFUSED(vigil_pool_audit(NULL, &audit), -EINVAL);
    REFUSED(vigil_pool_audit(pool, NULL), -EINVAL);
    REFUSED(vigil_pool_resize(NULL, 1), -EINVAL);
    REFUSED(vigil_pool_resize(pool, 0), -EINVAL);
    REFUSED(vigil_pool_resize(pool, UINT_MAX), -EINVAL);
    REFUSED(vigil_pool_wait_idle(NULL, 0), -EINVAL);
    REFUSED(vigil_pool_shutdown(NULL, 0), -EINVAL);
    REFUSED(vigil_task_label(NULL), -EINVAL);
    REFUSED(vigil_task_label("outside"), -EPERM);
    REFUSED(vigil_task_cancelled(), -EPERM);
    REFUSED(vigil_task_yield(), -EPERM);
    REFUSED(vigil_isolate(NULL, NULL), -EINVAL);
    vgc_assert(vigil_isolate(nothing, NULL) == 0, "outside of a task there is nothing to isolate from");
    vgc_assert(vigil_pool_worker_stats_get(pool, 0, &worker) == 0 && !worker.spare && worker.completed == 0,
               "a worker has its numbers");
}

/* The same calls by a task: what only a task may call, and what it may not. */
static int refuse_in_task(counted *self)
{
    REFUSED(vigil_pool_wait_idle(pool, 0), -EDEADLK);
    REFUSED(vigil_pool_shutdown(pool, 0), -EDEADLK);
    REFUSED(vigil_pool_destroy(pool), -EDEADLK);
    REFUSED(vigil_group_spawn(NULL, NULL), -EINVAL);
    vigil_group group, *parent = NULL;
    vgc_assert(vigil_group_init(&group, pool, 0) == 0, "a group is made");
    REFUSED(vigil_group_spawn(&group, NULL), -EINVAL);
    vgc_assert(vigil_pool_current() == pool && vigil_pool_current_worker() == 0, "a task knows where it is");
    vgc_assert(vigil_pool_run(pool, nothing, NULL, VIGIL_NORMAL) == 0, "the call is made here");
    vgc_assert(vigil_task_cancelled() == 0 && parent == NULL, "a task without a group is not cancelled");
    vgc_assert(vigil_task_label("a label that is longer than what an event holds") == 0, "it has a label");
    vgc_assert(self->payload == 1, "the task is whole");
    return 0;
}

static void refused(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.max_queue = 2 * MOST_TASKS;
    pool_make_with(&options);
    refuse_submits();
    refuse_jobs();
    refuse_groups();
    refuse_others();
    nothing_was_accepted();
    counted_make(0)->body = refuse_in_task;
    submit_made(0, VIGIL_NORMAL);
    finish();
}
SCENARIO(call_refused, refused, "a call that is refused has changed nothing",
         "1 worker; every call with wrong arguments; then 1 task, audit", 1, VIGIL_FENCE_SYMMETRIC, AUDIT, BY_CHANCE,
         .opt.runs = 50);
SCENARIO(call_refused_stop, refused, "a call that is refused has changed nothing",
         "1 worker; every call with wrong arguments; then 1 task, against an immediate stop", 1, VIGIL_FENCE_MEMBARRIER,
         STOP_NOW, BY_CHANCE, .opt.runs = 50);

/* ---- a fork ---- */

/* The child of a fork has the pool's memory and none of its threads: every call says so, and the pool is given back without them. Here the page that
   the kernel would wipe is wiped by hand, and the workers are at rest. */
static void forked(void)
{
    vigil_job job = {0};
    size_t index = 0;
    vigil_pool_stats stats = {.size = sizeof stats};
    vigil_group group;
    pool_make();
    vgc_quiesce();
    vgc_assert(vigil_group_init(&group, pool, 0) == 0, "a group is made");
    *(uint32_t *)(uintptr_t)pool->fork_guard.page = 0;
    vigil_task *task = &counted_make(0)->task;
    tasks[0].given = false;
    const vigil_awaited one = {.group = &group};
    REFUSED(vigil_pool_submit(pool, task, VIGIL_NORMAL), -ECHILD);
    REFUSED(vigil_pool_submit_for(pool, task, VIGIL_NORMAL, 0), -ECHILD);
    REFUSED(vigil_pool_submit_to(pool, 0, task, VIGIL_NORMAL), -ECHILD);
    REFUSED(vigil_pool_submit_batch(pool, &task, 1, VIGIL_NORMAL), -ECHILD);
    REFUSED(vigil_pool_submit_after(pool, task, VIGIL_NORMAL, 1), -ECHILD);
    REFUSED(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), -ECHILD);
    REFUSED(vigil_pool_run(pool, nothing, NULL, VIGIL_NORMAL), -ECHILD);
    REFUSED(vigil_job_call(pool, nothing, NULL, NULL, &job), -ECHILD);
    REFUSED(vigil_job_then_call(pool, no_job, nothing, NULL, NULL, &job), -ECHILD);
    REFUSED(vigil_job_wait(pool, no_job, 0, NULL), -ECHILD);
    REFUSED(vigil_pool_broadcast_call(pool, nothing_on, NULL, VIGIL_NORMAL, &job), -ECHILD);
    REFUSED(vigil_wait_any(pool, &one, 1, 0, &index), -ECHILD);
    REFUSED(vigil_group_submit(&group, task, VIGIL_NORMAL), -ECHILD);
    REFUSED(vigil_group_wait(&group), -ECHILD);
    REFUSED(vigil_group_wait_for(&group, 0), -ECHILD);
    REFUSED(vigil_group_cancelled(&group), -ECHILD);
    REFUSED(vigil_join(pool, nothing, NULL, nothing, NULL), -ECHILD);
    REFUSED(vigil_pool_stats_get(pool, &stats), -ECHILD);
    REFUSED(vigil_pool_resize(pool, 2), -ECHILD);
    REFUSED(vigil_pool_wait_idle(pool, 0), -ECHILD);
    REFUSED(vigil_pool_shutdown(pool, 0), -ECHILD);
    vgc_assert(vigil_pool_workers(pool) == the_setup()->workers, "the parent's workers are counted");
    vgc_assert(vigil_pool_destroy(pool) == 0, "the child gives its copy back");
    vgc_assert(ran(0) == 0 && cancelled(0) == 0, "nothing ran");
    gate_open(&gates[0]);
}
SCENARIO(create_forked, forked,
         "in the child of a fork every call says so, and the pool's memory is given back without its threads",
         "2 workers asleep", 2, VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE, .opt.runs = 20);
