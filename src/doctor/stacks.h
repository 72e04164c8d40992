/* SPDX-License-Identifier: MIT */
/*
 * stacks.h - the stacks of all threads, with functions, files and lines.
 *
 * The patient's files are parsed by libdw, in a child process that may open nothing any more and has limits of time and
 * memory. It writes the frames into shared memory: if it is killed, what it has written until then remains.
 */
#ifndef VG_DOCTOR_STACKS_H
#define VG_DOCTOR_STACKS_H

#include "exam.h"

/* Fill in the frames of every thread whose sp is known. */
void vg_stacks_take(vg_exam *exam);

#endif
