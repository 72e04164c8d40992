/* SPDX-License-Identifier: MIT */
/*
 * sigpipe.h - keep SIGPIPE away from a call that has no flag for it: writev, splice, sendfile.
 */
#ifndef VG_IO_SIGPIPE_H
#define VG_IO_SIGPIPE_H

#include <signal.h>
#include <stdbool.h>

typedef struct vg_sigpipe {
    sigset_t before;
    bool was_blocked, was_pending;
} vg_sigpipe;

/* Block the signal in this thread. */
void vg_sigpipe_block(vg_sigpipe *it);
/* Put the mask back; came: the call has failed with EPIPE, so the signal is taken first. Keeps errno. */
void vg_sigpipe_restore(const vg_sigpipe *it, bool came);

#endif
