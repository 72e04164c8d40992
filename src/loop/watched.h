/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_WATCHED_H
#define VG_LOOP_WATCHED_H

#include "record/subject.h"

extern const vg_subject_calls vg_loop_subject_calls;

#endif
