/* SPDX-License-Identifier: MIT */
/*
 * refuse.h - the words for arguments that several calls of the pool refuse. Cold: called after the check has failed.
 */
#ifndef VG_POOL_REFUSE_H
#define VG_POOL_REFUSE_H

#include "base/why.h"

#include <vigil/pool.h>

/* Each returns -EINVAL. */
int vg_refuse_task(const vigil_task *task);
int vg_refuse_priority(vigil_priority priority);
int vg_refuse_task_or_priority(const vigil_task *task, vigil_priority priority);

#endif
