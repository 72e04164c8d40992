/* SPDX-License-Identifier: MIT */
/*
 * cron.h - times by a pattern of five fields: minute, hour, day of the month, month, day of the week. Fields have *,
 * numbers, names (jan, mon), ranges, lists and steps. If both days are restricted, either may match, as in cron(8).
 * @hourly, @daily, @weekly, @monthly and @yearly are short for patterns.
 *
 * Daylight saving. A local time that does not exist fires at the change. One that exists twice fires the first time
 * only; if the hour is *, it fires both times, because then it stands for minutes and not for a time of day.
 */
#ifndef VG_JOBS_CRON_H
#define VG_JOBS_CRON_H

#include <stdbool.h>
#include <stdint.h>

#include "zone.h"

struct vg_jobs_cron {
    uint64_t minutes; /* bits */
    uint32_t hours, days, months, weekdays;
    bool any_hour, any_day, any_weekday;
};

/* 0; -EINVAL with the reason. */
int vg_jobs_cron_parse(struct vg_jobs_cron *cron, const char *text);
/* The first fire time after this instant, in seconds since 1970; INT64_MAX: there is none within ten years. */
int64_t vg_jobs_cron_next(const struct vg_jobs_cron *cron, const struct vg_jobs_zone *zone, int64_t after);

#endif
