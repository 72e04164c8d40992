/* SPDX-License-Identifier: MIT */
/* unwinding.h - walks stacks with libdw. Called in the child of stacks.c alone. */
#ifndef VG_DOCTOR_UNWINDING_H
#define VG_DOCTOR_UNWINDING_H

#include "exam.h"

typedef struct vg_unwinding vg_unwinding;

/* What the symbols of a process tell about it. */
typedef struct vg_module_facts {
    bool is_go, is_rust, is_python, is_stripped, is_musl, has_vigil;
    uint64_t python_runtime, python_runtime_bytes;
} vg_module_facts;

/* Once, before the first: finds what needs opening. */
void vg_unwinding_begin(void);

/* A session for one process; it opens every file that it will need. NULL: no memory. */
vg_unwinding *vg_unwinding_open(const vg_exam *exam, unsigned process);

/* Walk one stack. *count grows with each frame that is complete. */
void vg_unwinding_walk(vg_unwinding *session, vg_exam_thread *thread, vg_frame *frames, unsigned *count);

void vg_unwinding_facts(vg_unwinding *session, vg_module_facts *facts);

#endif
