/* SPDX-License-Identifier: MIT */
/*
 * checked.h - what a scenario of the checker can say about the recorder before it makes a pool or a loop.
 */
#ifndef VG_RECORD_CHECKED_H
#define VG_RECORD_CHECKED_H

#include <vigil/record.h>

extern vigil_record_level
    vg_checked_level; /* off at first. There are no rings: with EVENTS each event is made, and dropped. */

#endif
