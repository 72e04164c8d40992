/* SPDX-License-Identifier: MIT */
/*
 * contain.h - pthread_exit and cancellation end a task, not its worker.
 */
#ifndef VG_POOL_CONTAIN_H
#define VG_POOL_CONTAIN_H

#include "worker_struct.h"

/* Call body(worker). If user code in it ends the thread, its task, callback or hook is left as by
   vigil_raise(-ECANCELED). */
void vg_contained(void (*body)(vg_worker *worker), vg_worker *worker);

/* Call a hook of the pool's. */
void vg_contained_hook(vg_worker *worker, void (*hook)(void *user, unsigned worker), void *user);

#endif
