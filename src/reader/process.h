/* SPDX-License-Identifier: MIT */
/*
 * process.h - the process behind a recorder file.
 */
#ifndef VG_READER_PROCESS_H
#define VG_READER_PROCESS_H

#include "record/format.h"

#include <stdbool.h>
#include <sys/types.h>

struct vg_reader;

/* 'R', 'S', 'T', ... as in /proc/PID/stat; '?': it lives, and cannot be seen from here; 0: this very process is gone. */
char vg_reader_process_state(const struct vg_reader *reader);
/* Its number in the caller's PID namespace; 0: it cannot be seen. */
pid_t vg_reader_local_pid(const struct vg_reader *reader);
bool vg_reader_same_boot(const vg_file_header *header);

#endif
