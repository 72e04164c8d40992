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
    long call; /* -1: none */
} vg_sample;

/* Read the registers of a thread that uses its processor and has not slept during the looks. false: it may not be
   stopped, or has begun to sleep; then its system call was begun again. */
bool vg_registers_take(vg_exam *exam, vg_exam_thread *thread, vg_sample *sample);

#endif
