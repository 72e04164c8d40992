/* SPDX-License-Identifier: MIT */
/* doctor.h - what `vigil doctor` shows of an examination: in words, as JSON, as a drawing for Graphviz. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <json.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "doctor/diagnoses.h"
#include "doctor/exam.h"

/* In words, on stdout. all: the stack of every thread too. */
void doctor_text(const vg_exam *exam, bool all);

/* The verdicts alone, on stdout; the first has this number. */
void doctor_verdicts(const vg_exam *exam, unsigned number);

/* The innermost frame with a line that is neither the C library's nor ours; NULL: none. */
const vg_frame *doctor_own_frame(const vg_exam_thread *t);

/* The verdicts alone. */
json_object *doctor_verdicts_json(const vg_exam *exam);

/* NULL: no memory. docs/doctor.md lists the fields. */
json_object *doctor_json(const vg_exam *exam);

/* The wait-for graph in Graphviz's language, on stdout. */
void doctor_dot(const vg_exam *exam);

/* The process or core file that an operand means. *pid is 0 for a core file. 0, or an exit status after a line on
   stderr. */
int doctor_find(const char *operand, pid_t *pid);

#endif
