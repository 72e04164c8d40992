/* SPDX-License-Identifier: MIT */
/*
 * vigil/pool.h - a work-stealing thread pool with five priorities.
 *
 * What it promises
 *
 *   Exactly once.   An accepted task runs once, or its cancel callback runs once. Never both, never
 *                   neither.
 *   Conservation.   No task stays queued beside a parked worker, even if every running task never
 *                   ends. There are no timeouts behind this: src/pool/IDLE.md has the argument,
 *                   `make check` explores it.
 *   Silence.        An idle pool makes no wake-ups and uses no CPU.
 *   Priorities.     Across the whole pool, not per worker: a worker that looks for work takes the
 *                   highest class that is queued anywhere. Exceptions: the ageing picks below, and
 *                   a worker that has yielded 256 times without effect to another that was
 *                   preempted while it moved tasks of a higher class starts one of a lower. A group
 *                   wait runs its own children first: they are part of the task that waits.
 *   Ageing.         While lower classes wait behind a higher one, each worker gives them a share
 *                   of its time, VIGIL_LOWER_PERMILLE or the option lower_permille, whatever the
 *                   length of the tasks: after a lower task of 5 ms, at 3 %, 160 ms of higher
 *                   work follow. The classes that wait take turns. With strict_classes they get
 *                   nothing.
 *   Order.          Submitted tasks of one class start in the order of their submission (FIFO over
 *                   all threads); a worker's own spawns run newest first (LIFO), and are stolen
 *                   oldest first.
 *
 * Waits inside tasks
 *
 *   A wait for a group, a job or a join keeps one rule. It runs what it waits for if that has not
 *   started, and its descendants. Only on request (VIGIL_GROUP_HELP_ANY) it runs other tasks:
 *   never of a lower class than its own task, and at most VIGIL_HELP_DEPTH such waits deep on one
 *   stack. Else it sleeps as a blocked worker, and a spare takes its place. What it runs itself
 *   inherits its class. If no spare can be had (no_spares, or max_spares are at work), it helps
 *   with any task, to the same depth, because a task that everybody waits for could stay queued.
 *   A wait for another pool sleeps; without a spare it helps with what workers of other pools wait
 *   for in its own. A task under such a stranger goes on only after it, so waits that are no circle
 *   on stacks of their own can become one: the watchdog names it, and more spares avoid it.
 *
 * Three ways to hand over work
 *
 *   vigil_pool_submit   a vigil_task inside your own struct; no allocation, no result. The pool's
 *                       last touch is the call of run(): the function may free or submit the task
 *                       again. FIFO.
 *   vigil_pool_call     a function and an argument; the task is the pool's own. FIFO.
 *   vigil_job_call      the same with a handle: wait, poll, cancel, status.
 *
 * and fork-join on top: vigil_group_spawn pushes to the worker's own deque for about the price of
 * a function call, and vigil_group_wait runs what nobody has stolen. LIFO.
 *
 * Threads: "any" means any thread, workers included; "worker" means inside a task of that pool.
 * "Blocks" means that the call may wait for others. Every call is safe against every other call
 * except vigil_pool_destroy.
 *
 * A task fails when it returns a negative value or calls vigil_raise: that is counted, reported to
 * on_failure, and harms nobody.
 */
#ifndef VIGIL_POOL_H
#define VIGIL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifndef __cplusplus
#include <stdatomic.h>
#endif

#include <vigil/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vigil_priority {
    VIGIL_CRITICAL = 0,
    VIGIL_HIGH = 1,
    VIGIL_NORMAL = 2,
    VIGIL_LOW = 3,
    VIGIL_IDLE = 4
} vigil_priority;

#define VIGIL_PRIORITIES     5
#define VIGIL_LOWER_PERMILLE 30 /* the default of lower_permille */
#define VIGIL_MAX_WORKERS    1024
#define VIGIL_HELP_DEPTH     32 /* waits on one stack that run strangers */

typedef struct vigil_pool vigil_pool;
typedef struct vigil_task vigil_task;
typedef struct vigil_group vigil_group;

