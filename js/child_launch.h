/* SPDX-License-Identifier: MIT */
/* Starting a program, without the engine. */
#ifndef VG_JS_CHILD_LAUNCH_H
#define VG_JS_CHILD_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#define VG_CHILD_MOST 64

typedef struct vg_launch {
    char *file, *cwd;       /* cwd NULL: ours */
    char **argv, **env;     /* env NULL: ours */
    int fds[VG_CHILD_MOST]; /* what descriptor i of the child is a copy of */
    unsigned count;
    bool detached;
    long uid, gid; /* negative: ours */
} vg_launch;

/* The child's pid, or a negative errno. Waits until the program is loaded. */
pid_t vg_child_launch(const vg_launch *launch);
/* A pair of connected sockets, both closed by exec; 0 or a negative errno. */
int vg_child_pair(int pair[2]);

#endif
