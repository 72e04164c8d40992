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

#endif
