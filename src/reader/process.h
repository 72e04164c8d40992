/* SPDX-License-Identifier: MIT */
/*
 * process.h - the process behind a recorder file.
 */
#ifndef VG_READER_PROCESS_H
#define VG_READER_PROCESS_H

#include "record/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct vg_reader vg_reader;

/* Open the record of a process of this user, by its number in the caller's PID namespace; of a dead one, in its own.
   0; -ENOENT the process has no Vigil inside, or its recorder is off; else as vg_reader_open_path (reader.h). */
int vg_reader_open_pid(vg_reader **result, pid_t pid);

typedef struct vg_process {
    pid_t pid;
    bool alive;     /* this very process, not another that has got its number */
    bool elsewhere; /* alive in a PID namespace that cannot be seen from here; pid is its number there */
    uint64_t age_ns;
    char command[256];
    char path[4096]; /* of the recorder file */
} vg_process;

/* The recorder files in the runtime directories (record/directory.h). Files that the owner of their directory has not
   made himself are left out.
   Fills up to `room`, in the order of their pids, and returns how many there are; 0 if there is no directory; a
   negative errno. */
int vg_processes(vg_process *processes, size_t room);

/* Who holds the mutex of glibc that a thread of a process sleeps in (a futex at this address, expecting this word); 0:
   it is none, or cannot be read. */
int vg_process_mutex_owner(pid_t pid, uint64_t address, uint32_t expected);

/* Does a read of so many bytes of /proc/PID/cmdline end (base/present.h)? */
bool vg_process_command_arrives(pid_t pid, size_t bytes);

/* The process of an open record. */
void vg_process_describe(const vg_reader *reader, vg_process *process);

/* 'R', 'S', 'T', ... as in /proc/PID/stat; '?': it lives, and cannot be seen from here; 0: this very process is
   gone. */
char vg_reader_process_state(const vg_reader *reader);
/* Its number in the caller's PID namespace; 0: it cannot be seen. */
pid_t vg_reader_local_pid(const vg_reader *reader);
bool vg_reader_same_boot(const vg_file_header *header);

#endif
