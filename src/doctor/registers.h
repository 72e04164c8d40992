/* SPDX-License-Identifier: MIT */
/* registers.h - the registers of threads that run: they are stopped for a moment each. Threads that sleep never are. */
#ifndef VG_DOCTOR_REGISTERS_H
#define VG_DOCTOR_REGISTERS_H

#include "exam.h"

enum {
    VG_SAMPLE_STACK = 1024 /* bytes above sp */
};

/* What a thread had in one moment. */
typedef struct vg_sample {
    uint64_t regs[17]; /* by their DWARF numbers */
    unsigned char floats[512];
    unsigned char stack[VG_SAMPLE_STACK];
    size_t stack_bytes;
    long call;           /* -1: none */
    uint64_t running_ns; /* during a stop: when the thread was last known to run; else 0 */
} vg_sample;

/* How a stop went. */
typedef enum vg_stop_end {
    VG_STOP_TAKEN,
    VG_STOP_NOTHING, /* it may not be stopped, has ended, or has begun to sleep; then its system call was begun again */
    VG_STOP_LATE,    /* it has not stopped in time. It is still traced: the caller must end */
} vg_stop_end;

/* In a child (child.h): read the registers of a thread that uses its processor and has not slept during the looks.
   The kernel ends the caller if it takes longer than 20 ms with a thread that may be stopped. *stopped_ns: how long it
   was stopped, at most; 0 if it was not. */
vg_stop_end vg_registers_take(const vg_exam *exam, const vg_exam_thread *thread, vg_sample *sample,
                              uint64_t *stopped_ns);

/* The last sample becomes what is known of the thread. */
void vg_registers_keep(vg_exam_thread *thread, const vg_sample *sample);

#endif
