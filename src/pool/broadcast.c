/* SPDX-License-Identifier: MIT */
/*
 * broadcast.c - a call on every worker. Each gets it as mail; the last to end settles a job that is in no queue.
 */
#include "base/raise.h"
#include "job.h"
#include "job_struct.h"
#include "refuse.h"
#include "run.h"
#include "seats.h"
#include "submit.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <vigil/flow.h>

typedef struct broadcast_piece {
    vigil_task task; /* first */
    struct broadcast *of;
} broadcast_piece;

typedef struct broadcast {
    vigil_pool *pool;
    int (*fn)(void *arg, unsigned worker);
    void *arg;
    vg_job *job;           /* referenced; it runs from the beginning */
    _Atomic uint32_t left; /* pieces that have not ended, and the caller until all are sent */
    _Atomic int32_t status;
    broadcast_piece pieces[];
} broadcast;

static void broadcast_end_piece(broadcast *it, int status)
{
    int32_t none = 0;
    if (status < 0) /* relaxed: ordered by `left` */
        (void)atomic_compare_exchange_strong_explicit(&it->status, &none, status, memory_order_relaxed,
                                                      memory_order_relaxed);
    /* X1 acq_rel: the last one has seen what all the others did before it settles the job; pairs with itself */
    if (atomic_fetch_sub_explicit(&it->left, 1, memory_order_acq_rel) != 1)
        return;
    vigil_pool *pool = it->pool;
    vg_job_settle(pool, it->job, atomic_load_explicit(&it->status, memory_order_relaxed), false);
    (void)vg_handles_release(&pool->jobs, it->job);
    free(it);
}

static int broadcast_call_fn(void *arg)
{
    const broadcast *it = arg;
    return it->fn(it->arg, vg_current_worker->seat.index);
}

static int broadcast_run(vigil_task *task)
{
    broadcast *it = ((broadcast_piece *)(void *)task)->of;
    vg_raise_frame frame;
    bool raised;
    vg_raise_push(&frame);
    const int status = vg_raise_call(&frame, broadcast_call_fn, it, &raised);
    if (raised)
        vg_mark_raised();
    vg_raise_pop(&frame);
    broadcast_end_piece(it, status);
    return status;
}

static void broadcast_cancel(vigil_task *task)
{
    broadcast_end_piece(((broadcast_piece *)(void *)task)->of, -ECANCELED);
}

/* Send a piece to each worker. How many have got one; *error: of the last that has not. */
static unsigned broadcast_send(broadcast *it, unsigned workers, unsigned class_, int *error)
{
    unsigned sent = 0;
    for (unsigned i = 0; i < workers; i++) {
        vg_seat *seat = vg_seat_at(it->pool, i);
        broadcast_piece *piece = &it->pieces[i];
        piece->of = it;
        vigil_task_init(&piece->task, broadcast_run, broadcast_cancel);
        (void)vg_task_take(&piece->task);
        (void)atomic_fetch_add_explicit(&it->left, 1, memory_order_relaxed); /* sent with the piece (M1) */
        const int refused = seat == NULL ? -ENOENT : vg_submit_mail(it->pool, seat, &piece->task, class_, false);
        if (refused == 0) {
            sent++;
            continue;
        }
        (void)atomic_fetch_sub_explicit(&it->left, 1, memory_order_relaxed); /* not the last: we hold one */
        *error = refused;
    }
    return sent;
}

int vigil_pool_broadcast_call(vigil_pool *pool, int (*fn)(void *arg, unsigned worker), void *arg,
                              vigil_priority priority, vigil_job *job)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (fn == NULL || job == NULL)
        return fn == NULL ? VG_WHY_NULL("fn") : VG_WHY_NULL("job");
    if ((unsigned)priority >= VG_CLASSES)
        return vg_refuse_priority(priority);
    const unsigned workers = vigil_pool_workers(pool);
    uint64_t name = 0;
    broadcast *it = calloc(1, sizeof *it + workers * sizeof it->pieces[0]);
    if (it == NULL)
        return -ENOMEM;
    it->job = vg_job_make(pool, 2, &name); /* the user's and ours */
    if (it->job == NULL) {
        free(it);
        return -ENOMEM;
    }
    const vigil_job_options plain = VIGIL_JOB_OPTIONS_INIT;
    vg_job_set(it->job, (int (*)(void *))(void (*)(void))fn, arg, &plain);
    it->job->kind = VG_JOB_EVERYWHERE;
    it->job->everywhere = pool;
    atomic_store_explicit(vg_job_state(it->job), VIGIL_JOB_RUNNING, memory_order_relaxed);
    it->pool = pool;
    it->fn = fn;
    it->arg = arg;
    atomic_store_explicit(&it->left, 1, memory_order_relaxed);
    vg_job *kept = it->job;
    if (broadcast_send(it, workers, (unsigned)priority, &error) == 0) {
        (void)vg_handles_release(&pool->jobs, kept);
        (void)vg_handles_release(&pool->jobs, kept);
        free(it);
        return error == -ENOENT ? -ESHUTDOWN : error;
    }
    job->id = name;
    broadcast_end_piece(it, 0);
    return 0;
}
