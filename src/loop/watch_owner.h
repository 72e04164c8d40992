/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_WATCH_OWNER_H
#define VG_LOOP_WATCH_OWNER_H

#include "struct.h"

void vg_watch_collect(vigil_loop *loop);
void vg_watch_run(vigil_loop *loop);
void vg_watch_drop_all(vigil_loop *loop);
void vg_watch_bury(vigil_loop *loop); /* take over the list of the dead: dead_now */
void vg_watch_free_dead(vigil_loop *loop, vg_watch *watch);
void vg_watch_heal(vigil_loop *loop, int error);
int vg_watch_after_fork(vigil_loop *loop);

#endif
