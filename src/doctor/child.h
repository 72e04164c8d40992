/* SPDX-License-Identifier: MIT */
/* child.h - a child of the doctor does what might never return. The doctor waits for it for a limited time only. */
#ifndef VG_DOCTOR_CHILD_H
#define VG_DOCTOR_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct vg_child {
    pid_t pid;
    int end; /* of a pipe that closes when the child ends */
} vg_child;

typedef enum vg_child_end {
    VG_CHILD_DONE,
    VG_CHILD_FAILED, /* it was killed, by itself, by a limit or by somebody else, or its status is not 0 */
    VG_CHILD_LATE,   /* the time was up: it was killed */
    VG_CHILD_LOST,   /* so it was, but it has not ended yet: what it shares may still change */
} vg_child_end;

/* Fork; the child calls run(arg) and ends. It ends with its parent, too. false: there is no child. */
bool vg_child_start(vg_child *child, void (*run)(void *arg), void *arg);

/* Wait until the child has ended. After limit_ns it is killed. */
vg_child_end vg_child_await(vg_child *child, uint64_t limit_ns);

/* In a child: be killed after ns by the kernel, whatever the child does then. 0 takes it back; another call begins
   anew. false: the kernel has no such timer. */
bool vg_child_end_within(uint64_t ns);

/* In a child: run before everything else on the machine, as far as the user may. */
void vg_child_hurry(void);

#endif
