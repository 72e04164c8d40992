/* SPDX-License-Identifier: MIT */
/*
 * ring_copy.h - events and waits of this process's rings, for the watchdog.
 */
#ifndef VG_RECORD_RING_COPY_H
#define VG_RECORD_RING_COPY_H

#include "format.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct vg_ring_copy {
    unsigned next;    /* place of the directory to continue at; 0 to begin */
    vg_event *events; /* oldest first; freed by vg_ring_copy_end */
    size_t count, room;
    bool complete; /* nothing has been overwritten yet */
    int thread;
    uint64_t owner; /* serial of the pool or loop; 0: none */
} vg_ring_copy;

/* Copy the next ring; start with a zeroed copy. The caller holds the recorder. False: none, or no memory. */
bool vg_ring_copy_next(vg_ring_copy *copy);
void vg_ring_copy_end(vg_ring_copy *copy);

typedef struct vg_ring_wait {
    int thread;
    vg_wait_kind kind;
    uint64_t on;       /* see vg_wait_kind */
    uint64_t since_ns; /* how long ago it began */
} vg_ring_wait;

/* Waits of threads that are no workers; returns how many. The caller holds the recorder. */
unsigned vg_ring_waits(vg_ring_wait *waits, unsigned room);

#endif
