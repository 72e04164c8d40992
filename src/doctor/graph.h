/* SPDX-License-Identifier: MIT */
/* graph.h - who can still move, and the circles among those who cannot. */
#ifndef VG_DOCTOR_GRAPH_H
#define VG_DOCTOR_GRAPH_H

#include "exam.h"

/* Set can_move of every thread. A thread is stuck if it slept during all looks and everybody who could wake it is stuck
   too. */
void vg_graph_solve(vg_exam *exam);

/* Find circles, self-deadlocks, orphans and lost wakeups among the stuck threads, and add them as findings. */
void vg_graph_judge(vg_exam *exam);

/* Which processes the patient has to wait for, itself among them. What is told of others is no reason why it hangs. */
typedef struct vg_needed {
    bool is[VG_EXAM_PROCESSES];
    int waiter[VG_EXAM_PROCESSES]; /* a thread that waits for it; -1: it is the patient */
} vg_needed;

/* After the graph was solved. */
void vg_graph_needed(const vg_exam *exam, vg_needed *needed);

#endif
