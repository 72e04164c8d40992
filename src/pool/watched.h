/* SPDX-License-Identifier: MIT */
/*
 * watched.h - the pool as the watchdog sees it.
 */
#ifndef VG_POOL_WATCHED_H
#define VG_POOL_WATCHED_H

#include "record/subject.h"

extern const vg_subject_calls vg_pool_subject_calls;

#endif
