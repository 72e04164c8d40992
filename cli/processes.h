/* SPDX-License-Identifier: MIT */
/* processes.h - which processes can be looked at. */
#ifndef CLI_PROCESSES_H
#define CLI_PROCESSES_H

#include <stdio.h>
#include <sys/types.h>

#include "reader/reader.h"

/* All but this process itself, the living first; *all is to be freed. How many, or a negative errno. */
int processes_list(vg_process **all);

/* The same; root gets those of all users, unless VIGIL_DIR says where to look. */
int processes_list_all(vg_process **all);

/* The table of `vigil ps`. */
void processes_print(FILE *to, const vg_process *all, int count);

/* Open the record of a process. Root finds that of any user's process, through what the process has mapped. */
int processes_open(vg_reader **reader, pid_t pid);

#endif
