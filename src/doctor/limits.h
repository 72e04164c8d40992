/* SPDX-License-Identifier: MIT */
/* limits.h - descriptors, memory, threads and processor time that a process may use. */
#ifndef VG_DOCTOR_LIMITS_H
#define VG_DOCTOR_LIMITS_H

#include "exam.h"

typedef struct vg_limits {
    uint64_t throttled_ns, periods_throttled, memory_refused, at_ns;
    bool known;
    unsigned ended_count;
    pid_t ended[32]; /* children that nobody has waited for */
} vg_limits;

/* At the first look. */
void vg_limits_begin(const vg_exam *exam, vg_limits *limits);
/* At the last one: adds findings. */
void vg_limits_judge(vg_exam *exam, const vg_limits *before);

/* A thread that could run for at least so long, and got less than one in so many of that time, is starved: also on a
   full machine, where everybody gets little, and seldom. */
typedef struct vg_starving {
    uint64_t part, least_ns;
} vg_starving;
vg_starving vg_limits_starving(void);

#endif
