/* SPDX-License-Identifier: MIT */
/*
 * pages.h - memory by the megabyte. Tables that grow to a million entries get it here, for three reasons that malloc
 * does not give: the kernel may back it with huge pages (first touch costs a quarter), it grows without being copied,
 * and it returns to the system when it is freed. NOTES.md has the figures.
 */
#ifndef VG_BASE_PAGES_H
#define VG_BASE_PAGES_H

#include <stddef.h>

enum {
    VG_HUGE_PAGE = 2 << 20
};

/* Zeroed memory, aligned to VG_HUGE_PAGE; `bytes` is a multiple of it, and not 0. NULL: no memory. */
void *vg_pages_map(size_t bytes);
void vg_pages_unmap(void *memory, size_t bytes);

/* Return these pages to the system; they read as zero, or as before, when they are touched again. */
void vg_pages_forget(void *memory, size_t bytes);

/* An array that grows and shrinks: on the heap while it is small, in pages when it is large. Zero is empty. */
typedef struct vg_room {
    void *at; /* aligned to 64 */
    size_t bytes;
} vg_room;

/* Make it `bytes` large, or a little larger; the first `keep` bytes (at most `bytes`) stay. Others are undefined. 0;
   -ENOMEM: nothing changed. */
int vg_room_resize(vg_room *room, size_t bytes, size_t keep);

void vg_room_free(vg_room *room);

#endif
