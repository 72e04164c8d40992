/* SPDX-License-Identifier: MIT */
/*
 * watches.h - what is known of watches and descriptors. WATCHES.md states the invariants.
 */
#ifndef VG_LOOP_WATCHES_H
#define VG_LOOP_WATCHES_H

#include "base/mutex.h"
#include "fds.h"
#include "registry.h"

#include <vigil/loop.h>

#include <stdatomic.h>
#include <stdbool.h>

/* One watch. Under the lock of the watches, except where it says owner. Freed only in a close step after its death: the
   owner may hold pointers to it through a turn. */
typedef struct vg_watch {
    vg_registry_head head;
    uint32_t slot;
    int fd;
    _Atomic uint32_t events; /* wanted */
    uint32_t flags;          /* VIGIL_WATCH_*, VG_WATCH_* */
    _Atomic bool alive;
    bool inner;                  /* the loop's own: signals, children; not counted. Set once, read without the lock */
    bool ready;                  /* owner: in the ready list */
    uint32_t ready_events;       /* owner */
    struct vg_watch *ready_next; /* owner */
    struct vg_watch *next;       /* of the same fd; when dead: in the list of the dead */
    vigil_watch_fn fn;
    vigil_call_fn closed;
    void *arg;
    const void *created;
    uint64_t since;
} vg_watch;

enum {
    VG_WATCH_GONE = 0x200 /* its fd was closed; the close step reports it */
};

typedef struct vg_watches {
    vg_mutex lock;
    vg_registry slots;
    vg_fds fds;
    vg_watch *dead; /* to be freed in the close step */
    _Atomic bool any_dead;
    bool closed;             /* the loop has ended: the poller stays closed */
    uint32_t registered_fds; /* fds in the poller */
    uint64_t suspect;        /* a stale event of the last batch that could not be switched off, or VG_POLL_TAG_NONE */
    vg_watch *ready;         /* owner: collected, not executed */
    vg_watch *ready_last;    /* owner */
    _Atomic uint64_t active; /* user's watches, for statistics */
} vg_watches;

#endif
