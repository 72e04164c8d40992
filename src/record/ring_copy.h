/* SPDX-License-Identifier: MIT */
/*
 * ring_copy.h - the event rings of this process, copied one after the other. For the watchdog.
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

/* Copy the next ring. Start with a zeroed copy. The caller holds the recorder. False: there is none, or no memory. */
bool vg_ring_copy_next(vg_ring_copy *copy);
void vg_ring_copy_end(vg_ring_copy *copy);

#endif
