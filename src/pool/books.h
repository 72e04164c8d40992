/* SPDX-License-Identifier: MIT */
/*
 * books.h - the sums of all counters.
 */
#ifndef VG_POOL_BOOKS_H
#define VG_POOL_BOOKS_H

#include "pool_struct.h"

typedef struct vg_class_sums {
    uint64_t submitted, started, completed, failed, cancelled, withdrawn, refused;
} vg_class_sums;

typedef struct vg_books {
    uint64_t accepted;
    uint64_t begun; /* started, or cancelled before that */
    uint64_t ended;
} vg_books;

static inline uint64_t vg_read_counter(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_acquire); /* pairs with the release in vg_count_release */
}

/* Call `visit` for each seat. */
void vg_each_seat(vigil_pool *pool, void (*visit)(vg_seat *seat, void *arg), void *arg);

/* The sums of all classes, read in the order that README.md explains (books.c). */
void vg_pool_sums(vigil_pool *pool, vg_class_sums by_class[VG_CLASSES]);
void vg_pool_books(vigil_pool *pool, vg_books *books); /* of all classes */

#endif
