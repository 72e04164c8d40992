/* SPDX-License-Identifier: MIT */
/*
 * format_past.h - what a busy worker did, in the file. Its ring of events remembers milliseconds; these steps remember
 * the last minute.
 */
#ifndef VG_RECORD_FORMAT_PAST_H
#define VG_RECORD_FORMAT_PAST_H

#include "cell.h"
#include "format_base.h"

#define VG_PAST_UNKNOWN UINT64_MAX

/* One step, about half a second after the one before. Writer: the worker's thread (vg_entry_put). */
typedef struct vg_file_past {
    vg_cell writes;                    /* odd during a change; 0: empty */
    uint64_t ticks;                    /* when it was written */
    uint64_t run, blocked;             /* ticks of the worker in these states, since its start */
    uint64_t started[VG_FILE_CLASSES]; /* tasks of the worker, since its start */
    uint64_t queued[VG_FILE_CLASSES];  /* of the whole pool, at that moment; VG_PAST_UNKNOWN: see another worker */
    uint64_t wait[VG_FILE_CLASSES];    /* ticks that one in a hundred of the step's tasks waited at least; 0: none */
} vg_file_past;

#endif
