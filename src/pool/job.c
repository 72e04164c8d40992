/* SPDX-License-Identifier: MIT */
/*
 * job.c - tasks with a handle. README.md, "File by file".
 */
#include "job.h"

#include "base/futex.h"
#include "base/options.h"
#include "counter.h"
#include "elsewhere.h"
#include "idle.h"
#include "injector.h"
#include "job_struct.h"
#include "job_watch.h"
#include "member.h"
#include "moving.h"
#include "rule.h"
#include "run.h"
#include "seats.h"
#include "submit.h"
#include "trace.h"
#include "urgent.h"
#include "waits.h"

#include <errno.h>
#include <stddef.h>

#ifdef VIGIL_CHECK
#define JOB_HUSKS_MANY 1
#else
#define JOB_HUSKS_MANY 1024 /* more than the ring holds, where a sweep cannot reach them */
#endif

typedef int (*job_fn)(void *arg);

uint64_t vg_job_id(const vigil_task *task)
{
    const vg_job *job = vg_container_of(task, const vg_job, task);
    return task->vg_group != NULL || vg_handles_alone(job) ? 0 : vg_handles_name(job);
}

size_t vg_job_size(void)
{
    return sizeof(vg_job);
}

static job_fn job_function(const vigil_task *task)
{
    return (job_fn)(void (*)(void))task->cancel;
}

static int run_member(void *member)
{
    return vg_member_run(member);
}

vg_job_work vg_job_work_of(vigil_task *task)
{
    const vg_job *job = vg_job_of(task);
    return (vg_job_work){.fn = task->vg_group != NULL ? run_member : job_function(task), .arg = vg_job_arg(job)};
}

void vg_job_cancel(vigil_task *task)
{
    const vg_job *job = vg_job_of(task);
    if (task->vg_group != NULL)
        vg_member_cancel(vg_job_arg(job));
    else if (job->cancel != NULL)
        job->cancel(vg_job_arg(job));
}

void *vg_job_function(const vigil_task *task)
{
    if (task->vg_group == NULL)
        return (void *)(uintptr_t)job_function(task);
    const vigil_task *member = vg_job_arg(vg_container_of(task, const vg_job, task));
    return (void *)(uintptr_t)member->run;
}

/* The calling thread: its worker, of any pool, or an address of its own. */
static uintptr_t job_caller(void)
{
    return vg_current_worker != NULL ? (uintptr_t)vg_current_worker : (uintptr_t)&vg_cancelling_top;
}

bool vg_job_runs_here(const vg_job *job)
{
    if (job->kind == VG_JOB_EVERYWHERE)
        return vg_worker_of(job->everywhere) != NULL; /* a part of it comes after the running task */
    /* relaxed: if it is this thread, it is our own store */
    return atomic_load_explicit(&job->runner, memory_order_relaxed) == job_caller();
}

bool vg_job_is_alone(const vigil_task *task)
{
    return (task->vg_flags & VG_FLAG_ALONE) != 0;
}

static bool job_claim(vg_job *job)
{
    const bool alone = vg_handles_alone(job);
    uint32_t state = atomic_load_explicit(vg_job_state(job), memory_order_relaxed);
    do {
        if ((state & VG_JOB_STATE_MASK) != VIGIL_JOB_QUEUED)
            return false;
        if (alone) { /* no other can claim it */
            atomic_store_explicit(vg_job_state(job), (state & ~VG_JOB_STATE_MASK) | VIGIL_JOB_RUNNING,
                                  memory_order_relaxed);
            break;
        }
        /* relaxed: the job's fields came with the queue entry or the handle */
    } while (!atomic_compare_exchange_weak_explicit(vg_job_state(job), &state,
                                                    (state & ~VG_JOB_STATE_MASK) | VIGIL_JOB_RUNNING,
                                                    memory_order_relaxed, memory_order_relaxed));
    if (alone && (state & VG_JOB_WATCHED) == 0) { /* nobody asks who runs it, or how it ended */
        job->task.vg_flags |= VG_FLAG_ALONE;      /* nobody else reads them: the claimer has taken it from the queue */
        return true;
    }
    vg_worker *worker = vg_current_worker;
    atomic_store_explicit(&job->runner, job_caller(), memory_order_relaxed);
    if (worker != NULL) {
        job->outer = worker->job;
        worker->job = job;
    }
    return true;
}

bool vg_job_claim(vigil_task *task)
{
    return job_claim(vg_job_of(task));
}

