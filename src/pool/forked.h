/* SPDX-License-Identifier: MIT */
/*
 * forked.h - the child of a task is not a worker.
 */
#ifndef VG_POOL_FORKED_H
#define VG_POOL_FORKED_H

/* From here on a fork clears what the calling thread knows of its worker, in the child. Any thread, any number of
   times. */
void vg_forked_watch(void);

/* The same for the calling thread alone: after _Fork or clone, which run no handlers. */
void vg_forked_forget(void);

/* The child of a fork has returned from the task that it was forked in. There is no worker to go on with: the process
   ends. */
_Noreturn void vg_forked_end(int status);

#endif
