/* SPDX-License-Identifier: MIT */
/* locks.h - what a thread that sleeps in a futex waits for, and who holds it. */
#ifndef VG_DOCTOR_LOCKS_H
#define VG_DOCTOR_LOCKS_H

#include "exam.h"

/* Fill in thread->wait. The frames of its stack, if they are known, say what the word belongs to; else the words in
   memory do. */
void vg_locks_classify(vg_exam *exam, vg_exam_thread *thread);

/* Who holds the mutex that the thread waits for, now; 0: nobody, or it cannot be said. */
pid_t vg_locks_owner_now(const vg_exam *exam, const vg_exam_thread *thread);

/* Whether one of the innermost frames is a function of that name; underscores and pthread_ in front do not count. */
bool vg_locks_in(const vg_exam_thread *thread, const char *name);

#endif
