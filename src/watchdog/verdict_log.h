/* SPDX-License-Identifier: MIT */
/*
 * verdict_log.h - the last verdicts, for the process itself. The watchdog writes, anybody reads.
 */
#ifndef VG_WATCHDOG_VERDICT_LOG_H
#define VG_WATCHDOG_VERDICT_LOG_H

#include <vigil/watchdog.h>

#include <stdbool.h>

enum {
    VG_LOG = 64 /* verdicts that are remembered */
};

void vg_log_verdict(const vigil_verdict *verdict);
uint64_t vg_log_number(void); /* the next verdict's */
bool vg_log_find(uint64_t number, vigil_verdict *verdict);
void vg_log_after_fork(void);

#endif
