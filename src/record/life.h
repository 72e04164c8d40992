/* SPDX-License-Identifier: MIT */
/*
 * life.h - the recorder comes with the first pool or loop, and goes with the last.
 */
#ifndef VG_RECORD_LIFE_H
#define VG_RECORD_LIFE_H

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic uint32_t vg_record_epoch; /* of the recorder that there is; changes when it comes and goes. Never 0 */

/* A pool, loop or other object begins and ends to use the recorder. hold gives the level that is in force
   (vigil_record_level); it makes the recorder if there is none, and never fails. release takes what hold returned in *epoch. */
unsigned vg_record_hold(uint32_t *epoch);
void vg_record_release(uint32_t epoch);

/* ---- for the watchdog */

/* The header of the recorder's file, or of the anonymous memory in its stead; NULL when the recorder is off. The caller holds
   the recorder. */
struct vg_file_header *vg_record_header(void);
struct vg_file_verdict *vg_record_verdicts(void); /* VG_FILE_VERDICTS of them */
struct vg_file_act *vg_record_acts(void);         /* VG_FILE_ACTS of them */
/* Write both clocks into the header, and look whether libraries have come. */
void vg_record_mark(void);
/* Say something to the user through the log hook, if there is one. */
void vg_record_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
