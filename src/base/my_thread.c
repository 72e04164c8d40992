/* SPDX-License-Identifier: MIT */
#include "my_thread.h"

#include "thread.h"

__thread struct vigil_self vigil_self;

uint32_t vg_my_thread_learn(void)
{
#ifdef VIGIL_CHECK
    vigil_self.vg_number = vg_thread_number(); /* the checker's threads are one thread of the system */
#else
    vigil_self.vg_number = (uint32_t)vg_thread_id();
#endif
    return vigil_self.vg_number;
}
