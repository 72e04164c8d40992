/* SPDX-License-Identifier: MIT */
/*
 * slots.h - the pool's blocks in the recorder.
 */
#ifndef VG_POOL_SLOTS_H
#define VG_POOL_SLOTS_H

#include "pool_struct.h"

int vg_slot_blocks_open(vigil_pool *pool, unsigned workers);  /* 0; -ENOMEM */
int vg_slot_blocks_cover(vigil_pool *pool, unsigned workers); /* a slot for each; under admin. 0; -ENOMEM */
vg_file_worker *vg_slot_of(vigil_pool *pool, unsigned index);
void vg_slot_blocks_show(vigil_pool *pool);
void vg_slot_blocks_close(vigil_pool *pool);
void vg_slot_begin(vg_worker *worker); /* on the worker's own thread */
void vg_slot_end(vg_worker *worker);
void vg_slot_begin_guest(vg_worker *worker); /* the same for a thread that keeps its own ring */
void vg_slot_end_guest(vg_worker *worker);

#endif