/* ---- tasks ----------------------------------------------------------------------------------- */

/* The work. Returns a status: negative is a failure. `task` may be freed or submitted again
   inside it, unless it belongs to a group (then it stays the group's until the wait returns).
   The child of a fork inside it must end with _exit or exec; one that returns ends here, with
   status 0, or 1 if it returned a failure, and a line on standard error. */
typedef int (*vigil_task_fn)(vigil_task *task);

/* Called instead of run() when the pool ends before the task started, on whatever thread ends
   the pool (or cancels the task). The task has not ended before it returns: to wait inside for
   the pool's end or for the job itself answers -EDEADLK. */
typedef void (*vigil_task_cancel_fn)(vigil_task *task);

/* Embed it in your own struct. Set it up with vigil_task_init once; the vg_ fields are the
   library's. 48 bytes. */
struct vigil_task {
    vigil_task_fn run;
    vigil_task_cancel_fn cancel;
    vigil_task *vg_next;
    vigil_group *vg_group;
    uint64_t vg_stamp;
    VIGIL_ATOMIC(uint32_t) vg_state;
    uint8_t vg_class;
    uint8_t vg_kind;
    uint16_t vg_flags;
};

/* Make a task of the caller's memory. run must not be NULL; cancel may be. The task must not be
   queued. Any thread; does not block; cannot fail. */
