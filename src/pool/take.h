/* SPDX-License-Identifier: MIT */
/*
 * take.h - how a worker chooses its next task. See take.c.
 */
#ifndef VG_POOL_TAKE_H
#define VG_POOL_TAKE_H

#include "internal.h"

/* The oldest task of the class that only this worker may run, or NULL. */
vigil_task *vg_mail_next(vg_worker *worker, unsigned class_);

#endif