static void job_wake_workers(vigil_pool *pool, const vg_job *job)
{
    for (unsigned i = 0; (i = vg_seat_next(pool, i)) < VG_MAX_SEATS; i++) {
        vg_seat *seat = vg_seat_at(pool, i);
        if (atomic_load_explicit(&seat->waiting_on, memory_order_relaxed) == (uintptr_t)job)
            vg_unpark(seat);
    }
}

void vg_job_due(vigil_pool *pool, vigil_task *task)
{
    vg_job *job = vg_job_of(task);
    /* H5 release: the stamp is written; pairs with H6 */
    atomic_store_explicit(&job->due, 1, memory_order_release);
    /* H7 full fence: due before the waiters are looked for; pairs with H8 */
    atomic_thread_fence(memory_order_seq_cst);
    if ((atomic_load_explicit(vg_job_state(job), memory_order_relaxed) & VG_JOB_WAIT_WORKER) != 0)
        job_wake_workers(pool, job); /* one of them runs it, whatever is queued before it */
    if (__builtin_expect(atomic_load_explicit(&pool->urgent_count, memory_order_relaxed) != 0, 0))
        vg_urgent_call(pool);
}

void vg_job_finish(vigil_pool *pool, vigil_task *task, int status, bool cancelled)
{
    vg_job *job = vg_job_of(task);
    if (vg_job_is_alone(task)) {
        atomic_store_explicit(vg_job_state(job), cancelled ? VIGIL_JOB_CANCELLED : VIGIL_JOB_DONE,
                              memory_order_relaxed); /* the next holder has it with the slot */
        return;
    }
    if (vg_current_worker != NULL)
        vg_current_worker->job = job->outer; /* the thread that claims a job ends it, and jobs on a stack are nested */
    vg_job_settle(pool, job, status, cancelled);
}

void vg_job_settle(vigil_pool *pool, vg_job *job, int status, bool cancelled)
{
    const uint32_t ended = cancelled ? VIGIL_JOB_CANCELLED : VIGIL_JOB_DONE;
    uint32_t before;
    job->status = status;
    if (vg_handles_alone(job)) { /* nobody waits, or will: only a watch may be there */
        before = atomic_load_explicit(vg_job_state(job), memory_order_relaxed) & VG_JOB_WATCHED;
        atomic_store_explicit(vg_job_state(job), ended, memory_order_relaxed);
    } else {
        /* H1 release: the waiter sees the job's effects and status; pairs with H2. acquire: seats with
           VG_JOB_WAIT_WORKER name their job; pairs with H3. */
        before = atomic_exchange_explicit(vg_job_state(job), ended, memory_order_acq_rel);
    }
    if ((before & VG_JOB_WAIT_OUTSIDE) != 0)
        (void)vg_futex_wake(vg_job_state(job), VG_WAKE_ALL);
    if ((before & VG_JOB_WAIT_WORKER) != 0)
        job_wake_workers(pool, job);
    if (__builtin_expect((before & VG_JOB_WATCHED) != 0, 0))
        vg_job_watches_call(pool, job);
}

void vg_job_leave_queue(vigil_pool *pool, vigil_task *task)
{
    vg_worker *worker = vg_worker_of(pool);
    if (worker != NULL)
        vg_handles_release_into(&pool->jobs, vg_job_of(task), &worker->free_jobs);
    else
        (void)vg_handles_release(&pool->jobs, vg_job_of(task));
}

void vg_job_husk(vigil_pool *pool, vigil_task *task)
{
    const unsigned class_ = task->vg_class;
    vg_worker *worker = vg_worker_of(pool);
    (void)atomic_fetch_sub_explicit(&pool->husks_waiting[class_], 1, memory_order_relaxed); /* a hint for sweeps */
    if (worker != NULL)
        vg_count_release(&worker->seat.counts->of[class_].husks, 1);
    else /* relaxed: the injector's lists (J11), where the husk was, show our call to the audit */
        (void)atomic_fetch_add_explicit(&vg_stripe_of_caller(pool)->counts->husks[class_], 1, memory_order_relaxed);
    vg_job_leave_queue(pool, task);
}

