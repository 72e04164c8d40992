/* SPDX-License-Identifier: MIT */
/* report_lines.h - files and lines of the threads that a verdict of the watchdog names. The watchdog knows functions
   alone; the doctor reads the debug information. */
#ifndef CLI_REPORT_LINES_H
#define CLI_REPORT_LINES_H

#include "doctor.h"
#include "look.h"

/* One line for each thread, on stdout, or nothing. */
void report_lines(const vg_exam *exam, const vg_verdict_view *verdict);

/* The same; [] if there is nothing. */
json_object *report_lines_json(const vg_exam *exam, const vg_verdict_view *verdict);

#endif
