/* SPDX-License-Identifier: MIT */
/*
 * label.h - the label of a running task, read by the watchdog.
 */
#ifndef VG_POOL_LABEL_H
#define VG_POOL_LABEL_H

#include "record/facts.h"
#include "record/format_pool.h"

/* Copy the label of the task that fact->function names; none if the label is being written or is another task's. */
void vg_label_read(const vg_file_worker *counts, vg_worker_fact *fact);

#endif
