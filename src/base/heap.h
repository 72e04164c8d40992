/* SPDX-License-Identifier: MIT */
/*
 * heap.h - a min-heap in an array, four children to a node, one owner.
 *
 * Entries are 16 bytes and carry their key. The four children of a node share a cache line: the array is aligned to 64
 * and the root has index 3.
 *
 *     index      3 | 4  5  6  7 | 8  9 10 11 | 12 ...        children of p: 4p - 8 and the next three
 *     parent       | 3  3  3  3 | 4  4  4  4 |  5 ...        parent of p:   p / 4 + 2
 *
 * Order: by key, then by seq with wrap-around (within 2^31). Entries are found only at the top: to cancel or postpone
 * one, change its slot and correct it when it comes up (vg_heap_replace_top), or filter.
 */
#ifndef VG_BASE_HEAP_H
#define VG_BASE_HEAP_H

#include "pages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vg_heap_entry {
    uint64_t key;
    uint32_t seq;
    uint32_t slot; /* the caller's */
} vg_heap_entry;

enum {
    VG_HEAP_ROOT = 3,
    VG_HEAP_CHILDREN = 4
};

typedef struct vg_heap {
    vg_heap_entry *at; /* at[VG_HEAP_ROOT] is the root; NULL before the first push */
    size_t end;        /* one past the last entry */
    size_t room;       /* entries that fit, the three before the root included */
    vg_room memory;    /* of both */
} vg_heap;

void vg_heap_init(vg_heap *heap);
void vg_heap_destroy(vg_heap *heap);

/* Room for `entries` in all: pushes up to there cannot fail. 0; -ENOMEM: nothing changed. */
int vg_heap_reserve(vg_heap *heap, size_t entries);

/* Return memory of 2 MiB and more to the system if less than an eighth of it is in use. */
void vg_heap_give_back(vg_heap *heap);

/* Drop the dead; O(n). Returns how many. */
size_t vg_heap_filter(vg_heap *heap, bool (*dead)(const vg_heap_entry *entry, void *arg), void *arg);

static inline size_t vg_heap_size(const vg_heap *heap)
{
    return heap->end - VG_HEAP_ROOT;
}

/* The entry due first; NULL: none. */
static inline const vg_heap_entry *vg_heap_peek(const vg_heap *heap)
{
    return heap->end > VG_HEAP_ROOT ? &heap->at[VG_HEAP_ROOT] : NULL;
}

static inline bool vg_heap_before(vg_heap_entry a, vg_heap_entry b)
{
    return a.key < b.key || (a.key == b.key && (int32_t)(a.seq - b.seq) < 0);
}

/* Move up from `hole` to where `entry` belongs. */
static inline void vg_heap_sift_up(vg_heap *heap, size_t hole, vg_heap_entry entry)
{
    vg_heap_entry *at = heap->at;
    while (hole > VG_HEAP_ROOT) {
        size_t parent = hole / VG_HEAP_CHILDREN + 2;
        if (!vg_heap_before(entry, at[parent]))
            break;
        at[hole] = at[parent];
        hole = parent;
    }
    at[hole] = entry;
}

/* Move down from `hole` to where `entry` belongs. */
void vg_heap_sift_down(vg_heap *heap, size_t hole, vg_heap_entry entry);

/* 0; -ENOMEM: nothing changed. */
static inline int vg_heap_push(vg_heap *heap, vg_heap_entry entry)
{
    if (heap->end == heap->room) {
        int rc = vg_heap_reserve(heap, 2 * vg_heap_size(heap) + 1);
        if (rc != 0)
            return rc;
    }
    vg_heap_sift_up(heap, heap->end++, entry);
    return 0;
}

/* Remove the entry due first; there must be one. */
vg_heap_entry vg_heap_pop(vg_heap *heap);

/* Replace the entry due first; there must be one. Cheaper than pop and push. */
static inline void vg_heap_replace_top(vg_heap *heap, vg_heap_entry entry)
{
    vg_heap_sift_down(heap, VG_HEAP_ROOT, entry);
}

#endif
