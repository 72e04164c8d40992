/* SPDX-License-Identifier: MIT */
/*
 * verdict_file.h - verdicts and acts in the recorder's file. The watchdog's thread.
 */
#ifndef VG_WATCHDOG_VERDICT_FILE_H
#define VG_WATCHDOG_VERDICT_FILE_H

#include <vigil/watchdog.h>

/* begin and end enclose a look and hold the recorder. */
void vg_verdict_file_begin(uint64_t interval_ns);
void vg_verdict_file_end(void);
void vg_verdict_file_stop(void);
/* serial: the object's in the file; 0: the process. */
void vg_verdict_file_write(const vigil_verdict *verdict, uint64_t serial);
void vg_verdict_file_act(uint32_t kind, int result, uint64_t number, uint64_t serial, int worker, const char *text);

#endif
