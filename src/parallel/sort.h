/* SPDX-License-Identifier: MIT */
/*
 * sort.h - what both sorts are made of. Functions that take `bytes` are inlined into callers that know it, so that
 * elements of the usual sizes are moved by plain loads and stores.
 */
#ifndef VG_PARALLEL_SORT_H
#define VG_PARALLEL_SORT_H

#include "call.h"

#ifdef VIGIL_CHECK
#define VG_SORT_CUT 2
#else
#define VG_SORT_CUT 4096 /* fewer elements are not worth a fork */
#endif
#define VG_SORT_SMALL 20 /* insertion sort */

typedef struct vg_sort {
    vg_parallel call; /* for its ends */
    vigil_compare_fn compare;
    void *arg;
    size_t bytes;
} vg_sort;

#define VG_SORT_INLINE static inline __attribute__((always_inline))

/* Check what both sorts are given. */
int vg_sort_begin(vg_sort *sort, vigil_pool *pool, const void *base, size_t count, size_t bytes,
                  vigil_compare_fn compare, void *arg, const vigil_parallel_options *options);

/* Run fn(arg) inside a task, and say how it went. */
int vg_sort_run(vg_sort *sort, int (*fn)(void *arg), void *arg);

/* Two parts, perhaps at the same time. */
void vg_sort_both(vg_sort *sort, int (*fn)(void *arg), void *left, void *right);

VG_SORT_INLINE void vg_sort_swap(char *a, char *b, size_t bytes)
{
    char kept[64];
    for (; bytes > sizeof kept; bytes -= sizeof kept, a += sizeof kept, b += sizeof kept) {
        memcpy(kept, a, sizeof kept);
        memcpy(a, b, sizeof kept);
        memcpy(b, kept, sizeof kept);
    }
    memcpy(kept, a, bytes);
    memmove(a, b, bytes); /* they may be one */
    memcpy(b, kept, bytes);
}

/* Stable. */
VG_SORT_INLINE void vg_sort_insertion(const vg_sort *sort, char *base, size_t count, size_t bytes)
{
    char kept[64];
    for (size_t i = 1; i < count; i++) {
        char *at = base + i * bytes;
        if (bytes > sizeof kept) {
            for (; at > base && sort->compare(at - bytes, at, sort->arg) > 0; at -= bytes)
                vg_sort_swap(at - bytes, at, bytes);
            continue;
        }
        if (sort->compare(at - bytes, at, sort->arg) <= 0)
            continue;
        memcpy(kept, at, bytes);
        do {
            memcpy(at, at - bytes, bytes);
            at -= bytes;
        } while (at > base && sort->compare(at - bytes, kept, sort->arg) > 0);
        memcpy(at, kept, bytes);
    }
}

#endif
