/* SPDX-License-Identifier: MIT */
/* fence_in.h - limits for the child that parses the patient's files. */
#ifndef VG_DOCTOR_FENCE_IN_H
#define VG_DOCTOR_FENCE_IN_H

/* From now on this process opens no file and no socket, starts no program, traces and signals nobody, and has limits of
   time and memory. */
void vg_fence_in(void);

#endif
