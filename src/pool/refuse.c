/* SPDX-License-Identifier: MIT */
#include "refuse.h"

#include <stddef.h>

int vg_refuse_task(const vigil_task *task)
{
    if (task == NULL)
        return VG_WHY_NULL("task");
    return vg_why(-EINVAL, "task->run is NULL; set the task up with vigil_task_init");
}

int vg_refuse_priority(vigil_priority priority)
{
    return vg_why_say(-EINVAL, "priority is %d; it must be VIGIL_CRITICAL (0) to VIGIL_IDLE (4)", (int)priority);
}

int vg_refuse_task_or_priority(const vigil_task *task, vigil_priority priority)
{
    return task == NULL || task->run == NULL ? vg_refuse_task(task) : vg_refuse_priority(priority);
}
