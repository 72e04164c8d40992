/* SPDX-License-Identifier: MIT */
#include "guard.h"

_Thread_local uintptr_t vg_loop_self = VG_NOBODY;
_Thread_local vg_report_frame *vg_reports;

uintptr_t vg_loop_self_new(void)
{
    static _Atomic uintptr_t given = VG_NOBODY;
    vg_loop_self = atomic_fetch_add_explicit(&given, 1, memory_order_relaxed) + 1;
    return vg_loop_self;
}

int vg_guard_any_slow(const vigil_loop *loop)
{
    if (loop == NULL)
        return VG_WHY_NULL("loop");
    return vg_forked(&loop->guard) ? vg_why_forked() : 0;
}
