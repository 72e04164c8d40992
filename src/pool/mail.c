/* SPDX-License-Identifier: MIT */
/*
 * mail.c - tasks for one worker alone. Any thread pushes; the worker takes everything at once.
 */
#include "mail.h"

#include "idle.h"

#include <errno.h>
#include <stddef.h>

int vg_mail_push(vigil_pool *pool, vg_seat *seat, vigil_task *task)
{
    uintptr_t head = atomic_load_explicit(&seat->mailbox, memory_order_relaxed);
    do {
        if ((head & 1) != 0)
            return atomic_load_explicit(&pool->phase, memory_order_relaxed) != VG_OPEN ? -ESHUTDOWN : -ENOENT;
        task->vg_next = (vigil_task *)head;
        /* M1 release: the worker sees the task and its link; pairs with M2 */
    } while (!atomic_compare_exchange_weak_explicit(&seat->mailbox, &head, (uintptr_t)task, memory_order_release,
                                                    memory_order_relaxed));
    /* release: for the audit, as in count_submitted */
    (void)atomic_fetch_add_explicit(&seat->mail_pushed, 1, memory_order_release);
    /* E full fence: the mail is there before the worker's parked bit is read; pairs with C in vg_park */
    atomic_thread_fence(memory_order_seq_cst);
    if ((atomic_load_explicit(&pool->idle.parked[seat->index / VG_SEAT_BITS], memory_order_relaxed) >>
             (seat->index % VG_SEAT_BITS) &
         1) != 0)
        vg_unpark(seat);
    return 0;
}

void vg_mail_collect(vg_worker *worker)
{
    /* M2 acquire: tasks and links; pairs with M1. The closed bit stays. */
    uintptr_t head = atomic_fetch_and_explicit(&worker->seat.mailbox, 1U, memory_order_acquire);
    vigil_task *list = (vigil_task *)(head & ~(uintptr_t)1);
    vigil_task *oldest_first = NULL;
    while (list != NULL) {
        vigil_task *next = list->vg_next;
        list->vg_next = oldest_first;
        oldest_first = list;
        list = next;
    }
    while (oldest_first != NULL) {
        vigil_task *task = oldest_first;
        oldest_first = task->vg_next;
        task->vg_next = NULL;
        unsigned class_ = task->vg_class;
        if (worker->mail_last[class_] != NULL)
            worker->mail_last[class_]->vg_next = task;
        else
            worker->mail_first[class_] = task;
        worker->mail_last[class_] = task;
        worker->mail_ready |= 1U << class_;
    }
}

vigil_task *vg_mail_next(vg_worker *worker, unsigned class_)
{
    if (atomic_load_explicit(&worker->seat.mailbox, memory_order_relaxed) > 1)
        vg_mail_collect(worker);
    vigil_task *task = worker->mail_first[class_];
    if (task == NULL)
        return NULL;
    worker->mail_first[class_] = task->vg_next;
    if (task->vg_next == NULL) {
        worker->mail_last[class_] = NULL;
        worker->mail_ready &= ~(1U << class_);
    }
    /* An atomic add, because stop takes mail as well. release: an audit that sees the number sees that we handle
       the task */
    (void)atomic_fetch_add_explicit(&worker->seat.mail_taken, 1, memory_order_release);
    return task;
}
