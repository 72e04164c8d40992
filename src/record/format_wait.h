/* SPDX-License-Identifier: MIT */
/*
 * format_wait.h - waits and state histories, in the file.
 */
#ifndef VG_RECORD_FORMAT_WAIT_H
#define VG_RECORD_FORMAT_WAIT_H

#include "cell.h"
#include "format_base.h"

typedef enum vg_wait_kind {
    VG_WAIT_NONE = 0,
    VG_WAIT_WORK,     /* parked: nothing to do */
    VG_WAIT_DECLARED, /* inside vigil_blocking_begin/end; where: who called it */
    VG_WAIT_GROUP,    /* vigil_group_wait; on: the group's address */
    VG_WAIT_JOB,      /* vigil_job_wait; on: the job's id */
    VG_WAIT_IDLE,     /* vigil_pool_wait_idle or stop; on: the pool's serial */
    VG_WAIT_ROOM,     /* a full queue; on: the pool's serial */
    VG_WAIT_EVENTS,   /* a loop asleep; on: its serial */
    VG_WAIT_LOCK,     /* a mutex or rwlock; on: its word that names the holder */
    VG_WAIT_SIGNAL,   /* condition, semaphore, latch, barrier, once; on: its address, as in the next */
    VG_WAIT_CHANNEL,  /* something to receive, or a place to send */
    VG_WAIT_PROMISE,  /* a promise of another thread's loop; on: the loop's serial */
    VG_WAIT_KINDS
} vg_wait_kind;

/* What a thread waits for. `writes` is odd during a change; the end of the wait only clears kind. */
typedef struct vg_file_wait {
    vg_cell writes;
    vg_cell kind;  /* vg_wait_kind */
    vg_cell on;    /* see there */
    vg_cell where; /* return address of the waiting call; 0: unknown */
    vg_cell since; /* ticks */
} vg_file_wait;

/* A change of state. Entry number `changes` may be in the making: the oldest valid one is changes - VG_FILE_HISTORY
   + 1. */
typedef struct vg_file_change {
    vg_cell since, state;
} vg_file_change;

#endif
