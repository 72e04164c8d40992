/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_HOOKS_H
#define VG_LOOP_HOOKS_H

#include "struct.h"

struct vg_hook {
    vg_registry_head head;
    uint32_t slot;
    bool alive;
    uint64_t number; /* they are in this order */
    vigil_hook_calls calls;
    void *arg;
    struct vg_hook *next;
};

void vg_hooks_prepare(vigil_loop *loop);
bool vg_hooks_recheck(vigil_loop *loop);
void vg_hooks_check(vigil_loop *loop);
void vg_hooks_sweep(vigil_loop *loop);

#endif
