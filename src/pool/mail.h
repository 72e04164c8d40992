/* SPDX-License-Identifier: MIT */
/*
 * mail.h - tasks for one worker alone.
 */
#ifndef VG_POOL_MAIL_H
#define VG_POOL_MAIL_H

#include "pool_struct.h"

/* Push a task to the mailbox and wake its worker. 0; -ESHUTDOWN; -ENOENT: no thread. */
int vg_mail_push(vigil_pool *pool, vg_seat *seat, vigil_task *task);

/* Sort what has arrived by class, oldest first. */
void vg_mail_collect(vg_worker *worker);

/* The oldest task of the class for this worker alone, or NULL. */
vigil_task *vg_mail_next(vg_worker *worker, unsigned class_);

#endif
