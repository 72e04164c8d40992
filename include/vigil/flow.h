/* SPDX-License-Identifier: MIT */
/*
 * vigil/flow.h - tasks that follow others, wait for the first of several, make way, keep strangers
 * out, and run on every worker; and threads that work for a pool for the time of a call.
 *
 * All waits keep the rule of vigil/pool.h ("Waits inside tasks"). Threads: as in vigil/pool.h.
 *
 *     vigil_job fetch, parse;
 *     int error = vigil_job_call(pool, fetch_page, page, NULL, &fetch);
 *     if (error == 0)
 *         error = vigil_job_then_call(pool, fetch, parse_page, page, NULL, &parse);
 */
#ifndef VIGIL_FLOW_H
#define VIGIL_FLOW_H

#include <stddef.h>
#include <stdint.h>

#include <vigil/base.h>
#include <vigil/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- continuations --------------------------------------------------------------------------- */

/* Run fn(arg) after `job` has ended, however it ended: fn may ask vigil_job_poll for its status.
   *next is a job like any other; it counts as accepted at once, so vigil_pool_wait_idle and
   vigil_pool_shutdown wait for it. job may have ended already, and its handle may be given back
   before. options may be NULL; options->delay_ns must be 0. Any thread; does not block, except
   with VIGIL_FULL_BLOCK.
   0; -ESTALE; -EINVAL; -ENOMEM; -EAGAIN max_queue is reached; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_job_then_call(vigil_pool *pool, vigil_job job, int (*fn)(void *arg), void *arg,
                                  const vigil_job_options *options, vigil_job *next);

/* The same after all of `count` jobs have ended. With count 0 it starts at once. Any thread; does
   not block, except with VIGIL_FULL_BLOCK.
   0; -ESTALE one of them; -EINVAL; -ENOMEM; -EAGAIN; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_job_all_call(vigil_pool *pool, const vigil_job *jobs, size_t count,
                                 int (*fn)(void *arg), void *arg, const vigil_job_options *options,
                                 vigil_job *next);

/* The same after the first of `count` jobs has ended; count is at least 1. Any thread; does not
   block, except with VIGIL_FULL_BLOCK.
   0; -ESTALE one of them; -EINVAL; -ENOMEM; -EAGAIN; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_job_any_call(vigil_pool *pool, const vigil_job *jobs, size_t count,
                                 int (*fn)(void *arg), void *arg, const vigil_job_options *options,
                                 vigil_job *next);

/* ---- the first of several -------------------------------------------------------------------- */

/* What vigil_wait_any waits for: a group, or a job if group is NULL. */
typedef struct vigil_awaited {
    vigil_job job;
    vigil_group *group;
} vigil_awaited;

#define VIGIL_WAIT_ANY_MOST 64

/* Wait until one of `count` jobs and groups of the pool has ended, at most VIGIL_WAIT_ANY_MOST.
   *index is the lowest that has; nothing is taken from it: vigil_job_wait or vigil_group_wait
   then return its status at once. An empty group has ended. No group stands twice. The caller is
   the one that waits for these groups. Inside a task of the pool it runs what it waits for, or
   sleeps as a blocked worker. Any thread; blocks.
   0; -ETIMEDOUT; -ESTALE; -EINVAL; -EDEADLK the caller is inside one of the jobs; -ECHILD. */
VIGIL_API int vigil_wait_any(vigil_pool *pool, const vigil_awaited *awaited, size_t count,
                             int64_t timeout_ns, size_t *index);

/* ---- making way, and keeping others out ------------------------------------------------------ */

/* Let another task run now: one that is queued and not of a lower class than the running task. It
   runs on top of the caller's stack, so not inside vigil_isolate, not while the task holds a lock
   of vigil/sync.h, and at most VIGIL_HELP_DEPTH deep. Worker; blocks as long as that task runs.
   1 a task has run; 0 there was none, or it must not; -EPERM outside a task. */
VIGIL_API int vigil_task_yield(void);

/* Call fn(arg) with strangers kept out: a wait inside it runs only what it waits for and its
   descendants, even if it was asked to help or no spare can be had. For a task that holds something
   a stranger on the same stack could want, or relies on thread-local state. What the waits run is
   isolated too. Any thread; outside a task it only calls fn.
   Returns what fn returns; -EINVAL. */
VIGIL_API int vigil_isolate(int (*fn)(void *arg), void *arg);

/* ---- every worker, and one more -------------------------------------------------------------- */

/* Call fn(arg, worker) once on each worker of the pool, spares not included: to set up or flush
   something per thread. *job ends when the last call has ended, with the status of the first
   failure. A call waits for the task that its worker runs, so a task of the pool cannot wait for
   the job: that returns -EDEADLK; it may let another follow. It takes no place of max_queue. If
   the pool shrinks in between, another worker makes the call. Any thread; does not block.
   0; -EINVAL; -ENOMEM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_pool_broadcast_call(vigil_pool *pool, int (*fn)(void *arg, unsigned worker),
                                        void *arg, vigil_priority priority, vigil_job *job);

/* Call fn(arg) here, as a task of the pool: spawns go to a deque of the caller, which the workers
   steal from, waits run what they wait for, and a wait for a group with VIGIL_GROUP_HELP_ANY
   works for the pool. So the caller is one more worker for the time of the call;
   vigil_pool_current_worker is at least VIGIL_MAX_WORKERS. At most eight threads at a time; for a
   further one, and for a worker of another pool, a worker makes the call. fn must not end its
   thread. Any thread; blocks as long as fn runs.
   Returns 0 or the failure of fn; -EINVAL; -ESHUTDOWN; -EAGAIN max_queue is reached; -ECHILD. */
VIGIL_API int vigil_pool_run(vigil_pool *pool, int (*fn)(void *arg), void *arg,
                             vigil_priority priority);

#ifdef __cplusplus
}
#endif
#endif
