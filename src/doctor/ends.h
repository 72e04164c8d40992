/* SPDX-License-Identifier: MIT */
/* ends.h - which process of the machine has which pipe, socket and eventfd open. */
#ifndef VG_DOCTOR_ENDS_H
#define VG_DOCTOR_ENDS_H

#include "peers.h"

/* One end, open in one process. */
typedef struct vg_end {
    uint64_t key;
    pid_t pid;
    bool reads, writes;
} vg_end;

struct vg_peers {
    bool gathered;
    bool blind; /* some processes could not be looked into */
    vg_end *ends;
    size_t count, room;
};

/* Once; later calls change nothing. */
void vg_ends_gather(vg_peers *peers);

/* What a pipe, socket, named pipe or eventfd has in common in all processes: of the first three the inode. `link` is
   what the link of the descriptor says. 0: it is none of these, or the kernel does not say. */
uint64_t vg_ends_key(pid_t pid, int fd, const char *link);

/* Whether a process that has this eventfd open has something open through which the kernel writes to eventfds. */
bool vg_ends_kernel_writes(const vg_peers *peers, uint64_t key);

#endif