static void count_husk_made(vigil_pool *pool, unsigned class_)
{
    vg_worker *worker = vg_worker_of(pool);
    (void)atomic_fetch_add_explicit(&pool->husks_waiting[class_], 1, memory_order_relaxed); /* a hint for sweeps */
    if (worker != NULL)
        vg_count_release(&worker->seat.counts->of[class_].husks_made, 1);
    else /* release, as vg_count_release: an audit that sees it sees our call */
        (void)atomic_fetch_add_explicit(&vg_stripe_of_caller(pool)->counts->husks_made[class_], 1,
                                        memory_order_release);
}

bool vg_job_is_husk(const vigil_task *task)
{
    /* relaxed: a job never returns to QUEUED while it has an entry, and only its own fields are read */
    return (atomic_load_explicit(&task->vg_state, memory_order_relaxed) & VG_JOB_STATE_MASK) != VIGIL_JOB_QUEUED;
}

static bool task_is_husk(const vigil_task *task)
{
    return task->vg_kind == VG_KIND_JOB && vg_job_is_husk(task);
}

/* A husk was made. O(1) amortised: a sweep past n tasks removes at least n/2 husks. */
static void sweep_if_many(vigil_pool *pool, unsigned class_)
{
    vg_injector *injector = &pool->injectors[class_];
    /* All counts relaxed: they only decide whether to sweep. */
    int64_t waiting = atomic_load_explicit(&pool->husks_waiting[class_], memory_order_relaxed);
    int64_t kept = atomic_load_explicit(&pool->husks_kept[class_], memory_order_relaxed);
    if (waiting < kept) {
        kept = waiting > 0 ? waiting : 0;
        atomic_store_explicit(&pool->husks_kept[class_], kept, memory_order_relaxed);
    }
    uint64_t others = atomic_load_explicit(&injector->pending_count, memory_order_relaxed);
    if (waiting - kept < JOB_HUSKS_MANY || (uint64_t)(waiting - kept) < others / 2)
        return;
    vigil_task *husks = NULL;
    if (!vg_injector_sweep(injector, task_is_husk, &husks))
        return; /* the mover drops husks itself; the next husk asks again */
    /* full: the lists were let go (J11) before the look; pairs with A of the submitter and C of the worker that
       left them to us (as in audit.c) */
    atomic_thread_fence(memory_order_seq_cst);
    if (vg_injector_visible(injector))
        vg_announce(pool, class_);
    while (husks != NULL) {
        vigil_task *husk = husks;
        husks = husk->vg_next;
        (void)vg_drop_husk(pool, husk);
    }
    waiting = atomic_load_explicit(&pool->husks_waiting[class_], memory_order_relaxed);
    atomic_store_explicit(&pool->husks_kept[class_], waiting > 0 ? waiting : 0, memory_order_relaxed);
}

vg_job *vg_job_make(vigil_pool *pool, uint32_t references, uint64_t *name)
{
    vg_job *job = vg_handles_alloc(&pool->jobs, references, name);
    if (job == NULL)
        return NULL;
    vigil_task_init(&job->task, NULL, NULL); /* vg_job_set, or the member, follows */
    job->task.vg_kind = VG_KIND_JOB;
    job->kind = VG_JOB_CALL;
    job->status = 0;
    job->watches = NULL;
    atomic_store_explicit(&job->runner, 0, memory_order_relaxed);
    atomic_store_explicit(&job->due, 0, memory_order_relaxed);
    atomic_store_explicit(vg_job_state(job), VIGIL_JOB_QUEUED, memory_order_relaxed);
    return job;
}

int vg_job_options(vigil_job_options *taken, const vigil_job_options *options)
{
    int error = 0;
    if (options != NULL)
        error = vg_options_take(taken, sizeof *taken, options, options->size,
                                offsetof(vigil_job_options, priority) + sizeof taken->priority, "options");
    if (error != 0)
        return error;
    if ((unsigned)taken->priority >= VG_CLASSES)
        return vg_why_say(-EINVAL, "options->priority is %d; it must be VIGIL_CRITICAL (0) to VIGIL_IDLE (4)",
                          (int)taken->priority);
    if (taken->delay_ns < 0)
        return vg_why_say(-EINVAL, "options->delay_ns is %lld; a delay is 0 or more", (long long)taken->delay_ns);
    return 0;
}

void vg_job_set(vg_job *job, int (*fn)(void *arg), void *arg, const vigil_job_options *with)
{
    job->task.cancel = (vigil_task_cancel_fn)(void (*)(void))fn;
    job->cancel = with->cancel;
    vg_job_set_arg(job, arg);
}

