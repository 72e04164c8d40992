/* SPDX-License-Identifier: MIT */
/*
 * deque.h: a Chase-Lev deque of fixed size for the exhibits, after Lê et al. (2013), with the two fences as a choice. Items
 * are small numbers; `seen` counts how often each came out.
 */
#ifndef GALLERY_DEQUE_H
#define GALLERY_DEQUE_H

#include "gallery.h"

enum {
    DEQUE_SIZE = 4,
    NOTHING = 0
};

static _Atomic int64_t top, bottom;
static _Atomic int slots[DEQUE_SIZE];
static _Atomic int seen[DEQUE_SIZE + 1];

/* The owner's: reads bottom, writes the slot, writes bottom. Nothing makes the three into one step. */
static inline void deque_push(int item)
{
    int64_t b = atomic_load_explicit(&bottom, memory_order_relaxed);
    atomic_store_explicit(&slots[b % DEQUE_SIZE], item, memory_order_relaxed);
    atomic_store_explicit(&bottom, b + 1, memory_order_release); /* the item; pairs with deque_steal */
}

static inline int deque_pop(bool fenced)
{
    int64_t b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1;
    atomic_store_explicit(&bottom, b, memory_order_release); /* the items below; pairs with deque_steal */
    if (fenced)
        atomic_thread_fence(memory_order_seq_cst); /* claim before look at top; pairs with the fence in deque_steal */
    int64_t t = atomic_load_explicit(&top, memory_order_relaxed);
    if (t > b) {
        atomic_store_explicit(&bottom, b + 1, memory_order_release); /* as above */
        return NOTHING;
    }
    int item = atomic_load_explicit(&slots[b % DEQUE_SIZE], memory_order_relaxed);
    if (t == b) {
        /* seq_cst as in the paper: for the last item whoever moves top has it */
        if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed))
            item = NOTHING;
        atomic_store_explicit(&bottom, b + 1, memory_order_release); /* as above */
    }
    return item;
}

static inline int deque_steal(bool fenced)
{
    int64_t t = atomic_load_explicit(&top, memory_order_acquire); /* in order with other thieves' exchanges */
    if (fenced)
        atomic_thread_fence(memory_order_seq_cst); /* top before bottom; pairs with the fence in deque_pop */
    int64_t b = atomic_load_explicit(&bottom, memory_order_acquire); /* the item; pairs with deque_push */
    if (t >= b)
        return NOTHING;
    int item = atomic_load_explicit(&slots[t % DEQUE_SIZE], memory_order_relaxed);
    /* seq_cst as in the paper */
    if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed))
        return NOTHING;
    return item;
}

static inline void came_out(int item)
{
    if (item != NOTHING)
        (void)atomic_fetch_add_explicit(&seen[item], 1, memory_order_relaxed);
}

static inline int times_seen(int item)
{
    return atomic_load_explicit(&seen[item], memory_order_relaxed);
}

#endif
