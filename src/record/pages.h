/* SPDX-License-Identifier: MIT */
/*
 * pages.h - anonymous memory by the page.
 */
#ifndef VG_RECORD_PAGES_H
#define VG_RECORD_PAGES_H

#include <stddef.h>
#include <sys/mman.h>

enum {
    VG_PAGE = 4096
};

static inline size_t vg_pages_round(size_t bytes)
{
    return (bytes + VG_PAGE - 1) / VG_PAGE * VG_PAGE;
}

/* Zeroed; NULL: none. Free with munmap. */
static inline void *vg_pages_get(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

#endif
