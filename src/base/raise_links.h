/* SPDX-License-Identifier: MIT */
/*
 * raise_links.h - the second chain of raise.h, for sections that are too short for a frame. A link begins with the
 * pointer to the next older one. vigil_raise takes off those that are newer than the frame it comes to, and calls
 * `clean` for each.
 */
#ifndef VG_BASE_RAISE_LINKS_H
#define VG_BASE_RAISE_LINKS_H

typedef struct vg_raise_links {
    void *newest;
    void (*clean)(void *link);
} vg_raise_links;

extern _Thread_local vg_raise_links *vg_raise_links_here; /* never NULL */
extern vg_raise_links vg_raise_no_links;                  /* always empty */

#endif
