/* SPDX-License-Identifier: MIT */
#include "job_watch.h"

#include <stddef.h>

bool vg_job_watch_add(vg_job *job, struct vg_job_watch *watch)
{
    uint32_t state = atomic_load_explicit(vg_job_state(job), memory_order_relaxed);
    do {
        if ((state & VG_JOB_STATE_MASK) >= VIGIL_JOB_DONE) {
            /* H2 acquire: the caller goes on as after a wait; pairs with H1 */
            (void)atomic_load_explicit(vg_job_state(job), memory_order_acquire);
            return false;
        }
        /* relaxed: the thread that ends the job reads the flag from the same word, and the list under the lock */
    } while (!atomic_compare_exchange_weak_explicit(vg_job_state(job), &state, state | VG_JOB_WATCHED,
                                                    memory_order_relaxed, memory_order_relaxed));
    watch->next = job->watches;
    job->watches = watch;
    return true;
}

void vg_job_watch_remove(vg_job *job, struct vg_job_watch *watch)
{
    for (struct vg_job_watch **at = &job->watches; *at != NULL; at = &(*at)->next)
        if (*at == watch) {
            *at = watch->next;
            return;
        }
}

void vg_job_watches_call(vigil_pool *pool, vg_job *job)
{
    vg_mutex_lock(&pool->watch_lock);
    struct vg_job_watch *watch = job->watches;
    job->watches = NULL;
    while (watch != NULL) {
        struct vg_job_watch *next = watch->next; /* the call may end its life */
        watch->ended(watch);
        watch = next;
    }
    vg_mutex_unlock(&pool->watch_lock);
}
