/* SPDX-License-Identifier: MIT */
/*
 * guarded.h - call user code with a landing for vigil_raise. Inline: a spawned child is called from vigil_group_wait
 * itself.
 */
#ifndef VG_POOL_GUARDED_H
#define VG_POOL_GUARDED_H

#include "base/raise.h"
#include "run.h"

static inline __attribute__((always_inline)) int vg_call_guarded(int (*fn)(void *arg), void *arg)
{
    vg_raise_frame frame;
    bool raised;
    vg_raise_push(&frame);
    int status = vg_raise_call(&frame, fn, arg, &raised);
    if (__builtin_expect(raised, 0))
        vg_mark_raised();
    vg_raise_pop(&frame);
    return status;
}

#ifdef VG_RAISE_LIBC
static inline int vg_run_for_raise(void *arg)
{
    vigil_task *task = arg;
    return task->run(task);
}
#endif

static inline __attribute__((always_inline)) int vg_run_guarded(vigil_task *task)
{
#ifdef VG_RAISE_LIBC
    return vg_call_guarded(vg_run_for_raise, task);
#else
    return vg_call_guarded((int (*)(void *))(void (*)(void))task->run, task); /* not a C call: any pointer will do */
#endif
}

#endif
