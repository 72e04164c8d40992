/* SPDX-License-Identifier: MIT */
/*
 * cpu.h - how many CPUs this process may use (vigil_cpu_count). Files are read below a root that tests choose; "" is
 * the real one. A missing or senseless file sets no limit.
 */
#ifndef VG_BASE_CPU_H
#define VG_BASE_CPU_H

#include <limits.h>

#define VG_CPU_NO_LIMIT UINT_MAX

/* The least of the thread's affinity mask and the two below; at least 1. */
unsigned vg_cpu_count_at(const char *root);

/* What <root>/sys/devices/system/cpu/online lists. */
unsigned vg_cpu_online_at(const char *root);

/* The least quota of our control group and its ancestors, in CPUs, rounded up. */
unsigned vg_cpu_quota_at(const char *root);

#endif
