/* SPDX-License-Identifier: MIT */
/* python.h - which thread holds Python's global interpreter lock. */
#ifndef VG_DOCTOR_PYTHON_H
#define VG_DOCTOR_PYTHON_H

#include "exam.h"

/* Sets gil_thread of every process that runs Python. */
void vg_python_find(vg_exam *exam);

#endif
