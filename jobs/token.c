/* SPDX-License-Identifier: MIT */
/*
 * token.c - the token of a run, made when somebody asks for it, and how a run is told to stop.
 *
 * A stopping thread says so and then looks for a source. A thread that makes the source puts it there and then looks
 * whether the run is to stop. One of the two sees the other, and aborts the token.
 */
#include "token.h"

bool vg_jobs_token_stop(struct vg_jobs_run *run, int status, vigil_cancel_source **source)
{
    int none = 0;
    *source = NULL;
    /* seq_cst: before the look at the source; pairs with the exchange and the look in vigil_jobs_token */
    if (!atomic_compare_exchange_strong_explicit(&run->aborted, &none, status, memory_order_seq_cst,
                                                 memory_order_relaxed)) /* relaxed: nothing is done then */
        return false;
    *source = atomic_load_explicit(&run->source, memory_order_seq_cst);
    return true;
}

void vg_jobs_run_abort(struct vg_jobs_run *run, int status, const char *text)
{
    vigil_cancel_source *source;
    if (vg_jobs_token_stop(run, status, &source) && source != NULL)
        (void)vigil_cancel_abort(source, status, text);
}

vigil_cancel_token *vigil_jobs_token(vigil_jobs_run *seen)
{
    if (seen == NULL)
        return NULL;
    struct vg_jobs_run *run = (struct vg_jobs_run *)(void *)seen;
    /* acquire: pairs with the exchange below, by another thread */
    vigil_cancel_source *source = atomic_load_explicit(&run->source, memory_order_acquire);
    if (source == NULL) {
        vigil_cancel_source *made;
        if (vigil_cancel_create(&made) != 0)
            return NULL;
        /* seq_cst: the source before the look at aborted; pairs with vg_jobs_token_stop */
        if (atomic_compare_exchange_strong_explicit(&run->source, &source, made, memory_order_seq_cst,
                                                    memory_order_seq_cst))
            source = made;
        else
            vigil_cancel_destroy(made);
        int aborted = atomic_load_explicit(&run->aborted, memory_order_seq_cst);
        if (aborted != 0)
            (void)vigil_cancel_abort(source, aborted, NULL);
    }
    return vigil_cancel_token_of(source);
}
