/* SPDX-License-Identifier: MIT */
#include "kinds.h"

#include <vigil/loop.h>
#include <vigil/watchdog.h>

const char *class_name(unsigned priority)
{
    static const char *const names[] = {"CRITICAL", "HIGH", "NORMAL", "LOW", "IDLE"};
    return priority < sizeof names / sizeof names[0] ? names[priority] : "?";
}

const char *stall_name(unsigned kind)
{
    return vigil_stall_name((vigil_stall)kind);
}

const char *stall_page(unsigned kind)
{
    static const char *const names[VIGIL_STALLS] = {
        [VIGIL_STALL_LOST_WAKEUP] = "lost-wakeup",
        [VIGIL_STALL_ALL_BLOCKED] = "all-blocked",
        [VIGIL_STALL_HOG] = "hog",
        [VIGIL_STALL_WAIT_CYCLE] = "wait-cycle",
        [VIGIL_STALL_STARVED_CLASS] = "starved-class",
        [VIGIL_STALL_LOST_TASK] = "lost-task",
        [VIGIL_STALL_GROWING_QUEUE] = "growing-queue",
        [VIGIL_STALL_LOOP_BLOCKED] = "loop-blocked",
        [VIGIL_STALL_NO_CPU] = "no-cpu",
        [VIGIL_STALL_FROZEN_WORKER] = "frozen-worker",
        [VIGIL_STALL_DRIFT] = "drift",
        [VIGIL_STALL_LOOP_SPINS] = "loop-spins",
        [VIGIL_STALL_THREAD_GONE] = "thread-gone",
        [VIGIL_STALL_OLD_WAIT] = "old-wait",
    };
    return kind < VIGIL_STALLS ? names[kind] : NULL;
}

const char *severity_name(unsigned severity)
{
    return vigil_severity_name((vigil_severity)severity);
}

const char *recovery_name(unsigned kind)
{
    switch (kind) {
    case VIGIL_RECOVER_REWAKE:
        return "wake again";
    case VIGIL_RECOVER_SPARE:
        return "spare worker";
    case VIGIL_RECOVER_REJECT:
        return "reject a wait";
    case VIGIL_RECOVER_CALL:
        return "user's hook";
    default:
        return "?";
    }
}

const char *level_name(unsigned level)
{
    static const char *const names[] = {"default", "off", "counters", "events"};
    return level < sizeof names / sizeof names[0] ? names[level] : "?";
}

uint64_t loop_callbacks(const vg_loop_view *loop, unsigned phase)
{
    switch (phase) {
    case VIGIL_PHASE_INTERNAL:
        return loop->internal_run;
    case VIGIL_PHASE_POSTS:
        return loop->posts_run;
    case VIGIL_PHASE_TIMERS:
        return loop->timers_fired;
    case VIGIL_PHASE_PREPARE:
        return loop->prepares_run;
    case VIGIL_PHASE_IO:
        return loop->fd_events + loop->signals_delivered + loop->children_reaped;
    case VIGIL_PHASE_CHECK:
        return loop->checks_run;
    case VIGIL_PHASE_IMMEDIATES:
        return loop->immediates_run;
    case VIGIL_PHASE_CLOSE:
        return loop->closes_run;
    default:
        return 0;
    }
}