static inline void vigil_task_init(vigil_task *task, vigil_task_fn run, vigil_task_cancel_fn cancel)
{
    task->run = run;
    task->cancel = cancel;
    task->vg_next = NULL;
    task->vg_group = NULL;
    task->vg_stamp = 0;
#ifdef __cplusplus
    task->vg_state = 0;
#else
    atomic_init(&task->vg_state, 0U); /* plain: nobody else may look at the task yet */
#endif
    task->vg_class = VIGIL_NORMAL;
    task->vg_kind = 0;
    task->vg_flags = 0;
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* What a worker does when it finds nothing. */
typedef enum vigil_idle_policy {
    /* look again for a short time that adapts to what it brings, then park (default) */
    VIGIL_IDLE_SPIN_THEN_PARK = 0,
    VIGIL_IDLE_PARK = 1, /* park at once: least CPU, each burst pays a wake-up */
    /* the last one never parks: lowest latency, burns one core on purpose */
    VIGIL_IDLE_KEEP_ONE_AWAKE = 2
} vigil_idle_policy;

/* What submit does when max_queue is reached. */
typedef enum vigil_full_policy {
    VIGIL_FULL_REFUSE = 0, /* -EAGAIN (default) */
    /* wait for room, inside tasks as a blocked worker with a spare in its place; a task of the pool
       itself that can have no spare runs queued tasks to make room, at most VIGIL_HELP_DEPTH deep,
       and gets -EAGAIN if there is none to run */
    VIGIL_FULL_BLOCK = 1
} vigil_full_policy;

/* How the idle protocol and the deques order memory. */
typedef enum vigil_fence_mode {
    /* membarrier(2) where the kernel has it, full fences elsewhere (default) */
    VIGIL_FENCE_AUTO = 0,
    VIGIL_FENCE_SYMMETRIC = 1, /* full fences: spawns cost more, steals less */
    /* require it; vigil_pool_create fails with -ENOSYS if the kernel lacks it */
    VIGIL_FENCE_MEMBARRIER = 2
} vigil_fence_mode;

/* A task that failed, as on_failure sees it. */
typedef struct vigil_failure {
    size_t size;
    int status;              /* the negative value that it returned or raised */
    bool raised;             /* it left by vigil_raise */
    vigil_priority priority; /* its class */
    unsigned worker;         /* who ran it */
    /* the task's run function, or the function given to vigil_pool_call or vigil_job_call */
    void *function;
} vigil_failure;
#define VIGIL_FAILURE_INIT VG_SIZED(vigil_failure)

/* Start from VIGIL_POOL_OPTIONS_INIT; zero means the default for every field. The worker's two
   hooks are no tasks: what they submit while the pool stops is refused, and vigil_raise has
   nowhere to go in them. on_worker_start may run before vigil_pool_create returns;
   vigil_pool_current is the pool. */
typedef struct vigil_pool_options {
    size_t size; /* set by the _INIT macro; tells the library which fields exist */
    /* threads are called "name/0", "name/1", ... (cut at 15 bytes); default "vigil" */
    const char *name;
    /* 1 to VIGIL_MAX_WORKERS; 0: as many as this process may use (affinity, cgroup quota) */
    unsigned workers;
    /* most spare workers for blocked ones (P15); 0: as many as workers, at most 64 */
    unsigned max_spares;
    bool no_spares; /* never compensate for blocked workers */
    /* fail with -EAGAIN if not every thread can be made; else run with fewer, at least one */
    bool require_all_threads;
    bool no_stealing; /* workers run their own spawns and submitted work only */
    vigil_idle_policy idle;
    unsigned spin_us; /* upper bound of the spin before parking; 0: 50 */
    vigil_fence_mode fences;
    /* most submitted tasks that wait at a time; 0: no bound. Spawns are not counted. */
    size_t max_queue;
    vigil_full_policy when_full;
    /* most workers that run a class at a time; 0: no cap. A task that waits for others gives its
       place up while it waits, and takes it again regardless of the cap. With a cap of 1, a task
       sees what the one before it wrote. */
    unsigned class_cap[VIGIL_PRIORITIES];
    /* share of a worker's time for lower classes that wait, in thousandths; 0:
       VIGIL_LOWER_PERMILLE; at most 500 */
    unsigned lower_permille;
    bool strict_classes; /* no share: a lower class runs when no higher one is queued */
    /* bytes per worker; 0: the system's default, at least 1 MiB; less than the least: -EINVAL */
    size_t stack_size;
    const int *cpus; /* bind worker i to cpus[i % cpu_count]; NULL: not bound. Copied. */
    size_t cpu_count;
    void (*on_worker_start)(void *user, unsigned worker); /* on the worker, before its first task */
    void (*on_worker_stop)(void *user, unsigned worker);  /* on the worker, after its last task */
    /* on the worker, after the task; may vigil_raise */
    void (*on_failure)(void *user, const vigil_failure *failure);
    void *user;
} vigil_pool_options;
#define VIGIL_POOL_OPTIONS_INIT VG_SIZED(vigil_pool_options)

/* Make a pool and start its threads. options may be NULL. *pool is given back with
   vigil_pool_destroy. Any thread; does not wait for the threads to come up.
   0; -EINVAL an option is out of range; -ENOMEM; -EAGAIN no thread, or with require_all_threads
   not all of them; -ENOSYS VIGIL_FENCE_MEMBARRIER on a kernel without membarrier(2). */
VIGIL_API int vigil_pool_create(vigil_pool **pool, const vigil_pool_options *options);

/* End the pool gracefully: every accepted task runs, delayed tasks at their time. From here on
   submits answer -ESHUTDOWN, except those of tasks that still run. The call waits until all
   tasks have ended and the workers are gone. It may be repeated, and made by several threads;
   vigil_pool_close ends a shutdown that takes too long. Any thread but a worker of this pool;
   blocks.
   0 ended; -ETIMEDOUT not yet, the end goes on; -EDEADLK called inside a task, a cancel callback
   or a worker's hook; -EINVAL; -ECHILD. */
VIGIL_API int vigil_pool_shutdown(vigil_pool *pool, int64_t timeout_ns);

/* End the pool at once: running tasks finish, every other accepted task gets its cancel
   callback, and so does what running tasks still spawn and submit. The call waits until the
   workers are gone. It may be repeated, and made by several threads. Any thread but a worker of
   this pool; blocks as long as tasks run.
   0 ended; -ETIMEDOUT not yet, the end goes on; -EDEADLK called inside a task, a cancel callback
   or a worker's hook; -EINVAL; -ECHILD. */
VIGIL_API int vigil_pool_close(vigil_pool *pool, int64_t timeout_ns);

/* Give the pool back; closes it first if nobody has ended it. NULL is allowed. No other thread
   may be inside a call on this pool, except a submit whose task has already run. In the child of
   a fork it frees what it can without touching the parent's threads. Any thread but a worker of
   this pool; blocks as long as tasks run.
   0; -EDEADLK called inside a task, a cancel callback or a worker's hook of this pool: nothing
   happens. */
VIGIL_API int vigil_pool_destroy(vigil_pool *pool);

/* Submit one task. On success the task is the pool's until run or cancel is called. No
   allocation, and no system call unless a parked worker must be woken. Any thread; does not
   block, except with VIGIL_FULL_BLOCK.
   0; -EINVAL; -EBUSY the task is queued already; -EAGAIN max_queue is reached; -ESHUTDOWN;
   -ECHILD. */
VIGIL_API int vigil_pool_submit(vigil_pool *pool, vigil_task *task, vigil_priority priority);

/* Submit one task, and wait for room at most timeout_ns if the queue is full and the pool has
   VIGIL_FULL_BLOCK. Any thread; blocks.
   0; -ETIMEDOUT there was no room in time; -EAGAIN, -EINVAL, -EBUSY, -ESHUTDOWN, -ECHILD as
   vigil_pool_submit. */
VIGIL_API int vigil_pool_submit_for(vigil_pool *pool, vigil_task *task, vigil_priority priority,
                                    int64_t timeout_ns);

/* Submit `count` tasks of one class, in this order, with one decision about waking. All are
   accepted or none. Any thread; does not block, except with VIGIL_FULL_BLOCK.
   0; -EINVAL also when count is more than max_queue; -EBUSY one of them is queued already;
   -EAGAIN max_queue is reached; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_pool_submit_batch(vigil_pool *pool, vigil_task *const *tasks, size_t count,
                                      vigil_priority priority);

/* Submit a task that only worker `worker` (0 to workers-1) may run; it is not stolen. Among such
   tasks of one worker the classes and FIFO hold. If the pool shrinks below that worker the task
   goes to the others. With VIGIL_FULL_BLOCK it is not counted in max_queue: nobody else could
   make the room that its worker may wait for. Any thread; does not block.
   0; -ENOENT there is no such worker; -EINVAL; -EBUSY; -EAGAIN; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_pool_submit_to(vigil_pool *pool, unsigned worker, vigil_task *task,
                                   vigil_priority priority);

/* Submit a task that becomes ready after `delay_ns`, never earlier. It counts as accepted at
   once: vigil_pool_wait_idle and vigil_pool_shutdown wait for it. The first call starts the
   pool's timer thread; the table of delayed tasks may grow, which is the one allocation of a
   submit. Any thread; does not block, except with VIGIL_FULL_BLOCK.
   0; -EINVAL; -EBUSY; -ENOMEM; -EAGAIN no thread, or max_queue is reached; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_pool_submit_after(vigil_pool *pool, vigil_task *task, vigil_priority priority,
                                      int64_t delay_ns);

/* Call fn(arg) on a worker; the task is the pool's own, from a slab. cancel(arg), if not NULL,
   runs instead if the pool ends first. Any thread; does not block, except with VIGIL_FULL_BLOCK.
   0; -EINVAL; -ENOMEM; -EAGAIN max_queue is reached; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_pool_call(vigil_pool *pool, int (*fn)(void *arg), void (*cancel)(void *arg),
                              void *arg, vigil_priority priority);

/* Wait until there is an instant at which every accepted task has finished. Any thread but a
   worker; blocks, without polling.
   0; -ETIMEDOUT; -EDEADLK inside a task or cancel callback of this pool, which itself is not
   finished, or in a worker's hook; -EINVAL; -ECHILD. */
VIGIL_API int vigil_pool_wait_idle(vigil_pool *pool, int64_t timeout_ns);

/* Change the number of workers (1 to VIGIL_MAX_WORKERS) while the pool runs. Growing starts
   threads. Shrinking lets the workers with the highest numbers finish their task and go, and
   hands their queues to the others. Any thread; does not wait for workers that go, but growing
   again waits for the on_worker_stop of one that has just gone.
   0; -EINVAL; -EAGAIN a thread could not be made, as many as could are there; -ENOMEM;
   -ESHUTDOWN; -EDEADLK inside on_worker_stop; -ECHILD. */
VIGIL_API int vigil_pool_resize(vigil_pool *pool, unsigned workers);

/* How many workers the pool has now, spares not counted. Any thread; does not block. Returns the
   number. */
VIGIL_API unsigned vigil_pool_workers(const vigil_pool *pool);

/* The pool that the calling thread works for. Any thread; does not block. Returns NULL outside a
   worker. */
VIGIL_API vigil_pool *vigil_pool_current(void);

/* The number of the worker that the calling thread is. Any thread; does not block. Returns -1
   outside a worker. */
VIGIL_API int vigil_pool_current_worker(void);

/* How many CPUs this process may use: the smallest of affinity mask, online CPUs and cgroup
   quota (rounded up). Any thread; does not block. Returns at least 1. */
VIGIL_API unsigned vigil_cpu_count(void);

/* Give the task that runs a name of its own: verdicts, `vigil top`, `vigil report` and the page
   show it beside the function, so that a thousand tasks of one function can be told apart. At
   most 39 bytes are kept. It costs some stores, and lasts until the task ends. Worker; does not
   block.
   0; -EPERM outside a task; -EINVAL. */
VIGIL_API int vigil_task_label(const char *label);

/* Say that this task is about to block in something the pool cannot see: a read, a lock, a
   sleep. Until vigil_blocking_end, if work is queued and nobody is free, a spare worker takes
   the place of the blocked one, at most max_spares at a time. Sections nest; only the outermost
   counts. Worker; does not block.
   0; -EPERM outside a task. */
VIGIL_API int vigil_blocking_begin(void);

/* Say that the task is back from what it blocked in. Worker; does not block.
   0; -EPERM outside a task. */
VIGIL_API int vigil_blocking_end(void);

/* ---- jobs: tasks with a handle --------------------------------------------------------------- */

/* Names a job. A stale one is an error (-ESTALE), never a crash. id 0 is never a job. */
typedef struct vigil_job {
    uint64_t id;
} vigil_job;

typedef struct vigil_job_options {
    size_t size;
    vigil_priority priority;   /* the _INIT macro says VIGIL_NORMAL */
    int64_t delay_ns;          /* as vigil_pool_submit_after */
    void (*cancel)(void *arg); /* runs instead of fn when the job is cancelled before it starts */
} vigil_job_options;

#define VIGIL_JOB_OPTIONS_INIT                           \
    {                                                    \
        sizeof(vigil_job_options), VIGIL_NORMAL, 0, NULL \
    }

typedef enum vigil_job_state {
    VIGIL_JOB_QUEUED = 0,
    VIGIL_JOB_RUNNING = 1,
    VIGIL_JOB_DONE = 2,
    VIGIL_JOB_CANCELLED = 3
} vigil_job_state;

/* Run fn(arg) on a worker and keep its status. *job is given back with vigil_job_unref, at any
   time. options may be NULL. Any thread; does not block, except with VIGIL_FULL_BLOCK.
   0; -EINVAL; -ENOMEM; -EAGAIN max_queue is reached; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_job_call(vigil_pool *pool, int (*fn)(void *arg), void *arg,
                             const vigil_job_options *options, vigil_job *job);

/* Wait for the end of the job. Inside a task of the same pool it runs the job itself if the job
   has not started; while the job runs elsewhere it sleeps as a blocked worker ("Waits inside
   tasks"). *status (may be NULL) is what fn returned, -ECANCELED if it was cancelled. Any thread;
   blocks.
   0; -ETIMEDOUT; -ESTALE; -EDEADLK the caller is inside this very job, or the watchdog has ended
   this wait because it was part of a circle of waits (VIGIL_RECOVER_REJECT, off by default);
   -EINVAL; -ECHILD. */
VIGIL_API int vigil_job_wait(vigil_pool *pool, vigil_job job, int64_t timeout_ns, int *status);

/* Where the job is, and in *status (may be NULL) its status if it has ended. Any thread; never
   blocks.
   Returns a vigil_job_state; -ESTALE; -EINVAL; -ECHILD. */
VIGIL_API int vigil_job_poll(vigil_pool *pool, vigil_job job, int *status);

/* Cancel a job that has not started: its cancel callback has run when this returns, fn never
   will. Any thread; does not block, apart from the callback.
   0; -EBUSY it runs or has ended, and nothing changed; -ESTALE; -EINVAL; -ECHILD. */
VIGIL_API int vigil_job_cancel(vigil_pool *pool, vigil_job job);

/* Give the handle back. The job itself goes on. Any thread; does not block.
   0; -ESTALE that was done before; -EINVAL; -ECHILD. */
VIGIL_API int vigil_job_unref(vigil_pool *pool, vigil_job job);

/* ---- groups: fork and join ------------------------------------------------------------------- */

/* vigil_group_wait on a worker runs its own tasks and descendants only (its unstarted tasks, and
   what thieves have spawned from stolen ones) unless this is set: then any task that is not of a
   lower class than the waiting one, at most VIGIL_HELP_DEPTH waits deep. */
#define VIGIL_GROUP_HELP_ANY          1U
/* The group may outlive the task that made it (it is waited for elsewhere). */
#define VIGIL_GROUP_DETACHED          2U
/* The first failure of a task cancels the group (vigil_group_cancel). */
#define VIGIL_GROUP_CANCEL_ON_FAILURE 4U

/* Usually on the stack. The vg_ fields are the library's. One thread waits for a group at a
   time. */
struct vigil_group {
    vigil_pool *vg_pool;
    /* the worker whose thread made it; its tasks are counted in vg_local without atomics */
    void *vg_owner;
    vigil_group *vg_parent;
    int64_t vg_local;               /* owner's thread alone */
    VIGIL_ATOMIC(uint64_t) vg_open; /* waiter, and tasks counted from other threads */
    VIGIL_ATOMIC(int32_t) vg_status;
    VIGIL_ATOMIC(uint32_t) vg_thief;
    uint32_t vg_flags;
    /* a waiter outside the pool sleeps on it; set up by that waiter */
    VIGIL_ATOMIC(uint32_t) vg_told;
    VIGIL_ATOMIC(void *) vg_members; /* submitted by tasks */
    void *vg_bell; /* of a waiter outside that waits for several; set up by that waiter */
};

/* Make an empty group for tasks of `pool`. A group made inside a task must be waited for before
   that task returns, unless it is VIGIL_GROUP_DETACHED. It need not be destroyed: after a wait
   that returned 0 or a status its memory is the caller's. Any thread; does not block.
   0; -EINVAL. */
VIGIL_API int vigil_group_init(vigil_group *group, vigil_pool *pool, unsigned flags);

/* Fork: add a task to the group. On a worker it goes to the worker's own deque, in the class of
   the running task, for about the price of a function call; elsewhere it is submitted as
   VIGIL_NORMAL. The task stays the group's until the wait returns. Any thread; does not block.
   0; -EINVAL; -EBUSY the task is queued already; -EAGAIN outside a worker, max_queue is reached;
   -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_group_spawn(vigil_group *group, vigil_task *task);

/* Add a task to the group through the pool's FIFO queue. The task stays the group's until the
   wait returns. Inside a task of the pool a record of the pool's stands for it in the queue, so
   that vigil_group_wait can run it at once, whatever is queued before it; without memory for the
   record the task itself is queued. Any thread; does not block, except with VIGIL_FULL_BLOCK.
   0; -EINVAL; -EBUSY; -EAGAIN; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_group_submit(vigil_group *group, vigil_task *task, vigil_priority priority);

/* Join: wait until every task of the group has finished. Inside a task of the pool it runs what it
   waits for, or sleeps as a blocked worker ("Waits inside tasks"). The group is empty afterwards
   and may be used again. Any thread, one at a time; blocks.
   0 all tasks succeeded. Otherwise the status of the first failure; -ECANCELED the group was
   cancelled or the pool ended first; -EINVAL; -ECHILD. */
VIGIL_API int vigil_group_wait(vigil_group *group);

/* vigil_group_wait with a limit. Any thread, one at a time; blocks.
   0; the status of the first failure; -ETIMEDOUT the group stays as it is; -EINVAL; -ECHILD. */
VIGIL_API int vigil_group_wait_for(vigil_group *group, int64_t timeout_ns);

/* Cancel what the group has not begun: each such task gets its cancel callback instead of a run
   when its turn comes, and so does what is still added. Running tasks go on; they may ask
   vigil_task_cancelled. A group that is made inside a task of a cancelled group is cancelled from
   its beginning. The wait returns -ECANCELED unless a task failed before, and the group is as new
   afterwards. Any thread, until the wait has returned; does not block.
   0; -EINVAL; -ECHILD. */
VIGIL_API int vigil_group_cancel(vigil_group *group);

/* Is the group cancelled? Any thread, until the wait has returned; does not block.
   1; 0; -EINVAL; -ECHILD. */
VIGIL_API int vigil_group_cancelled(const vigil_group *group);

/* Is the group of the running task cancelled, or one around it? For long tasks that can stop early.
   Worker; does not block.
   1; 0; -EPERM outside a task. */
VIGIL_API int vigil_task_cancelled(void);

/* The shortest fork and join: call a(arg_a) and b(arg_b), perhaps at the same time, and return
   when both have ended. Inside a task of the pool a runs here, and b here as well unless another
   worker takes it first, for a few nanoseconds: the compiler sees this part (join.h). If a or b
   calls vigil_raise there, the calling task is left after both have ended. Elsewhere both are
   submitted. Any thread; blocks.
   0; the failure of a, else of b; -EINVAL; -ESHUTDOWN; -EAGAIN; -ECHILD. */
VIGIL_API int vigil_join(vigil_pool *pool, int (*a)(void *arg), void *arg_a, int (*b)(void *arg),
                         void *arg_b);

/* ---- looking at it --------------------------------------------------------------------------- */

typedef enum vigil_worker_state {
    VIGIL_WORKER_UNUSED = 0, /* no thread */
    VIGIL_WORKER_STARTING,
    VIGIL_WORKER_RUNNING, /* a task */
    VIGIL_WORKER_LOOKING, /* at its own and the shared queues */
    VIGIL_WORKER_STEALING,
    VIGIL_WORKER_SPINNING,
    VIGIL_WORKER_PARKED,
    VIGIL_WORKER_BLOCKED, /* declared, or in a group wait that cannot help */
    VIGIL_WORKER_STOPPING,
    VIGIL_WORKER_STOPPED,
    VIGIL_WORKER_STATES
} vigil_worker_state;

/* Everything since the pool was made. Each number has one writer per thread; a snapshot is
   coherent in that submitted = queued + running + completed + failed + cancelled holds in it,
   per class and in sum. */
typedef struct vigil_class_stats {
    uint64_t submitted; /* accepted: submitted, spawned, delayed */
    uint64_t queued;    /* accepted, not started */
    uint64_t running;
    uint64_t completed;
    uint64_t failed;
    uint64_t cancelled;
    uint64_t refused; /* not accepted: -EAGAIN or -ESHUTDOWN (dropped, in other words) */
    /* how long the oldest submitted task that still waits has waited; spawns are not timed */
    uint64_t oldest_age_ns;
} vigil_class_stats;

typedef struct vigil_worker_stats {
    size_t size;
    vigil_worker_state state;
    uint64_t state_since_ns; /* how long it has been in that state */
    bool spare;
    uint64_t started[VIGIL_PRIORITIES];
    uint64_t completed, failed, cancelled;
    uint64_t spawned;
    /* lost: another was faster; the rest found nothing */
    uint64_t steals_tried, steals_won, steals_lost;
    uint64_t parks;
    uint64_t wakes_sent;
    uint64_t wakes_useful;   /* it was woken and found a task */
    uint64_t wakes_spurious; /* it was woken and found none */
    uint64_t ageing_picks;
    /* time in each state, as far as the clock was read at changes */
    uint64_t time_ns[VIGIL_WORKER_STATES];
} vigil_worker_stats;
#define VIGIL_WORKER_STATS_INIT VG_SIZED(vigil_worker_stats)

typedef struct vigil_pool_stats {
    size_t size;
    unsigned workers; /* as asked for */
    unsigned threads; /* alive, spares included */
    unsigned spares;  /* that stand in for a blocked worker now */
    unsigned parked, searching, blocked;
    vigil_class_stats total;
    vigil_class_stats by_class[VIGIL_PRIORITIES];
    uint64_t spawned; /* of submitted: pushed to a worker's own deque */
    uint64_t delayed; /* of queued: not due yet */
    uint64_t steals_tried, steals_won, steals_lost;
    uint64_t parks, wakes_sent, wakes_useful, wakes_spurious;
    uint64_t spares_started;
    uint64_t spares_refused; /* a spare was wanted and max_spares or the system said no */
    uint64_t ageing_picks;
    uint64_t work_ns, search_ns, idle_ns, blocked_ns; /* summed over the workers */
} vigil_pool_stats;
#define VIGIL_POOL_STATS_INIT VG_SIZED(vigil_pool_stats)

/* Fill *stats, which starts from VIGIL_POOL_STATS_INIT. Any thread; never blocks, and stops
   nobody.
   0; -EINVAL; -ECHILD. */
VIGIL_API int vigil_pool_stats_get(vigil_pool *pool, vigil_pool_stats *stats);

/* The same for one worker; spares are numbered from VIGIL_MAX_WORKERS. *stats starts from
   VIGIL_WORKER_STATS_INIT. Any thread; never blocks.
   0; -ENOENT there is no such worker; -EINVAL; -ECHILD. */
VIGIL_API int vigil_pool_worker_stats_get(vigil_pool *pool, unsigned worker,
                                          vigil_worker_stats *stats);

/* One change of state, as the worker's history keeps the last VIGIL_WORKER_HISTORY of them. */
#define VIGIL_WORKER_HISTORY 32
typedef struct vigil_worker_change {
    vigil_worker_state state;
    uint64_t age_ns; /* how long ago it began */
} vigil_worker_change;

/* Copy up to `room` changes of the worker's state, newest first. Any thread; never blocks.
   Returns how many were copied; -EINVAL; -ENOENT; -ECHILD. */
VIGIL_API int vigil_pool_worker_history(vigil_pool *pool, unsigned worker,
                                        vigil_worker_change *changes, size_t room);

/*
 * The conservation audit: compares what the counters say is queued with what is found in the queues
 * themselves. Exact while nothing moves (all workers parked or inside tasks, nobody submitting);
 * while things move it looks again, a few times, and says so. Any thread; does not block.
 */
typedef struct vigil_audit {
    size_t size;
    bool settled; /* two looks in a row saw the same: the numbers below are exact */
    int64_t
        /* accepted, and in no queue and on no worker: positive is a loss, negative is a task
           that ran twice */
        lost;
    uint64_t expected; /* queued, by the counters */
    uint64_t found;    /* queued, by the queues */
    char text[160];    /* the same in words */
} vigil_audit;
#define VIGIL_AUDIT_INIT VG_SIZED(vigil_audit)

/* The conservation audit: compare what the counters say is queued with what is found in the
   queues. Exact while nothing moves (all workers parked or inside tasks, nobody submitting);
   while things move it looks again, a few times, and says so. *audit starts from
   VIGIL_AUDIT_INIT. Any thread; does not block.
   0 all accounted for; -EIO something is lost or ran twice, see text; -EAGAIN not settled;
   -EINVAL; -ECHILD. */
VIGIL_API int vigil_pool_audit(vigil_pool *pool, vigil_audit *audit);

#ifdef __cplusplus
}
#endif

#include <vigil/join.h>
#endif
