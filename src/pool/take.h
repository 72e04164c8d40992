/* SPDX-License-Identifier: MIT */
/*
 * take.h - how a worker chooses its next task. See take.c.
 */
#ifndef VG_POOL_TAKE_H
#define VG_POOL_TAKE_H

#include "pool_struct.h"

vigil_task *vg_take(vg_worker *worker, unsigned *looked_at);
vigil_task *vg_take_above(vg_worker *worker, unsigned lowest); /* not of a lower class */

#endif
