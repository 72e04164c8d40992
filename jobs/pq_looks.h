/* SPDX-License-Identifier: MIT */
/* pq_looks.h - how far below the watermarks a claim reads. */
#ifndef VG_JOBS_PQ_LOOKS_H
#define VG_JOBS_PQ_LOOKS_H

#include "pq.h"

/* A transaction that commits late brings jobs with due times below the watermarks. A look below them finds those: at
   all of it, or from the marks of the last such look on, which costs what was claimed since then. */
enum vg_pq_depth {
    VG_PQ_LOOK_ABOVE,
    VG_PQ_LOOK_RECENT,
    VG_PQ_LOOK_FULL,
};

/* How far the next claim reads. may_full: jobs are missing, so a full look is made if it costs little. */
enum vg_pq_depth vg_pq_look_choose(const struct vg_jobs_conn *conn, bool may_full);
/* Lower the watermarks for this look. Gives when it began. */
uint64_t vg_pq_look_begin(struct vg_jobs_conn *conn, enum vg_pq_depth look);
/* Say when the next look is. found_all: there was place for all that was found. */
void vg_pq_look_end(struct vg_jobs_conn *conn, enum vg_pq_depth look, uint64_t began, bool found_all);

#endif
