/* SPDX-License-Identifier: MIT */
/*
 * poller.h - what the loop needs from the kernel to wait for descriptors. One implementation per family of system
 * calls; poller_epoll.c is the only one. The loop makes system calls there, in signals.c and in children.c, and
 * nowhere else.
 *
 * Any thread may call vg_poller_set while another is inside vg_poller_wait.
 */
#ifndef VG_LOOP_POLLER_H
#define VG_LOOP_POLLER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    VG_POLLER_BATCH = 1024
};

typedef struct vg_poll_event {
    uint64_t tag;    /* as given to vg_poller_set */
    uint32_t events; /* VIGIL_FD_* */
} vg_poll_event;

#define VG_POLL_TAG_NONE UINT64_MAX /* the poller's own descriptors: never shown to the caller */

typedef struct vg_poller {
    int poll_fd;         /* -1: not open */
    _Atomic int seen_fd; /* the same, for the watchdog */
    _Atomic int wake_fd; /* -1: not open. Outlives poll_fd: wakers write to it until all have left */
    int timer_fd;        /* only for embedding */
    uint64_t timer_at;   /* what timer_fd is set to; 0: nothing */
    _Atomic bool no_ns;  /* the kernel has no epoll_pwait2 */
} vg_poller;

typedef enum vg_poll_op {
    VG_POLL_ADD,
    VG_POLL_MODIFY,
    VG_POLL_REMOVE
} vg_poll_op;

void vg_poller_init(vg_poller *poller);

/* Open what is not open. 0; -EMFILE, -ENFILE, -ENOMEM: nothing changed. */
int vg_poller_open(vg_poller *poller);

/* Replace the set by an empty one; wake and timer descriptors stay. old_is_ours: close the old one; if somebody else
   closed it, its number may be another's. 0; -EMFILE ...: nothing changed. */
int vg_poller_renew(vg_poller *poller, bool old_is_ours);

/* In the child of a fork: everything anew, the timer too if embedded. On error: call again. */
int vg_poller_after_fork(vg_poller *poller, bool embedded);

void vg_poller_close(vg_poller *poller);      /* all but the wake descriptor */
void vg_poller_close_wake(vg_poller *poller); /* last */

/* 0; -EBADF: not open; -ENOENT: not in the set (closed and reopened); -EEXIST; -EOPNOTSUPP: cannot be polled; -ENOMEM;
   -ENOSPC. */
int vg_poller_set(vg_poller *poller, vg_poll_op op, int fd, uint32_t events, bool edge, uint64_t tag);

/* Wait until deadline_ns (absolute; 0: do not wait; VG_NO_DEADLINE). Returns the number of events (0 also after a wake,
   a signal or the deadline), or a negative errno: the set is broken. */
int vg_poller_wait(vg_poller *poller, uint64_t deadline_ns, vg_poll_event *events);

/* Any thread: let a wait return. One system call. */
/* 0; -EBADF: somebody has closed our descriptor. */
int vg_poller_wake(vg_poller *poller);

/* The caller excludes other changes of the set: a wake descriptor that somebody has closed is made anew. 0, or an
   error. */
int vg_poller_mend_wake(vg_poller *poller);

/* For embedding: poll_fd becomes readable at that time (VG_NO_DEADLINE: never). 0, or an error. */
int vg_poller_arm(vg_poller *poller, uint64_t deadline_ns);

#endif
