/* SPDX-License-Identifier: MIT */
/*
 * watchdog.h - the watchdog's own state after a fork.
 */
#ifndef VG_WATCHDOG_WATCHDOG_H
#define VG_WATCHDOG_WATCHDOG_H

/* In the child of a fork, forget what was the parent's. Every public call begins with it. */
void vg_watchdog_adopt(void);

#endif
