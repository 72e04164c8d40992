/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_SLEEP_H
#define VG_LOOP_SLEEP_H

#include "guard.h"

void vg_loop_wake_sleeper(vigil_loop *loop, uint32_t state);
/* Any thread: let a poll of the loop return. Mends a wake descriptor that somebody has closed. */
void vg_loop_poke(vigil_loop *loop);
static inline void vg_loop_wake_if_asleep(vigil_loop *loop)
{
    uint32_t state = atomic_load_explicit(&loop->state, memory_order_relaxed);
    /* W2: if Sleeping is not published yet, the re-check S3 finds our thing */
    if (__builtin_expect((state & VG_STATE_MASK) == VIGIL_LOOP_SLEEPING, 0))
        vg_loop_wake_sleeper(loop, state);
}
/* Any thread, after publishing something for the loop: fence, look, wake if asleep. */
static inline void vg_loop_wake(vigil_loop *loop)
{
    /* W1: what the caller published comes before our look at the state; pairs with the fence S2 in sleep.c */
    atomic_thread_fence(memory_order_seq_cst);
    vg_loop_wake_if_asleep(loop);
}
/* The same in a signal handler: no lock, no recorder. */
void vg_loop_wake_from_handler(vigil_loop *loop);
/* The same after publishing a place of the ingress. */
static inline void vg_loop_wake_posted(vigil_loop *loop)
{
    vg_fence_light(loop->fences); /* W1': pairs with the heavy fence S2' in sleep.c */
    vg_loop_wake_if_asleep(loop);
}
/* After an owner's call: an embedded loop that nobody is inside must show that there is more to do. */
static inline void vg_loop_stir(vigil_loop *loop)
{
    if (__builtin_expect(loop->embedded, 0) && !vg_is_owner(loop))
        vg_loop_wake(loop);
}
/* Owner: posts are streaming in; do not sleep. SLEEP.md, "The stream". */
bool vg_loop_stream(vigil_loop *loop, uint64_t deadline);
/* Owner: sleep until woken, an event or the deadline. Fills loop->events and poll_count. */
void vg_loop_sleep(vigil_loop *loop, uint64_t deadline);
/* Owner: look at the descriptors without sleeping. */
void vg_loop_glance(vigil_loop *loop);
/* Owner: be asleep for the others although nobody blocks: embedding. */
void vg_loop_doze(vigil_loop *loop);
/* Owner: what keeps it from blocking. */
bool vg_loop_pending(const vigil_loop *loop);
bool vg_loop_alive(const vigil_loop *loop);
/* Of that: queued things that the end has to run or cancel. */
bool vg_loop_alive_queues(const vigil_loop *loop);
/* The same without what lies in the internal lane. */
bool vg_loop_alive_inside(const vigil_loop *loop);

/* Around a call of another thread that may be the loop's last reason to live. */
void vg_inflight_begin(vigil_loop *loop);
void vg_inflight_end(vigil_loop *loop);

#endif
