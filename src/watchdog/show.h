/* SPDX-License-Identifier: MIT */
/*
 * show.h - stacks as text.
 */
#ifndef VG_WATCHDOG_SHOW_H
#define VG_WATCHDOG_SHOW_H

#include "judge.h"

/* The stacks of the finding's threads, into verdict.stacks. */
void vg_show_stacks(vg_finding *finding);

#endif
