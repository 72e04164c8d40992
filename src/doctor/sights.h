/* SPDX-License-Identifier: MIT */
/* sights.h - looks at the threads of a process through /proc: who ran in between, who sleeps in which call. */
#ifndef VG_DOCTOR_SIGHTS_H
#define VG_DOCTOR_SIGHTS_H

#include "exam.h"

/* Enter a process into the examination. Its index, or -1: it is gone, or there is no room. */
int vg_sight_add(vg_exam *exam, pid_t pid);

/* Look at every thread of one process. The first look decides which threads there are; later ones say who moved. */
void vg_sight_look(vg_exam *exam, unsigned process);

/* The thread whose own process calls it `tid`; -1: there is none. */
int vg_sight_thread(const vg_exam *exam, unsigned process, pid_t tid);

#endif
