/* SPDX-License-Identifier: MIT */
#include "my_thread.h"

#include "thread.h"

_Thread_local uint32_t vg_my_thread_number;

uint32_t vg_my_thread_learn(void)
{
#ifdef VIGIL_CHECK
    vg_my_thread_number = vg_thread_number(); /* the checker's threads are one thread of the system */
#else
    vg_my_thread_number = (uint32_t)vg_thread_id();
#endif
    return vg_my_thread_number;
}
