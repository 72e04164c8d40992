/* SPDX-License-Identifier: MIT */
/*
 * zone.h - time zones for schedules, from the system's database (TZif files). libc knows one zone per process, and
 * changing it is not safe with threads.
 */
#ifndef VG_JOBS_ZONE_H
#define VG_JOBS_ZONE_H

#include <stdint.h>

struct vg_jobs_zone;

/* NULL and "UTC" need no file. 0; -EINVAL there is no such zone, or its file is bad; -ENOMEM. */
int vg_jobs_zone_open(struct vg_jobs_zone **zone, const char *name);
void vg_jobs_zone_close(struct vg_jobs_zone *zone);

/* How far local time is ahead of UTC at this instant, in seconds. Both times are seconds since 1970. */
int64_t vg_jobs_zone_offset(const struct vg_jobs_zone *zone, int64_t utc);
/* The instant of the next change of the offset in (after, until]; INT64_MAX: there is none. */
int64_t vg_jobs_zone_change(const struct vg_jobs_zone *zone, int64_t after, int64_t until);

/* Days since 1970 of a date of the Gregorian calendar, and back. month is 1 to 12. */
int64_t vg_jobs_days(int64_t year, int month, int day);
void vg_jobs_date(int64_t days, int64_t *year, int *month, int *day);

#endif
