/* SPDX-License-Identifier: MIT */
#ifndef VG_IO_LAUNCH_AS_H
#define VG_IO_LAUNCH_AS_H

#include <vigil/process.h>

/* Start the program with options->identity and options->umask. theirs[i] becomes its descriptor i, further[i] its
   3 + i; all are above those numbers; -1: our own. 0 and *pid; the errno, and there is no child. Blocks until the
   program is loaded. */
int vg_launch_as(const vigil_process_options *options, const int theirs[3], const int *further, pid_t *pid);

#endif
