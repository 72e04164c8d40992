/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_MICRO_H
#define VG_LOOP_MICRO_H

#include "struct.h"

void vg_checkpoint_slow(vigil_loop *loop);
static inline bool vg_checkpoint_due(const vigil_loop *loop)
{
    return loop->ticks.first != NULL || loop->microtasks.first != NULL || loop->upstairs_waits;
}

static inline void vg_checkpoint(vigil_loop *loop)
{
    if (vg_checkpoint_due(loop))
        vg_checkpoint_slow(loop);
}

#endif
