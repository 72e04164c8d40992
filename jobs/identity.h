/* SPDX-License-Identifier: MIT */
/* identity.h - who a process is: never the host's name alone, and never the same after a restart. */
#ifndef VG_JOBS_IDENTITY_H
#define VG_JOBS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A number for this boot of this kernel. */
uint64_t vg_jobs_boot_hash(void);
/* identity: boot, process, start, random. name: host:pid, for people. */
void vg_jobs_identity(char *identity, size_t identity_room, char *name, size_t name_room);

/* Whether this process is the one that began it, and not a child. A page that the kernel wipes at a fork says so: a
   child in a PID namespace of its own may have its parent's pid. */
struct vg_jobs_own {
    uint32_t *page; /* 1 in the process that began, 0 in its children */
    pid_t pid;      /* 0: the page is enough */
};
int vg_jobs_own_begin(struct vg_jobs_own *own); /* 0; -ENOMEM */
bool vg_jobs_own_is(const struct vg_jobs_own *own);
void vg_jobs_own_end(struct vg_jobs_own *own); /* zeroes are allowed */

#endif
