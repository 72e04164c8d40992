/* SPDX-License-Identifier: MIT */
/* waits.h - what a thread that sleeps waits for: by its system call. */
#ifndef VG_DOCTOR_WAITS_H
#define VG_DOCTOR_WAITS_H

#include "exam.h"
#include "peers.h"

/* Fill in thread->wait. Processes that could end the wait are entered into the examination. */
void vg_waits_classify(vg_exam *exam, vg_peers *peers, unsigned index);

/* Who has to answer a thread that sleeps in this function of the kernel: "the process of a FUSE file system". NULL:
   not known. */
const char *vg_waits_answerer(const char *where);

#endif
