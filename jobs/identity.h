/* SPDX-License-Identifier: MIT */
/* identity.h - who a process is: never the host's name alone, and never the same after a restart. */
#ifndef VG_JOBS_IDENTITY_H
#define VG_JOBS_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

/* A number for this boot of this kernel. */
uint64_t vg_jobs_boot_hash(void);
/* identity: boot, process, start, random. name: host:pid, for people. */
void vg_jobs_identity(char *identity, size_t identity_room, char *name, size_t name_room);

#endif
