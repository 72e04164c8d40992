/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_CHILDREN_H
#define VG_LOOP_CHILDREN_H

#include "struct.h"

void vg_children_drop(vigil_loop *loop);
void vg_children_close(vigil_loop *loop);
void vg_children_free(vigil_loop *loop);
void vg_children_after_fork(vigil_loop *loop);
uint32_t vg_children_list(const vigil_loop *loop, vigil_keeper *keepers, size_t room, uint64_t now);

#endif
