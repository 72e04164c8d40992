/* SPDX-License-Identifier: MIT */
#ifndef VG_IO_LAUNCH_H
#define VG_IO_LAUNCH_H

#include <vigil/process.h>

enum {
    VG_LAUNCH_FDS = 64 /* the most of options->fds; the caller has looked */
};

/* Start the program with clean signals and no descriptors but its standard ones and options->fds. ends[i]: our end of
   its stream i, close-on-exec; -1: none. 0; a negative errno, and nothing is left open. Blocks until the program is
   loaded. */
int vg_launch(const vigil_process_options *options, int ends[3], pid_t *pid);

#endif