int vigil_job_call(vigil_pool *pool, int (*fn)(void *arg), void *arg, const vigil_job_options *options,
                   vigil_job *handle)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    vigil_job_options taken = VIGIL_JOB_OPTIONS_INIT;
    const vigil_job_options *with = &taken;
    if (handle == NULL || fn == NULL)
        return fn == NULL ? VG_WHY_NULL("fn") : VG_WHY_NULL("job");
    error = vg_job_options(&taken, options);
    if (error != 0)
        return error;
    uint64_t name = 0;
    vg_job *job = vg_job_make(pool, 2, &name); /* the user's and the queue's */
    if (job == NULL)
        return -ENOMEM;
    vg_job_set(job, fn, arg, with);
    atomic_store_explicit(&job->due, with->delay_ns == 0, memory_order_relaxed);
    error = with->delay_ns > 0 ? vg_submit_delayed(pool, &job->task, (unsigned)with->priority, with->delay_ns)
                               : vg_submit_one(pool, &job->task, (unsigned)with->priority);
    if (error != 0) {
        (void)vg_handles_release(&pool->jobs, job);
        (void)vg_handles_release(&pool->jobs, job);
        return error;
    }
    handle->id = name;
    return 0;
}

int vg_job_acquire(vigil_pool *pool, vigil_job handle, vg_job **job)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    *job = vg_handles_acquire(&pool->jobs, handle.id);
    return *job != NULL ? 0 : -ESTALE;
}

bool vg_job_ended(vg_job *job)
{
    /* H2 acquire: pairs with H1 */
    return (atomic_load_explicit(vg_job_state(job), memory_order_acquire) & VG_JOB_STATE_MASK) >= VIGIL_JOB_DONE;
}

static int job_sleep_until_ended(vg_job *job, uint64_t deadline_ns)
{
    bool in_time = true;
    for (;;) {
        uint32_t state = atomic_load_explicit(vg_job_state(job), memory_order_acquire); /* H2 */
        if ((state & VG_JOB_STATE_MASK) >= VIGIL_JOB_DONE)
            return 0;
        if (!in_time)
            return -ETIMEDOUT;
        if ((state & VG_JOB_WAIT_OUTSIDE) == 0) {
            /* relaxed: the thread that ends the job reads the flag from the same word */
            if (!atomic_compare_exchange_weak_explicit(vg_job_state(job), &state, state | VG_JOB_WAIT_OUTSIDE,
                                                       memory_order_relaxed, memory_order_relaxed))
                continue;
            state |= VG_JOB_WAIT_OUTSIDE;
        }
        in_time = vg_futex_wait(vg_job_state(job), state, deadline_ns) == 0;
    }
}

static int job_wait_outside(vigil_pool *pool, vg_job *job, uint64_t deadline_ns, const void *where)
{
    vg_worker *worker = vg_worker_elsewhere();
    if (worker != NULL)
        return vg_job_wait_elsewhere(worker, pool, job, deadline_ns, where);
    const vg_waiting waiting = vg_trace_wait(pool, NULL, VG_WAIT_JOB, vg_handles_name(job), where);
    const int error = job_sleep_until_ended(job, deadline_ns);
    vg_trace_waited(pool, &waiting);
    return error;
}

typedef struct job_wait {
    vg_job *job;
    uint64_t number; /* of the wait */
} job_wait;

bool vg_job_may_be_run(vg_job *job)
{
    /* H6 acquire: the stamp that the timer thread wrote; pairs with H5 */
    return atomic_load_explicit(&job->due, memory_order_acquire) != 0 &&
           (atomic_load_explicit(vg_job_state(job), memory_order_relaxed) & VG_JOB_STATE_MASK) == VIGIL_JOB_QUEUED;
}

/* Also over when the job has become due: then it is run here. */
static bool job_is_over(vg_worker *worker, void *arg)
{
    const job_wait *it = arg;
    return vg_job_ended(it->job) || vg_wait_rejected(worker, it->number) || vg_job_may_be_run(it->job);
}

bool vg_job_run_here(vg_worker *worker, vg_job *job)
{
    vigil_pool *pool = worker->pool;
    if (!vg_job_may_be_run(job))
        return false;
    vg_handling(worker, 1); /* for the audit: until the start is counted, entry and counters disagree */
    if (!job_claim(job)) {
        vg_handling(worker, 0);
        return false;
    }
    const unsigned class_ = job->task.vg_class;
    count_husk_made(pool, class_);
    if (vg_must_discard(pool, &job->task))
        vg_discard_claimed(pool, &job->task);
    else
        vg_run_awaited(worker, &job->task);
    vg_handling(worker, 1); /* likewise for husks between queue and count */
    sweep_if_many(pool, class_);
    vg_handling(worker, 0);
    return true;
}

