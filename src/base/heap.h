/* SPDX-License-Identifier: MIT */
/*
 * heap.h - what is due next: a min-heap in an array, four children to a node.
 *
 * Entries are 16 bytes and carry their key, so a comparison never leaves the array. The four children of a node lie in one
 * cache line: the array is aligned to 64 and the root sits in its fourth place, so
 *
 *     place      3 | 4  5  6  7 | 8  9 10 11 | 12 ...        children of p: 4p - 8 and the three behind it
 *     parent       | 3  3  3  3 | 4  4  4  4 |  5 ...        parent of p:   p / 4 + 2
 *
 * Order: by key; equal keys by seq, compared with wrap-around (right while entries of one key were numbered within 2^31 of
 * each other). An entry is found again only at the top: to cancel or to postpone, change what the slot says and mend it
 * when the entry comes up (vg_heap_replace_top), or drop all the dead at once (vg_heap_filter).
 *
 * One owner, or a lock of the caller's.
 */
#ifndef VG_BASE_HEAP_H
#define VG_BASE_HEAP_H

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
    vg_heap_entry *at; /* at[VG_HEAP_ROOT] is the root; NULL while nothing was ever pushed */
    size_t end;        /* one past the last entry */
    size_t room;       /* entries that `at` has place for, the three before the root included */
} vg_heap;

void vg_heap_init(vg_heap *heap);
void vg_heap_destroy(vg_heap *heap);

/* Make room for `entries` entries in all, so that pushes up to that number cannot fail. 0; -ENOMEM: nothing changed. */
int vg_heap_reserve(vg_heap *heap, size_t entries);

/* Drop every entry that is dead, keep the order of the rest; O(n). Returns how many were dropped. */
size_t vg_heap_filter(vg_heap *heap, bool (*dead)(const vg_heap_entry *entry, void *arg), void *arg);

static inline size_t vg_heap_size(const vg_heap *heap)
{
    return heap->end - VG_HEAP_ROOT;
}

/* The entry that is due first; NULL if there is none. */
static inline const vg_heap_entry *vg_heap_peek(const vg_heap *heap)
{
    return heap->end > VG_HEAP_ROOT ? &heap->at[VG_HEAP_ROOT] : NULL;
}

static inline bool vg_heap_before(vg_heap_entry a, vg_heap_entry b)
{
    return a.key < b.key || (a.key == b.key && (int32_t)(a.seq - b.seq) < 0);
}

/* Walk up from `hole` until `entry` fits, and put it there. */
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

/* Walk down from `hole` until `entry` fits, and put it there. */
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

/* Take the entry that is due first; there must be one. */
vg_heap_entry vg_heap_pop(vg_heap *heap);

/* Put `entry` in the place of the one that is due first; there must be one. Cheaper than a pop and a push. */
static inline void vg_heap_replace_top(vg_heap *heap, vg_heap_entry entry)
{
    vg_heap_sift_down(heap, VG_HEAP_ROOT, entry);
}

#endif
