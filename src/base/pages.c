/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "pages.h"

#include "slab.h" /* VG_SLAB_POISON */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef VG_SLAB_POISON
#include <sanitizer/lsan_interface.h>
/* The leak checker looks for pointers in what malloc gave out. This is memory of the same kind. */
#define PAGES_ARE_ROOTS(memory, bytes)    __lsan_register_root_region(memory, bytes)
#define PAGES_ARE_NO_ROOTS(memory, bytes) __lsan_unregister_root_region(memory, bytes)
#else
#define PAGES_ARE_ROOTS(memory, bytes)    ((void)(memory), (void)(bytes))
#define PAGES_ARE_NO_ROOTS(memory, bytes) ((void)(memory), (void)(bytes))
#endif

enum {
    PAGES_ROOM_LARGE = VG_HUGE_PAGE / 2, /* a room of more than this is in pages */
    PAGES_ROOM_LINE = 64
};

/* A range of addresses aligned to VG_HUGE_PAGE. NULL: none. */
static char *map_aligned(size_t bytes, int protection, int flags)
{
    if (bytes > PTRDIFF_MAX - VG_HUGE_PAGE)
        return NULL;
    char *range = mmap(NULL, bytes + VG_HUGE_PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (range == MAP_FAILED)
        return NULL;
    const size_t before = -(uintptr_t)range & (VG_HUGE_PAGE - 1);
    if (before != 0)
        (void)munmap(range, before);
    (void)munmap(range + before + bytes, VG_HUGE_PAGE - before); /* before is less than VG_HUGE_PAGE */
    return range + before;
}

void *vg_pages_map(size_t bytes)
{
    const int saved = errno;
    char *memory = map_aligned(bytes, PROT_READ | PROT_WRITE, 0);
    if (memory != NULL) {
        (void)madvise(memory, bytes, MADV_HUGEPAGE); /* a wish */
        PAGES_ARE_ROOTS(memory, bytes);
    }
    errno = saved;
    return memory;
}

void vg_pages_unmap(void *memory, size_t bytes)
{
    const int saved = errno;
    PAGES_ARE_NO_ROOTS(memory, bytes);
    (void)munmap(memory, bytes);
    errno = saved;
}

void vg_pages_forget(void *memory, size_t bytes)
{
    const int saved = errno;
    if (bytes != 0)
        (void)madvise(memory, bytes, MADV_DONTNEED);
    errno = saved;
}

/* The same pages at a place with room for more. Whole tables of pages move, so both places are aligned. NULL: no
   memory, nothing changed. */
static void *pages_grow(void *memory, size_t bytes, size_t wanted)
{
    const int saved = errno;
    char *place = map_aligned(wanted, PROT_NONE, MAP_NORESERVE);
    void *moved = MAP_FAILED;
    if (place != NULL) {
        PAGES_ARE_NO_ROOTS(memory, bytes);
        moved = mremap(memory, bytes, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, place);
        PAGES_ARE_ROOTS(moved == MAP_FAILED ? memory : moved, moved == MAP_FAILED ? bytes : wanted);
        if (moved == MAP_FAILED)
            (void)munmap(place, wanted);
    }
    errno = saved;
    return moved == MAP_FAILED ? NULL : moved;
}

static void pages_shrink(void *memory, size_t bytes, size_t wanted)
{
    const int saved = errno;
    PAGES_ARE_NO_ROOTS(memory, bytes);
    (void)munmap((char *)memory + wanted, bytes - wanted);
    PAGES_ARE_ROOTS(memory, wanted);
    errno = saved;
}

static bool room_is_large(size_t bytes)
{
    return bytes > PAGES_ROOM_LARGE;
}

void vg_room_free(vg_room *room)
{
    if (room_is_large(room->bytes))
        vg_pages_unmap(room->at, room->bytes);
    else
        free(room->at);
    *room = (vg_room){.at = NULL};
}

int vg_room_resize(vg_room *room, size_t bytes, size_t keep)
{
    if (bytes > PTRDIFF_MAX - VG_HUGE_PAGE)
        return -ENOMEM;
    const bool large = room_is_large(bytes);
    const size_t unit = large ? VG_HUGE_PAGE : PAGES_ROOM_LINE;
    bytes = (bytes + unit - 1) & ~(unit - 1);
    if (bytes == room->bytes)
        return 0;
    if (large && room_is_large(room->bytes)) {
        void *at = room->at;
        if (bytes < room->bytes)
            pages_shrink(at, room->bytes, bytes);
        else
            at = pages_grow(at, room->bytes, bytes);
        if (at == NULL)
            return -ENOMEM;
        *room = (vg_room){.at = at, .bytes = bytes};
        return 0;
    }
    vg_room other = {.at = bytes == 0 ? NULL
                           : large    ? vg_pages_map(bytes)
                                      : aligned_alloc(unit, bytes),
                     .bytes = bytes};
    if (other.at == NULL && bytes != 0)
        return -ENOMEM;
    if (keep != 0)
        memcpy(other.at, room->at, keep);
    vg_room_free(room);
    *room = other;
    return 0;
}
