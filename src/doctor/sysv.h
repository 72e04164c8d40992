/* SPDX-License-Identifier: MIT */
/* sysv.h - System V semaphores: which one a thread waits for, and who has changed it last. */
#ifndef VG_DOCTOR_SYSV_H
#define VG_DOCTOR_SYSV_H

#include "exam.h"

/* The semaphore that thread->call (semop, semtimedop) waits for, into `text`. It has no owner: the last process that
   changed it is all that the kernel keeps. false: it cannot be known. */
bool vg_sysv_semaphore(const vg_exam *exam, const vg_exam_thread *thread, char *text, size_t room);

#endif
