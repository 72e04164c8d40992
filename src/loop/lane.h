/* SPDX-License-Identifier: MIT */
/*
 * lane.h - the internal lane: posts in their sender's memory, from any thread, without allocation.
 *
 * A list that is pushed with one compare-exchange and taken whole with one exchange, then reversed. The owner closes
 * it by putting a mark in place of the empty list.
 */
#ifndef VG_LOOP_LANE_H
#define VG_LOOP_LANE_H

#include <vigil/loop.h>

#include <stdatomic.h>
#include <stdbool.h>

typedef struct vg_lane {
    _Atomic(vigil_post *) newest;
    vigil_post mark; /* its address means: closed */
} vg_lane;

static inline void vg_lane_init(vg_lane *lane)
{
    atomic_init(&lane->newest, NULL);
}

/* Any thread. False: closed. */
static inline bool vg_lane_push(vg_lane *lane, vigil_post *post)
{
    vigil_post *newest = atomic_load_explicit(&lane->newest, memory_order_relaxed);
    do {
        if (newest == &lane->mark)
            return false;
        post->vg_next = newest;
        /* release: the post and what its sender wrote before; pairs with the acquire in vg_lane_take */
    } while (!atomic_compare_exchange_weak_explicit(&lane->newest, &newest, post, memory_order_release,
                                                    memory_order_relaxed));
    return true;
}

/* Owner. Whether something is there (the mark is not). */
static inline bool vg_lane_ready(const vg_lane *lane)
{
    const vigil_post *newest = atomic_load_explicit(&lane->newest, memory_order_relaxed);
    return newest != NULL && newest != &lane->mark;
}

/* Any thread. A hint: once true it stays so. */
static inline bool vg_lane_is_closed(const vg_lane *lane)
{
    return atomic_load_explicit(&lane->newest, memory_order_relaxed) == &lane->mark;
}

/* Owner. Everything, oldest first, and `left` stays in its place. */
static inline vigil_post *vg_lane_exchange(vg_lane *lane, vigil_post *left)
{
    /* acquire: pairs with the release in vg_lane_push. Only the owner puts the mark, so it is not here now. */
    vigil_post *newest = atomic_exchange_explicit(&lane->newest, left, memory_order_acquire);
    vigil_post *oldest = NULL;
    while (newest != NULL) {
        vigil_post *next = newest->vg_next;
        newest->vg_next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

/* Owner. The same; NULL if there is nothing. */
static inline vigil_post *vg_lane_take(vg_lane *lane)
{
    return vg_lane_ready(lane) ? vg_lane_exchange(lane, NULL) : NULL;
}

/* Owner, once. Refuse from now on, and take what is there. */
static inline vigil_post *vg_lane_take_and_close(vg_lane *lane)
{
    return vg_lane_exchange(lane, &lane->mark);
}

/* Owner. Refuse from now on if empty; true: closed now. */
static inline bool vg_lane_close_if_empty(vg_lane *lane)
{
    vigil_post *none = NULL;
    return atomic_compare_exchange_strong_explicit(&lane->newest, &none, &lane->mark, memory_order_relaxed,
                                                   memory_order_relaxed) ||
           none == &lane->mark;
}

#endif
