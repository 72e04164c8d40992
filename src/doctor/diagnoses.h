/* SPDX-License-Identifier: MIT */
/* diagnoses.h - verdicts in words. */
#ifndef VG_DOCTOR_DIAGNOSES_H
#define VG_DOCTOR_DIAGNOSES_H

#include "exam.h"

/* "deadlock", "lost wakeup", ... */
const char *vg_diagnosis_name(vg_diagnosis_kind kind);
/* "mutex", "pipe", ... */
const char *vg_need_kind_name(vg_need_kind kind);

vg_diagnosis *vg_diagnose_add(vg_exam *exam, vg_diagnosis_kind kind, bool certain);

/* loose: that nobody can move is certain, but not who waits for whom. */
void vg_diagnose_circle(vg_exam *exam, const unsigned *circle, unsigned count, bool certain, bool loose);
void vg_diagnose_self(vg_exam *exam, unsigned thread);
void vg_diagnose_orphan(vg_exam *exam, unsigned thread);
void vg_diagnose_lost(vg_exam *exam, const unsigned *threads, unsigned count, unsigned more);

/* What single threads and the process show: locks held over a wait, convoys, spins, starvation, stops, the disk. */
void vg_diagnose_threads(vg_exam *exam);

#endif
