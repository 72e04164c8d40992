/* SPDX-License-Identifier: MIT */
/*
 * member.h - tasks that a task submits to a group. The queue holds a job that stands for the member, so a waiter can
 * run the member wherever the job is queued, and the wait may return while the job is still there as a husk.
 */
#ifndef VG_POOL_MEMBER_H
#define VG_POOL_MEMBER_H

#include "pool_struct.h"

/* Submit the claimed and counted task. 0; -ENOMEM: no job, submit the task itself; others as vg_submit_one. */
int vg_member_submit(vigil_group *group, vigil_task *task, unsigned class_);

/* Run or cancel the task that a job stands for. */
int vg_member_run(vigil_task *member);
void vg_member_cancel(vigil_task *member);

/* Run the members that nobody has begun. For the one that waits. false: there was none. */
bool vg_members_run(vg_worker *worker, vigil_group *group);

/* Is a member of a lower class queued that nobody has begun? For the one that waits, or under urgent_lock. */
#define VG_ANY_CLASS (-1) /* every class is lower */
bool vg_members_below(vigil_group *group, int class_);

/* Every task of the group has ended: release its members' jobs. */
void vg_members_release(vigil_group *group);

#endif
