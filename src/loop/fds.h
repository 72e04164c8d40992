/* SPDX-License-Identifier: MIT */
/*
 * fds.h - what is known of each fd number: pages that exist only where a number was watched. Under the watches' lock.
 */
#ifndef VG_LOOP_FDS_H
#define VG_LOOP_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vg_watch;

typedef struct vg_fd {
    struct vg_watch *first;
    uint32_t generation; /* of its registration in the poller: events of an earlier one are stale */
    uint32_t registered; /* events registered in the poller; edge in the top bit */
    uint32_t hangups;    /* turns in a row with nothing but hang-up or error */
    uint32_t busy;       /* turns in a row with any event */
    uint32_t busy_turn;  /* the last of them */
    bool in_poller;
} vg_fd;

enum {
    VG_FDS_SHIFT = 8,
    VG_FDS_PAGE = 1 << VG_FDS_SHIFT
};

typedef struct vg_fds {
    vg_fd **pages;
    size_t room; /* pointers in `pages` */
} vg_fds;

/* NULL: nothing is known of it. */
static inline vg_fd *vg_fds_find(const vg_fds *fds, int fd)
{
    const size_t page = (size_t)fd >> VG_FDS_SHIFT;
    return page < fds->room && fds->pages[page] != NULL ? &fds->pages[page][fd & (VG_FDS_PAGE - 1)] : NULL;
}

/* The record of a number that is not negative; NULL: no memory. */
vg_fd *vg_fds_make(vg_fds *fds, int fd);

/* The first number from *fd on that is watched or registered, in *fd; NULL: none. */
vg_fd *vg_fds_next(const vg_fds *fds, int *fd);

void vg_fds_destroy(vg_fds *fds);

#endif
