/* SPDX-License-Identifier: MIT */
#include "guard.h"

_Thread_local char vg_loop_self;
_Thread_local vg_report_frame *vg_reports;
