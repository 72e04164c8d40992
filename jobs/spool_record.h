/* SPDX-License-Identifier: MIT */
/* spool_record.h - jobs as bytes, for the spool's file. */
#ifndef VG_JOBS_SPOOL_RECORD_H
#define VG_JOBS_SPOOL_RECORD_H

#include "engine.h"

/* The head of a record; `length` bytes follow. The sum covers them and the number. */
struct vg_jobs_spool_head {
    uint32_t magic, length;
    uint64_t number, sum;
};
#define VG_JOBS_SPOOL_MAGIC UINT32_C(0x4a6f6253)

/* A record of these jobs, allocated; its size. NULL without memory. Delays become times of the wall clock. */
void *vg_jobs_spool_pack(uint64_t number, const struct vg_jobs_new *all, size_t count, size_t *size);
/* The sum of a record's body. */
uint64_t vg_jobs_spool_sum(uint64_t number, const void *body, size_t length);
/* The jobs of a body, which must stay: they point into it. Allocated; NULL with *count 0: the body is damaged. */
struct vg_jobs_new *vg_jobs_spool_unpack(const void *body, size_t length, size_t *count);

#endif
