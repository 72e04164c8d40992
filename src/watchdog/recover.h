/* SPDX-License-Identifier: MIT */
/*
 * recover.h - the few things that may be done about a stall.
 */
#ifndef VG_WATCHDOG_RECOVER_H
#define VG_WATCHDOG_RECOVER_H

#include "verdicts.h"

/* Do what the options allow about a finding and describe it in verdict->action. Returns the number of acts. */
unsigned vg_recover(const vigil_watchdog_options *options, vg_finding *finding, vg_standing *standing);
/* The finding still stands: repeat silently what may have come too early to be noticed. */
void vg_recover_again(const vigil_watchdog_options *options, const vg_finding *finding, const vg_standing *standing);
void vg_recover_end(vg_standing *standing); /* take back what was lent */

#endif
