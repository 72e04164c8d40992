/* SPDX-License-Identifier: MIT */
/*
 * checked.h - the recorder's level in a scenario of the checker.
 */
#ifndef VG_RECORD_CHECKED_H
#define VG_RECORD_CHECKED_H

#include <vigil/record.h>

extern vigil_record_level vg_checked_level; /* off at first. There are no rings: events are made and dropped */

#endif