static int job_sleep_on_worker(vg_worker *worker, vg_job *job, uint64_t deadline_ns, const void *where)
{
    vigil_pool *pool = worker->pool;
    const uintptr_t outer = atomic_load_explicit(&worker->seat.waiting_on, memory_order_relaxed);
    atomic_store_explicit(&worker->seat.waiting_on, (uintptr_t)job, memory_order_relaxed);
    /* H3 release: the thread that ends the job sees what the seat waits for; pairs with H1's acquire */
    (void)atomic_fetch_or_explicit(vg_job_state(job), VG_JOB_WAIT_WORKER, memory_order_release);
    /* H8 full fence: the flag and the seat before the look at due; pairs with H7 */
    atomic_thread_fence(memory_order_seq_cst);
    job_wait it = {.job = job};
    it.number = vg_wait_note_begin(worker, VG_WAITS_JOB, job, vg_job_function(&job->task), deadline_ns, NULL);
    const vg_wait wait = {.over = job_is_over, .arg = &it, .deadline_ns = deadline_ns};
    const vg_waiting waiting = vg_trace_wait(pool, worker, VG_WAIT_JOB, vg_handles_name(job), where);
    int error = vg_wait_by_rule(worker, &wait, false);
    vg_trace_waited(pool, &waiting);
    if (error == 0 && vg_wait_rejected(worker, it.number) && !vg_job_ended(job))
        error = -EDEADLK; /* part of a circle */
    vg_wait_note_end(worker);
    atomic_store_explicit(&worker->seat.waiting_on, outer, memory_order_relaxed);
    if (outer != 0)
        vg_unpark(&worker->seat); /* the outer job's end may have woken us while we waited for the inner one */
    return error;
}

static int job_wait_on_worker(vg_worker *worker, vg_job *job, uint64_t deadline_ns, const void *where)
{
    int error = 0;
    while (error == 0 && !vg_job_ended(job))
        if (!vg_job_run_here(worker, job))
            error = job_sleep_on_worker(worker, job, deadline_ns, where);
    return error;
}

int vigil_job_wait(vigil_pool *pool, vigil_job handle, int64_t timeout_ns, int *status)
{
    vg_job *job = NULL;
    int error = vg_job_acquire(pool, handle, &job);
    if (error != 0)
        return error;
    const uint64_t deadline = vg_deadline_after(timeout_ns);
    vg_worker *worker = vg_worker_of(pool);
    if (!vg_job_ended(job) && vg_job_runs_here(job))
        error = -EDEADLK;
    else if (!vg_job_ended(job))
        error = worker != NULL ? job_wait_on_worker(worker, job, deadline, __builtin_return_address(0))
                               : job_wait_outside(pool, job, deadline, __builtin_return_address(0));
    if (error == 0 && status != NULL)
        *status = job->status;
    (void)vg_handles_release(&pool->jobs, job);
    return error;
}

int vigil_job_poll(vigil_pool *pool, vigil_job handle, int *status)
{
    vg_job *job = NULL;
    int error = vg_job_acquire(pool, handle, &job);
    if (error != 0)
        return error;
    uint32_t state = atomic_load_explicit(vg_job_state(job), memory_order_acquire) & VG_JOB_STATE_MASK; /* H2 */
    if (state >= VIGIL_JOB_DONE && status != NULL)
        *status = job->status;
    (void)vg_handles_release(&pool->jobs, job);
    return (int)state;
}

int vigil_job_cancel(vigil_pool *pool, vigil_job handle)
{
    vg_job *job = NULL;
    int error = vg_job_acquire(pool, handle, &job);
    if (error != 0)
        return error;
    vg_stripe *call = vg_visit_begin(pool);
    if (job_claim(job)) {
        count_husk_made(pool, job->task.vg_class);
        vg_discard_claimed(pool, &job->task);
        sweep_if_many(pool, job->task.vg_class);
    } else {
        error = -EBUSY;
    }
    vg_visit_end(call);
    (void)vg_handles_release(&pool->jobs, job);
    return error;
}

int vigil_job_unref(vigil_pool *pool, vigil_job handle)
{
    const int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    return vg_handles_unname(&pool->jobs, handle.id) ? 0 : -ESTALE;
}
