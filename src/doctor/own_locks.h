/* SPDX-License-Identifier: MIT */
/* own_locks.h - locks and other waits of vigil/sync.h and vigil/channel.h. */
#ifndef VG_DOCTOR_OWN_LOCKS_H
#define VG_DOCTOR_OWN_LOCKS_H

#include "exam.h"

/* Fill in kind, address and text of thread->wait, if the futex word is that of a sleeper; *owner: the thread that holds
   it, 0: unknown. False: it is none. */
bool vg_own_lock(const vg_exam *exam, const vg_exam_thread *thread, vg_need *wait, pid_t *owner);

#endif
