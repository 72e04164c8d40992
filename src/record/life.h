/* SPDX-License-Identifier: MIT */
/*
 * life.h - the recorder begins with the first pool or loop and ends with the last.
 */
#ifndef VG_RECORD_LIFE_H
#define VG_RECORD_LIFE_H

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic uint32_t vg_record_epoch; /* of the present recorder; never 0 */

/* Begin and end to use the recorder. hold returns the level in force and never fails; release takes hold's *epoch. */
unsigned vg_record_hold(uint32_t *epoch);
void vg_record_release(uint32_t epoch);

/* ---- for the watchdog */

/* The header, also of anonymous memory; NULL: the recorder is off. The caller holds the recorder. */
struct vg_file_header *vg_record_header(void);
struct vg_file_verdict *vg_record_verdicts(void); /* VG_FILE_VERDICTS of them */
struct vg_file_act *vg_record_acts(void);         /* VG_FILE_ACTS of them */
/* Write both clocks into the header, and list new modules. */
void vg_record_mark(void);
/* Report to the user's log hook, if any. */
void vg_record_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
