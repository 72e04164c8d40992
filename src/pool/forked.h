/* SPDX-License-Identifier: MIT */
/*
 * forked.h - the child of a task is not a worker.
 */
#ifndef VG_POOL_FORKED_H
#define VG_POOL_FORKED_H

/* From here on a fork clears what the calling thread knows of its worker, in the child. Any thread, any number of times. */
void vg_forked_watch(void);

/* The same for the calling thread alone: after _Fork or clone, which run no handlers. */
void vg_forked_forget(void);

#endif
